"""Cells in which the trades of a bar are added up, with the same result whatever the order of the trades."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from openfingym.market.order import TradeKey, TradePlace
from openfingym.market.ticks import Trade


class TradeBar(NamedTuple):
    """A bar of the trades of one interval. Its prices are NaN where no trade carries one: none is invented."""

    begin: int
    """Left edge, in nanoseconds since the epoch, UTC."""
    interval: int
    """Length in nanoseconds."""
    open: float
    high: float
    low: float
    close: float
    volume: float
    trades: int
    """Number of trades, also of those that carry no price; 0 says that the bar is empty."""
    complete: bool
    """False where trades of the interval are known to be missing."""


MOST_PARTS = 16
"""Numbers that a cell keeps for the sum of its sizes, before they are condensed: every snapshot sums them again."""
_new: Callable[[type[TradeBar], tuple[object, ...]], TradeBar] = tuple.__new__


class BarCell:
    """What is known of the trades of one interval."""

    __slots__ = ("close", "first", "high", "keys", "last", "low", "missed", "open", "parts", "settled", "trades")

    def __init__(self) -> None:
        self.first: TradePlace | None = None
        """Place of the trade that opens the bar; None while no trade carries a price."""
        self.last: TradePlace | None = None
        """Place of the trade that closes it; None while no trade carries a price."""
        self.open = self.high = self.low = self.close = math.nan
        self.parts: list[float] = []
        """Numbers whose exact sum is the volume: rounded once at the end, it is the same in any order of the trades."""
        self.trades = 0
        self.missed = 0
        """Trades that came too late to be taken in."""
        self.keys: list[TradeKey] = []
        """Keys of the trades in it; of a cell of the shortest interval that may still be amended alone."""
        self.settled: BarCell | None = None
        """The part that cannot be amended any more; of a cell of a longer interval alone."""

    def add(self, trade: Trade, order: TradePlace) -> None:
        """Add a trade."""
        self.trades += 1
        parts = self.parts
        parts.append(trade.size)
        if len(parts) > MOST_PARTS:
            self.parts = exact_parts(parts)
        if trade.prices:
            price, last, first = trade.price, self.last, self.first
            if not self.high >= price:  # also where it is NaN
                self.high = price
            if not self.low <= price:
                self.low = price
            if last is None or order > last:
                self.last, self.close = order, price
            if first is None or order < first:
                self.first, self.open = order, price

    def merge(self, other: BarCell) -> None:
        """Add all that another cell holds."""
        self.trades += other.trades
        self.missed += other.missed
        self.parts = exact_parts(self.parts + other.parts)
        if other.first is not None and other.last is not None:
            if not self.high >= other.high:
                self.high = other.high
            if not self.low <= other.low:
                self.low = other.low
            if self.last is None or other.last > self.last:
                self.last, self.close = other.last, other.close
            if self.first is None or other.first < self.first:
                self.first, self.open = other.first, other.open

    def bar(self, begin: int, interval: int, *, complete: bool) -> TradeBar:
        """The bar as readers see it.

        Args:
            begin: left edge of the bar, in nanoseconds since the epoch.
            interval: length of the bar in nanoseconds.
            complete: whether no hole in the trades touches the bar.
        """
        volume, whole = math.fsum(self.parts), complete and not self.missed
        # With all its fields, tuple.__new__ takes half the time of TradeBar(...).
        return _new(TradeBar, (begin, interval, self.open, self.high, self.low, self.close, volume, self.trades, whole))


def exact_parts(parts: list[float]) -> list[float]:
    """Fewer numbers, mostly two or three, with the same exact sum: the sum rounded, its error rounded, and so on."""
    rest, condensed = parts.copy(), list[float]()
    # fsum() rounds the exact sum correctly, so that it gives 0 only when nothing is left.
    while total := math.fsum(rest):
        condensed.append(total)
        rest.append(-total)
    return condensed
