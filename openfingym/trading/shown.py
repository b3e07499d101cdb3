"""What an agent is shown of its account, as JSON values: the same offline and live."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from openfingym.trading.executor import Account, OpenOrder
from openfingym.trading.orders import Event, EventKind, Reason, Side


class Shown(Protocol):
    """What the part of an :class:`~openfingym.trading.executor.Executor` that is shown must offer."""

    def positions(self) -> tuple[float, ...]:
        """Units held of each symbol, negative where short."""

    def open_orders(self) -> tuple[OpenOrder, ...]:
        """Orders that may still trade."""


LISTED = 256
"""Most rejections, and most events that are neither rejections nor fills, that an observation lists; it lists all
fills."""


def shown_account(
    executor: Shown, account: Account, events: Sequence[Event], symbols: Sequence[str]
) -> dict[str, object]:
    """The account, its open orders, and what has become of orders since the last observation.

    Args:
        executor: the simulator or broker that executes the account's orders.
        account: values of the account now.
        events: events since the last observation, in order.
        symbols: names of the symbols, by position.

    Returns:
        JSON values by name; ``unlisted`` counts the events that were too many to be listed.
    """
    fills = [event for event in events if event.kind is EventKind.FILLED]
    rejections = [event for event in events if event.kind is EventKind.REJECTED]
    changes = [event for event in events if event.kind not in {EventKind.FILLED, EventKind.REJECTED}]
    return {
        "cash": account.cash,
        "free_cash": account.free_cash,
        "equity": account.equity,
        "positions": list(executor.positions()),
        "open_orders": _open_orders(executor, symbols),
        "fills": [_event_values(event, symbols) for event in fills],
        "rejections": [_event_values(event, symbols) for event in rejections[:LISTED]],
        "changes": [_event_values(event, symbols) for event in changes[:LISTED]],
        "unlisted": max(len(rejections) - LISTED, 0) + max(len(changes) - LISTED, 0),
    }


def _open_orders(executor: Shown, symbols: Sequence[str]) -> list[dict[str, object]]:
    return [
        {
            "order": order.id,
            "symbol": symbols[order.symbol],
            "side": _word(order.side.name),
            "type": _word(order.type.name),
            "time_in_force": _word(order.time_in_force.name),
            "remaining": order.remaining,
            "limit_price": _finite(order.limit_price),
            "stop_price": _finite(order.stop_price),
            "triggered": order.triggered,
            "client_id": order.client_id,
            **({"other_order": order.other} if order.other else {}),  # only a pair has it
        }
        for order in executor.open_orders()
    ]


def _event_values(event: Event, symbols: Sequence[str]) -> dict[str, object]:
    """An event as JSON values; what it does not have is None."""
    known = 0 <= event.symbol < len(symbols)
    values: dict[str, object] = {
        "event": _word(event.kind.name),
        "order": event.order_id or None,
        "client_id": event.client_id,
        "symbol": symbols[event.symbol] if known else None,
        "side": _word(Side(event.side).name) if event.side else None,
        "quantity": _finite(event.quantity),
        "reason": _word(event.reason.name) if event.reason is not Reason.NONE else None,
    }
    if event.text:  # which only a broker's venue has
        values["text"] = event.text
    if event.kind is EventKind.FILLED:
        values |= {"price": _finite(event.price), "fee": event.fee, "slippage": event.slippage}
    return values


def _word(name: str) -> str:
    return name.lower().replace("_", "-")


def _finite(value: float) -> float | None:
    """A number, or None for NaN and infinity, which JSON does not have."""
    return value if math.isfinite(value) else None
