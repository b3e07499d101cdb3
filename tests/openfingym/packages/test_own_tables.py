"""A task from an author's own table: gaps, dates or none, several files, long tables, bars.

The attack: a gap that was filled from the value behind it, so that cells before it told a hidden value. Interpolation
rests on training rows alone, `forward` fills the rest, and a training block that ends earlier is refused.
"""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.data.own.gaps import without_gaps
from openfingym.data.own.tables import DataTable, read_tables
from openfingym.errors import DataError, OpenFinGymError, StoreError, TaskError, UsageError
from openfingym.kinds import kind_of
from openfingym.kinds.start import Given
from openfingym.packages.build import build
from openfingym.packages.scaffold import new_task
from openfingym.task import Task
from openfingym.task.model import Split

ROWS = 400


def frame(rows: int = ROWS) -> pd.DataFrame:
    moves = np.random.default_rng(3).standard_normal((rows, 2))
    prices = (100.0 * np.exp(np.cumsum(0.01 * moves, axis=0))).round(4)
    days = pd.bdate_range("2020-01-01", periods=rows).strftime("%Y-%m-%d")
    return pd.DataFrame({"date": days, "a": prices[:, 0], "b": prices[:, 1]})


def csv(path: Path, table: pd.DataFrame) -> Path:
    table.to_csv(path, index=False)
    return path


def bars(path: Path) -> Path:
    close = frame()["a"]
    parts = {"Open": close, "High": close * 1.01, "Low": close * 0.99, "Close": close, "Adj Close": close}
    return csv(path, pd.DataFrame({"Date": frame()["date"], **parts, "Volume": 1000.0}))


CASES: dict[str, tuple[str, Callable[[Path], Given]]] = {
    "prices": ("forecast", lambda at: Given((csv(at / "x.csv", frame(200)),))),
    "no dates": ("forecast", lambda at: Given((csv(at / "x.csv", frame(200)[["a", "b"]]),))),
    "values of any sign": (
        "forecast",
        lambda at: Given((csv(at / "x.csv", frame(200).assign(a=lambda x: x.b - x.a)),)),
    ),
    "windows without dates": ("generation", lambda at: Given((csv(at / "x.csv", frame(600)[["a", "b"]]),))),
    "few rows": ("forecast", lambda at: Given((csv(at / "x.csv", frame(90)),))),
    "bars": ("rolling", lambda at: Given((bars(at / "XX.csv"), bars(at / "YY.csv")))),
}


@pytest.mark.parametrize("case", CASES)
def test_a_task_from_a_table_passes(case: str, tmp_path: Path) -> None:
    kind, given = CASES[case]
    folder = new_task("my-task", tmp_path, kind, given(tmp_path))
    assert load_task(str(folder)).spec.asset_class == "other", "nobody has said what the series are of"
    checked = CliRunner().invoke(cli, ["task", "check", str(folder)], catch_exceptions=False)
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize(
    ("kind", "rows", "windows"),
    # Blocks of 70/15/15 %, an embargo of 5 rows and windows of 1 + 5 returns; 40/30/30 %, 1 and 1 + 1 levels;
    # 60/20/20 %, 5 and 5 returns without a look-back.
    [
        ("forecast", 75, "one hidden window"),
        ("curves", 10, "one hidden window"),
        ("generation", 526, "20 hidden windows"),
    ],
)
def test_the_fewest_rows_are_said_at_once_and_are_enough(kind: str, rows: int, windows: str, tmp_path: Path) -> None:
    named = {"a": "3m", "b": "6m"} if kind == "curves" else {}
    table = frame(rows).rename(columns=named)
    given = Given((csv(tmp_path / "few.csv", table[:-1]),))
    with pytest.raises(DataError, match=f"{rows - 1} rows are too few: a fold needs {windows}, for which {rows} rows"):
        new_task("my-task", tmp_path, kind, given)
    assert not (tmp_path / "my-task").exists()
    manifest = build(
        load_task(str(new_task("my-task", tmp_path, kind, Given((csv(tmp_path / "x.csv", table),)))))
    ).manifest
    assert manifest.n_public == int(windows.replace("one", "1").split()[0])
    assert manifest.n_private >= manifest.n_public


@pytest.mark.parametrize(
    ("rows", "lookback", "public"),
    # Of 0.15 of the rows less 1, 5 are the embargo; windows of a horizon of 5 advance by 5.
    [(120, 1, 2), (241, 1, 6), (301, 10, 6), (368, 20, 6), (900, 20, 21)],
)
def test_a_look_back_leaves_six_windows_that_advance_by_the_horizon(
    rows: int, lookback: int, public: int, tmp_path: Path
) -> None:
    folder = new_task("my-task", tmp_path, "forecast", Given((csv(tmp_path / "x.csv", frame(rows)),)))
    package = build(load_task(str(folder)))
    assert (package.contract["lookback"], package.manifest.n_public) == (lookback, public)


def test_rows_without_dates_get_none(tmp_path: Path) -> None:
    folder = new_task("my-task", tmp_path, "forecast", Given((csv(tmp_path / "x.csv", frame()[["a", "b"]]),)))
    package = build(load_task(str(folder)))
    assert package.array("train_times").dtype == np.int64
    assert package.shown_array("test_times").max() < ROWS
    text = package.read_instruction() + str(package.contract)
    assert "The rows have no date" in text
    assert "19" + "70" not in text
    config = folder / "task.toml"
    config.write_text(config.read_text().replace("dates = false", "dates = false\nfirst = 1990-01-01"))
    with pytest.raises(TaskError, match="neither with first nor with last"):
        Task.read(folder)


def test_gaps_are_named_and_a_choice_is_recorded(tmp_path: Path) -> None:
    table = frame()
    table.loc[[0], "b"] = np.nan
    table.loc[[7, 8, 390], "a"] = np.nan
    path = csv(tmp_path / "x.csv", table)
    run = CliRunner().invoke(cli, ["task", "new", "x", "--from", str(path), "--to", str(tmp_path)])
    assert isinstance(run.exception, OpenFinGymError)
    for words in ("'b' at 2020-01-01, 'a' at 2020-01-10", "--fill forward", "show a hidden value", "--fill drop"):
        assert words in str(run.exception)
    for fill, filled, dropped in (("forward", 3, 1), ("interpolate", 3, 1), ("drop", 0, 4)):
        options = ["--fill", fill, "--to", str(tmp_path)]
        run = CliRunner().invoke(
            cli, ["task", "new", f"x-{fill}", "--from", str(path), *options], catch_exceptions=False
        )
        assert run.exit_code == 0, run.output
        task = Task.read(tmp_path / f"x-{fill}")
        prepared = task.spec.dataset.prepared
        assert prepared is not None
        assert (prepared.fill, prepared.filled, prepared.dropped) == (fill, filled, dropped)
        assert set(prepared.steps) <= set(build(task).contract["recipe"])


def test_no_fill_shows_a_value_behind_the_training_block() -> None:
    """The attack: whatever is hidden changes, no filled cell before it does, and none rests on a later one."""
    generator = np.random.default_rng(1)
    values = generator.uniform(1.0, 2.0, (100, 3))
    values[generator.uniform(size=values.shape) < 0.3] = np.nan
    values[0] = 1.0
    values[68:72, 0] = np.nan  # across the end of training
    for fill in ("forward", "interpolate"):
        usual = without_gaps(DataTable(None, ("a", "b", "c"), values), fill, 0.7).table.values  # noqa: PD011 - no frame
        for row in range(70, 100):
            other = values.copy()
            other[row:] += 5.0
            table = DataTable(None, ("a", "b", "c"), other)
            changed = without_gaps(table, fill, 0.7).table.values  # noqa: PD011 - no frame
            np.testing.assert_array_equal(usual[:row], changed[:row])


def test_what_is_recorded_of_filled_cells_names_no_way_that_was_not_used() -> None:
    values = np.ones((10, 1))
    values[9] = np.nan
    steps = without_gaps(DataTable(None, ("a",), values), "interpolate", 0.7).table.steps
    assert steps == ("1 cells filled with the last value before them (forward)",)


def test_a_training_block_cannot_shrink_behind_an_interpolated_gap(tmp_path: Path) -> None:
    table = frame()
    table.loc[200:204, "a"] = np.nan
    given = Given((csv(tmp_path / "x.csv", table),), fill="interpolate")
    folder = new_task("my-task", tmp_path, "forecast", given)
    config = folder / "task.toml"
    text = config.read_text()
    config.write_text(text.replace("train = 0.7\n", "train = 0.5\n").replace("private = 0.15 ", "private = 0.35 "))
    task = Task.read(folder)
    with pytest.raises(TaskError, match="ends before row 205, up to whose value gaps were interpolated"):
        kind_of(task).load(task)


def test_limits_of_an_answer_tell_nothing_of_hidden_values(tmp_path: Path) -> None:
    usual, other = frame(), frame()
    for table, factor in ((usual, 1.0), (other, 3.0)):
        table["a"] -= 110.0
        table.loc[300:, "a"] *= factor
    contracts = [
        Task.read(new_task(f"my-{i}", tmp_path, "forecast", Given((csv(tmp_path / f"{i}.csv", table),)))).spec.contract
        for i, table in enumerate((usual, other))
    ]
    assert contracts[0] == contracts[1]


def test_several_files_are_joined_on_their_dates(tmp_path: Path) -> None:
    one = csv(tmp_path / "aa.csv", frame()[["date", "a"]])
    two = csv(tmp_path / "bb.csv", frame()[["date", "b", "a"]].iloc[10:][::-1])
    table = read_tables([one, two])
    assert table.channels == ("aa", "bb_b", "bb_a")
    assert table.dropped == 10
    np.testing.assert_array_equal(table.values, frame()[["a", "b", "a"]].to_numpy()[10:])
    assert "10 of 400 rows of aa left out: another file lacks their date" in table.steps
    assert "rows sorted by date" in table.steps


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_a_long_table_is_made_wide(name: str, tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    long = frame().melt("date", var_name="symbol", value_name="close")
    path = tmp_path / name
    if name.endswith(".csv"):
        csv(path, long)
    else:
        long.assign(date=pd.to_datetime(long.date)).set_index("date").to_parquet(path)
    table = read_tables([path])
    assert table.channels == ("a", "b")
    np.testing.assert_array_equal(table.values, frame()[["a", "b"]].to_numpy())


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")

    def absent(*_: object, **__: object) -> None:
        raise ImportError

    monkeypatch.setattr(pd, "read_parquet", absent)
    with pytest.raises(OpenFinGymError, match=r"pip install 'openfingym\[arrow\]'"):
        read_tables([tmp_path / "x.parquet"])


FAULTS = {
    "semicolons": (
        "date;a\n2024-01-31;1,500\n",
        r"its cells are separated by semicolons, and '1,500' \(row 2\) may have",
    ),
    "tabs": ("date\ta\n2024-01-01\t1.5\t3\n", r"line 2: 3 cells separated by tabs, and 2 in the first row"),
    "german dates": ("Datum;a\n31.01.2024;1,5\n", r"not all are ISO dates such as 2024-01-31; found '31.01.2024'"),
    "american dates": (
        "date,a\n01/31/2024,1\n02/01/2024,2\n",
        "row 2, column 'date': not all are ISO dates such as 2024-01-31; found '01/31/2024'",
    ),
    "years": ("date,a\n2023,1\n2024,2\n", "row 2.*not all are ISO dates.*found '2023'"),
    "a column twice": ("date,a, a\n2024-01-01,1,2\n", "columns with the same name: 'a'; give each a name of its own"),
    "a date twice": ("date,a\n2024-01-01,1\n2024-01-01,2\n", "occurs twice"),
    "a word": ("date,a\n2024-01-01,1\n2024-01-02,much\n", "row 3, column 'a': 'much' is not a number"),
    "ragged": ("date,a\n2024-01-01,1\n2024-01-02,1,2\n", "cannot be read as a table"),
    "nothing": ("", "the file is empty"),
    "two names": ("date,s,a\n2024-01-01,x,1\n2024-01-01,x,2\n", "'x' has two rows at 2024-01-01"),
}


DATES: dict[str, Callable[[list[date]], Any]] = {
    "csv": lambda days: [str(day) for day in days],
    "csv with nanoseconds": lambda days: [f"{day}T00:00:00.000000001" for day in days],
    "date32": lambda days: days,
    "timestamp[s]": lambda days: np.array(days, dtype="datetime64[s]"),
    "timestamp[ms]": lambda days: pd.DatetimeIndex(np.array(days, dtype="datetime64[ms]")).tz_localize("UTC"),
}


@pytest.mark.parametrize("kind", ["forecast", "rows", "curves"])
@pytest.mark.parametrize("form", DATES)
def test_a_date_beyond_nanoseconds_is_refused(form: str, kind: str, tmp_path: Path) -> None:
    days = [*(date(2020, 1, 1) + timedelta(days=day) for day in range(9)), date(9999, 12, 31)]
    table = pd.DataFrame({"date": DATES[form](days), "1y": np.arange(1.0, 11.0), "2y": np.arange(1.0, 11.0) ** 2})
    path = tmp_path / ("x.csv" if form.startswith("csv") else "x.parquet")
    if path.suffix == ".csv":
        csv(path, table)
    else:
        table.to_parquet(path)
    with pytest.raises(DataError, match=r"9999-12-31.* outside the years 1678 to 2261|outside.*9999-12-31"):
        new_task("my-task", tmp_path, kind, Given((path,)))


def parquet(path: Path, **columns: object) -> Path:
    """A Parquet file of the table that :func:`frame` returns, with some columns in place of its own."""
    frame().assign(date=pd.to_datetime(frame()["date"]), **columns).to_parquet(path)
    return path


def test_bytes_in_parquet_are_read_as_utf8_or_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", a=[f"{value}".encode() for value in frame()["a"]])
    np.testing.assert_array_equal(read_tables([path]).values, frame()[["a", "b"]].to_numpy())
    parquet(path, a=[b"1", b"\xff"] * (ROWS // 2))
    for kind in ("forecast", "rows", "curves"):
        with pytest.raises(DataError, match="column 'a': bytes that are no UTF-8 text; expected numbers"):
            new_task("my-task", tmp_path, kind, Given((path,)))


@pytest.mark.parametrize("kind", ["forecast", "rows", "curves"])
def test_truth_values_are_refused_in_parquet_as_in_csv(kind: str, tmp_path: Path) -> None:
    table = frame().rename(columns={"a": "1y", "b": "2y"}).assign(**{"2y": frame()["b"] > 100.0})
    table.to_parquet(tmp_path / "x.parquet")
    for path in (csv(tmp_path / "x.csv", table), tmp_path / "x.parquet"):
        with pytest.raises(DataError, match=r"column '2y': '(True|False)' .* \(write 1 for true and 0 for false\)"):
            new_task("my-task", tmp_path, kind, Given((path,)))


def test_a_missing_name_in_parquet_is_refused_as_in_csv(tmp_path: Path) -> None:
    names = ["x", None] * (ROWS // 2)
    days = frame()["date"].repeat(2).to_numpy()[:ROWS]
    table = frame().assign(date=days, curve=names)
    for kind, channels in (("forecast", ["a"]), ("curves", ["a", "b"])):
        chosen = table[["date", "curve", *channels]].rename(columns={"a": "1y", "b": "2y"})
        chosen.to_parquet(tmp_path / "x.parquet")
        for path in (csv(tmp_path / "x.csv", chosen), tmp_path / "x.parquet"):
            with pytest.raises(DataError, match=r"every column needs a name of its own|channel ':1y' is no <curve>"):
                new_task("my-task", tmp_path, kind, Given((path,)))


def test_a_level_called_as_a_column_is_refused(tmp_path: Path) -> None:
    table = frame()
    table.set_index(["date", table["a"]]).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(DataError, match="columns with the same name: 'a'"):
        read_tables([tmp_path / "x.parquet"])


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_table_is_named(name: str, tmp_path: Path) -> None:
    text, expected = FAULTS[name]
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(OpenFinGymError, match=expected):
        read_tables([path])


def test_an_endless_or_huge_file_is_refused_and_a_link_is_followed(tmp_path: Path) -> None:
    pipe, huge, link, loop = (tmp_path / f"{name}.csv" for name in ("pipe", "huge", "link", "loop"))
    os.mkfifo(pipe)
    with huge.open("wb") as file:
        file.truncate(40 << 30)  # sparse: it takes no room
    link.symlink_to(csv(tmp_path / "x.csv", frame()))
    loop.symlink_to(loop)
    for path, expected in (
        (pipe, "is a pipe, expected a file"),
        (tmp_path, "is a folder, expected a file"),
        (tmp_path / "none.csv", "No such file"),
        (loop, "link"),
    ):
        with pytest.raises(UsageError, match=rf"cannot be read \(.*{expected}.*\); name a file of your own"):
            read_tables([path])
    with pytest.raises(DataError, match="is larger than 256 MiB, the most that is read of it; leave out what"):
        read_tables([huge])
    assert len(read_tables([link]).channels) == 2


RED = "b\x1b[31m"
"""A name that would have a terminal print in red."""


def long(names: list[str], value: str = "v") -> pd.DataFrame:
    days = [f"2024-01-{day:02}" for day in range(1, 11) for _ in names]
    return pd.DataFrame({"date": days, "id": names * 10, value: np.arange(1.0, 10 * len(names) + 1)})


UNPRINTABLE: dict[str, tuple[str, Callable[[Path], Given]]] = {
    "a channel": ("forecast", lambda at: Given((csv(at / "x.csv", frame().rename(columns={"b": RED})),))),
    "a channel of a long table": ("forecast", lambda at: Given((csv(at / "x.csv", long(["a", RED])),))),
    "a file": ("forecast", lambda at: Given((csv(at / "x.csv", frame()), csv(at / f"{RED}.csv", frame())))),
    "a symbol": ("rolling", lambda at: Given((bars(at / f"{RED}.csv"),))),
    "a feature": ("rows", lambda at: Given((csv(at / "x.csv", frame().rename(columns={"a": RED})),))),
    "an id": ("rows", lambda at: Given((csv(at / "x.csv", long(["a", RED]).assign(y=1.0)),))),
    "a curve": (
        "curves",
        lambda at: Given((csv(at / "x.csv", long(["a", RED], "1y").assign(**{"2y": 1.0})),)),
    ),
}


@pytest.mark.parametrize("case", UNPRINTABLE)
def test_a_name_that_cannot_be_printed_is_refused(case: str, tmp_path: Path) -> None:
    kind, given = UNPRINTABLE[case]
    with pytest.raises(DataError, match=r"the name 'b\\x1b\[31m.*' has a character that cannot be printed") as caught:
        new_task("my-task", tmp_path / "to", kind, given(tmp_path))
    assert "\x1b" not in str(caught.value).partition(": ")[2]
    assert not (tmp_path / "to" / "my-task").exists()


def test_a_name_written_into_a_task_by_hand_is_refused_too(tmp_path: Path) -> None:
    folder = new_task("my-task", tmp_path, "forecast", Given((csv(tmp_path / "x.csv", frame()),)))
    data = folder / "data.csv"
    data.write_text(data.read_text().replace("time,a,b\n", f"time,a,{RED}\n"))
    task = load_task(str(folder))
    with pytest.raises(DataError, match="cannot be printed"):
        kind_of(task).load(task)


def test_columns_without_a_name_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("date,a,,\n2024-01-01,1,2,3\n")
    assert read_tables([path]).channels == ("a", "Unnamed: 2", "Unnamed: 3")


def test_decimal_commas_are_refused_and_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("date,a\n2024-01-01,1,5\n2024-01-02,2,5\n")
    # As for users: pandas warns of cells that it leaves out, and warnings are errors in tests alone.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(OpenFinGymError, match="every row needs as many cells"):
            read_tables([path])


def test_rows_that_end_in_a_comma_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("date,a\n2024-01-01,1,\n2024-01-02,2,\n")
    assert read_tables([path]).values.tolist() == [[1.0], [2.0]]  # noqa: PD011 - no frame


def test_a_copy_of_a_known_task_on_own_data(tmp_path: Path) -> None:
    table = frame(900)
    table[["x", "y"]] = 3.0 + np.cumsum(np.random.default_rng(2).normal(0, 0.02, (900, 2)), axis=0)
    path = csv(tmp_path / "my.csv", table[["date", "x", "y"]])
    options = ["--like", "treasury-forecast", "--from", str(path), "--to", str(tmp_path)]
    run = CliRunner().invoke(cli, ["task", "new", "mine", *options], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    assert "it says that the data is real and of asset class rates" in run.output
    mine, known = Task.read(tmp_path / "mine").spec, load_task("treasury-forecast").spec
    assert (mine.contract, mine.scoring) == (known.contract, known.scoring)
    # The known task is split by days, which an author's own rows have not: the shares are those of its rows.
    by_shares = Split(train=0.7, public=0.15, private=0.15, train_stride=1, embargo=5)
    assert (mine.split, known.rows.dated) == (by_shares, True)
    assert mine.provenance.catalogue_id is None
    assert mine.dataset.pulled is None
    checked = CliRunner().invoke(cli, ["task", "check", str(tmp_path / "mine")], catch_exceptions=False)
    assert checked.exit_code == 0, checked.output


def test_a_copy_whose_data_is_too_little_says_how_much_is_enough(tmp_path: Path) -> None:
    path = bars(tmp_path / "XX.csv")
    options = ["--like", "equity-trading", "--from", str(path), "--to", str(tmp_path)]
    run = CliRunner().invoke(cli, ["task", "new", "mine", *options])
    assert isinstance(run.exception, TaskError)
    assert "1767 rows are enough" in str(run.exception)
    assert not (tmp_path / "mine").exists()
    run = CliRunner().invoke(cli, ["task", "new", "mine", "--like", "equity-trading"])
    assert "add --from FILE" in str(run.exception)


def test_a_full_disk_leaves_no_half_of_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []
    whole = Path.write_bytes

    def full_at_the_second(path: Path, content: bytes) -> int:
        written.append(path)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", full_at_the_second)
    with pytest.raises(StoreError, match="free some space"):
        new_task("full", tmp_path / "tasks")
    assert len(written) == 2
    assert list((tmp_path / "tasks").iterdir()) == []


@pytest.mark.parametrize("name", ['A"B', "A\\q", "é's", 'a"] # "'])
def test_a_symbol_with_marks_of_toml_stays_a_name(name: str, tmp_path: Path) -> None:
    folder = new_task("my-task", tmp_path, "rolling", Given((bars(tmp_path / f"{name}.csv"),)))
    spec = load_task(str(folder)).spec
    assert list(spec.contract.symbols) == [name]
    assert name in (folder / "instruction.md").read_text()
