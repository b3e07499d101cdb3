"""The one interface to whatever executes orders: a simulator here, a live market or a broker elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from openfingym.trading.orders import Event, Order, OrderType, Side, TimeInForce


class Account(NamedTuple):
    """An account, all values in cash; positions are valued at the last price known of each symbol."""

    cash: float
    """Cash of the account, proceeds of short sales included."""
    equity: float
    """Cash plus the value of positions, shorts counting against it."""
    free_cash: float
    """What may still be spent: cash less the collateral of shorts and what open orders hold."""
    long: float
    """Market value of long positions."""
    short: float
    """Market value of short positions, positive."""


class OpenOrder(NamedTuple):
    """An order that may still trade."""

    id: int
    """Number of the order in its account, from 1."""
    symbol: int
    """Position of the symbol among the episode's."""
    side: Side
    type: OrderType
    time_in_force: TimeInForce
    remaining: float
    """Quantity not yet filled."""
    limit_price: float
    """Limit in cash a unit; NaN for a type without one."""
    stop_price: float
    """Stop in cash a unit; NaN for a type without one."""
    triggered: bool
    """Whether a stop order has become a market order, or a stop-limit order a limit order."""
    client_id: str | None
    """The caller's own id of the order, if it has one."""
    other: int = 0
    """Number of the other order of its pair, of which one cancels the other; 0 for none."""


class Executor(Protocol):
    """Takes orders for one account. No method raises for what an order asks; refusals are events."""

    def submit(self, orders: Sequence[Order]) -> list[int]:
        """Submit a batch in order; returns each order's id, 0 where it was refused at once."""

    def cancel(self, order_id: int) -> None:
        """Cancel what is left of an order."""

    def replace(
        self,
        order_id: int,
        *,
        quantity: float | None = None,
        limit_price: float | None = None,
        stop_price: float | None = None,
    ) -> None:
        """Change an open order, all or nothing; what is None stays.

        The order keeps its id. It keeps its place before later orders only if nothing but its quantity changes,
        downwards.
        """

    def account(self) -> Account:
        """The account now."""

    def positions(self) -> tuple[float, ...]:
        """Units held of each symbol, negative where short."""

    def open_orders(self) -> tuple[OpenOrder, ...]:
        """Open orders, in the order in which they trade."""

    def events(self) -> list[Event]:
        """The events since the last call, in order."""
