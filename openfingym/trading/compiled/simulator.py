"""Compiled twin of :mod:`openfingym.trading.desk` and :mod:`openfingym.trading.simulator`: requests, and a bar."""

from __future__ import annotations

import math

from openfingym.trading import rules
from openfingym.trading.compiled.admission import objection
from openfingym.trading.compiled.compiling import part, rare
from openfingym.trading.compiled.corporate_actions import act, remove, take_out
from openfingym.trading.compiled.layout import (
    BANKRUPT,
    BEFORE,
    CASH,
    CLOSE,
    CLOSED,
    COST,
    EQUITY,
    FIRST,
    HOLD_CASH,
    HOLD_SHORT,
    ID,
    IOC,
    KIND,
    LAST,
    LIMIT,
    MARK,
    NEXT_ID,
    OPEN,
    OPENING,
    ORDERS,
    OTHER,
    POSITION,
    REMAINING,
    ROOM,
    ROW,
    SIDE,
    STOP,
    SYMBOL,
    TARGET,
    TARGETED,
    TRADABLE,
    TRADED,
    TRIGGERED,
    UNITS,
    VOLUME,
    WON,
    Floats,
    Market,
    State,
)
from openfingym.trading.compiled.matching import match
from openfingym.trading.compiled.portfolio import NONE, say, tell
from openfingym.trading.compiled.rebalancing import rebalance
from openfingym.trading.compiled.requests import CANCEL, REPLACE, SECOND
from openfingym.trading.orders import MOST, EventKind, Reason
from openfingym.trading.rules import WEIGHT_TOLERANCE

_REJECTED, _CANCELLED, _REPLACED = int(EventKind.REJECTED), int(EventKind.CANCELLED), int(EventKind.REPLACED)
_BANKRUPT, _BAD_WEIGHTS, _BAD_PRICE = int(Reason.BANKRUPT), int(Reason.BAD_WEIGHTS), int(Reason.BAD_PRICE)
_MALFORMED, _UNKNOWN_SYMBOL, _TOO_MANY_ORDERS = (
    int(Reason.MALFORMED),
    int(Reason.UNKNOWN_SYMBOL),
    int(Reason.TOO_MANY_ORDERS),
)
_NOT_OPEN, _UNKNOWN_ORDER = int(Reason.NOT_OPEN), int(Reason.UNKNOWN_ORDER)
_BAD_PAIR, _PAIR_ENDED = int(Reason.BAD_PAIR), int(Reason.PAIR_ENDED)


@rare
def open_account(a: State, i: int, bars: Floats, row: int, last: int, cash: float) -> None:
    """Open account ``i`` anew at the close of ``row``, for an episode that ends at the close of row ``last``."""
    cells, book = a.cells, a.book
    for k in range(cells.shape[1]):
        cells[i, k] = 0.0
    cells[i, CASH] = cells[i, EQUITY] = cells[i, BEFORE] = cash
    cells[i, ROW] = cells[i, FIRST] = row
    cells[i, LAST] = last
    cells[i, NEXT_ID] = 1.0
    for s in range(book.shape[1]):
        for k in range(book.shape[2]):
            book[i, s, k] = 0.0
        book[i, s, MARK] = bars[row, s, CLOSE]
        book[i, s, VOLUME] = bars[row, s, UNITS]


@part
def ask(a: State, i: int, m: Market, requests: Floats, first: int, last: int) -> None:
    """Carry out the requests from row ``first`` to ``last``, those about open orders first; see
    :mod:`openfingym.trading.compiled.requests`.
    """
    orders = 0
    for j in range(first, last):
        code, order_id = nearest(requests[j, 3]), requests[j, 7]
        if code == CANCEL:
            _cancel(a, i, requests[j, 0], order_id)
        elif code == REPLACE:
            _replace(a, i, m, requests, j)
        elif not math.isnan(code):
            orders += 1
    if orders > m.max_orders_per_batch:
        say(a, i, _REJECTED, 0.0, -1.0, 0.0, orders, math.nan, 0.0, 0.0, _TOO_MANY_ORDERS)
    elif orders > 0:
        taken = first
        for j in range(first, last):
            code = nearest(requests[j, 3])
            if j < taken or math.isnan(code) or code in (CANCEL, REPLACE):
                continue
            taken = j + 1
            if 0.0 <= code <= 3.0 and taken < last and SECOND <= nearest(requests[taken, 3]) <= SECOND + 3.0:
                taken += 1
            _submit(a, i, m, requests, j, taken - j)


@rare
def _submit(a: State, i: int, m: Market, requests: Floats, j: int, rows: int) -> None:
    """Take the new order in row ``j`` or, of two rows, the pair in it and the next; what is not taken is refused."""
    bad, good, reason, at_fault = 0, 0, NONE, 0
    for n in range(rows):
        malformed = _malformed(requests, j + n)
        bad += 1 if malformed else 0
    if bad > 0 or (rows == 1 and nearest(requests[j, 3]) >= SECOND) or (rows == 2 and not _fit(requests, j)):
        # One alone is no pair either.
        for n in range(rows):
            if _malformed(requests, j + n):
                say(a, i, _REJECTED, 0.0, -1.0, 0.0, math.nan, math.nan, 0.0, 0.0, _MALFORMED)
            else:
                _refuse(a, i, requests, j + n, _BAD_PAIR)
        return
    while good < rows and reason == NONE:
        k = int(a.cells[i, ORDERS])
        if not 0.0 <= nearest(requests[j + good, 0]) < a.book.shape[1]:
            reason = _UNKNOWN_SYMBOL
        else:
            # The next free row of the table is filled before it is known whether the order is taken: it counts only
            # once ORDERS is raised, so that the second of a pair is judged beside the first.
            _write(a, i, m, requests, j + good, k)
            if rows == 2:
                a.orders[i, k, ID] += good
                a.orders[i, k, OTHER] = a.cells[i, NEXT_ID] + (1 - good)
            reason = objection(a, i, m, k, -1)
        if reason == NONE:
            a.cells[i, ORDERS] += 1.0
            good += 1
        else:
            at_fault = good
    if reason == NONE:
        a.cells[i, NEXT_ID] += rows
        return
    a.cells[i, ORDERS] -= good
    for n in range(rows):
        _refuse(a, i, requests, j + n, reason if n == at_fault else _PAIR_ENDED)


@rare
def _malformed(requests: Floats, j: int) -> bool:
    """Whether a row does not have the form of an order."""
    side, kind, time_in_force = requests[j, 1], nearest(requests[j, 3]), nearest(requests[j, 6])
    kind = kind - SECOND if kind >= SECOND else kind
    # Written so that NaN, of which every comparison is false, is malformed too; ``abs(side) >= 0.0`` asks nothing else.
    return not (side != 0.0 and abs(side) >= 0.0 and 0.0 <= kind <= 3.0 and 0.0 <= time_in_force <= 1.0)


@rare
def _fit(requests: Floats, j: int) -> bool:
    """Whether two rows can be a pair; see :mod:`openfingym.trading.pairs`."""
    first, second = nearest(requests[j, 3]), nearest(requests[j + 1, 3]) - SECOND
    return (
        min(first, second) == rules.LIMIT
        and max(first, second) >= rules.STOP
        and _symbol(requests, j) == _symbol(requests, j + 1)
        and (requests[j, 1] > 0.0) == (requests[j + 1, 1] > 0.0)
        and requests[j, 2] == requests[j + 1, 2]
        and nearest(requests[j, 6]) == 0.0
        and nearest(requests[j + 1, 6]) == 0.0
    )


@part
def _symbol(requests: Floats, j: int) -> float:
    """The symbol of a row; -1 for one that no market has."""
    symbol = nearest(requests[j, 0])
    return symbol if abs(symbol) < MOST else -1.0


@rare
def _refuse(a: State, i: int, requests: Floats, j: int, reason: int) -> None:
    d = 1.0 if requests[j, 1] > 0.0 else -1.0
    say(a, i, _REJECTED, 0.0, _symbol(requests, j), d, requests[j, 2], math.nan, 0.0, 0.0, reason)


@rare
def _write(a: State, i: int, m: Market, requests: Floats, j: int, k: int) -> None:
    """Write the order of a row into place ``k``."""
    orders, kind = a.orders, nearest(requests[j, 3])
    kind = kind - SECOND if kind >= SECOND else kind
    orders[i, k, ID] = a.cells[i, NEXT_ID]
    orders[i, k, SYMBOL] = nearest(requests[j, 0])
    orders[i, k, SIDE] = 1.0 if requests[j, 1] > 0.0 else -1.0
    orders[i, k, KIND] = kind
    orders[i, k, IOC] = nearest(requests[j, 6])
    orders[i, k, REMAINING] = requests[j, 2]
    orders[i, k, LIMIT] = math.nan if m.forgiving and kind in (rules.MARKET, rules.STOP) else requests[j, 4]
    orders[i, k, STOP] = math.nan if m.forgiving and kind < rules.STOP else requests[j, 5]
    orders[i, k, TRIGGERED] = orders[i, k, OTHER] = 0.0
    orders[i, k, OPENING] = orders[i, k, HOLD_CASH] = orders[i, k, HOLD_SHORT] = 0.0


@rare
def _find(a: State, i: int, order_id: float) -> int:
    """Place of an open order; -1 where there is none of this id, which is recorded as a refusal."""
    reference = nearest(order_id)
    for place in range(int(a.cells[i, ORDERS])):
        if a.orders[i, place, ID] == reference:
            return place
    known = 0.0 < reference < a.cells[i, NEXT_ID]
    reason = _NOT_OPEN if known else _UNKNOWN_ORDER
    say(a, i, _REJECTED, reference if known else 0.0, -1.0, 0.0, math.nan, math.nan, 0.0, 0.0, reason)
    return -1


@rare
def _replace(a: State, i: int, m: Market, requests: Floats, j: int) -> None:
    """Change an open order, all or nothing."""
    orders, count, place = a.orders, int(a.cells[i, ORDERS]), _find(a, i, requests[j, 7])
    if place < 0:
        return
    quantity, limit, stop = requests[j, 2], requests[j, 4], requests[j, 5]
    before, limit_before, stop_before = orders[i, place, REMAINING], orders[i, place, LIMIT], orders[i, place, STOP]
    # The changed order is put together and judged behind all others, so that a refusal leaves the old one as it was.
    for field in range(orders.shape[2]):
        orders[i, count, field] = orders[i, place, field]
    if not math.isnan(quantity):
        orders[i, count, REMAINING] = quantity
    if not math.isnan(limit):
        orders[i, count, LIMIT] = limit
    if not math.isnan(stop):
        orders[i, count, STOP] = stop
    orders[i, count, OPENING] = orders[i, count, HOLD_CASH] = orders[i, count, HOLD_SHORT] = 0.0
    restopped = orders[i, place, TRIGGERED] != 0.0 and not math.isnan(stop)
    resized = orders[i, place, OTHER] != 0.0 and orders[i, count, REMAINING] != before
    reason = _BAD_PRICE if restopped else _BAD_PAIR if resized else objection(a, i, m, count, place)
    if reason != NONE:
        # The event has the quantity that was asked for, not the nearest multiple of the lot.
        orders[i, count, REMAINING] = before if math.isnan(quantity) else quantity
        tell(a, i, _REJECTED, count, reason)
        return
    tell(a, i, _REPLACED, count, NONE)
    keeps_place = orders[i, count, REMAINING] <= before and (math.isnan(limit) or limit == limit_before)
    keeps_place = keeps_place and (math.isnan(stop) or stop == stop_before)
    if not keeps_place:
        # Behind all others: the place behind them becomes the last one when the old order is taken out.
        a.cells[i, ORDERS] += 1.0
        take_out(a, i, place)
        return
    for field in range(orders.shape[2]):
        orders[i, place, field] = orders[i, count, field]


@rare
def _cancel(a: State, i: int, symbol: float, order_id: float) -> None:
    """Cancel an open order; without an id, all orders of a symbol, or all of the account where the symbol is NaN."""
    if order_id > 0.0:
        place = _find(a, i, order_id)
        if place >= 0:
            tell(a, i, _CANCELLED, place, NONE)
            remove(a, i, place)
        return
    place = 0
    while place < int(a.cells[i, ORDERS]):
        if math.isnan(symbol) or a.orders[i, place, SYMBOL] == nearest(symbol):
            tell(a, i, _CANCELLED, place, NONE)
            remove(a, i, place)
        else:
            place += 1


@part
def nearest(code: float) -> float:
    """The whole number nearest to a code; NaN and what is too large for a code stay as they are."""
    return math.floor(code + 0.5) if abs(code) < MOST else code


@part
def target(a: State, i: int, m: Market, weights: Floats, n: int) -> None:
    """Trade at the next open to the weights in row ``n``."""
    longs = shorts = 0.0
    symbols = a.book.shape[1]
    for s in range(symbols):
        weight = weights[n, s]
        if weight > 0.0:
            longs += weight
        else:
            shorts -= weight
    bankrupt = a.cells[i, BANKRUPT] != 0.0
    # Written so that a NaN, of which every comparison is false, is refused too.
    if bankrupt or not (longs <= 1.0 + WEIGHT_TOLERANCE and shorts <= m.max_short + WEIGHT_TOLERANCE):
        reason = _BANKRUPT if bankrupt else _BAD_WEIGHTS
        say(a, i, _REJECTED, 0.0, -1.0, 0.0, math.nan, math.nan, 0.0, 0.0, reason)
        return
    for s in range(symbols):
        a.book[i, s, TARGET] = weights[n, s]
    a.cells[i, TARGETED] = 1.0


@part
def on_bar(a: State, i: int, m: Market, bars: Floats) -> None:
    """Let the next bar pass."""
    cells, book = a.cells, a.book
    # The order of what follows is the market's: corporate actions before the open, interest on what was short
    # overnight, then the open with its rebalancing, the orders within the bar, and the close that values the account.
    t = int(cells[i, ROW]) + 1
    cells[i, ROW] = t
    cells[i, TRADED] = cells[i, COST] = cells[i, CLOSED] = cells[i, WON] = 0.0
    if cells[i, BANKRUPT] != 0.0:
        return
    act(a, i, m, bars, t)
    for s in range(book.shape[1]):
        if m.borrow_rate > 0.0 and book[i, s, POSITION] < 0.0:
            paid = -book[i, s, POSITION] * book[i, s, MARK] * m.borrow_rate
            cells[i, CASH] -= paid
            cells[i, COST] += paid
        if bars[t, s, TRADABLE] != 0.0:
            book[i, s, MARK] = bars[t, s, OPEN]
            book[i, s, VOLUME] = bars[t, s, UNITS]
            book[i, s, ROOM] = m.max_participation * bars[t, s, UNITS] if m.max_participation > 0.0 else math.inf
        else:
            # No bar, no trade: the last price stays as the mark, and nothing fills against it.
            book[i, s, ROOM] = 0.0
    if cells[i, TARGETED] != 0.0:
        cells[i, TARGETED] = 0.0
        rebalance(a, i, m, bars, t)
    if cells[i, ORDERS] > 0.0:
        match(a, i, m, bars, t)
    value = 0.0
    for s in range(book.shape[1]):
        if bars[t, s, TRADABLE] != 0.0:
            book[i, s, MARK] = bars[t, s, CLOSE]
        if book[i, s, POSITION] != 0.0:
            value += book[i, s, POSITION] * book[i, s, MARK]
    cells[i, EQUITY] = cells[i, CASH] + value
    if cells[i, EQUITY] <= 0.0:
        cells[i, EQUITY] = 0.0
        cells[i, BANKRUPT] = 1.0
        for k in range(int(cells[i, ORDERS])):
            tell(a, i, _CANCELLED, k, _BANKRUPT)
        cells[i, ORDERS] = 0.0
