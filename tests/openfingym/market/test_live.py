"""The thread that runs a feed, and the transports, against a server on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from aiohttp import WSCloseCode, web

from openfingym.errors import ConnectionClosedError, VenueError
from openfingym.market.commands import Instant, Tell
from openfingym.market.feed import Address, Frame, Request
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.ingest import Ingest
from openfingym.market.live import Live
from openfingym.market.replay import replay
from openfingym.market.rest import RestClient
from openfingym.market.state import MarketState
from openfingym.market.tape import NoRecorder, Record, RecordKind
from openfingym.market.ticks import Trade
from openfingym.market.transport import AiohttpTransport, Transport, WebsocketsTransport
from tests.openfingym.market.plain import PlainMarket, _rest, trade_frame
from tests.openfingym.market.served import Served

TRANSPORTS = (AiohttpTransport, WebsocketsTransport)


class Server(Served):
    """A venue of one symbol; ``send`` trades, ``cut`` connections."""

    def __init__(self) -> None:
        super().__init__(web.get("/stream", self._stream), web.get("/api/v3/{what:.*}", self._rest))
        self.sockets: list[web.WebSocketResponse] = []
        self.history: list[Trade] = []
        self.refusals: list[web.Response] = []

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        if self.refusals:
            return self.refusals.pop()
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.append(socket)
        async for message in socket:
            found = json.loads(message.data)
            await socket.send_json({"result": None, "id": found["id"]})
        return socket

    async def _rest(self, request: web.Request) -> web.Response:
        what = request.match_info["what"]
        if what == "historicalTrades":
            begin = int(request.query["fromId"])
            return web.json_response([_rest(trade) for trade in self.history if trade.id >= begin])
        if what == "time":
            return web.json_response({"serverTime": 1_767_000_000_000})
        if what == "slow":
            await asyncio.sleep(30)
        if what == "limited":
            return web.Response(status=429, headers={"Retry-After": "7", "X-MBX-USED-WEIGHT-1M": "1234"})
        return web.json_response([])

    def do(self, work: Callable[[], Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work(), self.loop)

    def trade(self, count: int = 1, *, tell: bool = True) -> None:
        first = self.history[-1].id + 1 if self.history else 100
        fresh = [Trade("BTCUSDT", first + n, 10.0, 1.0, 1_767_000_000_000 * 10**6, 1) for n in range(count)]
        self.history += fresh

        async def send() -> None:
            for trade in fresh:
                for socket in self.sockets:
                    if not socket.closed:
                        await socket.send_str(trade_frame(trade))

        if tell:
            self.do(send).result(30)

    def cut(self) -> None:
        async def close() -> None:
            sockets, self.sockets = self.sockets, []
            for socket in sockets:
                await socket.close(code=WSCloseCode.GOING_AWAY)

        self.do(close).result(10)


class Tape(NoRecorder):
    """Keeps inputs."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, kind: RecordKind, at: Instant, connection: int = 0, payload: Frame = b"") -> None:
        self.records.append(Record(len(self.records), kind, at, connection, payload))


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def feed_of(server: Server) -> BinanceFeed:
    url = server.address
    return BinanceFeed(["BTCUSDT"], stream_url=f"ws://{url}", rest_url=f"http://{url}", simulated=True)


def machine_of(server: Server) -> tuple[Ingest, PlainMarket]:
    market = PlainMarket(["BTCUSDT"])
    return Ingest(feed_of(server), market, np.random.default_rng(0)), market


class Watcher:
    """Waits for what a runner tells, and for what holds at some time."""

    def __init__(self) -> None:
        self.told: list[Tell] = []
        self._news = threading.Condition()

    def __call__(self, tell: Tell) -> None:
        with self._news:
            self.told.append(tell)
            self._news.notify_all()

    def wait(self, holds: Callable[[], bool], seconds: float = 30.0) -> None:
        with self._news:
            for _ in range(int(seconds / 0.02)):
                if holds():
                    return
                self._news.wait(0.02)
        raise AssertionError(f"it did not come in {seconds} s; told: {self.told}")

    def heard(self, kind: str, count: int = 1) -> None:
        self.wait(lambda: sum(tell.kind == kind for tell in self.told) >= count)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_feed_survives_cut_connections_and_misses_nothing(server: Server, transport: type[Transport]) -> None:
    machine, market = machine_of(server)
    watch, tape = Watcher(), Tape()
    trades = market.trades["BTCUSDT"]
    with Live(machine, transport=transport, recorder=tape, tell=watch) as live:
        watch.heard("connected")
        server.trade(50)
        watch.wait(lambda: len(trades) == 50)
        server.cut()
        server.trade(30, tell=False)
        watch.heard("connected", 2)
        watch.wait(lambda: len(trades) == 80)
        watch.heard("filled-gap")
        server.trade(20)
        watch.wait(lambda: len(trades) == 100)
        live.check()
        name = live._thread.name
    assert not any(thread.name == name for thread in threading.enumerate())
    fresh, again = machine_of(server)
    replay(tape.records, fresh, str)
    assert again.ticks == market.ticks
    assert sorted(again.trades["BTCUSDT"]) == sorted(trades)
    kinds = [record.kind for record in tape.records]
    assert kinds[0] is RecordKind.START
    assert {
        RecordKind.OPENED,
        RecordKind.FRAME,
        RecordKind.CLOSED,
        RecordKind.ASKED,
        RecordKind.ANSWERED,
        RecordKind.PASSED,
        RecordKind.TOLD,
    } <= set(kinds)


def test_a_function_that_fails_when_it_is_told_costs_no_message(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    machine, market = machine_of(server)
    watch, trades = Watcher(), market.trades["BTCUSDT"]

    def broken(tell: Tell) -> None:
        watch(tell)
        raise ZeroDivisionError(tell.kind)

    with Live(machine, tell=broken) as live:
        watch.heard("connected")
        server.trade(20)
        watch.wait(lambda: len(trades) == 20)
        server.cut()
        server.trade(10, tell=False)
        watch.heard("connected", 2)
        watch.wait(lambda: len(trades) == 30)
        server.trade(10)
        watch.wait(lambda: len(trades) == 40)
        live.check()
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_a_transport_cannot_open_or_has_lost_is_an_error_of_ours(
    server: Server, transport: type[Transport]
) -> None:
    async def scenario() -> None:
        carrier = transport()
        try:
            server.refusals.append(web.Response(status=429, headers={"Retry-After": "7"}))
            address = Address(f"ws://{server.address}/stream", {"Secret": "hush"})
            with pytest.raises(ConnectionClosedError, match="429") as refused:
                await carrier.connect(address)
            assert refused.value.retry_after_s == 7
            assert "hush" not in str(refused.value)
            with pytest.raises(ConnectionClosedError):
                await carrier.connect(Address("ws://127.0.0.1:1/stream"))
            connection = await carrier.connect(address)
            await connection.send('{"id":5}')
            assert json.loads(await connection.receive()) == {"result": None, "id": 5}
            await asyncio.to_thread(server.cut)
            with pytest.raises(ConnectionClosedError):
                await connection.receive()
            with contextlib.suppress(ConnectionClosedError):
                await connection.send("x")
            await connection.close()
            await connection.close()
        finally:
            await carrier.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_side_that_sends_on_and_never_closes_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, transport: type[Transport]
) -> None:
    monkeypatch.setattr("openfingym.market.transport.CLOSE_TIMEOUT_S", 0.05)

    async def flood(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await socket.send_str("on and on")
            await asyncio.sleep(0.001)
        return socket

    async def scenario() -> None:
        app = web.Application()
        app.router.add_get("/stream", flood)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        carrier = transport()
        try:
            connection = await carrier.connect(Address(f"ws://127.0.0.1:{runner.addresses[0][1]}/stream"))
            assert await connection.receive() == "on and on"
            async with asyncio.timeout(10):
                await connection.close()
        finally:
            await carrier.close()
            await runner.cleanup()

    asyncio.run(scenario())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_cut_cable_is_noticed_though_nothing_is_closed(
    server: Server, transport: type[Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that swallows what either side sends, and tells neither of an end: half-open TCP."""
    monkeypatch.setattr("openfingym.market.transport.PING_S", 0.2)

    async def follow() -> None:
        cut = asyncio.Event()
        ends: list[asyncio.StreamWriter] = []
        joined: list[asyncio.Task[None]] = []

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError):
                while content := await reader.read(65536):
                    if not cut.is_set():
                        writer.write(content)

        async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            host, port = server.address.split(":")
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            ends.extend((writer, far_writer))
            joined.extend(asyncio.create_task(each) for each in (carry(reader, far_writer), carry(far_reader, writer)))

        line = await asyncio.start_server(join, "127.0.0.1", 0)
        way = transport()
        try:
            connection = await way.connect(Address(f"ws://127.0.0.1:{line.sockets[0].getsockname()[1]}/stream"))
            cut.set()
            async with asyncio.timeout(30):
                with pytest.raises(ConnectionClosedError):
                    await connection.receive()
            await connection.close()
        finally:
            await way.close()
            line.close()
            for each in ends:
                each.close()
            await asyncio.gather(*joined)

    asyncio.run(follow())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_giving_up_in_the_moment_of_opening_is_not_swallowed(transport: Callable[[], Transport]) -> None:
    """A feed that is stopped while it connects must not go on connected, with nobody to close it."""

    async def stream(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for _ in socket:
            pass
        return socket

    async def scenario() -> None:
        app = web.Application()
        app.add_routes([web.get("/", stream)])
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        made, address = transport(), Address(f"ws://127.0.0.1:{runner.addresses[0][1]}/")
        swallowed, opened = [], 0
        # In one loop with the venue, so that an opening takes the same few dozen turns each time.
        for turns in [*range(80)] * 2:
            opening = asyncio.ensure_future(made.connect(address))
            for _ in range(turns):
                await asyncio.sleep(0)
            given_up = opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await opening).close()
                opened += 1
                swallowed += [turns] if given_up else []
        assert swallowed == []
        assert 0 < opened < 160, "some were given up, and some opened before"
        await made.close()
        await runner.cleanup()

    asyncio.run(scenario())


def test_a_rest_answer_is_never_an_exception(server: Server) -> None:
    async def scenario() -> None:
        client = RestClient(Address(f"http://{server.address}"), timeout_s=2.0)
        try:
            answer = await client.ask(Request("GET", "/api/v3/limited"))
            assert (answer.status, answer.retry_after_s, answer.used) == (429, 7.0, 1234)
            answer = await client.ask(Request("GET", "/api/v3/slow"))
            assert answer.status == 0
            assert b"2 s" in answer.body
        finally:
            await client.close()
        gone = RestClient(Address("http://127.0.0.1:1"))
        assert (await gone.ask(Request("GET", "/"))).status == 0
        await gone.close()

    asyncio.run(scenario())


def test_a_fault_in_the_thread_is_told_to_whoever_reads(server: Server) -> None:
    machine, market = machine_of(server)
    server.history.append(Trade("BTCUSDT", 99, 1.0, 1.0, 1, 1))
    market.trades["BTCUSDT"][99] = server.history[0]

    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    market.apply = broken  # type: ignore[method-assign]
    watch = Watcher()
    with Live(machine, tell=watch) as live:
        watch.heard("connected")
        server.trade()
        watch.wait(lambda: not live._thread.is_alive())
        with pytest.raises(VenueError, match="a fault of ours"):
            live.check()
    assert market.gap_of("BTCUSDT") is not None


def test_a_feed_that_is_refused_for_good_is_told_to_whoever_reads(server: Server) -> None:
    machine, _ = machine_of(server)
    watch = Watcher()
    with Live(machine, tell=watch) as live:
        watch.heard("connected")
        live.check()

        async def refuse() -> None:
            await server.sockets[0].send_json({"code": 2, "msg": "Invalid request"})

        server.do(refuse).result(10)
        watch.heard("failed")
        with pytest.raises(VenueError, match="Invalid request"):
            live.check()


def test_a_feed_stops_while_nobody_answers(server: Server) -> None:
    machine, _ = machine_of(server)
    machine.feed = BinanceFeed(["BTCUSDT"], stream_url="ws://127.0.0.1:1", rest_url="http://127.0.0.1:1")
    watch = Watcher()
    with Live(machine, tell=watch) as live:
        watch.heard("lost")
        live.refresh(["BTCUSDT"])
    live.stop()
    assert not live._thread.is_alive()


def test_the_state_that_readers_see_is_that_of_a_replay(server: Server) -> None:
    state, again = MarketState(["BTCUSDT"]), MarketState(["BTCUSDT"])
    tape, watch = Tape(), Watcher()
    machine = Ingest(feed_of(server), state, np.random.default_rng(0))
    with Live(machine, recorder=tape, tell=watch):
        watch.heard("connected")
        server.trade(10)
        server.trade(5, tell=False)
        server.trade(10)
        watch.heard("filled-gap")
        bar = state.snapshots["BTCUSDT"].bar
        assert bar is not None
        assert bar.trades == 25
        assert not state.snapshots["BTCUSDT"].gap
    replay(tape.records, Ingest(feed_of(server), again, np.random.default_rng(0)), again.digest)
    assert again.digest() == state.digest()
