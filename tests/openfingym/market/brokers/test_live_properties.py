"""Whatever the line does to executions and the account, the mirror that runs comes to what the venue has."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.market.sim.faults import FaultKind, VenueFault
from openfingym.trading.orders import EventKind, Order, OrderType, Side
from tests.openfingym.market.brokers.local_venue import SYMBOL, Account, LocalVenue

KINDS: tuple[FaultKind, ...] = ("gap", "duplicate", "reorder", "latency")


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    chances=st.fixed_dictionaries({kind: st.sampled_from([0.0, 0.3, 0.7]) for kind in KINDS}),
    lag_s=st.sampled_from([0.0, 0.2, 5.0]),
    cuts=st.integers(0, 2),
    seed=st.integers(0, 2**16),
)
def test_the_mirror_comes_to_what_the_venue_has(
    chances: dict[FaultKind, float], lag_s: float, cuts: int, seed: int
) -> None:
    rng = random.Random(seed)
    with LocalVenue() as venue, Account(venue) as account:
        live = account.live
        live.ready(20)
        venue.faults += [
            VenueFault(kind, channel="execution", probability=chance, seconds=rng.random() / 20)
            for kind, chance in chances.items()
        ]
        venue.faults += [VenueFault("lagging-account", seconds=lag_s)] * bool(lag_s)
        venue.faults += [VenueFault("lost-answer", path="/api/v3/", probability=0.1)]
        events, numbers = [], list[int]()
        for step in range(12):
            if live.machine.executor.ready:
                side, price = (Side.BUY, 90.0 + rng.randrange(8)) if rng.random() < 0.6 else (Side.SELL, 103.0)
                numbers += live.submit([Order(0, side, rng.randrange(1, 9) / 4, OrderType.LIMIT, price)])
            side = rng.choice((-1, 1))
            venue.bob(side, rng.randrange(1, 9) / 8, 104.0 if side > 0 else 92.0)
            if numbers and rng.random() < 0.3:
                rng.choice((live.cancel, lambda number: live.replace(number, quantity=1.0)))(rng.choice(numbers))
            if step in range(3, 3 + cuts):
                venue.abort()
            account.clock.jump(rng.random())
            events += live.events()
        venue.faults.clear()
        account.settled()
        ids = [order.client_id for order in venue.orders()]
        assert len(ids) == len(set(ids)), f"an order of {SYMBOL} was placed twice"
        events += live.events()
        filled = sum(event.quantity * event.side for event in events if event.kind is EventKind.FILLED)
        known = sum(float(order.filled) * order.asked.side for order in live.machine.executor.mirror)
        assert abs(filled - known) < 1e-9, "what an agent was told adds up"
