"""Actions as JSON: what is read, what is refused, and that nothing is lost on the way."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import SubmissionError
from openfingym.trading.actions import HOLD, Decision, Replacement, order_json, parse_decision
from openfingym.trading.orders import Order, OrderType, Side, TimeInForce

SYMBOLS = ("aapl", "ibm")
PRICES = st.floats(0.01, 1e6)
ORDERS = st.builds(
    Order,
    symbol=st.integers(0, 1),
    side=st.sampled_from(Side),
    quantity=st.floats(0.001, 1e9),
    type=st.sampled_from(OrderType),
    limit_price=st.none() | PRICES,
    stop_price=st.none() | PRICES,
    time_in_force=st.sampled_from(TimeInForce),
    client_id=st.none() | st.text("abcXYZ019-_", min_size=1, max_size=64),
    oco=st.none() | st.text("abcXYZ019-_", min_size=1, max_size=64),
).map(
    lambda order: order._replace(
        **{name: math.nan for name in ("limit_price", "stop_price") if getattr(order, name) is None}
    )
)


@given(st.lists(ORDERS, max_size=5))
def test_an_order_survives_the_way_through_json(orders: list[Order]) -> None:
    sent = json.loads(json.dumps({"orders": [order_json(order, SYMBOLS) for order in orders]}))
    found = parse_decision(sent, SYMBOLS).orders
    assert [repr(order) for order in found] == [repr(order) for order in orders]  # repr: NaN is not equal to itself


def test_null_holds() -> None:
    assert parse_decision(None, SYMBOLS) == HOLD
    assert parse_decision({}, SYMBOLS) == HOLD


def test_everything_in_one_action() -> None:
    action = {
        "weights": [0.5, -0.25],
        "orders": [{"symbol": 1, "side": "sell", "quantity": 3}],
        "cancels": [7],
        "replaces": [{"order": 2, "quantity": 5}],
    }
    found = parse_decision(action, SYMBOLS)
    assert found.weights == (0.5, -0.25)
    assert (found.orders[0].symbol, found.orders[0].side, found.orders[0].quantity) == (1, Side.SELL, 3.0)
    assert found == Decision((0.5, -0.25), found.orders, (7,), (Replacement(2, quantity=5.0),))


def test_what_a_market_refuses_is_let_through() -> None:
    order = parse_decision({"orders": [{"symbol": "tsla", "side": "buy", "quantity": None}]}, SYMBOLS).orders[0]
    assert order.symbol == -1
    assert math.isnan(order.quantity)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ([0.5, 0.5], "an action: expected null or an object"),
        ({"weight": [1, 0]}, "no keys but weights"),
        ({"weights": [1.0]}, "2 numbers, one for each of aapl, ibm"),
        ({"weights": ["1", 0]}, r"weights\[0\]: expected a number"),
        ({"weights": [True, 0]}, r"weights\[0\]: expected a number"),
        ({"orders": {"symbol": "aapl"}}, "orders: expected a list"),
        ({"orders": ["buy"]}, r"orders\[0\]: expected an object"),
        ({"orders": [{"symbol": "aapl", "side": "buy"}]}, "missing: quantity"),
        (
            {"orders": [{"symbol": "aapl", "side": "long", "quantity": 1}]},
            "side: expected one of buy, sell, found long",
        ),
        (
            {"orders": [{"symbol": "aapl", "side": "buy", "quantity": 1, "type": "STOP"}]},
            "one of market, limit, stop, stop-limit",
        ),
        ({"orders": [{"symbol": "aapl", "side": "buy", "quantity": 1, "price": 3}]}, "no keys but symbol"),
        ({"orders": [{"symbol": "aapl", "side": "buy", "quantity": 1, "client_id": ""}]}, "text of 1 to 64 characters"),
        ({"orders": [{"symbol": 1.5, "side": "buy", "quantity": 1}]}, "symbol: expected a whole number"),
        ({"cancels": ["a"]}, r"cancels\[0\]: expected a whole number"),
        ({"replaces": [{"quantity": 1}]}, "the key order"),
    ],
)
def test_a_wrong_form_is_refused_with_its_place(action: object, words: str) -> None:
    with pytest.raises(SubmissionError, match=words) as caught:
        parse_decision(action, SYMBOLS)
    assert caught.value.problem == "malformed-action"


def test_a_number_beyond_float_is_infinite_not_a_crash() -> None:
    assert (
        parse_decision({"orders": [{"symbol": 0, "side": "buy", "quantity": 10**400}]}, SYMBOLS).orders[0].quantity
        == math.inf
    )
