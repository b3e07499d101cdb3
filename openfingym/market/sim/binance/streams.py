"""The market streams of a local Binance venue."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from openfingym.market.sim.binance import wire
from openfingym.market.sim.binance.ledger import BinanceLedger
from openfingym.market.sim.binance.wire import MICROSECOND, MILLISECOND
from openfingym.market.sim.events import BookChange, Event, ExchangeTrade, ListedPair
from openfingym.market.sim.faults import FOREVER
from openfingym.market.sim.peers import ConnectionTerms, Peer, text_of
from openfingym.market.sim.server import STEP, compact
from openfingym.market.ticks import SECOND

MOST_STREAMS = 1024
_METHODS = ("SUBSCRIBE", "UNSUBSCRIBE", "LIST_SUBSCRIPTIONS", "SET_PROPERTY", "GET_PROPERTY")
_CHANNEL = re.compile(r"(trade|aggTrade|bookTicker|depth|depth(?:5|10|20)|kline_(\w+))(@100ms|@1000ms)?")


def unit_of(request: web.Request) -> int:
    """The unit in which a connection wants its times, in nanoseconds."""
    return MICROSECOND if request.query.get("timeUnit", "").upper() == "MICROSECOND" else MILLISECOND


class StreamPeer(Peer):
    """A connection to market streams.

    Args:
        number: number of the connection.
        request: the request that opens it.
        streams: the streams of the venue.
        terms: the limits of the connection.
    """

    def __init__(self, number: int, request: web.Request, streams: BinanceStreams, terms: ConnectionTerms) -> None:
        super().__init__(number, request, streams.ledger.exchange, streams.ledger.faults, terms)
        self.unit = unit_of(request)
        self.combined = request.path.startswith("/stream")
        """Whether each message states its stream."""
        self.wanted: dict[str, None] = {}
        """Names of the streams that are subscribed, in their order; those that do not exist included."""
        self._streams = streams

    def shutdown(self, now: int) -> str:
        """See :class:`Peer`."""
        event = {"e": "serverShutdown", "E": now // self.unit}
        return compact({"stream": "!serverShutdown", "data": event} if self.combined else event)

    def read(self, frame: str | bytes) -> None:
        """See :class:`Peer`."""
        self.send(compact(self._answer(text_of(frame))))

    def _answer(self, text: str) -> dict[str, Any]:
        try:
            asked = json.loads(text)
        except (ValueError, RecursionError):
            return {"code": 3, "msg": "Invalid JSON: expected value at line 1 column 1"}
        if not isinstance(asked, dict) or asked.get("method") not in _METHODS:
            method = asked.get("method") if isinstance(asked, dict) else asked
            expected = ", ".join(f"`{name}`" for name in _METHODS)
            return {"code": 2, "msg": f"Invalid request: unknown variant `{method}`, expected one of {expected}"}
        number, params = asked.get("id"), asked.get("params", [])
        if not isinstance(number, int | str | None) or isinstance(number, bool):
            return {"code": 2, "msg": "Invalid request: request ID must be an unsigned integer, a string or null"}
        if not isinstance(params, list):
            return {"code": 2, "msg": "Invalid request: invalid type, expected a sequence", "id": number}
        if asked["method"] == "LIST_SUBSCRIPTIONS":
            return {"result": list(self.wanted), "id": number}
        if asked["method"].endswith("PROPERTY"):
            return self._property(asked["method"], params, number)
        if not all(isinstance(name, str) for name in params):
            return {"code": 2, "msg": "Invalid request: invalid type, expected a string", "id": number}
        if asked["method"] == "UNSUBSCRIBE":
            self._streams.unsubscribe(self, params)
        elif len(self.wanted | dict.fromkeys(params)) > MOST_STREAMS:
            return {"code": 2, "msg": f"Invalid request: too many streams, at most {MOST_STREAMS}", "id": number}
        else:
            self._streams.subscribe(self, params)
        return {"result": None, "id": number}

    def _property(self, method: str, params: list[Any], number: object) -> dict[str, Any]:
        if not params or params[0] != "combined":
            return {"code": 0, "msg": "Unknown property", "id": number}
        if method == "GET_PROPERTY":
            return {"result": self.combined, "id": number}
        if len(params) != 2 or not isinstance(params[1], bool):
            return {"code": 1, "msg": "Invalid value type: expected Boolean", "id": number}
        self.combined = params[1]
        return {"result": None, "id": number}


class BinanceStreams:
    """The subscriptions of all connections, and the messages of the streams.

    Args:
        ledger: the records of the venue.
    """

    def __init__(self, ledger: BinanceLedger) -> None:
        self.ledger = ledger
        self._listeners: dict[str, dict[StreamPeer, None]] = defaultdict(dict)  # by name of the stream
        # Changes of books by period and symbol, since the last message of that period.
        self._changes: dict[int, dict[str, list[BookChange]]] = {STEP: defaultdict(list), SECOND: defaultdict(list)}
        self._quotes: dict[str, list[str]] = {}  # the last one that was sent, by name of the stream
        # The last aggregate trade that was sent, by symbol.
        self._aggregates = {symbol: rows[-1].id if rows else 0 for symbol, rows in ledger.aggregates.items()}

    def subscribe(self, peer: StreamPeer, names: Iterable[str]) -> None:
        """Subscribe a connection to streams; one that does not exist is confirmed all the same, and stays silent."""
        for name in names:
            peer.wanted[name] = None
            symbol, _, channel = name.partition("@")
            match = _CHANNEL.fullmatch(channel)
            listed = symbol.upper() in self.ledger.exchange.listings and symbol == symbol.lower()
            if not listed or match is None or (match[2] and match[2] not in wire.INTERVALS):
                continue
            ignored = self.ledger.faults.hit(
                "ignored", peer.exchange.now, connection=peer.number, symbol=symbol.upper(), channel=_kind(channel)
            )
            if ignored is None:
                self._listeners[name][peer] = None

    def unsubscribe(self, peer: StreamPeer, names: Iterable[str]) -> None:
        """End a connection's subscriptions to streams."""
        for name in names:
            peer.wanted.pop(name, None)
            listeners = self._listeners.get(name, {})
            listeners.pop(peer, None)
            if not listeners:
                self._listeners.pop(name, None)

    def publish(self, events: Sequence[Event]) -> None:
        """Send trades and quotes; books and bars wait for :meth:`flush`."""
        for event in events:
            if isinstance(event, ExchangeTrade):
                self._trade(event)
            elif isinstance(event, BookChange):
                for changes in self._changes.values():
                    changes[event.symbol].append(event)
        for symbol, listing in self.ledger.exchange.listings.items():
            self._aggregate(listing)
            name = f"{symbol.lower()}@bookTicker"
            if name in self._listeners:
                self._quote(listing, name)

    def flush_due(self, now: int) -> int:
        """When :meth:`flush` has something to send next, even if nothing happens by then."""
        periods = [period for period, changes in self._changes.items() if changes]
        if any("@kline_" in name for name in self._listeners):
            periods.append(SECOND)
        return (now // min(periods) + 1) * min(periods) if periods else FOREVER

    def flush(self, now: int) -> None:
        """Send changes of books, and bars, at a boundary of :data:`STEP`."""
        for period, suffixes in ((STEP, ("@100ms",)), (SECOND, ("", "@1000ms"))):
            if now % period:
                continue
            changed, self._changes[period] = self._changes[period], defaultdict(list)
            for symbol, changes in changed.items():
                for suffix in suffixes:
                    self._depth(self.ledger.exchange.listings[symbol], changes, suffix)
        if now % SECOND == 0:
            for name in [name for name in self._listeners if "@kline_" in name]:
                self._kline(name, now)

    def _trade(self, trade: ExchangeTrade) -> None:
        listing = self.ledger.exchange.listings[trade.symbol]
        self._emit(listing, "trade", partial(wire.trade_event, listing, trade, self.ledger.now))

    def _aggregate(self, listing: ListedPair) -> None:
        known, said = self.ledger.aggregates[listing.symbol], self._aggregates[listing.symbol]
        last = self._aggregates[listing.symbol] = known[-1].id if known else 0
        # Ids count up by one: so many are new, however many old ones have been dropped.
        for row in known[len(known) - (last - said) :]:
            self._emit(listing, "aggTrade", partial(wire.aggregate_event, listing, row, self.ledger.now))

    def _quote(self, listing: ListedPair, name: str) -> None:
        book = self.ledger.exchange.books[listing.symbol]
        row = wire.best(listing, book)
        if self._quotes.get(name) != row:
            self._quotes[name] = row
            payload = {"u": book.update, "s": listing.symbol, **dict(zip("bBaA", row, strict=True))}
            self._emit(listing, "bookTicker", lambda _: payload)

    def _depth(self, listing: ListedPair, changes: Sequence[BookChange], suffix: str) -> None:
        self._emit(listing, f"depth{suffix}", partial(wire.depth_event, listing, changes, self.ledger.now))
        for most in (5, 10, 20):
            self._emit(listing, f"depth{most}{suffix}", partial(self._levels, listing, most))

    def _levels(self, listing: ListedPair, most: int, _unit: int) -> dict[str, Any]:
        return wire.levels(listing, self.ledger.exchange.books[listing.symbol], most)

    def _kline(self, name: str, now: int) -> None:
        symbol, _, interval_name = name.partition("@kline_")
        interval = wire.INTERVALS[interval_name]
        listing = self.ledger.exchange.listings[symbol.upper()]
        final = wire.left_edge(now, interval) == now
        # A bar that is not over is sent every two seconds.
        if not final and now % (2 * SECOND):
            return
        begin = wire.left_edge(now - 1, interval)
        for bar in wire.bars(self.ledger.exchange.trades[listing.symbol], interval, begin, begin + 1, 1):
            build = partial(wire.kline_event, listing, bar, interval_name, final, self.ledger.now)
            self._emit(listing, f"kline_{interval_name}", build)

    def _emit(self, listing: ListedPair, channel: str, build: Callable[[int], dict[str, Any]]) -> None:
        """Send a message to all connections that are subscribed.

        Args:
            listing: the terms of the symbol.
            channel: the channel, which makes the stream's name with the symbol.
            build: makes the message with times in a unit.
        """
        name = f"{listing.symbol.lower()}@{channel}"
        listeners = self._listeners.get(name)
        if not listeners:
            return
        texts: dict[int, str] = {}  # encoded once for each unit of time, and not for each connection
        for peer in listeners:
            text = texts.get(peer.unit)
            if text is None:
                text = texts[peer.unit] = compact(build(peer.unit))
            frame = f'{{"stream":"{name}","data":{text}}}' if peer.combined else text
            peer.send(frame, symbol=listing.symbol, channel=_kind(channel))


def _kind(channel: str) -> str:
    """The channel as faults name it: ``depth5@100ms`` is ``depth``."""
    return re.split(r"[@_\d]", channel)[0]
