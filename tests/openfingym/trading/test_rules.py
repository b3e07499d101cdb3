"""The arithmetic of matching: against exact decimals, mirror images and the definition of each bound."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from openfingym.trading import rules

prices = st.integers(1, 400).map(lambda n: n / 4)
kinds = st.sampled_from([rules.MARKET, rules.LIMIT, rules.STOP, rules.STOP_LIMIT])
paths = st.sampled_from([rules.CERTAIN, rules.OPEN_HIGH_LOW_CLOSE, rules.OPEN_LOW_HIGH_CLOSE, rules.ADAPTIVE])
relaxed = settings(deadline=None)  # a loaded machine is no failure
STEPS = [1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.001, 1e-8, 3.0, 100.0]


@st.composite
def bars(draw):
    low, high = sorted((draw(prices), draw(prices)))
    inside = st.integers(int(low * 4), int(high * 4)).map(lambda n: n / 4)
    return draw(inside), high, low, draw(inside)


def fill(kind, d, limit, stop, triggered, bar, path):
    """(price or None, whether triggered, share of the path) of one bar."""
    price, triggered = rules.open_price(kind, d, limit, stop, triggered, bar[0])
    if price >= 0.0:
        return price, triggered, 0.0
    price, time, triggered = rules.inside_price(kind, d, limit, stop, triggered, *bar, path)
    return (price if price >= 0.0 else None), triggered, time


def visited(bar, high_first):
    """Every price on the grid of quarters along a path, in order."""
    o, h, low, c = (int(price * 4) for price in bar)
    stops = [o, h, low, c] if high_first else [o, low, h, c]
    walk = [o]
    for end in stops[1:]:
        step = 1 if end >= walk[-1] else -1
        walk.extend(range(walk[-1] + step, end + step, step))
    return [price / 4 for price in walk]


def walked(kind, d, limit, stop, bar, high_first):
    """What the order does if one walks along the path and looks at every price, an independent statement.

    Returns its price or None, whether it has triggered, and the share of the way walked.
    """
    triggered = kind in {rules.MARKET, rules.LIMIT}
    walk = visited(bar, high_first)
    for step, price in enumerate(walk):
        triggered = triggered or d * price >= d * stop
        if triggered and (kind in {rules.MARKET, rules.STOP} or d * price <= d * limit):
            return price, True, step / max(1, len(walk) - 1)
    return None, triggered, 1.0


@relaxed
@given(kinds, st.sampled_from([1.0, -1.0]), prices, prices, bars(), st.booleans())
def test_fills_on_a_path_are_those_of_a_walk_along_it(kind, d, limit, stop, bar, high_first):
    path = rules.OPEN_HIGH_LOW_CLOSE if high_first else rules.OPEN_LOW_HIGH_CLOSE
    price, triggered, time = fill(kind, d, limit, stop, False, bar, path)
    expected, expected_triggered, share = walked(kind, d, limit, stop, bar, high_first)
    assert price == expected
    if kind >= rules.STOP:
        assert triggered == expected_triggered
    if price is not None:
        assert time == pytest.approx(share)


@relaxed
@given(kinds, st.sampled_from([1.0, -1.0]), prices, prices, bars())
def test_what_is_certain_happens_on_every_path(kind, d, limit, stop, bar):
    price, triggered, _ = fill(kind, d, limit, stop, False, bar, rules.CERTAIN)
    walks = [walked(kind, d, limit, stop, bar, high_first)[:2] for high_first in (True, False)]
    if price is not None:
        assert walks == [(price, True)] * 2
    else:
        assert None in [found for found, _ in walks]
    if kind >= rules.STOP:
        assert [seen for _, seen in walks] == [triggered] * 2


@relaxed
@given(kinds, prices, prices, st.booleans(), bars(), paths)
def test_a_sell_is_a_buy_on_negated_prices(kind, limit, stop, triggered, bar, path):
    assume(path != rules.ADAPTIVE or bar[1] - bar[0] != bar[0] - bar[2])  # at a tie the high comes first for both sides
    o, h, low, c = bar
    mirror = (201.0 - o, 201.0 - low, 201.0 - h, 201.0 - c)
    opposite = {
        rules.OPEN_HIGH_LOW_CLOSE: rules.OPEN_LOW_HIGH_CLOSE,
        rules.OPEN_LOW_HIGH_CLOSE: rules.OPEN_HIGH_LOW_CLOSE,
    }.get(path, path)
    bought, seen, early = fill(kind, 1.0, limit, stop, triggered, bar, path)
    sold, also, late = fill(kind, -1.0, 201.0 - limit, 201.0 - stop, triggered, mirror, opposite)
    assert sold == (None if bought is None else 201.0 - bought)
    assert (seen, early) == (also, late)


@relaxed
@given(kinds, st.sampled_from([1.0, -1.0]), prices, prices, bars())
def test_the_worst_price_bounds_what_a_type_bounds(kind, d, limit, stop, bar):
    mark = bar[0]  # an open at the last close
    price, *_ = fill(kind, d, limit, stop, False, bar, rules.CERTAIN)
    if price is not None:
        assert price <= rules.worst_price(kind, d, limit, stop, mark)


@pytest.mark.parametrize("step", STEPS)
@relaxed
@given(count=st.integers(1, 10**6))
def test_multiples_are_the_decimals_one_would_write(step, count):
    exact = float(Decimal(str(step)) * count)
    assert rules.multiple(count, step) == exact
    assert rules.nearest_multiple(exact, step) == exact
    assert rules.whole_lots(exact, step) == exact
    assert rules.nearest_multiple(exact + 0.4 * step, step) == 0.0
    assert rules.whole_lots(exact + 0.4 * step, step) == exact
    assert rules.on_tick(exact, step, up=True) == rules.on_tick(exact, step, up=False) == exact
    assert rules.on_tick(exact + 0.4 * step, step, up=True) == rules.multiple(count + 1, step)
    assert rules.on_tick(exact + 0.4 * step, step, up=False) == exact


@relaxed
@given(st.lists(st.integers(-(10**6), 10**6), max_size=30), st.sampled_from((*STEPS, 1.1, 2.3)))
def test_sums_of_lots_stay_multiples(counts, lot):
    position = 0.0
    for count in counts:
        position = rules.settled(position, math.copysign(rules.multiple(abs(count), lot), count), lot)
    total = sum(counts)
    assert position == math.copysign(rules.multiple(abs(total), lot), total)


@pytest.mark.parametrize("step", [1e-3, 1.0, 1e-300])
@pytest.mark.parametrize("value", [1e308, 1e17])
def test_numbers_beyond_whole_floats_are_left_alone(value, step):
    assert (
        rules.nearest_multiple(value, step) == rules.whole_lots(value, step) == rules.settled(value, 0.0, step) == value
    )
    assert rules.on_tick(value, step, up=True) == value


money = st.floats(0.0, 1e9)
positive = st.floats(1e-3, 1e6)
rates = st.floats(0.0, 0.05)
lots = st.sampled_from([0.0, 1.0, 0.001, 0.7])


@relaxed
@given(money, positive, rates, st.floats(0.0, 10.0), lots)
@example(cash=5e-324, price=1.5, rate=0.0, fixed=0.0, lot=0.0)
def test_affordable_is_what_cash_buys_and_not_a_lot_more(cash, price, rate, fixed, lot):
    quantity = rules.affordable(cash, price, rate, fixed, lot)
    assert quantity >= 0.0
    if quantity:
        assert cash - quantity * price - rules.fee(quantity * price, rate, fixed) >= 0.0
    step = lot or max(quantity * 1e-6, 1e-9 * cash / price)
    more = Fraction(quantity) + 2 * Fraction(step)
    cost = more * Fraction(price) * (1 + Fraction(rate)) + Fraction(fixed)
    assert cost > Fraction(cash) or cash < 1e-300


@relaxed
@given(
    money,
    st.floats(0.0, 1e9),
    st.floats(0.0, 1e4),
    positive,
    st.floats(0.0, 0.1),
    st.floats(0.0, 3.0),
    rates,
    st.floats(0.0, 10.0),
    lots,
)
def test_shortable_meets_the_cap_and_wastes_no_lot(equity, shorts, held, base, slippage, cap, rate, fixed, lot):
    price = base * (1 - slippage)
    quantity = rules.shortable(equity, shorts, held, base, price, cap, rate, fixed, lot)

    def excess(extra):
        """Exactly by how much the cap is exceeded after the sale."""
        sold = Fraction(held) + extra
        paid = sold * Fraction(price) * Fraction(rate) + Fraction(fixed)
        after = Fraction(equity) - sold * (Fraction(base) - Fraction(price)) - paid
        return Fraction(shorts) + extra * Fraction(base) - Fraction(cap) * after

    scale = Fraction(equity) + Fraction(shorts) + Fraction(held) * Fraction(base)
    if quantity:
        assert excess(Fraction(quantity)) <= scale / 10**9
    step = Fraction(lot or max(quantity, 1e-9) * 1e-6)
    assert excess(Fraction(quantity) + 2 * step) > -scale / 10**5


def test_units_that_cost_less_than_one_and_accounts_that_hold_less_may_be_sold_short():
    assert rules.shortable(100.0, 0.0, 0.0, 0.5, 0.5, 1.0, 0.0, 0.0, 1.0) == 200.0
    assert rules.shortable(0.75, 0.0, 0.0, 0.25, 0.25, 1.0, 0.0, 0.0, 1.0) == 3.0
