"""Runs as a DataFrame: every rollout has a row, also one that cannot be read."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

import openfingym
from openfingym.errors import UsageError
from openfingym.reports.formatting import figure, percent, signed
from openfingym.reports.frame import COLUMNS
from openfingym.reports.report import make_report
from openfingym.reports.runs import FoundRuns, find_runs
from openfingym.rollouts.folders import STAGING, RunFolder
from tests.openfingym.reports.made import PLAYED, failed, scored, write


def test_a_row_is_a_rollout_with_the_names_of_its_result(tmp_path):
    first, second, third = write(
        tmp_path,
        scored(0.5, relative_interval=(0.4, 0.6)),
        failed("rejected", seed=1),
        failed("error", seed=2),
    )
    (model,) = write(tmp_path / "models", PLAYED)
    config = json.loads((model / "config.json").read_text())
    changed = {**config, "base_url": "https://me:secret@example.org/v1", "openfingym": "0.1.0"}
    (model / "config.json").write_text(json.dumps(changed))
    frame = openfingym.read_runs(tmp_path, metrics=True)
    assert frame["folder"].tolist() == [str(model), str(first), str(second), str(third)]
    assert frame["state"].tolist() == ["scored", "scored", "rejected", "error"]
    assert frame["success"].tolist() == [True, True, False, pd.NA]
    # A failure has no reward, and is a failure in all else; an error of ours is in nothing.
    assert frame["reward"].tolist()[:2] == [0.5, 0.05]
    assert frame["reward"].isna().tolist() == [False, False, True, True]
    assert frame["penalized"].tolist()[:3] == [pytest.approx(0.75), pytest.approx(0.5), pytest.approx(100.0)]
    assert frame["skill"].tolist()[:3] == [pytest.approx(0.25), pytest.approx(0.5), 0.0]
    assert frame[["penalized", "skill"]].isna().all(axis=1).tolist() == [False, False, False, True]
    assert set(frame["family"]) == {"forecasting"}
    row = frame.loc[1]
    result = openfingym.read_run(first)
    for name in set(COLUMNS) & set(vars(result)) - {"started_at"}:
        value = getattr(result, name)
        assert pd.isna(row[name]) if value is None else row[name] == value, name
    assert (row["relative_low"], row["relative_high"]) == (0.4, 0.6)
    assert row["started_at"] == pd.Timestamp("2026-01-01", tz="UTC")
    assert (frame["endpoint"][0], frame["openfingym"][0]) == ("https://example.org/v1", "0.1.0")
    assert (frame["metric_mae"][1], frame["metric_rmse"][0]) == (0.05, 0.25)
    assert {name: str(kind) for name, kind in frame.dtypes.items() if name in COLUMNS} == {
        **COLUMNS,
        **{name: str(pd.Series([], dtype=kind).dtype) for name, kind in COLUMNS.items()},
    }
    # An infrastructure error is in no mean.
    assert frame.groupby("agent")["success"].mean()["ridge"] == 0.5


def test_what_cannot_be_read_is_a_row_too(tmp_path):
    good, bad, empty = write(tmp_path / "run", scored(0.5), scored(0.5, seed=1), scored(0.5, seed=2))
    (bad / "result.json").write_text("{")
    (empty / "result.json").unlink()
    shutil.copytree(good, tmp_path / "copy")
    (tmp_path / "elsewhere" / "private").mkdir(parents=True)
    with RunFolder.open(tmp_path / "batch") as folder:
        (folder.root / STAGING / "abc").mkdir()
        (folder.root / ".killed.partial").mkdir()
        (folder.root / STAGING / "link").symlink_to(tmp_path / "elsewhere")
        frame = openfingym.read_runs(tmp_path)
    assert frame["state"].tolist() == ["scored", "damaged", "damaged", "unfinished", "unfinished"]
    assert frame["folder"].tolist()[3:] == [
        str(tmp_path / "batch" / name) for name in (".killed.partial", ".staging/abc")
    ]
    assert "not a readable result" in frame["reason"][1]
    assert frame["task"].isna().tolist() == [False, True, True, True, True]
    assert frame.attrs["copies"] == 1
    assert len(openfingym.read_runs(tmp_path / "run", tmp_path / "run")) == 3


def test_a_folder_without_runs_is_an_error(tmp_path):
    for folders in ((), (tmp_path,), (tmp_path / "none",)):
        with pytest.raises(UsageError, match="folder"):
            openfingym.read_runs(*folders)


def test_odd_values_of_a_strangers_run_harm_no_other_row(tmp_path):
    odd = {"seed": 1.5, "attempt": 2**70, "started_at": "yesterday", "reason": "\ud800", "agent": "=1+1"}
    folder, _ = write(tmp_path, scored(0.5), scored(0.5, seed=1))
    (folder / "result.json").write_text(json.dumps({**json.loads((folder / "result.json").read_text()), **odd}))
    frame = openfingym.read_runs(tmp_path)
    assert frame["state"].tolist() == ["scored", "scored"]
    row = frame[frame["agent"] == "=1+1"].iloc[0]
    assert row[["seed", "attempt", "started_at"]].isna().all()
    assert row["reason"] == "\\ud800"


DOCS = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")


def test_every_column_is_documented_and_in_order():
    section = DOCS[DOCS.index("## From Python") :]
    rows = re.findall(r"^\| (`[^|]*) \|", section, flags=re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == list(COLUMNS)


def of_all_kinds():
    """Runs of two kinds of data and four families: some rejected, one agent never scored, two builds, a slice, an
    instance, an infrastructure error.
    """
    tasks = ("fx-forecast", "fx-forecast-v2", "ou-generation", "amazon-fraud", "crypto-trading", "finsearch")
    for kind in ("real", "simulated"):
        for number, task in enumerate(tasks):
            for seed in range(3):
                about = {
                    "task": task,
                    "seed": seed,
                    "data_kind": kind,
                    "questions": "1-9" * (task == "finsearch") or None,
                }
                metrics = {"auroc": 0.9 - 0.01 * number, "recall_at_k": 0.1 * (seed + 1)}
                yield scored(0.3 + 0.1 * number + 0.05 * seed, agent="good", metrics=metrics, **about)
                worse = scored(99.5 if seed else 1.7, agent="bad", model="m", metrics=metrics, **about)
                yield worse if (number + seed) % 3 else failed("rejected", agent="bad", model="m", **about)
                yield failed("rejected", agent="never", **about)
        yield failed("error", agent="good", task="fx-forecast", seed=7, data_kind=kind)
    yield scored(0.01, agent="good", task="fx-forecast", seed=8, task_digest="e" * 64)
    yield scored(0.01, agent="good", task="fx-forecast", seed=9, split="train", instance=1)
    # A slice of what others were asked whole is in no figure of a report.
    yield scored(0.02, agent="good", task="ou-generation", seed=8, questions="1-9")


def test_the_recipe_of_the_documentation_has_the_figures_of_the_report(tmp_path, monkeypatch):
    results = list(of_all_kinds())
    for result in results:
        write(tmp_path / "runs" / "t4" / result.split, result)
    monkeypatch.chdir(tmp_path)
    recipe = next(code for code in re.findall(r"```python\n(.*?)```", DOCS, flags=re.DOTALL) if "read_runs" in code)
    exec(recipe, names := {})
    report = make_report(find_runs([tmp_path / "runs" / "t4" / "test"]))
    cells = {
        (cell.data_kind, *(name if name != "-" else "" for name in cell.row), cell.family): cell
        for cell in report.cells
        if cell.family != "all"
    }
    table = names["table"].reset_index().fillna({"model": ""}).set_index(["data_kind", "agent", "model", "family"])
    assert set(table.index) == set(cells)
    assert len(cells) == 30
    for key, cell in cells.items():
        row = {name: None if pd.isna(value) else float(value) for name, value in table.loc[key].items()}
        assert (figure(row["reward"]), percent(row["success"])) == (figure(cell.reward), percent(cell.counts.success))
        assert (signed(row["skill"]), figure(row["penalized_total"])) == (
            signed(cell.skill.value),
            figure(cell.penalized.value),
        ), key
    # What the table shows of a report is the same again in its frame.
    frame = report.frame()
    assert list(frame.columns) == report.to_csv().partition("\n")[0].split(",")
    skills = [float("nan") if cell.skill.value is None else cell.skill.value for cell in report.cells]
    assert frame["skill"].tolist() == pytest.approx(skills, nan_ok=True)


def test_a_frame_has_names_as_they_are():
    report = make_report(FoundRuns((scored(0.5, agent="=1+1"),)))
    assert report.frame()["agent"].tolist() == ["=1+1"]
    assert "'=1+1" in report.to_csv()
