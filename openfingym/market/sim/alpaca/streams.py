"""The market data streams of a local Alpaca venue."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from aiohttp import web

from openfingym.market.sim.alpaca import wire
from openfingym.market.sim.alpaca.bars import ONE_DAY, ONE_MINUTE, AlpacaBar
from openfingym.market.sim.alpaca.data import all_bars
from openfingym.market.sim.alpaca.ledger import AlpacaLedger
from openfingym.market.sim.alpaca.wire import MINUTE, Stamp, is_crypto
from openfingym.market.sim.events import ATOMS, BookChange, Event, ExchangeTrade, ListedPair
from openfingym.market.sim.peers import ConnectionTerms, Peer
from openfingym.market.sim.server import compact
from openfingym.market.ticks import SECOND

STOCK_CHANNELS = ("trades", "quotes", "bars", "updatedBars", "dailyBars", "statuses", "lulds")
COIN_CHANNELS = ("trades", "quotes", "orderbooks", "bars", "updatedBars", "dailyBars")
RIDING = ("corrections", "cancelErrors")
"""Channels that are subscribed with trades of stocks."""
LOGIN_S = 10
"""Seconds in which a connection has to state its keys."""
LATE = 30 * SECOND
"""Nanoseconds after the end of a bar at which it is sent again if it has changed."""
ERRORS = {
    400: "invalid syntax",
    401: "not authenticated",
    402: "auth failed",
    403: "already authenticated",
    404: "auth timeout",
    405: "symbol limit exceeded",
    406: "connection limit exceeded",
    409: "insufficient subscription",
    410: "invalid subscribe action for this feed",
}
"""Texts of errors by their codes."""
Build = Callable[[Stamp], dict[str, Any]]
"""Makes a message, with times as a connection writes them."""


class DataPeer(Peer):
    """A connection to one stream of market data.

    Args:
        number: number of the connection.
        request: the request that opens it.
        streams: the streams of the venue.
        terms: the limits of the connection.
        crypto: whether the stream is one of crypto.
    """

    def __init__(
        self, number: int, request: web.Request, streams: DataStreams, terms: ConnectionTerms, crypto: bool
    ) -> None:
        super().__init__(number, request, streams.ledger.exchange, streams.ledger.faults, terms)
        self.crypto = crypto
        self.path = request.path
        self.channels = COIN_CHANNELS if crypto else STOCK_CHANNELS
        self.wanted: dict[str, dict[str, None]] = {channel: {} for channel in self.channels}
        """Symbols that are subscribed, by channel; ``*`` stands for all."""
        self.account = ""
        """Name of the account whose keys were stated; empty before."""
        self.packed = "msgpack" in request.headers.get("Content-Type", "")
        """Whether its messages are MessagePack, and not JSON."""
        self.stamp: Stamp = wire.packed_stamp if self.packed else wire.stamp
        self._began = self.exchange.now
        self._streams = streams
        self._headers = request.headers

    def welcome(self) -> None:
        """Send the first message; keys in the header are taken at once."""
        self.say({"T": "success", "msg": "connected"})
        if "APCA-API-KEY-ID" in self._headers:
            self._login(self._headers["APCA-API-KEY-ID"], self._headers.get("APCA-API-SECRET-KEY", ""))

    def say(self, *messages: dict[str, Any], symbol: str | None = None, channel: str | None = None) -> None:
        """Send messages in one frame."""
        frame = msgspec.msgpack.encode(messages) if self.packed else compact(messages)
        self.send(frame, symbol=symbol, channel=channel)

    def tick(self, now: int) -> None:
        """See :class:`Peer`."""
        super().tick(now)
        if not self.account and now - self._began >= LOGIN_S * SECOND:
            self._refuse(404, over=True)

    def read(self, frame: str | bytes) -> None:
        """See :class:`Peer`."""
        try:
            asked = msgspec.msgpack.decode(frame) if isinstance(frame, bytes) and self.packed else json.loads(frame)
        except (ValueError, RecursionError, msgspec.DecodeError):
            asked = None
        if not isinstance(asked, dict):
            self._refuse(400)
        elif asked.get("action") == "auth":
            self._login(asked.get("key"), asked.get("secret"))
        elif not self.account:
            self._refuse(401)
        elif asked.get("action") in {"subscribe", "unsubscribe"}:
            self._subscribe(asked)
        else:
            self._refuse(400)

    def _login(self, key: object, secret: object) -> None:
        if self.account:
            return self._refuse(403)
        account = (
            self._streams.ledger.account_of(key, secret) if isinstance(key, str) and isinstance(secret, str) else None
        )
        if account is None:
            return self._refuse(402)
        if self.path == "/v2/delayed_sip":
            return self._refuse(409)
        if not self._streams.enter(self, account):
            return self._refuse(406, over=True)
        self.account = account
        return self.say({"T": "success", "msg": "authenticated"})

    def _refuse(self, code: int, *, over: bool = False) -> None:
        self.say({"T": "error", "code": code, "msg": ERRORS[code]})
        if over:
            self.finish()

    def _subscribe(self, asked: dict[str, Any]) -> None:
        changes = {name: value for name, value in asked.items() if name != "action" and value}
        if any(name not in self.channels for name in changes):
            return self._refuse(410)
        if not changes or not all(
            isinstance(names, list) and all(isinstance(name, str) for name in names) for names in changes.values()
        ):
            return self._refuse(400)
        wanted = {channel: dict(symbols) for channel, symbols in self.wanted.items()}
        new: list[tuple[str, str]] = []
        for channel, names in changes.items():
            for name in names:
                if asked["action"] == "unsubscribe":
                    wanted[channel].pop(name, None)
                elif name not in wanted[channel]:
                    wanted[channel][name] = None
                    new.append((channel, name))
        if self._streams.too_many(wanted):
            return self._refuse(405)
        self._streams.change(self, wanted)
        subscribed = {channel: list(symbols) for channel, symbols in wanted.items()}
        if not self.crypto:
            subscribed |= dict.fromkeys(RIDING, subscribed["trades"])
        self.say({"T": "subscription", **subscribed})
        return self._streams.begin_books(self, [name for channel, name in new if channel == "orderbooks"])


class DataStreams:
    """The subscriptions of all connections, and the messages of the streams.

    Args:
        ledger: the records of the venue.
        most_symbols: how many symbols' trades and quotes a connection may subscribe.
    """

    def __init__(self, ledger: AlpacaLedger, most_symbols: int) -> None:
        self.ledger = ledger
        self._most = most_symbols
        self._connected: dict[tuple[str, str], DataPeer] = {}  # by account and path
        self._listeners: dict[tuple[str, str], dict[DataPeer, None]] = defaultdict(dict)  # by channel and symbol
        self._changes: dict[str, list[BookChange]] = defaultdict(list)  # of coins' books, since the last flush
        self._quotes: dict[str, dict[str, Any]] = {}  # the last one that was sent, by symbol
        self._mids: dict[str, list[float]] = defaultdict(list)  # open, high, low, close of this minute
        self._late: set[tuple[str, int]] = set()  # bars that have changed since they were sent

    def enter(self, peer: DataPeer, account: str) -> bool:
        """Let a connection in; return False if the account has another one to the same stream."""
        return self._connected.setdefault((account, peer.path), peer) is peer

    def leave(self, peer: DataPeer) -> None:
        """Forget a connection."""
        self.change(peer, {channel: {} for channel in peer.channels})
        if self._connected.get((peer.account, peer.path)) is peer:
            del self._connected[peer.account, peer.path]

    def too_many(self, wanted: dict[str, dict[str, None]]) -> bool:
        """Whether a connection wants more than it may."""
        symbols = set(wanted["trades"]) | set(wanted["quotes"])
        return len(symbols - {"*"}) + len(self.ledger.exchange.listings) * ("*" in symbols) > self._most

    def change(self, peer: DataPeer, wanted: dict[str, dict[str, None]]) -> None:
        """Subscribe a connection to these symbols, and to no others; one that is not listed stays silent."""
        for channel, symbols in wanted.items():
            for gone in [symbol for symbol in peer.wanted[channel] if symbol not in symbols]:
                self._listeners[channel, gone].pop(peer, None)
            for symbol in symbols:
                ignored = self.ledger.faults.hit(
                    "ignored", peer.exchange.now, connection=peer.number, symbol=symbol, channel=channel
                )
                if symbol not in peer.wanted[channel] and ignored is None:
                    self._listeners[channel, symbol][peer] = None
        peer.wanted = wanted

    def begin_books(self, peer: DataPeer, symbols: Iterable[str]) -> None:
        """Send the whole books with which a subscription begins."""
        ledger = self.ledger
        for symbol in symbols:
            for name in [name for name in ledger.exchange.listings if is_crypto(name) and symbol in {"*", name}]:
                if peer in self._hearers("orderbooks", name):
                    row = wire.book_row(
                        ledger.exchange.listings[name], ledger.exchange.books[name], ledger.now, peer.stamp
                    )
                    peer.say({"T": "o", "S": name, **row, "r": True}, symbol=name, channel="orderbooks")

    def publish(self, events: Sequence[Event]) -> None:
        """Send trades and quotes; books and bars wait for :meth:`flush`."""
        trades: dict[str, list[ExchangeTrade]] = defaultdict(list)
        moved: dict[str, None] = {}
        for event in events:
            if isinstance(event, ExchangeTrade):
                trades[event.symbol].append(event)
            elif isinstance(event, BookChange):
                moved[event.symbol] = None
                if is_crypto(event.symbol):
                    self._changes[event.symbol].append(event)
        for symbol, symbol_trades in trades.items():
            listing = self.ledger.exchange.listings[symbol]
            self._emit(listing, "trades", "t", [_trade(listing, trade) for trade in symbol_trades])
        for symbol in moved:
            self._quote(self.ledger.exchange.listings[symbol])

    def flush(self, now: int) -> None:
        """Send the changes of books, and the bars that end, at a boundary of time."""
        ledger, changes = self.ledger, self._changes
        self._changes = defaultdict(list)
        for symbol, symbol_changes in changes.items():
            listing = ledger.exchange.listings[symbol]
            self._emit(listing, "orderbooks", "o", [_changes(listing, symbol_changes, ledger.now)])
        for symbol, listing in ledger.exchange.listings.items():
            if is_crypto(symbol):
                self._sample(listing)
            if now % MINUTE == 0:
                self._minute(listing, now - MINUTE)
        if now % MINUTE == LATE:
            for symbol, begin in sorted(self._late):
                listing = ledger.exchange.listings[symbol]
                self._emit(
                    listing,
                    "updatedBars",
                    "u",
                    [bar.row for bar in all_bars(ledger, listing, ONE_MINUTE, begin, begin)],
                )
            self._late.clear()

    def amended(self, trade: ExchangeTrade, instead: ExchangeTrade | None) -> None:
        """Report that a trade was taken back or corrected.

        Args:
            trade: the trade as it was reported before.
            instead: the trade as it is corrected; None where it was taken back.
        """
        listing = self.ledger.exchange.listings[trade.symbol]
        old = wire.trade_row(listing, trade, wire.stamp)
        if instead is None:
            row = {"i": trade.id, "x": "V", "p": old["p"], "s": old["s"], "a": "C", "z": "C"}
            self._emit(listing, "trades", "x", [lambda stamp: row | {"t": stamp(trade.time)}], "cancelErrors")
        else:
            new = wire.trade_row(listing, instead, wire.stamp)
            pairs = {f"{mark}{name}": row[name] for mark, row in (("o", old), ("c", new)) for name in _FIELDS}
            self._emit(
                listing, "trades", "c", [lambda stamp: {"x": "V", **pairs, "z": "C", "t": stamp(trade.time)}],
                "corrections",
            )  # fmt: skip
        # A bar that is over has been sent with the trade as it was.
        begin = ONE_MINUTE.left(trade.time)
        if begin + MINUTE <= self.ledger.exchange.now:
            self._late.add((trade.symbol, begin))

    def status(self, symbol: str, code: str, text: str, reason: str, why: str) -> None:
        """Report that trading stops or resumes.

        Args:
            symbol: the stock whose trading stops or resumes.
            code: Alpaca's code of the status.
            text: the status in words.
            reason: Alpaca's code of the reason.
            why: the reason in words.
        """
        now = self.ledger.now
        row = {"sc": code, "sm": text, "rc": reason, "rm": why, "z": "C"}
        listing = self.ledger.exchange.listings[symbol]
        self._emit(listing, "statuses", "s", [lambda stamp: row | {"t": stamp(now)}])

    def _quote(self, listing: ListedPair) -> None:
        if not self._hearers("quotes", listing.symbol):
            return
        book, now = self.ledger.exchange.books[listing.symbol], self.ledger.now
        row = wire.quote_row(listing, book, 0, wire.stamp)  # without its time: a change deeper in the book is no quote
        if self._quotes.get(listing.symbol) != row:
            self._quotes[listing.symbol] = row
            self._emit(listing, "quotes", "q", [lambda stamp: row | {"t": stamp(now)}])

    def _sample(self, listing: ListedPair) -> None:
        """Add the mid price to the bar of this minute, which is used if nothing is traded in it."""
        book = self.ledger.exchange.books[listing.symbol]
        bid, ask = book.best(1), book.best(-1)
        if bid is not None and ask is not None:
            mid = (wire.price_atoms(listing, bid) + wire.price_atoms(listing, ask)) / (2 * ATOMS)
            row = self._mids[listing.symbol] or [mid] * 4
            self._mids[listing.symbol] = [row[0], max(row[1], mid), min(row[2], mid), mid]

    def _minute(self, listing: ListedPair, begin: int) -> None:
        ledger, symbol = self.ledger, listing.symbol
        mids = self._mids.pop(symbol, None)
        minute_bars = list(all_bars(ledger, listing, ONE_MINUTE, begin, begin))
        if not minute_bars and mids:
            ledger.mids[symbol][begin] = AlpacaBar(begin, mids[0], mids[1], mids[2], mids[3], 0, 0, 0)
            minute_bars = [ledger.mids[symbol][begin]]
        self._emit(listing, "bars", "b", [bar.row for bar in minute_bars])
        if minute_bars and self._hearers("dailyBars", symbol):
            day = ONE_DAY.left(begin)
            self._emit(listing, "dailyBars", "d", [bar.row for bar in all_bars(ledger, listing, ONE_DAY, day, day)])

    def _hearers(self, channel: str, symbol: str) -> list[DataPeer]:
        listeners = self._listeners
        peers = (listeners.get((channel, symbol)) or {}) | (listeners.get((channel, "*")) or {})
        return [peer for peer in peers if peer.crypto == is_crypto(symbol)]

    def _emit(self, listing: ListedPair, channel: str, kind: str, builds: Sequence[Build], named: str = "") -> None:
        """Send messages in one frame to all connections that are subscribed.

        Args:
            listing: the terms of the symbol.
            channel: the channel that has to be subscribed.
            kind: the type of the messages, their ``T``.
            builds: makes of the messages.
            named: the channel as faults name it, if that is another one.
        """
        # Encoded once for each format, and not for each connection.
        hearers = self._hearers(channel, listing.symbol) if builds else []
        frames: dict[bool, str | bytes] = {}
        for peer in hearers:
            if peer.packed not in frames:
                messages = [{"T": kind, "S": listing.symbol, **build(peer.stamp)} for build in builds]
                frames[peer.packed] = msgspec.msgpack.encode(messages) if peer.packed else compact(messages)
            peer.send(frames[peer.packed], symbol=listing.symbol, channel=named or channel)


_FIELDS = "ipsc"  # id, price, size and conditions, which a correction states of both trades


def _trade(listing: ListedPair, trade: ExchangeTrade) -> Build:
    return lambda stamp: wire.trade_row(listing, trade, stamp)


def _changes(listing: ListedPair, changes: Sequence[BookChange], now: int) -> Build:
    return lambda stamp: wire.change_row(listing, changes, now, stamp)
