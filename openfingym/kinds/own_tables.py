"""Starting a task from an author's own table: the data that the task holds, and a contract that fits them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.csvfile import canonical_csv, frequency_of
from openfingym.data.own.fields import BarColumns, bar_columns, field_of
from openfingym.data.own.filled import filled_csv
from openfingym.data.own.gaps import Filled, without_gaps
from openfingym.data.own.tables import DataTable, read_tables
from openfingym.data.plausibility import RARE, oddities
from openfingym.data.recipe import rows_lost, train_share
from openfingym.errors import DataError, UsageError
from openfingym.kinds.start import OwnData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from openfingym.data.dataset import Measure
    from openfingym.kinds.start import Given, Start
    from openfingym.metrics.semantics import ValueSemantics

FILE = "data.csv"
"""Name of the file that holds the table in the task's folder."""
FILLED = "filled.csv"
"""Name of the file that says which cells of the table were given a value."""
WIDEST = 1e12
"""Bound below which the limits of a contract must be; see :class:`openfingym.task.contracts.Contract`."""
ROOM = 10.0
"""How many times as large as any value of the training block an answer may be."""
FEWEST = 6
"""Hidden windows that a scaffold leaves to each fold, if the table has enough rows."""
SEMANTICS: dict[str, tuple[ValueSemantics, str]] = {
    "price": ("log_return", "log return per row"),
    "yield": ("yield_level", "as in the data; say it here"),
    "mixed": ("mixed", "as in the data; say it here"),
}
"""Value semantics and unit of a task, by what its table holds."""


@dataclass(frozen=True, eq=False)
class OwnTable:
    """An author's table, ready for a task."""

    filled: Filled
    """The table with its gaps filled, and how many were."""
    given: Given
    """The author's files, and how they were to be read."""
    measure: Measure
    """What the columns hold."""
    train: int
    """Number of rows of the training block."""
    hint: str = ""
    """Advice about another kind of task for such a table; empty for none."""

    @property
    def table(self) -> DataTable:
        """The table, without gaps."""
        return self.filled.table

    @property
    def frequency(self) -> str:
        """Frequency by the median distance of the dates; ``none`` without dates."""
        return "none" if self.table.times is None else frequency_of(self.table.times)

    def start(self, start: Start, **changes: object) -> Start:
        """The scaffold of a kind with this table as its data.

        Args:
            start: the kind's scaffold.
            changes: values of further fields of the scaffold, by name.
        """
        table, names = self.table, ", ".join(self.given.names)
        dates = table.times is not None
        times: NDArray[Any] = table.times if table.times is not None else np.arange(len(table.values))
        size = f"{len(table.values)} rows of {len(table.channels)} series"
        cells = self.filled.cells
        content = {FILE: canonical_csv(times, table.channels, table.values)}
        if cells is not None:
            content[FILLED] = filled_csv(table.channels, cells)
        own = OwnData(
            file=FILE,
            content=content,
            measure=self.measure,
            names=self.given.names,
            steps=table.steps,
            fill=self.given.fill or "none",
            filled=self.filled.count,
            filled_cells=None if cells is None else FILLED,
            dropped=table.dropped,
            dates=dates,
            interpolated_to=self.filled.interpolated_to,
            hint=self.hint,
            oddities=oddities(table.times, table.channels, table.values, hidden_from=self.train, filled=cells),
        )
        note = "" if dates else " The rows have no date; they are in order, and known by their number."
        values: dict[str, object] = {
            "data": names,
            # Nobody has said what the author's series are of.
            "asset_class": "other",
            "frequency": self.frequency,
            "panel": size,
            "dataset": None,
            "own_data": own,
            **changes,
        }
        return replace(start, **{**values, "asks": f"{values['asks']}{note}"})  # type: ignore[arg-type]  # its fields


def read_own_table(given: Given, start: Start, read: Callable[[Sequence[Path]], DataTable] = read_tables) -> OwnTable:
    """Read the author's table, and fill its gaps as asked.

    Args:
        given: the author's files, and how they are to be read.
        start: the kind's scaffold, whose split says which rows are for training.
        read: reads the files as a table.

    Raises:
        UsageError: an option is given that is for other kinds.
        DataError: a file is malformed, has gaps and ``--fill`` is not given, or has prices that are not positive.
    """
    if given.labels is not None or given.features is not None:
        raise UsageError("--labels and --features are for graphs; this kind takes tables alone")
    if given.target is not None:
        raise UsageError("--target is for tasks of the kind rows; this one predicts every column")
    assert start.split is not None, "kinds of tables are split by time"
    read_table = read(given.files)
    # Kinds of bars read them by a function of their own.
    hint = _bars_hint(bar_columns(read_table.channels)) if read is read_tables else ""
    if given.measure is None:
        read_table = _with_returns(read_table)
    try:
        filled = without_gaps(read_table, given.fill, start.split[0])
    except DataError as error:
        raise DataError(f"{error}. {hint[:1].upper()}{hint[1:]}" if hint else str(error)) from None
    values = filled.table.values
    positive = bool((values > 0.0).all())
    measure: Measure = given.measure or ("price" if positive else "mixed")
    if measure == "price" and not positive:
        row, column = (int(place) for place in np.argwhere(~(values > 0.0))[0])
        raise DataError(
            f"{filled.table.channels[column]!r} at {filled.table.label(row)} is {values[row, column]:g}, not a "
            "positive price; give --measure mixed, or leave the column out"
        )
    return OwnTable(filled, given, measure, train_share(start.split[0], len(values)), hint)


def _bars_hint(columns: BarColumns) -> str:
    """Advice for whoever gives bars to a kind that takes them for series."""
    if not columns.symbols:
        return ""
    return (
        "these are bars, taken as series to predict; --kind trading or --kind rolling takes them as bars, in which a "
        "missing row is a halt, with their splits and dividends"
    )


def _with_returns(table: DataTable) -> DataTable:
    """The table without columns that have no returns, so that the other columns keep theirs.

    One value that is not positive would make levels of all columns. So columns in which few values are left out, and
    what stands beside bars or a price without being one. Where other columns are 0 or below, the table holds levels and
    stays as it is; what that means is among its steps.
    """
    columns = bar_columns(table.channels)
    table = _without(table, columns.actions, "splits and dividends, which are no series to predict")
    low = table.values <= 0.0
    if not low.any():
        return table
    counts, known = low.sum(axis=0), (~np.isnan(table.values)).sum(axis=0)
    # A volume that is 0 throughout is unknown, and says nothing of the others either.
    unknown = (counts == known) & ~(table.values < 0.0).any(axis=0)
    beside = _beside_prices(table.channels)
    rare = (counts > 0) & ((counts <= RARE * known) | unknown | beside)
    if (counts[~rare] > 0).any() or rare.all():
        row, column = (int(place) for place in np.argwhere(low & ~rare if not rare.all() else low)[0])
        others = "all columns count as levels; for returns of the others leave the column out"
        step = f"{_described(table, row, column)}, and has no return: {others if low.shape[1] > 1 else 'levels count'}"
        return replace(table, steps=(*table.steps, step))
    steps = []
    for column in np.flatnonzero(rare).tolist():
        row = int(low[:, column].argmax())
        if unknown[column]:
            steps.append(
                f"column {table.channels[column]!r} left out, which is 0 in every row; --measure mixed keeps it"
            )
            continue
        if beside[column]:
            steps.append(
                f"column {table.channels[column]!r} left out, which is no price and has no returns: "
                f"{_described(table, row, column)}; --measure mixed keeps it, and takes all columns as levels"
            )
            continue
        steps.append(
            f"column {table.channels[column]!r} left out, which has no returns: {_described(table, row, column)}, and "
            f"{counts[column]} of {len(low)} rows are not above 0. The other columns keep their returns; to keep this "
            "one, leave out its rows, or give --measure mixed for levels of all columns"
        )
    return replace(_without(table, np.flatnonzero(rare).tolist()), steps=(*table.steps, *steps))


def _beside_prices(channels: Sequence[str]) -> NDArray[np.bool_]:
    """Which columns are none of the prices that the table is about, bool[columns]: all that stand beside bars, and
    volumes beside other prices.
    """
    bars = bar_columns(channels).prices
    named = [field_of(name) for name in channels]
    if bars:
        return np.array([place not in bars for place in range(len(channels))])
    priced = any(name.lower() == "price" or (field or ("", ""))[1] == "close"
                 for name, field in zip(channels, named, strict=True))  # fmt: skip
    return np.array([priced and "volume" in name.lower() for name in channels])


def _without(table: DataTable, places: Sequence[int], reason: str = "") -> DataTable:
    """The table without some columns; with a reason, its steps say so."""
    if not places:
        return table
    kept = [place for place in range(len(table.channels)) if place not in places]
    names = ", ".join(repr(table.channels[place]) for place in sorted(places))
    return replace(
        table,
        channels=tuple(table.channels[place] for place in kept),
        values=np.ascontiguousarray(table.values[:, kept]),
        steps=(*table.steps, f"columns left out, {reason}: {names}") if reason else table.steps,
    )


def _described(table: DataTable, row: int, column: int) -> str:
    return f"{table.channels[column]!r} is {table.values[row, column]:g} at {table.label(row)}"


def start_from_panel(start: Start, given: Given) -> Start:
    """The scaffold of a kind with the author's table as data, and its contract unchanged."""
    return read_own_table(given, start).start(start, asks=start.asks)


def start_from_values(start: Start, given: Given, verb: str, fewest: int = 1) -> Start:
    """The scaffold of a task about the next ``horizon`` values of every channel, with a contract that fits the table.

    Args:
        start: the kind's scaffold, whose contract has ``lookback``, ``horizon`` and ``value_semantics``.
        given: the author's files, and how they are to be read.
        verb: what the task asks for: ``Forecast`` or ``Generate``.
        fewest: fewest hidden windows that a fold must have.

    Raises:
        UsageError: an option is given that is for other kinds; see :func:`read_own_table`.
        DataError: a file is malformed, has gaps and ``--fill`` is not given, or there are too few rows.
    """
    own = read_own_table(given, start)
    rows = len(own.table.values)
    semantics, unit = SEMANTICS[own.measure]
    lost = rows_lost(semantics)
    require_windows(start, rows, fewest, lost)
    low, high = range_of(own)
    noun = {"price": "log returns", "yield": "values", "mixed": "values"}[own.measure]
    contract = edited(
        start.contract,
        **fitted_lookback(start, rows - lost),
        value_semantics=f'"{semantics}"',
        unit=f'"{unit}"',
        low=low,
        high=high,
    )
    return own.start(
        start,
        description=f"{verb} the next five {noun} of {len(own.table.channels)} series.",
        asks=f"{verb} the next five {noun} of each of {len(own.table.channels)} series.",
        contract=contract,
    )


def edited(lines: str, **values: object) -> str:
    """Lines of a table of ``task.toml`` with other values.

    Args:
        lines: the lines, with comments behind values.
        values: new values by key, as TOML; each key must be there already.
    """
    for key, value in values.items():
        # A function as the replacement, since a text would have its backslashes read; it is called before `value`
        # changes.
        old = rf"(?m)^{key} = (\[[^\]]*\]|\"[^\"]*\"|\S+)"
        lines, count = re.subn(old, lambda _: f"{key} = {value}", lines)  # noqa: B023
        assert count == 1, f"one line for {key}"
    return lines


def require_windows(start: Start, rows: int, fewest: int, lost: int = 0) -> None:
    """Refuse a table with so few rows that a hidden block holds fewer than ``fewest`` windows.

    Args:
        start: the kind's scaffold.
        rows: number of rows of the table.
        fewest: fewest hidden windows that a fold must have.
        lost: rows of the table that make no row of values, such as the first of a table of prices.

    Raises:
        DataError: there are too few rows; the message says how many are enough.
    """
    # Of the shortest windows that a scaffold can have; see `fitted_lookback`.
    needs = _rows_of(min(number_of(start.contract, "lookback"), 1), number_of(start.contract, "horizon", 1), fewest)
    if block_of(start, rows - lost) < needs:
        assert start.split is not None, "kinds of tables are split by time"
        enough = lost + math.ceil((needs + start.split[3]) / Fraction(str(min(start.split[1:3]))))
        windows = "one hidden window" if fewest == 1 else f"{fewest} hidden windows"
        raise DataError(f"{rows} rows are too few: a fold needs {windows}, for which {enough} rows are enough")


def fitted_lookback(start: Start, rows: int) -> dict[str, object]:
    """A ``lookback`` that leaves some hidden windows in few rows of values, at most the scaffold's own."""
    lookback, horizon = number_of(start.contract, "lookback"), number_of(start.contract, "horizon", 1)
    return {"lookback": min(lookback, max(block_of(start, rows) - _rows_of(0, horizon, FEWEST), min(lookback, 1)))}


def _rows_of(lookback: int, horizon: int, windows: int) -> int:
    """Rows of a block that holds some hidden windows.

    Each begins a horizon after the one before. Windows to generate lie end to end, which is the same, since those of a
    scaffold have no look-back.
    """
    return lookback + windows * horizon


def block_of(start: Start, rows: int) -> int:
    """Number of rows of the smaller hidden block."""
    assert start.split is not None, "kinds of tables are split by time"
    # Of the split (train, public, private, embargo).
    return train_share(min(start.split[1:3]), rows) - start.split[3]


def number_of(lines: str, key: str, default: int | None = None) -> int:
    """The whole number that lines of a table of ``task.toml`` state for a key, or ``default`` if they state none."""
    match = re.search(rf"(?m)^{key} = (\d+)", lines)
    if match is None:
        assert default is not None, f"a line for {key}"
        return default
    return int(match[1])


def range_of(own: OwnTable) -> tuple[str, str]:
    """Limits of an answer, as TOML, from training rows alone: the largest of all values would tell of hidden ones."""
    values = own.table.values[: own.train]
    if own.measure == "price":
        values = np.diff(np.log(values), axis=0)
    return limits_of(float(np.abs(values).max(initial=0.0)))


def limits_of(largest: float) -> tuple[str, str]:
    """Lower and upper limit of an answer, as TOML.

    Args:
        largest: the largest absolute value of the training block.

    Raises:
        DataError: the values are too large for a contract.
    """
    # A power of ten, so that the limits look chosen, and tell little of the data.
    limit = 10.0 ** math.ceil(math.log10(max(ROOM * largest, 1.0)))
    if limit >= WIDEST:
        raise DataError(f"values of {largest:g} are too large for a contract; divide them, and say so in the unit")
    return f"{-limit}", f"{limit}"
