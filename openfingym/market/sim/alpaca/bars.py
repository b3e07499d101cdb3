"""The bars of a local Alpaca venue: of trades, and of mid prices where a coin does not trade for a minute."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Any, NamedTuple

from openfingym.market.sim.alpaca.hours import day_of, midnight
from openfingym.market.sim.alpaca.wire import (
    MINUTE,
    AlpacaRefusalError,
    Stamp,
    is_crypto,
    number,
    price,
    price_atoms,
    sets_price,
)
from openfingym.market.sim.events import ATOMS, ExchangeTrade, ListedPair

_TIME = attrgetter("time")
_NAME = re.compile(r"([1-9]\d?)(Min|T|Hour|H|Day|D)")


class AlpacaBar(NamedTuple):
    """A bar as the venue states it."""

    begin: int
    """Left edge, in nanoseconds since the epoch."""
    open: int | float
    high: int | float
    low: int | float
    close: int | float
    volume: int | float
    trades: int
    average: float
    """Average price, weighted by volume; 0 without trades."""

    def row(self, stamp: Stamp) -> dict[str, Any]:
        """The bar in JSON.

        Args:
            stamp: writes a time as the connection wants it.
        """
        prices = dict(zip("ohlc", self[1:5], strict=True))
        return {"t": stamp(self.begin), **prices, "v": self.volume, "n": self.trades, "vw": self.average}


class Timeframe(NamedTuple):
    """The length of bars: so many minutes, or a day of New York."""

    minutes: int
    """Minutes of a bar; 0 where it is a day."""
    days: int = 0
    """Days of a bar; 0 where it is minutes."""

    @classmethod
    def of(cls, name: str) -> Timeframe:
        """The time frame of a name such as ``5Min``.

        Raises:
            AlpacaRefusalError: there is no such time frame here.
        """
        match = _NAME.fullmatch(name)
        if match is not None:
            count, unit = int(match[1]), match[2][0]
            if unit == "D" and count == 1:
                return cls(0, 1)
            if count <= (23 if unit == "H" else 59) and unit != "D":
                return cls(count * 60 if unit == "H" else count)
        raise AlpacaRefusalError(
            400, 40010001, f"invalid timeframe: {name!r}; this local venue has 1Min to 59Min, 1Hour to 23Hour and 1Day"
        )

    def left(self, time: int) -> int:
        """The left edge of the bar that holds a time; in New York, a day may have 23 or 25 hours."""
        return midnight(day_of(time)) if self.days else time - time % (self.minutes * MINUTE)

    def right(self, left: int) -> int:
        """The left edge of the bar that follows."""
        return midnight(day_of(left) + timedelta(days=1)) if self.days else left + self.minutes * MINUTE


ONE_MINUTE, ONE_DAY = Timeframe(1), Timeframe(0, 1)


def bar_of(listing: ListedPair, trades: Sequence[ExchangeTrade], begin: int) -> AlpacaBar | None:
    """The bar of some trades; None where none of them sets a price.

    Args:
        listing: the terms of the symbol.
        trades: the trades of the bar, oldest first.
        begin: left edge of the bar, in nanoseconds since the epoch.
    """
    prices = [trade.price for trade in trades if sets_price(listing, trade)]
    if not prices:
        return None
    lots = sum(trade.quantity for trade in trades)
    cost = sum(trade.price * trade.quantity for trade in trades)
    first, high, low, last = (price(listing, ticks) for ticks in (prices[0], max(prices), min(prices), prices[-1]))
    average = round(price_atoms(listing, cost) / lots / ATOMS, 6)
    return AlpacaBar(begin, first, high, low, last, number(lots * listing.unit), len(trades), average)


def bars(
    listing: ListedPair,
    trades: Sequence[ExchangeTrade],
    frame: Timeframe,
    begin: int,
    end: int,
    mids: dict[int, AlpacaBar],
) -> Iterator[AlpacaBar]:
    """The bars whose left edge is in [begin, end], oldest first.

    Args:
        listing: the terms of the symbol.
        trades: all trades of the symbol, oldest first.
        frame: the length of the bars.
        begin: the smallest left edge, in nanoseconds since the epoch.
        end: the largest left edge, in nanoseconds since the epoch.
        mids: bars of mid prices by left edge, for minutes in which coins do not trade.
    """
    # The first trades from there on may be of a bar that begins earlier, which is left out below.
    place = bisect_left(trades, begin, key=_TIME)
    by_edge: dict[int, AlpacaBar] = {}
    while place < len(trades):
        left = frame.left(trades[place].time)
        if left > end:
            break
        after = bisect_left(trades, frame.right(left), lo=place, key=_TIME)
        bar = bar_of(listing, trades[place:after], left) if left >= begin else None
        if bar is not None:
            by_edge[left] = bar
        place = after
    if frame == ONE_MINUTE and is_crypto(listing.symbol):
        by_edge = {left: bar for left, bar in mids.items() if begin <= left <= end} | by_edge
    for left in sorted(by_edge):
        yield by_edge[left]
