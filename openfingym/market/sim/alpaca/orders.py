"""The requests of a local Alpaca venue that concern orders."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, cast

from openfingym.market.sim.alpaca import funds
from openfingym.market.sim.alpaca.calls import AlpacaCall, AlpacaRoute
from openfingym.market.sim.alpaca.ledger import AlpacaLedger, OrderTerms, order_id
from openfingym.market.sim.alpaca.order_wire import asset_class, asset_id, order_row
from openfingym.market.sim.alpaca.wire import (
    is_crypto,
    missing,
    unique_id,
    unprocessable,
)
from openfingym.market.sim.events import ATOMS, ExchangeOrder, ListedPair, OrderKind, TimeInForce
from openfingym.market.sim.server import StatusAnswer

# Prices that each type of order takes.
_PRICES = {
    "market": (),
    "limit": ("limit_price",),
    "stop": ("stop_price",),
    "stop_limit": ("limit_price", "stop_price"),
}
_STOCK_TIMES = ("day", "gtc", "ioc", "fok")
_COIN_TIMES = ("gtc", "ioc")
_EXCHANGE_TIMES: Mapping[str, TimeInForce] = {"day": "GTC", "gtc": "GTC", "ioc": "IOC", "fok": "FOK"}
MOST_LOTS = 10**12
"""Lots of an order at most."""
LONGEST_ID = 128
"""Characters of a client order id at most."""
DOLLAR = Decimal(1)
"""Price from which on a stock's prices are whole cents; below it they have four decimals."""


class AlpacaTicket(NamedTuple):
    """The terms of an order that a request states, in ticks and lots."""

    listing: ListedPair
    side: int
    """1 for a buy, -1 for a sell."""
    kind: OrderKind
    lots: int
    price: int | None
    """Limit in ticks; None without one."""
    stop: int | None
    """Stop price in ticks; None without one."""
    client_id: str
    terms: OrderTerms
    """Terms that the exchange does not know."""


def listing_of(ledger: AlpacaLedger, name: str) -> ListedPair | None:
    """A listing by its symbol, that of a pair of coins also without its slash, or by its asset's id."""
    listings = ledger.exchange.listings
    if name.upper() in listings:
        return listings[name.upper()]
    matches = (
        listing for listing in listings.values() if name in {asset_id(listing.symbol), listing.symbol.replace("/", "")}
    )
    return next(matches, None)


def _decimal(value: object, name: str) -> Decimal:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InvalidOperation
        number = Decimal(str(value))
    except InvalidOperation:
        raise unprocessable(f"{name} must be a number") from None
    if not number.is_finite() or not 0 < number < 10**15:
        raise unprocessable(f"{name} must be > 0")
    return number


def _price(body: Mapping[str, Any], name: str, listing: ListedPair) -> int:
    price = _decimal(body.get(name), name)
    if not is_crypto(listing.symbol) and price % Decimal("0.01" if price >= DOLLAR else "0.0001"):
        raise unprocessable(f"invalid {name} {price}. sub-penny increment does not fulfill minimum pricing criteria")
    if price % listing.tick:
        raise unprocessable(f"invalid {name} {price}: expected a multiple of the price increment {listing.tick}")
    return int(price / listing.tick)


def _lots(value: object, listing: ListedPair) -> int:
    quantity = _decimal(value, "qty")
    if quantity % listing.lot or quantity / listing.lot > MOST_LOTS:
        raise unprocessable(f"invalid qty {quantity}: expected a multiple of the increment {listing.lot}")
    return int(quantity / listing.lot)


def _ticket(ledger: AlpacaLedger, call: AlpacaCall) -> AlpacaTicket:
    """The order that a request states.

    Raises:
        AlpacaRefusalError: a term of it is missing, malformed, or not for this symbol.
    """
    body = call.body
    listing = listing_of(ledger, str(body.get("symbol", "")))
    if listing is None:
        raise unprocessable(f"asset {str(body.get('symbol', ''))[:40]!r} not found")
    crypto = is_crypto(listing.symbol)
    side = {"buy": 1, "sell": -1}.get(str(body.get("side")))
    if side is None:
        raise unprocessable("invalid side: expected buy or sell")
    kind = str(body.get("type") or "")
    if kind not in _PRICES or (crypto and kind == "stop"):
        raise unprocessable(
            f"invalid order type {kind[:40]!r} for {asset_class(listing.symbol)} order at this local venue"
        )
    if body.get("order_class") not in {None, "", "simple"} or body.get("take_profit") or body.get("stop_loss"):
        raise unprocessable("invalid order class: this local venue has simple orders only")
    time_in_force = str(body.get("time_in_force") or "")
    if time_in_force not in (_COIN_TIMES if crypto else _STOCK_TIMES):
        raise unprocessable(f"invalid time_in_force {time_in_force[:40]!r} for {asset_class(listing.symbol)} order")
    extended = body.get("extended_hours") is True
    if extended and (kind != "limit" or time_in_force not in {"day", "gtc"}):
        raise unprocessable("extended hours order must be DAY or GTC limit orders")
    for name in ("limit_price", "stop_price"):
        if name in _PRICES[kind] and body.get(name) is None:
            raise unprocessable(f"{kind} order requires {name}")
        if name not in _PRICES[kind] and body.get(name) is not None:
            raise unprocessable(f"{kind} order must not have {name}")
    price, stop = (
        _price(body, name, listing) if name in _PRICES[kind] else None for name in ("limit_price", "stop_price")
    )
    notional = None
    if (body.get("qty") is None) == (body.get("notional") is None):
        raise unprocessable("qty or notional is required, and not both")
    if body.get("notional") is not None:
        if kind != "market" or (not crypto and time_in_force != "day"):
            raise unprocessable("notional orders must be market orders of the day")
        notional = int(_decimal(body["notional"], "notional") * ATOMS)
        lots = ledger.exchange.books[listing.symbol].affordable(side, notional, listing.value)
        if not lots:
            raise unprocessable("notional is too small for the quantity increment")
    else:
        lots = _lots(body["qty"], listing)
    if not crypto and lots * listing.unit % ATOMS and time_in_force != "day":
        raise unprocessable("fractional orders must be DAY orders")
    return AlpacaTicket(
        listing, side, cast("OrderKind", kind), lots, price, stop, _client_id(ledger, call, listing),
        OrderTerms(time_in_force, notional, extended),
    )  # fmt: skip


def _client_id(ledger: AlpacaLedger, call: AlpacaCall, listing: ListedPair) -> str:
    given = call.body.get("client_order_id")
    if not given:
        return unique_id("client", call.account, listing.symbol, ledger.exchange.books[listing.symbol].number + 1)
    if not isinstance(given, str) or len(given) > LONGEST_ID:
        raise unprocessable(f"client_order_id must be a text of at most {LONGEST_ID} characters")
    if (call.account, given) in ledger.clients:
        raise unprocessable("client_order_id must be unique")
    return given


def now_row(ledger: AlpacaLedger, order: ExchangeOrder) -> dict[str, Any]:
    """An order as it stands now."""
    return order_row(ledger, order, waiting=ledger.exchange.halted(order.symbol))


def _place(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    return now_row(ledger, placed(ledger, call.account, _ticket(ledger, call)))


def placed(ledger: AlpacaLedger, account: str, ticket: AlpacaTicket) -> ExchangeOrder:
    """Place an order that the account can carry.

    Raises:
        AlpacaRefusalError: the account cannot carry it.
    """
    listing = ticket.listing
    ticks = ticket.price if ticket.price is not None else ticket.stop
    funds.check(ledger, account, listing, ticket.side, ticket.lots, ticks)
    funds.check_wash(ledger, account, listing, ticket.side, ticket.price)
    order = ledger.exchange.place(
        account, listing.symbol, ticket.side, ticket.kind, ticket.lots, price=ticket.price, stop=ticket.stop,
        time_in_force=_EXCHANGE_TIMES[ticket.terms.time_in_force], client_id=ticket.client_id,
    )  # fmt: skip
    ledger.state_terms(order, ticket.terms)
    ledger.collect()
    return order


def _replace(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    order, body = find(ledger, call), call.body
    listing, terms = ledger.exchange.listings[order.symbol], ledger.terms_of(order)
    if not order.open:
        raise unprocessable(f'order is not open: it is already in "{now_row(ledger, order)["status"]}" state')
    if ledger.exchange.halted(order.symbol) or terms.notional is not None:
        raise unprocessable("unable to replace order: it is accepted and not new yet, or of a notional value")
    if body.get("trail") is not None:
        raise unprocessable("trail is only for trailing stop orders")
    time_in_force = str(body.get("time_in_force") or terms.time_in_force)
    if time_in_force not in (_COIN_TIMES if is_crypto(order.symbol) else _STOCK_TIMES):
        raise unprocessable(f"invalid time_in_force {time_in_force[:40]!r}")
    lots = order.quantity if body.get("qty") is None else _lots(body["qty"], listing)
    prices: list[int | None] = []
    for name, before in (("limit_price", order.price), ("stop_price", order.stop)):
        if body.get(name) is None:
            prices.append(before)
        elif before is None:
            raise unprocessable(f"{order.kind} order must not have {name}")
        else:
            prices.append(_price(body, name, listing))
    client_id = _client_id(ledger, call, listing)
    price, stop = prices
    ticks = price if price is not None else stop
    funds.check(ledger, call.account, listing, order.side, lots, ticks, without=order)
    funds.check_wash(ledger, call.account, listing, order.side, price)
    # All that could refuse the new order has been checked, so that the old one is not lost for nothing.
    ledger.exchange.cancel(order)
    new = ledger.exchange.place(
        call.account, order.symbol, order.side, order.kind, lots, price=price, stop=stop,
        time_in_force=_EXCHANGE_TIMES[time_in_force], client_id=client_id,
    )  # fmt: skip
    ledger.state_terms(new, OrderTerms(time_in_force, None, terms.extended, replaces=order_id(order)))
    terms.replaced_by = order_id(new)
    ledger.collect()
    return now_row(ledger, new)


def find(ledger: AlpacaLedger, call: AlpacaCall) -> ExchangeOrder:
    """The account's order that the path names.

    Raises:
        AlpacaRefusalError: the account has no such order: 404.
    """
    order = ledger.orders.get(call.args["order"])
    if order is None or order.account != call.account:
        raise missing(f"order {call.args['order'][:40]}")
    return order


def _get(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    return now_row(ledger, find(ledger, call))


def _by_client_id(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    order = ledger.clients.get((call.account, call.params.get("client_order_id", "")))
    if order is None:
        raise missing("order")
    return now_row(ledger, order)


def _cancel(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    order = find(ledger, call)
    if not ledger.exchange.cancel(order):
        raise unprocessable(f'order is not cancelable: it is already in "{now_row(ledger, order)["status"]}" state')
    ledger.collect()


def cancel_all(ledger: AlpacaLedger, account: str) -> list[dict[str, Any]]:
    """Cancel every open order of an account."""
    orders = ledger.exchange.open_orders(account)
    for order in orders:
        ledger.exchange.cancel(order)
    ledger.collect()
    return [{"id": order_id(order), "status": 200} for order in orders]


def _list(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    which = call.choice("status", "open", "closed", "all")
    names = {name.upper().replace("/", "") for name in call.params.get("symbols", "").split(",") if name}
    after, until = call.time("after", -1), call.time("until", 2**62)
    orders = [
        order
        for order in (
            ledger.exchange.open_orders(call.account)
            if which == "open"
            else [order for order in ledger.orders.values() if order.account == call.account]
        )
        if after < order.time < until
        and not (which == "closed" and order.open)
        and (not names or order.symbol.replace("/", "") in names)
        and call.params.get("side", "buy" if order.side > 0 else "sell") == ("buy" if order.side > 0 else "sell")
        and call.params.get("asset_class") in {None, "", asset_class(order.symbol)}
    ]
    orders.sort(key=lambda order: order.time, reverse=call.choice("direction", "desc", "asc") == "desc")
    return [now_row(ledger, order) for order in orders[: call.integer("limit", 50, 500)]]


def closing(ledger: AlpacaLedger, account: str, listing: ListedPair, lots: int, side: int) -> ExchangeOrder:
    """Place the market order that closes a position or a part of it."""
    client_id = unique_id("close", account, listing.symbol, ledger.exchange.books[listing.symbol].number + 1)
    time_in_force = "gtc" if is_crypto(listing.symbol) else "day"
    return placed(
        ledger, account, AlpacaTicket(listing, side, "market", lots, None, None, client_id, OrderTerms(time_in_force))
    )


ORDER_ROUTES = (
    AlpacaRoute("POST", "/v2/orders", _place, placing=True),
    AlpacaRoute("GET", "/v2/orders", _list),
    AlpacaRoute("DELETE", "/v2/orders", lambda ledger, call: StatusAnswer(207, cancel_all(ledger, call.account))),
    AlpacaRoute("GET", "/v2/orders:by_client_order_id", _by_client_id),
    AlpacaRoute("GET", "/v2/orders/{order}", _get),
    AlpacaRoute("PATCH", "/v2/orders/{order}", _replace, placing=True),
    AlpacaRoute("DELETE", "/v2/orders/{order}", _cancel),
)
