"""Which trades of a symbol have come: runs without a gap, and the holes between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from openfingym.market.bars import SECOND, Hole
from openfingym.market.order import order_of
from openfingym.market.ticks import Trade

ALWAYS = -1 << 63
"""Time of a hole that has no beginning."""
OPEN = 1 << 62
"""Time of a hole that has no end yet."""
RUNS = 64
"""Runs kept at most; the oldest hole is given up for another one."""
ANEW = 60 * SECOND
"""A trade that is so much newer than all others, with an id that was used, shows that the venue counts anew."""


class Run:
    """Trades among which none is missing."""

    __slots__ = ("first", "last")

    def __init__(self, trade: Trade) -> None:
        self.first = self.last = trade


class TradeRuns:
    """The runs of one symbol's trades, oldest first.

    Where ids count up, they alone say what is missing, whatever order trades come in. Where the venue numbers trades
    within groups, a hole begins when the connection is lost, and ends with the first trade of a later time; trades
    filled in close it once they reach that trade.
    """

    __slots__ = ("given_up", "holes", "runs", "unsure")

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.unsure = False
        """Whether trades after the last run may be missing."""
        self.given_up: list[Hole] = []
        """Holes that will not be filled any more."""
        self.holes: tuple[Hole, ...] = ()
        """Where trades are missing, in nanoseconds of the venue's time, ends included; the first hole is what was
        before the first trade. Replaced whenever it changes.
        """

    @property
    def gap(self) -> Trade | None:
        """The last trade before the oldest gap that may still be filled; None without one."""
        return self.runs[0].last if len(self.runs) > 1 or (self.runs and self.unsure) else None

    @property
    def floor(self) -> int:
        """From when on trades may still be filled in."""
        gap = self.gap
        return OPEN if gap is None else gap.time

    def add(self, trade: Trade) -> bool:
        """Take note of a trade of the stream; return False for one whose id says that it has come before."""
        runs = self.runs
        if not runs:
            runs.append(Run(trade))
            self._changed()
        elif trade.group:
            self._grouped(trade)
        elif trade.id == runs[-1].last.id + 1:
            runs[-1].last = trade
            if self.unsure:
                self.unsure = False
                self._changed()
        else:
            return self._numbered(trade, sure=True)
        return True

    def lost(self) -> None:
        """Trades may be missing from now on."""
        if self.runs and not self.unsure:
            self.unsure = True
            self._changed()

    def fill(self, trades: Sequence[Trade]) -> list[Trade]:
        """Take note of trades that the venue gave when asked for what followed :attr:`gap`, oldest first.

        Returns:
            Those that are new, as far as ids tell.
        """
        if trades and trades[0].group:
            return self._fill_grouped(trades)
        new = [trade for trade in trades if self._numbered(trade, sure=False)]
        if not new and len(self.runs) == 1:
            self.unsure = False  # nothing has followed
        self._changed()
        return new

    def give_up(self) -> None:
        """Trades of the oldest gap cannot be had: it stays a hole, and is no gap any more."""
        if len(self.runs) > 1:
            older, newer = self.runs[:2]
            self._abandon(_hole(older.last, newer.first.time))
            newer.first = older.first
            del self.runs[0]
        elif self.unsure:
            self._abandon(_hole(self.runs[0].last, self.runs[0].last.time))
            self.unsure = False
        self._changed()

    def _abandon(self, hole: Hole) -> None:
        self.given_up.append(hole)
        if len(self.given_up) > RUNS:  # what lies between the oldest two counts as missing from now on
            first, second = sorted(self.given_up)[:2]
            self.given_up = [(first[0], max(first[1], second[1])), *sorted(self.given_up)[2:]]

    def _numbered(self, trade: Trade, *, sure: bool) -> bool:
        runs, number = self.runs, trade.id
        if not runs:
            runs.append(Run(trade))
            return True
        if number <= runs[-1].last.id and trade.time > runs[-1].last.time + ANEW:
            self._abandon(_hole(runs[-1].last, trade.time))
            runs[:] = [Run(trade)]
            self._changed()
            return True
        place = bisect_right(runs, number, key=_first_id)
        before = runs[place - 1] if place else None
        after = runs[place] if place < len(runs) else None
        if before is not None and number <= before.last.id:
            return False
        if before is not None and number == before.last.id + 1:
            before.last = trade
            if after is not None and number + 1 == after.first.id:
                before.last = after.last
                del runs[place]
        elif after is not None and number + 1 == after.first.id:
            after.first = trade
        else:
            runs.insert(place, Run(trade))
        if sure and runs[-1].last is trade:
            self.unsure = False  # the ids tell by themselves what is missing before it
        if len(runs) > RUNS:
            self.give_up()
        self._changed()
        return True

    def _grouped(self, trade: Trade) -> None:
        run = self.runs[-1]
        if self.unsure:
            if trade.time > run.last.time:  # a late one says nothing about where the hole ends
                self.runs.append(Run(trade))
                self.unsure = False
                if len(self.runs) > RUNS:
                    self.give_up()
                self._changed()
        elif order_of(trade) > order_of(run.last):
            run.last = trade
        elif len(self.runs) == 1 and order_of(trade) < order_of(run.first):
            run.first = trade
            self._changed()

    def _fill_grouped(self, trades: Sequence[Trade]) -> list[Trade]:
        run, reached = self.runs[0] if self.runs else Run(trades[0]), max(trades, key=order_of)
        self.runs[:1] = [run]
        if len(self.runs) > 1 and order_of(reached) >= order_of(self.runs[1].first):
            self.runs[1].first = run.first
            del self.runs[0]
        elif order_of(reached) > order_of(run.last):
            run.last = reached
        elif len(self.runs) == 1:
            self.unsure = False
        self._changed()
        return list(trades)

    def _changed(self) -> None:
        runs = self.runs
        holes = [(ALWAYS, runs[0].first.time)] if runs else []
        holes += self.given_up
        holes += [_hole(one.last, other.first.time) for one, other in pairwise(runs)]
        if self.unsure:
            holes.append(_hole(runs[-1].last, OPEN))
        if tuple(holes) != self.holes:
            self.holes = tuple(holes)

    def canonical(self) -> list[object]:
        """All of it, as a JSON value."""
        return [self.unsure, [[*run.first, *run.last] for run in self.runs], [list(hole) for hole in self.holes]]


def _first_id(run: Run) -> int:
    return run.first.id


def _hole(before: Trade, until: int) -> Hole:
    return min(before.time, until), max(before.time, until)
