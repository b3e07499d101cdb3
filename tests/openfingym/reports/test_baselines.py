"""The table of baselines: measured, kept, gone on with, and honest about what is stale."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from openfingym import catalog
from openfingym.catalog import load_task
from openfingym.errors import StoreError
from openfingym.kinds import is_live
from openfingym.metrics import registry
from openfingym.metrics.registry import METRICS
from openfingym.packages.scaffold import new_task
from openfingym.reports.baselines import key_of, run_baselines, stale
from openfingym.results.baselines import BaselineResult, record, recorded
from openfingym.task import Task
from tests.openfingym.cli.test_cli import invoke


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Two small tasks, and no other known."""
    root = tmp_path / "tasks"
    for name, kind in (("quick-forecast", "forecast"), ("quick-nodes", "nodes")):
        new_task(name, root, kind)
    monkeypatch.setattr(catalog, "builtin_root", lambda: root)
    return [load_task(name) for name in catalog.task_folders()]


def row(**changes: object) -> BaselineResult:
    plain = BaselineResult(
        task="quick-forecast", family="forecasting", data_kind="simulated", key="0" * 16, agent="naive", state="scored",
        reason=None, total=0.01, relative_total=1.0, metrics={"mae": 0.01}, wall_s=1.5, seed=0,
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]  # whatever a test changes


def test_every_agent_runs_on_every_task_and_the_checks_beside_them(two: list[Task], tmp_path: Path) -> None:
    rows = list(run_baselines(two, lambda _: ["naive"], backend="inline"))
    assert [(r.task, r.agent, r.state) for r in rows] == [
        (name, agent, "rejected" if agent == "nop" else "scored")
        for name in ("quick-forecast", "quick-nodes")
        for agent in ("naive", "oracle", "nop")
    ]
    by = {(r.task, r.agent): r for r in rows}
    assert by["quick-forecast", "naive"].relative_total == pytest.approx(1.0)
    assert by["quick-forecast", "oracle"].relative_total == pytest.approx(0.01)
    assert by["quick-nodes", "oracle"].metrics == {"auroc": 1.0, "recall_at_k": 1.0}
    assert all(r.key == key_of(load_task(r.task), r.agent) and r.wall_s > 0.0 for r in rows)
    record(reversed(rows), tmp_path / "out.json")
    assert recorded(tmp_path / "out.json") == sorted(rows, key=lambda r: (r.family, r.task, r.agent))
    assert stale(rows) == set()


def test_what_is_done_is_not_run_again_and_our_errors_are(two: list[Task]) -> None:
    quick = two[0]
    done = [
        row(key=key_of(quick, "naive"), total=123.0),
        row(key=key_of(quick, "oracle"), agent="oracle"),
        row(
            key=key_of(quick, "nop"),
            agent="nop",
            state="error",
            reason="the verifier died",
            total=None,
            relative_total=None,
        ),
        row(task="quick-nodes", key="stale", agent="naive", total=456.0),
    ]
    said: list[str] = []
    rows = list(run_baselines(two, lambda _: ["naive"], backend="inline", done=done, progress=said.append))
    assert rows[0] == done[0]
    assert rows[1] == done[1]
    by = {(r.task, r.agent): r for r in rows}
    assert by["quick-forecast", "nop"].state == "rejected", "an error of ours is tried again"
    assert by["quick-nodes", "naive"].total != 456.0, "a result of another build is measured again"
    assert said == [
        "quick-forecast: building", "quick-forecast: nop",
        "quick-nodes: building", "quick-nodes: naive", "quick-nodes: oracle", "quick-nodes: nop",
    ]  # fmt: skip


def test_a_changed_task_makes_its_results_stale(two: list[Task]) -> None:
    rows = [row(task=task.name, key=key_of(task, "naive")) for task in two]
    assert stale(rows) == set()
    path = two[0].instruction_path
    path.write_text(path.read_text() + "\nMore.\n")
    assert stale([*rows, row(task="gone-forecast")]) == {("quick-forecast", "naive"), ("gone-forecast", "naive")}


def test_a_new_version_of_a_metric_makes_results_stale(two: list[Task], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(task=task.name, key=key_of(task, "naive")) for task in two]
    assert stale(rows) == set()
    for changes in ({"version": METRICS["mae"].version + 1}, {"proper": False}):
        monkeypatch.setattr(registry, "METRICS", {**METRICS, "mae": replace(METRICS["mae"], **changes)})
        assert stale(rows) == {("quick-forecast", "naive")}


def test_a_record_that_cannot_be_read_says_how_to_make_one(tmp_path: Path) -> None:
    for content in (None, "[", '[{"task": "x"}]'):
        if content is not None:
            (tmp_path / "record.json").write_text(content)
        with pytest.raises(StoreError, match="report baselines --run"):
            recorded(tmp_path / "record.json")


def test_the_command_prints_a_record(
    two: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "record.json"
    keys = {agent: key_of(two[0], agent) for agent in ("naive", "ridge")}
    record(
        [
            row(key=keys["naive"]),
            row(key=keys["ridge"], agent="ridge", relative_total=0.9),
            row(task="quick-nodes", family="fraud"),
        ],
        path,
    )
    status, out, _ = invoke(monkeypatch, capsys, "report", "baselines", "--out", str(path))
    assert status == 0
    assert out.index("ridge") < out.index("naive  "), "the better one first"
    assert "quick-nodes (stale)" in out
    assert "2 tasks, 3 results" in out
    status, out, _ = invoke(
        monkeypatch, capsys, "report", "baselines", "--out", str(path), "--json", "--tasks", "quick-f*"
    )
    rows = json.loads(out)
    assert [(r["task"], r["agent"], r["stale"], r["success"]) for r in rows] == [
        ("quick-forecast", "naive", False, True),
        ("quick-forecast", "ridge", False, True),
    ]
    status, out, _ = invoke(
        monkeypatch, capsys, "report", "baselines", "--out", str(path), "--markdown", "--family", "fraud"
    )
    assert out.startswith("## Simulated data\n\n| task | data | agent |")
    assert "quick-forecast" not in out


def test_the_command_measures_and_goes_on(
    two: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "record.json"
    options = ("report", "baselines", "--run", "--agents", "naive", "--backend", "inline", "--out", str(path), "--json")
    status, out, _ = invoke(monkeypatch, capsys, *options, "--tasks", "quick-forecast")
    assert status == 0
    first = json.loads(out)
    assert [(r["agent"], r["state"]) for r in first] == [("naive", "scored"), ("nop", "rejected"), ("oracle", "scored")]
    status, out, _ = invoke(monkeypatch, capsys, *options)
    every = json.loads(out)
    assert [r for r in every if r["task"] == "quick-forecast"] == first, "the seconds, too, are those of the first time"
    assert len(every) == len(recorded(path)) == 6


def test_where_nothing_matches_the_command_says_so(
    two: list[Task], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ((), ("--run", "--agents", "naive", "--backend", "inline")):
        status, out, err = invoke(monkeypatch, capsys, "report", "baselines", "--tasks", "quick-forecasts", *more)
        assert (status, out) == (2, "")
        assert "no task matches 'quick-forecasts'" in err
    status, _, err = invoke(monkeypatch, capsys, "report", "baselines", "--tasks", "a" * 5000)
    assert (status, "no task matches 'aaa" in err) == (2, True), "longer than any name of a folder"


def test_a_task_may_be_named_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalog, "_registered", [])
    folder = new_task("mine", tmp_path).as_posix()
    options = ("--agents", "naive", "--backend", "inline", "--json", "--out", str(tmp_path / "mine.json"))
    status, out, _ = invoke(monkeypatch, capsys, "report", "baselines", "--run", "--tasks", folder, *options)
    assert status == 0
    (naive,) = (row for row in json.loads(out) if row["agent"] == "naive")
    assert (naive["task"], naive["relative_total"], naive["stale"]) == ("mine", pytest.approx(1.0), False)


def test_the_record_that_comes_with_the_library_covers_every_task() -> None:
    rows = recorded()
    # What a live market does, it does once: a record of it would be compared with nothing.
    names = {name for name in catalog.task_folders() if not is_live(catalog.load_task(name).spec.contract)}
    assert {r.task for r in rows} == names
    best = {r.task: r.relative_total for r in rows if r.agent == "oracle"}
    for r in rows:
        assert r.state == ("rejected" if r.agent == "nop" else "scored"), (r.task, r.agent, r.reason)
        reference = best[r.task]
        assert reference is not None
        assert r.relative_total is None or r.relative_total >= reference, (r.task, r.agent)


def test_rows_with_and_without_intervals_are_read(tmp_path: Path) -> None:
    sure = row(
        task="a-forecast", relative_interval=(0.9, 1.1), total_interval=(0.0, 0.1), standard_errors={"mae": 0.001}
    )
    record([row(), sure], tmp_path / "record.json")
    data = json.loads((tmp_path / "record.json").read_text())
    for name in ("relative_interval", "total_interval", "standard_errors"):
        del data[1][name]
    (tmp_path / "record.json").write_text(json.dumps(data))
    assert recorded(tmp_path / "record.json") == [sure, row()]
