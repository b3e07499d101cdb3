"""Messages of Binance's combined stream, and the protocol of one connection.

The one-letter names of fields are the venue's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from openfingym.errors import FeedError
from openfingym.market.feed import FeedSession, Frame
from openfingym.market.feeds.reading import MICROSECONDS_FROM, MILLISECOND, nanoseconds, unreadable
from openfingym.market.ticks import (
    SECOND,
    ClosingSoon,
    Depth,
    Level,
    Message,
    Quote,
    Refused,
    ServerBar,
    Subscribed,
    Trade,
)

_AT_ONCE = 100
"""How many streams one control message subscribes at most."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_NAMES = "1s 1m 3m 5m 15m 30m 1h 2h 4h 6h 8h 12h 1d 3d 1w"
INTERVALS = {int(name[:-1]) * _UNITS[name[-1]] * SECOND: name for name in _NAMES.split()}
"""The venue's names of bars, by their lengths in nanoseconds."""
_LENGTHS = {name: length for length, name in INTERVALS.items()}
_INFINITY = float("inf")

Levels = list[tuple[float, float]]


class _Kline(msgspec.Struct, gc=False):
    t: int
    i: str
    o: float
    c: float
    h: float
    l: float  # noqa: E741  # the venue's name
    v: float
    n: int
    x: bool


class _Data(msgspec.Struct, gc=False):  # never part of a cycle, so that Python's collector need not look at it
    """The payload of any stream, told apart by ``e``, which ``bookTicker`` alone leaves out."""

    e: str = "bookTicker"
    E: int = 0
    s: str = ""
    t: int = 0
    p: float = 0.0
    q: float = 0.0
    T: int = 0
    m: bool = False
    u: int = 0
    U: int = 0
    b: float | Levels = -1.0
    a: float | Levels = -1.0
    B: float = 0.0
    A: float = 0.0
    k: _Kline | None = None


class _Error(msgspec.Struct, gc=False):
    code: int
    msg: str = ""


class _Frame(msgspec.Struct, gc=False):
    data: _Data | None = None
    id: int | str | None = None
    code: int | None = None
    msg: str = ""
    error: _Error | None = None
    e: str = ""
    E: int = 0


_new: Callable[[type[Trade], tuple[object, ...]], Trade] = tuple.__new__
_FRAME = msgspec.json.Decoder(_Frame, strict=False)


class BinanceSession(FeedSession):
    """One connection to the combined stream. An acknowledgement proves little here: a stream that does not exist is
    acknowledged, and stays silent.

    Args:
        symbols: the symbols to subscribe.
        channels: the channels to subscribe of each symbol.
    """

    def __init__(self, symbols: Sequence[str], channels: Sequence[str]) -> None:
        super().__init__()
        self._symbols = frozenset(symbols)
        self._channels = tuple(channels)
        self._ids = 0
        self._waiting: set[int] = set()  # ids of control messages that were not acknowledged yet
        self._read: dict[str, Callable[[_Data], Message | None]] = {
            "bookTicker": _quote,
            "depthUpdate": _depth,
            "kline": _bar,
        }

    def opened(self) -> None:
        """See :class:`FeedSession`."""
        self._say("SUBSCRIBE", sorted(self._symbols))

    def renew(self, symbols: Sequence[str]) -> None:
        """See :class:`FeedSession`."""
        self._say("UNSUBSCRIBE", symbols)
        self._say("SUBSCRIBE", symbols)

    def received(self, frame: Frame) -> Sequence[Message]:
        """See :class:`FeedSession`."""
        try:
            envelope = _FRAME.decode(frame)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise unreadable("Binance", frame, error) from None
        data = envelope.data
        if data is None:
            return self._control(envelope, frame)
        if data.e == "trade" and data.s in self._symbols:  # most frames are trades: handled here, without a call
            price, size, time = data.p, data.q, data.T
            if not (0.0 < price < _INFINITY and 0.0 < size < _INFINITY):
                raise FeedError(f"Binance sent a trade of {size} at {price}, which cannot be: {frame[:160]!r}.")
            time = time * MILLISECOND if time < MICROSECONDS_FROM else time * 1000
            # With all its fields, tuple.__new__ takes half the time of Trade(...).
            return (_new(Trade, (data.s, data.t, price, size, time, -1 if data.m else 1, "", True)),)
        read = self._read.get(data.e)
        if read is None:
            return (ClosingSoon(nanoseconds(data.E)),) if data.e == "serverShutdown" else ()
        if data.s not in self._symbols:
            return ()
        message = read(data)
        if message is None:
            raise FeedError(f"Binance sent a price or size that is no number in its range: {frame[:160]!r}.")
        return (message,)

    def _control(self, envelope: _Frame, frame: Frame) -> Sequence[Message]:
        if envelope.e == "serverShutdown":
            return (ClosingSoon(nanoseconds(envelope.E)),)
        error = envelope.error or (None if envelope.code is None else _Error(envelope.code, envelope.msg))
        if error is not None:  # every error says that what we sent is wrong, and it would be wrong again
            return (Refused(error.code, error.msg, fatal=True),)
        if envelope.id is None:
            raise FeedError(f"Binance sent neither data nor an answer: {frame[:120]!r}.")
        if isinstance(envelope.id, int):
            self._waiting.discard(envelope.id)
        if self._waiting or self.ready:
            return ()
        self.ready = True
        return (Subscribed(frozenset()),)

    def _say(self, method: str, symbols: Sequence[str]) -> None:
        streams = [f"{symbol.lower()}@{channel}" for symbol in symbols for channel in self._channels]
        for begin in range(0, len(streams), _AT_ONCE):
            self._ids += 1
            self._waiting.add(self._ids)
            message = {"method": method, "params": streams[begin : begin + _AT_ONCE], "id": self._ids}
            self.replies.append(json.dumps(message, separators=(",", ":"), ensure_ascii=False))


def _quote(data: _Data) -> Quote | None:
    bid, ask = data.b, data.a
    if isinstance(bid, float) and isinstance(ask, float) and 0.0 <= bid < _INFINITY and 0.0 <= ask < _INFINITY:
        return Quote(data.s, bid, data.B, ask, data.A, 0, data.u)
    return None


def _depth(data: _Data) -> Depth | None:
    bids, asks = data.b, data.a
    if not isinstance(bids, list) or not isinstance(asks, list):
        return None
    return Depth(data.s, levels_of(bids), levels_of(asks), data.U, data.u, nanoseconds(data.E), whole=False)


def _bar(data: _Data) -> ServerBar | None:
    bar = data.k
    if bar is None or bar.i not in _LENGTHS or not 0.0 < bar.l <= bar.h < _INFINITY:
        return None
    interval = _LENGTHS[bar.i]
    return ServerBar(data.s, nanoseconds(bar.t), interval, bar.o, bar.h, bar.l, bar.c, bar.v, bar.n, bar.x)


def levels_of(levels: Levels) -> tuple[Level, ...]:
    """One side of a book, or changes of it.

    Raises:
        FeedError: a price is not above 0, a size is below 0, or one of them is not finite.
    """
    for price, size in levels:
        if not (0.0 < price < _INFINITY and 0.0 <= size < _INFINITY):
            raise FeedError(f"Binance sent a level of {size} at {price}, which no book has.")
    return tuple(levels)
