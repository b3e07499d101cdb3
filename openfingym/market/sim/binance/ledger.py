"""What a local Binance venue remembers of its exchange, beyond what the exchange does."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable

from openfingym.market.sim.accounts import Holding
from openfingym.market.sim.binance.keys import Key
from openfingym.market.sim.binance.wire import SECOND, Aggregate, aggregated
from openfingym.market.sim.events import Balance, Event, ExchangeExecution, ExchangeOrder, ExchangeTrade
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults


class VenueLedger:
    """Aggregate trades, fills and balances as they changed, cancellations' ids, and the accounts' keys.

    Of what happened before it was made it knows the trades and balances, and the fills that nobody has collected.
    """

    def __init__(self, exchange: Exchange, faults: Faults) -> None:
        self.exchange = exchange
        self.faults = faults
        self.keys: dict[str, Key] = {}
        earlier = exchange.collect()
        self.aggregates: dict[str, list[Aggregate]] = {
            symbol: aggregated(trades, 0) for symbol, trades in exchange.trades.items()
        }
        self.fills: dict[str, list[ExchangeExecution]] = defaultdict(list)
        """Of each account, oldest first."""
        self.cancellations: dict[tuple[str, int], str] = {}
        """The client order id of the request that cancelled an order, by symbol and number."""
        self.pending: list[Event] = []
        """What happened in answering requests, and is not published yet."""
        self._balances: dict[str, list[Balance]] = {
            account: [
                Balance(exchange.now, account, asset, *holding)
                for asset, holding in exchange.accounts.holdings(account).items()
            ]
            for account in exchange.accounts.names
        }
        self.note(event for event in earlier if isinstance(event, ExchangeExecution))

    @property
    def now(self) -> int:
        """The venue's clock, which a fault may set wrong."""
        return self.exchange.now + self.faults.skew(self.exchange.now)

    def note(self, events: Iterable[Event]) -> None:
        """Remember what happened; the trades of one incoming order come together."""
        trades: dict[str, list[ExchangeTrade]] = defaultdict(list)
        for event in events:
            if isinstance(event, ExchangeTrade):
                trades[event.symbol].append(event)
            elif isinstance(event, ExchangeExecution):
                if event.kind == "trade":
                    self.fills[event.account].append(event)
            elif isinstance(event, Balance):
                self._balances.setdefault(event.account, []).append(event)
        for symbol, found in trades.items():
            known = self.aggregates[symbol]
            known += aggregated(found, known[-1].id if known else 0)
            most = len(self.exchange.trades[symbol])
            if len(known) > 2 * most:
                del known[:-most]

    def collect(self) -> None:
        """Note what an order or a cancellation has brought about, to be published after its answer."""
        events = self.exchange.collect()
        self.note(events)
        self.pending += events

    def fills_of(self, order: ExchangeOrder) -> list[ExchangeExecution]:
        """The fills of an order, of which only the newest part of its account's are looked at."""
        fills = itertools.takewhile(lambda fill: fill.time >= order.time, reversed(self.fills[order.account]))
        return [fill for fill in fills if fill.order is order][::-1]

    def holdings(self, account: str) -> dict[str, Holding]:
        """What an account has; or had, while a fault lets the account lag."""
        now = self.exchange.now
        fault = self.faults.hit("lagging-account", now)
        if fault is None:
            return self.exchange.accounts.holdings(account)
        then = now - int(fault.seconds * SECOND)
        found: dict[str, Holding] = {}
        for balance in self._balances.get(account, ()):
            if balance.time <= then or balance.asset not in found:
                found[balance.asset] = Holding(balance.free, balance.locked)
        return found
