"""Compiled twin of :mod:`openfingym.trading.corporate_actions`."""

from __future__ import annotations

import math

from openfingym.trading import rules
from openfingym.trading.compiled.compiling import part, rare
from openfingym.trading.compiled.layout import (
    AVERAGE,
    CASH,
    DIVIDEND,
    KIND,
    LIMIT,
    MARK,
    OPENING,
    ORDERS,
    OTHER,
    POSITION,
    REMAINING,
    SIDE,
    SPLIT,
    STOP,
    SYMBOL,
    TRIGGERED,
    VOLUME,
    Floats,
    Market,
    State,
)
from openfingym.trading.compiled.portfolio import NONE, place_of, tell
from openfingym.trading.orders import EventKind, Reason

_ADJUSTED, _CANCELLED = int(EventKind.ADJUSTED), int(EventKind.CANCELLED)
_CORPORATE_ACTION, _PAIR_ENDED = int(Reason.CORPORATE_ACTION), int(Reason.PAIR_ENDED)


@part
def act(a: State, i: int, m: Market, bars: Floats, t: int) -> None:
    """Apply the corporate actions of row ``t``: of each symbol the split, then the dividend."""
    # For either action the account first, then its orders: the order of the events is that of the readable simulator.
    for s in range(a.book.shape[1]):
        ratio, dividend = bars[t, s, SPLIT], bars[t, s, DIVIDEND]
        if ratio != 1.0:
            _split(a, i, m, s, ratio)
        if dividend > 0.0:
            a.cells[i, CASH] += a.book[i, s, POSITION] * dividend
            a.book[i, s, MARK] = max(0.0, a.book[i, s, MARK] - dividend)
        if ratio != 1.0:
            _change_orders(a, i, m, s, ratio, 0.0)
        if dividend > 0.0:
            _change_orders(a, i, m, s, 1.0, dividend)


@rare
def _split(a: State, i: int, m: Market, s: int, ratio: float) -> None:
    book = a.book
    book[i, s, MARK] /= ratio
    book[i, s, AVERAGE] /= ratio
    book[i, s, VOLUME] *= ratio
    units = book[i, s, POSITION] * ratio
    whole = math.copysign(rules.whole_lots(abs(units), m.lot), units) if units != 0.0 else 0.0
    a.cells[i, CASH] += (units - whole) * book[i, s, MARK]
    book[i, s, POSITION] = whole
    if whole == 0.0:
        book[i, s, AVERAGE] = 0.0


@rare
def _change_orders(a: State, i: int, m: Market, s: int, ratio: float, dividend: float) -> None:
    """Change the open orders of a symbol by a split, or by a dividend where ``ratio`` is 1."""
    orders, k = a.orders, 0
    while k < int(a.cells[i, ORDERS]):
        k += 1
        n = k - 1
        if orders[i, n, SYMBOL] != s:
            continue
        # Prices that the type does not have are NaN, and stay so.
        limit, stop, triggered = orders[i, n, LIMIT], orders[i, n, STOP], orders[i, n, TRIGGERED] != 0.0
        # A reverse split would leave fractions of lots, and an enormous one quantities beyond float64: the order ends.
        lost = ratio < 1.0 or orders[i, n, REMAINING] * ratio == math.inf
        # Whether the order waits below the market. Such prices fall with a dividend, as the market's does, and are
        # rounded down; those above stay, and are rounded up by a split, so that no change lets an order fill sooner.
        below = (orders[i, n, KIND] == rules.LIMIT or triggered) == (orders[i, n, SIDE] > 0.0)
        if ratio == 1.0:
            if orders[i, n, KIND] == rules.MARKET or not below:
                continue
            limit = rules.on_tick(limit - dividend, m.tick, False)
            stop = stop if triggered else rules.on_tick(stop - dividend, m.tick, False)
        elif not lost:
            orders[i, n, REMAINING] = rules.whole_lots(orders[i, n, REMAINING] * ratio, m.lot)
            orders[i, n, OPENING] = min(orders[i, n, OPENING] * ratio, orders[i, n, REMAINING])
            limit, stop = (
                rules.on_tick(limit / ratio, m.tick, not below),
                rules.on_tick(stop / ratio, m.tick, not below),
            )
        if lost or limit <= 0.0 or stop <= 0.0:
            tell(a, i, _CANCELLED, n, _CORPORATE_ACTION)
            # The next order moves into this place, and one more where the other order of a pair came before it.
            k -= 2 if remove(a, i, n) else 1
        else:
            orders[i, n, LIMIT] = limit
            orders[i, n, STOP] = stop
            tell(a, i, _ADJUSTED, n, NONE)


@rare
def remove(a: State, i: int, place: int) -> bool:
    """End an order, and the other order of its pair; returns whether that one came before it."""
    other = a.orders[i, place, OTHER]
    take_out(a, i, place)
    if other == 0.0:
        return False
    before = place_of(a, i, other)
    tell(a, i, _CANCELLED, before, _PAIR_ENDED)
    take_out(a, i, before)
    return before < place


@rare
def take_out(a: State, i: int, place: int) -> None:
    """Take an order out, and move those behind it up by one place."""
    orders, last = a.orders, int(a.cells[i, ORDERS]) - 1
    for k in range(place, last):
        for field in range(orders.shape[2]):
            orders[i, k, field] = orders[i, k + 1, field]
    a.cells[i, ORDERS] = last
