"""A session's account at a broker: orders go there, and what the account holds is reported to the session's machine.

The machine gets a report before every mark, as an input that is on the tape like any other. So the record, and what an
agent was shown, follow from the tape, without the broker's own messages.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openfingym.errors import DataError, VenueError
from openfingym.files.locks import Lock, take
from openfingym.market.brokers.broker import Broker
from openfingym.market.commands import Instant
from openfingym.market.feed import Frame
from openfingym.market.session.account import AccountAtMark, SessionAccount
from openfingym.trading.actions import Decision
from openfingym.trading.executor import Account, Executor, OpenOrder
from openfingym.trading.orders import Event, EventKind, Order, OrderType, Reason, Side, TimeInForce

if TYPE_CHECKING:
    from openfingym.market.session.terms import SessionTerms
    from openfingym.market.state import MarketState

UNSPENT = 0.01
"""Share of the free cash that target weights leave, since a market order may pay more than the last price."""
UNEXPLAINED = 1e-4
"""Share of the value traded by which the cash may differ from what the fills explain, beside a dollar: the fees that a
broker takes without reporting them with a fill."""


class Reported(NamedTuple):
    """What a broker's account holds at an instant, and what has happened since the report before.

    Digests on tapes hold its ``repr``, and with it the names of its fields.
    """

    held: Account
    """Equity, cash and the like."""
    units: tuple[float, ...]
    """Units held of each symbol, negative where sold short."""
    open: tuple[OpenOrder, ...]
    """Orders that may still trade."""
    new: tuple[Event, ...]
    """What has happened to orders since the report before."""
    strangers: int
    """How many orders of the account the session did not place."""

    def account(self) -> Account:
        """See :class:`~openfingym.trading.executor.Executor`, as the next two."""
        return self.held

    def positions(self) -> tuple[float, ...]:
        """Units held of each symbol."""
        return self.units

    def open_orders(self) -> tuple[OpenOrder, ...]:
        """Orders that may still trade."""
        return self.open


def report(executor: Executor, strangers: int) -> str:
    """A report of an account, as its record on a tape holds it. It takes the executor's events: each is reported once.

    Args:
        executor: what executes the account's orders.
        strangers: how many orders it has that the session did not place.
    """
    parts = [executor.account(), executor.positions(), executor.open_orders(), executor.events(), strangers]
    return json.dumps(parts, separators=(",", ":"))


def read_report(payload: Frame) -> Reported:
    """The report in a record.

    Raises:
        DataError: the payload is no report.
    """
    try:
        held, units, orders, events, strangers = json.loads(payload)
        return Reported(
            Account(*map(float, held)),
            tuple(map(float, units)),
            tuple(map(_order, orders)),
            tuple(map(_event, events)),
            int(strangers),
        )
    except (ValueError, TypeError) as error:
        raise DataError(f"the record of an account's report holds something else: {error}") from error


def _order(row: list[Any]) -> OpenOrder:
    order = OpenOrder(*row)
    return order._replace(
        side=Side(order.side), type=OrderType(order.type), time_in_force=TimeInForce(order.time_in_force)
    )


def _event(row: list[Any]) -> Event:
    event = Event(*row)
    return event._replace(kind=EventKind(event.kind), reason=Reason(event.reason))


def alone(broker: Broker) -> Lock:
    """Lock an account: of two sessions of this machine in one account, each would be marked by what the other does.

    Raises:
        VenueError: another session has locked it.
    """
    # The name is a digest, so that no key can be read from it.
    name = hashlib.sha256(repr((broker.rest().url, broker.secrets)).encode()).hexdigest()[:24]
    path = Path(tempfile.gettempdir()) / f"openfingym-account-{os.getuid()}-{name}.lock"
    try:
        return take(path, wait=False)
    except OSError as error:
        raise VenueError(
            f"another session trades for this account at {broker.venue} ({error}); wait for its end, or use the keys "
            "of another account"
        ) from error


def orders_to(weights: Sequence[float], executor: Executor, prices: Sequence[float], lot: float) -> list[Order]:
    """Market orders that bring the account to target weights at the last prices, sales first. Purchases are paid from
    the cash that is free now, since nobody knows when sales will be filled; the next decision may buy the rest.

    Args:
        weights: the target share of equity of each symbol, negative for short; they must be admissible.
        executor: what executes the account's orders.
        prices: the price of each symbol; one whose price is not above 0 is not traded.
        lot: the quantity that all quantities are multiples of; 0 for any quantity.
    """
    account, held = executor.account(), executor.positions()
    changes = {}
    for symbol, (weight, price, units) in enumerate(zip(weights, prices, held, strict=True)):
        if price > 0.0:
            changes[symbol] = weight * account.equity / price - units
    cost = sum(change * prices[symbol] for symbol, change in changes.items() if change > 0.0)
    share = min(1.0, max(0.0, account.free_cash * (1.0 - UNSPENT)) / cost) if cost > 0.0 else 0.0
    orders = []
    for side in (Side.SELL, Side.BUY):
        for symbol, change in changes.items():
            wanted = abs(change) * (share if side is Side.BUY else 1.0)
            # A billionth of a lot more, so that 2.9999999996 lots, which rounding has made of 3, are 3.
            quantity = math.floor(wanted / lot + 1e-9) * lot if lot > 0.0 else wanted
            if change * side > 0.0 and quantity > 0.0:
                orders.append(Order(symbol, side, quantity, time_in_force=TimeInForce.IOC))
    return orders


class BrokerAccount(SessionAccount):
    """The account of a session whose orders go to a broker."""

    def __init__(self, terms: SessionTerms) -> None:
        super().__init__(terms)
        self._report: Reported | None = None
        self._before = math.nan  # cash in the first report
        self._spent = self._turnover = 0.0  # cash that the session's own fills took, and the value that they traded
        self._units = [0.0] * len(terms.symbols)  # what these fills come to; the report must agree
        self._average = [0.0] * len(terms.symbols)  # average price of what is held
        self._flows = [0.0] * 4  # since the last mark: traded, cost, fills that closed something, those that won

    @property
    def ready(self) -> bool:
        """See :class:`SessionAccount`."""
        return self._report is not None

    # The broker's own account holds the cash, so that nothing is opened with the arguments.
    def open(self, state: MarketState, at: Instant, venue_time: Callable[[Instant], int]) -> None:  # noqa: ARG002
        """See :class:`SessionAccount`."""
        self._opened = True

    def reported(self, payload: Frame) -> None:
        """See :class:`SessionAccount`."""
        report = read_report(payload)
        if len(report.units) != len(self.terms.symbols):
            raise DataError(f"a report of {len(report.units)} positions for {len(self.terms.symbols)} symbols")
        if self._report is None:
            self._before = report.held.cash
        self._report = report
        self._waiting += report.new
        for event in report.new:
            if event.kind is EventKind.FILLED and 0 <= event.symbol < len(self._units):
                self._filled(event)

    @property
    def fault(self) -> str | None:
        """Why the account is not what the session's own orders made it, as when somebody else trades there, or a fill
        was never reported; None where it is.
        """
        report = self._report
        if report is None:
            return "the broker never told what it holds"
        if report.strangers:
            return f"it has {report.strangers} orders that the session did not place"
        if list(report.units) != self._units:
            return f"it holds {list(report.units)}, and the session's own fills come to {self._units}"
        missing = self._before - self._spent - report.held.cash
        if not abs(missing) <= UNEXPLAINED * self._turnover + 1.0:  # `not <=`, so that NaN is a fault
            return f"{missing:.2f} of its cash is gone, which the session's own fills do not explain"
        return None

    def digest(self) -> object:
        """See :class:`SessionAccount`."""
        return [repr(self._report), self._units, self._average, self._flows]

    def _carry_out(self, decision: Decision, at: Instant) -> None:  # noqa: ARG002
        """Nothing to do, as the session itself sends decisions to the broker; but weights that are not admissible are
        refused here, before it.
        """
        if decision.weights is not None and not self.admits(decision.weights):
            bad = Event(EventKind.REJECTED, 0, 0, -1, 0, math.nan, reason=Reason.BAD_WEIGHTS)
            self._waiting.append(bad)

    def _valued(self, at: Instant) -> AccountAtMark:  # noqa: ARG002
        report = self._report
        assert report is not None, "an account is reported before it is valued"
        flows, self._flows = self._flows, [0.0] * 4
        events, self._waiting = self._waiting, []
        ruined = not report.held.equity > 0.0
        account = report.held._replace(equity=max(report.held.equity, 0.0)) if ruined else report.held
        row = (account.equity, flows[0], flows[1], account.long, account.short, flows[2], flows[3])
        return AccountAtMark(row, account, events, ruined, report)

    def _filled(self, event: Event) -> None:
        """Count a fill, and carry the average price of what is held."""
        symbol, units = event.symbol, self._units[event.symbol]
        change = event.side * event.quantity
        self._flows[0] += event.quantity * event.price
        self._turnover += event.quantity * event.price
        self._spent += change * event.price + event.fee
        self._flows[1] += event.fee + event.slippage
        if units * change < 0.0:  # against the position: a part of it is closed
            closed = min(abs(change), abs(units))
            gain = closed * (event.price - self._average[symbol]) * math.copysign(1.0, units) - event.fee
            self._flows[2] += 1.0
            self._flows[3] += gain > 0.0
        new = units + change
        # A position that begins or turns has this fill's price; one that grows, the average; one that shrinks, its own.
        if new * units <= 0.0 or units == 0.0:
            self._average[symbol] = event.price if new else 0.0
        elif abs(new) > abs(units):
            self._average[symbol] = (units * self._average[symbol] + change * event.price) / new
        self._units[symbol] = new
