"""The feed of Alpaca: stocks (of one exchange, of all, delayed, or of its test feed) and crypto over its stream, and
what the stream does not give over its REST interface.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from openfingym.errors import FeedError, UsageError
from openfingym.market.feed import Address, Feed, Request
from openfingym.market.feeds.alpaca_messages import (
    AlpacaSession,
    BarMessage,
    BookMessage,
    QuoteMessage,
    TradeMessage,
    bar_of,
    levels_of,
    quote_of,
    trade_of,
)
from openfingym.market.feeds.reading import decoded, query, rfc3339, rfc3339_text
from openfingym.market.keys import Keys
from openfingym.market.ticks import SECOND, Depth, Quote, ServerBar, Tick, Trade

STREAM = "wss://stream.data.alpaca.markets"
REST = "https://data.alpaca.markets"
StockFeed = Literal["iex", "sip", "delayed_sip", "test"]
CryptoFeed = Literal["us", "us-1", "eu-1"]
STOCK_CHANNELS = ("trades", "quotes", "bars", "updatedBars", "statuses")
"""Channels that are subscribed of each stock, unless others are asked for."""
CRYPTO_CHANNELS = ("trades", "quotes", "bars", "updatedBars", "orderbooks")
"""Channels that are subscribed of each crypto symbol, unless others are asked for."""
_DELAY_S = 15 * 60.0
# Units of the venue's bars: nanoseconds, name, and how many of them a bar may be long.
_UNITS = ((86400 * SECOND, "Day", 1), (3600 * SECOND, "Hour", 23), (60 * SECOND, "Min", 59))
_KEY, _SECRET = "APCA-API-KEY-ID", "APCA-API-SECRET-KEY"


class _Trades(msgspec.Struct, gc=False):
    trades: dict[str, list[TradeMessage] | None] | None = None


class _Snapshot(msgspec.Struct, gc=False):
    latestTrade: TradeMessage | None = None  # noqa: N815
    latestQuote: QuoteMessage | None = None  # noqa: N815


class _Snapshots(msgspec.Struct, gc=False):
    snapshots: dict[str, _Snapshot | None]


class _Bars(msgspec.Struct, gc=False):
    bars: dict[str, list[BarMessage] | None] | None = None


class _Books(msgspec.Struct, gc=False):
    orderbooks: dict[str, BookMessage]


_TRADES = msgspec.json.Decoder(_Trades)
_STOCK_SNAPSHOTS = msgspec.json.Decoder(dict[str, _Snapshot | None])
_CRYPTO_SNAPSHOTS = msgspec.json.Decoder(_Snapshots)
_BARS = msgspec.json.Decoder(_Bars)
_BOOKS = msgspec.json.Decoder(_Books)


class AlpacaFeed(Feed):
    """Market data of Alpaca.

    Args:
        symbols: the symbols to follow, such as ``AAPL``, or ``BTC/USD`` for crypto.
        keys: the keys of an account; those of a paper account will do.
        feed: which data to follow: for stocks ``iex``, ``sip``, ``delayed_sip`` or ``test``; for crypto ``us``,
            ``us-1`` or ``eu-1``.
        channels: the channels to subscribe of each symbol; None for :data:`STOCK_CHANNELS` or :data:`CRYPTO_CHANNELS`.
        stream_url: beginning of the addresses of the streams.
        rest_url: beginning of the addresses of the REST interface.
        lot: how many shares a unit of a stock's quoted size is: 1 since November 2025, 100 in recordings from before.
        simulated: whether these are addresses of a local venue.

    Raises:
        UsageError: there are no symbols, or there is no such feed.
    """

    venue = "alpaca"
    weight_per_minute = 150  # of 200: orders have a share
    page = 10_000

    def __init__(
        self,
        symbols: Sequence[str],
        keys: Keys,
        *,
        feed: StockFeed | CryptoFeed = "iex",
        channels: Sequence[str] | None = None,
        stream_url: str = STREAM,
        rest_url: str = REST,
        lot: float = 1.0,
        simulated: bool = False,
    ) -> None:
        super().__init__([symbol.upper() for symbol in symbols])
        feeds = get_args(StockFeed) + get_args(CryptoFeed)
        if feed not in feeds or not self.symbols:
            raise UsageError(f"Alpaca has the feeds {', '.join(feeds)}, not {feed!r}, and needs at least one symbol.")
        self.crypto = feed in get_args(CryptoFeed)
        self.feed = feed
        self.delay_s = _DELAY_S if feed == "delayed_sip" else 0.0
        self.channels = tuple(channels or (CRYPTO_CHANNELS if self.crypto else STOCK_CHANNELS))
        kinds: dict[str, type[Tick]] = {"trades": Trade, "quotes": Quote, "orderbooks": Depth}
        self.kinds = frozenset(kinds[channel] for channel in self.channels if channel in kinds)
        self.lot = 1.0 if self.crypto else lot
        self.simulated = simulated
        self.keys = keys
        self.stream_url, self._rest_url = stream_url.rstrip("/"), rest_url.rstrip("/")
        self._root = f"/v1beta3/crypto/{feed}" if self.crypto else "/v2/stocks"

    def arguments(self) -> dict[str, object]:
        """See :class:`~openfingym.market.feed.Feed`."""
        return {
            "feed": self.feed,
            "channels": list(self.channels),
            "stream_url": self.stream_url,
            "rest_url": self._rest_url,
            "lot": self.lot,
            "simulated": self.simulated,
        }

    @property
    def secrets(self) -> tuple[str, ...]:
        """See :class:`Feed`."""
        return self.keys.key, self.keys.secret

    def stream(self) -> Address:
        """See :class:`Feed`."""
        return Address(f"{self.stream_url}/{f'v1beta3/crypto/{self.feed}' if self.crypto else f'v2/{self.feed}'}")

    def rest(self) -> Address:
        """See :class:`Feed`."""
        return Address(self._rest_url, {_KEY: self.keys.key, _SECRET: self.keys.secret})

    def session(self) -> AlpacaSession:
        """See :class:`Feed`."""
        login = {"action": "auth", "key": self.keys.key, "secret": self.keys.secret}
        return AlpacaSession(self.symbols, self.channels, json.dumps(login), lot=self.lot)

    def ask_trades(self, symbol: str, after: Trade | None, since: int) -> Request:
        """See :class:`Feed`. Ids do not count up here, so that the answer begins with trades of the same time again."""
        return self._ask("trades", symbols=symbol, start=rfc3339_text(after.time if after else since), sort="asc")

    def read_trades(self, symbol: str, body: bytes) -> list[Trade]:
        """See :class:`Feed`; without trades that were cancelled or corrected since."""
        items = (decoded(_TRADES, self.venue, body).trades or {}).get(symbol) or ()
        return [trade_of(item, symbol) for item in items if item.u not in ("canceled", "incorrect")]

    def ask_latest(self, symbols: Sequence[str]) -> list[Request]:
        """See :class:`Feed`: one request for any number of symbols."""
        feed = None if self.crypto else self._rest_feed
        return [Request("GET", query(f"{self._root}/snapshots", symbols=",".join(symbols), feed=feed))]

    def read_latest(self, body: bytes) -> list[Trade | Quote]:
        """See :class:`Feed`."""
        snapshots: Mapping[str, _Snapshot | None]
        if self.crypto:
            snapshots = decoded(_CRYPTO_SNAPSHOTS, self.venue, body).snapshots
        else:
            snapshots = decoded(_STOCK_SNAPSHOTS, self.venue, body)
        messages: list[Trade | Quote] = []
        for symbol, snapshot in snapshots.items():
            if snapshot and snapshot.latestTrade:
                messages.append(trade_of(snapshot.latestTrade, symbol))
            if snapshot and snapshot.latestQuote:
                messages.append(quote_of(snapshot.latestQuote, symbol, self.lot))
        return messages

    def ask_book(self, symbol: str) -> None:
        """See :class:`Feed`: books have no numbers here, so that no change would connect to one that was asked for."""

    def ask_book_now(self, symbol: str) -> Request:
        """A request for the book of a crypto symbol, to compare the streamed one with."""
        return Request("GET", query(f"{self._root}/latest/orderbooks", symbols=symbol))

    def read_book(self, symbol: str, body: bytes) -> Depth:
        """See :class:`Feed`. The venue's answers hold levels of size 0 as well, which are left out."""
        book = decoded(_BOOKS, self.venue, body).orderbooks.get(symbol)
        if book is None:
            raise FeedError(f"Alpaca answered with a book, and not with that of {symbol}.")
        bids, asks = (tuple(level for level in levels_of(side) if level[1]) for side in (book.b, book.a))
        return Depth(symbol, bids, asks, 0, 0, rfc3339(book.t), whole=True)

    def bar_length(self, interval: int) -> int | None:
        """See :class:`Feed`. The venue's days are New York's, so that days of UTC are made of hours as well."""
        return next((unit for unit, _, _ in _UNITS[1:] if interval % unit == 0), None)

    def ask_bars(self, symbol: str, interval: int, begin: int, end: int) -> Request:
        """See :class:`Feed`; raw prices, not adjusted for splits or dividends."""
        for unit, name, most in _UNITS:
            if interval % unit == 0 and 0 < interval // unit <= most:
                frame = f"{interval // unit}{name}"
                adjustment = None if self.crypto else "raw"
                return self._ask(
                    "bars",
                    symbols=symbol,
                    timeframe=frame,
                    start=rfc3339_text(begin),
                    end=rfc3339_text(end - 1),  # the venue counts both ends in
                    adjustment=adjustment,
                )
        raise UsageError(
            f"Alpaca has no bars of {interval / SECOND:g} s; it has 1 to 59 minutes, 1 to 23 hours, a day."
        )

    def read_bars(self, symbol: str, interval: int, body: bytes) -> list[ServerBar]:
        """See :class:`Feed`. The answer does not say what time it is, so the last bar counts as unfinished."""
        bars = (decoded(_BARS, self.venue, body).bars or {}).get(symbol) or ()
        return [bar_of(bar, symbol, interval, final=number < len(bars)) for number, bar in enumerate(bars, 1)]

    @property
    def _rest_feed(self) -> str:
        """The name of the feed at the REST interface: the test feed has no history, and the delayed one shares that of
        the undelayed.
        """
        return {"test": "iex", "delayed_sip": "sip"}.get(self.feed, self.feed)

    def _ask(self, what: str, **fields: Any) -> Request:
        feed = None if self.crypto else self._rest_feed
        return Request("GET", query(f"{self._root}/{what}", **fields, limit=self.page, feed=feed))
