"""The feed in its thread, and the executor, against the local Alpaca venue: real sockets, faults, and one truth."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from decimal import Decimal
from typing import Any

import aiohttp
import numpy as np
import pytest

from openfingym.errors import ConnectionClosedError
from openfingym.market.brokers.alpaca import Alpaca
from openfingym.market.brokers.alpaca_messages import instrument
from openfingym.market.brokers.broker import BrokerAnswer
from openfingym.market.brokers.executor import BrokerExecutor
from openfingym.market.commands import Ask, Instant, Tell
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.ingest import Ingest
from openfingym.market.live import Live
from openfingym.market.replay import replay
from openfingym.market.sim.alpaca.funds import funds
from openfingym.market.sim.alpaca.ledger import order_id
from openfingym.market.sim.faults import VenueFault
from openfingym.market.sim.flow import Crowd
from openfingym.market.state import MarketState
from openfingym.market.transport import AiohttpTransport
from openfingym.trading.orders import Order, OrderType, Side
from tests.openfingym.market.alpaca_clients import CROWDS, KEYS, SECOND, START, Client, run
from tests.openfingym.market.test_joined import Tape, until

MINUTE = 60 * SECOND
S = SECOND


@pytest.mark.parametrize(("feed_name", "symbol"), [("iex", "AAPL"), ("us", "BTC/USD")])
def test_a_feed_makes_the_bars_of_the_venue_through_an_outage(feed_name: Any, symbol: str) -> None:
    tape, told = Tape(), list[Tell]()
    state = MarketState([symbol])
    feeds: list[AlpacaFeed] = []

    async def work(client: Client) -> None:
        venue = client.venue
        feed = AlpacaFeed(
            [symbol], KEYS, feed=feed_name, stream_url=venue.stream_url, rest_url=venue.rest_url, simulated=True
        )
        feed.page = 500  # so that the outage takes several answers
        feeds.append(feed)

        def times(kind: str) -> int:
            return sum(tell.kind == kind for tell in told)

        def known() -> int:
            """The time of the last trade that went into a bar."""
            return state.bars(symbol).newest

        with Live(Ingest(feed, state, np.random.default_rng(0)), recorder=tape, tell=told.append) as live:
            await until(lambda: times("connected") == 1, lambda: told)
            client.advance(30)
            await until(lambda: known() == venue.exchange.trades[symbol][-1].time, lambda: told)
            client.advance(30)
            await until(lambda: times("lost") == 1, lambda: told)
            before = len(venue.exchange.trades[symbol])
            client.advance(130)
            assert len(venue.exchange.trades[symbol]) - before > 500
            await until(lambda: times("connected") == 2, lambda: told)
            client.advance(101)
            await until(lambda: times("filled-gap") == 1, lambda: told)
            # What was missed is there; what came since may be on its way yet.
            await until(lambda: known() == venue.exchange.trades[symbol][-1].time, lambda: told)
            assert not state.snapshots[symbol].gap
            root = "/v1beta3/crypto/us" if feed.crypto else "/v2/stocks"
            found = await client.get(f"{root}/bars", symbols=symbol, timeframe="1Min", limit=1000)
            rows = [[row[name] for name in "ohlcvn"] for row in found["bars"][symbol]][1:5]
            assert len(rows) == 4
            ours = state.bars(symbol).bars(MINUTE, START + MINUTE, START + 5 * MINUTE)
            assert all(bar.complete for bar in ours)
            assert [list(bar[2:8]) for bar in ours] == [pytest.approx(row, abs=1e-9) for row in rows]
            if feed.crypto:
                book = (await client.get(f"{root}/latest/orderbooks", symbols=symbol))["orderbooks"][symbol]
                client.advance(0.1)
                shown = state.snapshots[symbol].book
                assert [(one["p"], one["s"]) for one in book["b"]][:5] == list(shown.bids)[:5]
                assert [(one["p"], one["s"]) for one in book["a"]][:5] == list(shown.asks)[:5]
            else:
                assert state.server_bar(symbol, MINUTE) is not None
            live.check()

    crowds = CROWDS | {symbol: Crowd(value=CROWDS[symbol].value, rate=60, size=CROWDS[symbol].size)}
    run(work, VenueFault("abort", START + 61 * SECOND, START + 190 * SECOND), crowds=crowds, warm=10)
    again = MarketState([symbol])
    replay(tape.records, Ingest(feeds[0], again, np.random.default_rng(0)), again.digest)
    assert again.digest() == state.digest()


def test_trades_that_are_taken_back_amend_the_bars_of_the_feed_and_of_a_replay() -> None:
    tape, state = Tape(), MarketState(["AAPL"])
    feeds: list[AlpacaFeed] = []

    async def work(client: Client) -> None:
        venue = client.venue
        feed = AlpacaFeed(["AAPL"], KEYS, stream_url=venue.stream_url, rest_url=venue.rest_url, simulated=True)
        feeds.append(feed)
        with Live(Ingest(feed, state, np.random.default_rng(0)), recorder=tape) as live:
            await until(lambda: live.machine.connected, lambda: "no connection")
            client.advance(59)
            client.advance(70)
            trades = [one for one in venue.exchange.trades["AAPL"] if START + MINUTE <= one.time < START + 2 * MINUTE]
            await until(lambda: state.bars("AAPL").newest == venue.exchange.trades["AAPL"][-1].time, lambda: state)
            [before] = state.bars("AAPL").bars(MINUTE, START + MINUTE, START + 2 * MINUTE)
            assert before.trades == len(trades)
            # Amid the minute: which of several trades of one instant opens or closes a bar, a correction does not say.
            middle = len(trades) // 2
            venue.cancel_trade("AAPL", trades[middle].id)
            venue.correct_trade("AAPL", trades[middle + 1].id, price=20_000, quantity=500)
            client.advance(80)

            def amended() -> bool:
                return state.bars("AAPL").bars(MINUTE, START + MINUTE, START + 2 * MINUTE)[0].high == 200.0

            await until(amended, lambda: state.bars("AAPL").bars(MINUTE, START, START + 3 * MINUTE))
            await until(lambda: state.bars("AAPL").newest == venue.exchange.trades["AAPL"][-1].time, lambda: state)
            found = await client.get("/v2/stocks/bars", symbols="AAPL", timeframe="1Min", limit=10)
            row = next(row for row in found["bars"]["AAPL"] if row["h"] == 200)
            [bar] = state.bars("AAPL").bars(MINUTE, START + MINUTE, START + 2 * MINUTE)
            assert list(bar[2:8]) == pytest.approx([row[name] for name in "ohlcvn"], abs=1e-9)
            assert bar.trades == before.trades - 1
            live.check()

    run(work, warm=0)
    again = MarketState(["AAPL"])
    replay(tape.records, Ingest(feeds[0], again, np.random.default_rng(0)), again.digest)
    assert again.digest() == state.digest()


class Trader:
    """An executor at a venue, whose clock is the venue's; requests and frames go over real sockets."""

    def __init__(self, client: Client, broker: Alpaca) -> None:
        self.client = client
        self.executor = BrokerExecutor(
            broker, ["AAPL", "BTC/USD"], send=self._send, clock=self, price=self.price, prefix="t"
        )
        self._asked: set[asyncio.Task[None]] = set()
        self._reader: asyncio.Task[None] | None = None
        self._transport = AiohttpTransport()

    def monotonic(self) -> int:
        return self.client.now

    def wall(self) -> int:
        return self.client.venue.ledger.now

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")

    @property
    def at(self) -> Instant:
        return Instant(self.monotonic(), self.wall())

    def price(self, symbol: str) -> float:
        book, listing = self.client.venue.exchange.books[symbol], self.client.venue.exchange.listings[symbol]
        return math.nan if book.last is None else float(book.last * listing.tick)

    def _send(self, ask: Ask) -> None:
        task = asyncio.get_running_loop().create_task(self._ask(ask))
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)

    async def _ask(self, ask: Ask) -> None:
        address, request = self.executor.broker.rest(), ask.request
        try:
            async with self.client.http.request(
                request.method, address.url + request.path, data=request.body, headers=address.headers
            ) as answer:
                headers = {name.lower(): value for name, value in answer.headers.items()}
                found = BrokerAnswer(answer.status, await answer.read(), headers)
        except aiohttp.ClientError:
            found = BrokerAnswer(0)
        self.executor.answered(ask.question, found, self.at)

    async def connect(self) -> None:
        connection = await self._transport.connect(self.executor.broker.stream())

        async def read() -> None:
            try:
                with suppress(ConnectionClosedError):
                    while True:
                        for reply in self.executor.received(await connection.receive(), self.at):
                            await connection.send(reply)
                self.executor.closed(self.at)
            finally:
                await connection.close()

        for reply in self.executor.opened(self.at):
            await connection.send(reply)
        self._reader = asyncio.get_running_loop().create_task(read())

    async def disconnect(self) -> None:
        """Read no more, and close the connection."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait([self._reader])

    async def settle(self, seconds: int) -> None:
        """Let time pass, and everything be carried at each second."""
        for _ in range(seconds):
            self.client.advance(1)
            self.executor.passed(self.at)
            for _ in range(20):
                await asyncio.sleep(0.001)
                if not self._asked:
                    break

    async def end(self) -> None:
        await self.disconnect()
        await self._transport.close()
        await asyncio.gather(*self._asked, return_exceptions=True)


FAULTS = [
    VenueFault("gap", channel="execution", probability=0.3),
    VenueFault("duplicate", channel="execution", probability=0.3),
    VenueFault("reorder", channel="execution", probability=0.2),
    VenueFault("lagging-account", seconds=5),
    VenueFault("lost-answer", path="/v2/orders", probability=0.2, status=504),
    VenueFault("early-execution", path="/v2/orders", probability=0.2, seconds=1),
    VenueFault("limited", START + 40 * SECOND, START + 45 * SECOND, path="/v2/", seconds=2),
    VenueFault("abort", START + 60 * SECOND, START + 61 * SECOND),
    VenueFault("skew", seconds=3),
]


def test_an_executor_ends_equal_to_its_venue_whatever_gets_lost_doubled_or_late() -> None:
    async def work(client: Client) -> None:
        venue, rng = client.venue, np.random.default_rng(5)
        items = [instrument(await client.get(f"/v2/assets/{symbol}")) for symbol in ("AAPL", "BTC/USD")]
        trader = Trader(client, Alpaca(items, KEYS, rest=venue.rest_url, stream=venue.order_stream_url))
        try:
            await trade(client, trader, rng)
            compare_orders(client, trader.executor)
            # A fee that no fill tells is seen in the account alone, and believed once no order could explain it.
            for order in trader.executor.open_orders():
                trader.executor.cancel(order.id)
            await trader.settle(60)
            assert not trader.executor.open_orders()
            compare_orders(client, trader.executor)
            compare_holdings(client, trader.executor)
        finally:
            await trader.end()

    run(work, margin=True)


async def trade(client: Client, trader: Trader, rng: np.random.Generator) -> None:
    """Place, replace and cancel orders while everything goes wrong, and let the line be good at last."""
    venue, executor = client.venue, trader.executor
    await trader.connect()
    await trader.settle(3)
    client.faults.extend(FAULTS)
    for _ in range(100):
        await trader.settle(1)
        if executor.session is None:
            with suppress(ConnectionClosedError):
                await trader.connect()
        open_orders = executor.open_orders()
        what = rng.random()
        if what < 0.3 and open_orders:
            executor.cancel(open_orders[0].id)
        elif what < 0.5 and open_orders:
            price = trader.price(executor.symbols[open_orders[0].symbol])
            executor.replace(open_orders[0].id, limit_price=price * float(rng.uniform(0.998, 1.002)))
        elif what < 0.9:
            symbol = int(rng.integers(2))
            side = Side.BUY if rng.random() < 0.6 else Side.SELL
            price = trader.price(executor.symbols[symbol]) * float(rng.uniform(0.998, 1.002))
            quantity = float(rng.integers(1, 40)) if symbol == 0 else 0.01
            executor.submit([Order(symbol, side, quantity, OrderType.LIMIT, price)])
    client.faults.clear()
    for name in executor.symbols:
        venue.exchange.halt(name)  # so that the truth stands still
    if executor.session is not None:
        await trader.disconnect()
        executor.closed(trader.at)
    await trader.connect()
    await trader.settle(60)


def compare_orders(client: Client, executor: BrokerExecutor) -> None:
    """What the executor knows of orders is the venue's truth."""
    exchange, mirror = client.venue.exchange, executor.mirror
    assert executor.ready
    assert {order.order_id for order in mirror.live.values()} == {
        order_id(order) for order in exchange.open_orders("ann")
    }
    for order in mirror:
        if order.order_id:
            found = client.venue.ledger.orders[order.order_id]
            assert order.filled == found.filled * exchange.listings[found.symbol].lot
    placed = [order.client_id for order in exchange.orders.values()]
    assert len(placed) == len(set(placed)) > 30
    assert {order.asked.client_id for order in mirror} >= set(placed)


def compare_holdings(client: Client, executor: BrokerExecutor) -> None:
    """What the executor knows of cash and positions is the venue's truth."""
    ledger, mirror = client.venue.ledger, executor.mirror
    truth = funds(ledger, "ann", client.now)
    assert {fill.symbol for fill in ledger.fills["ann"]} == {"AAPL", "BTC/USD"}
    assert len(ledger.fills["ann"]) > 20
    assert mirror.cash == Decimal(truth.cash) / 10**8
    for symbol in mirror.instruments:
        position = truth.positions.get(symbol)
        assert mirror.position(symbol) == Decimal(position.quantity if position else 0) / 10**8
