"""Taking orders for an account: what any engine of our own does with them before a market sees them.

The simulator over bars and the paper engine over a live market share it, so that ids, client ids, refusals and
replacements are the same in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from openfingym.trading.actions import admissible
from openfingym.trading.admission import refusal
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import MOST, EventKind, Order, Reason, number, order_number, replaced, well_formed
from openfingym.trading.portfolio import Portfolio, WorkingOrder

_NAN = math.nan
_CANCELLED, _REJECTED, _NONE = EventKind.CANCELLED, EventKind.REJECTED, Reason.NONE


class OrderDesk(Portfolio):
    """An account that takes orders; an engine says what becomes of them."""

    def __init__(
        self,
        market: MarketRules,
        *,
        cash: float,
        closes: Sequence[float],
        volumes: Sequence[float] | None = None,
        row: int = 0,
    ) -> None:
        """Open an account; see :class:`~openfingym.trading.portfolio.Portfolio`."""
        super().__init__(market, cash=cash, closes=closes, volumes=volumes, row=row)
        self._next_id = 1
        # Accepted orders alone: one that was refused may be sent again under its client id.
        self._by_client: dict[str, tuple[int, Order]] = {}

    def submit(self, orders: Sequence[Order]) -> list[int]:
        """Submit a batch; see :class:`~openfingym.trading.executor.Executor`."""
        if len(orders) > self.market.max_orders_per_batch:
            self.record(_REJECTED, 0, -1, 0, float(len(orders)), Reason.TOO_MANY_ORDERS)
            return [0] * len(orders)
        return [self._submit(order) for order in orders]

    def _submit(self, order: Order) -> int:
        plain = well_formed(order)
        if plain is None:
            self.record(_REJECTED, 0, -1, 0, _NAN, Reason.MALFORMED)
            return 0
        working = self._working(self._next_id, plain)
        client, reason = working.client_id, _NONE
        if client is not None and client in self._by_client:
            known_id, known = self._by_client[client]
            # The same order with the same id is a repetition, as after an answer that was lost; it must not be placed
            # twice.
            if plain.same_as(known):
                return known_id
            reason = Reason.DUPLICATE_ID
        elif not 0 <= working.symbol < len(self.position):
            reason = Reason.UNKNOWN_SYMBOL
        else:
            reason = refusal(self, working) or self._closed_to(working)
        if reason:
            symbol = plain.symbol if abs(plain.symbol) < MOST else -1
            self.record(_REJECTED, 0, symbol, plain.side, plain.quantity, reason, client)
            return 0
        self._next_id += 1
        self.orders.append(working)
        if client is not None:
            self._by_client[client] = (working.id, plain)
        self._entered(working)
        return working.id

    def cancel(self, order_id: int) -> None:
        """Cancel what is left of an order."""
        place = self._find(order_id)
        if place >= 0:
            self.tell(_CANCELLED, self.orders.pop(place))

    def replace(
        self,
        order_id: int,
        *,
        quantity: float | None = None,
        limit_price: float | None = None,
        stop_price: float | None = None,
    ) -> None:
        """Change an open order, all or nothing; see :class:`~openfingym.trading.executor.Executor`."""
        place = self._find(order_id)
        if place < 0:
            return
        order = self.orders[place]
        wanted = Order(
            order.symbol,
            order.side,
            replaced(order.remaining, quantity),
            order.kind,
            replaced(order.limit, limit_price),
            replaced(order.stop, stop_price),
            order.time_in_force,
            order.client_id,
        )
        changed = self._working(order.id, wanted)
        changed.triggered = order.triggered
        # Taken out before it is judged, so that what the old order reserves is free for the new one.
        del self.orders[place]
        # A triggered order has no stop any more.
        reason = Reason.BAD_PRICE if order.triggered and stop_price is not None else refusal(self, changed)
        reason = reason or self._closed_to(changed)
        if reason:
            self.orders.insert(place, order)
            self.record(_REJECTED, order.id, order.symbol, order.side, wanted.quantity, reason, order.client_id)
            return
        # As at exchanges, an order keeps its place in time only if nothing but its quantity changes, downwards.
        keeps_place = changed.remaining <= order.remaining and (limit_price is None or changed.limit == order.limit)
        keeps_place = keeps_place and (stop_price is None or changed.stop == order.stop)
        self.orders.insert(place if keeps_place else len(self.orders), changed)
        self.tell(EventKind.REPLACED, changed)
        if keeps_place:
            self._stayed(order, changed)
        else:
            self._entered(changed)

    def _working(self, order_id: int, order: Order) -> WorkingOrder:
        """The open order that this engine makes of a submitted one."""
        return WorkingOrder(order_id, order)

    def _closed_to(self, order: WorkingOrder) -> Reason:  # noqa: ARG002
        """Why the market does not take an order that the account could carry, or NONE; may round its prices."""
        return _NONE

    def _entered(self, order: WorkingOrder) -> None:
        """Called when an order was put behind all open ones: a new order, or a replaced one that lost its place."""

    def _stayed(self, order: WorkingOrder, changed: WorkingOrder) -> None:
        """Called when a replaced order has kept its place."""

    def _admitted(self, weights: Sequence[float]) -> list[float] | None:
        """Target weights as floats; None where they are not admissible, which is recorded as a refusal."""
        wanted = [number(weight) for weight in weights]
        if self.bankrupt or not admissible(wanted, len(self.position), self.market.max_short):
            self.record(_REJECTED, 0, -1, 0, _NAN, Reason.BANKRUPT if self.bankrupt else Reason.BAD_WEIGHTS)
            return None
        return wanted

    def _value(self) -> None:
        """Value the account at the marks; at an equity of zero or below it is bankrupt, and its open orders end."""
        self.equity = self.cash + self.value()
        if self.equity <= 0.0:
            self.equity = 0.0
            self.bankrupt = True
            for order in self.orders:
                self.tell(_CANCELLED, order, Reason.BANKRUPT)
            self.orders = []

    def _find(self, order_id: int) -> int:
        """Place of an open order, or -1, which is recorded as a refusal."""
        # 0 for anything that is not a number, which no order has.
        reference = order_number(order_id)
        for place, order in enumerate(self.orders):
            if order.id == reference:
                return place
        known = 0 < reference < self._next_id
        self.record(
            _REJECTED, reference if known else 0, -1, 0, _NAN, Reason.NOT_OPEN if known else Reason.UNKNOWN_ORDER
        )
        return -1
