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
from openfingym.trading.compiled.portfolio import NONE, record, refusal, slipped, tell
from openfingym.trading.orders import EventKind, Reason

_STAYS, _DONE, _WAITING, _REACHED = range(4)
"""Values of an order's STATE while a bar is matched: it stays open; it has ended; it may fill inside the bar; the bar
reaches its price, and its turn comes."""
_CANCELLED, _REJECTED, _TRIGGERED = int(EventKind.CANCELLED), int(EventKind.REJECTED), int(EventKind.TRIGGERED)
_UNFILLED, _INSUFFICIENT_CASH = int(Reason.UNFILLED), int(Reason.INSUFFICIENT_CASH)


@rare
def match(a: State, i: int, m: Market, bars: Floats, t: int) -> None:
    """Fill what bar ``t`` fills: first at the open in order of submission, then inside the bar as the path reaches
    it.
    """
    orders, count, waiting, done = a.orders, int(a.cells[i, ORDERS]), 0, 0
    for k in range(count):
        orders[i, k, STATE] = _STAYS
    # One loop for both, so that what fills an order is compiled once: ``count`` turns at the open, in the order of
    # submission, then a turn for each order that the bar reaches.
    reached = count
    turn = 0
    while turn < reached:
        inside = turn >= count
        k = _next(orders, i, count, m.path) if inside else turn
        turn += 1
        s = int(orders[i, k, SYMBOL])
        price, fills = orders[i, k, PRICE], True
        if not inside:
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
            if price >= 0.0:
                orders[i, k, STATE] = _REACHED
                orders[i, k, PRICE] = price
                orders[i, k, TIME] = time
                reached += 1
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
                return earliest
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
            orders[i, k, REMAINING] = left
            # What is held for the order shrinks with what is left of it to open.
            if left < orders[i, k, OPENING]:
                share = left / orders[i, k, OPENING]
                orders[i, k, OPENING] = left
                orders[i, k, HOLD_CASH] *= share
                orders[i, k, HOLD_SHORT] *= share
        else:
            reason = _INSUFFICIENT_CASH
    if reason != NONE:
        tell(a, i, _REJECTED, k, reason)
        return True
    return bool(orders[i, k, REMAINING] <= 0.0)


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
