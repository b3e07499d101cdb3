"""What holds of every stream of orders, whatever the rules: nothing is lost, made up, seen too early or done in
silence."""

import gc
import math
import random
import sys
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.trading.market import BarPath, MarketRules
from openfingym.trading.orders import EventKind, Order, OrderType, Side, TimeInForce
from openfingym.trading.simulator import Simulator
from tests.sweeps import ALL

FILLED, REJECTED, CANCELLED = EventKind.FILLED, EventKind.REJECTED, EventKind.CANCELLED
PRICED = {
    OrderType.MARKET: (False, False),
    OrderType.LIMIT: (True, False),
    OrderType.STOP: (False, True),
    OrderType.STOP_LIMIT: (True, True),
}

MANY = 300 if ALL else 60
"""Streams of orders of each test."""

seeds = st.integers(0, 2**32)
rules = st.builds(
    MarketRules,
    fee_bps=st.sampled_from([0.0, 0.1, 7.3, 100.0]),
    fee_per_trade=st.sampled_from([0.0, 0.1, 3.0]),
    slippage_bps=st.sampled_from([0.0, 1.7, 50.0]),
    half_spread_bps=st.sampled_from([0.0, 3.3]),
    impact=st.sampled_from([0.0, 0.1]),
    max_participation=st.sampled_from([0.0, 0.1, 0.37]),
    lot=st.sampled_from([0.0, 1.0, 0.001]),
    max_short=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    path=st.sampled_from(list(BarPath)),
    short_proceeds_fund_longs=st.booleans(),
    check_on_submit=st.booleans(),
)


def bars_of(seed, rows, symbols):
    """Rows of (opens, highs, lows, closes, volumes, tradable): awkward floats, gaps, halts and bars of one price."""
    rng = random.Random(seed)
    last, rows_of = [rng.uniform(5, 150) for _ in range(symbols)], []
    for _ in range(rows):
        bar = []
        for s in range(symbols):
            o = last[s] * math.exp(rng.gauss(0, 0.02))
            c = o * math.exp(rng.gauss(0, 0.03))
            h, low = (
                max(o, c) * (1 + rng.choice([0, rng.random() * 0.02])),
                min(o, c) * (1 - rng.choice([0, rng.random() * 0.02])),
            )
            halted = rng.random() < 0.05
            bar.append((o, h, low, c, float(rng.choice([0, rng.randrange(1, 2000)])), not halted))
            last[s] = last[s] if halted else c
        rows_of.append([list(column) for column in zip(*bar, strict=True)])
    return rows_of


def decide(rng, simulator, last_id):
    """A random request or some: batches, odd ones among them, cancels, replacements and targets."""
    symbols = len(simulator.position)
    orders = []
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        s = rng.randrange(symbols) if rng.random() < 0.97 else symbols
        mark, kind = simulator.mark[s % symbols], rng.choice(list(OrderType))
        lot = simulator.market.lot or 1.0
        quantity = rng.choice([rng.randrange(1, 60) * lot, rng.uniform(0, 40), rng.choice([0.0, -1.0, math.nan])])
        if rng.random() < 0.8 and simulator.market.lot:
            quantity = rng.randrange(1, 60) * rng.choice([1, 5]) * lot
        limit, stop = (
            mark * rng.choice([1.0, math.exp(rng.gauss(0, 0.03))]) if used else math.nan for used in PRICED[kind]
        )
        orders.append(
            Order(
                s,
                rng.choice(list(Side)),
                quantity,
                kind,
                limit,
                stop,
                rng.choice([TimeInForce.GTC, TimeInForce.GTC, TimeInForce.IOC]),
            )
        )
    if rng.random() < 0.3:
        orders += pair_of(rng, simulator)
    ids = simulator.submit(orders)
    if rng.random() < 0.3:
        simulator.cancel(rng.randrange(last_id + 2))
    if rng.random() < 0.3 and simulator.orders:
        chosen = rng.choice(simulator.orders)
        simulator.replace(
            chosen.id,
            quantity=rng.choice([None, chosen.remaining / 2, chosen.remaining * 2]),
            limit_price=rng.choice([None, chosen.limit * 1.01]),
        )
    if rng.random() < 0.1:
        raw = [rng.uniform(-1, 1) for _ in range(symbols)]
        simulator.target([weight / symbols * rng.choice([1.0, min(1.0, simulator.market.max_short)]) for weight in raw])
    return dict(zip(ids, orders, strict=True))


def pair_of(rng, simulator):
    """A stop and a limit order of which one cancels the other, often on what is held."""
    s = rng.randrange(len(simulator.position))
    held, mark, lot = simulator.position[s], simulator.mark[s], simulator.market.lot or 1.0
    side = Side.SELL if held > 0.0 else Side.BUY
    quantity = abs(held) if held and rng.random() < 0.7 else rng.randrange(1, 60) * lot
    limit, stop = (mark * math.exp(sign * side * rng.uniform(-0.005, 0.03)) for sign in (-1, 1))
    return [
        Order(s, side, quantity, OrderType.LIMIT, limit, oco="pair"),
        Order(s, side, quantity, OrderType.STOP, stop_price=stop, oco="pair"),
    ]


def walk(market, seed, *, rows=25, symbols=2, cash=10_000.0, history=None):
    """Trade a random stream; yields (simulator, bar, events since the last bar, what was accepted in the step before
    it)."""
    bars = history or bars_of(seed, rows, symbols)
    rng = random.Random(seed + 1)
    simulator = Simulator(market, cash=cash, closes=bars[0][3], volumes=bars[0][4])
    last_id = 0
    for bar in bars[1:]:
        accepted = decide(rng, simulator, last_id)
        last_id = max(last_id, *accepted) if accepted else last_id
        simulator.on_bar(*bar[:5], tradable=bar[5])
        yield simulator, bar, simulator.events(), {order_id: order for order_id, order in accepted.items() if order_id}


@settings(max_examples=MANY)
@given(rules, seeds)
def test_cash_and_units_are_conserved(market, seed):
    """The reward is the profit (complaint 4): equity is cash plus positions, and every change of either is accounted
    for."""
    market = replace(market, borrow_bps_per_year=800.0)
    cash, units, last = 10_000.0, [0.0, 0.0], None
    for simulator, bar, events, _ in walk(market, seed):
        fees = slippage = 0.0
        if simulator.bankrupt:
            return
        borrowed = (
            sum(-min(0.0, held) * mark for held, mark in zip(units, last or bar[3], strict=True)) * market.borrow_rate
        )
        for event in events:
            if event.kind is FILLED:
                cash -= event.side * event.quantity * event.price + event.fee
                units[event.symbol] += event.side * event.quantity
                fees, slippage = fees + event.fee, slippage + event.slippage
        cash -= borrowed
        assert simulator.cash == pytest.approx(cash, rel=1e-9, abs=1e-6)
        assert simulator.position == pytest.approx(units, abs=1e-9)
        assert simulator.cost == pytest.approx(fees + slippage + borrowed, abs=1e-6)
        assert simulator.equity == pytest.approx(
            cash + sum(u * mark for u, mark in zip(units, simulator.mark, strict=True)), abs=1e-6
        )
        last = list(simulator.mark)


@settings(max_examples=MANY)
@given(rules, seeds)
def test_fills_are_inside_the_bar_and_after_the_decision(market, seed):
    """No fill at an impossible price (complaint 6) nor on a bar already seen (complaint 1); limits hold with
    slippage."""
    born, orders = {}, {}
    for simulator, bar, events, accepted in walk(market, seed):
        for order_id, order in accepted.items():
            born[order_id], orders[order_id] = simulator.row - 1, order
        for event in events:
            if event.kind is not FILLED:
                continue
            s = event.symbol
            base = event.price - event.side * event.slippage / event.quantity
            # Impact may take a seller's whole price; rounding is that of the price before it.
            slack = 1e-12 * max(event.price, base)
            assert bar[2][s] - slack <= base <= bar[1][s] + slack
            assert bar[5][s]
            assert event.bar == simulator.row
            if event.order_id:
                assert event.bar > born[event.order_id]
                assert event.side * event.price >= event.side * base - slack  # slippage is never a gain
                if market.max_participation:
                    assert event.quantity <= market.max_participation * bar[4][s] * (1 + 1e-9)


@settings(max_examples=MANY)
@given(rules, seeds)
def test_a_pair_trades_no_more_than_one_of_it_would_and_ends_together(market, seed):
    pairs, filled = {}, defaultdict(float)
    for simulator, _, events, accepted in walk(replace(market, lot=0.0), seed):
        first, second = [order_id for order_id, order in accepted.items() if order.oco] or [0, 0]
        if first:
            pairs[first], pairs[second] = (first, accepted[first]), (first, accepted[second])
        for event in events:
            if event.kind is FILLED and event.order_id in pairs:
                filled[pairs[event.order_id][0]] += event.quantity
        left = {order.id: order for order in simulator.orders}
        for order_id, order in left.items():
            if order_id in pairs:
                assert order.other is left[order.other.id]
                assert order.remaining == order.other.remaining
                assert order.remaining + filled[pairs[order_id][0]] == pytest.approx(pairs[order_id][1].quantity)
    for first, order in pairs.values():
        assert filled[first] <= order.quantity * (1.0 + 1e-12)


@settings(max_examples=MANY)
@given(rules, seeds)
def test_the_future_does_not_matter(market, seed):
    """Complaint 1: what happens up to a row is the same whatever the bars after it."""
    bars = bars_of(seed, 25, 2)
    other = bars[:13] + bars_of(seed + 7, 12, 2)
    ends = []
    for history in (bars, other):
        steps = walk(market, seed, history=history)
        ends.append(
            [
                repr((step[2], simulator.cash, simulator.position, simulator.equity))
                for step in (next(steps) for _ in range(12))
                for simulator in step[:1]
            ]
        )
    assert ends[0] == ends[1]


@settings(max_examples=MANY)
@given(rules, seeds, st.floats(1.0, 1e5))
def test_cash_is_never_negative_and_longs_never_oversold(market, seed, cash):
    """Complaint 5. Without borrowing and dividends nothing but a fill takes cash."""
    long_only = replace(market, max_short=0.0)
    for rule in (market, long_only):
        for simulator, *_ in walk(rule, seed, cash=cash):
            assert simulator.cash >= 0.0
            if rule is long_only:
                assert min(simulator.position) >= 0.0


@settings(max_examples=MANY)
@given(rules, seeds)
def test_the_short_cap_holds_after_every_sale_that_opens_a_short(market, seed):
    cash, units = 10_000.0, [0.0, 0.0]
    marks = None
    for simulator, bar, events, _ in walk(market, seed):
        marks = [
            o if tradable else mark for o, tradable, mark in zip(bar[0], bar[5], marks or simulator.mark, strict=True)
        ]
        for event in events:
            if event.kind is not FILLED:
                continue
            cash -= event.side * event.quantity * event.price + event.fee
            units[event.symbol] += event.side * event.quantity
            if event.side < 0 and units[event.symbol] < -1e-9:
                worth = list(marks)
                worth[event.symbol] = event.price + event.slippage / event.quantity
                shorts = sum(max(0.0, -u) * price for u, price in zip(units, worth, strict=True))
                equity = cash + sum(u * price for u, price in zip(units, worth, strict=True))
                assert shorts <= market.max_short * equity + 1e-9 * abs(equity)
        marks = list(simulator.mark)


@settings(max_examples=MANY)
@given(rules, seeds)
def test_no_order_ends_in_silence(market, seed):
    """Complaint 7: what was asked for is filled, still open, or in an event that says what became of it."""
    asked, filled, ended = {}, defaultdict(float), defaultdict(float)
    for simulator, _, events, accepted in walk(market, seed):
        asked.update({order_id: order.quantity for order_id, order in accepted.items()})
        for event in events:
            if event.kind is FILLED:
                filled[event.order_id] += event.quantity
            elif event.kind in {EventKind.REPLACED, EventKind.ADJUSTED}:  # adjusted by a fill of the other of its pair
                asked[event.order_id] = filled[event.order_id] + event.quantity
            elif event.kind is CANCELLED or (event.kind is REJECTED and event.bar == simulator.row and event.order_id):
                assert event.order_id not in ended
                ended[event.order_id] = event.quantity
        still = {order.id: order.remaining for order in simulator.open_orders()}
        for order_id, quantity in asked.items():
            left = ended[order_id] if order_id in ended else still.get(order_id, 0.0)
            assert filled[order_id] + left == pytest.approx(quantity, rel=1e-9)


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.just(10**400),
)
near = st.sampled_from([0, 1, -1, 1.0, 100.0, math.nan, None])


@settings(max_examples=MANY)
@given(
    st.lists(st.tuples(*[st.one_of(near, anything)] * 8) | anything, max_size=5),
    anything,
    st.lists(anything, max_size=3),
)
def test_no_request_raises_and_what_is_refused_changes_nothing(requests, handle, weights):
    simulator = Simulator(MarketRules(tick=0.01), cash=1000.0, closes=[100.0, 100.0])
    [open_id] = simulator.submit([Order(0, Side.BUY, 1.0, OrderType.LIMIT, 50.0)])
    for request in requests:
        before = simulator.account(), simulator.open_orders()
        [order_id] = simulator.submit([Order(*request) if isinstance(request, tuple) else request])
        assert order_id or (simulator.account(), simulator.open_orders()) == before
        assert len(simulator.events()) == (0 if order_id else 1)
    for change in ("quantity", "limit_price", "stop_price"):
        simulator.replace(open_id, **{change: handle})
    simulator.replace(handle, quantity=2.0)
    simulator.cancel(handle)
    simulator.target(weights)
    simulator.on_bar([100.0] * 2, [101.0] * 2, [99.0] * 2, [100.0] * 2, [10.0] * 2)
    assert math.isfinite(simulator.cash)
    assert simulator.cash >= 0.0


@settings(max_examples=MANY)
@given(rules, seeds)
def test_the_same_requests_give_the_same_bits(market, seed):
    """Complaint 10: determinism."""
    runs = [
        [
            repr((events, simulator.cash, simulator.position, simulator.open_orders()))
            for simulator, _, events, _ in walk(market, seed)
        ]
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


@settings(max_examples=MANY)
@given(rules, seeds, st.permutations(range(3)))
def test_the_order_of_symbols_and_orders_does_not_matter_while_the_account_does_not_bind(market, seed, order):
    """Complaint 10: fills do not depend on registration."""
    market = replace(market, max_short=1e6, path=BarPath.CERTAIN, max_participation=0.0)
    bars = bars_of(seed, 15, 3)
    ends = []
    for permutation in (list(range(3)), list(order)):
        simulator = Simulator(market, cash=1e9, closes=[bars[0][3][s] for s in permutation])
        rng = random.Random(seed)
        for bar in bars[1:]:
            batch = [
                Order(
                    s,
                    rng.choice(list(Side)),
                    float(rng.randrange(1, 9)),
                    OrderType.LIMIT,
                    bar[0][s] * rng.uniform(0.9, 1.1),
                )
                for s in range(3)
            ]
            simulator.submit([batch[s]._replace(symbol=permutation.index(s)) for s in permutation])
            simulator.on_bar(
                *([column[s] for s in permutation] for column in bar[:5]), tradable=[bar[5][s] for s in permutation]
            )
        ends.append(({s: simulator.position[permutation.index(s)] for s in range(3)}, simulator.cash))
    assert ends[0][0] == ends[1][0]
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-12)


@settings(max_examples=MANY)
@given(
    seeds,
    st.floats(0.0, 200.0),
    st.floats(0.0, 200.0),
    st.sampled_from(["fee_bps", "slippage_bps", "half_spread_bps", "fee_per_trade", "impact"]),
)
def test_more_cost_never_gives_more_money(seed, first, second, name):
    """Complaint 4: a higher fee raised the reward. Cash is plenty, so that the same orders fill."""
    ends = []
    for value in sorted((first, second)):
        market = MarketRules(lot=0.0, max_short=1e6, **{name: value / 1e4 if name == "impact" else value})
        simulator, rng = Simulator(market, cash=1e9, closes=[100.0, 100.0]), random.Random(seed)
        for bar in bars_of(seed, 20, 2)[1:]:
            simulator.submit([Order(rng.randrange(2), rng.choice(list(Side)), rng.uniform(0.1, 50)) for _ in range(2)])
            simulator.on_bar(*bar[:5])
        ends.append((simulator.equity, simulator.position))
    assert ends[0][1] == ends[1][1]
    assert ends[1][0] <= ends[0][0] + 1e-6


def test_a_step_does_not_slow_down_with_history():
    """Complaint 9: the number of function calls of a bar is the same after 100 rows and after 3,000."""
    simulator = Simulator(MarketRules(fee_bps=1.0), cash=1e6, closes=[100.0])

    def step(row):
        limit = simulator.submit(
            [
                Order(0, Side.BUY if row % 2 else Side.SELL, 10.0, client_id=f"m{row}"),
                Order(0, Side.BUY, 5.0, OrderType.LIMIT, 90.0),
            ]
        )[1]
        simulator.on_bar([100.0], [101.0], [99.0], [100.0], [1000.0])
        simulator.cancel(limit)
        return simulator.events()

    calls = []
    for row in range(3001):
        if row in {100, 3000}:
            seen = []
            # Callbacks of the garbage collector, which come whenever it likes, would be counted too.
            gc.disable()
            sys.setprofile(lambda frame, event, arg, seen=seen: seen.append(event))
            try:
                step(row)
            finally:
                sys.setprofile(None)
                gc.enable()
            calls.append(len(seen))
        else:
            step(row)
    assert calls[0] == calls[1]
    assert len(simulator.orders) == len(simulator.events()) == 0
