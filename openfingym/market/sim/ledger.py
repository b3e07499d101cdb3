"""The records of a local venue: fills and earlier balances, which its exchange does not keep."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

from openfingym.market.sim.accounts import Holding
from openfingym.market.sim.events import Balance, Event, ExchangeExecution, ExchangeOrder
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults
from openfingym.market.ticks import SECOND


class VenueLedger:
    """The fills of accounts, and their balances at every time.

    From before it was made, it knows trades and balances, and those fills that had not been collected.

    Args:
        exchange: the exchange; nobody else may collect its events.
        faults: the faults of the venue.
    """

    def __init__(self, exchange: Exchange, faults: Faults) -> None:
        self.exchange = exchange
        self.faults = faults
        earlier = exchange.collect()
        self.fills: dict[str, list[ExchangeExecution]] = defaultdict(list)
        """The fills of each account, oldest first."""
        self.pending: list[Event] = []
        """What happened in answering requests, and is not published yet."""
        self._balances: dict[str, list[Balance]] = {
            account: [
                Balance(0, account, asset, *holding) for asset, holding in exchange.accounts.holdings(account).items()
            ]
            for account in exchange.accounts.names
        }
        # Not self.note(): a subclass's may need what its own constructor has not made yet.
        VenueLedger.note(self, [event for event in earlier if isinstance(event, ExchangeExecution)])

    @property
    def now(self) -> int:
        """The venue's clock, which a fault may set wrong."""
        return self.exchange.now + self.faults.skew(self.exchange.now)

    def note(self, events: Sequence[Event]) -> None:
        """Record what has happened."""
        for event in events:
            if isinstance(event, ExchangeExecution):
                if event.kind == "trade":
                    self.fills[event.account].append(event)
            elif isinstance(event, Balance):
                self._balances.setdefault(event.account, []).append(event)

    def collect(self) -> None:
        """Record what an order or a cancellation has brought about; it is published after the answer to it."""
        events = self.exchange.collect()
        self.note(events)
        self.pending += events

    def fills_of(self, order: ExchangeOrder) -> list[ExchangeExecution]:
        """The fills of an order. Only the account's fills since it was placed are looked at."""
        fills = itertools.takewhile(lambda fill: fill.time >= order.time, reversed(self.fills[order.account]))
        return [fill for fill in fills if fill.order is order][::-1]

    def shown(self) -> int:
        """The time of which accounts are shown as they stood: now, unless a fault lets them lag."""
        now = self.exchange.now
        fault = self.faults.hit("lagging-account", now)
        return now if fault is None else now - int(fault.seconds * SECOND)

    def holdings(self, account: str, then: int) -> dict[str, Holding]:
        """What an account had at a time; for a time before the venue was made, what it had when that was.

        Args:
            account: name of the account.
            then: the time, in nanoseconds of the exchange's clock.
        """
        if then >= self.exchange.now:
            return self.exchange.accounts.holdings(account)
        by_asset: dict[str, Holding] = {}
        for balance in self._balances.get(account, ()):
            if balance.time <= then:
                by_asset[balance.asset] = Holding(balance.free, balance.locked)
        return by_asset
