"""Requests as a table of numbers, one a row, for policies that give arrays and for the compiled core.

======  =============  =========================================================================================
column  name           meaning
======  =============  =========================================================================================
0       symbol         position of the instrument
1       side           above 0 to buy, below 0 to sell
2       quantity       shares, coins or contracts
3       type           :class:`~openfingym.trading.orders.OrderType` of a new order: 0 market, 1 limit, 2 stop,
                       3 stop-limit; 4 to cancel an open order, 5 to replace it; NaN in an empty row; 11, 12, 13 as
                       1, 2, 3, for the second order of a pair, whose first is in the row before
4       limit_price    NaN for none
5       stop_price     NaN for none
6       time_in_force  :class:`~openfingym.trading.orders.TimeInForce`: 0 good till cancelled, 1 immediate or cancel
7       order_id       id of the open order to cancel or to replace. A cancel without one cancels all orders of the
                       symbol, or all orders of the account if the symbol is NaN too
======  =============  =========================================================================================

Codes are rounded to the nearest whole number. In a replacement, NaN leaves a quantity or price as it is. Cancels and
replacements come first, in the order of the rows, then new orders. In a table of an agent a price that the type of an
order does not use is ignored; an :class:`~openfingym.trading.orders.Order` must not have one. Of a pair
(:mod:`openfingym.trading.pairs`) one order cancels the other; its codes are outside of the space of tables, from which
policies sample.
"""

from __future__ import annotations

import math

import numpy as np

from openfingym.errors import UsageError
from openfingym.trading.actions import Decision
from openfingym.trading.compiled.layout import REQUEST, Floats
from openfingym.trading.executor import Executor
from openfingym.trading.orders import (
    MOST,
    Order,
    OrderType,
    Side,
    TimeInForce,
    malformed_order,
    order_number,
    replaced,
    well_formed,
)
from openfingym.trading.pairs import mates, place_of

COLUMNS = ("symbol", "side", "quantity", "type", "limit_price", "stop_price", "time_in_force", "order_id")
CANCEL, REPLACE = 4, 5
"""Codes in the column ``type`` of requests that are no new orders."""
SECOND = 10
"""Added to the code of the type of a pair's second order."""
_NAN = math.nan


def table(decision: Decision) -> Floats:
    """The cancels, replacements and orders of a decision as a table, float64[K, 8]; its weights are left out.

    Raises:
        UsageError: an order has a client id, for which a table has no place.
    """
    orders = [well_formed(order) for order in decision.orders]
    if any(order is not None and order.client_id is not None for order in orders):
        raise UsageError(
            "the compiled engine knows no client ids; leave them out, or take the readable one (engine='python')"
        )
    rows: list[tuple[float, ...]] = [
        (_NAN, _NAN, _NAN, CANCEL, _NAN, _NAN, _NAN, _reference(order_id)) for order_id in decision.cancels
    ]
    for change in decision.replaces:
        quantity, limit, stop = (
            replaced(_NAN, value) for value in (change.quantity, change.limit_price, change.stop_price)
        )
        rows.append((_NAN, _NAN, quantity, REPLACE, limit, stop, _NAN, _reference(change.order_id)))
    pairs = mates(orders)
    for place, order in enumerate(orders):
        other = pairs.get(place, -1)
        if order is not None and order.oco is not None and other < 0:
            # The second order of a pair behind an empty row: such a pair is refused, as one order alone is.
            rows += [(_NAN,) * REQUEST, _row(order, SECOND)]
        elif other < 0 or place < other:
            rows.append(_row(order))
            if other >= 0:
                rows.append(_row(orders[other], SECOND))
    return np.array(rows, dtype=np.float64).reshape(len(rows), REQUEST)


def ask(executor: Executor, rows: Floats) -> None:
    """Hand the requests of an agent's table, float64[K, 8], to an executor.

    It does what the compiled core does with the table (:func:`openfingym.trading.compiled.simulator.ask`).
    """
    new: list[Order] = []
    before = _NAN
    """The code in the row before; NaN where that row is the second order of a pair."""
    for place, (symbol, side, quantity, kind, limit, stop, time_in_force, order_id) in enumerate(rows.tolist()):
        code = _nearest(kind)
        second = SECOND <= code <= SECOND + OrderType.STOP_LIMIT
        if code == CANCEL and order_id > 0.0:
            executor.cancel(_id(order_id))
        elif code == CANCEL:
            ended = {0}
            for order in executor.open_orders():
                if order.id not in ended and (math.isnan(symbol) or order.symbol == _nearest(symbol)):
                    executor.cancel(order.id)
                    ended.add(order.other)  # an order of a pair ends with the other
        elif code == REPLACE:
            reference = _id(order_id) if order_id > 0.0 else 0
            executor.replace(reference, quantity=_given(quantity), limit_price=_given(limit), stop_price=_given(stop))
        elif not math.isnan(code):
            name = None
            if second:
                code, name = code - SECOND, str(place)
                if before in {0.0, 1.0, 2.0, 3.0}:
                    new[-1] = new[-1]._replace(oco=name)
            asked = _order(symbol, side, quantity, code, limit, stop, _nearest(time_in_force))
            new.append(asked if name is None else asked._replace(oco=name))
        before = _NAN if second else code
    if new:
        executor.submit(new)


def _row(order: Order | None, add: int = 0) -> tuple[float, ...]:
    """The row of a well-formed order, with a number added to its code; None stands for one that was not well-formed."""
    if order is None:
        # A code that is no type, so that the core refuses it as malformed, as the readable simulator does.
        return _NAN, _NAN, _NAN, -1.0, _NAN, _NAN, _NAN, _NAN
    asked = order._replace(symbol=place_of(order), type=order.type + add)  # type: ignore[arg-type]  # a code
    return (*(float(value) for value in asked[:7]), _NAN)


def _order(
    symbol: float, side: float, quantity: float, kind: float, limit: float, stop: float, time_in_force: float
) -> Order:
    """The order of a row; where one of its codes is none, an order without a type, which is refused as malformed."""
    if not (side != 0.0 and not math.isnan(side) and kind in {0.0, 1.0, 2.0, 3.0} and time_in_force in {0.0, 1.0}):
        return malformed_order()
    type_ = OrderType(int(kind))
    place = int(_nearest(symbol)) if abs(symbol) < MOST else -1
    limit = limit if type_ in {OrderType.LIMIT, OrderType.STOP_LIMIT} else _NAN
    stop = stop if type_ in {OrderType.STOP, OrderType.STOP_LIMIT} else _NAN
    return Order(
        place, Side.BUY if side > 0.0 else Side.SELL, quantity, type_, limit, stop, TimeInForce(int(time_in_force))
    )


def _nearest(code: float) -> float:
    return float(math.floor(code + 0.5)) if abs(code) < MOST else code


def _id(order_id: float) -> int:
    return int(_nearest(order_id)) if order_id < MOST else 0


def _given(value: float) -> float | None:
    return None if math.isnan(value) else value


def _reference(order_id: object) -> float:
    """The id of an order above 0; for anything that is none, a number that no order has."""
    # Not 0: a cancel without an id cancels all orders.
    return float(order_number(order_id) or MOST)
