"""Results on disk: complete or absent, and readable by another program."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from openfingym.errors import StoreError
from openfingym.results import RolloutResult, read_run
from openfingym.results.run_folder import RunFiles, write_run
from tests.openfingym.reports import made

RESULT = replace(
    made.RESULT,
    rollout_id="r1",
    seed=3,
    total=0.5,
    metrics={"mae": 0.5},
    baseline_total=1.0,
    baseline_metrics={"mae": 1.0},
    submissions_accepted=1,
    budget=5,
    flags=("probing",),
)
FILES = RunFiles({"task": "t"}, "print()", b"\xff\x00out", [{"event": "accepted"}, {"event": "finalized"}], {1: b"npy"})


def test_a_run_is_written_and_read_back(tmp_path: Path) -> None:
    written = write_run(tmp_path / "runs", RESULT, FILES)
    assert written.path == tmp_path / "runs" / "r1"
    assert read_run(written.path) == written
    assert sorted(path.relative_to(written.path).as_posix() for path in written.path.rglob("*")) == [
        "config.json", "log.jsonl", "output.log", "program.py", "result.json", "submissions", "submissions/1.npy",
    ]  # fmt: skip
    assert (written.path / "output.log").read_bytes() == b"\xff\x00out"
    assert [json.loads(line)["event"] for line in (written.path / "log.jsonl").read_text().splitlines()] == [
        "accepted",
        "finalized",
    ]


def test_result_json_is_plain(tmp_path: Path) -> None:
    written = write_run(tmp_path, RESULT, FILES)
    assert written.path is not None
    data = json.loads((written.path / "result.json").read_text())
    assert data["state"] == "scored"
    assert data["skill"] == 0.5
    assert data["reward"] == -0.5
    assert data["flags"] == ["probing"]


def test_a_run_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    write_run(tmp_path, RESULT, FILES)
    with pytest.raises(StoreError, match="--out"):
        write_run(tmp_path, RESULT, FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["r1"]


@pytest.mark.parametrize("name", [field.name for field in fields(RolloutResult) if field.name != "path"])
def test_no_field_may_be_of_another_type(tmp_path: Path, name: str) -> None:
    """Whatever a result has, a newer field too, is looked at before it is used."""
    folder = write_run(tmp_path, RESULT, FILES).path
    assert folder is not None
    stated = json.loads((folder / "result.json").read_text())
    for wrong in ({"a": {}}, [[]], [{"a": 1}]):
        (folder / "result.json").write_text(json.dumps(stated | {name: wrong}))
        with pytest.raises(StoreError):
            read_run(folder)


def test_a_folder_without_a_result_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"result\.json"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("total", "name", "reward"),
    [
        (0.02, "loss", -0.02),
        (7.0, "loss", -7.0),
        (1e9, "loss", -99.0),
        (None, "loss", -100.0),
        (0.02, "grpo", -0.02),
        (7.0, "grpo", -5.0),
        (None, "grpo", -6.0),
        (0.02, "relative", -0.04),
        (7.0, "relative", -14.0),
        (1e9, "relative", -99.0),
        (None, "relative", -100.0),
    ],
)
def test_rewards(total: float | None, name: str, reward: float) -> None:
    relative = None if total is None else 2.0 * total
    result = replace(RESULT, total=total, relative_total=relative, state="scored" if total is not None else "rejected")
    assert result.reward(name) == reward  # type: ignore[arg-type]


@pytest.mark.parametrize("state", ["error", "void", "deferred"])
def test_what_is_not_the_agents_has_no_reward(state: str) -> None:
    result = replace(RESULT, state=state, total=None, reason="disk full")  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="disk full"):
        result.reward()
    assert result.to_dict()["reward"] is None


def test_intervals_are_read_back_and_old_results_have_none(tmp_path: Path) -> None:
    sure = replace(RESULT, relative_interval=(0.4, 0.6), total_interval=(0.4, 0.7), standard_errors={"mae": 0.05})
    written = write_run(tmp_path, sure, FILES)
    assert written.path is not None
    assert read_run(written.path) == written
    data = json.loads((written.path / "result.json").read_text())
    assert (data["relative_interval"], data["verdict"], data["standard_errors"]) == (
        [0.4, 0.6],
        "better",
        {"mae": 0.05},
    )
    for name in ("relative_interval", "total_interval", "standard_errors"):
        del data[name]
    old = RolloutResult.from_dict(data)
    assert (old.relative_interval, old.total_interval, old.standard_errors, old.verdict) == (None, None, {}, None)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.5, 0.99), "better"),
        ((1.01, 2.0), "worse"),
        ((0.5, 1.0), "no difference"),
        ((1.0, 1.0), "no difference"),
        ((1 - 2e-16, 1 - 1e-16), "no difference"),
        (None, None),
    ],
)
def test_a_verdict_needs_the_whole_interval(interval: tuple[float, float] | None, verdict: str | None) -> None:
    assert replace(RESULT, relative_interval=interval).verdict == verdict
