"""Splits and dividends: the rows of docs/trading.md, and that they make nobody richer."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.trading.market import MarketRules
from openfingym.trading.orders import EventKind, Order, OrderType, Side
from openfingym.trading.simulator import Simulator

BUY, SELL, NAN = Side.BUY, Side.SELL, math.nan
LIMIT, STOP, STOP_LIMIT = OrderType.LIMIT, OrderType.STOP, OrderType.STOP_LIMIT


def holding(units, **rules):
    """An account that has bought (or sold) units at 100 with 10,000 in cash."""
    simulator = Simulator(MarketRules(**rules), cash=10_000.0, closes=[100.0], volumes=[1000.0])
    simulator.submit([Order(0, BUY if units > 0 else SELL, abs(units))])
    bar(simulator, 100.0)
    return simulator


def bar(simulator, price, **given):
    simulator.on_bar([price], [price], [price], [price], [1000.0], **given)
    return simulator.events()


def halted(simulator, **given):
    """A row without trades, in which corporate actions can be seen alone."""
    return bar(simulator, simulator.mark[0], tradable=[False], **given)


def open_prices(simulator):
    """Limit and stop of each open order; None where it has none."""
    return [tuple(None if math.isnan(price) else price for price in order[6:8]) for order in simulator.open_orders()]


@pytest.mark.parametrize("units", [10.0, -10.0])
def test_row_split_position(units):
    simulator = holding(units)
    bar(simulator, 50.0, splits=[2.0])
    assert simulator.positions() == (2 * units,)
    assert simulator.average == [50.0]
    assert simulator.equity == 10_000.0
    bar(simulator, 150.0, splits=[1 / 3])
    assert simulator.average == [150.0]


@pytest.mark.parametrize("units", [5.0, -5.0])
def test_row_split_fraction(units):
    simulator = holding(units)
    cash = simulator.cash
    halted(simulator, splits=[1.5])
    assert simulator.positions() == (math.copysign(7.0, units),)
    assert simulator.cash == pytest.approx(cash + math.copysign(0.5, units) * 100 / 1.5)
    assert simulator.equity == pytest.approx(10_000.0)
    simulator = holding(5.0, lot=0.0)
    halted(simulator, splits=[1.5])
    assert simulator.positions() == (7.5,)


def test_row_split_orders():
    simulator = holding(10.0, tick=0.25, max_short=10.0)
    simulator.submit(
        [
            Order(0, BUY, 3.0, LIMIT, 90.25),
            Order(0, SELL, 3.0, LIMIT, 110.25),
            Order(0, SELL, 3.0, STOP, stop_price=90.25),
            Order(0, BUY, 3.0, STOP, stop_price=110.25),
            Order(0, SELL, 3.0, STOP_LIMIT, 85.25, 90.25),
        ]
    )
    free = simulator.account().free_cash
    assert {event.kind for event in halted(simulator, splits=[2.0])} == {EventKind.ADJUSTED}
    assert open_prices(simulator) == [(45.0, None), (55.25, None), (None, 45.0), (None, 55.25), (42.5, 45.0)]
    assert [order.remaining for order in simulator.open_orders()] == [6.0] * 5
    assert simulator.account().free_cash == free


def test_row_split_reverse():
    simulator = Simulator(MarketRules(), cash=10_000.0, closes=[100.0, 100.0])
    simulator.submit([Order(0, BUY, 10.0, LIMIT, 90.0), Order(1, BUY, 10.0, LIMIT, 90.0)])
    simulator.on_bar([1000.0, 100.0], [1000.0, 100.0], [1000.0, 100.0], [1000.0, 100.0], [1.0, 1.0], splits=[0.1, 1.0])
    [event] = simulator.events()
    assert (event.kind, event.symbol, event.reason.name) == (EventKind.CANCELLED, 0, "CORPORATE_ACTION")
    assert [order.symbol for order in simulator.open_orders()] == [1]


@pytest.mark.parametrize("units", [10.0, -10.0])
def test_row_dividend_paid(units):
    simulator = holding(units)
    cash = simulator.cash
    simulator.submit([Order(0, BUY, 5.0)])  # bought after the ex date: no dividend
    bar(simulator, 98.0, dividends=[2.0])
    assert simulator.cash == cash + 2 * units - 5 * 98
    assert simulator.equity == 10_000.0


def test_row_dividend_orders():
    simulator = holding(10.0, tick=0.25)
    simulator.submit(
        [
            Order(0, BUY, 3.0, LIMIT, 90.0),
            Order(0, SELL, 3.0, STOP, stop_price=90.0),
            Order(0, SELL, 3.0, STOP_LIMIT, 80.0, 90.0),
        ]
    )
    events = halted(simulator, dividends=[1.1])
    assert [event.kind for event in events] == [EventKind.ADJUSTED] * 3
    assert open_prices(simulator) == [(88.75, None), (None, 88.75), (78.75, 88.75)]


def test_row_dividend_others():
    simulator = holding(10.0)
    orders = [
        Order(0, SELL, 3.0, LIMIT, 110.0),
        Order(0, BUY, 3.0, STOP, stop_price=110.0),
        Order(0, BUY, 3.0, STOP_LIMIT, 112.0, 110.0),
        Order(0, BUY, 3.0),
    ]
    simulator.submit(orders)
    assert halted(simulator, dividends=[1.0]) == []
    assert open_prices(simulator) == [(110.0, None), (None, 110.0), (112.0, 110.0), (None, None)]
    # Once triggered, a stop-limit order is a limit order: a buy moves, a sell does not.
    simulator = holding(10.0)
    simulator.submit([Order(0, BUY, 3.0, STOP_LIMIT, 90.0, 100.0), Order(0, SELL, 3.0, STOP_LIMIT, 115.0, 100.0)])
    bar(simulator, 100.0)
    assert [event.order_id for event in halted(simulator, dividends=[1.0])] == [2]
    assert open_prices(simulator) == [(89.0, 100.0), (115.0, 100.0)]


def test_row_dividend_to_zero():
    simulator = holding(10.0)
    simulator.submit([Order(0, BUY, 3.0, LIMIT, 4.0), Order(0, BUY, 3.0, LIMIT, 6.0)])
    first, second = halted(simulator, dividends=[5.0])
    assert (first.kind, first.reason.name, second.kind) == (EventKind.CANCELLED, "CORPORATE_ACTION", EventKind.ADJUSTED)
    assert open_prices(simulator) == [(1.0, None)]


@settings(max_examples=200)
@given(
    units=st.integers(-50, 90).filter(bool),
    ratio=st.sampled_from([0.1, 1 / 3, 0.9, 1.0, 1.05, 1.5, 2.0, 7.0, 20.0]),
    dividend=st.floats(0.0, 4.0),
    lot=st.sampled_from([0.0, 1.0, 0.001]),
)
def test_nobody_is_richer_or_poorer_by_a_corporate_action(units, ratio, dividend, lot):
    simulator = holding(float(units), lot=lot)
    halted(simulator, splits=[ratio], dividends=[dividend])
    assert simulator.equity == pytest.approx(10_000.0, rel=1e-9)
    assert math.copysign(1.0, simulator.position[0] or units) == math.copysign(1.0, units)
    if lot:
        lots = simulator.position[0] / lot
        assert lots == pytest.approx(round(lots), abs=1e-6)
