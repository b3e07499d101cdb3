"""A task from an author's own curves: long or wide, one or several, dated or not, with gaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.data.own.curves import label_of, read_own_curves, years_of
from openfingym.errors import DataError, OpenFinGymError, TaskError, UsageError
from openfingym.kinds import kind_of
from openfingym.kinds.start import Given
from openfingym.packages.like import new_task_like
from openfingym.packages.scaffold import new_task
from openfingym.task import Task
from tests.openfingym.kinds.materials import changed_by_scrambling, made

ROWS = 120
YEARS = (0.25, 1.0, 5.0, 10.0)
HEADS = ("3m", "1", "5y", "10")


def wide(seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    """Curves by month, without a name."""
    moves = np.random.default_rng(seed).standard_normal((rows, len(HEADS)))
    frame = pd.DataFrame((3.0 + np.cumsum(0.1 * moves, axis=0)).round(4), columns=HEADS)
    frame.insert(0, "date", pd.date_range("2010-01-31", periods=rows, freq="ME").strftime("%Y-%m-%d"))
    return frame


def two() -> pd.DataFrame:
    """Two curves below each other."""
    return pd.concat([wide(0).assign(country="DE"), wide(1).assign(country="FR")])


def csv(path: Path, table: pd.DataFrame) -> Path:
    table.to_csv(path, index=False)
    return path


def test_an_undated_curve_with_a_gap_passes_the_check(tmp_path: Path) -> None:
    table = wide().drop(columns="date")
    table.loc[[50, 100], "1"] = np.nan
    given = Given((csv(tmp_path / "euro.csv", table),), fill="forward")
    folder = new_task("my-task", tmp_path, "curves", given)
    checked = CliRunner().invoke(cli, ["task", "check", str(folder)], catch_exceptions=False)
    assert checked.exit_code == 0, checked.output
    task = load_task(str(folder))
    prepared = task.spec.dataset.prepared
    assert prepared is not None
    assert (prepared.fill, prepared.filled) == ("forward", 2)
    material = made(task)
    assert material.public["train_times"].dtype == np.int64
    assert material.facts["maturities"] == list(YEARS)
    assert material.facts["series"] == ["euro"]
    brief = kind_of(task).brief(task, material)
    assert "month" not in f"{brief} {material.recipe} {material.axes}"
    plots = kind_of(task).plots(
        task.spec,
        {**material.public, **material.hidden}.__getitem__,
        material.hidden,
        (material.n_public, material.n_private),
        material.facts,
    )
    assert "19" + "70" not in str(list(plots))


@pytest.mark.parametrize("form", ["wide", "long", "shuffled", "parquet", "files"])
def test_all_forms_are_the_same_curves(form: str, tmp_path: Path) -> None:
    expected = read_own_curves([csv(tmp_path / "both.csv", two())])
    assert expected.channels[:4] == ("DE:3m", "DE:1y", "DE:5y", "DE:10y")
    np.testing.assert_array_equal(expected.values[:, :4], wide(0)[list(HEADS)])  # noqa: PD011 - no frame
    melted = two().melt(["date", "country"], var_name="Maturity", value_name="yield")
    if form == "files":
        paths = [csv(tmp_path / f"{name}.csv", wide(seed)) for seed, name in enumerate(("DE", "FR"))]
    elif form == "parquet":
        paths = [tmp_path / "x.parquet"]
        two().assign(date=pd.to_datetime(two()["date"])).set_index("date").to_parquet(paths[0])
    else:
        table = {"wide": two()[["country", *HEADS[::-1], "date"]], "long": melted, "shuffled": melted.iloc[::-1]}[form]
        paths = [csv(tmp_path / "x.csv", table)]
    found = read_own_curves(paths)
    same = [found.channels.index(name) for name in expected.channels]
    np.testing.assert_array_equal(found.values[:, same], expected.values)  # noqa: PD011 - no frame
    assert found.times is not None
    np.testing.assert_array_equal(found.times, expected.times)


def test_curves_are_hidden_and_cut_as_known_ones_are(tmp_path: Path) -> None:
    known = load_task("yield-curve-forecast")
    folder = new_task_like("mine", tmp_path, known, Given((csv(tmp_path / "x.csv", two()),)))
    task = Task.read(folder)
    assert task.spec.contract == known.spec.contract
    assert task.spec.split == known.spec.split
    assert changed_by_scrambling(task) == set()
    assert not kind_of(task).renewable(task)
    material = made(task)
    assert material.public["train_times"].max() < material.hidden["test_times"].min()
    with pytest.raises(TaskError, match="its own data is real"):
        made(replace(task, real=True))


def test_interpolated_cells_need_their_training_rows(tmp_path: Path) -> None:
    table = wide()
    table.loc[45, "5y"] = np.nan
    folder = new_task("x", tmp_path, "curves", Given((csv(tmp_path / "x.csv", table),), fill="interpolate"))
    config = folder / "task.toml"
    text = config.read_text().replace("train = 0.4", "train = 0.38").replace("public = 0.3", "public = 0.32")
    config.write_text(text)
    with pytest.raises(TaskError, match="training block ends before row 46"):
        made(Task.read(folder))


REFUSED: dict[str, tuple[Callable[[], pd.DataFrame], str]] = {
    "a gap": (lambda: wide().replace({"1": {wide()["1"][3]: np.nan}}), r"'x:1y' at 2010-04-30.*--fill forward"),
    "no maturities": (lambda: wide().rename(columns={"3m": "a", "1": "b", "5y": "c", "10": "d"}), "expected a col"),
    "text": (lambda: wide().assign(**{"5y": "high"}), "row 2, column '5y': 'high' is not a number"),
    "a stray column": (lambda: wide().assign(gdp=1.0), "'gdp': neither a date"),
    "a maturity twice": (lambda: wide().assign(**{"12m": 1.0}), "two columns are of maturity 1y"),
    "no names": (lambda: two().drop(columns="country"), "'x' has two rows at 2010-01-31; a curve has one row"),
    "another maturity": (lambda: two().assign(**{"5y": two()["5y"].where(two()["country"] == "DE")}),
                         "curve 'FR' has no value of maturity 5y"),
    "uneven without dates": (lambda: two().iloc[:-3].drop(columns="date"), "'DE' has 120 rows and 'FR' 117"),
    "long without rows": (lambda: wide().melt("date", var_name="maturity").drop(columns="date"), "first column 'row'"),
    "dates in another order": (lambda: wide().assign(date="31/01/2010"), "not all are ISO dates"),
    "too few": (lambda: wide(rows=5), "too few"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_curve_is_refused(case: str, tmp_path: Path) -> None:
    table, message = REFUSED[case]
    with pytest.raises(OpenFinGymError, match=message):
        new_task("x", tmp_path, "curves", Given((csv(tmp_path / "x.csv", table()),)))
    assert not (tmp_path / "x").exists()


def test_maturities_are_read_back_exactly() -> None:
    for text, years in (("3m", 0.25), ("1 Mo", 1 / 12), ("10 Yr", 10.0), ("y30", 30.0), ("0.5", 0.5), ("2W", 2 / 52)):
        found = years_of(text)
        assert found == years
        assert years_of(label_of(found)) == found
    for text in ("", "gdp", "2024", "0", "-1", "1e1", "m3"):
        assert years_of(text) is None


def test_options_for_other_kinds_are_refused(tmp_path: Path) -> None:
    path = csv(tmp_path / "x.csv", wide())
    for given, message in (
        (Given((path,), measure="price"), "curves hold yields"),
        (Given((path,), target="1"), "--target is for"),
        (Given((path,), labels=path), "are for graphs"),
    ):
        with pytest.raises(UsageError, match=message):
            new_task("x", tmp_path, "curves", given)


def test_a_package_whose_channels_are_no_curves_is_refused(tmp_path: Path) -> None:
    folder = new_task("x", tmp_path, "curves", Given((csv(tmp_path / "x.csv", two()),)))
    data = folder / "data.csv"
    data.write_text(data.read_text().replace("FR:10y", "FR:20y"))
    with pytest.raises(DataError, match="curve 'DE' has no maturity 20y"):
        made(Task.read(folder))
