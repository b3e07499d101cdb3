"""Trades, quotes, books and other messages of a venue, in one form for all venues.

Prices are floats in the quote currency, sizes in the base currency or in shares. ``time`` is in nanoseconds since the
epoch, UTC, by the clock of the venue; 0 where the venue states none. When a message was received is not part of it:
that is passed beside it, by the local monotonic clock.
"""

from __future__ import annotations

from typing import NamedTuple

SECOND = 1_000_000_000
"""Nanoseconds in a second."""


class Trade(NamedTuple):
    """A trade, or several fills of one incoming order that the venue reports as one."""

    symbol: str
    id: int
    """Unique among the trades of its symbol and ``group``."""
    price: float
    size: float
    time: int
    taker: int
    """1 where the incoming order bought, -1 where it sold, 0 where it is not known."""
    group: str = ""
    """The group within which the venue numbers its trades, such as an exchange and a day; empty where the ids of a
    symbol count up by one, so that a step of more is a gap."""
    prices: bool = True
    """Whether it changes open, high, low and close of a bar; an odd lot changes its volume alone."""


LATEST = "latest"
"""The :attr:`Trade.group` of a last price that was asked for: a price without id and size, which is in no bar."""


class Quote(NamedTuple):
    """The best bid and offer."""

    symbol: str
    bid: float
    bid_size: float
    ask: float
    ask_size: float
    time: int
    sequence: int = 0
    """Number of the book's update, comparable with :attr:`Depth.last`; 0 where the venue has none."""


Level = tuple[float, float]
"""(price, size); as a change, a size of 0 removes the level."""


class Depth(NamedTuple):
    """A whole book, or changes of one."""

    symbol: str
    bids: tuple[Level, ...]
    """Levels of the bids: of a whole book the best first, as changes in any order."""
    asks: tuple[Level, ...]
    """Levels of the asks, in the same way."""
    first: int
    """Number of the first update in it; of a whole book that of the last one. 0 where the venue numbers none."""
    last: int
    """Number of the last update in it; 0 where the venue numbers none."""
    time: int
    whole: bool
    """Whether it is a whole book, and not changes of one."""
    most: int = 0
    """How many levels of each side the venue put into a whole book at most: beyond a side of so many there may be more,
    of which nothing is known. 0 where it put in all."""


class ServerBar(NamedTuple):
    """A bar that the venue has made."""

    symbol: str
    begin: int
    """Left edge, in nanoseconds since the epoch."""
    interval: int
    """Length in nanoseconds."""
    open: float
    high: float
    low: float
    close: float
    volume: float
    trades: int
    """How many trades are in it; 0 where the venue made the bar of quotes."""
    final: bool
    """Whether the interval is over; late trades may amend even a final bar."""


class Correction(NamedTuple):
    """The venue takes back a trade, or corrects it."""

    symbol: str
    id: int
    """:attr:`Trade.id` of the trade."""
    group: str
    """:attr:`Trade.group` of the trade."""
    instead: Trade | None
    """The trade as it is corrected; None where it is cancelled."""


class Halt(NamedTuple):
    """Trading of a symbol stops or resumes."""

    symbol: str
    halted: bool
    """True where trading stops, False where it resumes."""
    reason: str
    """Why, in the venue's words."""
    time: int


class Subscribed(NamedTuple):
    """The venue confirms what is subscribed now."""

    channels: frozenset[str]
    """All that is subscribed, as ``channel:symbol``; empty where a venue's confirmation does not say it, as Binance's.
    """


class Refused(NamedTuple):
    """The venue refuses a connection or a subscription, and says why."""

    code: int
    """The venue's code of the error."""
    reason: str
    """Why, in the venue's words."""
    fatal: bool
    """Whether trying again is useless, as after a wrong key."""


class ClosingSoon(NamedTuple):
    """The venue announces that it will close this connection."""

    time: int


Tick = Trade | Quote | Depth | ServerBar | Correction | Halt
"""What changes the state of a market."""
Message = Tick | Subscribed | Refused | ClosingSoon
"""What a frame of a venue may hold."""
