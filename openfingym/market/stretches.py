"""Which trades of a symbol have come: stretches in which none is missing, and the holes between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from openfingym.market.bars import Hole
from openfingym.market.order import order_of
from openfingym.market.ticks import SECOND, Trade

ALWAYS = -1 << 63
"""Beginning of a hole that has none."""
OPEN = 1 << 62
"""End of a hole that has none yet."""
STRETCHES = 64
"""How many stretches are kept at most; beyond that the oldest hole is given up."""
ANEW = 60 * SECOND
"""A trade that is newer than all others by this much, with an id that was used, shows that the venue counts anew."""


class TradeStretch:
    """Trades among which none is missing, known by the first and the last one.

    Args:
        trade: the first trade of the stretch.
    """

    __slots__ = ("first", "last")

    def __init__(self, trade: Trade) -> None:
        self.first = self.last = trade


class TradeStretches:
    """The stretches of one symbol's trades, oldest first.

    Where ids count up, they alone say what is missing, whatever order trades come in. Where the venue numbers trades
    within groups, a hole begins when the connection is lost, and ends with the first trade of a later time; trades
    filled in close it once they reach that trade.
    """

    __slots__ = ("changes", "floor", "gapped", "given_up", "holes", "stretches", "unsure")

    def __init__(self) -> None:
        self.stretches: list[TradeStretch] = []
        self.unsure = False
        """Whether trades after the last stretch may be missing."""
        self.given_up: list[Hole] = []
        """Holes that will not be filled any more."""
        self.holes: tuple[Hole, ...] = ()
        """Where trades are missing, in nanoseconds of the venue's time, ends included; the first hole is what was
        before the first trade. Replaced whenever it changes.
        """
        self.gapped = False
        """Whether there is a :attr:`gap`."""
        self.floor = OPEN
        """Time from which on trades may still be filled in, in nanoseconds of the venue's time."""
        self.changes = 0
        """How often these three may have changed: few trades change them, so that this is quicker to compare."""

    @property
    def gap(self) -> Trade | None:
        """The last trade before the oldest gap that may still be filled; None without one."""
        return self.stretches[0].last if len(self.stretches) > 1 or (self.stretches and self.unsure) else None

    def add(self, trade: Trade) -> bool:
        """Take note of a trade of the stream; return False for one whose id says that it has come before."""
        stretches = self.stretches
        if not stretches:
            stretches.append(TradeStretch(trade))
            self._changed()
        elif trade.group:
            self._grouped(trade)
        elif trade.id == stretches[-1].last.id + 1:
            stretches[-1].last = trade
            if self.unsure:
                self.unsure = False
                self._changed()
        else:
            return self._numbered(trade, sure=True)
        return True

    def lost(self) -> None:
        """Trades may be missing from now on."""
        if self.stretches and not self.unsure:
            self.unsure = True
            self._changed()

    def fill(self, trades: Sequence[Trade]) -> list[Trade]:
        """Take note of trades that the venue gave when asked for what followed :attr:`gap`, oldest first.

        Returns:
            The trades that are new, as far as ids tell.
        """
        if trades and trades[0].group:
            return self._fill_grouped(trades)
        new = [trade for trade in trades if self._numbered(trade, sure=False)]
        if not new and len(self.stretches) == 1:
            self.unsure = False  # the venue knows of no later trade: none is missing
        self._changed()
        return new

    def give_up(self) -> None:
        """Trades of the oldest gap cannot be had: it stays a hole, and is no gap any more."""
        if len(self.stretches) > 1:
            older, newer = self.stretches[:2]
            self._abandon(_hole(older.last, newer.first.time))
            newer.first = older.first
            del self.stretches[0]
        elif self.unsure:
            self._abandon(_hole(self.stretches[0].last, self.stretches[0].last.time))
            self.unsure = False
        self._changed()

    def _abandon(self, hole: Hole) -> None:
        self.given_up.append(hole)
        # Many are merged from the old end: what lies between two counts as missing too, which errs on the safe side.
        if len(self.given_up) > STRETCHES:
            first, second = sorted(self.given_up)[:2]
            self.given_up = [(first[0], max(first[1], second[1])), *sorted(self.given_up)[2:]]

    def _numbered(self, trade: Trade, *, sure: bool) -> bool:
        """Take note of a trade whose id counts up by one.

        Args:
            trade: the trade to take note of.
            sure: whether it came with the stream, so that the next ids will come with it too.

        Returns:
            Whether it is new.
        """
        stretches, number = self.stretches, trade.id
        if not stretches:
            stretches.append(TradeStretch(trade))
            return True
        # The venue has begun to count anew, as after a restart: old ids say nothing about what is missing now.
        if number <= stretches[-1].last.id and trade.time > stretches[-1].last.time + ANEW:
            self._abandon(_hole(stretches[-1].last, trade.time))
            stretches[:] = [TradeStretch(trade)]
            self._changed()
            return True
        place = bisect_right(stretches, number, key=_first_id)
        before = stretches[place - 1] if place else None
        after = stretches[place] if place < len(stretches) else None
        if before is not None and number <= before.last.id:
            return False
        # It lengthens the stretch before it (and may join it with the next one), or the next one, or is one by itself.
        if before is not None and number == before.last.id + 1:
            before.last = trade
            if after is not None and number + 1 == after.first.id:
                before.last = after.last
                del stretches[place]
        elif after is not None and number + 1 == after.first.id:
            after.first = trade
        else:
            stretches.insert(place, TradeStretch(trade))
        if sure and stretches[-1].last is trade:
            self.unsure = False  # the ids tell by themselves what is missing before it
        if len(stretches) > STRETCHES:
            self.give_up()
        self._changed()
        return True

    def _grouped(self, trade: Trade) -> None:
        """Take note of a streamed trade whose id says nothing about what is missing."""
        stretch = self.stretches[-1]
        if self.unsure:
            if trade.time > stretch.last.time:  # a late one says nothing about where the hole ends
                self.stretches.append(TradeStretch(trade))
                self.unsure = False
                if len(self.stretches) > STRETCHES:
                    self.give_up()
                self._changed()
        elif order_of(trade) > order_of(stretch.last):
            stretch.last = trade
        elif len(self.stretches) == 1 and order_of(trade) < order_of(stretch.first):
            stretch.first = trade
            self._changed()

    def _fill_grouped(self, trades: Sequence[Trade]) -> list[Trade]:
        """Take note of an answer's trades, whose ids say nothing about what is missing: all may be new."""
        stretch, reached = self.stretches[0] if self.stretches else TradeStretch(trades[0]), max(trades, key=order_of)
        self.stretches[:1] = [stretch]
        # The answer reaches the first trade after the hole, and so closes it; or it shortens the hole; or, at its open
        # end, it holds nothing newer, so that nothing is missing.
        if len(self.stretches) > 1 and order_of(reached) >= order_of(self.stretches[1].first):
            self.stretches[1].first = stretch.first
            del self.stretches[0]
        elif order_of(reached) > order_of(stretch.last):
            stretch.last = reached
        elif len(self.stretches) == 1:
            self.unsure = False
        self._changed()
        return list(trades)

    def _changed(self) -> None:
        """Bring :attr:`holes`, :attr:`gapped` and :attr:`floor` up to date."""
        stretches = self.stretches
        holes = [(ALWAYS, stretches[0].first.time)] if stretches else []
        holes += self.given_up
        holes += [_hole(earlier.last, later.first.time) for earlier, later in pairwise(stretches)]
        if self.unsure:
            holes.append(_hole(stretches[-1].last, OPEN))
        if tuple(holes) != self.holes:
            self.holes = tuple(holes)
        gap = self.gap
        self.gapped, self.floor = gap is not None, OPEN if gap is None else gap.time
        self.changes += 1

    def canonical(self) -> list[object]:
        """All that is known, as a JSON value."""
        return [
            self.unsure,
            [[*stretch.first, *stretch.last] for stretch in self.stretches],
            [list(hole) for hole in self.holes],
        ]


def _first_id(stretch: TradeStretch) -> int:
    return stretch.first.id


def _hole(before: Trade, until: int) -> Hole:
    # Ids and times need not agree on the order, and a hole has its earlier end first.
    return min(before.time, until), max(before.time, until)
