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
from openfingym.trading.orders import EventKind, Order, Reason, number, order_number, replaced, well_formed
from openfingym.trading.pairs import mates, place_of
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
        asked = [well_formed(order) for order in orders]
        if len(asked) == 1 or not (pairs := mates(asked)):  # the usual case
            return [self._submit(order) for order in asked]
        ids = [0] * len(asked)
        for place, order in enumerate(asked):
            other = pairs.get(place)
            if other is None:
                ids[place] = self._submit(order)
            elif place < other:
                first, second = order, asked[other]
                assert first is not None
                assert second is not None
                ids[place], ids[other] = self._submit_pair(first, second)
        return ids

    def _submit(self, order: Order | None) -> int:
        if order is None:
            self.record(_REJECTED, 0, -1, 0, _NAN, Reason.MALFORMED)
            return 0
        if order.client_id is not None and (known := self._known(order)):
            return known
        if order.oco is not None:
            return self._refuse(order, Reason.BAD_PAIR)
        working = self._working(self._next_id, order)
        reason = self._objection(order, working)
        if reason:
            return self._refuse(order, reason)
        self._accept(order, working)
        self._entered(working)
        return working.id

    def _submit_pair(self, first: Order, second: Order) -> tuple[int, int]:
        """Take both orders of a pair, or neither; returns their ids, 0 where they are refused."""
        known = self._known(first), self._known(second)
        if all(known):
            return known
        pair = [self._working(self._next_id + place, order) for place, order in enumerate((first, second))]
        pair[0].other, pair[1].other = pair[1], pair[0]
        reason, other_reason = self._objection(first, pair[0]), Reason.PAIR_ENDED
        if not reason:
            # The second is judged beside the first, with which it shares what it reserves.
            self.orders.append(pair[0])
            twice = second.client_id is not None and second.client_id == first.client_id
            other_reason = Reason.DUPLICATE_ID if twice else self._objection(second, pair[1])
            self.orders.pop()
            reason = Reason.PAIR_ENDED if other_reason else _NONE
        if reason:
            return self._refuse(first, reason), self._refuse(second, other_reason)
        for order, working in zip((first, second), pair, strict=True):
            self._accept(order, working)
        self._entered(pair[0])
        if pair[1].other is not None:  # the first may have traded at once, and have ended the second
            self._entered(pair[1])
        return pair[0].id, pair[1].id

    def _known(self, order: Order) -> int:
        """The id of the same order, where it was accepted before with the same client id; 0 otherwise."""
        # As after an answer that was lost: it must not be placed twice.
        known_id, known = self._by_client.get(order.client_id or "", (0, order))
        return known_id if order.client_id is not None and order.same_as(known) else 0

    def _objection(self, order: Order, working: WorkingOrder) -> Reason:
        """Why an order is not taken, or NONE."""
        if order.client_id is not None and order.client_id in self._by_client:
            return Reason.DUPLICATE_ID
        if not 0 <= working.symbol < len(self.position):
            return Reason.UNKNOWN_SYMBOL
        return refusal(self, working) or self._closed_to(working)

    def _refuse(self, order: Order, reason: Reason) -> int:
        """Record that an order is refused; returns 0, which is no order's id."""
        self.record(_REJECTED, 0, place_of(order), order.side, order.quantity, reason, order.client_id)
        return 0

    def _accept(self, order: Order, working: WorkingOrder) -> None:
        self._next_id += 1
        self.orders.append(working)
        if order.client_id is not None:
            self._by_client[order.client_id] = (working.id, order)

    def cancel(self, order_id: int) -> None:
        """Cancel what is left of an order."""
        place = self._find(order_id)
        if place >= 0:
            order = self.orders.pop(place)
            self.tell(_CANCELLED, order)
            self.end_other(order)

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
        if order.other is not None:
            changed.other, changed.hold_cash, changed.hold_short = order.other, order.hold_cash, order.hold_short
        # Taken out before it is judged, so that what the old order reserves is free for the new one.
        del self.orders[place]
        if order.triggered and stop_price is not None:
            reason = Reason.BAD_PRICE  # a triggered order has no stop any more
        elif order.other is not None and wanted.quantity != order.remaining:
            reason = Reason.BAD_PAIR  # the quantity is that of both
        else:
            reason = refusal(self, changed) or self._closed_to(changed)
        if reason:
            self.orders.insert(place, order)
            self.record(_REJECTED, order.id, order.symbol, order.side, wanted.quantity, reason, order.client_id)
            return
        # As at exchanges, an order keeps its place in time only if nothing but its quantity changes, downwards.
        keeps_place = changed.remaining <= order.remaining and (limit_price is None or changed.limit == order.limit)
        keeps_place = keeps_place and (stop_price is None or changed.stop == order.stop)
        if changed.other is not None:
            changed.other.other = changed
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
