"""The events that an agent sees, made of what has changed in a mirror."""

from __future__ import annotations

import math
from collections.abc import Mapping

from openfingym.market.brokers.broker import BrokerRefusal
from openfingym.market.brokers.changes import Change, Drift
from openfingym.market.brokers.mirror import Mirror
from openfingym.market.brokers.reports import OrderState
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.commands import Tell
from openfingym.trading.orders import MOST, Event, EventKind, Order, Reason, TimeInForce


class Events:
    """Events of one account, until they are taken."""

    def __init__(self, mirror: Mirror, index: Mapping[str, int]) -> None:
        """No events yet.

        Args:
            mirror: the mirror of the account.
            index: number of each symbol in the episode, by its name.
        """
        self._mirror, self._index = mirror, index
        self._events: list[Event] = []

    def taken(self) -> list[Event]:
        """The events since the last call, in order."""
        events, self._events = self._events, []
        return events

    def add(
        self,
        kind: EventKind,
        row: int,
        number: int,
        symbol: int,
        side: int,
        quantity: float,
        price: float = math.nan,
        fee: float = 0.0,
        reason: Reason = Reason.NONE,
        client_id: str | None = None,
        text: str = "",
    ) -> None:
        """Add an event; its arguments are the fields of :class:`~openfingym.trading.orders.Event`."""
        self._events.append(Event(kind, row, number, symbol, side, quantity, price, fee, 0.0, reason, client_id, text))

    def rejected(self, row: int, order: Order, reason: Reason, number: int = 0, text: str = "") -> int:
        """Add the refusal of an order; return 0, which is no order's number."""
        symbol = order.symbol if abs(order.symbol) < MOST else -1
        kind = EventKind.REJECTED
        self.add(
            kind, row, number, symbol, order.side, order.quantity, reason=reason, client_id=order.client_id, text=text
        )
        return 0

    def refused(self, row: int, order: TrackedOrder, refusal: BrokerRefusal) -> None:
        """Add that the venue refuses to cancel an order."""
        index, kind = self._index.get(order.asked.symbol, -1), EventKind.REJECTED
        self.add(kind, row, order.number, index, order.asked.side, math.nan, reason=refusal.reason, text=refusal.text)

    def take_over(self, row: int) -> list[Tell]:
        """Turn what has changed in the mirror into events, and return messages on what concerns no order.

        Args:
            row: number of the bar at which it is noted.
        """
        changes = self._mirror.changes
        messages = []
        for change in changes:
            if isinstance(change, Drift):
                what = "taken over" if change.adopted else "kept, unless the account says so again"
                text = f"{change.asset}: the account states {change.stated}, here are {change.local}; {what}"
                messages.append(Tell("drift", "", text))
            else:
                self._fill(change, row)
                self._state(change, row)
        changes.clear()
        return messages

    def _tell(self, kind: EventKind, order: TrackedOrder, row: int, reason: Reason = Reason.NONE) -> None:
        asked = order.asked
        left = max(float(order.quantity - order.filled), 0.0)
        self.add(
            kind, row, order.number, self._index.get(asked.symbol, -1), asked.side, left,
            reason=reason, client_id=asked.label, text=order.text if kind is EventKind.REJECTED else "",
        )  # fmt: skip

    def _fill(self, change: Change, row: int) -> None:
        order = change.order
        if not change.filled and not change.cost:
            return
        item = self._mirror.instruments[order.asked.symbol]
        # A fill that was taken back or corrected has no price of its own: the order's average stands for it.
        kind, price = EventKind.ADJUSTED, order.cost / order.filled if order.filled else None
        if change.filled > 0:
            kind, price = EventKind.FILLED, change.cost / change.filled
        # In cash: a fee that was taken in units is valued at the price of the fill.
        fee = change.fees.get(item.quote, 0) + change.fees.get(item.base, 0) * (price or 0)
        self.add(
            kind, row, order.number, self._index.get(item.symbol, -1), order.asked.side, float(change.filled),
            math.nan if price is None else float(price), float(fee), client_id=order.asked.label,
        )  # fmt: skip

    def _state(self, change: Change, row: int) -> None:
        """Turn the change of an order's state into events of the chain of replacements that it belongs to, which is one
        order to the agent.
        """
        order, before, after = change.order, change.before, change.order.state
        if before is after:
            return
        old = self._mirror.orders.get(order.asked.replaces)
        if after in {OrderState.REJECTED, OrderState.ABSENT}:
            self._tell(EventKind.REJECTED, order, row, order.reason or Reason.VENUE_AWAY)
            if old is not None and old.state in {OrderState.CANCELLED, OrderState.EXPIRED, OrderState.REPLACED}:
                self._tell(EventKind.CANCELLED, old, row)
            return
        if old is not None and before < OrderState.OPEN <= after:
            self._tell(EventKind.REPLACED, order, row)
        # The end of an order that another one has replaced is not the end of what the agent asked for.
        if after in {OrderState.CANCELLED, OrderState.EXPIRED} and self._mirror.current[order.number] is order:
            unfilled = order.asked.time_in_force is TimeInForce.IOC
            self._tell(EventKind.CANCELLED, order, row, Reason.UNFILLED if unfilled else Reason.NONE)
