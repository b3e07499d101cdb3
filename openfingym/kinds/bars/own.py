"""Starting a task that steps through an author's own bars: what is a bar, a halt, a corporate action, and how many bars
are in a year.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.bars import ACTIONS, FIELDS, Bars, widen
from openfingym.data.csvfile import require_printable
from openfingym.data.own.fields import ADJUSTED, PRICES, bar_columns
from openfingym.data.own.gaps import latest
from openfingym.data.own.tables import DataTable, read_tables
from openfingym.data.plausibility import RARE
from openfingym.errors import DataError, UsageError
from openfingym.kinds.own_tables import block_of, edited, number_of, read_own_table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from openfingym.kinds.start import Given, Start
    from openfingym.task.dataset import Fill

UNKNOWN_VOLUME = 1.0
"""What stands for the volume of every bar where the author's file has none."""
YEARS = {"minutes": 525_600.0, "hours": 8_760.0, "days": 365.0, "weekdays": 252.0, "weeks": 52.0, "months": 12.0}
"""Bars in a year of clocks without gaps, and of the days on which stocks trade."""
YEAR_TOLERANCE = 0.06
"""Relative distance at which a count of bars a year is one of these: holidays and short samples move it."""
SPLIT_SHARE = 0.25
"""A price falls by a split that was not applied if the log of its fall is within this share of the split's own log."""
DEAREST = 0.01
"""Largest share of the initial cash that one lot may cost: with more, an account cannot follow its weights."""
SHOWN = 40
"""Bars that a scaffold shows: environments show 16, and indicators look back by 20 more."""


@dataclass(frozen=True)
class _Columns:
    """Which columns of a table are fields of bars, by the name that they get."""

    places: dict[str, int]
    """Column of each ``<symbol>_<field>``, also of splits, dividends and adjusted closes."""
    symbols: tuple[str, ...]
    left: tuple[str, ...]
    """Columns that are no part of a bar."""


def start_from_bars(start: Start, given: Given, asks: str) -> Start:
    """The scaffold of a task that steps through bars, with a contract that fits the author's bars.

    Args:
        start: the kind's scaffold, whose contract has ``lookback``, ``steps`` and ``symbols``.
        given: the author's files, and how they are to be read.
        asks: what the task asks for, up to the symbols, as the beginning of a sentence.

    Raises:
        UsageError: an option is given that is for other kinds.
        DataError: a file is malformed, or its columns are no bars or have no dates.
    """
    stem = given.files[0].name.split(".")[0]
    if given.fill == "interpolate":
        raise UsageError(
            "--fill interpolate would make bars at prices nobody quoted; leave --fill out, and a row without a bar "
            "is a halt, or give --fill drop"
        )

    def read(files: Sequence[Path]) -> DataTable:
        return bars_table(read_tables(files), stem, given.fill)

    # Bars hold prices and volumes: mixed values, which need not be positive (a volume can be 0).
    own = read_own_table(replace(given, measure="mixed"), start, read)
    times = own.table.times
    if times is None:
        raise DataError(f"{given.files[0]}: bars need dates; add a column 'date' with dates such as 2024-01-31")
    symbols = [name.removesuffix("_open") for name in own.table.channels if name.endswith("_open")]
    # A symbol may be called by its file, whose name nobody has looked at.
    require_printable(symbols, str(given.files[0]))
    _require_bars(own.table, times, symbols, ", ".join(map(str, given.files)))
    year, said = bars_per_year(times)
    changes: dict[str, object] = {} if start.periods_per_year is None else {"periods_per_year": year}
    facts: dict[str, object] = {
        **_fitted(start, len(own.table.values)),
        # Of printable characters a JSON string is a TOML string as well.
        "symbols": json.dumps(symbols, ensure_ascii=False),
    }
    steps = [said]
    if re.search(r"(?m)^bars_per_year = ", start.contract):
        facts["bars_per_year"] = year
    if re.search(r"(?m)^lot = ", start.contract):
        lot, reason = _lot(start, own.table)
        facts["lot"] = lot
        steps += [reason] if reason else []
    table = replace(own.table, steps=(*own.table.steps, *steps))
    own = replace(own, filled=replace(own.filled, table=table))
    return own.start(
        start,
        description=f"{asks} of {len(symbols)} symbols, row after row.",
        asks=f"{asks} of {', '.join(symbols)}, row after row.",
        contract=edited(start.contract, **facts),
        **changes,
    )


def bars_table(table: DataTable, stem: str, fill: Fill | None = None) -> DataTable:
    """The bars of a table: columns ``<symbol>_open`` to ``<symbol>_volume``, and the symbols' splits and dividends.

    A row that a symbol has no prices in is its halt: the last close stands in all four prices, with a volume of 0. Rows
    before the first in which every symbol has prices are left out.

    Args:
        table: the table that was read from the author's files.
        stem: name of the symbol whose columns have no symbol before the field: the name of the file.
        fill: ``drop`` to leave out rows in which some symbol has no bar; any other for halts.

    Raises:
        DataError: the columns are no bars, or a bar is half missing.
    """
    columns = _columns(table.channels, stem)
    steps = [*table.steps]
    if columns.left:
        steps.append(f"columns left out, which are no part of a bar: {', '.join(columns.left)}")
    fields = {name: table.values[:, place].copy() for name, place in columns.places.items()}
    halts = {symbol: _halts(table, fields, symbol, fill) for symbol in columns.symbols}
    begun = np.stack([np.logical_and.accumulate(halts[symbol]) for symbol in columns.symbols]).any(axis=0)
    for symbol in columns.symbols:
        steps += _with_volume(fields, symbol, halts[symbol])
        steps += _with_actions(table, fields, symbol)
    kept = ~begun
    if fill == "drop":
        kept &= ~np.stack([halts[symbol] for symbol in columns.symbols]).any(axis=0)
        steps.append(f"{int((~kept & ~begun).sum())} rows left out in which a symbol has no bar (drop)")
    if begun.any():
        reason = latest(columns.symbols, np.stack([halts[symbol] for symbol in columns.symbols], axis=1))
        steps.append(f"{int(begun.sum())} rows left out, before the first in which every symbol has a bar: {reason}")
    if not kept.any():
        raise DataError("in no row do all symbols have a bar; leave out the one that begins last")
    for symbol in columns.symbols:
        gone = int(halts[symbol][kept].sum())
        _carry(fields, symbol, halts[symbol])
        if gone:
            steps.append(f"{gone} rows without a bar of {symbol} are its halts, in which it cannot be traded")
    for symbol in columns.symbols:
        prices = np.stack([fields[f"{symbol}_{field}"] for field in PRICES], axis=1)
        widen(prices)
        fields |= {f"{symbol}_{field}": prices[:, place] for place, field in enumerate(PRICES)}
    names = [f"{symbol}_{field}" for symbol in columns.symbols for field in (*FIELDS, *ACTIONS)
             if f"{symbol}_{field}" in fields]  # fmt: skip
    return replace(
        table,
        times=None if table.times is None else table.times[kept],
        channels=tuple(names),
        values=np.ascontiguousarray(np.stack([fields[name][kept] for name in names], axis=1)),
        steps=tuple(steps),
        dropped=table.dropped + int((~kept).sum()),
    )


def bars_per_year(times: NDArray[np.datetime64]) -> tuple[float, str]:
    """How many bars a year has, by the author's own dates, and a sentence that says so.

    Args:
        times: datetime64[n], increasing.
    """
    years = float((times[-1] - times[0]) / np.timedelta64(1, "s")) / (365.25 * 86_400.0) if len(times) > 1 else 0.0
    if not years:
        return YEARS["weekdays"], "252 bars a year assumed: there is one row"
    counted = (len(times) - 1) / years
    name, standard = min(YEARS.items(), key=lambda item: abs(math.log(counted / item[1])))
    if abs(counted / standard - 1.0) <= YEAR_TOLERANCE:
        return standard, f"{standard:g} bars a year, by their dates ({name})"
    return float(round(counted)), f"{round(counted)} bars a year, counted from their dates"


def _columns(channels: Sequence[str], stem: str) -> _Columns:
    """Tell the columns of bars from others by their names.

    Raises:
        DataError: there is no symbol with four prices, or one of which some are there.
    """
    found = bar_columns(channels)
    partial = {name: {*PRICES} - {*fields} for name, fields in found.places.items() if {*PRICES} & {*fields}}
    # A single price under a name is a series: the others are not missing.
    if not found.symbols and all(len(lacking) == len(PRICES) - 1 for lacking in partial.values()):
        raise DataError(
            f"no bars: expected columns {', '.join(FIELDS)}, or <symbol>_open and so on; found "
            f"{', '.join(channels[:12])}. Series that are no bars are for other kinds, such as --kind forecast"
        )
    missing = [f"{name or stem}_{field}" for name, lacking in partial.items() for field in PRICES if field in lacking]
    if missing:
        raise DataError(
            f"no column {', '.join(missing)}; every symbol needs {', '.join(PRICES)}, and its volume if known"
        )
    fields = {symbol or stem: found.places[symbol] for symbol in found.symbols}
    places = {f"{symbol}_{field}": place for symbol, columns in fields.items() for field, place in columns.items()}
    used = {place for name, place in places.items() if not name.endswith(f"_{ADJUSTED}")}
    left = tuple(name for place, name in enumerate(channels) if place not in used)
    return _Columns(places, tuple(fields), left)


def _halts(
    table: DataTable, fields: Mapping[str, NDArray[np.float64]], symbol: str, fill: Fill | None
) -> NDArray[np.bool_]:
    """Rows in which a symbol has no prices, bool[n]; with ``drop``, those in which it lacks any.

    Raises:
        DataError: some prices of a row are missing and others are not.
    """
    missing = np.stack([np.isnan(fields[f"{symbol}_{field}"]) for field in PRICES])
    half = missing.any(axis=0) & ~missing.all(axis=0)
    if half.any() and fill == "drop":
        return np.asarray(missing.any(axis=0))
    if half.any():
        row = int(half.argmax())
        lacking = [field for field, gone in zip(PRICES, missing[:, row], strict=True) if gone]
        raise DataError(
            f"{symbol} at {table.label(row)} lacks {', '.join(lacking)}, and has other prices; complete the bar, "
            "remove all of its prices, which makes it a halt, or give --fill drop, which leaves out the row"
        )
    return np.asarray(missing.all(axis=0))


def _require_bars(table: DataTable, times: NDArray[np.datetime64], symbols: Sequence[str], name: str) -> None:
    """Refuse bars that contradict themselves, before anything is written.

    Raises:
        DataError: some bar does; says so of closes that are adjusted where the other prices are not.
    """
    values = {channel: table.values[:, place] for place, channel in enumerate(table.channels)}
    for symbol in symbols:
        high, low, close = (values[f"{symbol}_{field}"] for field in ("high", "low", "close"))
        outside = (close > high) | (close < low)
        if outside.mean() > RARE:
            row = int(outside.argmax())
            raise DataError(
                f"{name}: the close of {symbol} is outside of its low and high in {int(outside.sum())} of "
                f"{len(outside)} rows, first {close[row]:g} at {table.label(row)}, where these are {low[row]:g} and "
                f"{high[row]:g}. Such a close is often adjusted where the other prices are not, as by FinRL's "
                "downloader; adjust all four, or none"
            )
    prices = np.stack([[values[f"{symbol}_{field}"] for field in FIELDS] for symbol in symbols]).transpose(2, 0, 1)
    unchanged = {"split": np.ones(len(times)), "dividend": np.zeros(len(times))}
    actions = {
        action: np.stack([values.get(f"{symbol}_{action}", unchanged[action]) for symbol in symbols], axis=1)
        for action in ACTIONS
    }
    Bars.from_array(times, tuple(symbols), prices, name=name, **actions)


def _with_volume(fields: dict[str, NDArray[np.float64]], symbol: str, halted: NDArray[np.bool_]) -> list[str]:
    """Complete the volume of a symbol, in place; returns what was done, as sentences."""
    name = f"{symbol}_volume"
    volume = fields.get(name)
    # Of exchange rates, interest rates and indices vendors write 0 throughout: nobody knows the volume.
    if volume is None or not (volume > 0.0).any():
        fields[name] = np.where(halted, 0.0, UNKNOWN_VOLUME)
        told = f"the volume of {symbol} is not known: {UNKNOWN_VOLUME:g} stands in every bar"
        return [f"{told}, so do not set max_participation or impact, which depend on it"]
    unknown = np.isnan(volume) & ~halted
    volume[np.isnan(volume)] = 0.0
    return [f"{int(unknown.sum())} bars of {symbol} without a volume are halts"] if unknown.any() else []


def _with_actions(table: DataTable, fields: dict[str, NDArray[np.float64]], symbol: str) -> list[str]:
    """Take a symbol's splits and dividends if its prices are without them, in place; returns what was done.

    Splits are in the prices already, or not: they are taken only where a price falls by each of them. Dividends belong
    to raw prices. Where no split tells that prices are raw, a column of adjusted closes may tell that they are without
    dividends; else these are left out.
    """
    adjusted = fields.pop(f"{symbol}_{ADJUSTED}", None)
    if not any(f"{symbol}_{action}" in fields for action in ACTIONS):
        return []
    split = fields.pop(f"{symbol}_split", np.zeros(len(table.values)))
    dividend = fields.pop(f"{symbol}_dividend", np.zeros(len(table.values)))
    ratio = np.where(np.isnan(split) | (split == 0.0), 1.0, split)
    cash = np.nan_to_num(dividend)
    if (ratio < 0.0).any() or (cash < 0.0).any():
        raise DataError(f"{symbol}: a split ratio or a dividend is negative")
    close = fields[f"{symbol}_close"]
    rows = np.flatnonzero(ratio != 1.0)
    paid = int((cash > 0.0).sum())
    raw = [_shows(close, int(row), float(ratio[row])) for row in rows]
    if any(raw) and not all(raw):
        row = int(rows[raw.index(False)])
        raise DataError(
            f"{symbol} at {table.label(row)}: prices do not show its split by {ratio[row]:g}, and show another one; "
            "adjust them for all splits, or for none"
        )
    if any(raw):
        fields[f"{symbol}_split"], fields[f"{symbol}_dividend"] = ratio, cash
        return [f"{len(rows)} splits and {paid} dividends of {symbol} taken as they are: its prices are without them"]
    steps = [f"{len(rows)} splits of {symbol} left out: its prices are adjusted for them"] if len(rows) else []
    share = None if adjusted is None else _adjusted_share(close, adjusted, cash)
    if not paid:
        return steps
    if share is not None and abs(share - 1.0) < SPLIT_SHARE:
        fields[f"{symbol}_split"], fields[f"{symbol}_dividend"] = np.ones(len(ratio)), cash
        return [
            *steps,
            f"{paid} dividends of {symbol} taken: its adjusted closes show that its prices are without them",
        ]
    if share is not None and abs(share) < SPLIT_SHARE:
        return [*steps, f"{paid} dividends of {symbol} left out: its prices are adjusted for them"]
    return [*steps, f"{paid} dividends of {symbol} left out: whether its prices are without them cannot be told"]


def _adjusted_share(
    close: NDArray[np.float64], adjusted: NDArray[np.float64], cash: NDArray[np.float64]
) -> float | None:
    """How much of its dividends the adjusted closes of a symbol are adjusted for beyond its closes: 1 for all of them;
    None where no dividend tells.
    """
    rows = np.flatnonzero((cash[1:] > 0.0) & (cash[1:] < close[:-1]) & (close[1:] > 0.0)) + 1
    if not len(rows):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.log(adjusted / close)
    shares = (factor[rows] - factor[rows - 1]) / -np.log1p(-cash[rows] / close[rows - 1])
    shares = shares[np.isfinite(shares)]
    return float(np.median(shares)) if len(shares) else None


def _shows(close: NDArray[np.float64], row: int, ratio: float) -> bool:
    """Whether a price falls by a split in its row."""
    before = close[:row][~np.isnan(close[:row])]
    after = close[row:][~np.isnan(close[row:])]
    if not len(before) or not len(after):
        return True  # before the first price there is nothing to adjust
    size = math.log(ratio)
    return abs(math.log(before[-1] / after[0]) - size) < SPLIT_SHARE * abs(size)


def _carry(fields: dict[str, NDArray[np.float64]], symbol: str, halted: NDArray[np.bool_]) -> None:
    """Put the last close into all four prices of a symbol's halts, in place."""
    close = fields[f"{symbol}_close"]
    newest = np.maximum.accumulate(np.where(halted, 0, np.arange(len(close))))
    carried = close[newest]
    if f"{symbol}_split" in fields:
        # In the shares of the row: a split within a halt changes what a share is.
        shares = np.cumprod(fields[f"{symbol}_split"])
        carried = carried * shares[newest] / shares
    for field in PRICES:
        fields[f"{symbol}_{field}"] = np.where(halted, carried, fields[f"{symbol}_{field}"])


def _lot(start: Start, table: DataTable) -> tuple[float, str]:
    """Quantity that orders are a multiple of, so that one lot is a small part of the account; and why it is another."""
    stated = re.search(r"(?m)^lot = (\S+)", start.contract)
    cash = re.search(r"(?m)^initial_cash = (\S+)", start.contract)
    assert stated is not None
    lot = float(stated[1])
    dear = {name.removesuffix("_close"): float(table.values[:, place].max())
            for place, name in enumerate(table.channels) if name.endswith("_close")}  # fmt: skip
    symbol, price = max(dear.items(), key=lambda item: item[1])
    most = DEAREST * (float(cash[1]) if cash is not None else math.inf)
    if not lot or lot * price <= most:
        return lot, ""
    smaller = 10.0 ** math.floor(math.log10(most / price))
    return smaller, f"a lot of {smaller:g}: one whole unit of {symbol}, at {price:g}, is a large part of the account"


def _fitted(start: Start, rows: int) -> dict[str, object]:
    """A ``lookback`` and ``steps`` with which an episode fits into each hidden block."""
    lookback, steps = max(number_of(start.contract, "lookback"), SHOWN), number_of(start.contract, "steps")
    block = block_of(start, rows)
    shown = min(lookback, max(block // 3, 1))
    return {"lookback": shown, "steps": min(steps, max(block - shown - 1, 1))}
