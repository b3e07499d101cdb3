"""What a bar is added up in: cells that give the same result in whatever order trades come."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from openfingym.market.order import Key, Order
from openfingym.market.ticks import Trade


class TradeBar(NamedTuple):
    """Trades of one interval. Prices are NaN where no trade of it carries one: none is invented."""

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
"""Numbers of which the sum of a cell's sizes is kept, before they are made fewer."""
_new: Callable[[type[TradeBar], tuple[object, ...]], TradeBar] = tuple.__new__


class BarCell:
    """What is known of the trades of one interval."""

    __slots__ = ("close", "first", "high", "keys", "last", "low", "missed", "open", "parts", "settled", "trades")

    def __init__(self) -> None:
        self.first: Order | None = None
        """Of the trade that opens; None while no trade carries a price."""
        self.last: Order | None = None
        self.open = self.high = self.low = self.close = math.nan
        self.parts: list[float] = []
        """Numbers whose exact sum is the volume, as the rounding of that depends on no order."""
        self.trades = 0
        self.missed = 0
        """Trades that came too late to be taken in."""
        self.keys: list[Key] = []
        """Of the trades in it, in a cell of the shortest interval that may still be amended."""
        self.settled: BarCell | None = None
        """The part that cannot be amended any more, in a cell of a longer interval."""

    def add(self, trade: Trade, order: Order) -> None:
        """Add a trade."""
        self.trades += 1
        parts = self.parts
        parts.append(trade.size)
        if len(parts) > MOST_PARTS:
            self.parts = fewer(parts)
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
        self.parts = fewer(self.parts + other.parts)
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
        """As readers see it."""
        volume, whole = math.fsum(self.parts), complete and not self.missed
        # With all its fields, tuple.__new__ takes half the time of TradeBar(...).
        return _new(TradeBar, (begin, interval, self.open, self.high, self.low, self.close, volume, self.trades, whole))


def fewer(parts: list[float]) -> list[float]:
    """Two or three numbers, mostly, with the same exact sum: it rounded, what this lacks rounded, and so on."""
    parts, kept = parts.copy(), list[float]()
    while total := math.fsum(parts):
        kept.append(total)
        parts.append(-total)
    return kept
