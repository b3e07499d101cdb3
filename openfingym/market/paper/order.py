"""An order on paper, with its place in the queue of a live market."""

from __future__ import annotations

import math

from openfingym.trading.orders import Order, OrderType
from openfingym.trading.portfolio import STOPPED, WorkingOrder


class PaperOrder(WorkingOrder):
    """An order on paper at a live market.

    Args:
        id: number of the order in its account.
        order: the order as it was submitted.
    """

    __slots__ = ("ahead", "since")

    def __init__(self, id: int, order: Order) -> None:  # noqa: A002  # the field's own name
        super().__init__(id, order)
        self.ahead = math.inf
        """Quantity at its limit that trades before it; infinite where that is not known."""
        self.since = 0
        """Time after which trades may fill it, in nanoseconds since the epoch by the venue's clock."""

    @property
    def resting(self) -> bool:
        """Whether it waits at its limit."""
        return self.limited and (self.triggered or self.kind is OrderType.LIMIT)

    @property
    def taking(self) -> bool:
        """Whether it takes at any price."""
        return not self.limited and (self.triggered or self.kind is OrderType.MARKET)

    def reached(self, price: float) -> bool:
        """Whether a trade at a price triggers it."""
        return self.kind in STOPPED and not self.triggered and self.d * price >= self.d * self.stop
