"""A server that speaks Binance's spot protocols over a simulated exchange."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from aiohttp import web

from openfingym.market.clock import Clock, SystemClock
from openfingym.market.sim.binance.desk import OPERATIONS, OrderDesk
from openfingym.market.sim.binance.keys import Key, rest_payload
from openfingym.market.sim.binance.ledger import VenueLedger
from openfingym.market.sim.binance.market_data import WEIGHT_LIMIT, Operation
from openfingym.market.sim.binance.peers import Peer, Terms
from openfingym.market.sim.binance.socket_api import ApiPeer
from openfingym.market.sim.binance.streams import STEP, StreamPeer, Streams, compact
from openfingym.market.sim.binance.wire import MICROSECOND, MILLISECOND, SECOND, ApiError
from openfingym.market.sim.driver import drive
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Alarms, Faults

SIMULATED = "X-OpenFinGym-Simulated"
"""The header field by which every answer says that this is no market."""


class BinanceVenue:
    """Market streams, REST and the WebSocket API on one port of this machine.

    The venue's time is the exchange's: :meth:`advance` lets it pass by hand, and :meth:`run` by a clock. Pings, limits,
    the lives of connections and all faults follow it.

    Args:
        exchange: what it serves; nobody else may collect its events.
        faults: what goes wrong.
        terms: what it grants connections.
        weight_limit: weight of requests in a minute.
    """

    simulated = True

    def __init__(
        self,
        exchange: Exchange,
        faults: Faults | None = None,
        *,
        terms: Terms | None = None,
        weight_limit: int = WEIGHT_LIMIT,
    ) -> None:
        self.exchange = exchange
        self.faults = faults or Faults()
        self.ledger = VenueLedger(exchange, self.faults)
        self.desk = OrderDesk(self.ledger, weight_limit)
        self.peers: dict[int, Peer] = {}
        """The open connections by number."""
        self._streams = Streams(self.ledger)
        self._terms = terms or Terms()
        self._alarms = Alarms()
        self._connections = 0
        self._runner: web.AppRunner | None = None
        self._address = ""

    @property
    def rest_url(self) -> str:
        """Where the REST interface is, without a path."""
        return f"http://{self._address}"

    @property
    def stream_url(self) -> str:
        """Where the market streams are, without ``/ws`` or ``/stream``."""
        return f"ws://{self._address}"

    @property
    def socket_api_url(self) -> str:
        """Where the WebSocket API is."""
        return f"ws://{self._address}/ws-api/v3"

    def add_key(self, name: str, account: str, *, secret: str | None = None, public: bytes | None = None) -> None:
        """Let who has this key trade for an account of the exchange.

        Args:
            name: the API key.
            account: opened before.
            secret: of HMAC-SHA256; or
            public: the 32 bytes of an Ed25519 public key.
        """
        self.exchange.accounts.known(account)
        self.ledger.keys[name] = Key(name, account, secret, public)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        app = web.Application()
        for path in ("/ws", "/ws/{streams:.+}", "/stream"):
            app.router.add_get(path, self._stream)
        app.router.add_get("/ws-api/v3", self._socket_api)
        for operation in OPERATIONS:
            method, _, path = operation.http.partition(" ")
            app.router.add_route(method, path, self._handler(operation))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        address = self._runner.addresses[0]
        self._address = f"{address[0]}:{address[1]}"

    async def stop(self) -> None:
        """Cut all connections and stop listening."""
        for peer in tuple(self.peers.values()):
            peer.abort()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def run(self, clock: Clock | None = None, *, speed: float = 1.0) -> None:
        """Let time pass by a clock until cancelled."""
        await drive(self.advance, self.exchange.now, clock or SystemClock(), speed=speed)

    def advance(self, to: int) -> None:
        """Let time pass until ``to``, in nanoseconds, and send what happens.

        No frame leaves before the caller gives the event loop its turn: after a long step, connections have many
        waiting, and those that have more than :data:`~openfingym.market.sim.binance.peers.MOST_WAITING` are cut.
        """
        self.publish()
        while (now := self.exchange.now) < to:
            boundary = (now // STEP + 1) * STEP
            events = self.exchange.advance(min(boundary, to))
            self.ledger.note(events)
            self.ledger.pending += events
            self.publish()
            if boundary <= to:
                self._streams.flush(boundary)
            self._alarms.advance(self.exchange.now)
            self._disturb(now, self.exchange.now)
            for peer in tuple(self.peers.values()):
                peer.tick(self.exchange.now)

    def publish(self) -> None:
        """Send what has happened and is not sent yet."""
        self.ledger.collect()
        events, self.ledger.pending = self.ledger.pending, []
        if events:
            self._streams.publish(events)
            for peer in self.peers.values():
                if isinstance(peer, ApiPeer):
                    peer.publish(events)

    async def wait(self, seconds: float) -> None:
        """Wait for so many seconds of the exchange's time."""
        done = asyncio.Event()
        self._alarms.at(self.exchange.now + int(seconds * SECOND), done.set)
        await done.wait()

    async def delayed(self, path: str, placing: bool) -> None:
        """Hold an answer back where a fault does."""
        hang = self.faults.hit("hang", self.exchange.now, path=path)
        early = self.faults.hit("early-execution", self.exchange.now, path=path) if placing else None
        if hang is not None or early is not None:
            self.publish()
            await self.wait(max(fault.seconds for fault in (hang, early) if fault is not None))

    def _disturb(self, before: int, now: int) -> None:
        for kind in ("shutdown", "close", "abort"):
            for fault in self.faults.begun(kind, before, now):
                for number, peer in tuple(self.peers.items()):
                    if fault.connection not in {None, number}:
                        continue
                    if kind == "shutdown":
                        peer.send(peer.shutdown(self.ledger.now))
                    elif kind == "close":
                        peer.close()
                    else:
                        peer.abort()

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        peer = StreamPeer(self._connections, request, self._streams, self._terms)
        text = request.match_info.get("streams") or request.query.get("streams", "")
        self._streams.subscribe(peer, [name for name in text.split("/") if name])
        try:
            return await self._serve(request, peer)
        finally:
            self._streams.unsubscribe(peer, tuple(peer.wanted))

    async def _socket_api(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, ApiPeer(self._connections, request, self, self._terms))

    async def _serve(self, request: web.Request, peer: Peer) -> web.StreamResponse:
        self._connections += 1
        try:
            self.desk.fail(request.path)
            self.desk.spend(2 if isinstance(peer, ApiPeer) else 0)
        except ApiError as error:
            return self._response(error.json(), error.status, {"Retry-After": str(error.retry_after_s)})
        if self.faults.hit("abort", self.exchange.now, connection=peer.number):
            peer.abort()
        if self.faults.hit("close", self.exchange.now, connection=peer.number):
            return self._response({}, 503, {})
        self.peers[peer.number] = peer
        try:
            return await peer.serve()
        finally:
            del self.peers[peer.number]

    @staticmethod
    def _response(found: object, status: int, headers: dict[str, str]) -> web.Response:
        headers = {SIMULATED: "1", **headers}
        return web.Response(text=compact(found), status=status, headers=headers, content_type="application/json")

    def _handler(self, operation: Operation) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        path = operation.http.partition(" ")[2]

        async def handle(request: web.Request) -> web.StreamResponse:
            slow = self.faults.hit("slow", self.exchange.now, path=path)
            if slow is not None:
                await self.wait(slow.seconds)
            headers: dict[str, str] = {}
            query = request.raw_path.partition("?")[2]
            body = (await request.read()).decode("utf-8", "replace")
            try:
                self.desk.fail(path)
                status, found = 200, self._answer(operation, request, query, body, headers)
                lost = self.desk.lost(path)
                if lost is not None:
                    raise lost
            except ApiError as error:
                status, found = error.status, error.json()
                if error.retry_after_s is not None:
                    headers["Retry-After"] = str(error.retry_after_s)
            headers["X-MBX-USED-WEIGHT-1M"] = headers["X-MBX-USED-WEIGHT"] = str(self.desk.used_weight)
            await self.delayed(path, operation.method == "order.place")
            asyncio.get_running_loop().call_soon(self.publish)  # when the answer is on its way
            return self._response(found, status, headers)

        return handle

    def _answer(
        self, operation: Operation, request: web.Request, query: str, body: str, headers: dict[str, str]
    ) -> object:
        params = dict(parse_qsl(query, keep_blank_values=True)) | dict(parse_qsl(body, keep_blank_values=True))
        micro = request.headers.get("X-MBX-TIME-UNIT", "").upper() == "MICROSECOND"
        account = ""
        if operation.signed:
            payload, signature = rest_payload(query, body)
            name = request.headers.get("X-MBX-APIKEY")
            account = self.desk.authenticate(name, payload, signature, params).account
        found = self.desk.answer(operation, params, MICROSECOND if micro else MILLISECOND, account)
        if operation.method == "order.place":
            counts = self.desk.order_counts(account)
            headers["X-MBX-ORDER-COUNT-10S"], headers["X-MBX-ORDER-COUNT-1D"] = map(str, counts)
        return found
