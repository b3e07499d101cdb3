"""Pairs of orders of which one cancels the other: the rows of the table, and bars against a walk along a path."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.envs.trading import TradingEnv
from openfingym.errors import UsageError
from openfingym.trading.compiled.account import CompiledAccount
from openfingym.trading.compiled.requests import ask
from openfingym.trading.market import BarPath, MarketRules
from openfingym.trading.orders import EventKind, Order, OrderType, Reason, Side, TimeInForce
from openfingym.trading.session import walk
from openfingym.trading.simulator import Simulator
from tests.openfingym.trading.one_symbol import bars_of

BUY, SELL, NAN = Side.BUY, Side.SELL, math.nan
LIMIT, STOP, STOP_LIMIT = OrderType.LIMIT, OrderType.STOP, OrderType.STOP_LIMIT
PROFIT = Order(0, SELL, 10.0, LIMIT, 105.0, oco="exit")
LOSS = Order(0, SELL, 10.0, STOP, stop_price=95.0, oco="exit")


def holding(units=10.0, *, cash=10_000.0, **rules):
    """An account that holds units at 100, and may not be short unless the rules say so."""
    account = Simulator(MarketRules(**{"max_short": 0.0, **rules}), cash=cash, closes=[100.0], volumes=[1000.0])
    if units:
        account.submit([Order(0, BUY if units > 0.0 else SELL, abs(units))])
        bar(account, 100.0, 100.0, 100.0, 100.0, volume=10_000.0)
    return account


def bar(account, o, h, low, c, volume=1000.0, **given):
    account.on_bar([o], [h], [low], [c], [volume], **given)
    return told(account)


def told(account):
    return [
        (event.kind.name, event.order_id, event.quantity)
        + ((event.price,) if event.kind is EventKind.FILLED else (event.reason.name,) if event.reason else ())
        for event in account.events()
    ]


@pytest.mark.parametrize("first", [0, 1])
def test_row_pair_one_cancels_other(first):
    for o, h, low, price in ((100, 106, 99, 105.0), (107, 108, 106, 107.0), (100, 101, 94, 95.0), (93, 94, 92, 93.0)):
        account = holding()
        pair = [PROFIT, LOSS][:: 1 - 2 * first]
        assert account.submit(pair) == [2, 3]
        assert [order.other for order in account.open_orders()] == [3, 2]
        events = bar(account, o, h, low, o)
        filled = 2 + pair.index(PROFIT if price > 100.0 else LOSS)
        assert [event for event in events if event[0] != "TRIGGERED"] == [
            ("FILLED", filled, 10.0, price),
            ("CANCELLED", 5 - filled, 10.0, "PAIR_ENDED"),
        ]
        assert (account.positions(), account.open_orders()) == ((0.0,), ())
    # Without a name the same two orders are on their own, and the second would make a short position.
    account = holding()
    assert account.submit([PROFIT._replace(oco=None), LOSS._replace(oco=None)]) == [2, 0]


def test_row_pair_shares_quantity():
    account = holding(max_participation=0.004)  # 4 units of 1000
    account.submit([PROFIT, LOSS])
    assert bar(account, 106.0, 106.0, 106.0, 106.0) == [("FILLED", 2, 4.0, 106.0), ("ADJUSTED", 3, 6.0)]
    assert [(order.id, order.remaining) for order in account.open_orders()] == [(2, 6.0), (3, 6.0)]
    # What is left is still protected, and no more than that.
    assert bar(account, 94.0, 94.0, 94.0, 94.0, volume=10_000.0) == [
        ("TRIGGERED", 3, 6.0),
        ("FILLED", 3, 6.0, 94.0),
        ("CANCELLED", 2, 6.0, "PAIR_ENDED"),
    ]
    assert account.positions() == (0.0,)


@pytest.mark.parametrize("pair", [[PROFIT, LOSS], [LOSS, PROFIT]])
@pytest.mark.parametrize(
    ("path", "o", "price"),
    [
        (BarPath.CERTAIN, 100.0, 95.0),
        (BarPath.OPEN_HIGH_LOW_CLOSE, 100.0, 105.0),
        (BarPath.OPEN_LOW_HIGH_CLOSE, 100.0, 95.0),
        (BarPath.ADAPTIVE, 99.0, 95.0),
        (BarPath.ADAPTIVE, 101.0, 105.0),
    ],
)
def test_row_pair_both_touched(pair, path, o, price):
    account = holding(path=path)
    account.submit(pair)
    assert [event[3] for event in bar(account, o, 106.0, 94.0, 100.0) if event[0] == "FILLED"] == [price]
    assert account.positions() == (0.0,)
    # A buy is a sell on mirrored prices; the path of mirrored bars is the mirrored one.
    turned = {BarPath.OPEN_HIGH_LOW_CLOSE: BarPath.OPEN_LOW_HIGH_CLOSE}
    turned |= {low: high for high, low in turned.items()}
    account = holding(-10.0, path=turned.get(path, path), max_short=1.0)
    account.submit([mirrored(order) for order in pair])
    events = bar(account, 200.0 - o, 106.0, 94.0, 100.0)
    assert [event[3] for event in events if event[0] == "FILLED"] == [200.0 - price]


def mirrored(order):
    return order._replace(side=BUY, limit_price=200.0 - order.limit_price, stop_price=200.0 - order.stop_price)


def test_row_pair_uncertain():
    """A stop-limit order that may have filled before the limit is reached, on one path: neither is certain."""
    account = holding()
    account.submit([PROFIT, LOSS._replace(type=STOP_LIMIT, limit_price=96.0)])
    assert bar(account, 100.0, 106.0, 94.0, 95.5) == [("TRIGGERED", 3, 10.0)]
    assert bar(account, 95.5, 106.0, 95.0, 106.0) == [("FILLED", 3, 10.0, 96.0), ("CANCELLED", 2, 10.0, "PAIR_ENDED")]


def test_row_pair_reserves_once():
    # A pair that closes a position reserves nothing, and leaves the rest of the position to others.
    account = holding()
    half = [order._replace(quantity=4.0) for order in (PROFIT, LOSS)]
    assert all(account.submit([*half, Order(0, SELL, 6.0, LIMIT, 110.0)]))
    assert account.submit([Order(0, SELL, 1.0, LIMIT, 110.0)]) == [0]
    # One that opens a position reserves the more of both: here the stop, at 105.
    account = holding(0.0, cash=1000.0)
    pair = [Order(0, BUY, 9.0, LIMIT, 90.0, oco="in"), Order(0, BUY, 9.0, STOP, stop_price=105.0, oco="in")]
    for entry in (pair, pair[::-1]):
        ids = account.submit(entry)
        assert all(ids)
        assert account.account().free_cash == pytest.approx(1000.0 - 9 * 105.0)
        # Replaced, it reserves no less than before, until it ends.
        by_kind = dict(zip((order.type for order in entry), ids, strict=True))
        account.replace(by_kind[LIMIT], limit_price=110.0)
        assert account.account().free_cash == pytest.approx(1000.0 - 9 * 110.0)
        account.replace(by_kind[LIMIT], limit_price=80.0)
        assert account.account().free_cash <= 1000.0 - 9 * 105.0
        account.cancel(by_kind[STOP])
        assert account.account().free_cash == 1000.0


@pytest.mark.parametrize(
    "orders",
    [
        [PROFIT],
        [PROFIT, LOSS._replace(oco="other")],
        [PROFIT, LOSS, PROFIT],
        [PROFIT, PROFIT],
        [LOSS, LOSS._replace(type=STOP_LIMIT, limit_price=94.0)],
        [PROFIT, Order(0, SELL, 10.0, oco="exit")],
        [PROFIT, LOSS._replace(quantity=5.0)],
        [PROFIT, LOSS._replace(side=BUY)],
        [PROFIT, LOSS._replace(time_in_force=TimeInForce.IOC)],
        [PROFIT, LOSS._replace(symbol=1)],
    ],
)
def test_row_pair_form(orders):
    account = holding()
    assert account.submit(orders) == [0] * len(orders)
    assert [event.reason for event in account.events()] == [Reason.BAD_PAIR] * len(orders)
    assert account.open_orders() == ()


def test_row_pair_refused_together():
    account = holding(tick=0.5, max_open_orders=2)

    def refused(pair):
        before = account.account(), account.open_orders()
        assert account.submit(pair) == [0, 0]
        assert (account.account(), account.open_orders()) == before
        return [event[-1] for event in told(account)]

    assert refused([PROFIT._replace(limit_price=105.1), LOSS]) == ["OFF_TICK", "PAIR_ENDED"]
    assert refused([PROFIT, LOSS._replace(stop_price=-1.0)]) == ["PAIR_ENDED", "BAD_PRICE"]
    assert refused([PROFIT, LOSS._replace(side=0)]) == ["BAD_PAIR", "MALFORMED"]
    assert refused([order._replace(symbol=3) for order in (PROFIT, LOSS)]) == ["UNKNOWN_SYMBOL", "PAIR_ENDED"]
    account.submit([Order(0, BUY, 1.0, LIMIT, 1.0)])
    assert refused([PROFIT, LOSS]) == ["PAIR_ENDED", "TOO_MANY_ORDERS"]  # there is room for one
    account.cancel(2)
    account.submit([Order(0, SELL, 10.0, LIMIT, 200.0)])
    told(account)
    assert refused([PROFIT, LOSS]) == ["SHORT_CAP", "PAIR_ENDED"]  # another order is to sell what is held
    account.cancel(3)
    assert account.submit([PROFIT, LOSS]) == [4, 5]


def test_row_pair_client_ids():
    account = holding()
    pair = [PROFIT._replace(client_id="up"), LOSS._replace(client_id="down")]
    assert account.submit(pair) == account.submit(pair) == [2, 3]
    told(account)
    assert account.submit([pair[0], LOSS._replace(client_id="new")]) == [0, 0]
    assert [event[-1] for event in told(account)] == ["DUPLICATE_ID", "PAIR_ENDED"]
    account.cancel(2)  # the position is free again
    told(account)
    assert account.submit([order._replace(client_id="same") for order in (PROFIT, LOSS)]) == [0, 0]
    assert [event[-1] for event in told(account)] == ["PAIR_ENDED", "DUPLICATE_ID"]


def test_row_pair_ends_together():
    account = holding(cash=2000.0)
    account.submit([PROFIT, LOSS])
    account.cancel(3)
    assert told(account) == [("CANCELLED", 3, 10.0), ("CANCELLED", 2, 10.0, "PAIR_ENDED")]
    account.cancel(2)
    assert told(account) == [("REJECTED", 2, pytest.approx(NAN, nan_ok=True), "NOT_OPEN")]
    # A fill that the account cannot carry ends both: a gap.
    account = holding(0.0, cash=1000.0)
    account.submit([Order(0, BUY, 9.0, LIMIT, 90.0, oco="in"), Order(0, BUY, 9.0, STOP, stop_price=105.0, oco="in")])
    assert bar(account, 120.0, 120.0, 120.0, 120.0) == [
        ("TRIGGERED", 2, 9.0),
        ("REJECTED", 2, 9.0, "INSUFFICIENT_CASH"),
        ("CANCELLED", 1, 9.0, "PAIR_ENDED"),
    ]


def test_row_pair_replace():
    account = holding()
    account.submit([PROFIT, LOSS])
    account.replace(3, stop_price=98.0)  # a stop that follows the price
    assert told(account) == [("REPLACED", 3, 10.0)]
    account.replace(2, quantity=5.0)
    assert told(account) == [("REJECTED", 2, 5.0, "BAD_PAIR")]
    assert bar(account, 100.0, 101.0, 97.0, 99.0)[1:] == [
        ("FILLED", 3, 10.0, 98.0),
        ("CANCELLED", 2, 10.0, "PAIR_ENDED"),
    ]


def test_row_pair_corporate_action():
    account = holding()
    account.submit([PROFIT, LOSS])
    assert bar(account, 50.0, 50.0, 50.0, 50.0, splits=[2.0]) == [("ADJUSTED", 2, 20.0), ("ADJUSTED", 3, 20.0)]
    assert bar(account, 500.0, 500.0, 500.0, 500.0, splits=[0.1]) == [
        ("CANCELLED", 2, 20.0, "CORPORATE_ACTION"),
        ("CANCELLED", 3, 20.0, "PAIR_ENDED"),
    ]
    account = holding()
    account.submit([PROFIT, LOSS])
    assert bar(account, 4.0, 4.0, 4.0, 4.0, dividends=[96.0]) == [
        ("CANCELLED", 3, 10.0, "CORPORATE_ACTION"),
        ("CANCELLED", 2, 10.0, "PAIR_ENDED"),
    ]


prices = st.integers(380, 420).map(lambda quarter: quarter / 4)


def walked(limit, stop, prices_in_time):
    """(order, price) of the fill of a sell pair along prices that rise and fall by quarters, or None."""
    resting = stop.type is STOP_LIMIT
    triggered = False
    for place, price in enumerate(prices_in_time):
        if price >= limit.limit_price:
            return 0, price
        # Triggered at a price of the way: at the open at any beyond it.
        triggered = triggered or price <= stop.stop_price
        if triggered and (not resting or price >= stop.limit_price):
            return 1, price
        assert place == 0 or abs(price - prices_in_time[place - 1]) <= 0.25
    return None


def way(*corners):
    """The prices from corner to corner, by quarters."""
    found = [corners[0]]
    for corner in corners[1:]:
        while found[-1] != corner:
            found.append(found[-1] + (0.25 if corner > found[-1] else -0.25))
    return found


@settings(max_examples=100)
@given(st.lists(prices, min_size=4, max_size=4), prices, prices, prices, st.booleans(), st.booleans())
def test_a_pair_fills_as_a_walk_along_the_path_does(ends, limit_price, stop_price, stop_limit, limited, turned):
    low, o, c, h = min(ends), ends[0], ends[1], max(ends)
    limit = PROFIT._replace(limit_price=limit_price)
    stop = LOSS._replace(stop_price=stop_price)
    if limited:
        stop = stop._replace(type=STOP_LIMIT, limit_price=stop_limit)
    pair = [limit, stop]
    found = {}
    for path in (BarPath.CERTAIN, BarPath.OPEN_HIGH_LOW_CLOSE, BarPath.OPEN_LOW_HIGH_CLOSE):
        account = holding(path=path)
        ids = account.submit(pair[::-1] if turned else pair)
        fills = [event for event in bar(account, o, h, low, c) if event[0] == "FILLED"]
        assert len(fills) <= 1
        found[path] = None
        if fills:
            number = ids.index(fills[0][1])
            found[path] = (1 - number if turned else number), fills[0][3]
            assert (account.positions(), account.open_orders()) == ((0.0,), ())
    high_first, low_first = walked(*pair, way(o, h, low, c)), walked(*pair, way(o, low, h, c))
    for path, expected in ((BarPath.OPEN_HIGH_LOW_CLOSE, high_first), (BarPath.OPEN_LOW_HIGH_CLOSE, low_first)):
        # Where both fill at the same price at once, they do in the order of submission.
        tie = expected is not None and expected[1] in {o, stop.limit_price}
        assert found[path] == expected or (tie and found[path][1] == expected[1])
    certain = found[BarPath.CERTAIN]
    if certain:
        # It fills on every path, and nowhere for less.
        assert high_first
        assert low_first
        assert certain[1] <= min(high_first[1], low_first[1])
        assert certain[1] in {high_first[1], low_first[1]}
    if not limited and high_first and low_first:
        assert certain


def test_tables_of_any_codes_are_the_same_in_both_engines():
    rng = np.random.default_rng(3)
    ended = 0
    for _ in range(8):
        closes = 100.0 * np.exp(np.cumsum(0.03 * rng.standard_normal(40)))
        bars, rules = bars_of(closes), MarketRules(max_short=1.0)
        readable = Simulator(rules, cash=1e5, closes=[closes[0]], volumes=[1e9])
        compiled = CompiledAccount(bars, rules, cash=1e5)
        for row in range(len(bars) - 1):
            table = np.array([random_row(rng, readable, closes[row]) for _ in range(rng.integers(0, 5))]).reshape(-1, 8)
            ask(readable, table)
            walk(readable, bars, row + 1)
            starts = np.array([0, len(table)])
            compiled.run_arrays(table, starts, np.full((1, 1), NAN), np.zeros(1, np.bool_))
            theirs, ours = readable.events(), compiled.events()
            assert numbers(ours) == numbers(theirs), table
            assert numbers(compiled.open_orders()) == numbers(readable.open_orders())
            ended += sum(event.reason is Reason.PAIR_ENDED for event in theirs)
    assert ended > 20


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_an_environment_takes_pairs_and_the_form_without_them_says_so(engine):
    env = TradingEnv(
        bars_of([100.0, 100.0, 100.0, 94.0, 106.0, 106.0]),
        MarketRules(max_short=0.0),
        lookback=2,
        action="orders",
        start="first",
        engine=engine,
    )
    env.reset()
    env.step([Order(0, BUY, 10.0)])
    told = [event for action in ([PROFIT, LOSS], []) for event in env.step(action)[-1].get("events", ())]
    assert [(event.kind.name, event.order_id, event.reason.name) for event in told] == [
        ("TRIGGERED", 3, "NONE"),
        ("FILLED", 3, "NONE"),
        ("CANCELLED", 2, "PAIR_ENDED"),
    ]
    order = {"symbol": 0, "side": 1, "quantity": 10.0, "type": 1, "limit_price": 105.0, "oco": "exit"}
    with pytest.raises(UsageError, match=r"this form has no pairs \(oco\); give a sequence of Order"):
        env.step({"orders": [order]})


def numbers(values):
    """Events or orders as what they are to the last bit, without client ids."""
    return [[repr(float(value)) for value in row if isinstance(value, int | float)] for row in values]


def random_row(rng, account, close):
    """A row of requests; those that are new orders come in sequences that are often pairs."""
    kind = float(rng.choice([1, 1, 1, 1, 1, 1, 11, 12, 12, 12, 12, 12, 13, 13, 2, 0, 10, 14, 4, NAN]))
    if kind == 4.0:
        return [0.0, NAN, NAN, 4.0, NAN, NAN, NAN, float(rng.choice([NAN, 1.0, account._next_id - 1]))]
    plain = kind - 10.0 if kind >= 10.0 else kind
    limit = close * 1.02 if plain in {1.0, 3.0} else NAN
    stop = close * 0.98 if plain in {2.0, 3.0} else NAN
    return [0.0, -1.0, float(rng.choice([10.0, 10.0, 10.0, 5.0])), kind, limit, stop, 0.0, NAN]
