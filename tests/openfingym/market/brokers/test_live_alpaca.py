"""An account at Alpaca that runs, over real sockets: keys in the first frame, and events in binary frames."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

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
from tests.openfingym.market.served import Served

KEYS = Keys("PK-the-key-of-ann", "the-secret-nobody-may-see")


class AlpacaServer(Served):
    """:class:`FakeAlpaca` on a port of its own, in a thread of its own."""

    def __init__(self) -> None:
        super().__init__(web.get("/stream", self._stream), web.route("*", "/v2/{rest:.*}", self._rest))
        self.fake, self.cut = FakeAlpaca(), False

    def __exit__(self, *_: object) -> None:
        self.cut = True
        super().__exit__()

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

    def fill(self, quantity: str, price: str) -> None:
        async def done() -> None:
            self.fake.now = time.time_ns()
            self.fake.fill(self.fake.open()[0], Decimal(quantity), Decimal(price))

        asyncio.run_coroutine_threadsafe(done(), self.loop).result(10)

    def broker(self, keys: Keys = KEYS) -> Alpaca:
        return Alpaca(INSTRUMENTS, keys, rest=f"http://{self.address}", stream=f"ws://{self.address}/stream")


@pytest.fixture
def server() -> Iterator[AlpacaServer]:
    with AlpacaServer() as running:
        yield running


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


def test_the_documented_strategy_trades_on_a_local_venue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[4] / "docs" / "live.md").read_text()
    [program] = [code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "LiveBroker(" in code]
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "live.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    told = [line for line in printed if line.startswith("Tell(")]
    *fills, refused, account = (line for line in printed if line not in told)
    # Of two orders, each of which may be filled in parts.
    sizes = [re.fullmatch(r"FILLED (\d+\.0) 2\d\d\.\d+ NONE ", line) for line in fills]
    assert sum(float(size[1]) for size in sizes if size) == 20.0
    assert refused == "REJECTED 10.0 nan VENUE_REFUSED AAPL is not for sale."
    assert account.startswith("(20.0,) 95")
    assert (tmp_path / "journal" / "orders.jsonl").is_file()
    assert "'connected'" in told[0]
    assert not [line for line in told if "fills were missing" in line]


def test_wrong_keys_of_alpaca_are_an_error_that_says_what_to_do(server: AlpacaServer) -> None:
    wrong = Keys("PK-the-key-of-ann", "another-secret-nobody-may-see")
    with LiveBroker(server.broker(wrong), ["AAPL"], price=lambda symbol: 100.0) as live:
        with pytest.raises(VenueError, match="APCA_API_KEY_ID and APCA_API_SECRET_KEY") as refused:
            live.ready(20)
        assert wrong.secret not in str(refused.value)
