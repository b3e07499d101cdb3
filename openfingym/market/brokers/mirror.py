"""The local mirror of a broker's account: it answers at once from what is known, in whatever order messages come.

The effect of orders is a sum over :class:`~openfingym.market.brokers.tracked.TrackedOrder`, and a holding is a base
plus that sum. A statement of the account can only move the base, and only where nothing else can explain the
difference: so it never undoes a confirmed fill.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple, Protocol

from openfingym.market.brokers.changes import Change, Drift
from openfingym.market.brokers.reports import (
    ZERO,
    Absent,
    AccountReport,
    Adopted,
    BrokerExecution,
    Bust,
    Instrument,
    OrderRefused,
    OrderReport,
    OrderState,
    Report,
    Submitted,
    Unanswered,
)
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.commands import Instant
from openfingym.market.ticks import SECOND


class _Before(NamedTuple):
    """An order as it was before a merge."""

    version: int
    state: OrderState
    filled: Decimal
    cost: Decimal
    fees: dict[str, Decimal]


class Exposure(NamedTuple):
    """The least and the most that a position may become."""

    least: Decimal
    """Units if all open sells fill, orders without an answer included."""
    most: Decimal
    """Units if all open buys fill."""


class Keeper(Protocol):
    """Keeps reports over a restart, as :class:`~openfingym.market.brokers.journal.Journal` does."""

    def keep(self, report: Report) -> None:
        """Keep a report.

        Raises:
            StoreError: it cannot be kept.
        """


class Mirror:
    """An account as far as it is known. It never asks for anything; the reconciler does."""

    def __init__(
        self,
        instruments: Iterable[Instrument],
        *,
        cash: str,
        fee_assets: Iterable[str] = (),
        grace_s: float = 10.0,
        collar: Decimal = Decimal("0.05"),
        keeper: Keeper | None = None,
    ) -> None:
        """A mirror of an account of which nothing is known yet.

        Args:
            instruments: the symbols that are traded; orders of other symbols are ignored.
            cash: the asset in which the account is kept, such as ``USD``.
            fee_assets: assets in which any order may pay its fee, such as the venue's own coin.
            grace_s: seconds by which what the account states may lag its fills.
            collar: share of the price by which a market order may trade worse than the last price, at the worst.
            keeper: keeps every report that changes something, such as a journal; None for nothing.
        """
        self.instruments = {item.symbol: item for item in instruments}
        self.cash_asset = cash
        self._fee_assets = frozenset(fee_assets)
        self.orders: dict[str, TrackedOrder] = {}
        """All orders by client order id."""
        self.by_id: dict[str, TrackedOrder] = {}
        """All orders the broker has given an id."""
        self.live: dict[str, TrackedOrder] = {}
        """Orders that may still trade, by client order id, in the order of submission."""
        self.gaps: dict[str, TrackedOrder] = {}
        """Orders of which an execution is missing, by client order id."""
        self.current: dict[int, TrackedOrder] = {}
        """By number, the last order of a chain of replacements."""
        self.parked: dict[str, list[BrokerExecution | Bust]] = {}
        """Fills, and reversals of fills, of orders that are not known yet, by the broker's id of the order."""
        self.known: set[str] = set()
        """Assets of which the account has stated a holding."""
        self.changes: list[Change | Drift] = []
        """What has changed; the caller reads it and clears the list."""
        self.last_execution = 0
        """Time of the last execution by the venue's clock, in nanoseconds since the epoch; 0 without one."""
        self._holdings: dict[str, Decimal] = defaultdict(Decimal)  # units by asset: base and sum in one number
        self._units: dict[str, Decimal] = defaultdict(Decimal)  # units that the orders known here brought, by symbol
        self._flow: dict[str, Decimal] = defaultdict(Decimal)  # cash that they brought, by symbol
        self._buying: dict[str, Decimal] = defaultdict(Decimal)  # units that open buys may still bring, by symbol
        self._selling: dict[str, Decimal] = defaultdict(Decimal)  # units that open sells may still take, by symbol
        self._held: dict[str, Decimal] = defaultdict(Decimal)  # what open buys may cost at the worst, by asset
        self._unsettled: Counter[str] = Counter()  # orders that may still change a holding, by asset
        self._touched: dict[str, int] = {}  # when a fill last changed a holding, by asset; monotonic nanoseconds
        # Differences that one statement of the account has shown, by asset, and when it was asked for.
        self._suspects: dict[str, tuple[Decimal, int]] = {}
        self._grace, self.collar = round(grace_s * SECOND), collar
        self._keeper = keeper
        self._numbers = 0

    def position(self, symbol: str) -> Decimal:
        """Units held of a symbol, negative where short."""
        return self._holdings.get(self.instruments[symbol].base, ZERO)

    def holding(self, asset: str) -> Decimal:
        """Units held of an asset, such as one in which fees are paid."""
        return self._holdings.get(asset, ZERO)

    @property
    def cash(self) -> Decimal:
        """Cash, proceeds of short sales included."""
        return self._holdings.get(self.cash_asset, ZERO)

    @property
    def held(self) -> Decimal:
        """Cash that open buys may cost at the worst, orders without an answer included."""
        return self._held.get(self.cash_asset, ZERO)

    def exposure(self, symbol: str) -> Exposure:
        """What the position may become in the worst cases."""
        now = self.position(symbol)
        return Exposure(now - self._selling.get(symbol, ZERO), now + self._buying.get(symbol, ZERO))

    def profit(self, symbol: str, price: Decimal) -> Decimal:
        """The profit of the orders known here in a symbol, at a price, less the fees in its own assets."""
        return self._flow.get(symbol, ZERO) + self._units.get(symbol, ZERO) * price

    @property
    def complete(self) -> bool:
        """Whether the account has stated its cash and every position once."""
        return self.known.issuperset(self.assets)

    @property
    def assets(self) -> tuple[str, ...]:
        """The asset of the cash, and those in which the symbols are held."""
        return (self.cash_asset, *(item.base for item in self.instruments.values()))

    def recover(self, reports: Iterable[Report], at: Instant) -> None:
        """Merge the reports of an earlier process. Orders to which it never had an answer are unknown from now on: the
        broker may have them or not.

        Args:
            reports: what it merged, in this order.
            at: the time at which this process begins.
        """
        keeper, self._keeper = self._keeper, None  # the reports are kept already
        for report in reports:
            self.merge(report, at)
        for order in list(self.live.values()):
            if order.state is OrderState.SUBMITTED:
                self.merge(Unanswered(order.asked.client_id), at)
        self._keeper = keeper
        self.changes.clear()

    def merge(self, report: Report, at: Instant) -> bool:
        """Merge a report.

        Args:
            report: what the broker reported, or what we did ourselves.
            at: when the report came.

        Returns:
            Whether it changed anything.

        Raises:
            StoreError: the keeper cannot keep it. An order of ours is kept before anything is changed.
        """
        if isinstance(report, AccountReport):
            changed = False
            for asset, total in report.totals.items():
                changed |= self._stated(asset, total, report.started, at)
            return changed
        if isinstance(report, Submitted):
            if report.client_id in self.orders or report.symbol not in self.instruments:
                return False
            self._keep(report)
            self._add(report, ours=True)
            return True
        changed = self._adopt(report) if isinstance(report, Adopted) else self._merge_order(report, at)
        if changed:
            self._keep(report)
        return changed

    def _keep(self, report: Report) -> None:
        if self._keeper is not None:
            self._keeper.keep(report)

    def _add(self, order: Submitted, *, ours: bool) -> TrackedOrder:
        before = self.orders.get(order.replaces)
        if before is None:
            self._numbers += 1
        tracked = TrackedOrder(before.number if before else self._numbers, order, ours=ours)
        self.orders[order.client_id] = self.current[tracked.number] = tracked
        self._weigh(tracked, 1)
        return tracked

    def _merge_order(self, report: Report, at: Instant) -> bool:
        """Merge a report of one order."""
        if isinstance(report, OrderReport | BrokerExecution) and report.symbol not in self.instruments:
            self.parked.pop(report.order_id, None)
            return False
        order = self._order(report)
        if order is None:
            return self._park(report)
        before = _Before(order.version, order.state, order.filled, order.cost, dict(order.fees))
        # Out of the totals as it was, and into them again as it is then.
        self._weigh(order, -1)
        match report:
            case OrderReport():
                order.report(report)
            case BrokerExecution():
                order.execution(report)
                self.last_execution = max(self.last_execution, report.time)
            case Bust():
                order.bust(report)
            case OrderRefused():
                order.raise_to(OrderState.REJECTED, report.reason, report.text)
            case Unanswered():
                order.raise_to(OrderState.UNKNOWN, text=report.text)
            case Absent():
                order.raise_to(OrderState.ABSENT)
        if order.order_id and order.order_id not in self.by_id:
            self.by_id[order.order_id] = order
        for parked in self.parked.pop(order.order_id, ()):  # now that the order is known
            if isinstance(parked, BrokerExecution):
                order.execution(parked)
            else:
                order.bust(parked)
        self._weigh(order, 1)
        return self._settle(order, before, at)

    def _park(self, report: Report) -> bool:
        """Lay aside a report of an order that is not known yet: the broker's answer about that order will say whose it
        is.
        """
        if not isinstance(report, BrokerExecution | Bust) or report in self.parked.get(report.order_id, ()):
            return False
        self.parked.setdefault(report.order_id, []).append(report)
        return True

    def _order(self, report: Report) -> TrackedOrder | None:
        """The order that a report is about; one that somebody else placed is added here. None where it is not known."""
        if isinstance(report, OrderRefused | Unanswered | Absent):
            return self.orders.get(report.client_id)
        if not isinstance(report, OrderReport | BrokerExecution | Bust):
            return None
        order = self.by_id.get(report.order_id)
        if order is None and not isinstance(report, Bust):
            order = self.orders.get(report.client_id)
            if order is not None and order.order_id not in {"", report.order_id}:
                # Some venues let an old client order id be used again: this is another order.
                order = None
        if order is None and isinstance(report, OrderReport):
            client = report.client_id or report.order_id
            average = report.cost / report.filled if report.cost and report.filled else ZERO
            foreign = Submitted(
                client if client not in self.orders else f"{client} {report.order_id}",
                report.symbol,
                report.side,
                report.quantity,
                report.type,
                report.time_in_force,
                report.limit_price,
                report.stop_price,
                report.limit_price or report.stop_price or average,
                0,
            )
            order = self._add(foreign, ours=False)
        return order

    def _settle(self, order: TrackedOrder, before: _Before, at: Instant) -> bool:
        """Carry over to the holdings what a merge has changed of an order; return whether anything has."""
        if order.version == before.version:
            return False
        filled, cost = order.filled - before.filled, order.cost - before.cost
        fees = {name: more for name, fee in order.fees.items() if (more := fee - before.fees.get(name, ZERO))}
        item, side = self.instruments[order.asked.symbol], int(order.asked.side)
        moved = defaultdict(Decimal, {item.base: side * filled})
        moved[item.quote] -= side * cost
        for asset, fee in fees.items():
            moved[asset] -= fee
        self._units[item.symbol] += moved[item.base]
        self._flow[item.symbol] += moved[item.quote]
        for asset, change in moved.items():
            if change:
                self._holdings[asset] += change
                self._touched[asset] = at.monotonic
                self._suspects.pop(asset, None)
        # A replacement that never came to be leaves the order before it in its place.
        replaced = self.orders.get(order.asked.replaces)
        if replaced is not None and order.state in {OrderState.REJECTED, OrderState.ABSENT}:
            self.current[order.number] = replaced
        self.changes.append(Change(order, before.state, filled, cost, fees))
        return True

    def _weigh(self, order: TrackedOrder, sign: int) -> None:
        """Add what an order may still do to the totals (``sign`` 1), or take it out (-1)."""
        client, symbol = order.asked.client_id, order.asked.symbol
        item, remaining = self.instruments[symbol], order.remaining
        if order.asked.side > 0:
            self._buying[symbol] += sign * remaining
            self._held[item.quote] += sign * remaining * order.worst_price(self.collar)
        else:
            self._selling[symbol] += sign * remaining
        if order.unsettled:
            for asset in {item.base, item.quote} | self._fee_assets:
                self._unsettled[asset] += sign
        if sign > 0:
            _place(self.live, client, order, order.live)
            _place(self.gaps, client, order, order.gap)

    def _stated(self, asset: str, total: Decimal, started: int, at: Instant) -> bool:
        """Merge what the account states of an asset. It is adopted at once if it is the first statement, and otherwise
        only if the question was asked well after the last fill, no order could explain the difference, and an earlier
        question found the same one.

        Args:
            asset: the asset whose holding is stated.
            total: units of it by the account.
            started: when the question was sent, in nanoseconds of the monotonic clock.
            at: when the answer came.
        """
        local = self._holdings.get(asset, ZERO)
        # An answer tells of a time between question and answer. One that was asked before the last fill had settled, or
        # while fills wait for their orders, may lack what we have, and would undo it.
        touched = self._touched.get(asset)
        if (touched is not None and started < touched + self._grace) or self.parked:
            return False
        if asset in self.known:
            if total == local:
                self._suspects.pop(asset, None)
                return False
            if self._unsettled[asset]:  # an open order may have filled without our knowing yet
                return False
            # A difference counts once two questions, one after the other, found the same one.
            suspect = self._suspects.get(asset)
            if suspect is not None and started <= suspect[1]:
                return False
            if suspect is None or suspect[0] != total - local:
                self._suspects[asset] = total - local, started
                self.changes.append(Drift(asset, local, total, adopted=False))
                return False
            self.changes.append(Drift(asset, local, total, adopted=True))
        return self.merge(Adopted(asset, total), at)

    def _adopt(self, adopted: Adopted) -> bool:
        self._suspects.pop(adopted.asset, None)
        self.known.add(adopted.asset)
        self._holdings[adopted.asset] = adopted.total
        return True

    def __iter__(self) -> Iterator[TrackedOrder]:
        """All orders, in the order in which they became known."""
        return iter(self.orders.values())


def _place(orders: dict[str, TrackedOrder], client: str, order: TrackedOrder, within: bool) -> None:
    if within:
        orders[client] = order
    else:
        orders.pop(client, None)
