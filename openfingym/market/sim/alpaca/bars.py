"""The bars of a local Alpaca venue: of trades, and of middle prices where coins do not trade for a minute."""

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
    open: int | float
    high: int | float
    low: int | float
    close: int | float
    volume: int | float
    trades: int
    average: float
    """Price by volume; 0 without trades."""

    def row(self, stamp: Stamp) -> dict[str, Any]:
        """In JSON."""
        found = dict(zip("ohlc", self[1:5], strict=True))
        return {"t": stamp(self.begin), **found, "v": self.volume, "n": self.trades, "vw": self.average}


class Timeframe(NamedTuple):
    """The length of bars: so many minutes, or days of New York."""

    minutes: int
    days: int = 0

    @classmethod
    def of(cls, name: str) -> Timeframe:
        """By its name, such as ``5Min``.

        Raises:
            AlpacaRefusalError: there is no such one here.
        """
        found = _NAME.fullmatch(name)
        if found is not None:
            count, unit = int(found[1]), found[2][0]
            if unit == "D" and count == 1:
                return cls(0, 1)
            if count <= (23 if unit == "H" else 59) and unit != "D":
                return cls(count * 60 if unit == "H" else count)
        raise AlpacaRefusalError(
            400, 40010001, f"invalid timeframe: {name!r}; this local venue has 1Min to 59Min, 1Hour to 23Hour and 1Day"
        )

    def left(self, time: int) -> int:
        """The left edge of the bar that holds a time."""
        return midnight(day_of(time)) if self.days else time - time % (self.minutes * MINUTE)

    def right(self, left: int) -> int:
        """The left edge of the bar that follows."""
        return midnight(day_of(left) + timedelta(days=1)) if self.days else left + self.minutes * MINUTE


ONE_MINUTE, ONE_DAY = Timeframe(1), Timeframe(0, 1)


def bar_of(listing: ListedPair, trades: Sequence[ExchangeTrade], begin: int) -> AlpacaBar | None:
    """The bar of some trades; None where none of them sets a price."""
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
        trades: all its trades, oldest first.
        frame: their length.
        begin: the smallest left edge, in nanoseconds.
        end: the largest left edge, in nanoseconds.
        mids: bars of middle prices by left edge, for minutes without trades.
    """
    place = bisect_left(trades, begin, key=_TIME)
    if place and frame.left(trades[place - 1].time) >= begin:
        place = bisect_left(trades, frame.left(begin), key=_TIME)
    found: dict[int, AlpacaBar] = {}
    while place < len(trades):
        left = frame.left(trades[place].time)
        if left > end:
            break
        after = bisect_left(trades, frame.right(left), lo=place, key=_TIME)
        bar = bar_of(listing, trades[place:after], left) if left >= begin else None
        if bar is not None:
            found[left] = bar
        place = after
    if frame == ONE_MINUTE and is_crypto(listing.symbol):
        found = {left: bar for left, bar in mids.items() if begin <= left <= end} | found
    for left in sorted(found):
        yield found[left]
