"""What is odd about values in time, in sentences for whoever is to trust them: holes, stuck feeds, changes of scale.

Nothing is repaired and nothing refused here: a market may close for a week, and a price may halve in a day. But whoever
makes a task of such data should have been told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.bars import FIELDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.sources import Table

WEEKEND_H = 96.0
"""Longest pause of a market that closes at weekends, in hours: a holiday beside one."""
STUCK = 5
"""Rows from which on a repeated value is mentioned."""
SCALES = (10.0, 100.0, 1000.0)
"""Factors by which a value moves if its unit changes."""
SPLITS = (1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 15.0, 20.0)
"""Usual ratios of splits, either way."""
NEAR = 0.06
"""Distance of logs at which a move is near a factor, of a scale or a split."""
LARGE = 0.3
"""Log of the smallest move that is mentioned."""
RARE = 0.01
"""Share of rows up to which values that are not positive are odd in a column of positive ones."""
LISTED = 3
"""The most channels of which one finding is listed."""


def oddities(
    times: NDArray[np.datetime64] | None,
    channels: Sequence[str],
    values: NDArray[np.float64],
    *,
    hidden_from: int | None = None,
    filled: NDArray[np.bool_] | None = None,
) -> tuple[str, ...]:
    """What is odd about a table, a sentence each; empty where nothing is.

    Args:
        times: datetime64[n], increasing; None where the rows have no date.
        channels: names of the columns.
        values: float64[n, channels]; NaN where a table that nobody has filled has no value.
        hidden_from: first row that is not for training: what is odd in hidden rows is said to be there. None where no
            row is hidden.
        filled: bool[n, channels], True for cells that had no value and were given one; None for none.
    """
    first_hidden = len(values) if hidden_from is None else hidden_from
    found = [] if times is None or len(times) < 3 else _in_time(times)

    def label(row: int) -> str:
        name = f"row {row}" if times is None else f"{times[row].astype('datetime64[m]')}".removesuffix("T00:00")
        return f"{name}{' (hidden)' if row >= first_hidden else ''}"

    # Of bars, a volume of 0 is a halt, and what is said of the four prices would be said four times of one fault.
    bars = {name.rpartition("_")[0] for name in channels if name.rpartition("_")[2].lower() == "open"}
    by_channel = [(name, values[:, place]) for place, name in enumerate(channels) if _counts(name, bars)]
    for place, name in enumerate(channels):
        if name.endswith("_split") and name.removesuffix("_split") in bars:
            by_channel = _in_one_share(by_channel, name.removesuffix("_split"), values[:, place])
    empty = _without_values(channels, values, bars, filled)
    most = sorted(empty.items(), key=lambda item: -int(item[1].sum()))
    found += _listed([_filled(name, cells, label, first_hidden, scored=filled is None) for name, cells in most])
    # A value that was carried over a gap, or through a halt, is no feed that is stuck.
    quoted = [(name, np.where(empty[name], np.nan, column) if name in empty else column) for name, column in by_channel]
    found += _listed([_stuck(name, column, label) for name, column in quoted])
    found += _listed([_copied(symbol, channels, values, label, first_hidden) for symbol in sorted(bars)])
    found += _listed([_zeros(name, column, label) for name, column in by_channel])
    prices = [(name, column) for name, column in by_channel if not name.lower().endswith("volume")]
    found += _listed([_nonpositive(name, column, label) for name, column in prices])
    found += _listed([_moves(name, column, label) for name, column in prices])
    return tuple(found)


def _counts(name: str, bars: Collection[str]) -> bool:
    """Whether a column is looked at: of bars the close alone."""
    symbol, _, fieldname = name.rpartition("_")
    return symbol not in bars or fieldname.lower() == "close"


def table_oddities(table: Table) -> tuple[str, ...]:
    """What is odd about pulled data, as :func:`oddities` says it; of bars, only their own fields are looked at."""
    # A table of one symbol names its columns without it.
    split = [name.rpartition(".") for name in table.columns]
    bars = {symbol for symbol, _, fieldname in split if fieldname == "open"}
    kept = [place for place, (symbol, _, fieldname) in enumerate(split) if symbol not in bars or fieldname in FIELDS]
    names = ["_".join(filter(None, (split[place][0], split[place][2]))) for place in kept]
    return oddities(table.times, names, table.values[:, kept])


def _without_values(
    channels: Sequence[str],
    values: NDArray[np.float64],
    bars: Collection[str],
    filled: NDArray[np.bool_] | None,
) -> dict[str, NDArray[np.bool_]]:
    """The rows in which a column has no value of its own, bool[n] by name; of bars these are the halts."""
    empty: dict[str, NDArray[np.bool_]] = {}
    for place, name in enumerate(channels):
        symbol, _, fieldname = name.rpartition("_")
        volume = f"{symbol}_volume" if symbol else "volume"
        halted = np.zeros(len(values), dtype=np.bool_)
        # A volume of 0 throughout is unknown.
        if symbol in bars and fieldname.lower() == "close" and volume in channels:
            traded = values[:, channels.index(volume)]
            halted = (traded == 0.0) & bool((traded > 0.0).any())
        cells = (halted if filled is None else halted | filled[:, place]) | np.isnan(values[:, place])
        if cells.any() and _counts(name, bars):
            empty[name] = cells
    return empty


def _filled(name: str, cells: NDArray[np.bool_], label: Callable[[int], str], hidden_from: int, *, scored: bool) -> str:
    """How many rows of a column have no value of their own, the longest run of them, and how many are hidden."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], cells.astype(np.int8), [0]])))
    starts, ends = edges[::2], edges[1::2]
    longest = int((ends - starts).argmax())
    first, last = int(starts[longest]), int(ends[longest])
    count, hidden = int(cells.sum()), int(cells[hidden_from:].sum())
    behind = f", {hidden} of them hidden{'' if scored or not hidden else ' and not scored'}"
    behind = behind if hidden_from < len(cells) else ""
    until = f"to the last one from {label(first)} on" if last == len(cells) else f"from {label(first)}"
    run = f"; the longest run is {last - first} rows {until}" if last - first > 1 else f", first in {label(first)}"
    return f"{name} has no value of its own in {count} of {len(cells)} rows{behind}{run}"


def _in_one_share(
    columns: Sequence[tuple[str, NDArray[np.float64]]], symbol: str, split: NDArray[np.float64]
) -> list[tuple[str, NDArray[np.float64]]]:
    """The columns, with the close of a symbol in shares of its first row: a split is no move."""
    shares = np.cumprod(split)
    return [(name, column * shares if name == f"{symbol}_close" else column) for name, column in columns]


def _holes(times: NDArray[np.datetime64]) -> list[str]:
    steps = np.diff(times) / np.timedelta64(1, "h")
    usual = float(np.median(steps))
    # Of markets that close at night or at weekends, most long steps are pauses.
    pauses = usual <= 24.0 and float(np.mean(steps > 1.5 * usual)) > 0.1 and _closes(times)
    long = steps > (max(WEEKEND_H, 1.5 * usual) if pauses else 1.5 * usual)
    if not long.any():
        return []
    row = int(np.where(long, steps, 0.0).argmax())
    count = int(long.sum())
    longest = f"the longest, of {_length(float(steps[row]))}, begins at {times[row].astype('datetime64[m]')}"
    return [f"{count} hole{'s' * (count != 1)} between rows that are usually {_length(usual)} apart; {longest}"]


def _closes(times: NDArray[np.datetime64]) -> bool:
    """Whether the market closes at weekends: at most one row in fifty is of a Saturday or Sunday."""
    weekday = (times.astype("datetime64[D]").astype(np.int64) + 3) % 7
    return bool(np.mean(weekday >= 5) < 0.02)


def _turn(times: NDArray[np.datetime64]) -> int:
    """The row about which the usual distance of rows changes; 0 where it does not."""
    steps = np.diff(times) / np.timedelta64(1, "h")
    if len(steps) < 40:
        return 0
    # So many in each part that a single hole is not its usual distance.
    parts = np.array_split(steps, min(20, len(steps) // 10))
    medians = np.array([float(np.median(part)) for part in parts])
    if medians.max() < 3.0 * medians.min():
        return 0
    turn = int(np.abs(np.diff(np.log(medians))).argmax())
    begin, end = (sum(map(len, parts[:number])) for number in (turn, turn + 2))
    # Within both parts, where the distances before are most unlike those behind.
    nearer = np.abs(np.log(steps[begin:end] / medians[turn])) < np.abs(np.log(steps[begin:end] / medians[turn + 1]))
    score = np.concatenate([[0], np.cumsum(np.where(nearer, 1, -1))])
    return begin + int(score.argmax())


def _in_time(times: NDArray[np.datetime64]) -> list[str]:
    """What is odd about the times of rows: holes, and a change of the distance between them."""
    turn = _turn(times)
    if not turn:
        return _holes(times)
    before, behind = (float(np.median(np.diff(part))) / 3.6e12 for part in (times[: turn + 1], times[turn:]))
    change = f"changes from {_length(before)} to {_length(behind)} at {times[turn].astype('datetime64[m]')}"
    # Holes of each part by itself: all of one part would be holes of the other.
    holes = [*_holes(times[: turn + 1]), *_holes(times[turn:])]
    return [*holes, f"the distance of rows {change}: rows of two frequencies are no one series"]


def _stuck(name: str, column: NDArray[np.float64], label: Callable[[int], str]) -> str:
    same = np.flatnonzero(np.diff(column) != 0.0)
    edges = np.concatenate([[-1], same, [len(column) - 1]])
    lengths = np.diff(edges)
    longest = int(lengths.argmax())
    # A column of a constant, such as a volume that is not known, is no stuck feed.
    if lengths[longest] < STUCK or lengths[longest] == len(column) or column[edges[longest] + 1] == 0.0:
        return ""
    return f"{name} repeats one value in {lengths[longest]} rows from {label(int(edges[longest]) + 1)}"


def _copied(
    symbol: str,
    channels: Sequence[str],
    values: NDArray[np.float64],
    label: Callable[[int], str],
    hidden_from: int,
) -> str:
    """How many bars of a symbol have the prices of the bar before although they have a range and are no halt."""
    place = {name.lower(): number for number, name in enumerate(channels)}
    begin = f"{symbol}_".lower() if symbol else ""
    columns = [place[begin + field] for field in FIELDS if begin + field in place]
    if len(columns) < len(FIELDS):
        return ""
    bars = values[:, columns]
    same = np.zeros(len(bars), dtype=np.bool_)
    same[1:] = (bars[1:, :4] == bars[:-1, :4]).all(axis=1)
    same &= (bars[:, 1] > bars[:, 2]) & (bars[:, 4] > 0.0)
    if same.sum() < STUCK:
        return ""
    hidden = f", {int(same[hidden_from:].sum())} of them hidden" if hidden_from < len(bars) else ""
    return (
        f"{symbol or 'its bars'}: {int(same.sum())} bars repeat the prices of the bar before{hidden}, first "
        f"{label(int(same.argmax()))}; if nothing was traded there, leave the rows out, which makes halts of them"
    )


def _zeros(name: str, column: NDArray[np.float64], label: Callable[[int], str]) -> str:
    zero = np.flatnonzero(column == 0.0)
    if not 0 < len(zero) < len(column) or len(zero) > 0.5 * len(column):
        return ""
    rows = "1 row," if len(zero) == 1 else f"{len(zero)} rows, first"
    return f"{name} is 0 in {rows} in {label(int(zero[0]))}"


def _nonpositive(name: str, column: NDArray[np.float64], label: Callable[[int], str]) -> str:
    low = np.flatnonzero(column < 0.0)
    if not 0 < len(low) <= RARE * len(column):
        return ""
    return f"{name} is below 0 in {len(low)} of {len(column)} rows ({column[low[0]]:g} in {label(int(low[0]))})"


def _moves(name: str, column: NDArray[np.float64], label: Callable[[int], str]) -> str:
    positive = np.flatnonzero(column > 0.0)
    if len(positive) < 0.95 * np.count_nonzero(~np.isnan(column)) or len(positive) < 3:
        return ""
    logs = np.diff(np.log(column[positive]))
    size = np.abs(logs)
    row = int(size.argmax())
    usual = float(np.median(size))
    if size[row] < LARGE or size[row] < 10.0 * usual:
        return ""
    factor = math.exp(size[row])
    # A split stands out; where other moves are as large and are none, such as of small yields, this is one of them.
    alike = size[size >= 0.5 * size[row]]
    near = [kind for kind, factors in (("a change of unit", SCALES), ("a split", SPLITS))
            if all(min(abs(one - math.log(of)) for of in factors) < NEAR for one in alike)]  # fmt: skip
    like = f", as {near[0]} would" if near else ""
    where = label(int(positive[row + 1]))
    return f"{name} moves by a factor of {factor:.3g} {'up' if logs[row] > 0 else 'down'} at {where}{like}"


def _listed(sentences: Sequence[str]) -> list[str]:
    """The first few findings of one sort, and how many there are where there are more."""
    found = [sentence for sentence in sentences if sentence]
    more = len(found) - LISTED
    return found[:LISTED] if more <= 0 else [*found[:LISTED], f"… and so in {more} more column{'s' * (more != 1)}"]


def _length(hours: float) -> str:
    if hours < 1.0:
        return f"{60.0 * hours:.3g} min"
    return f"{hours:.3g} h" if hours < 24.0 else f"{hours / 24.0:.3g} day{'s' * (hours != 24.0)}"
