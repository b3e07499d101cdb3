"""Starting a task from an author's own table."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.bars import FIELDS
from openfingym.data.csvfile import canonical_csv, frequency_of
from openfingym.data.own.gaps import Filled, without_gaps
from openfingym.data.own.tables import DataTable, read_tables
from openfingym.data.recipe import train_share
from openfingym.errors import DataError, UsageError
from openfingym.kinds.start import OwnData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from openfingym.data.dataset import Measure
    from openfingym.kinds.start import Given, Start

FILE = "data.csv"
WIDEST = 1e12
"""Limits of a contract are below this."""
ROOM = 10.0
"""How many times as large as anything in the training block an answer may be."""
FEWEST = 6
"""Hidden windows of a fold that a scaffold leaves, where its rows allow it."""
SEMANTICS: dict[str, tuple[str, str]] = {
    "price": ("log_return", "log return per row"),
    "yield": ("yield_level", "as in the data; say it here"),
    "mixed": ("mixed", "as in the data; say it here"),
}
"""What a task predicts of data of each measure, and its unit."""


@dataclass(frozen=True, eq=False)
class OwnTable:
    """An author's table, ready for a task."""

    filled: Filled
    given: Given
    measure: Measure
    train: int
    """Rows of the training block."""

    @property
    def table(self) -> DataTable:
        """Its values, without gaps."""
        return self.filled.table

    @property
    def frequency(self) -> str:
        """Frequency by the median spacing of the dates; ``none`` without dates."""
        return "none" if self.table.times is None else frequency_of(self.table.times)

    def start(self, start: Start, **changes: object) -> Start:
        """The scaffold with this table as its data."""
        table, names = self.table, ", ".join(self.given.names)
        dates = table.times is not None
        times: NDArray[Any] = table.times if table.times is not None else np.arange(len(table.values))
        size = f"{len(table.values)} rows of {len(table.channels)} series"
        own = OwnData(
            file=FILE,
            content={FILE: canonical_csv(times, table.channels, table.values)},
            measure=self.measure,
            names=self.given.names,
            steps=table.steps,
            fill=self.given.fill or "none",
            filled=self.filled.filled,
            dropped=table.dropped,
            dates=dates,
            interpolated_to=self.filled.interpolated_to,
        )
        told = "" if dates else " The rows have no date; they are in order, and known by their number."
        values: dict[str, object] = {
            "data": names,
            "frequency": self.frequency,
            "panel": size,
            "dataset": None,
            "own_data": own,
            **changes,
        }
        return replace(start, **{**values, "asks": f"{values['asks']}{told}"})  # type: ignore[arg-type]  # its fields


def read_own_table(given: Given, start: Start, read: Callable[[Sequence[Path]], DataTable] = read_tables) -> OwnTable:
    """The author's table, its gaps filled as asked.

    Args:
        given: the author's files, and what was said of them.
        start: the kind's scaffold, whose split says which rows are training.
        read: makes a table of the files.

    Raises:
        UsageError: an option for graphs is given.
        DataError: a file is malformed, has gaps that nothing is to be done about, or prices that are not positive.
    """
    if given.labels is not None or given.features is not None:
        raise UsageError("--labels and --features are for graphs; this kind takes tables alone")
    if given.target is not None:
        raise UsageError("--target is for tasks of the kind rows; this one predicts every column")
    assert start.split is not None, "kinds of tables are split by time"
    filled = without_gaps(read(given.files), given.fill, start.split[0])
    values = filled.table.values
    positive = bool((values > 0.0).all())
    measure: Measure = given.measure or ("price" if positive else "mixed")
    if measure == "price" and not positive:
        row, column = (int(place) for place in np.argwhere(~(values > 0.0))[0])
        raise DataError(
            f"{filled.table.channels[column]!r} at {filled.table.label(row)} is {values[row, column]:g}, not a "
            "positive price; give --measure mixed, or leave the column out"
        )
    return OwnTable(filled, given, measure, train_share(start.split[0], len(values)))


def start_from_panel(start: Start, given: Given) -> Start:
    """A scaffold whose contract is as it is, with the author's table as data; for kinds that know no better."""
    return read_own_table(given, start).start(start, asks=start.asks)


def start_from_values(start: Start, given: Given, verb: str, fewest: int = 1) -> Start:
    """The scaffold of a task about the next ``horizon`` values of every channel.

    Args:
        start: the kind's scaffold, whose contract has ``lookback``, ``horizon`` and ``value_semantics``.
        given: the author's files.
        verb: what is asked: ``Forecast`` or ``Generate``.
        fewest: hidden windows that a fold must have.

    Raises:
        UsageError: an option of another kind is given; see :func:`read_own_table`.
        DataError: a file is malformed or has gaps that nothing is to be done about, or there are too few rows.
    """
    own = read_own_table(given, start)
    require_windows(start, len(own.table.values), fewest)
    semantics, unit = SEMANTICS[own.measure]
    low, high = range_of(own)
    said = {"price": "log returns", "yield": "values", "mixed": "values"}[own.measure]
    contract = edited(
        start.contract,
        **fitted_lookback(start, len(own.table.values)),
        value_semantics=f'"{semantics}"',
        unit=f'"{unit}"',
        low=low,
        high=high,
    )
    return own.start(
        start,
        description=f"{verb} the next five {said} of {len(own.table.channels)} series.",
        asks=f"{verb} the next five {said} of each of {len(own.table.channels)} series.",
        contract=contract,
    )


def start_from_bars(start: Start, given: Given, asks: str) -> Start:
    """The scaffold of a task that steps through bars."""
    stem = given.files[0].name.split(".")[0]
    own = read_own_table(replace(given, measure="mixed"), start, lambda files: _bars(read_tables(files), stem))
    if own.table.times is None:
        raise DataError(f"{given.files[0]}: bars need dates; add a column 'date' with dates such as 2024-01-31")
    symbols = [name.removesuffix("_open") for name in own.table.channels if name.endswith("_open")]
    listed = ", ".join(f'"{name}"' for name in symbols)
    return own.start(
        start,
        asset_class="equity",
        description=f"{asks} of {len(symbols)} symbols, row after row.",
        asks=f"{asks} of {', '.join(symbols)}, row after row.",
        contract=edited(start.contract, **_fitted_bars(start, len(own.table.values)), symbols=f"[{listed}]"),
    )


def edited(lines: str, **values: object) -> str:
    """Lines of a table of ``task.toml`` with other values, each of which must be there."""
    for key, value in values.items():
        # The function is called before `value` changes.
        lines, count = re.subn(rf"(?m)^{key} = (\[[^\]]*\]|\"[^\"]*\"|\S+)", lambda _: f"{key} = {value}", lines)  # noqa: B023
        assert count == 1, f"one line for {key}"
    return lines


def require_windows(start: Start, rows: int, fewest: int) -> None:
    """Refuse a table of which a hidden block holds too few windows."""
    length = number_of(start.contract, "horizon", 1) + (1 if number_of(start.contract, "lookback") else 0)
    if _block(start, rows) // length < fewest:
        assert start.split is not None, "kinds of tables are split by time"
        enough = math.ceil((fewest * length + start.split[3] + 1) / min(start.split[1:3]))
        raise DataError(
            f"{rows} rows are too few: a fold needs {fewest} hidden windows, for which {enough} rows are enough"
        )


def fitted_lookback(start: Start, rows: int) -> dict[str, object]:
    """A ``lookback`` that leaves some hidden windows in a table with few rows; the scaffold's own where it has many."""
    lookback, horizon = number_of(start.contract, "lookback"), number_of(start.contract, "horizon", 1)
    return {"lookback": min(lookback, max(_block(start, rows) // FEWEST - horizon, min(lookback, 1)))}


def _fitted_bars(start: Start, rows: int) -> dict[str, object]:
    """A ``lookback`` and ``steps`` of which an episode fits into each hidden block."""
    lookback, steps = (number_of(start.contract, key) for key in ("lookback", "steps"))
    block = _block(start, rows)
    shown = min(lookback, max(block // 3, 1))
    return {"lookback": shown, "steps": min(steps, max(block - shown - 1, 1))}


def _block(start: Start, rows: int) -> int:
    """Rows of the smaller hidden block."""
    assert start.split is not None, "kinds of tables are split by time"
    return int(min(start.split[1:3]) * rows) - start.split[3]


def number_of(lines: str, key: str, default: int | None = None) -> int:
    """The whole number that lines of a table of ``task.toml`` give a key, or its default where they do not."""
    found = re.search(rf"(?m)^{key} = (\d+)", lines)
    if found is None:
        assert default is not None, f"a line for {key}"
        return default
    return int(found[1])


def _bars(table: DataTable, stem: str) -> DataTable:
    """The channels that are fields of bars, named ``<symbol>_<field>``; a table of one symbol goes by its file."""
    columns, names, symbols = [], [], set()
    for place, channel in enumerate(table.channels):
        symbol, _, fieldname = channel.rpartition("_")
        if fieldname.lower() in FIELDS:
            columns.append(place)
            names.append(f"{symbol or stem}_{fieldname.lower()}")
            symbols.add(symbol or stem)
    needed = [f"{symbol}_{name}" for symbol in sorted(symbols) for name in FIELDS]
    if missing := [name for name in needed if name not in names]:
        raise DataError(f"no column {', '.join(missing)}; every symbol needs {', '.join(FIELDS)}")
    if not symbols:
        raise DataError(
            f"no bars: expected columns {', '.join(FIELDS)}, or <symbol>_open and so on; found "
            f"{', '.join(table.channels[:12])}"
        )
    left = [name for place, name in enumerate(table.channels) if place not in columns]
    steps = (f"columns left out, which are no part of a bar: {', '.join(left)}",) if left else ()
    return replace(table, channels=tuple(names), values=table.values[:, columns], steps=(*table.steps, *steps))


def range_of(own: OwnTable) -> tuple[str, str]:
    """Limits of an answer. Of training rows alone: the largest of all values would tell of the hidden ones."""
    values = own.table.values[: own.train]
    if own.measure == "price":
        values = np.diff(np.log(values), axis=0)
    return limits_of(float(np.abs(values).max(initial=0.0)))


def limits_of(largest: float) -> tuple[str, str]:
    """Limits of an answer, given the largest known value without its sign."""
    limit = 10.0 ** math.ceil(math.log10(max(ROOM * largest, 1.0)))
    if limit >= WIDEST:
        raise DataError(f"values of {largest:g} are too large for a contract; divide them, and say so in the unit")
    return f"{-limit}", f"{limit}"
