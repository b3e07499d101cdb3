"""The admission of orders to a broker: an order that is known to be refused is refused here, with the same reasons as
in the simulator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from openfingym.market.brokers.broker import Broker, rounded_price, rounded_quantity
from openfingym.market.brokers.mirror import Mirror
from openfingym.market.brokers.reports import ZERO, Instrument, Submitted
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.trading.orders import Order, OrderType, Reason, Side

_LIMITED = (OrderType.LIMIT, OrderType.STOP_LIMIT)
_STOPPED = (OrderType.STOP, OrderType.STOP_LIMIT)

Price = Callable[[str], float]
"""The last price of a symbol; NaN while there is none."""


def exact(value: float) -> Decimal:
    """The decimal that a float is written as: 0.1 is a tenth, and not the binary fraction next to it."""
    return Decimal(repr(float(value)))


def prepared(order: Order, item: Instrument, price: float, client_id: str, time: int) -> Submitted | Reason:
    """An order in the venue's increments, or why it cannot be one.

    Args:
        order: the order as the agent wants it, with fields that are well formed.
        item: the symbol as its venue trades it.
        price: last price of the symbol; NaN where there is none.
        client_id: our id of the order.
        time: when the order is made, in nanoseconds since the epoch.
    """
    if not 0.0 < order.quantity < math.inf:
        return Reason.BAD_QUANTITY
    prices: list[Decimal | None] = []
    for value, taken in ((order.limit_price, order.type in _LIMITED), (order.stop_price, order.type in _STOPPED)):
        # A price must be there exactly where the type of the order takes one.
        if taken != (not math.isnan(value)) or (taken and not 0.0 < value < math.inf):
            return Reason.BAD_PRICE
        prices.append(rounded_price(exact(value), order.side, item) if taken else None)
    limit, stop = prices
    if limit == 0 or stop == 0:
        return Reason.OFF_TICK
    # Without a last price only a limit order has a worst price of its own to be held for.
    if not 0.0 < price < math.inf and order.type is not OrderType.LIMIT:
        return Reason.VENUE_AWAY
    quantity = rounded_quantity(exact(order.quantity), item)
    if not quantity:
        return Reason.ODD_LOT
    reference = exact(price) if 0.0 < price < math.inf else limit or ZERO
    if quantity < item.least_quantity or quantity * (limit or reference) < item.least_value:
        return Reason.BAD_QUANTITY
    return Submitted(
        client_id,
        item.symbol,
        order.side,
        quantity,
        order.type,
        order.time_in_force,
        limit,
        stop,
        reference,
        time,
        order.client_id,
    )


def refusal(mirror: Mirror, broker: Broker, order: Submitted, price: Price, old: TrackedOrder | None) -> Reason:
    """Why the account cannot carry an order in the worst case, or NONE.

    Args:
        mirror: the mirror of the account.
        broker: the broker, which may let units be sold that are not held.
        order: the order as it would be sent.
        price: gives the last price of a symbol.
        old: the order that it replaces; None for a new one.
    """
    freed = old.remaining if old is not None else ZERO
    # The worst case is that all open orders fill. A replacement may fill where the old order does not, so what the old
    # one holds is freed, and counted once.
    exposure = mirror.exposure(order.symbol)
    if order.side is Side.BUY:
        opening = min(max(exposure.most - freed + order.quantity, ZERO), order.quantity)
        free = mirror.cash - mirror.held - short_value(mirror, price)
        if old is not None:
            free += freed * old.worst_price(mirror.collar)
        worst = TrackedOrder(0, order, ours=True).worst_price(mirror.collar)
        return Reason.INSUFFICIENT_CASH if opening * worst > free else Reason.NONE
    least = exposure.least + freed - order.quantity
    if least >= 0:
        return Reason.NONE
    if not broker.shorts:
        return Reason.SHORT_CAP
    shorts = max(-least, ZERO) * order.reference
    for symbol in mirror.instruments:
        if symbol != order.symbol:
            shorts += max(-mirror.exposure(symbol).least, ZERO) * _known(price(symbol))
    return Reason.SHORT_CAP if shorts > equity(mirror, price) else Reason.NONE


def short_value(mirror: Mirror, price: Price) -> Decimal:
    """The value of short positions, a positive number."""
    return sum(
        (-held * _known(price(symbol)) for symbol in mirror.instruments if (held := mirror.position(symbol)) < 0), ZERO
    )


def equity(mirror: Mirror, price: Price) -> Decimal:
    """Cash and the value of all positions; one without a price counts as nothing."""
    return sum((mirror.position(symbol) * _known(price(symbol)) for symbol in mirror.instruments), mirror.cash)


def _known(price: float) -> Decimal:
    return exact(price) if math.isfinite(price) else ZERO
