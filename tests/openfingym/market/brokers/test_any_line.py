"""An executor over a line that loses requests, answers, frames and processes: it ends equal to its venue."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.market.brokers.journal import Journal
from openfingym.trading.orders import Order, OrderType, Side
from tests.openfingym.market.brokers.fake_alpaca import OPEN, FakeAlpaca, Line

SYMBOLS = ("AAPL", "BTC/USD")


def act(line: Line, rng: random.Random) -> None:
    """Something an agent, or the market, does."""
    executor, venue = line.executor, line.venue
    what = rng.randrange(6)
    if what <= 1:
        side = Side.BUY if rng.random() < 0.6 else Side.SELL
        executor.submit([Order(rng.randrange(2), side, rng.randrange(1, 9) / 2, OrderType.LIMIT, 100.0)])
    elif what == 2 and executor.open_orders():
        executor.cancel(rng.choice(executor.open_orders()).id)
    elif what == 3 and executor.open_orders():
        executor.replace(rng.choice(executor.open_orders()).id, limit_price=float(rng.randrange(90, 110)))
    elif venue.open():
        order = rng.choice(venue.open())
        left = Decimal(order["qty"]) - Decimal(order["filled_qty"])
        venue.fill(order, left if rng.random() < 0.5 else left / 2, Decimal(rng.randrange(90, 110)))


def fail(line: Line, rng: random.Random) -> None:
    """Something that goes wrong on the line."""
    what = rng.randrange(6)
    if what == 0 and line.streaming:
        line.disconnect()
    elif what == 1:
        line.venue.limited = rng.randrange(3)
    elif what == 2:
        rng.shuffle(line.venue.frames)
    elif what == 3 and line.venue.frames:
        line.venue.frames.pop(rng.randrange(len(line.venue.frames)))
    elif what == 4 and line.venue.frames:
        line.venue.frames.append(rng.choice(line.venue.frames))


def equal_at_last(line: Line) -> None:
    """Make the line good, let everything be asked, and compare."""
    line.lost = line.unheard = lambda request: False
    line.venue.limited = 0
    if line.streaming:
        line.disconnect()
    line.connect()
    line.carry()
    line.wait(100)
    assert line.executor.ready
    line.assert_equal()
    ours = {order.asked.client_id for order in line.executor.mirror}
    counts = Counter(order["client_order_id"] for order in line.venue.orders.values())
    assert ours >= counts.keys()
    assert max(counts.values(), default=1) == 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_an_executor_ends_equal_to_its_venue_whatever_the_line_and_the_machine_do(seed: int) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        journal = Journal(Path(name))
        line = Line(FakeAlpaca(), journal)
        line.start()
        share = rng.choice([0.0, 0.1, 0.3])
        for _ in range(rng.randrange(5, 40)):
            line.lost = lambda request: rng.random() < share
            line.unheard = lambda request: rng.random() < share
            act(line, rng)
            fail(line, rng)
            if rng.random() < 0.5:
                line.carry()
            if rng.random() < 0.05:
                # A kill: what was not answered never will be.
                journal.close()
                journal = Journal(Path(name))
                venue = line.venue
                venue.frames.clear()
                line = Line(venue, journal)
            if not line.streaming and rng.random() < 0.5:
                line.connect()
            if rng.random() < 0.3:
                line.wait(rng.randrange(1, 8))
        equal_at_last(line)
        shown = {order.id: order.remaining for order in line.executor.open_orders()}
        left = [Decimal(o["qty"]) - Decimal(o["filled_qty"]) for o in line.venue.orders.values() if o["status"] in OPEN]
        assert sorted(shown.values()) == sorted(float(one) for one in left)
        journal.close()
