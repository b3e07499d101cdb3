"""Which trades of a symbol have come, so that none counts twice and none is missed unnoticed."""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum

from openfingym.market.ticks import Trade

REMEMBERED = 16_384
"""Trades of a symbol by which a repeated one is known where ids do not count up."""
RENUMBERED_NS = 60 * 1_000_000_000
"""A trade with a number that is over, and so much newer than the newest, shows that the venue began to count anew."""


class Coming(Enum):
    """What a trade is to those before."""

    NEW = "new"
    SEEN = "seen"
    AHEAD = "ahead"
    """New, and some before it are missing."""
    ANEW = "anew"
    """New, and the venue counts from another number on."""


class TradeIds:
    """The ids of a symbol's trades. Of ids that count up it keeps the holes; of others the last ones."""

    __slots__ = ("_recent", "first", "holes", "last", "newest")

    def __init__(self) -> None:
        self.first = 0
        """The lowest id; 0 as long as there is none, or where ids do not count up."""
        self.last = 0
        """The highest."""
        self.holes: list[tuple[int, int]] = []
        """Ids that are missing, as sorted (first, last)."""
        self.newest = 0
        """The highest time of a trade."""
        self._recent: dict[tuple[str, int], None] = {}

    def take(self, trade: Trade) -> Coming:
        """What a trade is to those before; it counts as having come from now on."""
        coming = self._numbered(trade) if not trade.group else self._grouped(trade.group, trade.id)
        if trade.time > self.newest and coming is not Coming.SEEN:
            self.newest = trade.time
        return coming

    def _numbered(self, trade: Trade) -> Coming:
        number, last = trade.id, self.last
        if number == last + 1 or not last:
            self.last = number
            self.first = self.first or number
            return Coming.NEW
        if number > last:
            self.holes.append((last + 1, number - 1))
            self.last = number
            return Coming.AHEAD
        place = bisect_right(self.holes, (number, 2**63)) - 1
        if place >= 0:
            begin, end = self.holes[place]
            if number <= end:
                self.holes[place : place + 1] = [
                    hole for hole in ((begin, number - 1), (number + 1, end)) if hole[0] <= hole[1]
                ]
                return Coming.NEW
        if trade.time > self.newest + RENUMBERED_NS:
            self.first = self.last = number
            self.holes.clear()
            return Coming.ANEW
        return Coming.SEEN

    def _grouped(self, group: str, number: int) -> Coming:
        key, recent = (group, number), self._recent
        if key in recent:
            return Coming.SEEN
        recent[key] = None
        if len(recent) > REMEMBERED:
            del recent[next(iter(recent))]
        return Coming.NEW
