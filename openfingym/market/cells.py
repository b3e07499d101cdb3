"""What a bar is added up in: cells that give the same result in whatever order trades come."""

from __future__ import annotations

import math
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


class BarCell:
    """What is known of the trades of one interval."""

    __slots__ = ("close", "first", "high", "keys", "last", "low", "missed", "open", "parts", "settled", "trades")

    def __init__(self) -> None:
        self.first: Order | None = None
        """Of the trade that opens; None while no trade carries a price."""
        self.last: Order | None = None
        self.open = self.high = self.low = self.close = math.nan
        self.parts: list[float] = []
        """Numbers whose exact sum is the volume: rounding depends on no order."""
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
        add_exactly(self.parts, trade.size)
        if trade.prices:
            self._range(trade.price, trade.price)
            if self.last is None or order > self.last:
                self.last, self.close = order, trade.price
            if self.first is None or order < self.first:
                self.first, self.open = order, trade.price

    def merge(self, other: BarCell) -> None:
        """Add all that another cell holds."""
        self.trades += other.trades
        self.missed += other.missed
        for part in other.parts:
            add_exactly(self.parts, part)
        if other.first is not None and other.last is not None:
            self._range(other.low, other.high)
            if self.last is None or other.last > self.last:
                self.last, self.close = other.last, other.close
            if self.first is None or other.first < self.first:
                self.first, self.open = other.first, other.open

    def _range(self, low: float, high: float) -> None:
        if not self.high >= high:  # also where it is NaN
            self.high = high
        if not self.low <= low:
            self.low = low

    def bar(self, begin: int, interval: int, *, complete: bool) -> TradeBar:
        """As readers see it."""
        return TradeBar(
            begin,
            interval,
            self.open,
            self.high,
            self.low,
            self.close,
            math.fsum(self.parts),
            self.trades,
            complete and not self.missed,
        )


def add_exactly(parts: list[float], value: float) -> None:
    """Add a number to others that do not overlap in their bits, so that their sum stays exact (Shewchuk 1997)."""
    kept = 0
    for part in parts:
        big, small = (value, part) if abs(value) >= abs(part) else (part, value)
        value = big + small
        rest = small - (value - big)
        if rest:
            parts[kept] = rest
            kept += 1
    parts[kept:] = [value]
