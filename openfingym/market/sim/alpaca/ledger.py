"""The records of a local Alpaca venue, beyond those of every venue."""

from __future__ import annotations

import hmac
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from openfingym.errors import VenueError
from openfingym.market.keys import Keys
from openfingym.market.sim.alpaca.bars import AlpacaBar
from openfingym.market.sim.alpaca.hours import MarketHours
from openfingym.market.sim.alpaca.wire import CANCELED, CORRECTED, INCORRECT, AlpacaRefusalError, unique_id
from openfingym.market.sim.events import Balance, Event, ExchangeExecution, ExchangeOrder, ExchangeTrade
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults
from openfingym.market.sim.ledger import VenueLedger

_TIME = attrgetter("time")
FIRST_CORRECTION = 10**12
"""First id of corrected trades, beyond those of the exchange."""


@dataclass(slots=True)
class OrderTerms:
    """The terms of an order at Alpaca beyond those that the exchange knows."""

    time_in_force: str
    """Time in force by Alpaca's name."""
    notional: int | None = None
    """Atoms of dollars that were asked for in the place of a quantity; None for an order with a quantity."""
    extended: bool = False
    """Whether it may trade outside regular hours."""
    replaces: str | None = None
    """Id of the order that it replaces; None for none."""
    replaced_by: str | None = None
    """Id of the order that replaces it; None for none."""


class AlpacaLedger(VenueLedger):
    """Orders by Alpaca's ids, the accounts' keys, positions after each fill, and trades that were taken back.

    Args:
        exchange: the exchange; nobody else may collect its events.
        faults: the faults of the venue.
        hours: the trading hours of stocks.
    """

    def __init__(self, exchange: Exchange, faults: Faults, hours: MarketHours) -> None:
        self.hours = hours
        self.keys: dict[str, tuple[Keys, str]] = {}
        """Keys with the account of each, by the API key."""
        self.orders: dict[str, ExchangeOrder] = {}
        """Orders by Alpaca's ids."""
        self.clients: dict[tuple[str, str], ExchangeOrder] = {}
        """Orders by account and client order id, which stays taken for ever."""
        self.terms: dict[tuple[str, int], OrderTerms] = {}
        """Further terms of orders, by symbol and the exchange's number."""
        self.after: dict[int, int] = {}
        """The position after each fill in atoms, by the number of its report."""
        self.mids: dict[str, dict[int, AlpacaBar]] = defaultdict(dict)
        """Bars of mid prices, by symbol and left edge."""
        self.amended: dict[str, dict[int, tuple[str, ExchangeTrade | None]]] = defaultdict(dict)
        """What became of trades that were amended, by symbol and id: the word for it, and the corrected trade."""
        self._positions: dict[tuple[str, str], int] = {}  # atoms by account and asset
        super().__init__(exchange, faults)
        for order in exchange.orders.values():
            self._know(order)
        for account in exchange.accounts.names:
            for asset, holding in exchange.accounts.holdings(account).items():
                self._positions[account, asset] = sum(holding)

    def note(self, events: Sequence[Event]) -> None:
        """See :class:`VenueLedger`."""
        super().note(events)
        for event in events:
            if isinstance(event, ExchangeExecution):
                self._know(event.order)
                if event.kind == "trade":
                    listing = self.exchange.listings[event.symbol]
                    fee = event.fee if event.fee_asset == listing.base else 0
                    held = self._positions.get((event.account, listing.base), 0)
                    held += event.order.side * event.quantity * listing.unit - fee
                    self._positions[event.account, listing.base] = self.after[event.id] = held
            elif isinstance(event, Balance):
                self._positions[event.account, event.asset] = event.free + event.locked

    def _know(self, order: ExchangeOrder) -> None:
        if (order.symbol, order.id) not in self.terms:
            name = {"GTC": "gtc", "IOC": "ioc", "FOK": "fok"}[order.time_in_force]
            self.terms[order.symbol, order.id] = OrderTerms(name)
        self.orders.setdefault(order_id(order), order)
        if order.client_id:
            self.clients.setdefault((order.account, order.client_id), order)

    def terms_of(self, order: ExchangeOrder) -> OrderTerms:
        """The further terms of an order."""
        return self.terms[order.symbol, order.id]

    def state_terms(self, order: ExchangeOrder, terms: OrderTerms) -> None:
        """Record the further terms of an order."""
        self.terms[order.symbol, order.id] = terms
        self._know(order)

    def account_of(self, key: str, secret: str) -> str | None:
        """The account of these keys; None where they are wrong."""
        known = self.keys.get(key)

        right = known is not None and hmac.compare_digest(known[0].secret.encode(), secret.encode())
        return known[1] if known is not None and right else None

    def authenticate(self, headers: Mapping[str, str]) -> str:
        """The account whose keys a request carries.

        Raises:
            AlpacaRefusalError: the keys are wrong.
        """
        account = self.account_of(headers.get("APCA-API-KEY-ID", ""), headers.get("APCA-API-SECRET-KEY", ""))
        if account is None:
            raise AlpacaRefusalError(401, 40110000, "request is not authorized")
        return account

    def amend(self, trade: ExchangeTrade, instead: ExchangeTrade | None) -> None:
        """Take back or correct a trade of the crowd.

        Args:
            trade: the trade as it happened.
            instead: the trade as it is corrected; None to take it back.

        Raises:
            VenueError: an account took part in the trade, or it was amended before.
        """
        symbol = trade.symbol
        if any(fill.trade == trade.id and fill.symbol == symbol for fills in self.fills.values() for fill in fills):
            raise VenueError(f"trade {trade.id} of {symbol} is an account's fill: only the crowd's can be taken back")
        if trade.id in self.amended[symbol]:
            raise VenueError(f"trade {trade.id} of {symbol} was taken back before: give another")
        self.amended[symbol][trade.id] = CANCELED if instead is None else INCORRECT, instead

    def standing(self, symbol: str) -> list[ExchangeTrade]:
        """The trades of a symbol that stand, oldest first."""
        trades, amended = self.exchange.trades[symbol], self.amended.get(symbol)
        if not amended:
            return trades
        amended_trades = [amended[trade.id][1] if trade.id in amended else trade for trade in trades]
        return [trade for trade in amended_trades if trade is not None]

    def history(self, symbol: str, begin: int, end: int) -> list[tuple[ExchangeTrade, str]]:
        """The trades of a symbol in a span of time, each with the word for what became of it, empty where it stands; a
        corrected trade comes after the original.

        Args:
            symbol: the symbol that was traded.
            begin: the first time, in nanoseconds.
            end: the last time, in nanoseconds, itself included.
        """
        trades, amended = self.exchange.trades[symbol], self.amended.get(symbol, {})
        rows: list[tuple[ExchangeTrade, str]] = []
        for trade in trades[bisect_left(trades, begin, key=_TIME) : bisect_right(trades, end, key=_TIME)]:
            why, instead = amended.get(trade.id, ("", None))
            rows.append((trade, why))
            if instead is not None:
                rows.append((instead, CORRECTED))
        return rows


def order_id(order: ExchangeOrder) -> str:
    """The id by which Alpaca knows an order."""
    return unique_id("order", order.symbol, order.id)
