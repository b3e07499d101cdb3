"""The tables of docs/trading.md, a test a row: what is filled, when and at what price, and what an account may do."""

import ast
import math
import re
from pathlib import Path

import pytest

from openfingym.trading.market import BarPath, MarketRules
from openfingym.trading.orders import EventKind, Order, OrderType, Reason, Side, TimeInForce
from openfingym.trading.simulator import Simulator

BUY, SELL = Side.BUY, Side.SELL
MARKET, LIMIT, STOP, STOP_LIMIT = OrderType.MARKET, OrderType.LIMIT, OrderType.STOP, OrderType.STOP_LIMIT
IOC = TimeInForce.IOC
NAN = math.nan
HALT = (100.0, 100.0, 100.0, 100.0)
both_sides = pytest.mark.parametrize("side", [BUY, SELL])


def test_every_row_of_the_tables_has_a_test_and_every_such_test_a_row():
    text = (Path(__file__).parents[3] / "docs" / "trading.md").read_text()
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE)
    tests = [
        node.name.removeprefix("test_row_").replace("_", "-")
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_row_")
    ]
    assert len(rows) > 50
    assert sorted(rows) == sorted(tests)
    everything = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert all(f"def {name}(" in everything for name in re.findall(r"`(test_\w+)`", text))


class Stage:
    """One account and one symbol near 100; for a sell every price is mirrored about 100, in and out."""

    def __init__(self, side=BUY, *, cash=100_000.0, **rules):
        self.side = side
        self.account = Simulator(
            MarketRules(**{"max_short": 10.0, **rules}), cash=cash, closes=[100.0], volumes=[1000.0]
        )

    def mirror(self, price):
        return price if self.side is BUY else 200.0 - price

    def order(self, kind=MARKET, limit=NAN, stop=NAN, *, quantity=10.0, tif=TimeInForce.GTC, against=False):
        side = Side(-self.side) if against else self.side
        [order_id] = self.account.submit([Order(0, side, quantity, kind, self.mirror(limit), self.mirror(stop), tif)])
        return order_id

    def bar(self, o, h, low, c, *, volume=1000.0, tradable=True):
        """Returns what happened: kinds, reasons, quantities and prices."""
        high, low = (h, low) if self.side is BUY else (200.0 - low, 200.0 - h)
        self.account.on_bar([self.mirror(o)], [high], [low], [self.mirror(c)], [volume], tradable=[tradable])
        return self.events()

    def events(self):
        told = []
        for event in self.account.events():
            if event.kind is EventKind.FILLED:
                told.append((event.quantity, round(self.mirror(event.price), 9)))
            else:
                told.append(event.reason.name if event.reason else event.kind.name)
        return told


# Fill rules.


@both_sides
@pytest.mark.parametrize(
    ("kind", "limit", "stop"), [(MARKET, NAN, NAN), (LIMIT, 101.0, NAN), (STOP, NAN, 99.0), (STOP_LIMIT, 101.0, 99.0)]
)
def test_row_decided_then_live(side, kind, limit, stop):
    stage = Stage(side)
    stage.bar(100, 102, 98, 100)
    decided = stage.account.row
    stage.order(kind, limit, stop)
    assert stage.events() == []
    assert stage.account.positions() == (0.0,)
    stage.account.on_bar([stage.mirror(100.5)], [103.0], [97.0], [100.0], [1000.0])
    fills = [event for event in stage.account.events() if event.kind is EventKind.FILLED]
    assert [(fill.bar, stage.mirror(fill.price)) for fill in fills] == [(decided + 1, 100.5)]


@both_sides
def test_row_market_open(side):
    stage = Stage(side)
    stage.order()
    assert stage.bar(103, 105, 99, 101) == [(10, 103)]


@both_sides
@pytest.mark.parametrize(("kind", "stop"), [(MARKET, NAN), (STOP, 95.0)])
def test_row_market_slippage(side, kind, stop):
    stage = Stage(side, slippage_bps=100, half_spread_bps=50, impact=0.0)
    stage.order(kind, stop=stop)
    events = stage.bar(100, 100, 100, 100)
    assert events[-1] == (10, 101.5)  # beyond the high
    assert stage.account.cost == pytest.approx(15.0)


@both_sides
def test_row_market_impact(side):
    stage = Stage(side, impact=0.5)
    stage.order(quantity=100.0)
    assert stage.bar(100, 100, 100, 100, volume=500.0) == [(100, 100 * (1 + 0.5 * 0.2**2))]


@both_sides
def test_row_limit_at_open(side):
    for limit in (99.0, 100.0):
        stage = Stage(side)
        stage.order(LIMIT, limit)
        assert stage.bar(99, 101, 98, 100) == [(10, 99)]


@both_sides
def test_row_limit_inside(side):
    for limit in (98.0, 98.5):
        stage = Stage(side)
        stage.order(LIMIT, limit)
        assert stage.bar(99, 101, 98, 100) == [(10, limit)]


@both_sides
def test_row_limit_missed(side):
    stage = Stage(side)
    stage.order(LIMIT, 97.0)
    assert stage.bar(99, 101, 97.01, 100) == []
    assert stage.bar(99, 101, 97, 100) == [(10, 97)]


@both_sides
@pytest.mark.parametrize(
    ("kind", "limit", "stop", "price"),
    [(LIMIT, 98.5, NAN, 98.5), (LIMIT, 99.5, NAN, 99), (STOP_LIMIT, 99.5, 99.5, 99.5)],
)
def test_row_limit_no_slippage(side, kind, limit, stop, price):
    stage = Stage(side, slippage_bps=100, half_spread_bps=50, impact=1.0, fee_bps=10)
    stage.order(kind, limit, stop)
    assert stage.bar(99, 101, 98, 100)[-1] == (10, price)
    assert stage.account.cost == pytest.approx(10 * stage.mirror(price) * 0.001)


@both_sides
def test_row_stop_gap(side):
    for stop in (102.0, 103.0):
        stage = Stage(side)
        stage.order(STOP, stop=stop)
        assert stage.bar(103, 105, 99, 101) == ["TRIGGERED", (10, 103)]


@both_sides
def test_row_stop_inside(side):
    for stop in (104.0, 105.0):
        stage = Stage(side)
        stage.order(STOP, stop=stop)
        assert stage.bar(103, 105, 99, 101) == ["TRIGGERED", (10, stop)]


@both_sides
def test_row_stop_missed(side):
    stage = Stage(side)
    stage.order(STOP, stop=105.01)
    assert stage.bar(103, 105, 99, 101) == []
    assert stage.account.open_orders()[0].triggered is False


@both_sides
def test_row_stop_rest_is_market(side):
    stage = Stage(side, max_participation=0.01)
    stage.order(STOP, stop=104.0)
    assert stage.bar(103, 105, 99, 101, volume=400.0) == ["TRIGGERED", (4, 104)]
    assert stage.bar(90, 91, 89, 90, volume=10_000.0) == [(6, 90)]  # far from the stop


@both_sides
def test_row_stop_limit_gap(side):
    stage = Stage(side)
    stage.order(STOP_LIMIT, 103.0, 102.0)
    assert stage.bar(103, 105, 99, 101) == ["TRIGGERED", (10, 103)]


@both_sides
def test_row_stop_limit_gap_then_limit(side):
    stage = Stage(side)
    stage.order(STOP_LIMIT, 102.5, 102.0)
    assert stage.bar(103, 105, 102.5, 104) == ["TRIGGERED", (10, 102.5)]


@both_sides
def test_row_stop_limit_gap_waits(side):
    stage = Stage(side)
    stage.order(STOP_LIMIT, 102.0, 102.0)
    assert stage.bar(103, 105, 102.5, 104) == ["TRIGGERED"]
    assert stage.account.open_orders()[0].triggered
    assert stage.bar(101, 101, 100, 100) == [(10, 101)]  # below the stop, which no longer matters


@both_sides
def test_row_stop_limit_inside(side):
    for limit in (104.0, 110.0):
        stage = Stage(side)
        stage.order(STOP_LIMIT, limit, 104.0)
        assert stage.bar(103, 105, 99, 101) == ["TRIGGERED", (10, 104)]


@both_sides
def test_row_stop_limit_certain(side):
    for close in (101.0, 100.0):
        stage = Stage(side)
        stage.order(STOP_LIMIT, 101.0, 104.0)
        assert stage.bar(103, 105, 99, close) == ["TRIGGERED", (10, 101)]


@both_sides
def test_row_stop_limit_uncertain(side):
    stage = Stage(side)
    stage.order(STOP_LIMIT, 101.0, 104.0)
    assert stage.bar(103, 105, 99, 101.5) == ["TRIGGERED"]  # the low may have come first
    assert stage.bar(102, 102, 100.5, 102) == [(10, 101)]


@both_sides
def test_row_stop_limit_path_high_first(side):
    # The path that visits the extreme against the order first: the high for a buy, the low for a sell.
    worst_first = BarPath.OPEN_HIGH_LOW_CLOSE if side is BUY else BarPath.OPEN_LOW_HIGH_CLOSE
    for limit, expected in ((101.0, ["TRIGGERED", (10, 101)]), (98.0, ["TRIGGERED"])):
        stage = Stage(side, path=worst_first)
        stage.order(STOP_LIMIT, limit, 104.0)
        assert stage.bar(103, 105, 99, 104.5) == expected


@both_sides
def test_row_stop_limit_path_low_first(side):
    best_first = BarPath.OPEN_LOW_HIGH_CLOSE if side is BUY else BarPath.OPEN_HIGH_LOW_CLOSE
    for close, expected in ((101.5, ["TRIGGERED"]), (101.0, ["TRIGGERED", (10, 101)])):
        stage = Stage(side, path=best_first)
        stage.order(STOP_LIMIT, 101.0, 104.0)
        assert stage.bar(103, 105, 99, close) == expected


@both_sides
def test_row_stop_limit_missed(side):
    stage = Stage(side)
    stage.order(STOP_LIMIT, 110.0, 105.01)
    assert stage.bar(103, 105, 99, 101) == []


def two_limits(path, o):
    """Sides of the fills of a sell limit at 104 and a buy limit at 96, submitted in both orders."""
    told = []
    for first in (BUY, SELL):
        account = Simulator(MarketRules(path=path), cash=100_000.0, closes=[100.0])
        orders = [Order(0, BUY, 10.0, LIMIT, 96.0), Order(0, SELL, 10.0, LIMIT, 104.0)]
        account.submit(orders if first is BUY else orders[::-1])
        account.on_bar([o], [105.0], [95.0], [100.0], [1000.0])
        told.append([(event.side, event.price) for event in account.events()])
    return told


LOW_THEN_HIGH, HIGH_THEN_LOW = [(1, 96.0), (-1, 104.0)], [(-1, 104.0), (1, 96.0)]


def test_row_both_touched_certain():
    assert two_limits(BarPath.CERTAIN, 100.0) == [LOW_THEN_HIGH, HIGH_THEN_LOW]


def test_row_both_touched_high_first():
    assert two_limits(BarPath.OPEN_HIGH_LOW_CLOSE, 100.0) == [HIGH_THEN_LOW] * 2


def test_row_both_touched_low_first():
    assert two_limits(BarPath.OPEN_LOW_HIGH_CLOSE, 100.0) == [LOW_THEN_HIGH] * 2


def test_row_both_touched_adaptive():
    assert two_limits(BarPath.ADAPTIVE, 99.0) == [LOW_THEN_HIGH] * 2
    assert two_limits(BarPath.ADAPTIVE, 101.0) == [HIGH_THEN_LOW] * 2
    assert two_limits(BarPath.ADAPTIVE, 100.0) == [HIGH_THEN_LOW] * 2  # a tie


@both_sides
def test_row_gtc_waits(side):
    stage = Stage(side)
    order_id = stage.order(LIMIT, 90.0)
    for _ in range(50):
        assert stage.bar(100, 101, 99, 100) == []
    assert [order.id for order in stage.account.open_orders()] == [order_id]


@both_sides
@pytest.mark.parametrize(
    ("kind", "limit", "stop"), [(MARKET, NAN, NAN), (LIMIT, 103.0, NAN), (STOP, NAN, 103.0), (STOP_LIMIT, 103.0, 103.0)]
)
def test_row_ioc_at_open(side, kind, limit, stop):
    stage = Stage(side)
    stage.order(kind, limit, stop, tif=IOC)
    assert stage.bar(103, 105, 99, 101)[-1] == (10, 103)
    assert stage.account.open_orders() == ()


@both_sides
@pytest.mark.parametrize(
    ("kind", "limit", "stop"), [(LIMIT, 100.0, NAN), (STOP, NAN, 104.0), (STOP_LIMIT, 104.0, 104.0)]
)
def test_row_ioc_not_at_open(side, kind, limit, stop):
    stage = Stage(side)
    stage.order(kind, limit, stop, tif=IOC)
    assert stage.bar(103, 105, 99, 101) == ["UNFILLED"]
    assert stage.account.open_orders() == ()


@both_sides
def test_row_ioc_partial(side):
    stage = Stage(side, max_participation=0.01)
    stage.order(tif=IOC)
    assert stage.bar(103, 105, 99, 101, volume=400.0) == [(4, 103), "UNFILLED"]


@both_sides
def test_row_ioc_halted(side):
    stage = Stage(side)
    stage.order(tif=IOC)
    assert stage.bar(*HALT, volume=0.0, tradable=False) == ["UNFILLED"]


@both_sides
def test_row_halt_waits(side):
    stage = Stage(side)
    stage.order()
    assert stage.bar(103, 105, 99, 101, volume=0.0, tradable=False) == []
    assert stage.account.mark == [100.0]
    assert stage.bar(102, 105, 99, 101) == [(10, 102)]


@both_sides
def test_row_volume_cap(side):
    stage = Stage(side, max_participation=0.25, lot=1.0)
    stage.order()
    assert stage.bar(100, 100, 100, 100, volume=31.0) == [(7, 100)]  # 7.75 of them
    assert stage.bar(101, 101, 101, 101, volume=3.0) == []  # less than a lot
    assert stage.bar(102, 102, 102, 102, volume=400.0) == [(3, 102)]


@both_sides
def test_row_volume_cap_shared(side):
    stage = Stage(side, max_participation=0.1)
    stage.order(quantity=6.0)
    stage.order(quantity=6.0, against=True)
    stage.order(quantity=6.0)
    assert stage.bar(100, 100, 100, 100, volume=100.0) == [(6, 100), (4, 100)]
    assert [order.remaining for order in stage.account.open_orders()] == [2, 6]


# The account.


def account(cash=1000.0, symbols=1, **rules):
    return Simulator(MarketRules(**rules), cash=cash, closes=[100.0] * symbols, volumes=[1000.0] * symbols)


def flat(simulator, *prices, **given):
    """A bar in which each symbol stays at one price; returns the events."""
    simulator.on_bar(prices, prices, prices, prices, [1000.0] * len(prices), **given)
    return simulator.events()


def reasons(events):
    return [event.reason.name for event in events if event.reason]


def test_row_fees():
    simulator = account(fee_bps=20.0, fee_per_trade=1.5)
    simulator.submit([Order(0, BUY, 4.0)])
    [fill] = flat(simulator, 100.0)
    assert fill.fee == pytest.approx(400 * 0.002 + 1.5)
    assert simulator.cash == pytest.approx(1000 - 400 - 2.3)
    assert simulator.cost == fill.fee


def test_row_borrow():
    simulator = account(borrow_bps_per_year=500.0, bars_per_year=250.0)
    simulator.submit([Order(0, SELL, 5.0)])
    flat(simulator, 100.0)
    assert simulator.cash == 1500.0
    flat(simulator, 120.0)
    assert simulator.cash == pytest.approx(1500 - 5 * 100 * 0.05 / 250)  # at the last close
    assert simulator.cost == pytest.approx(0.1)


def test_row_lots():
    for lot, quantity in ((0.1, 0.3), (0.001, 0.007), (1e-8, 1.23456789)):
        simulator = account(lot=lot, max_short=0.0)
        for _ in range(3):
            simulator.submit([Order(0, BUY, quantity)])
            flat(simulator, 1.0)
        simulator.submit([Order(0, SELL, quantity)] * 3)
        assert reasons(flat(simulator, 1.0)) == []
        assert simulator.positions() == (0.0,)  # 0.3 + 0.3 + 0.3 is not 0.9 in binary
    whole = account(lot=0.0, max_short=0.0)  # 0.3 - 0.1 - 0.1 is less than 0.1
    whole.submit([Order(0, BUY, 0.3)])
    flat(whole, 1.0)
    whole.submit([Order(0, SELL, 0.1)] * 3)
    assert reasons(flat(whole, 1.0)) == []
    assert whole.positions() == (0.0,)
    simulator = account(lot=0.1)
    simulator.submit([Order(0, BUY, 0.25)])
    assert reasons(simulator.events()) == ["ODD_LOT"]


def test_row_ticks():
    simulator = account(tick=0.05)
    simulator.submit(
        [Order(0, BUY, 1.0, LIMIT, 99.95), Order(0, BUY, 1.0, LIMIT, 99.96), Order(0, BUY, 1.0, STOP, stop_price=0.01)]
    )
    assert reasons(simulator.events()) == ["OFF_TICK", "OFF_TICK"]
    assert [order.limit_price for order in simulator.open_orders()] == [99.95]


@pytest.mark.parametrize(
    ("kind", "limit", "stop", "worst"),
    [
        (MARKET, NAN, NAN, 101.0),
        (LIMIT, 120.0, NAN, 120.0),
        (STOP, NAN, 120.0, 121.2),
        (STOP, NAN, 80.0, 101.0),
        (STOP_LIMIT, 110.0, 105.0, 110.0),
    ],
)
def test_row_cash_at_submission(kind, limit, stop, worst):
    hold = 4 * worst * 1.01 + 2.0  # slippage is in the worst price
    for cash, accepted in ((hold + 1e-6, True), (hold - 1e-6, False)):
        simulator = account(cash, slippage_bps=100.0, fee_bps=100.0, fee_per_trade=2.0)
        [order_id] = simulator.submit([Order(0, BUY, 4.0, kind, limit, stop)])
        assert bool(order_id) is accepted
        if accepted:
            assert simulator.account().free_cash == pytest.approx(1e-6, abs=1e-9)
            assert simulator.submit([Order(0, BUY, 1.0, LIMIT, 1.0)]) == [0]  # nothing is left beside it
        else:
            assert reasons(simulator.events()) == ["INSUFFICIENT_CASH"]


def test_row_cash_at_fill():
    simulator = account()
    simulator.submit([Order(0, BUY, 10.0)])
    assert reasons(flat(simulator, 100.01)) == ["INSUFFICIENT_CASH"]
    assert simulator.cash == 1000.0
    assert simulator.open_orders() == ()


def test_row_cash_never_negative():
    # 0.1 + 0.2 > 0.3 in binary: the sum of what three fills cost is above the cash by a bit.
    simulator = account(0.3, lot=0.0, check_on_submit=False)
    simulator.submit([Order(0, BUY, 0.1), Order(0, BUY, 0.2), Order(0, BUY, 1e-15)])
    flat(simulator, 1.0)
    assert simulator.cash >= 0.0
    assert simulator.account().free_cash >= 0.0
    # Closing a short needs cash too; a hair above what there is, it is refused.
    for fee, expected in ((0.0, []), (1e-10, ["INSUFFICIENT_CASH"])):
        simulator = account(1000.0 + fee, fee_per_trade=fee)
        simulator.submit([Order(0, SELL, 5.0)])
        flat(simulator, 100.0)
        simulator.submit([Order(0, BUY, 5.0)])
        assert reasons(flat(simulator, 300.0)) == expected


def test_row_debt_may_shrink():
    simulator = account(1000.0, symbols=2, fee_per_trade=1.0)
    simulator.submit([Order(0, BUY, 9.0), Order(1, SELL, 5.0)])
    flat(simulator, 100.0, 100.0)
    flat(simulator, 100.0, 100.0, dividends=[0.0, 150.0])
    debt = simulator.cash
    assert debt < -100.0
    simulator.submit([Order(0, SELL, 1.0), Order(1, BUY, 1.0)])
    assert reasons(flat(simulator, 100.0, 1.0)) == ["INSUFFICIENT_CASH"]  # the purchase
    assert simulator.cash == debt + 99.0
    assert simulator.cash < 0.0


def test_row_cash_released():
    simulator = account(1000.0, max_participation=0.004)
    [order_id] = simulator.submit([Order(0, BUY, 10.0)])
    assert simulator.account().free_cash == 0.0
    flat(simulator, 90.0)
    assert simulator.account().free_cash == pytest.approx(1000 - 4 * 90 - 6 * 100)
    flat(simulator, 100.0)
    assert simulator.account().free_cash == pytest.approx(40)
    simulator.cancel(order_id)
    assert simulator.account().free_cash == pytest.approx(240)


def test_row_closing_reserves_nothing():
    simulator = account(1000.0, max_participation=0.002, max_short=10.0)
    simulator.submit([Order(0, SELL, 2.0)])
    flat(simulator, 100.0)
    free = simulator.account().free_cash
    simulator.submit([Order(0, BUY, 2.0)])
    assert simulator.account().free_cash == free
    [flip] = simulator.submit([Order(0, BUY, 3.0)])  # the earlier order closes the short already
    assert simulator.account().free_cash == free - 300.0
    simulator.cancel(flip)
    flat(simulator, 100.0)
    simulator.submit([Order(0, SELL, 2.0)])
    flat(simulator, 100.0)
    simulator.submit([Order(0, BUY, 4.0)])
    before = simulator.account().free_cash
    flat(simulator, 100.0)  # two of four, which close the short: what opens is still reserved for
    assert simulator.positions() == (0.0,)
    assert simulator.account().free_cash == pytest.approx(before) == pytest.approx(800.0)


def test_row_collateral():
    simulator = account(1000.0, symbols=2)
    simulator.submit([Order(0, SELL, 10.0)])
    flat(simulator, 100.0, 100.0)
    assert simulator.cash == 2000.0
    assert simulator.account().free_cash == 1000.0
    assert simulator.submit([Order(1, BUY, 11.0)]) == [0]
    free = account(1000.0, symbols=2, short_proceeds_fund_longs=True)
    free.submit([Order(0, SELL, 10.0)])
    flat(free, 100.0, 100.0)
    free.submit([Order(1, BUY, 20.0)])
    assert reasons(flat(free, 100.0, 100.0)) == []
    assert free.positions() == (-10.0, 20.0)


def test_row_short_cap_at_submission():
    simulator = account(1000.0, max_short=0.5, fee_per_trade=1.0)
    assert simulator.submit([Order(0, SELL, 5.0)]) == [0]  # worth the cap, but there is a fee
    assert all(simulator.submit([Order(0, SELL, 2.0), Order(0, SELL, 2.0)]))
    assert simulator.submit([Order(0, SELL, 1.0)]) == [0]  # beside the two that are open
    assert reasons(simulator.events()) == ["SHORT_CAP", "SHORT_CAP"]
    none = account(max_short=0.0)
    assert none.submit([Order(0, SELL, 1.0)]) == [0]
    for kind, limit, stop, worst in (
        (MARKET, NAN, NAN, 100.0),
        (LIMIT, 80.0, NAN, 100.0),
        (LIMIT, 125.0, NAN, 125.0),
        (STOP, NAN, 80.0, 80.0),
        (STOP_LIMIT, 70.0, 80.0, 80.0),
        (STOP_LIMIT, 90.0, 80.0, 90.0),
    ):
        for cash, accepted in ((5 * worst, True), (5 * worst - 1e-6, False)):
            simulator = account(cash)
            assert bool(simulator.submit([Order(0, SELL, 5.0, kind, limit, stop)])[0]) is accepted


def test_row_short_cap_at_fill():
    simulator = account(1000.0, symbols=2)
    simulator.submit([Order(0, SELL, 5.0), Order(1, SELL, 5.0)])
    assert reasons(flat(simulator, 101.0, 100.0)) == ["SHORT_CAP"]
    assert simulator.positions() == (-5.0, 0.0)


def test_row_short_cap_before_slippage():
    # Sold at 90, but worth 100: after the sale the shorts are worth 1000 and equity is 900.
    simulator = account(1000.0, slippage_bps=1000.0, check_on_submit=False)
    simulator.submit([Order(0, SELL, 10.0)])
    assert reasons(flat(simulator, 100.0)) == ["SHORT_CAP"]
    simulator.submit([Order(0, SELL, 9.0)])
    assert reasons(flat(simulator, 100.0)) == []
    # Impact drives the price of a sale of any size to zero, where a short would be worth nothing.
    huge = account(1000.0, impact=1.0, check_on_submit=False)
    huge.submit([Order(0, SELL, 1e9)])
    assert reasons(flat(huge, 100.0)) == ["SHORT_CAP"]


@both_sides
def test_row_flip(side):
    simulator = account(1000.0)
    simulator.submit([Order(0, side, 5.0)])
    flat(simulator, 100.0)
    simulator.submit([Order(0, Side(-side), 8.0)])
    [fill] = flat(simulator, 110.0)
    assert fill.quantity == 8.0
    assert simulator.positions() == (-3.0 * side,)
    assert simulator.average == [110.0]
    assert (simulator.closed, simulator.won) == (1, int(side is BUY))


@pytest.mark.parametrize(("fixed", "won"), [(8.0, 1), (11.0, 0)])
def test_a_fill_that_closes_has_won_if_it_made_more_than_its_share_of_the_fee(fixed, won):
    simulator = account(2000.0, fee_per_trade=fixed)
    simulator.submit([Order(0, BUY, 5.0)])
    flat(simulator, 100.0)
    simulator.submit([Order(0, SELL, 10.0)])  # half of it closes, at a profit of 5
    flat(simulator, 101.0)
    assert (simulator.closed, simulator.won) == (1, won)


def test_row_flip_past_cap():
    for opening, closing, reason in ((BUY, SELL, "SHORT_CAP"), (SELL, BUY, "INSUFFICIENT_CASH")):
        simulator = account(1000.0)
        simulator.submit([Order(0, opening, 5.0)])
        flat(simulator, 100.0)
        simulator.submit([Order(0, closing, 20.0)])
        fill, rest = flat(simulator, 100.0)
        assert (fill.quantity, rest.quantity, rest.reason.name) == (5.0, 15.0, reason)
        assert simulator.positions() == (0.0,)
        assert simulator.average == [0.0]


def test_row_no_check_at_submission():
    simulator = account(1000.0, check_on_submit=False)
    assert all(simulator.submit([Order(0, BUY, 8.0, LIMIT, 100.0)] * 3))
    assert simulator.account().free_cash == 1000.0
    assert reasons(flat(simulator, 100.0)) == ["INSUFFICIENT_CASH"] * 2


def test_row_bankrupt():
    simulator = account(1000.0)
    simulator.submit([Order(0, SELL, 10.0)])
    flat(simulator, 100.0)
    simulator.submit([Order(0, BUY, 10.0, LIMIT, 1.0)])
    assert reasons(flat(simulator, 200.0)) == ["BANKRUPT"]
    assert simulator.equity == 0.0
    assert simulator.bankrupt
    assert simulator.open_orders() == ()
    assert simulator.submit([Order(0, BUY, 1.0)]) == [0]
    assert simulator.target([0.0]) is False
    assert reasons(simulator.events()) == ["BANKRUPT", "BANKRUPT"]
    assert flat(simulator, 1.0) == []
    assert simulator.equity == 0.0


# Requests.


def test_row_cancel():
    simulator = account()
    order_id, filled = simulator.submit([Order(0, BUY, 1.0, LIMIT, 90.0), Order(0, BUY, 1.0)])
    flat(simulator, 100.0)
    simulator.cancel(order_id)
    [event] = simulator.events()
    assert (event.kind, event.order_id, event.quantity, event.reason) == (
        EventKind.CANCELLED,
        order_id,
        1.0,
        Reason.NONE,
    )
    assert simulator.open_orders() == ()
    for other in (order_id, filled, 99, 0, -1, None):
        simulator.cancel(other)
    assert reasons(simulator.events()) == [
        "NOT_OPEN",
        "NOT_OPEN",
        "UNKNOWN_ORDER",
        "UNKNOWN_ORDER",
        "UNKNOWN_ORDER",
        "UNKNOWN_ORDER",
    ]


def test_row_replace():
    simulator = account()
    [order_id] = simulator.submit([Order(0, BUY, 5.0, LIMIT, 90.0)])
    simulator.replace(order_id, quantity=10.0, limit_price=95.0)
    [order] = simulator.open_orders()
    assert (order.id, order.remaining, order.limit_price) == (order_id, 10.0, 95.0)
    assert simulator.account().free_cash == 50.0
    simulator.submit([Order(0, BUY, 1.0, LIMIT, 10.0)])
    before = simulator.open_orders(), simulator.account()
    simulator.events()
    simulator.replace(order_id, quantity=1.0, limit_price=-1.0)
    simulator.replace(order_id, quantity=11.0)
    simulator.replace(order_id, stop_price=95.0)
    assert reasons(simulator.events()) == ["BAD_PRICE", "INSUFFICIENT_CASH", "BAD_PRICE"]
    assert (simulator.open_orders(), simulator.account()) == before


def test_row_replace_keeps_place():
    for change, kept in (
        ({"quantity": 1.0}, True),
        ({"quantity": 2.0}, True),
        ({"limit_price": 90.0}, True),
        ({"quantity": 3.0}, False),
        ({"limit_price": 91.0}, False),
        ({"limit_price": 89.0, "quantity": 1.0}, False),
    ):
        simulator = account()
        first, second = simulator.submit([Order(0, BUY, 2.0, LIMIT, 90.0)] * 2)
        simulator.replace(first, **change)
        assert [order.id for order in simulator.open_orders()] == ([first, second] if kept else [second, first])


def test_row_replace_triggered():
    simulator = account()
    [order_id] = simulator.submit([Order(0, BUY, 1.0, STOP_LIMIT, 90.0, 100.0)])
    flat(simulator, 101.0)
    simulator.events()
    simulator.replace(order_id, stop_price=102.0)
    assert reasons(simulator.events()) == ["BAD_PRICE"]
    simulator.replace(order_id, limit_price=95.0)
    assert [event.price for event in flat(simulator, 94.0) if event.kind is EventKind.FILLED] == [94.0]


def test_row_client_id_again():
    simulator = account()
    order = Order(0, BUY, 2.0, LIMIT, 90.0, client_id="mine")
    [first] = simulator.submit([order])
    assert simulator.submit([order, order]) == [first, first]
    assert len(simulator.open_orders()) == 1
    simulator.cancel(first)
    assert simulator.submit([order]) == [first]  # even when it has ended: a retry never trades twice
    assert simulator.open_orders() == ()


def test_row_client_id_other():
    simulator = account()
    simulator.submit([Order(0, BUY, 2.0, LIMIT, 90.0, client_id="mine")])
    assert simulator.submit([Order(0, BUY, 3.0, LIMIT, 90.0, client_id="mine")]) == [0]
    assert reasons(simulator.events()) == ["DUPLICATE_ID"]
    # An order that was never accepted leaves its id free.
    assert simulator.submit([Order(0, BUY, -1.0, client_id="next")]) == [0]
    assert simulator.submit([Order(0, BUY, 1.0, client_id="next")]) != [0]


def test_row_batch():
    simulator = account(max_open_orders=3, max_orders_per_batch=100)
    ids = simulator.submit(
        [Order(0, BUY, 1.0), Order(7, BUY, 1.0), Order(0, BUY, 1.0), Order(0, BUY, 1.0), Order(0, BUY, 1.0)]
    )
    assert ids == [1, 0, 2, 3, 0]
    assert reasons(simulator.events()) == ["UNKNOWN_SYMBOL", "TOO_MANY_ORDERS"]
    assert simulator.submit([Order(0, BUY, 1.0)] * 10_000) == [0] * 10_000
    [event] = simulator.events()
    assert (event.reason, event.quantity) == (Reason.TOO_MANY_ORDERS, 10_000)
    assert len(simulator.open_orders()) == 3


def test_row_rejection_changes_nothing():
    simulator = account(1000.0, tick=0.01, max_open_orders=2)
    simulator.submit([Order(0, BUY, 3.0)])
    flat(simulator, 100.0)
    [order_id] = simulator.submit([Order(0, BUY, 3.0, LIMIT, 90.0, client_id="a")])

    def state():
        values = {name: value for name, value in vars(simulator).items() if name not in {"_events", "orders"}}
        orders = [
            tuple(getattr(order, name) for name in order.__slots__ if name != "stop") for order in simulator.orders
        ]
        return repr((values, orders))

    before = state()
    simulator.submit(
        [
            Order(0, BUY, 100.0),
            Order(0, SELL, 100.0, LIMIT, 90.001),
            Order(5, BUY, 1.0),
            Order(0, BUY, 0.5),
            Order(0, BUY, NAN),
            Order(0, BUY, 1.0, LIMIT),
            Order(0, BUY, 9.0, client_id="a"),
        ]
    )
    simulator.cancel(77)
    simulator.replace(order_id, quantity=1000.0)
    simulator.replace(order_id, limit_price=0.0)
    simulator.target([2.0])
    assert len(simulator.events()) == 11
    assert state() == before


def test_solvency_is_judged_at_closes_alone():
    """As "What is simplified" says: no equity at the open, some at the close, and nothing is opened in between."""
    account = Simulator(MarketRules(), cash=100_000.0, closes=[100.0])
    account.target([-1.0])
    account.on_bar([100.0], [100.0], [100.0], [100.0], [1e6])
    account.events()
    account.submit([Order(0, SELL, 10.0), Order(0, BUY, 2000.0)])
    account.on_bar([350.0], [350.0], [100.0], [110.0], [1e6])
    assert not account.bankrupt
    assert (account.positions(), account.account().equity) == ((-1000.0,), 90_000.0)
    assert not any(event.kind is EventKind.FILLED for event in account.events())
