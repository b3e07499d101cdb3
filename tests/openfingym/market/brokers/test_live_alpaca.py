"""An account at Alpaca that runs, over real sockets: keys in the first frame, and events in binary frames."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from aiohttp import web

from openfingym.errors import VenueError
from openfingym.market.brokers.alpaca import Alpaca
from openfingym.market.brokers.live import LiveBroker
from openfingym.market.brokers.reports import OrderState
from openfingym.market.commands import Tell
from openfingym.market.feed import Request
from openfingym.market.keys import Keys
from openfingym.trading.orders import Order, OrderType, Side
from tests.openfingym.market.brokers.fake_alpaca import INSTRUMENTS, FakeAlpaca

KEYS = Keys("PK-the-key-of-ann", "the-secret-nobody-may-see")


class AlpacaServer:
    """:class:`FakeAlpaca` on a port of its own, in a thread of its own."""

    def __init__(self) -> None:
        self.fake, self.address, self.cut = FakeAlpaca(), "", False
        self.loop = asyncio.new_event_loop()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._begun.wait(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        runner = self.loop.run_until_complete(self._start())
        self._begun.set()
        self.loop.run_forever()
        self.loop.run_until_complete(runner.cleanup())
        self.loop.close()

    async def _start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/stream", self._stream)
        app.router.add_route("*", "/v2/{rest:.*}", self._rest)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.address = f"127.0.0.1:{runner.addresses[0][1]}"
        return runner

    async def _rest(self, request: web.Request) -> web.Response:
        self.fake.now = time.time_ns()
        if request.headers.get("APCA-API-SECRET-KEY") != KEYS.secret:
            return web.json_response({"message": "unauthorized."}, status=401)
        if request.method in {"POST", "PATCH"}:
            assert request.content_type == "application/json"
        answer = self.fake.answer(Request(request.method, request.path_qs, body=await request.text() or None))
        return web.Response(status=answer.status, body=answer.body)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.cut = False
        login = json.loads((await socket.receive()).data)
        right = (login["key"], login["secret"]) == (KEYS.key, KEYS.secret)
        status = "authorized" if right else "unauthorized"
        await self._send(socket, {"stream": "authorization", "data": {"status": status, "action": "authenticate"}})
        if right:
            listen = json.loads((await socket.receive()).data)
            await self._send(socket, {"stream": "listening", "data": listen["data"]})
        while not self.cut and not socket.closed:
            frames, self.fake.frames = self.fake.frames, []
            for frame in frames:
                await socket.send_bytes(frame)
            await asyncio.sleep(0.005)
        await socket.close()
        return socket

    @staticmethod
    async def _send(socket: web.WebSocketResponse, value: object) -> None:
        await socket.send_bytes(json.dumps(value).encode())

    def stop(self) -> None:
        self.cut = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)

    def fill(self, quantity: str, price: str) -> None:
        async def done() -> None:
            self.fake.now = time.time_ns()
            self.fake.fill(self.fake.open()[0], Decimal(quantity), Decimal(price))

        asyncio.run_coroutine_threadsafe(done(), self.loop).result(10)

    def broker(self, keys: Keys = KEYS) -> Alpaca:
        return Alpaca(INSTRUMENTS, keys, rest=f"http://{self.address}", stream=f"ws://{self.address}/stream")


@pytest.fixture
def server() -> Iterator[AlpacaServer]:
    running = AlpacaServer()
    yield running
    running.stop()


def until(holds: Callable[[], bool]) -> None:
    for _ in range(1500):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come")


def test_an_account_at_alpaca_runs_over_real_sockets(server: AlpacaServer) -> None:
    told: list[Tell] = []
    with LiveBroker(server.broker(), ["AAPL"], price=lambda symbol: 100.0, tell=told.append) as live:
        live.ready(20)
        assert live.account().cash == 100_000
        (number,) = live.submit([Order(0, Side.BUY, 5.0, OrderType.LIMIT, 100.0)])
        mirror = live.machine.executor.mirror
        until(lambda: [order.state for order in mirror] == [OrderState.OPEN])
        server.fill("2", "99.5")
        until(lambda: live.positions() == (2.0,))
        live.replace(number, limit_price=101.0)
        until(lambda: [order.limit_price for order in live.open_orders()] == [101.0] and len(mirror.by_id) == 2)
        server.cut = True
        until(lambda: any(tell.kind == "lost" for tell in told))
        server.fill("1", "99")
        server.fake.frames.clear()
        until(lambda: live.positions() == (3.0,))
        until(lambda: live.machine.executor.ready)
    assert not server.fake.open()
    assert server.fake.posts == 1
    assert live.account().cash == float(server.fake.cash)


def test_wrong_keys_of_alpaca_are_an_error_that_says_what_to_do(server: AlpacaServer) -> None:
    wrong = Keys("PK-the-key-of-ann", "another-secret-nobody-may-see")
    with LiveBroker(server.broker(wrong), ["AAPL"], price=lambda symbol: 100.0) as live:
        with pytest.raises(VenueError, match="APCA_API_KEY_ID and APCA_API_SECRET_KEY") as refused:
            live.ready(20)
        assert wrong.secret not in str(refused.value)
