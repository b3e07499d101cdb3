"""A task from an author's own rows of features: dates, ids, gaps, and what the order of rows must not tell.

Attacks: a file sorted by target, so that the place of a hidden row among those of its date told its rank; and a gap
that was filled from the value behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.data.own.row_gaps import rows_without_gaps
from openfingym.data.own.rows import OwnRows, read_own_rows, stored_csv
from openfingym.errors import OpenFinGymError, TaskError, UsageError
from openfingym.kinds import kind_of
from openfingym.kinds.start import Given
from openfingym.packages.scaffold import new_task
from openfingym.task import Task
from tests.openfingym.kinds.materials import changed_by_scrambling, made

DATES, ITEMS = 60, 8


def frame() -> pd.DataFrame:
    """Some two thirds of all items a date, as items come and go."""
    generator = np.random.default_rng(4)
    features = generator.standard_normal((DATES * ITEMS, 3)).round(3)
    days = pd.date_range("2015-01-31", periods=DATES, freq="ME").strftime("%Y-%m-%d")
    table = pd.DataFrame(features, columns=["a", "b", "c"])
    table.insert(0, "ticker", [f"T{place % ITEMS}" for place in range(len(table))])
    table.insert(0, "date", np.repeat(days, ITEMS))
    table["y"] = (50.0 + 2.0 * features[:, 0] + generator.standard_normal(len(table))).round(3)
    return table[generator.uniform(size=len(table)) < 0.7].reset_index(drop=True)


def csv(path: Path, table: pd.DataFrame) -> Path:
    table.to_csv(path, index=False)
    return path


def test_rows_with_gaps_pass_the_check(tmp_path: Path) -> None:
    table = frame()
    table.loc[[20, 60, 200, 300], "a"] = np.nan
    table.loc[[5, 310], "y"] = np.nan
    path = csv(tmp_path / "x.csv", table[["y", "a", "date", "b", "ticker", "c"]])
    options = ["--kind", "rows", "--target", "y", "--fill", "interpolate", "--to", str(tmp_path)]
    new = CliRunner().invoke(cli, ["task", "new", "mine", "--from", str(path), *options], catch_exceptions=False)
    assert new.exit_code == 0, new.output
    checked = CliRunner().invoke(cli, ["task", "check", str(tmp_path / "mine")], catch_exceptions=False)
    assert checked.exit_code == 0, checked.output
    task = load_task(str(tmp_path / "mine"))
    assert task.spec.asset_class == "other"
    prepared = task.spec.dataset.prepared
    assert prepared is not None
    assert (prepared.filled, prepared.dropped) == (4, 2)
    material = made(task)
    train, hidden = material.public["train_targets"], material.hidden["targets"]
    # Targets are about their training mean, so that the baseline of zero is what was usual.
    assert abs(train.mean()) < 1e-9
    assert material.facts["centre"] == pytest.approx(frame()["y"].mean(), abs=0.5)
    assert np.abs(hidden).max() < 10.0
    assert material.labels == ("y",)
    brief = str(kind_of(task).brief(task, material))
    for word in ("stock", "month", "return"):
        assert word not in brief


def test_no_later_row_is_before_an_earlier_one_and_a_date_is_in_one_block(tmp_path: Path) -> None:
    shuffled = frame().sample(frac=1.0, random_state=1)
    task = Task.read(new_task("x", tmp_path, "rows", Given((csv(tmp_path / "x.csv", shuffled),))))
    material = made(task)
    train, test = material.public["train_times"], material.hidden["test_times"]
    public, private = test[: material.n_public], test[material.n_public :]
    assert train.max() < public.min()
    assert public.max() < private.min()
    assert len(np.unique(train)) == int(0.6 * DATES)
    assert changed_by_scrambling(task) == set()
    for times in (train, test):
        assert (np.diff(times.astype(np.int64)) >= 0).all()


def test_rows_without_dates_are_split_by_number(tmp_path: Path) -> None:
    table = frame()[["a", "b", "y"]]
    folder = new_task("x", tmp_path, "rows", Given((csv(tmp_path / "x.csv", table),)))
    material = made(Task.read(folder))
    np.testing.assert_array_equal(material.public["train_inputs"], table[["a", "b"]][: material.n_train])
    assert material.public["train_times"].tolist() == list(range(material.n_train))
    assert "The rows have no date" in (folder / "instruction.md").read_text()
    assert any("split by it" in step for step in material.recipe)


@pytest.mark.parametrize("ids", [True, False])
def test_the_order_of_a_file_tells_no_target(ids: bool, tmp_path: Path) -> None:
    """The attack: a file sorted by target, where the place of a row among those of its date is the target's rank."""
    table = frame().sort_values("y") if ids else frame().sort_values("y").drop(columns="ticker")
    material = made(Task.read(new_task("x", tmp_path, "rows", Given((csv(tmp_path / "x.csv", table),)))))
    times = material.hidden["test_times"]
    counts = []
    for moment in np.unique(times):
        own = material.hidden["targets"][times == moment]
        counts.append((np.diff(own) > 0.0).mean() if len(own) > 1 else 0.5)
    assert 0.35 < np.mean(counts) < 0.65
    series = material.hidden["test_series"]
    assert abs(np.corrcoef(series, material.hidden["targets"])[0, 1]) < 0.3


def test_undated_rows_sorted_by_target_are_refused(tmp_path: Path) -> None:
    for ascending in (True, False):
        table = frame()[["a", "b", "y"]].sort_values("y", ascending=ascending)
        with pytest.raises(OpenFinGymError, match=r"sorted by 'y'.*shuffle them"):
            new_task("x", tmp_path, "rows", Given((csv(tmp_path / "x.csv", table),)))


def test_a_package_holds_what_was_read(tmp_path: Path) -> None:
    for table in (frame(), frame().drop(columns="date"), frame().drop(columns="ticker").drop_duplicates("date")):
        rows = read_own_rows(csv(tmp_path / "x.csv", table))
        again = read_own_rows(tmp_path / "data.csv", content=stored_csv(rows))
        np.testing.assert_array_equal(again.values, rows.values)
        np.testing.assert_array_equal(again.clock, rows.clock)
        np.testing.assert_array_equal(again.series, rows.series)
        assert (again.ids, again.columns) == (rows.ids, rows.columns)


def test_no_fill_shows_a_value_of_a_hidden_row() -> None:
    """The attack: whatever is hidden changes, no cell of an earlier row does."""
    generator = np.random.default_rng(1)
    dates, items = 40, 5
    times = np.repeat(np.arange("2020-01-01", "2020-02-10", dtype="datetime64[D]"), items).astype("datetime64[ns]")
    series = np.tile(np.arange(items), dates)
    values = generator.uniform(1.0, 2.0, (dates * items, 3))
    values[:, :2][generator.uniform(size=(dates * items, 2)) < 0.3] = np.nan
    values[:items] = 1.0

    def filled(cells: np.ndarray, fill: str) -> np.ndarray:
        rows = OwnRows(times, series, tuple("abcde"), ("f", "g", "y"), cells)
        return rows_without_gaps(rows, fill, 0.7).rows.values  # type: ignore[arg-type]  # noqa: PD011 - no frame

    for fill in ("forward", "interpolate"):
        usual = filled(values, fill)
        assert np.isfinite(usual).all()
        for date in range(int(0.7 * dates), dates):
            other = values.copy()
            other[date * items :] += 5.0
            np.testing.assert_array_equal(usual[: date * items], filled(other, fill)[: date * items])
    # A gap takes the value of its own id.
    alone = values.copy()
    alone[:, 0] = series
    alone[items * 10 :, 0] = np.nan
    np.testing.assert_array_equal(filled(alone, "forward")[:, 0], series)


def test_interpolated_cells_need_their_training_rows(tmp_path: Path) -> None:
    table = frame().drop(columns="ticker").drop_duplicates("date")
    table.iloc[34, 1] = np.nan
    folder = new_task("x", tmp_path, "rows", Given((csv(tmp_path / "x.csv", table),), fill="interpolate"))
    config = folder / "task.toml"
    config.write_text(config.read_text().replace("train = 0.6", "train = 0.5").replace("public = 0.2", "public = 0.3"))
    with pytest.raises(TaskError, match="training block ends before row 35"):
        made(Task.read(folder))


REFUSED: dict[str, tuple[Callable[[], pd.DataFrame], str]] = {
    "a category": (
        lambda: frame().assign(a="tech"),
        r"column 'a': 'tech' .*get_dummies\(frame, columns=\['a'\]",
    ),
    "a target of text": (lambda: frame().assign(y="up"), "column to predict, which --target names"),
    "infinity": (lambda: frame().assign(a=np.inf), "'inf' is not a finite number"),
    "a gap": (lambda: frame().assign(a=frame()["a"].where(frame().index != 3)), "'a' at 2015-01-31.*--fill forward"),
    "an id twice": (lambda: pd.concat([frame(), frame()[:1]]), "has two rows at 2015-01-31"),
    "two ids": (lambda: frame().assign(id=1), "each say what a row is of"),
    "no feature": (lambda: frame()[["date", "ticker", "y"]], "expected a feature at least"),
    "two dates": (lambda: frame()[:9], "leave a block with fewer than two|too few"),
    "an id without a name": (lambda: frame().assign(ticker=""), "does not say what the row is of"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused(case: str, tmp_path: Path) -> None:
    table, message = REFUSED[case]
    with pytest.raises(OpenFinGymError, match=message):
        new_task("x", tmp_path, "rows", Given((csv(tmp_path / "x.csv", table()),)))
    assert not (tmp_path / "x").exists()


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = csv(tmp_path / "x.csv", frame())
    for given, message in (
        (Given((path,), target="why"), "--target: .* no column 'why'"),
        (Given((path, path)), "2 files"),
        (Given((path,), measure="price"), "--measure price"),
        (Given((path,), labels=path), "are for graphs"),
    ):
        with pytest.raises(UsageError, match=message):
            new_task("x", tmp_path, "rows", given)
    gaps = frame().drop(columns="ticker")
    gaps.loc[3, "a"] = np.nan
    given = Given((csv(tmp_path / "gaps.csv", gaps),), fill="forward")
    with pytest.raises(OpenFinGymError, match="add a column 'id', or give --fill drop"):
        new_task("x", tmp_path, "rows", given)


def test_the_file_and_what_is_said_of_it_must_agree(tmp_path: Path) -> None:
    folder = new_task("x", tmp_path, "rows", Given((csv(tmp_path / "x.csv", frame()),)))
    config = folder / "task.toml"
    text = config.read_text()
    for line, message in (("dates = false", "they must agree"), ('channels = ["a"]', "remove columns from the file")):
        config.write_text(text.replace('measure = "mixed"', f'measure = "mixed"\n{line}'))
        with pytest.raises(TaskError, match=message):
            made(Task.read(folder))


@pytest.mark.parametrize("target", ['y"', "y\\q", 'y" #x'])
def test_a_target_with_marks_of_toml_stays_a_name(target: str, tmp_path: Path) -> None:
    path = csv(tmp_path / "x.csv", frame().rename(columns={"y": target}))
    folder = new_task("mine", tmp_path, "rows", Given((path,), target=target))
    assert f"Forecast {target}" in load_task(str(folder)).file.task.description
