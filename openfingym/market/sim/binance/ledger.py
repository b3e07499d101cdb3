"""The records of a local Binance venue, beyond those of every venue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from openfingym.market.sim.binance.keys import BinanceKey
from openfingym.market.sim.binance.wire import Aggregate, aggregated
from openfingym.market.sim.events import Event, ExchangeTrade
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults
from openfingym.market.sim.ledger import VenueLedger


class BinanceLedger(VenueLedger):
    """Aggregate trades, the ids of cancellations, and the accounts' keys.

    Args:
        exchange: the exchange; nobody else may collect its events.
        faults: the faults of the venue.
    """

    def __init__(self, exchange: Exchange, faults: Faults) -> None:
        super().__init__(exchange, faults)
        self.keys: dict[str, BinanceKey] = {}
        self.aggregates: dict[str, list[Aggregate]] = {
            symbol: aggregated(trades, 0) for symbol, trades in exchange.trades.items()
        }
        self.cancellations: dict[tuple[str, int], str] = {}
        """The client order id of the request that cancelled an order, by symbol and number."""

    def note(self, events: Sequence[Event]) -> None:
        """Record what has happened. The trades of one incoming order must come in one call, as they are aggregated."""
        super().note(events)
        trades: dict[str, list[ExchangeTrade]] = defaultdict(list)
        for event in events:
            if isinstance(event, ExchangeTrade):
                trades[event.symbol].append(event)
        for symbol, symbol_trades in trades.items():
            known = self.aggregates[symbol]
            known += aggregated(symbol_trades, known[-1].id if known else 0)
            most = len(self.exchange.trades[symbol])
            if len(known) > 2 * most:
                del known[:-most]
