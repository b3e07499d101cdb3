"""Compiled twin of :mod:`openfingym.trading.matching`."""

from __future__ import annotations

from openfingym.trading import rules
from openfingym.trading.compiled.compiling import part, rare
from openfingym.trading.compiled.layout import (
    CLOSE,
    HIGH,
    HOLD_CASH,
    HOLD_SHORT,
    ID,
    IOC,
    KIND,
    LIMIT,
    LOW,
    OPEN,
    OPENING,
    ORDERS,
    OTHER,
    POSITION,
    PRICE,
    REMAINING,
    ROOM,
    SIDE,
    STATE,
    STOP,
    SYMBOL,
    TIME,
    TRADABLE,
    TRIGGERED,
    Floats,
    Market,
    State,
)
from openfingym.trading.compiled.portfolio import NONE, place_of, record, refusal, slipped, tell
from openfingym.trading.orders import EventKind, Reason

_STAYS, _DONE, _WAITING, _REACHED = range(4)
"""Values of an order's STATE while a bar is matched: it stays open; it has ended; it may fill inside the bar; the bar
reaches its price, and its turn comes."""
_CANCELLED, _REJECTED, _TRIGGERED = int(EventKind.CANCELLED), int(EventKind.REJECTED), int(EventKind.TRIGGERED)
_ADJUSTED, _UNFILLED = int(EventKind.ADJUSTED), int(Reason.UNFILLED)
_INSUFFICIENT_CASH, _PAIR_ENDED = int(Reason.INSUFFICIENT_CASH), int(Reason.PAIR_ENDED)
_TRIGGERED_ONLY = -1.0
"""TIME of an order whose stop the bar has triggered without filling it."""


@rare
def match(a: State, i: int, m: Market, bars: Floats, t: int) -> None:
    """Fill what bar ``t`` fills: first at the open in order of submission, then inside the bar as the path reaches
    it.
    """
    orders, count, waiting, done = a.orders, int(a.cells[i, ORDERS]), 0, 0
    for k in range(count):
        orders[i, k, STATE] = _STAYS
        orders[i, k, TIME] = 0.0
    # One loop for both, so that what fills an order is compiled once: ``count`` turns at the open, in the order of
    # submission, then a turn for each order that the bar reaches.
    reached = count
    turn = 0
    while turn < reached:
        inside = turn >= count
        k = _next(orders, i, count, m.path) if inside else turn
        turn += 1
        # An order of a pair may have ended with the other before its turn: there is none left, or this one is done.
        ended = k < 0 or orders[i, k, STATE] == _DONE
        k = max(k, 0)
        s = int(orders[i, k, SYMBOL])
        price, fills = orders[i, k, PRICE], not ended
        if not inside and not ended:
            price = rules.NO_FILL
            if bars[t, s, TRADABLE] != 0.0:
                kind, d = int(orders[i, k, KIND]), orders[i, k, SIDE]
                price, triggered = rules.open_price(
                    kind, d, orders[i, k, LIMIT], orders[i, k, STOP], orders[i, k, TRIGGERED] != 0.0, bars[t, s, OPEN]
                )
                if triggered and kind >= rules.STOP and orders[i, k, TRIGGERED] == 0.0:
                    orders[i, k, TRIGGERED] = 1.0
                    tell(a, i, _TRIGGERED, k, NONE)
                if price < 0.0 and orders[i, k, IOC] == 0.0:
                    orders[i, k, STATE] = _WAITING
                    waiting += 1
            fills = price >= 0.0
        if fills and _fill(a, i, m, k, s, price):
            orders[i, k, STATE] = _DONE
            done += 1
            if orders[i, k, OTHER] != 0.0:
                other = place_of(a, i, orders[i, k, OTHER])
                tell(a, i, _CANCELLED, other, _PAIR_ENDED)
                orders[i, other, STATE] = _DONE
        elif ended:
            pass
        elif not inside and orders[i, k, IOC] != 0.0:
            tell(a, i, _CANCELLED, k, _UNFILLED)
            orders[i, k, STATE] = _DONE
            done += 1
        elif inside:
            orders[i, k, STATE] = _STAYS
        # After the last turn at the open.
        if turn == count and waiting > 0:
            reached += _reach(a, i, m, bars, t)
    if done > 0:
        _drop(a, i)


@part
def _reach(a: State, i: int, m: Market, bars: Floats, t: int) -> int:
    """Find which of the waiting orders the bar reaches, at what price and when; returns how many."""
    orders, reached = a.orders, 0
    for k in range(int(a.cells[i, ORDERS])):
        if orders[i, k, STATE] == _WAITING:
            s = int(orders[i, k, SYMBOL])
            price, time, triggered = rules.inside_price(
                int(orders[i, k, KIND]),
                orders[i, k, SIDE],
                orders[i, k, LIMIT],
                orders[i, k, STOP],
                orders[i, k, TRIGGERED] != 0.0,
                bars[t, s, OPEN],
                bars[t, s, HIGH],
                bars[t, s, LOW],
                bars[t, s, CLOSE],
                m.path,
            )
            if triggered and orders[i, k, TRIGGERED] == 0.0:
                orders[i, k, TRIGGERED] = 1.0
                tell(a, i, _TRIGGERED, k, NONE)
                orders[i, k, TIME] = _TRIGGERED_ONLY
            if price >= 0.0:
                orders[i, k, STATE] = _REACHED
                orders[i, k, PRICE] = price
                orders[i, k, TIME] = time
                reached += 1
    if m.path == rules.CERTAIN:
        for k in range(int(a.cells[i, ORDERS])):
            if orders[i, k, TIME] == _TRIGGERED_ONLY and orders[i, k, OTHER] != 0.0:
                other = place_of(a, i, orders[i, k, OTHER])
                # This order may have filled first on some path, and then the other does not.
                if orders[i, other, STATE] == _REACHED:
                    orders[i, other, STATE] = _STAYS
                    reached -= 1
    return reached


@part
def _next(orders: Floats, i: int, count: int, path: int) -> int:
    """The reached order whose turn it is: the earliest on the assumed path or, where none is assumed, the first
    submitted.
    """
    earliest = -1
    for k in range(count):
        # Strictly earlier, so that at one time the first submitted comes first, as with the stable sort of the twin.
        if orders[i, k, STATE] == _REACHED and (earliest < 0 or orders[i, k, TIME] < orders[i, earliest, TIME]):
            earliest = k
            if path == rules.CERTAIN:
                break
    if path == rules.CERTAIN and earliest >= 0 and orders[i, earliest, OTHER] != 0.0:
        # The order of a pair with the worse price comes first.
        for k in range(earliest + 1, count):
            if orders[i, k, ID] == orders[i, earliest, OTHER] and orders[i, k, STATE] == _REACHED:
                d = orders[i, k, SIDE]
                return k if d * orders[i, k, PRICE] > d * orders[i, earliest, PRICE] else earliest
    return earliest


@part
def _fill(a: State, i: int, m: Market, k: int, symbol: int, base: float) -> bool:
    """Fill an order at ``base`` as far as volume and account allow; returns whether it has ended."""
    orders = a.orders
    kind, d, quantity, room = (
        int(orders[i, k, KIND]),
        orders[i, k, SIDE],
        orders[i, k, REMAINING],
        a.book[i, symbol, ROOM],
    )
    if room < quantity:
        quantity = rules.whole_lots(room, m.lot)
        if quantity <= 0.0:
            return False
    against = -d * a.book[i, symbol, POSITION]
    price = slipped(a, i, m, kind, base, d, quantity, symbol)
    reason = NONE
    # Only what opens or enlarges a position can be refused here. Prices may have moved since the order was admitted:
    # what the account cannot carry any more is cut down to the part that closes.
    if quantity - against > rules.ROUNDING * quantity:
        reason = refusal(a, i, m, symbol, d, quantity, base, price)
        if reason != NONE:
            quantity = max(0.0, against)
            price = slipped(a, i, m, kind, base, d, quantity, symbol)
    if quantity > 0.0:
        if record(a, i, m, symbol, d, quantity, price, base, orders[i, k, ID]):
            if quantity == orders[i, k, REMAINING]:
                return True
            left = rules.settled(orders[i, k, REMAINING], -quantity, m.lot)
            _cut(a, i, k, left)
            if orders[i, k, OTHER] != 0.0 and left > 0.0:
                other = place_of(a, i, orders[i, k, OTHER])
                _cut(a, i, other, left)
                tell(a, i, _ADJUSTED, other, NONE)
        else:
            reason = _INSUFFICIENT_CASH
    if reason != NONE:
        tell(a, i, _REJECTED, k, reason)
        return True
    return bool(orders[i, k, REMAINING] <= 0.0)


@rare
def _cut(a: State, i: int, k: int, left: float) -> None:
    """Leave less of an order; what is held for it shrinks with what is left of it to open."""
    orders = a.orders
    orders[i, k, REMAINING] = left
    if left < orders[i, k, OPENING]:
        share = left / orders[i, k, OPENING]
        orders[i, k, OPENING] = left
        orders[i, k, HOLD_CASH] *= share
        orders[i, k, HOLD_SHORT] *= share


@part
def _drop(a: State, i: int) -> None:
    """Close up the places of the orders that have ended."""
    orders, kept = a.orders, 0
    for k in range(int(a.cells[i, ORDERS])):
        if orders[i, k, STATE] != _DONE:
            if kept != k:
                for field in range(orders.shape[2]):
                    orders[i, kept, field] = orders[i, k, field]
            kept += 1
    a.cells[i, ORDERS] = kept
