"""What an author's file does not have, and was filled in, is counted and never scored."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from openfingym.checks.check import CheckReport
from openfingym.cli.task import _print_report
from openfingym.data.own.filled import filled_csv, read_filled
from openfingym.errors import DataError, TaskError
from openfingym.kinds import kind_of, score_fold, score_with_replicates
from openfingym.kinds.instances import InstanceSplit
from openfingym.kinds.start import Given
from openfingym.metrics import find_metric
from openfingym.packages.scaffold import new_task, start_of
from openfingym.task import Task
from tests.openfingym.kinds.instance_data import Played, instance_of, training_data
from tests.openfingym.kinds.materials import read_of

ROWS = 600


def prices(columns: int = 2, rows: int = ROWS) -> pd.DataFrame:
    moves = np.random.default_rng(5).standard_normal((rows, columns))
    values = 100.0 * np.exp(np.cumsum(0.01 * moves, axis=0))
    days = pd.bdate_range("2020-01-01", periods=rows).strftime("%Y-%m-%d")
    return pd.DataFrame(values, columns=[f"c{place}" for place in range(columns)]).assign(date=days).set_index("date")


def task_of(tmp_path: Path, table: pd.DataFrame, kind: str = "forecast", name: str = "x", **given: str) -> Task:
    table.to_csv(tmp_path / f"{name}.csv")
    folder = new_task(name, tmp_path, kind, Given((tmp_path / f"{name}.csv",), fill="forward", **given))
    return Task.read(folder)


def material_of(task: Task):
    kind = kind_of(task)
    return kind.shape(task, kind.load(task))


def folds_of(task: Task, material):
    counts = (material.n_public, material.n_private)
    return kind_of(task).folds(task.spec, read_of(material), material.hidden, counts, 0)


def holed() -> pd.DataFrame:
    """Gaps in training, in hidden inputs and hidden targets: a few rows, and a column that ends early."""
    table = prices()
    table.iloc[[100, 430, 431, 470, 530, 533, 534], 0] = np.nan
    table.iloc[560:, 1] = np.nan
    return table


def test_a_filled_hidden_value_is_in_no_score(tmp_path: Path) -> None:
    table = holed()
    task = task_of(tmp_path, table)
    material = material_of(task)
    contract, rng = task.spec.contract, np.random.default_rng(1)
    answer = rng.normal(0.0, 0.01, material.shape)
    # The truth by pandas: a return is known only if both prices were in the file.
    returns = np.log(table).diff()
    rows = {time: row for row, time in enumerate(pd.to_datetime(table.index))}
    places = [
        [rows[pd.Timestamp(time)] for time in times[contract.lookback :]] for times in material.hidden["test_times"]
    ]
    truth = returns.to_numpy()[np.array(places)]
    assert 0 < np.isnan(truth).sum() < truth.size
    for fold in folds_of(task, material):
        ours, theirs = answer[fold.rows], truth[fold.rows]
        whole = ~np.isnan(theirs).any(axis=(1, 2))
        expected = {
            "mae": np.nanmean(np.abs(ours - theirs)),
            "rmse": np.sqrt(np.nanmean((ours - theirs) ** 2)),
            "relative_mae": np.nansum(np.abs(ours - theirs)) / np.nansum(np.abs(theirs)),
            # Of each horizon by itself, so that whole windows count alone.
            "mafe": np.abs(ours - theirs)[whole].mean(axis=(0, 2)).mean(),
        }
        weights = [weighted(task, name) for name in expected]
        scoring = task.spec.scoring.model_copy(update={"metrics": tuple(weights)})
        score = score_fold(contract, scoring, fold, answer)
        assert score.metrics == pytest.approx(expected, abs=1e-9)
        # Whatever is answered where nobody knows the truth, the score and its error stay to the last bit.
        other = np.where(np.isnan(truth), 0.9, answer)
        design = kind_of(task).resampling(contract, fold)
        first, second = (score_with_replicates(contract, scoring, fold, values, design) for values in (answer, other))
        assert first.metrics == second.metrics
        assert first.replicates is not None
        assert second.replicates is not None
        assert all(
            np.array_equal(first.replicates.metrics[name], second.replicates.metrics[name], equal_nan=True)
            for name in expected
        )


@pytest.mark.parametrize("kind", ["forecast", "generation", "curves", "trading", "rolling"])
def test_one_report_is_shown_at_every_door(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `task new` says of files, `task check` and `task show --html` say of the task that holds them."""
    table = holed()
    if kind in {"trading", "rolling"}:
        close = table.iloc[:, 0]
        bars = {"open": close, "high": close + 1.0, "low": close - 1.0, "close": close}
        table = pd.DataFrame({**bars, "volume": np.where(close.isna(), np.nan, 5.0)})
    elif kind == "curves":
        table.columns = pd.Index(["1y", "2y"])
        table.iloc[560:580, 1] = 99.0
    table.to_csv(tmp_path / "x.csv")
    given = Given((tmp_path / "x.csv",), fill=None if kind in {"trading", "rolling"} else "forward")
    start = start_of(kind, given)
    assert start.own_data is not None
    said = start.own_data.oddities
    assert any("has no value of its own in" in sentence and "of them hidden" in sentence for sentence in said)
    task = Task.read(new_task("x", tmp_path, kind, given, start=start))
    assert kind_of(task).oddities(task) == said
    report = CheckReport("x", (), oddities=said).to_dict()
    _print_report(report)
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[1:]] == [f"odd: {line}" for line in said]


def test_cells_of_which_nobody_kept_the_place_are_scored_and_said(tmp_path: Path) -> None:
    task = task_of(tmp_path, holed())
    text = task.config_path.read_text()
    stated = next(line for line in text.splitlines() if line.startswith("filled_cells"))
    task.config_path.write_text(text.replace(f"{stated}\n", ""))
    older = Task.read(task.folder)
    assert not any("not scored" in step for step in material_of(older).recipe)
    assert "47 cells were given a value, and nobody has kept which" in kind_of(older).oddities(older)[-1]
    # With the file, its cells are part of what the package is made from.
    assert kind_of(task).source_key(task) != kind_of(older).source_key(older)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "its first line must be channel,first,last"),
        ("channel,first,last\nc0,5\n", "row 2: 'c0,5' is no channel"),
        ("channel,first,last\nc0,9,5\n", "is no channel with the first and last row of a run, from 0 to 599"),
        ("channel,first,last\nc0,0,600\n", "row 2"),
        ("channel,first,last\nc0,-1,3\n", "row 2"),
        ("channel,first,last\nc0,\u0661,3\n", "row 2"),
    ],
)
def test_a_file_of_filled_cells_that_is_malformed_is_refused(content: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_filled(content.encode(), ("c0", "c1"), ROWS, "filled.csv")


def test_filled_cells_are_kept_to_the_cell() -> None:
    cells = np.random.default_rng(1).random((50, 3)) < 0.4
    content = filled_csv(("a", 'b"x', "c,d"), cells)
    assert np.array_equal(read_filled(content, ("a", 'b"x', "c,d"), 50, "x"), cells)
    assert np.array_equal(read_filled(content, ("c,d", "a"), 50, "x"), cells[:, [2, 0]])


def weighted(task: Task, name: str):
    return task.spec.scoring.metrics[0].model_copy(update={"name": name, "relative_weight": None})


def test_windows_of_which_nothing_is_known_are_left_out_and_said(tmp_path: Path) -> None:
    full, table = prices(1), prices(1)
    table.iloc[440:470] = np.nan
    kept = material_of(task_of(tmp_path, table))
    before = material_of(task_of(tmp_path, full, name="y"))
    gone = (before.n_public - kept.n_public, before.n_private - kept.n_private)
    assert gone[0] > 0
    assert gone[1] == 0
    assert any(f"{gone[0]} hidden windows left out" in step for step in kept.recipe)
    assert not np.isnan(kept.hidden["targets"]).all(axis=(1, 2)).any()
    assert {len(kept.hidden[name]) for name in ("test_inputs", "test_times")} == {kept.n_public + kept.n_private}
    # A task without gaps is what it was: nothing is said, and no truth is missing.
    assert not any("not scored" in step or "left out" in step for step in before.recipe)
    table.iloc[421:] = np.nan
    with pytest.raises(TaskError, match="0 and 0 are left"):
        task_of(tmp_path, table, name="z")
    assert not (tmp_path / "z").exists()


def test_a_metric_of_whole_windows_needs_some(tmp_path: Path) -> None:
    table = prices(1)
    table.iloc[420::5] = np.nan
    task = task_of(tmp_path, table)
    scoring = task.spec.scoring.model_copy(update={"metrics": (weighted(task, "mafe"),)})
    spec = task.spec.model_copy(update={"scoring": scoring})
    bundle = task.file.metadata.model_copy(update={"openfingym": spec})
    stricter = replace(task, file=task.file.model_copy(update={"metadata": bundle}))
    with pytest.raises(TaskError, match="mafe needs windows of which every value is known, and the public fold has 0"):
        material_of(stricter)
    assert not find_metric("mafe").pools


@pytest.mark.parametrize("kind", ["generation", "curves"])
def test_a_window_that_is_one_answer_is_left_out_if_a_value_was_filled_in(kind: str, tmp_path: Path) -> None:
    table = prices()
    names = ["1y", "2y"] if kind == "curves" else ["a", "b"]
    table.columns = pd.Index(names)
    before = material_of(task_of(tmp_path, table, kind, name="y"))
    # Generated windows tile all rows; of curves, only one row in eleven is predicted.
    table.iloc[[400, 460, 500, 555] if kind == "generation" else range(400, ROWS, 7), 0] = np.nan
    table.iloc[[461, 590], 1] = np.nan
    material = material_of(task_of(tmp_path, table, kind))
    gone = before.n_public + before.n_private - material.n_public - material.n_private
    assert gone > 0
    assert any(f"{gone} hidden windows left out" in step for step in material.recipe)
    hidden = material.hidden["targets" if kind == "curves" else "real"]
    if kind == "curves":
        values = table.to_numpy()
        whole = {tuple(row) for row in np.round(values[~np.isnan(values).any(axis=1)], 6)}
        assert all(tuple(row) in whole for row in np.round(hidden, 6))
    else:
        # A filled price makes a return of exactly 0, which no other is.
        assert (hidden != 0.0).all()


@pytest.mark.parametrize("kind", ["forecast", "generation", "curves"])
def test_instances_hide_no_filled_training_value(kind: str, tmp_path: Path) -> None:
    """An instance is cut from training rows, and asks for none that the author's file does not have."""
    table = prices(3, 1500)
    table.columns = pd.Index(["1y", "2y", "3y"] if kind == "curves" else ["a", "b", "c"])
    holes = np.random.default_rng(8).random((800, 3)) < 0.005
    holes[0], holes[500:504, 1] = False, True
    table.iloc[:800] = table.iloc[:800].mask(holes)
    data = training_data(task_of(tmp_path, table, kind))
    whole = training_data(task_of(tmp_path, table.ffill(), kind, name="y"))
    assert "filled" not in whole.facts
    returns = np.log(table).diff()
    rows = {time: row for row, time in enumerate(pd.to_datetime(table.index))}
    unknown = left_out = 0
    for index, split in itertools.product(range(12 if kind == "curves" else 3), get_args(InstanceSplit)):
        instance = instance_of(data, split, index)
        material, facts = instance.material, instance.material.facts
        full = instance_of(whole, split, index).material
        if kind == "forecast":
            places = np.array([[rows[pd.Timestamp(time)] for time in times] for times in material.hidden["test_times"]])
            truth = returns[list(facts["targets"])].to_numpy()[places[:, facts["lookback"] :]]
            assert np.isnan(material.hidden["targets"]).tolist() == np.isnan(truth).tolist()
            unknown += int(np.isnan(truth).sum())
        elif kind == "generation":
            # A filled price makes a return of exactly 0, which no other is.
            assert (material.hidden["real"] != 0.0).all()
        else:
            known = table[[f"{years:g}y" for years in facts["maturities"]]].dropna().to_numpy().round(6)
            assert {*map(tuple, material.hidden["targets"].round(6))} <= {*map(tuple, known)}
        gone = (full.n_public + full.n_private) - (material.n_public + material.n_private)
        said = re.findall(r"(\d+) hidden windows left out", " ".join(material.recipe))
        assert sum(map(int, said)) == gone
        left_out += gone
        played = Played(data, instance)
        assert played.relative(played.oracle) < 0.5 * played.relative(played.baseline)
    assert unknown if kind == "forecast" else left_out


def test_returns_from_and_to_a_halt_are_in_no_score(tmp_path: Path) -> None:
    close = prices(2)
    frames = []
    for name in close.columns:
        one = close[name]
        bars = pd.DataFrame({"open": one, "high": one * 1.01, "low": one * 0.99, "close": one, "volume": 1000.0})
        frames.append(bars.assign(ticker=name))
    frames[1] = frames[1].drop(index=frames[1].index[450:470])
    table = pd.concat(frames)
    table.to_csv(tmp_path / "x.csv")
    task = Task.read(new_task("x", tmp_path, "rolling", Given((tmp_path / "x.csv",))))
    material = material_of(task)
    public = folds_of(task, material)[0]
    unknown = public.truth.unknown
    assert unknown is not None
    # 20 rows without a bar: 21 returns rest on them, of one symbol alone.
    assert unknown.sum(axis=(0, 1)).tolist() == [0, 21]
    contract = task.spec.contract
    answer = np.random.default_rng(2).normal(0.0, 0.01, material.shape)
    other = answer.copy()
    other[public.rows][unknown] = 0.5
    scores = [score_fold(contract, task.spec.scoring, public, values) for values in (answer, other)]
    assert scores[0].metrics == scores[1].metrics
    truth = np.where(unknown, np.nan, public.truth.y_true)
    assert scores[0].metrics["mae"] == pytest.approx(np.nanmean(np.abs(answer[public.rows] - truth)))
    # Nor is an agent rewarded for them while it plays.
    kind = kind_of(task)
    rewards = []
    for values in (answer, other):
        episode = kind.episode(task.spec, read_of(material), material.hidden, 0)
        episode.start()
        rewards.append([episode.step({"predictions": row}).reward for row in values[0].tolist()])
    assert rewards[0] == rewards[1]
