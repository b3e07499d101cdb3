"""Trading on paper on whole books that the venue cut off, against the venue's own book, which is deeper."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import pytest

from openfingym.market.commands import Instant
from openfingym.market.paper.liquidity import walk
from openfingym.market.sim.events import BookChange, ExchangeTrade, ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.flow import Crowd
from openfingym.market.state import MarketState
from openfingym.market.ticks import SECOND, Depth, Level, Trade
from openfingym.trading.market import MarketRules
from tests.openfingym.market.paper.live import BEGIN, BUY, IOC, SELL, Live, limit, market

PAIR = ListedPair("S", "S", "USD")
LOT = float(PAIR.lot)
STEP = SECOND // 10


def at_tick(ticks: int) -> float:
    """A price as a venue's decimal text gives it."""
    return round(ticks * float(PAIR.tick), 2)


@dataclass
class Waiting:
    """An order on paper in an account of its own, and what stands before it at the venue."""

    live: Live
    side: int
    price: int
    ahead: set[int]


class CutOff:
    """A venue that tells its changes each tenth of a second, and its best ``most`` levels a while after it is asked."""

    def __init__(self, seed: int, most: int) -> None:
        crowd = Crowd(value=600_000.0, rate=40.0, volatility=2e-4, far=300)
        self.venue, self.state, self.most = Exchange([PAIR], {"S": crowd}, seed=seed), MarketState(["S"]), most
        self.books = self.stale = 0
        self.coming = deque[Depth | None]([None, None])
        self.last = 0
        self.now = 0.0
        self.step()

    def side(self, d: int, most: int | None = None) -> tuple[Level, ...]:
        levels = self.venue.books["S"].levels(d, most)
        return tuple((at_tick(ticks), lots * LOT) for ticks, lots in levels)

    def step(self) -> None:
        """A tenth of a second passes."""
        book = self.venue.books["S"]
        events = self.venue.advance(self.venue.now + STEP)
        self.now += 0.1
        at, time = Instant(round(self.now * SECOND), 0), BEGIN + round(self.now * SECOND)
        changes: tuple[dict[float, float], dict[float, float]] = ({}, {})
        for event in events:
            if isinstance(event, ExchangeTrade):
                trade = Trade("S", event.id, at_tick(event.price), event.quantity * LOT, time, event.taker)
                self.state.apply(trade, at)
            elif isinstance(event, BookChange):
                changes[event.side < 0][at_tick(event.price)] = event.quantity * LOT
        bids, asks = (tuple(side.items()) for side in changes)
        self.state.apply(Depth("S", bids, asks, self.last + 1, book.update, time, whole=False), at)
        self.last = book.update
        self.stale += self.state.snapshots["S"].book.stale
        whole = self.coming.popleft()
        if whole is not None:
            self.state.apply(whole, at)
        wanted = self.state.wants_book("S") and not any(self.coming)
        self.books += wanted
        sides = self.side(1, self.most), self.side(-1, self.most)
        self.coming.append(Depth("S", *sides, self.last, self.last, 0, True, self.most) if wanted else None)

    def live(self) -> Live:
        live = Live(MarketRules(lot=LOT), state=self.state)
        live.now = self.now
        return live


@pytest.mark.parametrize("most", [5, 60])
def test_no_order_is_filled_at_a_better_price_or_sooner_than_at_the_venue(most: int) -> None:
    world, waiting, market_fills, limit_fills = CutOff(7, most), list[Waiting](), 0, 0
    for step in range(200):
        world.step()
        book = world.venue.books["S"]
        for one in list(waiting):
            if one.live.fills():
                assert not one.ahead & {order.number for order in book.queue(one.side, one.price)}
                waiting.remove(one)
                world.state.listeners.remove(one.live.paper)
                limit_fills += 1
        if step % 6:
            continue
        side = BUY if step % 4 else SELL
        for quantity in (0.0001, 0.02):
            live = world.live()
            live.order(market(side, quantity, time_in_force=IOC))
            world.state.listeners.remove(live.paper)
            for filled, price in live.fills():
                assert (filled, price) == pytest.approx(walk(world.side(-side), filled), rel=1e-12)
                market_fills += 1
        for price, _ in book.levels(side)[:40:8]:
            ahead = {order.number for order in book.queue(side, price)}
            live = world.live()
            live.order(limit(side, 0.0001, at_tick(price)))
            waiting.append(Waiting(live, side, price, ahead))
    # It could trade, and what it knew had to be renewed.
    assert market_fills > 40
    assert limit_fills > 30
    assert world.books > 2
    assert world.stale < 40
