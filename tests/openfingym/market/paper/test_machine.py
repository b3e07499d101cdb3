"""Trading on paper through the machine that reads a venue: connections break, trades are missed and filled in."""

from __future__ import annotations

import pytest

from openfingym.market.paper.executor import PaperExecutor
from openfingym.market.state import MarketState
from openfingym.trading.actions import Decision
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Order, Reason
from tests.openfingym.market import plain
from tests.openfingym.market.paper.live import BUY, FILLED, LIMIT, SELL

SYMBOL = "BTCUSDT"


class Session:
    """A venue of Binance's protocol, the machine, and an account."""

    def __init__(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plain, "PlainMarket", MarketState)
            self.world = plain.World(SYMBOL)
        world = self.world
        assert isinstance(world.market, MarketState)
        self.paper = PaperExecutor(
            MarketRules(tick=0.01),
            world.market,
            [SYMBOL],
            cash=1e6,
            at=world.at(),
            venue_time=world.machine.clock.time,
            interval_s=60.0,
        )
        world.run(1)
        world.trade(price=10.0)
        world.quote(SYMBOL, 9.0, 11.0)

    def order(self, *orders: Order) -> list[int]:
        return self.paper.decide(Decision(orders=orders), self.world.at())

    def fills(self) -> list[tuple[float, float]]:
        return [(event.quantity, event.price) for event in self.paper.events() if event.kind is FILLED]


def broken() -> tuple[list[list[tuple[float, float]]], str]:
    """What fills in a session whose connection breaks for a time, and the state at its end."""
    session = Session()
    world, seen = session.world, []
    session.order(Order(0, BUY, 5.0, LIMIT, 10.0), Order(0, SELL, 1.0))
    seen.append(session.fills())
    world.run(0.1)
    world.trade(price=9.5)  # the order is not at the venue yet
    world.run(0.5)
    world.trade(price=9.5)
    seen.append(session.fills())
    world.run(0.5)
    world.cut()
    assert session.order(Order(0, BUY, 1.0)) == [0]
    assert session.paper.events()[0].reason is Reason.STALE_PRICE
    session.order(Order(0, BUY, 2.0, LIMIT, 10.5))
    world.trade(price=9.9, to=())
    world.now += plain.SECOND
    world.trade(price=9.9, to=())
    world.trade(price=9.9, to=())
    world.trade(price=9.9, to=())
    seen.append(session.fills())
    world.run(5)
    seen.append(session.fills())
    world.run(1)
    world.trade(price=9.9)
    seen.append(session.fills())
    return seen, session.paper.digest()


def test_a_session_with_a_break() -> None:
    seen, digest = broken()
    missed = [(1.0, 10.0), (1.0, 10.5), (1.0, 10.5), (1.0, 10.0)]
    assert seen == [[(1.0, 9.0)], [(1.0, 10.0)], [], missed, [(1.0, 10.0)]]
    assert broken() == (seen, digest)
