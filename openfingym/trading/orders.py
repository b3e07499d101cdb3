"""Orders, what may happen to them, and why they are refused.

Nothing here raises for what an agent asks for: a wrong order becomes an :class:`Event` with a
:class:`Reason`, which the agent sees in its next observation.
"""

from __future__ import annotations

import math
import numbers
import operator
from enum import IntEnum
from typing import Any, NamedTuple

MOST = 2**31
"""No symbol and no order of an account has a number as large as this."""


class Side(IntEnum):
    """Direction of an order; multiplies a quantity into a change of position."""

    BUY = 1
    SELL = -1


class OrderType(IntEnum):
    """The type of an order: when it may trade; :mod:`openfingym.trading.rules` says at what price."""

    MARKET = 0
    LIMIT = 1
    STOP = 2
    STOP_LIMIT = 3


class TimeInForce(IntEnum):
    """The time for which an order stays open."""

    GTC = 0
    """Good till cancelled: until it is filled or cancelled, or the episode ends."""
    IOC = 1
    """Immediate or cancel: at the open of its first bar, and what is not filled there is cancelled."""


class Reason(IntEnum):
    """Why something asked for did not happen."""

    NONE = 0
    UNKNOWN_SYMBOL = 1
    BAD_QUANTITY = 2
    """Not a finite number above zero."""
    ODD_LOT = 3
    """Not a multiple of the lot size."""
    BAD_PRICE = 4
    """A price the order type needs is not a finite number above zero, or one it does not take is given."""
    OFF_TICK = 5
    """A price is not a multiple of the tick size, or below one tick."""
    INSUFFICIENT_CASH = 6
    """The worst case, price with slippage and fees, costs more than the cash that is free."""
    SHORT_CAP = 7
    """Short positions would be worth more than the allowed multiple of equity."""
    TOO_MANY_ORDERS = 8
    """More orders than a step, or than an account, may have."""
    UNKNOWN_ORDER = 9
    """No order of that id was ever accepted."""
    NOT_OPEN = 10
    """The order was filled, cancelled or rejected before."""
    DUPLICATE_ID = 11
    """The client order id belongs to another order."""
    BAD_WEIGHTS = 12
    """Target weights are not finite, or their long or short side adds up to more than is allowed."""
    BANKRUPT = 13
    """Equity has reached zero; nothing is traded any more."""
    UNFILLED = 14
    """What was left of an immediate-or-cancel order."""
    EPISODE_OVER = 15
    MALFORMED = 16
    """Not of the form an order has."""
    CORPORATE_ACTION = 17
    """A reverse split ends all orders of its symbol."""
    VENUE_REFUSED = 18
    """A broker's venue refused, for a reason of its own."""
    VENUE_AWAY = 19
    """A broker's venue could not be reached, or did not take the order; nothing was traded."""
    NO_PRICE = 20
    """A live market has shown nothing yet to trade at."""
    STALE_PRICE = 21
    """What a live market shows is too old, misses updates, or is crossed."""
    HALTED = 22
    """Trading of the symbol is halted at a live market."""


class EventKind(IntEnum):
    """The kinds of events in an order's life."""

    REJECTED = 1
    """When it was submitted or, for what the account could not carry, when it was to be filled."""
    FILLED = 2
    """In whole or in part."""
    CANCELLED = 3
    REPLACED = 4
    TRIGGERED = 5
    """A stop order has become a market order, or a stop-limit order a limit order."""
    ADJUSTED = 6
    """A split or a dividend has changed its quantity or prices, or a broker's venue has taken back or corrected a
    fill: ``quantity`` is then by how much more is filled, below zero for less.
    """


class Order(NamedTuple):
    """An order as it is submitted.

    ``symbol`` is the position of the instrument among the episode's symbols. Prices that the type
    does not use stay NaN.
    """

    symbol: int
    side: Side
    quantity: float
    """Shares, coins or contracts; above zero."""
    type: OrderType = OrderType.MARKET
    limit_price: float = math.nan
    stop_price: float = math.nan
    time_in_force: TimeInForce = TimeInForce.GTC
    client_id: str | None = None
    """Chosen by the caller: submitting the same order with the same id a second time changes nothing."""

    def same_as(self, other: Order) -> bool:
        """Whether two orders ask for the same; a price that neither has is NaN in both."""
        return all(a == b or (a != a and b != b) for a, b in zip(self, other, strict=True))  # noqa: PLR0124


def well_formed(order: Order) -> Order | None:
    """The same order in plain integers and floats, or None if it has not the form of an order.

    Numbers of other kinds, as from NumPy, are converted; what is no number becomes NaN and is refused as one.
    """
    given: tuple[Any, ...] = order  # annotations do not bind agents
    try:
        symbol, side, quantity, kind, limit, stop, time_in_force, client = given
        if (
            type(order) is Order
            and type(symbol) is int
            and type(side) is Side
            and type(quantity) is float
            and type(kind) is OrderType
            and type(limit) is float
            and type(stop) is float
            and type(time_in_force) is TimeInForce
            and (client is None or type(client) is str)
        ):
            return order
        if client is not None and not isinstance(client, str):
            return None
        return Order(
            int(operator.index(symbol)),
            Side(side),
            number(quantity),
            OrderType(kind),
            number(limit),
            number(stop),
            TimeInForce(time_in_force),
            client,
        )
    except (TypeError, ValueError):
        return None


def number(value: object) -> float:
    """A real number as a float, anything else as NaN."""
    if not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def replaced(before: float, value: object) -> float:
    """What a replacement makes of a value: nothing new by None, and of what is no number minus infinity, which no
    market takes.
    """
    if value is None:
        return before
    wanted = number(value)
    return -math.inf if math.isnan(wanted) else wanted


def order_number(value: object) -> int:
    """The number of an order as an agent gives it; 0, which no order has, for what is none."""
    try:
        found = operator.index(value)  # type: ignore[arg-type]  # asked here
    except TypeError:
        return 0
    return found if 0 < found < MOST else 0


class Event(NamedTuple):
    """Something that happened, in the order in which it did."""

    kind: EventKind
    bar: int
    """Row of the bar: for a fill the bar it happened in, for a submission the last bar seen."""
    order_id: int
    """0 for an order that was never accepted, and for target weights."""
    symbol: int
    """-1 where there is none, or none below 2^31."""
    side: int
    """1 for a buy, -1 for a sell, 0 where there is none."""
    quantity: float
    price: float = math.nan
    """Price of a fill, slippage included."""
    fee: float = 0.0
    """Fees of a fill, in cash."""
    slippage: float = 0.0
    """What slippage cost beyond the price before it, in cash."""
    reason: Reason = Reason.NONE
    client_id: str | None = None
