"""Compiled twin of :mod:`openfingym.trading.admission`."""

from __future__ import annotations

import math

from openfingym.trading import rules
from openfingym.trading.compiled.compiling import part, rare
from openfingym.trading.compiled.layout import (
    BANKRUPT,
    CASH,
    HOLD_CASH,
    HOLD_SHORT,
    ID,
    KIND,
    LIMIT,
    MARK,
    OPENING,
    ORDERS,
    OTHER,
    POSITION,
    REMAINING,
    SIDE,
    STOP,
    SYMBOL,
    VOLUME,
    Market,
    State,
)
from openfingym.trading.compiled.portfolio import NONE, place_of, slipped
from openfingym.trading.orders import Reason

_BANKRUPT, _BAD_QUANTITY, _ODD_LOT = int(Reason.BANKRUPT), int(Reason.BAD_QUANTITY), int(Reason.ODD_LOT)
_BAD_PRICE, _OFF_TICK, _TOO_MANY_ORDERS = int(Reason.BAD_PRICE), int(Reason.OFF_TICK), int(Reason.TOO_MANY_ORDERS)
_INSUFFICIENT_CASH, _SHORT_CAP = int(Reason.INSUFFICIENT_CASH), int(Reason.SHORT_CAP)


@rare
def objection(a: State, i: int, m: Market, k: int, instead_of: int) -> int:
    """Why the order in place ``k`` cannot be accepted, or NONE.

    Besides, makes its quantity an exact multiple of the lot, and sets what it reserves.

    Args:
        a: state of all accounts.
        i: number of the account.
        m: costs and limits of trading, as numbers.
        k: place of the order, behind all that are open.
        instead_of: place of the open order that it is to replace, whose reservations are free for it; -1 for none.
    """
    orders = a.orders
    if a.cells[i, BANKRUPT] != 0.0:
        return _BANKRUPT
    if not 0.0 < orders[i, k, REMAINING] < math.inf:
        return _BAD_QUANTITY
    if m.lot > 0.0:
        orders[i, k, REMAINING] = rules.nearest_multiple(orders[i, k, REMAINING], m.lot)
        if orders[i, k, REMAINING] <= 0.0:
            return _ODD_LOT
    kind = int(orders[i, k, KIND])
    reason = _misprice(orders[i, k, LIMIT], kind in (rules.LIMIT, rules.STOP_LIMIT), m.tick)
    if reason == NONE:
        reason = _misprice(orders[i, k, STOP], kind in (rules.STOP, rules.STOP_LIMIT), m.tick)
    if reason != NONE:
        return reason
    if a.cells[i, ORDERS] - (1.0 if instead_of >= 0 else 0.0) >= m.max_open_orders:
        return _TOO_MANY_ORDERS
    return _reserve(a, i, m, k, instead_of) if m.check_on_submit else NONE


@part
def _misprice(price: float, used: bool, tick: float) -> int:
    if not used:
        return NONE if math.isnan(price) else _BAD_PRICE
    if not 0.0 < price < math.inf:
        return _BAD_PRICE
    if tick > 0.0 and rules.nearest_multiple(price, tick) <= 0.0:
        return _OFF_TICK
    return NONE


@part
def _reserve(a: State, i: int, m: Market, k: int, instead_of: int) -> int:
    orders, book, count = a.orders, a.book, int(a.cells[i, ORDERS])
    pair, cash_before, short_before = -1, 0.0, 0.0
    if orders[i, k, OTHER] != 0.0:
        pair = place_of(a, i, orders[i, k, OTHER])
        if instead_of >= 0:
            cash_before, short_before = orders[i, instead_of, HOLD_CASH], orders[i, instead_of, HOLD_SHORT]
    symbol, d, kind, remaining = (
        int(orders[i, k, SYMBOL]),
        orders[i, k, SIDE],
        int(orders[i, k, KIND]),
        orders[i, k, REMAINING],
    )
    # What closes a position frees cash and needs no cover. Units that other orders of the same side are to close are
    # spoken for, so that two orders never close the same units.
    opening, closing = remaining, -d * book[i, symbol, POSITION]
    if closing > 0.0:
        for other in range(count):
            # The two of a pair are counted together, at the first of them.
            counted = other in (instead_of, pair) or 0.0 < orders[i, other, OTHER] < orders[i, other, ID]
            if not counted and orders[i, other, SYMBOL] == symbol and orders[i, other, SIDE] == d:
                closing -= orders[i, other, REMAINING]
        if closing >= opening:
            return NONE
        if closing > 0.0:
            opening = rules.settled(opening, -closing, m.lot)
            if opening <= 0.0:
                return NONE
    # Held is what the order costs at the worst price at which it is expected to fill.
    base = rules.worst_price(kind, d, orders[i, k, LIMIT], orders[i, k, STOP], book[i, symbol, MARK])
    quantity, volume = remaining, book[i, symbol, VOLUME]
    if m.max_participation > 0.0 and volume > 0.0:
        quantity = min(quantity, m.max_participation * volume)
    price = slipped(a, i, m, kind, base, d, quantity, symbol)
    paid = rules.fee(opening * price, m.fee_rate, m.fee_per_trade)
    short, value = _values(a, i)
    if d > 0.0:
        hold = opening * price + paid
        # Proceeds of short sales are owed with the units; only some markets let them pay for others.
        free = a.cells[i, CASH] if m.proceeds_fund_longs else a.cells[i, CASH] - short
        for other in range(count):
            if other not in (instead_of, pair):
                free -= orders[i, other, HOLD_CASH]
        if free >= hold:
            orders[i, k, OPENING] = opening
            orders[i, k, HOLD_CASH] = hold if pair < 0 else max(cash_before, hold - orders[i, pair, HOLD_CASH])
            return NONE
        return NONE if closing > 0.0 else _INSUFFICIENT_CASH
    # Costs of the sale lower equity, and so the short cap by ``max_short`` times as much.
    hold = opening * base + m.max_short * (opening * (base - price) + paid)
    shorts = short + hold
    for other in range(count):
        if other not in (instead_of, pair):
            shorts += orders[i, other, HOLD_SHORT]
    if shorts <= m.max_short * (a.cells[i, CASH] + value):
        orders[i, k, OPENING] = opening
        orders[i, k, HOLD_SHORT] = hold if pair < 0 else max(short_before, hold - orders[i, pair, HOLD_SHORT])
        return NONE
    return NONE if closing > 0.0 else _SHORT_CAP


@part
def _values(a: State, i: int) -> tuple[float, float]:
    """Market value of short positions, and of all positions."""
    short = value = 0.0
    for s in range(a.book.shape[1]):
        if a.book[i, s, POSITION] != 0.0:
            value += a.book[i, s, POSITION] * a.book[i, s, MARK]
            if a.book[i, s, POSITION] < 0.0:
                short -= a.book[i, s, POSITION] * a.book[i, s, MARK]
    return short, value
