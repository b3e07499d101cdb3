"""A session's account at a broker: orders go there, and what its mirror holds is told to the session's machine.

The machine is told a report before every mark, as an input that is on the tape like any other. So the record, and what
an agent was shown, follow from the tape, without the broker's own messages.
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
from openfingym.market.session.account import Held, SessionAccount
from openfingym.trading.actions import Decision
from openfingym.trading.executor import Account, Executor, OpenOrder
from openfingym.trading.orders import Event, EventKind, Order, OrderType, Reason, Side, TimeInForce

if TYPE_CHECKING:
    from openfingym.market.session.terms import SessionTerms
    from openfingym.market.state import MarketState

UNSPENT = 0.01
"""Share of the free cash that target weights leave, since a market order may pay more than the last price."""
UNEXPLAINED = 1e-4
"""Share of what was traded, and dollars, by which the cash may differ from what the fills explain: a broker's fees."""


class Reported(NamedTuple):
    """What a broker's mirror holds at an instant, and what has happened since the report before."""

    held: Account
    units: tuple[float, ...]
    open: tuple[OpenOrder, ...]
    new: tuple[Event, ...]
    strangers: int
    """Orders of the account that the session did not place."""

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
    """A report of an account, as its record on a tape holds it; takes the executor's events.

    Args:
        executor: what executes the account's orders.
        strangers: how many orders it has that the session did not place.
    """
    found = [executor.account(), executor.positions(), executor.open_orders(), executor.events(), strangers]
    return json.dumps(found, separators=(",", ":"))


def read_report(payload: Frame) -> Reported:
    """The report of a record.

    Raises:
        DataError: the payload is none.
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
    found = OpenOrder(*row)
    return found._replace(
        side=Side(found.side), type=OrderType(found.type), time_in_force=TimeInForce(found.time_in_force)
    )


def _event(row: list[Any]) -> Event:
    found = Event(*row)
    return found._replace(kind=EventKind(found.kind), reason=Reason(found.reason))


def alone(broker: Broker) -> Lock:
    """The lock of an account: two sessions of this machine in one account would each be marked by what the other does.

    Raises:
        VenueError: another session has it.
    """
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
    """Market orders to these shares of equity at the last prices, sales first. What is bought is paid from the cash
    that is free now, since nobody knows when sales will be filled; the next decision may buy the rest.

    Args:
        weights: an admissible share of each symbol, negative for short.
        executor: what executes the account's orders.
        prices: the price of each symbol; one without a price is not traded.
        lot: quantities are multiples of this; 0 for any.
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
        self._spent = self._turnover = 0.0
        self._units = [0.0] * len(terms.symbols)
        self._average = [0.0] * len(terms.symbols)
        self._flows = [0.0] * 4  # traded, cost, fills that closed something, those of them that won

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
        found = read_report(payload)
        if len(found.units) != len(self.terms.symbols):
            raise DataError(f"a report of {len(found.units)} positions for {len(self.terms.symbols)} symbols")
        if self._report is None:
            self._before = found.held.cash
        self._report = found
        self._waiting += found.new
        for event in found.new:
            if event.kind is EventKind.FILLED and 0 <= event.symbol < len(self._units):
                self._filled(event)

    @property
    def fault(self) -> str | None:
        """Why the account is not what the session's own orders made it, as when somebody else trades there, or a fill
        was never told; None where it is.
        """
        found = self._report
        if found is None:
            return "the broker never told what it holds"
        if found.strangers:
            return f"it has {found.strangers} orders that the session did not place"
        if list(found.units) != self._units:
            return f"it holds {list(found.units)}, and the session's own fills come to {self._units}"
        missing = self._before - self._spent - found.held.cash
        if not abs(missing) <= UNEXPLAINED * self._turnover + 1.0:
            return f"{missing:.2f} of its cash is gone, which the session's own fills do not explain"
        return None

    def digest(self) -> object:
        """See :class:`SessionAccount`."""
        return [repr(self._report), self._units, self._average, self._flows]

    def _carry_out(self, decision: Decision, at: Instant) -> None:  # noqa: ARG002
        """The session sends it to the broker, but for weights that are not admissible."""
        if decision.weights is not None and not self.admits(decision.weights):
            bad = Event(EventKind.REJECTED, 0, 0, -1, 0, math.nan, reason=Reason.BAD_WEIGHTS)
            self._waiting.append(bad)

    def _held(self, at: Instant) -> Held:  # noqa: ARG002
        found = self._report
        assert found is not None, "an account is reported before it is valued"
        flows, self._flows = self._flows, [0.0] * 4
        events, self._waiting = self._waiting, []
        ruined = not found.held.equity > 0.0
        held = found.held._replace(equity=max(found.held.equity, 0.0)) if ruined else found.held
        row = (held.equity, flows[0], flows[1], held.long, held.short, flows[2], flows[3])
        return Held(row, held, events, ruined, found)

    def _filled(self, event: Event) -> None:
        """Count a fill, and carry the average price of what is held."""
        symbol, units = event.symbol, self._units[event.symbol]
        change = event.side * event.quantity
        self._flows[0] += event.quantity * event.price
        self._turnover += event.quantity * event.price
        self._spent += change * event.price + event.fee
        self._flows[1] += event.fee + event.slippage
        if units * change < 0.0:
            closed = min(abs(change), abs(units))
            gain = closed * (event.price - self._average[symbol]) * math.copysign(1.0, units) - event.fee
            self._flows[2] += 1.0
            self._flows[3] += gain > 0.0
        new = units + change
        if new * units <= 0.0 or units == 0.0:
            self._average[symbol] = event.price if new else 0.0
        elif abs(new) > abs(units):
            self._average[symbol] = (units * self._average[symbol] + change * event.price) / new
        self._units[symbol] = new
