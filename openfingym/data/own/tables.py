"""An author's table of values in time: CSV or Parquet, one file or several, wide or long, with dates or without.

| form | columns |
|---|---|
| wide | a date, then a channel each |
| long | a date, a name, and values; the name of a value's channel begins with the name in its row |
| without dates | channels alone; rows are in order, and known by their number |
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.csvfile import MISSING, require_printable
from openfingym.data.own.cells import author_bytes, decoded, examples
from openfingym.data.own.dates import date_column, take_times
from openfingym.data.own.headers import flattened, read_named, require_unlike
from openfingym.data.own.separators import with_commas
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

NUMBERS = frozenset({"", "row", "index", "unnamed: 0"})
"""Names of a first column that counts rows where no column has dates, in lower case."""
ANSWER_KEYS = ("id", "question", "episode", "context", "future", "window", "bound", "step", "row", "node")
"""Names of columns by which rows of answers are known, in lower case, in the order in which they count."""
COUNTERS = frozenset({"", "unnamed: 0"})
"""Names of a first column that counts rows in any table: what pandas calls the index of a frame in a CSV file."""


@dataclass(frozen=True, eq=False)
class DataTable:
    """Values by row and channel, in order; a gap is NaN."""

    times: NDArray[np.datetime64] | None
    """datetime64[ns][n], strictly increasing, UTC; None where the author's rows have no date."""
    channels: tuple[str, ...]
    values: NDArray[np.float64]
    """float64[n, channels]"""
    steps: tuple[str, ...] = ()
    """What was done to the author's rows, step by step, for people to read."""
    dropped: int = 0
    """Number of the author's rows that were left out."""

    def label(self, row: int) -> str:
        """What a message calls a row."""
        if self.times is None:
            return f"row {row}"
        return str(self.times[row]).removesuffix(".000000000").removesuffix("T00:00:00")


def read_tables(paths: Sequence[Path]) -> DataTable:
    """Read an author's files into one table: the rows whose date all of them have.

    Of several files, a channel is called by its file's name without the ending; by that and its column's name where
    the file has more than one.

    Raises:
        UsageError: a file cannot be opened, or is a Parquet file and pyarrow is not installed.
        DataError: a file is malformed, a channel's name cannot be printed, or the files have no row in common.
    """
    tables = [_read(path) for path in paths]
    table = tables[0]
    if len(tables) > 1:
        table = joined(paths, [_named(table, stem) for table, stem in zip(tables, stems_of(paths), strict=True)])
    require_printable(table.channels, ", ".join(map(str, paths)))
    return table


def stems_of(paths: Sequence[Path]) -> list[str]:
    """The names of files without their endings.

    Raises:
        UsageError: two files have the same name without its ending.
    """
    stems = [path.name.split(".")[0] for path in paths]
    if len(set(stems)) < len(stems):
        raise UsageError(f"--from: two files are called {examples(sorted(stems))}; give them different names")
    return stems


def joined(paths: Sequence[Path], tables: Sequence[DataTable]) -> DataTable:
    """One table of the rows whose date all tables have, with the channels of all of them.

    Raises:
        DataError: a table has no dates, or no date is in all of them.
    """
    common = tables[0].times
    for path, table in zip(paths, tables, strict=True):
        if table.times is None:
            raise DataError(f"{path}: has no column of dates, by which several files could be joined")
        common = np.intersect1d(common, table.times) if common is not None else None
    assert common is not None
    if not len(common):
        raise DataError(f"{', '.join(map(str, paths))}: no date is in all of them")
    picked = []
    steps = [step for table in tables for step in table.steps]
    for path, table in zip(paths, tables, strict=True):
        assert table.times is not None
        picked.append(table.values[np.isin(table.times, common)])  # noqa: PD011 - no frame
        if lost := len(table.times) - len(common):
            steps.append(
                f"{lost} of {len(table.times)} rows of {path.name.split('.')[0]} left out: another file lacks their "
                "date"
            )
    every = np.unique(np.concatenate([table.times for table in tables if table.times is not None]))
    return DataTable(
        times=common,
        channels=tuple(name for table in tables for name in table.channels),
        values=np.concatenate(picked, axis=1),
        steps=tuple(steps),
        dropped=sum(table.dropped for table in tables) + len(every) - len(common),
    )


def _named(table: DataTable, stem: str) -> DataTable:
    names = (stem,) if len(table.channels) == 1 else tuple(f"{stem}_{name}" for name in table.channels)
    return replace(table, channels=names)


def _read(path: Path) -> DataTable:
    """One file, whatever its form."""
    frame, head = read_frame(path)
    # An index that pandas wrote along is no data, whatever the other columns are.
    if frame.columns[0].lower() in COUNTERS and len(frame.columns) > 1 and is_numeric(frame[frame.columns[0]]):
        frame = frame.drop(columns=frame.columns[0])
    names = list(frame.columns)
    if date_column(frame) is None and names[0].lower() in NUMBERS and is_numeric(frame[names[0]]):
        frame = frame.drop(columns=names[0])
    times, frame, found = take_times(frame, path, by_place=True)
    steps = (*head, *found)
    if times is None:
        frame, keyed = _without_keys(frame)
        steps += keyed
    # One column of text beside the dates says whose row it is: of several rows a date, or of the one name of the file.
    texts = [name for name in frame.columns if not is_numeric(frame[name])]
    if times is not None and len(texts) == 1 and _says_whose(frame[texts[0]], times):
        return _long(frame, times, texts[0], path, steps)
    if texts:
        # Rows of a file count from 1, and the header is the first.
        row = int((~is_number(frame[texts[0]])).argmax())
        cell = frame[texts[0]].iloc[row]
        raise DataError(
            f"{path}, row {row + 2}, column {texts[0]!r}: {str(cell)!r} is not a number{truth_hint(cell)}; only a "
            "column of dates, and in a long table one of names, may hold text"
        )
    return _ordered(frame, times, path, steps)


def _without_keys(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table without dates in the order of the columns that number its rows, without these; and what was done.

    Files of answers have such columns, and as series they would be nonsense.
    """
    named = {str(name).lower(): str(name) for name in frame.columns}
    keys = [named[key] for key in ANSWER_KEYS if key in named]
    if not keys or len(keys) == len(frame.columns) or not all(is_numeric(frame[key]) for key in keys):
        return frame, ()
    numbers = floats_of(frame[keys])
    whole = bool((numbers.ge(0.0) & numbers.eq(numbers.round())).all(axis=None))
    if not whole or numbers.duplicated().any():
        return frame, ()
    order = np.lexsort(numbers.to_numpy().T[::-1])
    ordered = bool((np.diff(order) > 0).all())
    step = (
        f"columns left out, which number the rows as in a file of answers: {', '.join(keys)}"
        f"{'' if ordered else '; rows sorted by them'}"
    )
    return frame.drop(columns=keys).iloc[order].reset_index(drop=True), (step,)


def _says_whose(cells: pd.Series, times: pd.DatetimeIndex) -> bool:
    """Whether a column of text names what each row is of: several rows have one date, or all rows one name."""
    names = set(names_in(cells))
    return bool(times.duplicated().any()) or (len(names) == 1 and "" not in names)


def read_frame(path: Path, content: bytes | None = None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A file's columns, each with a name of its own: of CSV as texts, of Parquet as they are; and what was done to name
    them.

    Args:
        path: path of the file.
        content: content of the file, unpacked, where somebody has read it already; None to read it.

    Raises:
        UsageError: the file cannot be opened, or is a Parquet file and pyarrow is not installed.
        DataError: it is malformed, two columns have one name, or there is no row.
    """
    frame, steps = _frame(path, author_bytes(path) if content is None else content)
    frame.columns = [str(name).strip() for name in frame.columns]
    require_unlike(list(frame.columns), path)
    if not len(frame):
        raise DataError(f"{path}: there is a header but no row below it")
    return frame, steps


def _frame(path: Path, content: bytes) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The file's columns: of CSV as texts, of Parquet as they are; and what was done to name them."""
    import pandas as pd

    if path.suffix.lower() in {".parquet", ".pq"}:
        try:
            frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
        except ImportError:
            raise UsageError(f"{path}: reading Parquet needs pyarrow: pip install 'openfingym[arrow]'") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: not a readable Parquet file ({error})") from None
        steps: tuple[str, ...] = ()
        if isinstance(frame.columns, pd.MultiIndex):
            steps = (f"{frame.columns.nlevels} levels of columns made into names of columns",)
            frame.columns = flattened(frame.columns)
        if not isinstance(frame.index, pd.RangeIndex):
            # A level may be called as a column is, which is refused with all names that occur twice.
            frame = frame.reset_index(names=_index_names(frame), allow_duplicates=True)
        return _without_bytes(frame, path), steps
    if Path(path.name.removesuffix(".gz")).suffix.lower() not in {".csv", ".tsv", ".txt"}:
        raise UsageError(f"{path}: no table is read from such a file; known: .csv, .tsv and .txt, also .gz; .parquet")
    text, separated = with_commas(decoded(content, path), path)
    try:
        frame, named = read_named(text, path)
        return frame, (*separated, *named)
    except pd.errors.EmptyDataError:
        raise DataError(f"{path}: the file is empty; expected a header line and at least one row") from None
    except ValueError as error:
        raise DataError(f"{path}: cannot be read as a table ({error}); every row needs as many cells") from None


def _without_bytes(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The frame with texts in place of bytes, which is how some programs write texts into Parquet files.

    Raises:
        DataError: bytes are not UTF-8.
    """
    import pandas as pd

    def text(cell: object) -> object:
        return cell.decode() if isinstance(cell, bytes) else cell

    columns = []
    for place, name in enumerate(frame.columns):
        cells = frame.iloc[:, place]
        # Other types of columns hold no bytes.
        mixed = cells.dtype == object or isinstance(cells.dtype, pd.CategoricalDtype)
        if mixed and any(isinstance(cell, bytes) for cell in cells):
            try:
                cells = cells.astype(object).map(text)
            except UnicodeDecodeError:
                raise DataError(
                    f"{path}, column {str(name)!r}: bytes that are no UTF-8 text; expected numbers, dates or texts, so "
                    "leave the column out or convert it"
                ) from None
        columns.append(cells)
    return pd.concat(columns, axis=1) if columns else frame


def _index_names(frame: pd.DataFrame) -> list[str]:
    """Names of the levels of a Parquet file's index; an unnamed level of dates is called ``date``."""
    import pandas as pd

    def unnamed(place: int) -> str:
        if isinstance(frame.index.get_level_values(place), pd.DatetimeIndex):
            return "date"
        # An empty name is one of COUNTERS: a single level without a name counts the rows.
        return f"level {place}" if frame.index.nlevels > 1 else ""

    return [str(name) if name is not None else unnamed(place) for place, name in enumerate(frame.index.names)]


def is_number(cells: pd.Series) -> NDArray[np.bool_]:
    """Whether each cell is a finite number or a gap. True and False are none, whatever kind of file has them."""
    import pandas as pd

    if cells.dtype.kind in "iuf":
        return np.asarray(~np.isinf(cells.to_numpy(dtype=np.float64)), dtype=np.bool_)
    # As a list: tables may have very many columns, and pandas takes long to begin with each.
    texts = [str(cell).strip() for cell in cells.astype(object).where(cells.notna(), "")]
    values = np.asarray(pd.to_numeric(np.array(texts, dtype=object), errors="coerce"), dtype=np.float64)
    # pandas reads "1_000" as a thousand, which nobody means who writes a table.
    plain = np.array(["_" not in text for text in texts], dtype=np.bool_)
    missing = np.array([text.lower() in MISSING for text in texts], dtype=np.bool_)
    number: NDArray[np.bool_] = (np.isfinite(values) & plain) | missing
    return number


def truth_hint(cell: object) -> str:
    """What a message adds about a cell that is no number, if it is a truth value."""
    return " (write 1 for true and 0 for false)" if str(cell).strip().lower() in {"true", "false"} else ""


def is_numeric(cells: pd.Series) -> bool:
    """Whether every cell is a finite number or a gap."""
    return bool(is_number(cells).all())


def names_in(cells: pd.Series) -> pd.Series:
    """The names that the rows of a long table have; a missing one is an empty text, as it is in a CSV file."""
    return cells.astype(str).str.strip().where(cells.notna(), "")


def _long(frame: pd.DataFrame, times: pd.DatetimeIndex, key: str, path: Path, steps: tuple[str, ...]) -> DataTable:
    """Make a long table wide: one row for each date, and a channel for each name and column of values."""
    import pandas as pd

    names = names_in(frame[key])
    # Levels without names, which a column may have.
    frame = frame.drop(columns=key).set_index(pd.MultiIndex.from_arrays([times, names], names=[None, None]))
    if frame.index.duplicated().any():
        when, who = frame.index[frame.index.duplicated()][0]
        raise DataError(f"{path}: {who!r} has two rows at {when.isoformat()}")
    values = list(frame.columns)
    if not values:
        raise DataError(f"{path}: a long table needs a column of values beside {key!r}")
    wide = floats_of(frame).unstack(level=1).sort_index()  # noqa: PD010 - of an index
    columns: list[Any] = list(wide.columns)
    channels = tuple(who if len(values) == 1 else f"{who}_{name}" for name, who in columns)
    count = len(set(frame.index.get_level_values(1)))
    step = f"a long table: {count} name{'s' * (count != 1)} in column {key!r} made into channels"
    stamps = wide.index.to_numpy().astype("datetime64[ns]")
    return DataTable(stamps, channels, np.ascontiguousarray(wide.to_numpy(dtype=np.float64)), (*steps, step))


def _ordered(frame: pd.DataFrame, times: pd.DatetimeIndex | None, path: Path, steps: tuple[str, ...] = ()) -> DataTable:
    if not len(frame.columns):
        raise DataError(f"{path}: there is no column of values")
    values = floats_of(frame).to_numpy(dtype=np.float64)
    channels = tuple(str(name) for name in frame.columns)
    if times is None:
        step = "the rows have no date: they are known by their number, from 0"
        return DataTable(None, channels, np.ascontiguousarray(values), (*steps, step))
    if times.has_duplicates:
        raise DataError(f"{path}: {times[times.duplicated()][0].isoformat()} occurs twice; a date has one row")
    order = np.argsort(times.to_numpy())
    if not times.is_monotonic_increasing:
        steps = (*steps, "rows sorted by date")
    stamps = times.to_numpy()[order].astype("datetime64[ns]")
    return DataTable(stamps, channels, np.ascontiguousarray(values[order]), steps)


def floats_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Every column as float64, a gap as NaN."""
    import pandas as pd

    columns = {name: np.asarray(pd.to_numeric(frame[name], errors="coerce"), np.float64) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index)
