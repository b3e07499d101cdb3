"""Bars of several intervals, made of trades that may come in any order."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

from openfingym.errors import UsageError
from openfingym.market.cells import BarCell, TradeBar
from openfingym.market.order import TradeKey, key_of, order_of
from openfingym.market.ticks import SECOND, Correction, Trade

DAY = 86_400 * SECOND
MOST_TRADES = 200_000
"""Trades that a builder keeps at most in order to amend bars, whatever its horizon: it bounds the memory."""
MOST_CORRECTIONS = 10_000
"""Corrections that a builder remembers at most, as a correction may come before its trade."""
Hole = tuple[int, int]
"""Times of the last trade before some that are missing, and of the first one after them, in nanoseconds."""


class IntervalCells:
    """The cells of one interval, by their left edge."""

    __slots__ = ("begins", "cells", "interval")

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self.cells: dict[int, BarCell] = {}
        self.begins: list[int] = []  # sorted

    def new(self, begin: int) -> BarCell:
        """Begin a cell."""
        cell = self.cells[begin] = BarCell()
        insort(self.begins, begin)
        return cell

    def drop(self, begin: int) -> None:
        """Forget a cell."""
        del self.cells[begin]
        del self.begins[bisect_left(self.begins, begin)]


class BarBuilder:
    """Trades of one symbol to bars of several intervals.

    The same trades give the same bars in any order, repeated or not, and a trade may be corrected or cancelled, also
    before it comes. So that memory is bounded, this holds for trades that are at most ``horizon`` older than the newest
    one. Nothing is known of an older trade but that it is missing, and its bars say that they are incomplete.

    Args:
        intervals: lengths of the bars in nanoseconds: whole seconds, up to a day.
        offset: nanoseconds after midnight UTC to which the left edges of bars are aligned.
        horizon: how long trades are kept in order to amend bars, in nanoseconds of the venue's time.
        keep: how many bars of each interval are kept at least.

    Raises:
        UsageError: the intervals cannot be made.
    """

    def __init__(
        self,
        intervals: Sequence[int] = (60 * SECOND,),
        *,
        offset: int = 0,
        horizon: int = 600 * SECOND,
        keep: int = 500,
    ) -> None:
        if not intervals or any(not SECOND <= interval <= DAY or interval % SECOND for interval in intervals):
            raise UsageError(
                f"bars of {[interval / SECOND for interval in intervals]} s cannot be made: expected lengths of whole "
                "seconds, from 1 to 86400, in nanoseconds"
            )
        self.intervals = tuple(dict.fromkeys(intervals))
        """Lengths of the bars in nanoseconds, in the order given; the first is the main one."""
        self.newest = 0
        """Time of the newest trade, in nanoseconds since the epoch; 0 before any."""
        self.unmatched = 0
        """How many corrections were of trades that were not there: too old to amend, or not come yet."""
        self.holes: tuple[Hole, ...] = ()
        """Where trades are missing, as :meth:`watch` last said."""
        self._offset = offset
        self._horizon = horizon
        self._keep = keep
        # Single trades are kept by the cells of one base interval, at most a minute, that divides all others: a longer
        # cell is a union of base cells, and can be rebuilt from them when a trade is taken out.
        common = math.gcd(*intervals) // SECOND
        shortest = SECOND * max(length for length in range(1, 61) if common % length == 0)
        self._series = {interval: IntervalCells(interval) for interval in sorted({shortest, *intervals})}
        self._base, *self._longer = self._series.values()
        self._all = tuple(self._series.values())
        self._main = self._series[self.intervals[0]]
        # As plain tuples: Python's collector of cycles sees that these hold none, and looks at them no more.
        self._trades: dict[TradeKey, tuple[Any, ...]] = {}
        self._corrected: dict[TradeKey, Trade | None] = {}  # what is under the key instead; None where it is cancelled
        self._open: list[int] = []  # left edges of the base cells that may still be amended; sorted
        # Nanoseconds that no time of a venue reaches stand for "never".
        self._settled = -1 << 63  # trades before this time cannot be taken in
        self._floor = 1 << 63  # from this time on nothing settles, as trades may still be filled in

    def watch(self, holes: tuple[Hole, ...], floor: int = 1 << 63) -> None:
        """Say where trades are missing, and from which time on they may still be filled in, however late.

        Args:
            holes: where trades are missing; the bars that a hole touches are incomplete.
            floor: time in nanoseconds from which on bars stay open to be amended, even beyond the horizon.
        """
        self.holes = holes
        self._floor = floor

    def add(self, trade: Trade) -> bool:
        """Take in a trade; return whether bars have changed: not by one that came before, is cancelled or too old."""
        key = group, number = trade.group, trade.id
        if key in self._trades:
            return False
        if self._corrected:
            standing = self.standing(trade)
            if standing is None:
                return False
            trade = standing
        time = trade.time
        if time < self._settled:
            self._mark_missed(time)
            return False
        self._trades[key] = trade[:]
        order, offset = (time, group, number), self._offset
        if time > self.newest:  # noqa: PLR1730  # max() is a call more for each trade
            self.newest = time
        for series in self._all:
            begin = time - (time - offset) % series.interval  # as _left_edge() has it, without the cost of a call
            cell = series.cells.get(begin)
            if cell is None:
                cell = self._begin(series, begin)
            cell.add(trade, order)
            if series is self._base:
                cell.keys.append(key)
        return True

    def standing(self, trade: Trade) -> Trade | None:
        """What stands for a trade after corrections: itself, another one, or None if it is cancelled."""
        return self._corrected.get(key_of(trade), trade) if self._corrected else trade

    def correct(self, correction: Correction) -> bool:
        """Cancel a trade, or put another in its place; return whether that changed a bar."""
        key, instead = (correction.group, correction.id), correction.instead
        # A replacement under an id of its own is a trade like any other; of the old key it leaves nothing.
        successor = instead if instead is not None and key_of(instead) == key else None
        if key in self._corrected and self._corrected[key] == successor:
            return False
        self._corrected[key] = successor
        if len(self._corrected) > MOST_CORRECTIONS:
            del self._corrected[next(iter(self._corrected))]  # the oldest: a dict keeps the order of insertion
        there = key in self._trades
        if there:
            self._remove(key)
        else:
            self.unmatched += 1
        return (instead is not None and self.add(instead)) or there

    def last_trade(self) -> Trade | None:
        """The newest trade that carries a price, of those that can be amended."""
        for begin in reversed(self._open):
            trades = [self._trade_of(key) for key in self._base.cells[begin].keys]
            if priced := [trade for trade in trades if trade.prices]:
                return max(priced, key=order_of)
        return None

    def current(self, interval: int | None = None) -> TradeBar | None:
        """The bar of the newest trade; None before any trade."""
        series = self._main if interval is None else self._series_of(interval)
        return self._bar(series, series.begins[-1]) if series.begins else None

    def bars(self, interval: int, begin: int, end: int) -> list[TradeBar]:
        """Every bar whose left edge is in [begin, end), also empty ones; oldest first."""
        series = self._series_of(interval)
        first = begin + (self._offset - begin) % interval
        return [self._bar(series, left) for left in range(first, end, interval)]

    def _series_of(self, interval: int) -> IntervalCells:
        if interval not in self.intervals:
            known = ", ".join(str(length) for length in self.intervals)
            raise UsageError(f"no bars of {interval} ns are made; expected one of {known}")
        return self._series[interval]

    def _bar(self, series: IntervalCells, begin: int) -> TradeBar:
        end, complete = begin + series.interval, True
        for first, last in self.holes:
            if last >= begin and first < end:
                complete = False
        cell = series.cells.get(begin)
        if cell is None:
            return TradeBar(begin, series.interval, math.nan, math.nan, math.nan, math.nan, 0.0, 0, complete)
        return cell.bar(begin, series.interval, complete=complete)

    def _begin(self, series: IntervalCells, begin: int) -> BarCell:
        """Begin a cell; let those settle that are too old to be amended, and drop the oldest settled ones."""
        if series is self._base:
            # A gap keeps everything after it open, however old: its trades are on their way.
            limit = min(self.newest - self._horizon, self._floor)
            while self._open and (self._open[0] + series.interval <= limit or len(self._trades) > MOST_TRADES):
                self._settle(self._open.pop(0))
            insort(self._open, begin)
        cell = series.new(begin)
        # Never one that is open: longer cells are rebuilt from the base cells, which have to be there for it.
        while len(series.begins) > self._keep and series.begins[0] + series.interval <= self._settled:
            series.drop(series.begins[0])
        return cell

    def _settle(self, begin: int) -> None:
        """Forget the trades of a base cell, which is never amended again."""
        cell = self._base.cells[begin]
        # Longer cells may be rebuilt after this one is dropped: they keep the sum of their settled parts themselves.
        for series in self._longer:
            longer = series.cells[self._left_edge(series, begin)]
            longer.settled = longer.settled or BarCell()
            longer.settled.merge(cell)
        for key in cell.keys:
            del self._trades[key]
        cell.keys = []
        self._settled = max(self._settled, begin + self._base.interval)

    def _left_edge(self, series: IntervalCells, time: int) -> int:
        return time - (time - self._offset) % series.interval

    def _trade_of(self, key: TradeKey) -> Trade:
        return Trade._make(self._trades[key])

    def _mark_missed(self, time: int) -> None:
        """Note a trade that cannot be taken in, so that its bars say that they are incomplete."""
        for series in self._all:
            begin = self._left_edge(series, time)
            cell = series.cells.get(begin)
            if cell is None:
                # Bars that old have been dropped: one that a single late trade brings back would be of no use.
                if begin < self.newest - self._keep * series.interval:
                    continue
                cell = series.new(begin)
            cell.missed += 1
            if series is not self._base:  # in the settled part as well, which outlives a rebuild of the cell
                cell.settled = cell.settled or BarCell()
                cell.settled.missed += 1

    def _remove(self, key: TradeKey) -> None:
        """Take a trade out again. Nothing can be subtracted from a high or a low, so its cells are rebuilt."""
        time = self._trade_of(key).time
        del self._trades[key]
        begin = self._left_edge(self._base, time)
        keys = [other for other in self._base.cells[begin].keys if other != key]
        self._base.drop(begin)
        self._open.remove(begin)
        if keys:
            cell = self._base.new(begin)
            insort(self._open, begin)
            cell.keys = keys
            for trade in map(self._trade_of, keys):
                cell.add(trade, order_of(trade))
        for series in self._longer:
            self._rebuild(series, self._left_edge(series, time))

    def _rebuild(self, series: IntervalCells, begin: int) -> None:
        """Rebuild a longer cell from its settled part and the base cells that are still open."""
        settled = series.cells[begin].settled
        series.drop(begin)
        shorter = self._open[bisect_left(self._open, begin) : bisect_left(self._open, begin + series.interval)]
        if shorter or settled is not None:
            cell = series.new(begin)
            cell.settled = settled
            for part in ([settled] if settled is not None else []) + [self._base.cells[edge] for edge in shorter]:
                cell.merge(part)

    def canonical(self) -> list[object]:
        """All bars and what can amend them, as a JSON value that is the same for every order of the trades."""
        return [
            self.newest,
            [list(hole) for hole in self.holes],
            [
                [
                    interval,
                    [
                        [None if math.isnan(value) else value for value in self._bar(series, begin)]
                        for begin in series.begins
                    ],
                ]
                for interval, series in self._series.items()
            ],
            sorted([*trade] for trade in self._trades.values()),
            sorted([*key] for key in self._corrected),
        ]
