"""Reasons, a test each, and what is made of orders that are none."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from openfingym.trading.market import MarketRules
from openfingym.trading.orders import EventKind, Order, OrderType, Reason, Side, TimeInForce, well_formed
from openfingym.trading.simulator import Simulator

BUY, SELL, NAN, INF = Side.BUY, Side.SELL, math.nan, math.inf
LIMIT, STOP, STOP_LIMIT = OrderType.LIMIT, OrderType.STOP, OrderType.STOP_LIMIT

REFUSED = {
    Reason.UNKNOWN_SYMBOL: [Order(2, BUY, 1.0), Order(-1, BUY, 1.0)],
    Reason.BAD_QUANTITY: [Order(0, BUY, q) for q in (0.0, -1.0, NAN, INF, -INF, "1", None)],
    Reason.ODD_LOT: [Order(0, BUY, q) for q in (0.5, 1.25, 1e-12, 1.00001)],
    Reason.BAD_PRICE: [
        *(Order(0, BUY, 1.0, LIMIT, price) for price in (NAN, 0.0, -5.0, INF, "90", None)),
        *(Order(0, BUY, 1.0, STOP, NAN, price) for price in (NAN, 0.0, -5.0, INF)),
        Order(0, BUY, 1.0, STOP_LIMIT, 90.0),
        Order(0, BUY, 1.0, STOP_LIMIT, NAN, 90.0),
        Order(0, BUY, 1.0, limit_price=90.0),
        Order(0, BUY, 1.0, stop_price=90.0),
        Order(0, BUY, 1.0, LIMIT, 90.0, 90.0),
        Order(0, BUY, 1.0, STOP, 90.0, 90.0),
    ],
    Reason.OFF_TICK: [
        Order(0, BUY, 1.0, LIMIT, 90.005),
        Order(0, BUY, 1.0, LIMIT, 0.001),
        Order(0, BUY, 1.0, STOP, NAN, 99.999),
    ],
    Reason.INSUFFICIENT_CASH: [
        Order(0, BUY, 11.0),
        Order(0, BUY, 1e300),
        Order(0, BUY, 12.0, LIMIT, 90.0),
        Order(0, BUY, 9.0, STOP, NAN, 120.0),
    ],
    Reason.SHORT_CAP: [Order(0, SELL, 11.0), Order(0, SELL, 1e300), Order(0, SELL, 9.0, LIMIT, 120.0)],
    Reason.DUPLICATE_ID: [Order(0, BUY, 2.0, client_id="known")],
    Reason.MALFORMED: [
        Order(0, 0, 1.0),
        Order(0, 2, 1.0),
        Order(0, NAN, 1.0),
        Order(0, BUY, 1.0, 4),
        Order(0, BUY, 1.0, "limit"),
        Order(0, BUY, 1.0, time_in_force=2),
        Order(0.5, BUY, 1.0),
        Order("AAPL", BUY, 1.0),
        Order(None, BUY, 1.0),
        Order(0, BUY, 1.0, client_id=["x"]),
        Order(0, BUY, 1.0, oco=["x"]),
        (0, BUY),
        "an order",
        None,
    ],
}
ELSEWHERE = {
    Reason.TOO_MANY_ORDERS: "test_row_batch",
    Reason.UNKNOWN_ORDER: "test_row_cancel",
    Reason.NOT_OPEN: "test_row_cancel",
    Reason.BAD_WEIGHTS: "test_row_weights_refused",
    Reason.BANKRUPT: "test_row_bankrupt",
    Reason.UNFILLED: "test_row_ioc_partial",
    Reason.CORPORATE_ACTION: "test_row_split_reverse",
    Reason.EPISODE_OVER: "",  # said by environments
    Reason.VENUE_REFUSED: "",  # said by brokers
    Reason.VENUE_AWAY: "",
    Reason.NO_PRICE: "",  # said by the paper engine on a live market
    Reason.STALE_PRICE: "",
    Reason.HALTED: "",
    Reason.BAD_PAIR: "test_row_pair_form",
    Reason.PAIR_ENDED: "test_row_pair_one_cancels_other",
}


@pytest.mark.parametrize(
    ("reason", "order"), [(reason, order) for reason, orders in REFUSED.items() for order in orders]
)
def test_reason(reason, order):
    simulator = Simulator(MarketRules(tick=0.01), cash=1000.0, closes=[100.0, 100.0])
    assert simulator.submit([Order(0, BUY, 1.0, LIMIT, 1.0, client_id="known")]) == [1]
    before = simulator.account(), simulator.open_orders()
    assert simulator.submit([order]) == [0]
    [event] = simulator.events()
    assert (event.kind, event.order_id, event.reason) == (EventKind.REJECTED, 0, reason)
    assert (simulator.account(), simulator.open_orders()) == before


def test_every_reason_is_documented_and_tested():
    text = (Path(__file__).parents[3] / "docs" / "trading.md").read_text()
    listed = re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE)
    assert sorted(listed) == sorted(reason.name for reason in Reason if reason)
    assert set(listed) == {reason.name for reason in (*REFUSED, *ELSEWHERE)}
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    for reason, test in ELSEWHERE.items():
        assert not test or f"def {test}(" in tests
        assert not test or f'"{reason.name}"' in tests or f"Reason.{reason.name}" in tests


def test_numbers_of_other_kinds_are_taken():
    order = Order(np.int64(1), -1, np.float32(2.0), 3, 90, np.float64(95.0), 1, "a", "b")
    plain = well_formed(order)
    assert plain == Order(1, SELL, 2.0, STOP_LIMIT, 90.0, 95.0, TimeInForce.IOC, "a", "b")
    assert [type(value) for value in plain] == [int, Side, float, OrderType, float, float, TimeInForce, str, str]
    assert well_formed(plain) is plain
    assert type(well_formed(tuple(plain))) is Order
    assert well_formed(Order(0, BUY, 10**400)).quantity == INF


def test_two_orders_without_prices_are_the_same():
    assert Order(0, BUY, 1.0).same_as(Order(0, BUY, 1, limit_price=float("nan")))
    assert not Order(0, BUY, 1.0).same_as(Order(0, BUY, 1.0, limit_price=5.0))
