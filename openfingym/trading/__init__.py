"""Trading: orders, a simulated market, and what a policy achieved in it.

    from openfingym.trading import MarketRules, Order, Side, Simulator

docs/trading.md says how orders are filled. Importing this package does nothing but make the names
below available; each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.trading.executor import Account, Executor, OpenOrder
    from openfingym.trading.market import MarketRules
    from openfingym.trading.orders import Event, EventKind, Order, OrderType, Reason, Side, TimeInForce
    from openfingym.trading.session import Session
    from openfingym.trading.simulator import Simulator

__all__ = [
    "Account",
    "Event",
    "EventKind",
    "Executor",
    "MarketRules",
    "OpenOrder",
    "Order",
    "OrderType",
    "Reason",
    "Session",
    "Side",
    "Simulator",
    "TimeInForce",
]

_HOMES = {
    "Account": "executor",
    "Event": "orders",
    "EventKind": "orders",
    "Executor": "executor",
    "MarketRules": "market",
    "OpenOrder": "executor",
    "Order": "orders",
    "OrderType": "orders",
    "Reason": "orders",
    "Session": "session",
    "Side": "orders",
    "Simulator": "simulator",
    "TimeInForce": "orders",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
