"""A server that speaks Binance's spot protocols over a simulated exchange."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qsl

from aiohttp import web

from openfingym.market.sim.binance.desk import OPERATIONS, BinanceDesk
from openfingym.market.sim.binance.keys import BinanceKey, rest_payload
from openfingym.market.sim.binance.ledger import BinanceLedger
from openfingym.market.sim.binance.market_data import WEIGHT_LIMIT, Operation
from openfingym.market.sim.binance.socket_api import ApiPeer
from openfingym.market.sim.binance.streams import BinanceStreams, StreamPeer
from openfingym.market.sim.binance.wire import MICROSECOND, MILLISECOND, ApiError
from openfingym.market.sim.events import Event
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults
from openfingym.market.sim.peers import ConnectionTerms, Peer
from openfingym.market.sim.server import LocalVenue


class BinanceVenue(LocalVenue):
    """Market streams, REST and the WebSocket API.

    Args:
        exchange: the exchange to serve; nobody else may collect its events.
        faults: the faults of the venue; None for none.
        terms: the limits of each connection; None for those of Binance.
        weight_limit: what the requests of a minute may weigh.
    """

    def __init__(
        self,
        exchange: Exchange,
        faults: Faults | None = None,
        *,
        terms: ConnectionTerms | None = None,
        weight_limit: int = WEIGHT_LIMIT,
    ) -> None:
        self.ledger = BinanceLedger(exchange, faults or Faults())
        super().__init__(self.ledger)
        self.desk = BinanceDesk(self.ledger, weight_limit)
        self._streams = BinanceStreams(self.ledger)
        self._terms = terms or ConnectionTerms()

    @property
    def socket_api_url(self) -> str:
        """The address of the WebSocket API."""
        return f"{self.stream_url}/ws-api/v3"

    def add_key(self, name: str, account: str, *, secret: str | None = None, public: bytes | None = None) -> None:
        """Let whoever has this key trade for an account of the exchange.

        Args:
            name: the API key itself.
            account: name of an account that was opened before.
            secret: the shared secret of a key that signs with HMAC-SHA256; None for a key with ``public``.
            public: the 32 bytes of the public half of an Ed25519 key; None for a key with ``secret``.
        """
        self.exchange.accounts.require(account)
        self.ledger.keys[name] = BinanceKey(name, account, secret, public)

    def routes(self) -> list[web.RouteDef]:
        """See :class:`LocalVenue`."""
        handlers = [web.get(path, self._stream) for path in ("/ws", "/ws/{streams:.+}", "/stream")]
        handlers.append(web.get("/ws-api/v3", self._socket_api))
        for operation in OPERATIONS:
            method, _, path = operation.http.partition(" ")
            handlers.append(web.route(method, path, self._handler(operation)))
        return handlers

    def tell(self, events: Sequence[Event]) -> None:
        """See :class:`LocalVenue`."""
        self._streams.publish(events)
        for peer in self.peers.values():
            if isinstance(peer, ApiPeer):
                peer.publish(events)

    def flush(self, now: int) -> None:
        """See :class:`LocalVenue`."""
        self._streams.flush(now)

    def flush_due(self, now: int) -> int:
        """See :class:`LocalVenue`."""
        return self._streams.flush_due(now)

    def admit(self, peer: Peer, request: web.Request) -> None:
        """See :class:`LocalVenue`."""
        self.fail(request.path)
        self.desk.spend(2 if isinstance(peer, ApiPeer) else 0)

    def fail(self, path: str) -> None:
        """See :class:`LocalVenue`."""
        self.desk.fail(path)

    def lost(self, path: str) -> ApiError | None:
        """See :class:`LocalVenue`."""
        return self.desk.lost(path)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        peer = StreamPeer(self.next_number, request, self._streams, self._terms)
        text = request.match_info.get("streams") or request.query.get("streams", "")
        self._streams.subscribe(peer, [name for name in text.split("/") if name])
        try:
            return await self.serve(request, peer)
        finally:
            self._streams.unsubscribe(peer, tuple(peer.wanted))

    async def _socket_api(self, request: web.Request) -> web.StreamResponse:
        return await self.serve(request, ApiPeer(self.next_number, request, self, self._terms))

    def _handler(self, operation: Operation) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        path = operation.http.partition(" ")[2]
        placing = operation.method == "order.place"

        async def handle(request: web.Request) -> web.StreamResponse:
            counts: dict[str, str] = {}
            body = (await request.read()).decode("utf-8", "replace")

            def headers() -> dict[str, str]:
                weight = str(self.desk.used_weight)
                return {"X-MBX-USED-WEIGHT-1M": weight, "X-MBX-USED-WEIGHT": weight, **counts}

            return await self.answer(
                path, lambda: self._carry(operation, request, body, counts), headers, placing=placing
            )

        return handle

    def _carry(self, operation: Operation, request: web.Request, body: str, headers: dict[str, str]) -> object:
        """Carry a request out, and return its result; header fields of the answer are added to ``headers``."""
        query = request.raw_path.partition("?")[2]  # as it was sent: its signature is of these bytes
        params = dict(parse_qsl(query, keep_blank_values=True)) | dict(parse_qsl(body, keep_blank_values=True))
        micro = request.headers.get("X-MBX-TIME-UNIT", "").upper() == "MICROSECOND"
        account = ""
        if operation.signed:
            payload, signature = rest_payload(query, body)
            name = request.headers.get("X-MBX-APIKEY")
            account = self.desk.authenticate(name, payload, signature, params).account
        result = self.desk.answer(operation, params, MICROSECOND if micro else MILLISECOND, account)
        if operation.method == "order.place":
            counts = self.desk.order_counts(account)
            headers["X-MBX-ORDER-COUNT-10S"], headers["X-MBX-ORDER-COUNT-1D"] = map(str, counts)
        return result
