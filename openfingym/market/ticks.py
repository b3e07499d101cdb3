"""What a venue says of its market, in one form for all venues.

Prices and sizes are floats in the quote and the base currency (or shares). ``time`` is in nanoseconds since the epoch,
UTC, by the clock of the venue; 0 where the venue states none. When something was received is not part of it: that is
said beside it, by the local monotonic clock.
"""

from __future__ import annotations

from typing import NamedTuple


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
    """What the venue numbers its trades within, such as an exchange and a day; empty where ids count up by one a
    symbol, so that a step of more is a gap."""
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
    """Of a whole book the best first; changes in any order."""
    asks: tuple[Level, ...]
    first: int
    """Number of the first update in it; of a whole book that of the last. 0 where the venue numbers none."""
    last: int
    time: int
    whole: bool


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
    """0 where the venue made the bar of quotes."""
    final: bool
    """Whether the interval is over; late trades may amend even a final bar."""


class Correction(NamedTuple):
    """A trade that did not happen, or not so."""

    symbol: str
    id: int
    group: str
    instead: Trade | None
    """None where the trade is cancelled."""


class Halt(NamedTuple):
    """Trading of a symbol stops or resumes."""

    symbol: str
    halted: bool
    reason: str
    time: int


class Subscribed(NamedTuple):
    """The venue confirms what is subscribed now."""

    channels: frozenset[str]
    """All of it, as ``channel:symbol``; a venue whose word proves nothing, such as Binance's, leaves it empty."""


class Refused(NamedTuple):
    """The venue refuses, and says why."""

    code: int
    reason: str
    fatal: bool
    """Whether trying again is useless, as after a wrong key."""


class ClosingSoon(NamedTuple):
    """The venue announces that it will close this connection."""

    time: int


Tick = Trade | Quote | Depth | ServerBar | Correction | Halt
"""What changes the state of a market."""
Message = Tick | Subscribed | Refused | ClosingSoon
"""What a frame may hold."""
