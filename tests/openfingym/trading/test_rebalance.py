"""Target weights: the rows of docs/trading.md, and what is true of every rebalancing."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.trading.market import MarketRules
from openfingym.trading.orders import EventKind, Order, Reason, Side
from openfingym.trading.simulator import Simulator


def account(cash=1000.0, symbols=1, **rules):
    return Simulator(MarketRules(**rules), cash=cash, closes=[100.0] * symbols, volumes=[1000.0] * symbols)


def flat(simulator, *prices, volume=1000.0, **given):
    simulator.on_bar(prices, prices, prices, prices, [volume] * len(prices), **given)
    return simulator.events()


def test_row_weights_at_open():
    simulator = account(1000.0)
    assert simulator.target([0.5])
    assert simulator.events() == []
    simulator.on_bar([90.0], [200.0], [10.0], [180.0], [1000.0])
    [fill] = simulator.events()
    assert (fill.quantity, fill.price, fill.bar, fill.order_id) == (5.0, 90.0, 1, 0)  # 5.55 of them at the open
    assert simulator.equity == 550 + 5 * 180
    short = account(1000.0, lot=0.0)
    short.target([-0.5])
    flat(short, 90.0)
    assert short.positions() == pytest.approx((-500 / 90,))


def test_row_weights_sells_first():
    simulator = account(1000.0, symbols=2)
    simulator.target([0.0, 1.0])
    flat(simulator, 100.0, 100.0)
    simulator.target([1.0, 0.0])
    assert [(event.symbol, event.side, event.quantity) for event in flat(simulator, 100.0, 100.0)] == [
        (1, -1, 10.0),
        (0, 1, 10.0),
    ]


def test_row_weights_cash():
    simulator = account(1000.0, symbols=2, fee_per_trade=5.0)
    simulator.target([0.5, 0.5])
    assert [(event.symbol, event.quantity) for event in flat(simulator, 100.0, 100.0)] == [(0, 5.0), (1, 4.0)]
    assert simulator.cash == 90.0


def test_row_weights_short_cap():
    simulator = account(1000.0, slippage_bps=100.0, fee_bps=100.0, lot=0.0)
    simulator.target([-1.0])
    flat(simulator, 100.0)
    [units] = simulator.positions()
    # Each unit sold costs a slippage of 1 and a fee of 0.99.
    assert -units == pytest.approx(1000 / (100 + 1 + 0.99))
    assert -units * 100 == pytest.approx(simulator.equity)


def test_row_weights_flip():
    simulator = account(1000.0)
    simulator.target([1.0])
    flat(simulator, 100.0)
    simulator.target([-1.0])
    [fill] = flat(simulator, 100.0)
    assert fill.quantity == 20.0
    assert simulator.positions() == (-10.0,)
    simulator.target([1.0])
    flat(simulator, 100.0)
    assert simulator.positions() == (10.0,)


def test_row_weights_collateral():
    simulator = account(1000.0, symbols=3)
    simulator.target([-0.5, -0.5, 1.0])
    flat(simulator, 100.0, 100.0, 100.0)
    assert simulator.positions() == (-5.0, -5.0, 10.0)
    assert simulator.cash == 1000.0
    flat(simulator, 100.0, 150.0, 100.0)
    # Equity 750 wants 7 long of the first. Less the collateral of the second, 250 would buy 2 of the 12 needed; closing
    # the short of 5 may use all of the cash.
    simulator.target([1.0, -0.5, 0.0])
    flat(simulator, 100.0, 150.0, 100.0, tradable=[True, False, False])
    assert simulator.positions() == (0.0, -5.0, 10.0)


def test_row_weights_volume():
    simulator = account(1000.0, max_participation=0.1)
    simulator.target([1.0])
    flat(simulator, 100.0, volume=35.0)
    assert simulator.positions() == (3.0,)
    flat(simulator, 100.0)
    assert simulator.positions() == (3.0,)


def test_row_weights_halted():
    simulator = account(1000.0, symbols=2)
    simulator.target([0.5, 0.5])
    flat(simulator, 100.0, 100.0, tradable=[False, True])
    assert simulator.positions() == (0.0, 5.0)


def test_row_weights_last():
    simulator = account(1000.0)
    simulator.target([1.0])
    simulator.target([0.2])
    simulator.target([math.nan])  # refused: changes nothing
    flat(simulator, 100.0)
    assert simulator.positions() == (2.0,)


def test_row_weights_before_orders():
    simulator = account(1000.0)
    simulator.submit([Order(0, Side.BUY, 10.0)])
    simulator.target([0.8])
    first, second = flat(simulator, 100.0)
    assert (first.kind, first.order_id, first.quantity) == (EventKind.FILLED, 0, 8.0)
    assert (second.kind, second.order_id, second.reason) == (EventKind.REJECTED, 1, Reason.INSUFFICIENT_CASH)


@pytest.mark.parametrize(
    "weights",
    [
        [],
        [0.5],
        [0.5] * 3,
        [math.nan, 0.0],
        [math.inf, 0.0],
        [0.0, -math.inf],
        [0.7, 0.4],
        [-0.7, -0.4],
        ["a", 0.1],
        [None, 0.0],
    ],
)
def test_row_weights_refused(weights):
    simulator = account(symbols=2)
    assert simulator.target(weights) is False
    [event] = simulator.events()
    assert (event.kind, event.reason) == (EventKind.REJECTED, Reason.BAD_WEIGHTS)
    assert flat(simulator, 100.0, 100.0) == []
    assert simulator.target([1.0 + 1e-10, -1.0])  # rounding is forgiven


finite = st.floats(1.0, 500.0)
rates = st.sampled_from([0.0, 1.0, 25.0, 300.0])


@settings(max_examples=300)
@given(
    data=st.data(),
    symbols=st.integers(1, 4),
    lot=st.sampled_from([0.0, 1.0, 0.001, 0.7]),
    fee=rates,
    slip=rates,
    fixed=st.sampled_from([0.0, 1.1]),
)
def test_a_rebalancing_breaks_no_rule_of_the_account(data, symbols, lot, fee, slip, fixed):
    impact = data.draw(st.sampled_from([0.0, 0.1]))
    rules = MarketRules(
        lot=lot,
        fee_bps=fee,
        slippage_bps=slip,
        fee_per_trade=fixed,
        impact=impact,
        max_short=data.draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])),
    )
    simulator = Simulator(rules, cash=data.draw(st.floats(100.0, 1e6)), closes=[100.0] * symbols)
    for _ in range(4):
        raw = data.draw(st.lists(st.floats(-1.0, 1.0), min_size=symbols, max_size=symbols))
        longs, shorts = sum(w for w in raw if w > 0), -sum(w for w in raw if w < 0)
        weights = [w / max(1.0, longs) if w > 0 else w * rules.max_short / max(1.0, shorts) for w in raw]
        assert simulator.target(weights)
        prices = data.draw(st.lists(finite, min_size=symbols, max_size=symbols))
        before, cash = simulator.positions(), simulator.cash
        flat(simulator, *prices)
        if simulator.bankrupt:
            return
        assert simulator.cash >= min(0.0, cash)
        opened = any(now < min(0.0, then) for now, then in zip(simulator.positions(), before, strict=True))
        if opened and all(now <= then for now, then in zip(simulator.positions(), before, strict=True)):
            # With no purchase the open, at which the cap held, is the close; only costs of later sales come off.
            assert simulator.account().short <= rules.max_short * (simulator.equity + simulator.cost) * (1 + 1e-9)


@settings(max_examples=100)
@given(
    st.permutations(range(4)),
    st.lists(st.floats(-0.2, 0.2), min_size=4, max_size=4),
    st.lists(finite, min_size=4, max_size=4),
)
def test_the_order_of_symbols_does_not_matter_while_cash_and_cap_do_not_bind(order, weights, prices):
    ends = []
    for permutation in (range(4), order):
        simulator = account(10_000.0, symbols=4, lot=0.0, fee_bps=10.0)
        simulator.target([weights[i] for i in permutation])
        flat(simulator, *(prices[i] for i in permutation))
        ends.append(sorted(zip(permutation, simulator.positions(), strict=True)))
    assert [pair[0] for pair in ends[0]] == [pair[0] for pair in ends[1]]
    assert [pair[1] for pair in ends[0]] == pytest.approx([pair[1] for pair in ends[1]], rel=1e-12)
