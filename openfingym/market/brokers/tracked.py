"""One order of an account, as the sum of all reports of it.

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
    """An order of the account: ours, or one that somebody else placed.

    Args:
        number: number of the order here; a replacement has that of the order it replaces.
        order: the order as it was asked for.
        ours: whether we placed it, or an earlier process of the same journal.
    """

    def __init__(self, number: int, order: Submitted, *, ours: bool) -> None:
        self.number = number
        self.asked = order
        self.ours = ours
        self.order_id = ""
        """The broker's id; empty while it is not known."""
        self.state = OrderState.SUBMITTED
        self.reason = Reason.NONE
        """Why it was rejected, if it was."""
        self.text = ""
        """Why, in the venue's words; empty where it has none."""
        self.quantity = order.quantity
        self.executed, self.executed_cost = ZERO, ZERO
        """Quantity and value of the executions that are known."""
        self.fees: dict[str, Decimal] = defaultdict(Decimal)
        """Fees by asset."""
        self.reported = ZERO
        """The largest filled quantity that the broker has stated."""
        self.reported_cost: Decimal | None = None
        """Its value, where that was stated."""
        self.busted = False
        """Whether an execution was taken back."""
        self.version = 0
        """Grows with everything that is learned of the order."""
        self._slots: dict[str, _Slot] = {}  # executions by a name that is the same in all sources
        self._slot_of: dict[tuple[ReportSource, str], str] = {}  # the name of each execution, by source and id
        self._busts: set[tuple[ReportSource, str]] = set()  # sources and ids of executions that were taken back

    @property
    def filled(self) -> Decimal:
        """How much of it is filled. A report of more than the executions known counts as a fill until these come. Once
        an execution was taken back, only executions count: nobody can tell whether a report is from before or after.
        """
        return self.executed if self.busted else max(self.executed, self.reported)

    @property
    def cost(self) -> Decimal:
        """The value of what is filled. A fill without its execution is valued as the broker states it, or else at the
        limit or the last price.
        """
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
        """Whether it may still trade, as far as it is known."""
        return not self.state.final and self.state is not OrderState.ABSENT

    @property
    def unsettled(self) -> bool:
        """Whether its effect on the account is not known for certain yet."""
        return self.live or (self.gap and not self.busted)

    @property
    def remaining(self) -> Decimal:
        """The quantity that may still be filled."""
        return max(self.quantity - max(self.filled, self.reported), ZERO) if self.live else ZERO

    def worst_price(self, collar: Decimal) -> Decimal:
        """The highest price at which it is expected to trade: its limit, or a share above the last price.

        Args:
            collar: that share, for an order without a limit.
        """
        order = self.asked
        if order.type in _LIMITED and order.limit_price is not None:
            return order.limit_price
        return max(order.reference, order.stop_price or ZERO) * (1 + collar)

    def raise_to(self, state: OrderState, reason: Reason = Reason.NONE, text: str = "") -> None:
        """Take over a state if it is a later one: the ranks of states are their order in time."""
        if not self.state.final and state > self.state:
            self.state, self.reason = state, reason
            if state is not OrderState.ABSENT:  # of which only the answer to its request can tell
                self.text = text
            self.version += 1

    def report(self, report: OrderReport) -> None:
        """Merge the order as the broker states it."""
        self._name(report.order_id)
        if report.filled > self.reported:
            self.reported, self.reported_cost = report.filled, report.cost
            self.version += 1
        self.raise_to(report.state, report.reason, report.text)
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
        # Where sources agree on ids, it is the reversal of an execution that any of them has reported.
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
        """An order that is wholly filled is over, whatever state was reported."""
        if self.quantity and self.filled >= self.quantity:
            self.raise_to(OrderState.FILLED)

    def _count(self, name: str) -> None:
        """Bring the sums up to date with a slot: its execution may count, count otherwise, or count no longer."""
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
    """The reports of one execution by all sources. After a bust, another execution may have the same name: a source
    then gives two ids for it, so that comparing the numbers of ids and of busts says whether one of them counts.
    """

    __slots__ = ("busts", "counted", "known")

    def __init__(self) -> None:
        self.known: dict[tuple[ReportSource, str], BrokerExecution] = {}
        self.busts: set[tuple[ReportSource, str]] = set()
        self.counted: BrokerExecution | None = None

    def live(self) -> BrokerExecution | None:
        """The execution that counts, in the report of the source that is believed most; None where none counts."""
        if len(self.known) == 1 and not self.busts:
            return next(iter(self.known.values()))
        # A source may not have reported all ids or busts yet: the one that has reported most of each is right.
        ids, busts = Counter(source for source, _ in self.known), Counter(source for source, _ in self.busts)
        if max(ids.values()) <= max(busts.values(), default=0):
            return None
        gone = {name for _, name in self.busts}
        left = [key for key in self.known if key[1] not in gone] or list(self.known)
        return self.known[max(left)]
