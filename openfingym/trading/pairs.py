"""Pairs: a limit order and a stop on one position, of which one cancels the other.

Two orders of a batch with the same name in ``oco`` are a pair: a limit order and a stop or stop-limit order in the same
symbol, on the same side, of the same quantity, good till cancelled. Both stand or both are refused. They share the
quantity: what one fills, the other has less of, so that together they never trade more than was asked for, and what is
left of a position stays protected. They reserve once, the more of what each would. When one of them ends, for whatever
reason, so does the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from openfingym.trading.orders import MOST, Order, OrderType, TimeInForce
from openfingym.trading.portfolio import STOPPED


def mates(orders: Sequence[Order | None]) -> dict[int, int]:
    """The place of the other order of each pair, by place; orders that name a pair and are in none are left out.

    Args:
        orders: well-formed orders of a batch; None stands for one that was not well-formed.
    """
    places: dict[str, list[int]] = {}
    found: dict[int, int] = {}
    for place, order in enumerate(orders):
        if order is not None and order.oco is not None:
            places.setdefault(order.oco, []).append(place)
    for named in places.values():
        if len(named) == 2 and _fit(*(orders[place] for place in named)):  # type: ignore[arg-type]  # none is None
            first, second = named
            found |= {first: second, second: first}
    return found


def _fit(first: Order, second: Order) -> bool:
    """Whether two orders can be a pair."""
    limits = (first.type is OrderType.LIMIT) + (second.type is OrderType.LIMIT)
    stops = (first.type in STOPPED) + (second.type in STOPPED)
    return (
        limits == stops == 1
        and place_of(first) == place_of(second)
        and first.side is second.side
        and first.quantity == second.quantity
        and first.time_in_force is second.time_in_force is TimeInForce.GTC
    )


def place_of(order: Order) -> int:
    """The position of an order's symbol; -1 for one that no market has."""
    return order.symbol if abs(order.symbol) < MOST else -1
