"""A server that speaks Alpaca's protocols over a simulated exchange."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from aiohttp import web

from openfingym.errors import VenueError
from openfingym.market.keys import Keys
from openfingym.market.sim.alpaca.account import ACCOUNT_ROUTES
from openfingym.market.sim.alpaca.calls import AlpacaCall, AlpacaRoute
from openfingym.market.sim.alpaca.data import DATA_ROUTES
from openfingym.market.sim.alpaca.funds import CASH
from openfingym.market.sim.alpaca.hours import MarketHours
from openfingym.market.sim.alpaca.ledger import FIRST_CORRECTION, AlpacaLedger
from openfingym.market.sim.alpaca.orders import ORDER_ROUTES
from openfingym.market.sim.alpaca.streams import DataPeer, DataStreams
from openfingym.market.sim.alpaca.updates import TradePeer
from openfingym.market.sim.alpaca.wire import MINUTE, AlpacaRefusalError, is_crypto, unprocessable
from openfingym.market.sim.events import Event, ExchangeExecution, ExchangeTrade, ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults
from openfingym.market.sim.peers import ConnectionTerms, Peer
from openfingym.market.sim.server import LocalVenue
from openfingym.market.ticks import SECOND

# Alpaca closes no connection for its age.
TERMS = ConnectionTerms(ping_s=10.0, pong_s=60.0, life_s=float("inf"), messages=100)
_STOCK_FEEDS = ("iex", "sip", "delayed_sip", "test")
_COIN_FEEDS = ("us", "us-1", "eu-1")


def stock(symbol: str, *, lot: Decimal = Decimal(1)) -> ListedPair:
    """A stock as Alpaca trades it, without fees; a lot below 1 lets it trade in fractions."""
    return ListedPair(symbol, symbol, CASH, Decimal("0.01"), lot, 0, 0)


def coin(
    symbol: str, *, tick: Decimal = Decimal("0.01"), lot: Decimal = Decimal("0.0001"), fee_ppm: int = 2500
) -> ListedPair:
    """A pair of a coin and the dollar, such as ``BTC/USD``; its fee is taken from what is received."""
    return ListedPair(symbol, symbol.partition("/")[0], CASH, tick, lot, fee_ppm, fee_ppm)


class AlpacaVenue(LocalVenue):
    """Streams and REST of market data, trading, and order events.

    Args:
        exchange: the exchange to serve; nobody else may collect its events. Symbols with a slash are crypto.
        faults: the faults of the venue; None for none.
        terms: the limits of each connection.
        hours: the trading hours of stocks, outside which their crowds stand still; None for always.
        requests: how many requests an account may send in a minute, of trading and of market data each.
        most_symbols: how many symbols' trades or quotes one connection may subscribe.
        paper: whether order events are sent in binary frames, as on the paper venue.

    Raises:
        VenueError: the exchange lists a symbol that Alpaca would not list.
    """

    def __init__(
        self,
        exchange: Exchange,
        faults: Faults | None = None,
        *,
        terms: ConnectionTerms = TERMS,
        hours: MarketHours | None = None,
        requests: int = 200,
        most_symbols: int = 30,
        paper: bool = True,
    ) -> None:
        for symbol, listing in exchange.listings.items():
            fee = listing.maker_ppm or listing.taker_ppm
            if listing.quote != CASH or (fee and not is_crypto(symbol)):
                raise VenueError(
                    f"Alpaca would not list {symbol}: expected a price in {CASH} and, of a stock, no fee; list it by "
                    "stock() or coin()"
                )
        self.ledger = AlpacaLedger(exchange, faults or Faults(), hours or MarketHours())
        super().__init__(self.ledger)
        self._terms = terms
        self._paper = paper
        self._requests = requests
        self._used: dict[tuple[str, bool], tuple[int, int]] = {}  # (minute, requests) by account, and whether of data
        self._streams = DataStreams(self.ledger, most_symbols)
        self._corrections = FIRST_CORRECTION
        self._halts: set[str] = set()
        self._open = True
        self._hours(exchange.now)

    @property
    def order_stream_url(self) -> str:
        """The address of the stream of order events."""
        return f"{self.stream_url}/stream"

    def add_key(self, name: str, secret: str, account: str) -> None:
        """Let whoever has these keys trade for an account.

        Args:
            name: the API key itself.
            secret: the secret that belongs to it.
            account: name of an account of the exchange that was opened before.
        """
        self.exchange.accounts.require(account)
        self.ledger.keys[name] = Keys(name, secret), account

    def drop_key(self, name: str) -> None:
        """Refuse a key from now on, as when a paper account is reset; connections stay open."""
        self.ledger.keys.pop(name, None)

    def halt(self, symbol: str, *, reason: str = "T1", why: str = "Halt News Pending") -> None:
        """Stop the trading of a stock, and report it.

        Args:
            symbol: the stock that is to stop.
            reason: Alpaca's code of the reason.
            why: the reason in words.
        """
        self._stock(symbol)
        self._halts.add(symbol)
        self.exchange.halt(symbol)
        self._streams.status(symbol, "H", "Trading Halt", reason, why)

    def resume(self, symbol: str, *, reason: str = "T3", why: str = "News and Resumption Times") -> None:
        """Let a stock trade again, and report it.

        Args:
            symbol: the stock that is to resume.
            reason: Alpaca's code of the reason.
            why: the reason in words.
        """
        self._stock(symbol)
        self._halts.discard(symbol)
        self._streams.status(symbol, "T", "Trading Resumption", reason, why)
        if self._open:
            self._begin(symbol)

    def cancel_trade(self, symbol: str, number: int) -> None:
        """Take a trade of a stock back."""
        self._amend(symbol, number, None)

    def correct_trade(self, symbol: str, number: int, *, price: int, quantity: int) -> None:
        """Correct a trade of a stock.

        Args:
            symbol: the stock that was traded.
            number: number of the trade.
            price: its corrected price in ticks.
            quantity: its corrected quantity in lots.
        """
        self._amend(symbol, number, (price, quantity))

    def _amend(self, symbol: str, number: int, right: tuple[int, int] | None) -> None:
        self._stock(symbol)
        trade = next((trade for trade in reversed(self.exchange.trades[symbol]) if trade.id == number), None)
        if trade is None:
            raise VenueError(f"{symbol} has no trade {number}: expected the id of one of its last trades")
        instead: ExchangeTrade | None = None
        if right is not None:
            self._corrections += 1
            instead = trade._replace(id=self._corrections, price=right[0], quantity=right[1])
        self.publish()  # the trade itself, before its correction
        self.ledger.amend(trade, instead)
        self._streams.amended(trade, instead)

    def _stock(self, symbol: str) -> None:
        if symbol not in self.exchange.listings or is_crypto(symbol):
            raise VenueError(f"{symbol!r} is no stock that is listed: {', '.join(self.exchange.listings)} are listed")

    def routes(self) -> list[web.RouteDef]:
        """See :class:`LocalVenue`."""
        handlers = [web.get(f"/v2/{feed}", self._data_stream(False)) for feed in _STOCK_FEEDS]
        handlers += [web.get(f"/v1beta3/crypto/{feed}", self._data_stream(True)) for feed in _COIN_FEEDS]
        handlers.append(web.get("/stream", self._order_stream))
        for of_data, routes in ((True, DATA_ROUTES), (False, (*ORDER_ROUTES, *ACCOUNT_ROUTES))):
            handlers += [web.route(route.method, route.path, self._handler(route, of_data)) for route in routes]
        return handlers

    def tell(self, events: Sequence[Event]) -> None:
        """See :class:`LocalVenue`."""
        self._streams.publish(events)
        for peer in self.peers.values():
            if isinstance(peer, TradePeer):
                peer.publish(events)

    def flush(self, now: int) -> None:
        """See :class:`LocalVenue`."""
        self._streams.flush(now)
        self._hours(now)

    def admit(self, peer: Peer, request: web.Request) -> None:  # noqa: ARG002
        """See :class:`LocalVenue`."""
        self.fail(request.path)

    def fail(self, path: str) -> None:
        """See :class:`LocalVenue`."""
        fault = self.faults.hit("limited", self.exchange.now, path=path)
        if fault is not None:
            reset = -(-self.ledger.now // SECOND) + int(fault.seconds)
            raise self._too_many(reset, {"Retry-After": str(int(fault.seconds))})
        fault = self.faults.hit("refused", self.exchange.now, path=path)
        if fault is not None:
            raise AlpacaRefusalError(fault.status, 40310000, fault.text or "forbidden.")

    def lost(self, path: str) -> AlpacaRefusalError | None:
        """See :class:`LocalVenue`."""
        fault = self.faults.hit("lost-answer", self.exchange.now, path=path)
        return AlpacaRefusalError(fault.status, 50010000, "internal server error occurred") if fault else None

    def _too_many(self, reset: int, more: Mapping[str, str] | None = None) -> AlpacaRefusalError:
        headers = {"X-RateLimit-Limit": str(self._requests), "X-RateLimit-Remaining": "0"}
        headers |= {"X-RateLimit-Reset": str(reset), **(more or {})}
        return AlpacaRefusalError(429, 42910000, "too many requests.", headers)

    def _hours(self, now: int) -> None:
        """Open or close the market of stocks where it is time."""
        opened = self.ledger.hours.open(now)
        if opened == self._open:
            return
        self._open = opened
        for symbol in [symbol for symbol in self.exchange.listings if not is_crypto(symbol)]:
            if not opened:
                self.exchange.halt(symbol)
                # Orders of the day end with it; others wait for the next one.
                for order in self.exchange.open_orders_of(symbol):
                    if self.ledger.terms_of(order).time_in_force == "day":
                        self.exchange.expire(order)
            elif symbol not in self._halts:
                self._begin(symbol)
        self.publish()

    def _begin(self, symbol: str) -> None:
        """Let a stock trade: orders that have waited were accepted, and are new now."""
        self.publish()
        for order in self.exchange.open_orders_of(symbol):
            if order.status == "new":
                self._report_new(order.account, symbol, order.id)
        self.exchange.resume(symbol)
        self.publish()

    def _report_new(self, account: str, symbol: str, number: int) -> None:
        order = self.exchange.orders[symbol, number]
        # A report of the venue's own: below zero, its number is none of the exchange's.
        event = ExchangeExecution(symbol, self.exchange.now, -number, "new", account, order, "new", 0, 0)
        for peer in self.peers.values():
            if isinstance(peer, TradePeer) and peer.hears(account):
                peer.tell(event, waiting=False)

    def _data_stream(self, crypto: bool) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            peer = DataPeer(self.next_number, request, self._streams, self._terms, crypto)
            peer.welcome()
            try:
                return await self.serve(request, peer)
            finally:
                self._streams.leave(peer)

        return handle

    async def _order_stream(self, request: web.Request) -> web.StreamResponse:
        peer = TradePeer(self.next_number, request, self.ledger, self._terms, binary=self._paper)
        return await self.serve(request, peer)

    def _handler(self, route: AlpacaRoute, of_data: bool) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            limits: dict[str, str] = {}
            body = await request.read()

            def work() -> Any:
                # Anybody may ask for the data of crypto.
                anonymous = "/crypto/" in route.path and "APCA-API-KEY-ID" not in request.headers
                account = "" if anonymous else self.ledger.authenticate(request.headers)
                self._spend(account, of_data, limits)
                call = AlpacaCall(dict(request.query), dict(request.match_info), _fields(body), account)
                return route.run(self.ledger, call)

            return await self.answer(request.path, work, lambda: limits, placing=route.placing)

        return handle

    def _spend(self, account: str, of_data: bool, limits: dict[str, str]) -> None:
        """Count a request, and state what is left of the limit.

        Args:
            account: name of the account; empty for requests without keys, which share a limit.
            of_data: whether it asks for market data.
            limits: the header fields of the answer, which are added to.

        Raises:
            AlpacaRefusalError: too many requests: 429.
        """
        minute = self.ledger.now // MINUTE
        before, used = self._used.get((account, of_data), (minute, 0))
        used = used + 1 if before == minute else 1
        self._used[account, of_data] = minute, used
        reset = (minute + 1) * MINUTE // SECOND
        if used > self._requests:
            raise self._too_many(reset)
        limits["X-RateLimit-Limit"] = str(self._requests)
        limits["X-RateLimit-Remaining"] = str(self._requests - used)
        limits["X-RateLimit-Reset"] = str(reset)


def _fields(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise unprocessable("request body format is invalid: expected a JSON object")
    return fields
