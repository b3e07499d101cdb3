"""The parts together: a feed in its thread against the local Binance venue, over real sockets and with faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp
import numpy as np

from openfingym.market.commands import Instant, Tell
from openfingym.market.feed import Frame
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.ingest import Ingest
from openfingym.market.live import Live
from openfingym.market.replay import replay
from openfingym.market.sim.binance import BinanceVenue
from openfingym.market.sim.events import ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults, VenueFault
from openfingym.market.sim.flow import Crowd
from openfingym.market.sim.peers import ConnectionTerms
from openfingym.market.state import MarketState
from openfingym.market.tape import NoRecorder, Record, RecordKind

SECOND = 10**9
START = 1_700_000_000_000_000_000
SYMBOL = "BTCUSDT"


class Tape(NoRecorder):
    """Keeps inputs in memory."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, kind: RecordKind, at: Instant, connection: int = 0, payload: Frame = b"") -> None:
        self.records.append(Record(len(self.records), kind, at, connection, payload))


async def until(holds: Callable[[], bool], what: Callable[[], object]) -> None:
    for _ in range(3000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"it did not come: {what()}")


def test_a_feed_knows_what_the_venue_knows_after_an_outage_of_more_trades_than_an_answer_has() -> None:
    tape, told = Tape(), list[Tell]()
    state = MarketState([SYMBOL])

    def feed_of(venue: BinanceVenue) -> BinanceFeed:
        return BinanceFeed([SYMBOL], stream_url=venue.stream_url, rest_url=venue.rest_url, simulated=True)

    async def scenario() -> BinanceFeed:
        exchange = Exchange(
            [ListedPair(SYMBOL, "BTC", "USDT")], {SYMBOL: Crowd(value=6e6, rate=40, size=2000)}, seed=3, start=START
        )
        outage = VenueFault("abort", START + 30 * SECOND, START + 200 * SECOND)
        venue = BinanceVenue(exchange, Faults([outage]), terms=ConnectionTerms(ping_s=1e6))
        await venue.start()
        feed = feed_of(venue)

        def advance(seconds: float) -> None:
            venue.advance(exchange.now + int(seconds * SECOND))

        def known() -> int:
            trade = state.snapshots[SYMBOL].trade if SYMBOL in state.snapshots else None
            return trade.id if trade else 0

        advance(10)
        machine = Ingest(feed, state, np.random.default_rng(0))
        try:
            with Live(machine, recorder=tape, tell=told.append) as live:
                await until(lambda: any(tell.kind == "connected" for tell in told), lambda: told)
                advance(5)
                await until(lambda: known() > 0, lambda: told)
                before = known()
                advance(60)
                await until(lambda: any(tell.kind == "lost" for tell in told), lambda: told)
                while exchange.now < START + 201 * SECOND:
                    advance(10)
                await until(lambda: sum(tell.kind == "connected" for tell in told) > 1, lambda: told)
                advance(5)
                await until(lambda: any(tell.kind == "filled-gap" for tell in told), lambda: told)
                assert known() - before > 1000, "an outage of more trades than one answer has"
                async with (
                    aiohttp.ClientSession() as http,
                    http.get(f"{venue.rest_url}/api/v3/depth", params={"symbol": SYMBOL, "limit": 5}) as answer,
                ):
                    depth = await answer.json()
                await until(lambda: state.snapshots[SYMBOL].book.sequence == depth["lastUpdateId"], lambda: told)
                snapshot = state.snapshots[SYMBOL]
                assert not snapshot.gap
                assert not snapshot.book.stale
                for side in ("bids", "asks"):
                    levels = getattr(snapshot.book, side)[:5]
                    assert [(float(price), float(size)) for price, size in depth[side]] == list(levels)
                live.check()
        finally:
            await venue.stop()
        return feed

    feed = asyncio.run(scenario())
    again = MarketState([SYMBOL])
    replay(tape.records, Ingest(feed, again, np.random.default_rng(0)), again.digest)
    assert again.digest() == state.digest()
