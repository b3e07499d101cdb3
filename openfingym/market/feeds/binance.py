"""Binance spot: trades, best quotes, order books and bars over its combined stream, and its REST interface for what the
stream does not give.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from openfingym.errors import FeedError, UsageError
from openfingym.market.feed import Address, Feed, FeedSession, Frame, Request
from openfingym.market.feeds.reading import MILLISECOND, SECOND, decoded, nanoseconds, query
from openfingym.market.ticks import (
    LATEST,
    ClosingSoon,
    Depth,
    Level,
    Message,
    Quote,
    Refused,
    ServerBar,
    Subscribed,
    Tick,
    Trade,
)

STREAM = "wss://stream.binance.com:9443"
REST = "https://api.binance.com"
CHANNELS = ("trade", "bookTicker", "depth@100ms")
MOST_STREAMS = 1024
_AT_ONCE = 100
"""Streams in a control message."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_NAMES = "1s 1m 3m 5m 15m 30m 1h 2h 4h 6h 8h 12h 1d 3d 1w"
INTERVALS = {int(name[:-1]) * _UNITS[name[-1]] * SECOND: name for name in _NAMES.split()}
"""Lengths of bars in nanoseconds, and what the venue calls them."""
_LENGTHS = {name: length for length, name in INTERVALS.items()}
_BOOK_WEIGHTS = ((100, 5), (500, 25), (1000, 50), (5000, 250))
_INFINITY = float("inf")

_Levels = list[tuple[float, float]]


class _Kline(msgspec.Struct):
    t: int
    i: str
    o: float
    c: float
    h: float
    l: float  # noqa: E741  # the venue's name
    v: float
    n: int
    x: bool


class _Data(msgspec.Struct):
    """Any payload: names are the venue's, and ``bookTicker`` is the one that does not say what it is."""

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
    b: float | _Levels = -1.0
    a: float | _Levels = -1.0
    B: float = 0.0
    A: float = 0.0
    k: _Kline | None = None


class _Error(msgspec.Struct):
    code: int
    msg: str = ""


class _Frame(msgspec.Struct):
    data: _Data | None = None
    id: int | str | None = None
    code: int | None = None
    msg: str = ""
    error: _Error | None = None
    e: str = ""
    E: int = 0


class _RestTrade(msgspec.Struct):
    id: int
    price: float
    qty: float
    time: int
    isBuyerMaker: bool  # noqa: N815


class _Latest(msgspec.Struct):
    symbol: str
    price: float | None = None
    bidPrice: float = 0.0  # noqa: N815
    bidQty: float = 0.0  # noqa: N815
    askPrice: float = 0.0  # noqa: N815
    askQty: float = 0.0  # noqa: N815


class _Book(msgspec.Struct):
    lastUpdateId: int  # noqa: N815
    bids: _Levels
    asks: _Levels


class _Time(msgspec.Struct):
    serverTime: int  # noqa: N815


class _Symbol(msgspec.Struct):
    symbol: str
    status: str
    filters: list[dict[str, Any]]


class _Info(msgspec.Struct):
    symbols: list[_Symbol]


_Row = tuple[int, float, float, float, float, float, int, float, int, float, float, str]

_FRAME = msgspec.json.Decoder(_Frame, strict=False)
_TRADES = msgspec.json.Decoder(list[_RestTrade], strict=False)
_PRICES = msgspec.json.Decoder(list[_Latest], strict=False)
_BOOK = msgspec.json.Decoder(_Book, strict=False)
_ROWS = msgspec.json.Decoder(list[_Row], strict=False)
_TIME = msgspec.json.Decoder(_Time)
_INFO = msgspec.json.Decoder(_Info)


class SymbolRules(NamedTuple):
    """What an order for a symbol must satisfy; 0 where the venue asks nothing. Exact, since remainders are taken."""

    trading: bool
    tick: Decimal
    """Prices are multiples of it."""
    lot: Decimal
    """Sizes are multiples of it."""
    least_size: Decimal
    least_notional: Decimal
    """Least price times size, in the quote currency."""


class BinanceFeed(Feed):
    """Market data of Binance spot.

    Args:
        symbols: such as ``BTCUSDT``.
        channels: of each symbol; :data:`CHANNELS`, and ``kline_1m`` or another length for the venue's own bars.
        stream_url: where the streams are.
        rest_url: where the REST interface is.
        levels: of a whole book, each side; more of them cost more of the rate limit.
        simulated: whether these are addresses of a local venue.

    Raises:
        UsageError: no symbols, or more streams than a connection may have.
    """

    venue = "binance"
    life_s = 24 * 3600.0
    weight_per_minute = 5000  # of 6000: others may share this machine's address

    def __init__(
        self,
        symbols: Sequence[str],
        *,
        channels: Sequence[str] = CHANNELS,
        stream_url: str = STREAM,
        rest_url: str = REST,
        levels: int = 1000,
        simulated: bool = False,
    ) -> None:
        super().__init__([symbol.upper() for symbol in symbols])
        if not 0 < len(self.symbols) * len(channels) <= MOST_STREAMS:
            found = f"{len(self.symbols)} symbols of {len(channels)} channels each"
            raise UsageError(f"{found} are not 1 to {MOST_STREAMS} streams; use several feeds, or fewer channels.")
        self.channels = tuple(channels)
        names = {channel.split("@")[0].split("_")[0] for channel in channels}
        kinds: dict[str, type[Tick]] = {"trade": Trade, "bookTicker": Quote, "depth": Depth}
        self.kinds = frozenset(kinds[name] for name in names if name in kinds)
        self.levels = levels
        self.simulated = simulated
        self._stream_url, self._rest_url = stream_url.rstrip("/"), rest_url.rstrip("/")

    def stream(self) -> Address:
        """See :class:`Feed`."""
        return Address(f"{self._stream_url}/stream")

    def rest(self) -> Address:
        """See :class:`Feed`."""
        return Address(self._rest_url)

    def session(self) -> BinanceSession:
        """See :class:`Feed`."""
        return BinanceSession(self.symbols, self.channels)

    def ask_time(self) -> Request:
        """See :class:`Feed`."""
        return Request("GET", "/api/v3/time")

    def read_time(self, body: bytes) -> int:
        """See :class:`Feed`."""
        return nanoseconds(decoded(_TIME, self.venue, body).serverTime)

    def ask_trades(self, symbol: str, after: Trade | None, since: int) -> Request:  # noqa: ARG002  # by id, not by time
        """See :class:`Feed`. Without a trade to follow, the last thousand."""
        if after is None:
            return Request("GET", query("/api/v3/trades", symbol=symbol, limit=self.page), weight=25)
        path = query("/api/v3/historicalTrades", symbol=symbol, fromId=after.id + 1, limit=self.page)
        return Request("GET", path, weight=25)

    def read_trades(self, symbol: str, body: bytes) -> list[Trade]:
        """See :class:`Feed`."""
        return [
            Trade(symbol, found.id, found.price, found.qty, nanoseconds(found.time), -1 if found.isBuyerMaker else 1)
            for found in decoded(_TRADES, self.venue, body)
        ]

    def ask_latest(self, symbols: Sequence[str]) -> list[Request]:
        """See :class:`Feed`: two requests for any number of symbols."""
        wanted = json.dumps(list(symbols), separators=(",", ":"), ensure_ascii=False)
        return [
            Request("GET", query(f"/api/v3/ticker/{what}", symbols=wanted), weight=4)
            for what in ("price", "bookTicker")
        ]

    def read_latest(self, body: bytes) -> list[Trade | Quote]:
        """See :class:`Feed`. A last price is a trade of the group :data:`LATEST`, without id, size and time."""
        return [
            Quote(found.symbol, found.bidPrice, found.bidQty, found.askPrice, found.askQty, 0)
            if found.price is None
            else Trade(found.symbol, 0, found.price, 0.0, 0, 0, LATEST, prices=False)
            for found in decoded(_PRICES, self.venue, body)
        ]

    def ask_book(self, symbol: str) -> Request:
        """See :class:`Feed`."""
        weight = next((weight for levels, weight in _BOOK_WEIGHTS if self.levels <= levels), 250)
        return Request("GET", query("/api/v3/depth", symbol=symbol, limit=self.levels), weight=weight)

    def read_book(self, symbol: str, body: bytes) -> Depth:
        """See :class:`Feed`."""
        found = decoded(_BOOK, self.venue, body)
        last = found.lastUpdateId
        return Depth(symbol, _levels(found.bids), _levels(found.asks), last, last, 0, whole=True)

    def ask_bars(self, symbol: str, interval: int, begin: int, end: int) -> Request:
        """See :class:`Feed`; at most a thousand bars from ``begin`` on."""
        if interval not in INTERVALS:
            raise UsageError(f"Binance has no bars of {interval / SECOND:g} s; it has {', '.join(_LENGTHS)}.")
        path = query(
            "/api/v3/klines",
            symbol=symbol,
            interval=INTERVALS[interval],
            startTime=-(-begin // MILLISECOND),
            endTime=(end - 1) // MILLISECOND,
            limit=1000,
        )
        return Request("GET", path, weight=2)

    def read_bars(self, symbol: str, interval: int, body: bytes) -> list[ServerBar]:
        """See :class:`Feed`. The answer tells no time, so the last bar counts as unfinished."""
        rows = decoded(_ROWS, self.venue, body)
        return [
            ServerBar(symbol, nanoseconds(row[0]), interval, *row[1:6], row[8], final=number < len(rows))
            for number, row in enumerate(rows, 1)
        ]

    def ask_rules(self) -> Request:
        """A request for what orders must satisfy."""
        wanted = json.dumps(list(self.symbols), separators=(",", ":"), ensure_ascii=False)
        return Request("GET", query("/api/v3/exchangeInfo", symbols=wanted), weight=20)

    def read_rules(self, body: bytes) -> dict[str, SymbolRules]:
        """What orders for each symbol must satisfy."""
        rules = {}
        for found in decoded(_INFO, self.venue, body).symbols:
            filters = {str(item.get("filterType")): item for item in found.filters}

            def number(names: str, key: str, filters: dict[str, dict[str, Any]] = filters) -> Decimal:
                return next((Decimal(filters[name][key]) for name in names.split() if name in filters), Decimal(0))

            rules[found.symbol] = SymbolRules(
                found.status == "TRADING",
                number("PRICE_FILTER", "tickSize"),
                number("LOT_SIZE", "stepSize"),
                number("LOT_SIZE", "minQty"),
                number("NOTIONAL MIN_NOTIONAL", "minNotional"),
            )
        return rules


class BinanceSession(FeedSession):
    """One connection to the combined stream. An acknowledgement proves little here: a stream that does not exist is
    acknowledged and stays silent.
    """

    def __init__(self, symbols: Sequence[str], channels: Sequence[str]) -> None:
        super().__init__()
        self._symbols = frozenset(symbols)
        self._channels = tuple(channels)
        self._ids = 0
        self._waiting: set[int] = set()
        self._read: dict[str, Callable[[_Data], Message | None]] = {
            "trade": _trade,
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
        found = decoded(_FRAME, "Binance", frame)
        data = found.data
        if data is None:
            return self._control(found, frame)
        read = self._read.get(data.e)
        if read is None:
            return (ClosingSoon(nanoseconds(data.E)),) if data.e == "serverShutdown" else ()
        if data.s not in self._symbols:
            return ()
        message = read(data)
        if message is None:
            raise FeedError(f"Binance sent a price or size that is no number in its range: {frame[:160]!r}.")
        return (message,)

    def _control(self, found: _Frame, frame: Frame) -> Sequence[Message]:
        if found.e == "serverShutdown":
            return (ClosingSoon(nanoseconds(found.E)),)
        error = found.error or (None if found.code is None else _Error(found.code, found.msg))
        if error is not None:  # all of them say that what we sent is wrong, and it would be as wrong again
            return (Refused(error.code, error.msg, fatal=True),)
        if found.id is None:
            raise FeedError(f"Binance sent neither data nor an answer: {frame[:120]!r}.")
        if isinstance(found.id, int):
            self._waiting.discard(found.id)
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


def _trade(data: _Data, make: Callable[..., Trade] = tuple.__new__) -> Trade | None:  # type: ignore[assignment]
    # tuple.__new__ with all fields takes half the time of Trade(...), and this is the hottest line of a feed.
    if not (0.0 < data.p < _INFINITY and 0.0 < data.q < _INFINITY):
        return None
    fields = (data.s, data.t, data.p, data.q, nanoseconds(data.T), -1 if data.m else 1, "", True)
    return make(Trade, fields)


def _quote(data: _Data) -> Quote | None:
    bid, ask = data.b, data.a
    if isinstance(bid, float) and isinstance(ask, float) and 0.0 <= bid < _INFINITY and 0.0 <= ask < _INFINITY:
        return Quote(data.s, bid, data.B, ask, data.A, 0, data.u)
    return None


def _depth(data: _Data) -> Depth | None:
    bids, asks = data.b, data.a
    if not isinstance(bids, list) or not isinstance(asks, list):
        return None
    return Depth(data.s, _levels(bids), _levels(asks), data.U, data.u, nanoseconds(data.E), whole=False)


def _bar(data: _Data) -> ServerBar | None:
    bar = data.k
    if bar is None or bar.i not in _LENGTHS or not 0.0 < bar.l <= bar.h < _INFINITY:
        return None
    interval = _LENGTHS[bar.i]
    return ServerBar(data.s, nanoseconds(bar.t), interval, bar.o, bar.h, bar.l, bar.c, bar.v, bar.n, bar.x)


def _levels(levels: _Levels) -> tuple[Level, ...]:
    for price, size in levels:
        if not (0.0 < price < _INFINITY and 0.0 <= size < _INFINITY):
            raise FeedError(f"Binance sent a level of {size} at {price}, which no book has.")
    return tuple(levels)
