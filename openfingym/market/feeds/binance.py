"""The feed of Binance spot: trades, best quotes, order books and bars over its combined stream, and what that does not
give over its REST interface.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from openfingym.errors import UsageError
from openfingym.market.feed import Address, Feed, Request
from openfingym.market.feeds.binance_messages import INTERVALS, BinanceSession, Levels, levels_of
from openfingym.market.feeds.reading import MILLISECOND, decoded, nanoseconds, query
from openfingym.market.ticks import LATEST, SECOND, Depth, Quote, ServerBar, Tick, Trade

STREAM = "wss://stream.binance.com:9443"
REST = "https://api.binance.com"
CHANNELS = ("trade", "bookTicker", "depth@100ms")
"""Channels that are subscribed of each symbol, unless others are asked for."""
MOST_STREAMS = 1024
"""Streams that the venue allows on one connection."""
LEVELS = 1000
"""Levels of each side that are asked for with a whole book, unless others are."""
MOST_LEVELS = 5000
"""Levels of each side that the venue puts into a whole book at most, however many are asked for."""
_BOOK_WEIGHTS = ((100, 5), (500, 25), (1000, 50), (5000, 250))  # up to so many levels, a book costs so much


class _RestTrade(msgspec.Struct, gc=False):
    id: int
    price: float
    qty: float
    time: int
    isBuyerMaker: bool  # noqa: N815


class _Latest(msgspec.Struct, gc=False):
    symbol: str
    price: float | None = None
    bidPrice: float = 0.0  # noqa: N815
    bidQty: float = 0.0  # noqa: N815
    askPrice: float = 0.0  # noqa: N815
    askQty: float = 0.0  # noqa: N815


class _Book(msgspec.Struct, gc=False):
    lastUpdateId: int  # noqa: N815
    bids: Levels
    asks: Levels


class _Time(msgspec.Struct, gc=False):
    serverTime: int  # noqa: N815


class _Symbol(msgspec.Struct, gc=False):
    symbol: str
    status: str
    filters: list[dict[str, Any]]


class _Info(msgspec.Struct, gc=False):
    symbols: list[_Symbol]


_Row = tuple[int, float, float, float, float, float, int, float, int, float, float, str]

_TRADES = msgspec.json.Decoder(list[_RestTrade], strict=False)
_PRICES = msgspec.json.Decoder(list[_Latest], strict=False)
_BOOK = msgspec.json.Decoder(_Book, strict=False)
_ROWS = msgspec.json.Decoder(list[_Row], strict=False)
_TIME = msgspec.json.Decoder(_Time)
_INFO = msgspec.json.Decoder(_Info)


class SymbolRules(NamedTuple):
    """What an order for a symbol must satisfy; 0 where the venue asks nothing. Decimal numbers are exact, as the
    remainders of prices and sizes must be.
    """

    trading: bool
    """Whether the symbol trades."""
    tick: Decimal
    """The step of prices, which are multiples of it."""
    lot: Decimal
    """The step of sizes, which are multiples of it."""
    least_size: Decimal
    """The least size of an order, in the base currency."""
    least_notional: Decimal
    """The least price times size, in the quote currency."""


class BinanceFeed(Feed):
    """Market data of Binance spot.

    Args:
        symbols: the symbols to follow, such as ``BTCUSDT``.
        channels: the channels to subscribe of each symbol: those of :data:`CHANNELS`, and ``kline_1m`` or another
            length for the venue's own bars.
        stream_url: beginning of the address of the stream.
        rest_url: beginning of the addresses of the REST interface.
        levels: how many levels a whole book has on each side at most; more of them cost more of the rate limit. What
            lies beyond them is unknown, and another book is asked for before the price comes there.
        simulated: whether these are addresses of a local venue.

    Raises:
        UsageError: there are no symbols, or more streams than a connection may have, or not 1 to :data:`MOST_LEVELS`
            levels.
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
        levels: int = LEVELS,
        simulated: bool = False,
    ) -> None:
        super().__init__([symbol.upper() for symbol in symbols])
        if not 0 < len(self.symbols) * len(channels) <= MOST_STREAMS:
            given = f"{len(self.symbols)} symbols of {len(channels)} channels each"
            raise UsageError(f"{given} are not 1 to {MOST_STREAMS} streams; use several feeds, or fewer channels.")
        if not 0 < levels <= MOST_LEVELS:
            raise UsageError(f"Binance has no books of {levels} levels a side; expected 1 to {MOST_LEVELS}.")
        self.channels = tuple(channels)
        names = {channel.split("@")[0].split("_")[0] for channel in channels}
        kinds: dict[str, type[Tick]] = {"trade": Trade, "bookTicker": Quote, "depth": Depth}
        self.kinds = frozenset(kinds[name] for name in names if name in kinds)
        self.levels = levels
        self.simulated = simulated
        self._stream_url, self._rest_url = stream_url.rstrip("/"), rest_url.rstrip("/")

    def arguments(self) -> dict[str, object]:
        """See :class:`~openfingym.market.feed.Feed`."""
        return {
            "channels": list(self.channels),
            "stream_url": self._stream_url,
            "rest_url": self._rest_url,
            "levels": self.levels,
            "simulated": self.simulated,
        }

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
            Trade(symbol, item.id, item.price, item.qty, nanoseconds(item.time), -1 if item.isBuyerMaker else 1)
            for item in decoded(_TRADES, self.venue, body)
        ]

    def ask_latest(self, symbols: Sequence[str]) -> list[Request]:
        """See :class:`Feed`: two requests for any number of symbols."""
        wanted = _symbol_list(symbols)
        return [
            Request("GET", query(f"/api/v3/ticker/{what}", symbols=wanted), weight=4)
            for what in ("price", "bookTicker")
        ]

    def read_latest(self, body: bytes) -> list[Trade | Quote]:
        """See :class:`Feed`. A last price is a trade of the group :data:`LATEST`, without id, size and time."""
        return [
            Quote(item.symbol, item.bidPrice, item.bidQty, item.askPrice, item.askQty, 0)
            if item.price is None
            else Trade(item.symbol, 0, item.price, 0.0, 0, 0, LATEST, prices=False)
            for item in decoded(_PRICES, self.venue, body)
        ]

    def ask_book(self, symbol: str) -> Request:
        """See :class:`Feed`."""
        weight = next((weight for levels, weight in _BOOK_WEIGHTS if self.levels <= levels), 250)
        return Request("GET", query("/api/v3/depth", symbol=symbol, limit=self.levels), weight=weight)

    def read_book(self, symbol: str, body: bytes) -> Depth:
        """See :class:`Feed`."""
        book = decoded(_BOOK, self.venue, body)
        last = book.lastUpdateId
        return Depth(symbol, levels_of(book.bids), levels_of(book.asks), last, last, 0, whole=True, most=self.levels)

    def bar_length(self, interval: int) -> int | None:
        """See :class:`Feed`."""
        return max((length for length in INTERVALS if interval % length == 0), default=None)

    def ask_bars(self, symbol: str, interval: int, begin: int, end: int) -> Request:
        """See :class:`Feed`; at most a thousand bars from ``begin`` on."""
        if interval not in INTERVALS:
            raise UsageError(f"Binance has no bars of {interval / SECOND:g} s; it has {', '.join(INTERVALS.values())}.")
        path = query(
            "/api/v3/klines",
            symbol=symbol,
            interval=INTERVALS[interval],
            startTime=-(-begin // MILLISECOND),  # rounded up: no bar from before `begin`
            endTime=(end - 1) // MILLISECOND,  # the venue counts both ends in
            limit=1000,
        )
        return Request("GET", path, weight=2)

    def read_bars(self, symbol: str, interval: int, body: bytes) -> list[ServerBar]:
        """See :class:`Feed`. The answer does not say what time it is, so the last bar counts as unfinished."""
        rows = decoded(_ROWS, self.venue, body)
        return [
            ServerBar(
                symbol,
                nanoseconds(row[0]),
                interval,
                row[1],
                row[2],
                row[3],
                row[4],
                row[5],
                row[8],
                number < len(rows),
            )
            for number, row in enumerate(rows, 1)
        ]

    def ask_rules(self) -> Request:
        """A request for what orders must satisfy."""
        return Request("GET", query("/api/v3/exchangeInfo", symbols=_symbol_list(self.symbols)), weight=20)

    def read_rules(self, body: bytes) -> dict[str, SymbolRules]:
        """The rules in the answer, by symbol."""
        rules = {}
        for info in decoded(_INFO, self.venue, body).symbols:
            filters = {str(item.get("filterType")): item for item in info.filters}

            def number(names: str, key: str, filters: dict[str, dict[str, Any]] = filters) -> Decimal:
                return next((Decimal(filters[name][key]) for name in names.split() if name in filters), Decimal(0))

            rules[info.symbol] = SymbolRules(
                info.status == "TRADING",
                number("PRICE_FILTER", "tickSize"),
                number("LOT_SIZE", "stepSize"),
                number("LOT_SIZE", "minQty"),
                number("NOTIONAL MIN_NOTIONAL", "minNotional"),
            )
        return rules


def _symbol_list(symbols: Sequence[str]) -> str:
    """Symbols as a parameter: a JSON list in which the venue refuses blanks, and takes other scripts as they are."""
    return json.dumps(list(symbols), separators=(",", ":"), ensure_ascii=False)
