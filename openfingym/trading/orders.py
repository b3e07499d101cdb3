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
"""Every position of a symbol and every id of an order is below this; a larger number is refused as unknown."""


class Side(IntEnum):
    """Direction of an order; multiplies a quantity into a change of position."""

    BUY = 1
    SELL = -1


class OrderType(IntEnum):
    """The type of an order: when it may trade; :mod:`openfingym.trading.rules` says at what price."""

    # The engines rely on this order: the types with a stop are those with ``kind >= STOP``.
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
    """Why a request was refused, or why an order ended without being filled."""

    NONE = 0
    """The event is no refusal."""
    UNKNOWN_SYMBOL = 1
    """The market has no symbol at this position."""
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
    """The request came after the end of the episode."""
    MALFORMED = 16
    """The request does not have the form of an order."""
    CORPORATE_ACTION = 17
    """A split or a dividend ended the order: a reverse split, or a price that would have fallen to zero."""
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
    BAD_PAIR = 23
    """Orders that name a pair are none, or the market takes no pairs; see :mod:`openfingym.trading.pairs`."""
    PAIR_ENDED = 24
    """The other order of the pair was filled, refused or cancelled."""


class EventKind(IntEnum):
    """The kinds of events in an order's life."""

    REJECTED = 1
    """An order was refused when it was submitted or, where the account could not carry it, when it was to be filled."""
    FILLED = 2
    """An order was filled, in whole or in part."""
    CANCELLED = 3
    """What was left of an order has ended, by request or by a rule of the market."""
    REPLACED = 4
    """The quantity or the prices of an open order were changed by request."""
    TRIGGERED = 5
    """A stop order has become a market order, or a stop-limit order a limit order."""
    ADJUSTED = 6
    """A split or a dividend has changed its quantity or prices, or a partial fill of the other order of its pair has
    left it as much less; or a broker's venue has taken back or corrected a fill: ``quantity`` is then by how much more
    is filled, below zero for less.
    """


class Order(NamedTuple):
    """An order as it is submitted.

    ``symbol`` is the position of the instrument among the episode's symbols. Prices that the type
    does not use stay NaN.
    """

    symbol: int
    side: Side
    quantity: float
    """Shares, coins or contracts to trade; above zero."""
    type: OrderType = OrderType.MARKET
    limit_price: float = math.nan
    stop_price: float = math.nan
    time_in_force: TimeInForce = TimeInForce.GTC
    client_id: str | None = None
    """An id that the caller may choose: submitting the same order with the same id a second time changes nothing."""
    oco: str | None = None
    """A name that two orders of a batch share which are a pair, of which one cancels the other; see
    :mod:`openfingym.trading.pairs`.
    """

    def same_as(self, other: Order) -> bool:
        """Whether two orders ask for the same; a price that neither has is NaN in both."""
        return all(a == b or (a != a and b != b) for a, b in zip(self, other, strict=True))  # noqa: PLR0124


def well_formed(order: Order) -> Order | None:
    """The same order in plain integers and floats, or None if it does not have the form of an order.

    Numbers of other kinds, as from NumPy, are converted; a quantity or a price that is not a number becomes NaN, and is
    refused as such.
    """
    fields: tuple[Any, ...] = order  # annotations do not bind agents
    try:
        symbol, side, quantity, kind, limit, stop, time_in_force, client, pair = fields
        # The usual case: nothing to convert. Types are compared exactly, since a bool is also an int and a float64 of
        # NumPy also a float, and both are to be converted.
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
            and (pair is None or type(pair) is str)
        ):
            return order
        if not all(name is None or isinstance(name, str) for name in (client, pair)):
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
            pair,
        )
    except (TypeError, ValueError):
        return None


def malformed_order() -> Order:
    """An order without a type, which every market refuses as malformed; it stands for what cannot be an order."""
    return Order(-1, Side.BUY, math.nan, None)  # type: ignore[arg-type]  # as it is meant


def number(value: object) -> float:
    """A real number as a float, anything else as NaN."""
    if not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        # A whole number or a fraction beyond float64: infinite, so that every check refuses it.
        return math.inf


def replaced(before: float, value: object) -> float:
    """A quantity or a price of an open order after a replacement.

    Args:
        before: the order's quantity or price before the replacement.
        value: what the replacement asks for; None leaves ``before`` as it is.

    Returns:
        The value asked for; minus infinity, which every market refuses, where it is not a number.
    """
    if value is None:
        return before
    wanted = number(value)
    # Not NaN: that stands for a price which the order's type does not have, and would pass as one.
    return -math.inf if math.isnan(wanted) else wanted


def order_number(value: object) -> int:
    """The id of an order as an integer; 0, which no order has, for anything that cannot be the id of one."""
    try:
        order_id = int(operator.index(value))  # type: ignore[arg-type]  # asked here; a bool is one, and becomes 1
    except TypeError:
        return 0
    return order_id if 0 < order_id < MOST else 0


class Event(NamedTuple):
    """Something that happened to an order, or to a request for one."""

    kind: EventKind
    bar: int
    """Row of the bar: for a fill the bar it happened in, for a submission the last bar seen."""
    order_id: int
    """Id of the order; 0 for an order that was never accepted, and for target weights."""
    symbol: int
    """Position of the symbol among the episode's; -1 where the request names none, or none below 2^31."""
    side: int
    """1 for a buy, -1 for a sell, 0 where there is none."""
    quantity: float
    """Units filled by a fill; of any other event, the units that are left of the order, or were asked for."""
    price: float = math.nan
    """Price of a fill, slippage included; NaN for any other event."""
    fee: float = 0.0
    """Fees of a fill, in cash."""
    slippage: float = 0.0
    """Cash that slippage cost in a fill: its quantity times the distance from the price before slippage."""
    reason: Reason = Reason.NONE
    """Why a request was refused or an order ended; ``NONE`` where there is nothing to explain."""
    client_id: str | None = None
    """The caller's own id of the order, if it has one."""
    text: str = ""
    """Why a broker's venue refused, in its own words; empty where it did not, or has none."""
