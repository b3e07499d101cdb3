"""Runs as a DataFrame: every rollout has a row, also one that cannot be read."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

import openfingym
from openfingym.errors import UsageError
from openfingym.reports.frame import COLUMNS
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
    assert frame["reward"].tolist()[:3] == [openfingym.read_run(path).reward() for path in (model, first, second)]
    assert pd.isna(frame["reward"][3])
    row = frame.loc[1]
    result = openfingym.read_run(first)
    for name in set(COLUMNS) & set(vars(result)) - {"started_at"}:
        value = getattr(result, name)
        assert pd.isna(row[name]) if value is None else row[name] == value, name
    assert (row["relative_low"], row["relative_high"], row["skill"]) == (0.4, 0.6, 0.5)
    assert row["started_at"] == pd.Timestamp("2026-01-01", tz="UTC")
    assert (frame["endpoint"][0], frame["openfingym"][0]) == ("https://example.org/v1", "0.1.0")
    assert (frame["metric_mae"][1], frame["metric_rmse"][0]) == (0.05, 0.25)
    assert {name: str(kind) for name, kind in frame.dtypes.items() if name in COLUMNS} == {
        **COLUMNS,
        **{name: str(pd.Series([], dtype=kind).dtype) for name, kind in COLUMNS.items()},
    }
    # An infrastructure error is in no mean.
    assert frame.groupby("agent")["reward"].mean()["ridge"] == frame["reward"][1:3].mean()


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
