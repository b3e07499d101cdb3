"""The funds of an account at a local Alpaca venue, and whether they suffice for an order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from openfingym.market.sim.alpaca.ledger import AlpacaLedger
from openfingym.market.sim.alpaca.wire import AlpacaRefusalError, is_crypto, text, unprocessable
from openfingym.market.sim.events import ATOMS, ExchangeExecution, ExchangeOrder, ListedPair

CASH = "USD"
MARGIN = 2
"""How many times its equity an account with margin may hold in stocks."""


class Position(NamedTuple):
    """What an account has of a symbol; amounts in atoms, short ones negative."""

    listing: ListedPair
    """The terms of the symbol."""
    quantity: int
    """Atoms of the symbol."""
    price: int
    """Last price of a whole unit, in atoms of dollars."""
    basis: int
    """Atoms of dollars for which it was bought or sold."""

    @property
    def value(self) -> int:
        """Its value at the last price, in atoms of dollars."""
        return self.quantity * self.price // ATOMS


class Funds(NamedTuple):
    """An account's money, in atoms of dollars."""

    cash: int
    positions: dict[str, Position]
    """Positions by symbol."""
    held: int
    """What open orders would cost."""
    margin: bool
    """Whether the account trades stocks on margin."""

    @property
    def long(self) -> int:
        """The value of long positions."""
        return sum(max(position.value, 0) for position in self.positions.values())

    @property
    def short(self) -> int:
        """The value of short positions, negative."""
        return sum(min(position.value, 0) for position in self.positions.values())

    @property
    def equity(self) -> int:
        """Cash and the value of all positions."""
        return self.cash + self.long + self.short

    @property
    def multiplier(self) -> int:
        """How many times its equity the account may hold in stocks."""
        return MARGIN if self.margin else 1

    @property
    def buying_power(self) -> int:
        """What it may spend on stocks."""
        return max(0, self.multiplier * self.equity - self.long + self.short - self.held)

    @property
    def own(self) -> int:
        """What it may spend on coins, which are not bought on margin."""
        # Cash holds the proceeds of short sales, which are owed, and as much again covers them: `short` is negative.
        return max(0, min(self.buying_power, self.cash + 2 * self.short - self.held))


def mark(ledger: AlpacaLedger, listing: ListedPair) -> int:
    """The last price in ticks, or the best one where nothing was traded; 0 without either."""
    book = ledger.exchange.books[listing.symbol]
    return book.last or book.best(-1) or book.best(1) or 0


def funds(ledger: AlpacaLedger, account: str, then: int, without: ExchangeOrder | None = None) -> Funds:
    """An account as it stood at a time, and its open orders now.

    Args:
        ledger: the records of the venue.
        account: name of the account.
        then: the time, in nanoseconds of the exchange's clock.
        without: an open order that does not count; None for none.
    """
    exchange = ledger.exchange
    holdings = ledger.holdings(account, then)
    positions = {}
    for symbol, listing in exchange.listings.items():
        held = sum(holdings.get(listing.base, (0, 0)))
        if held:
            price = mark(ledger, listing) * listing.value * ATOMS // listing.unit
            basis = _basis(
                (fill for fill in ledger.fills[account] if fill.symbol == symbol and fill.time <= then), listing
            )
            positions[symbol] = Position(listing, held, price, basis)
    cost, selling = 0, dict.fromkeys(exchange.listings, 0)
    for order in exchange.open_orders(account):
        if order is without:
            continue
        listing = exchange.listings[order.symbol]
        price = order.price or order.stop or mark(ledger, listing)
        if order.side > 0:
            cost += order.left * price * listing.value
        else:
            # Only the part that sells more than is held, after the orders before it, opens a short position.
            before = positions[order.symbol].quantity if order.symbol in positions else 0
            selling[order.symbol] += order.left * listing.unit
            short = min(selling[order.symbol] - before, order.left * listing.unit)
            cost += max(short, 0) // listing.unit * price * listing.value
    return Funds(sum(holdings.get(CASH, (0, 0))), positions, cost, exchange.accounts.margin(account))


def selling(ledger: AlpacaLedger, account: str, listing: ListedPair, without: ExchangeOrder | None = None) -> int:
    """Atoms that open orders to sell hold."""
    orders = ledger.exchange.open_orders(account, listing.symbol)
    return sum(order.left for order in orders if order.side < 0 and order is not without) * listing.unit


def check(
    ledger: AlpacaLedger, account: str, listing: ListedPair, side: int, lots: int, ticks: int | None,
    without: ExchangeOrder | None = None,
) -> None:  # fmt: skip
    """Refuse an order that the account cannot carry.

    Args:
        ledger: the records of the venue.
        account: name of the account that places the order.
        listing: the terms of the symbol.
        side: 1 for a buy, -1 for a sell.
        lots: its quantity in lots.
        ticks: its limit or stop price in ticks; None for a market order.
        without: the order that it replaces; None for a new one.

    Raises:
        AlpacaRefusalError: the account cannot carry it: 403, with the reason.
    """
    has = funds(ledger, account, ledger.exchange.now, without)
    position = has.positions.get(listing.symbol)
    held, crypto = position.quantity if position else 0, is_crypto(listing.symbol)
    wanted = lots * listing.unit
    book = ledger.exchange.books[listing.symbol]
    cost = lots * (ticks or mark(ledger, listing)) * listing.value
    if ticks is None:  # it may have to go deeper into the book than the last price
        cost = max(cost, book.available(side, lots, None)[1] * listing.value)
    if side > 0:
        # What closes a short position needs no funds.
        opening = min(max(held + wanted, 0), wanted)
        need = cost * opening // wanted
        if crypto and need > has.own:
            text_ = f"insufficient balance for USD (requested: {text(need)}, available: {text(has.own)})"
            raise AlpacaRefusalError(403, 40310000, text_)
    else:
        free = held - selling(ledger, account, listing, without)
        short = wanted - max(free, 0)
        if short > 0 and (crypto or not has.margin):
            text_ = f"insufficient qty available for order (requested: {text(wanted)}, available: {text(max(free, 0))})"
            raise AlpacaRefusalError(403, 40310000, text_)
        if short > 0 and short % ATOMS:
            raise unprocessable("fractional orders cannot be sold short")
        need = cost * max(short, 0) // wanted
    if need > has.buying_power:
        raise AlpacaRefusalError(403, 40310000, "insufficient buying power")


def check_wash(ledger: AlpacaLedger, account: str, listing: ListedPair, side: int, ticks: int | None) -> None:
    """Refuse an order that would trade with another one of its account.

    Args:
        ledger: the records of the venue.
        account: name of the account that places the order.
        listing: the terms of the symbol.
        side: 1 for a buy, -1 for a sell.
        ticks: its limit in ticks; None for any price.

    Raises:
        AlpacaRefusalError: there is such an order: 403.
    """
    for order in ledger.exchange.open_orders(account, listing.symbol):
        if order.side == -side and (ticks is None or order.price is None or (ticks - order.price) * side >= 0):
            raise AlpacaRefusalError(403, 40310000, "potential wash trade detected. use complex orders")


def _basis(fills: Iterator[ExchangeExecution], listing: ListedPair) -> int:
    """Atoms for which a position was bought or sold, at the average price of the fills that opened it."""
    lots = cost = 0  # signed lots, and lots times ticks
    for fill in fills:
        change = fill.order.side * fill.quantity
        # A fill adds to the position, closes a part of it at its average price, or turns it.
        if lots * change >= 0:
            cost += change * fill.price
        elif abs(change) <= abs(lots):
            cost += cost * change // lots
        else:
            cost = (lots + change) * fill.price
        lots += change
    return cost * listing.value
