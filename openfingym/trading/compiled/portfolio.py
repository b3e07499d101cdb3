"""Compiled twin of :mod:`openfingym.trading.portfolio`: account ``i`` of many."""

from __future__ import annotations

import math

from openfingym.trading import rules
from openfingym.trading.compiled.compiling import part, rare
from openfingym.trading.compiled.layout import (
    AVERAGE,
    CASH,
    CLOSED,
    COST,
    EVENTS,
    ID,
    MARK,
    ORDERS,
    POSITION,
    REMAINING,
    ROOM,
    ROW,
    SIDE,
    SYMBOL,
    TRADED,
    VOLUME,
    WON,
    Market,
    State,
)
from openfingym.trading.orders import EventKind, Reason

NONE = int(Reason.NONE)
_FILLED = int(EventKind.FILLED)
_INSUFFICIENT_CASH, _SHORT_CAP = int(Reason.INSUFFICIENT_CASH), int(Reason.SHORT_CAP)


@part
def say(
    a: State,
    i: int,
    kind: int,
    order_id: float,
    symbol: float,
    d: float,
    quantity: float,
    price: float,
    fee: float,
    slippage: float,
    reason: int,
) -> None:
    """Record an event, without checking for room: there is room for all that a step can cause."""
    n = int(a.cells[i, EVENTS])
    a.cells[i, EVENTS] = n + 1
    events = a.events
    events[i, n, 0] = kind
    events[i, n, 1] = a.cells[i, ROW]
    events[i, n, 2] = order_id
    events[i, n, 3] = symbol
    events[i, n, 4] = d
    events[i, n, 5] = quantity
    events[i, n, 6] = price
    events[i, n, 7] = fee
    events[i, n, 8] = slippage
    events[i, n, 9] = reason


@rare
def tell(a: State, i: int, kind: int, k: int, reason: int) -> None:
    """Record an event of order ``k``, with the quantity that is left of it; for all kinds but fills."""
    order = a.orders
    say(
        a,
        i,
        kind,
        order[i, k, ID],
        order[i, k, SYMBOL],
        order[i, k, SIDE],
        order[i, k, REMAINING],
        math.nan,
        0.0,
        0.0,
        reason,
    )


@rare
def place_of(a: State, i: int, order_id: float) -> int:
    """Place of the open order of an id; -1 where there is none."""
    for place in range(int(a.cells[i, ORDERS])):
        if a.orders[i, place, ID] == order_id:
            return place
    return -1


@part
def besides(a: State, i: int, symbol: int) -> tuple[float, float]:
    """Market value of short positions and of all positions in other symbols, at the last marks."""
    shorts = others = 0.0
    for other in range(a.book.shape[1]):
        position = a.book[i, other, POSITION]
        if position != 0.0 and other != symbol:
            value = position * a.book[i, other, MARK]
            others += value
            if position < 0.0:
                shorts -= value
    return shorts, others


@part
def refusal(a: State, i: int, m: Market, symbol: int, d: float, quantity: float, base: float, price: float) -> int:
    """Why the account cannot carry a fill that opens a position, or NONE."""
    cash = a.cells[i, CASH] - d * quantity * price - rules.fee(quantity * price, m.fee_rate, m.fee_per_trade)
    shorts, others = besides(a, i, symbol)
    if d > 0.0:
        collateral = 0.0 if m.proceeds_fund_longs else shorts
        return NONE if cash - collateral >= 0.0 else _INSUFFICIENT_CASH
    after = a.book[i, symbol, POSITION] - quantity
    equity = cash + after * base + others
    return NONE if shorts - after * base <= m.max_short * equity else _SHORT_CAP


@part
def slip(m: Market, base: float, d: float, quantity: float, volume: float) -> float:
    """A price after slippage."""
    # Most markets have no impact; with a constant 0 the compiler leaves out its division.
    if m.impact > 0.0:
        return rules.slip(base, d, quantity, volume, m.slip_rate, m.impact)
    return rules.slip(base, d, quantity, volume, m.slip_rate, 0.0)


@part
def slipped(a: State, i: int, m: Market, kind: int, base: float, d: float, quantity: float, symbol: int) -> float:
    """Price of a fill; orders with a limit have no slippage."""
    if kind in (rules.LIMIT, rules.STOP_LIMIT):
        return base
    return slip(m, base, d, quantity, a.book[i, symbol, VOLUME])


@part
def record(
    a: State, i: int, m: Market, symbol: int, d: float, quantity: float, price: float, base: float, order_id: float
) -> bool:
    """Change cash and position by a fill, unless it would leave a debt larger than before; returns whether it did."""
    cells, book = a.cells, a.book
    paid = rules.fee(quantity * price, m.fee_rate, m.fee_per_trade)
    cash = cells[i, CASH] - d * quantity * price - paid
    # A debt that is there already, as after a dividend on a short position, may become smaller.
    if cash < 0.0 and cash < cells[i, CASH]:
        return False
    position = book[i, symbol, POSITION]
    after = rules.settled(position, d * quantity, m.lot)
    # Units held on the other side, which the fill closes; below zero, units held on its own side.
    against = -d * position
    if against > 0.0:
        closing = min(quantity, against)
        profit = closing * (book[i, symbol, AVERAGE] - price) * d - paid * (closing / quantity)
        cells[i, CLOSED] += 1.0
        if profit > 0.0:
            cells[i, WON] += 1.0
        if after == 0.0:
            book[i, symbol, AVERAGE] = 0.0
        elif d * after > 0.0:
            book[i, symbol, AVERAGE] = price
    else:
        book[i, symbol, AVERAGE] = (book[i, symbol, AVERAGE] * -against + price * quantity) / (quantity - against)
    book[i, symbol, POSITION] = after
    cells[i, CASH] = cash
    slippage = quantity * abs(price - base)
    cells[i, TRADED] += quantity * price
    cells[i, COST] += paid + slippage
    book[i, symbol, ROOM] -= quantity
    say(a, i, _FILLED, order_id, symbol, d, quantity, price, paid, slippage, NONE)
    return True
