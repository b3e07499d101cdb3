"""One order as everything told of it adds up.

An order is a set of executions, a set of busts, the largest filled quantity that was reported, and the highest state.
Each of these only grows, so that the sum is the same in whatever order reports come, and however often.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal

from openfingym.market.brokers.reports import (
    ZERO,
    BrokerExecution,
    Bust,
    OrderReport,
    OrderState,
    ReportSource,
    Submitted,
)
from openfingym.trading.orders import OrderType, Reason

_LIMITED = (OrderType.LIMIT, OrderType.STOP_LIMIT)


class TrackedOrder:
    """An order of the account: ours, or one that somebody else placed."""

    def __init__(self, number: int, order: Submitted, *, ours: bool) -> None:
        self.number = number
        """Its number here; an order keeps that of the order it replaces."""
        self.asked = order
        self.ours = ours
        self.order_id = ""
        """The broker's id; empty while it is not known."""
        self.state = OrderState.SUBMITTED
        self.reason = Reason.NONE
        self.quantity = order.quantity
        self.executed, self.executed_cost = ZERO, ZERO
        self.fees: dict[str, Decimal] = defaultdict(Decimal)
        """Fees by asset."""
        self.reported = ZERO
        """The largest filled quantity that the broker has stated."""
        self.reported_cost: Decimal | None = None
        self.busted = False
        self.version = 0
        """Grows with everything that is learned of it."""
        self._slots: dict[str, _Slot] = {}
        self._slot_of: dict[tuple[ReportSource, str], str] = {}
        self._busts: set[tuple[ReportSource, str]] = set()

    @property
    def filled(self) -> Decimal:
        """How much of it is filled. A report of more than the executions known counts as a fill until they come;
        once an execution was taken back, executions alone count, since what reports then mean is not known.
        """
        return self.executed if self.busted else max(self.executed, self.reported)

    @property
    def cost(self) -> Decimal:
        """The value of what is filled."""
        missing = self.filled - self.executed
        if not missing:
            return self.executed_cost
        if self.reported_cost is not None:
            return self.reported_cost
        return self.executed_cost + missing * (self.asked.limit_price or self.asked.reference)

    @property
    def gap(self) -> bool:
        """Whether an execution is missing."""
        return self.reported > self.executed

    @property
    def live(self) -> bool:
        """Whether it may still trade, as far as is known."""
        return not self.state.final and self.state is not OrderState.ABSENT

    @property
    def unsettled(self) -> bool:
        """Whether what it has done to the account is not yet known for certain."""
        return self.live or (self.gap and not self.busted)

    @property
    def remaining(self) -> Decimal:
        """What may still be filled."""
        return max(self.quantity - max(self.filled, self.reported), ZERO) if self.live else ZERO

    def worst_price(self, collar: Decimal) -> Decimal:
        """The highest price at which it is expected to trade: its limit, or by ``collar`` above the last price."""
        order = self.asked
        if order.type in _LIMITED and order.limit_price is not None:
            return order.limit_price
        return max(order.reference, order.stop_price or ZERO) * (1 + collar)

    def raise_to(self, state: OrderState, reason: Reason = Reason.NONE) -> None:
        """Take a state if it is a later one."""
        if not self.state.final and state > self.state:
            self.state, self.reason = state, reason
            self.version += 1

    def report(self, report: OrderReport) -> None:
        """Merge what the broker says of it."""
        self._name(report.order_id)
        if report.filled > self.reported:
            self.reported, self.reported_cost = report.filled, report.cost
            self.version += 1
        self.raise_to(report.state, report.reason)
        self._complete()

    def execution(self, execution: BrokerExecution) -> None:
        """Merge a fill."""
        self._name(execution.order_id)
        key = execution.source, execution.id
        if key not in self._slot_of:
            self.version += 1
            self._slot_of[key] = name = execution.slot or execution.id
            slot = self._slots.setdefault(name, _Slot())
            slot.known[key] = execution
            slot.busts.update(bust for bust in self._busts if bust[1] == execution.id)
            self._count(name)
        if execution.corrects:
            self.bust(Bust(execution.order_id, execution.corrects, execution.source))
        self.raise_to(OrderState.OPEN)
        self._complete()

    def bust(self, bust: Bust) -> None:
        """Merge the reversal of a fill, which may come before the fill."""
        key = bust.source, bust.id
        if key in self._busts:
            return
        self.version += 1
        self.busted = True
        self._busts.add(key)
        # Where sources agree on ids, the reversal is of the execution that any of them told.
        for source in ReportSource:
            slot = self._slot_of.get((source, bust.id))
            if slot is not None:
                self._slots[slot].busts.add(key)
                self._count(slot)

    def _name(self, order_id: str) -> None:
        if not self.order_id:
            self.order_id = order_id
            self.version += 1

    def _complete(self) -> None:
        if self.quantity and self.filled >= self.quantity:
            self.raise_to(OrderState.FILLED)

    def _count(self, name: str) -> None:
        """Count the execution of a slot, or no longer."""
        slot = self._slots[name]
        before, after = slot.counted, slot.live()
        if before is after:
            return
        slot.counted = after
        for execution, sign in ((before, -1), (after, 1)):
            if execution is not None:
                self.executed += sign * execution.quantity
                self.executed_cost += sign * execution.quantity * execution.price
                if execution.fee:
                    self.fees[execution.fee_asset] += sign * execution.fee


class _Slot:
    """What the sources say of one execution. After a bust the same slot may hold another one: a source then gives two
    ids, so that it is the numbers of ids and of busts that say whether one counts.
    """

    __slots__ = ("busts", "counted", "known")

    def __init__(self) -> None:
        self.known: dict[tuple[ReportSource, str], BrokerExecution] = {}
        self.busts: set[tuple[ReportSource, str]] = set()
        self.counted: BrokerExecution | None = None

    def live(self) -> BrokerExecution | None:
        """The execution that counts; of several reports of it the one that is believed most."""
        if len(self.known) == 1 and not self.busts:
            return next(iter(self.known.values()))
        ids, busts = Counter(source for source, _ in self.known), Counter(source for source, _ in self.busts)
        if max(ids.values()) <= max(busts.values(), default=0):
            return None
        gone = {name for _, name in self.busts}
        left = [key for key in self.known if key[1] not in gone] or list(self.known)
        return self.known[max(left)]
