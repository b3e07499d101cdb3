"""The signed operations of a local Binance venue: orders, fills and the account."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple, cast

from openfingym.market.sim.binance import order_wire
from openfingym.market.sim.binance.keys import NUMBER
from openfingym.market.sim.binance.ledger import BinanceLedger
from openfingym.market.sim.binance.market_data import (
    MIN_NOTIONAL,
    MOST_LOTS,
    MarketDataCall,
    Operation,
    always,
    listing,
)
from openfingym.market.sim.binance.wire import ApiError
from openfingym.market.sim.events import ATOMS, ExchangeOrder, ListedPair, OrderKind, TimeInForce

# Types of orders by the venue's names, and the parameters that each of them takes.
_KINDS = {name: cast("OrderKind", kind) for kind, name in order_wire.KINDS.items()}
_TAKES = {
    "limit": {"price", "timeInForce"},
    "market": set(),
    "stop": {"stopPrice"},
    "stop_limit": {"price", "stopPrice", "timeInForce"},
    "limit_maker": {"price"},
}
_REJECTED = {
    "duplicate-client-id": "Duplicate order sent.",
    "insufficient-balance": "Account has insufficient balance for requested action.",
    "would-match": "Order would immediately match and take.",
}


class BinanceTicket(NamedTuple):
    """The terms of an order that a request states, in ticks and lots."""

    listing: ListedPair
    side: int
    """1 for a buy, -1 for a sell."""
    kind: OrderKind
    quantity: int
    """Lots."""
    price: int | None
    """Limit in ticks; None without one."""
    stop: int | None
    """Stop price in ticks; None without one."""
    time_in_force: TimeInForce
    client_id: str
    answer: str
    """The type of answer that is wanted."""


def _number(call: MarketDataCall, name: str) -> Decimal:
    text = call.need(name)
    if not NUMBER.fullmatch(text):
        raise ApiError(-1100, f"Illegal characters found in parameter '{name}'; legal range is '{NUMBER.pattern}'.")
    value = Decimal(text)
    if not value:
        raise ApiError(-1013, f"Invalid {'quantity' if 'ty' in name else 'price'}.")
    return value


def _whole(call: MarketDataCall, name: str, step: Decimal, filtered: str) -> int:
    """A parameter that is a price or a quantity, in whole steps.

    Args:
        call: the request with the parameter.
        name: name of the parameter.
        step: size of a tick or a lot.
        filtered: name of the filter that refuses other numbers.

    Raises:
        ApiError: it is not a number, or not one of whole steps.
    """
    value = _number(call, name)
    if (value * ATOMS) % 1:
        raise ApiError(-1111, f"Parameter '{name}' has too much precision.")
    if value % step or not value / step <= MOST_LOTS:
        raise ApiError(-1013, f"Filter failure: {filtered}")
    return int(value / step)


def _ticket(ledger: BinanceLedger, call: MarketDataCall) -> BinanceTicket:
    """The order that a request states.

    Raises:
        ApiError: a parameter is missing, malformed, or refused by a filter of the symbol.
    """
    pair = listing(ledger, call)
    side = {"BUY": 1, "SELL": -1}.get(call.need("side"))
    if side is None:
        raise ApiError(-1117, "Invalid side.")
    kind = _KINDS.get(call.need("type"))
    if kind is None:
        raise ApiError(-1116, "Invalid orderType.")
    takes = _TAKES[kind]
    for name in ("price", "stopPrice", "timeInForce"):
        if name in takes:
            call.need(name)
        elif call.params.get(name):
            raise ApiError(-1106, f"Parameter '{name}' sent when not required.")
    time_in_force = call.params.get("timeInForce") or "GTC"
    if time_in_force not in {"GTC", "IOC", "FOK"}:
        raise ApiError(-1115, "Invalid timeInForce.")
    price = _whole(call, "price", pair.tick, "PRICE_FILTER") if "price" in takes else None
    stop = _whole(call, "stopPrice", pair.tick, "PRICE_FILTER") if "stopPrice" in takes else None
    if kind == "market" and call.params.get("quoteOrderQty"):
        if call.params.get("quantity"):
            raise ApiError(-1106, "Parameter 'quoteOrderQty' sent when not required.")
        budget = int(_number(call, "quoteOrderQty") * ATOMS)
        quantity = ledger.exchange.books[pair.symbol].affordable(side, budget, pair.value)
        if not quantity:
            raise ApiError(-1013, "Filter failure: LOT_SIZE")
    else:
        quantity = _whole(call, "quantity", pair.lot, "LOT_SIZE")
    book = ledger.exchange.books[pair.symbol]
    # Valued at its limit, at its stop price, or at the last price.
    if quantity * (price or stop or book.last or 0) * pair.value < MIN_NOTIONAL:
        raise ApiError(-1013, "Filter failure: NOTIONAL")
    # Binance refuses a stop order whose price is reached already; the exchange itself would trigger it.
    if stop is not None and book.last is not None and (book.last - stop) * side >= 0:
        raise ApiError(-2010, "Stop price would trigger immediately.")
    client_id = call.params.get("newClientOrderId", "")
    if len(client_id) > 36:
        raise ApiError(-1100, "Illegal characters found in parameter 'newClientOrderId'; expected at most 36.")
    answer = call.params.get("newOrderRespType", "FULL" if kind in {"market", "limit"} else "ACK")
    if answer not in {"ACK", "RESULT", "FULL"}:
        raise ApiError(-1100, "Illegal characters found in parameter 'newOrderRespType'.")
    return BinanceTicket(
        pair, side, kind, quantity, price, stop, cast("TimeInForce", time_in_force),
        client_id or _drawn_id(pair.symbol, book.number + 1), answer,
    )  # fmt: skip


def _drawn_id(symbol: str, number: int) -> str:
    """A client order id for a request that states none, which is the same in every run."""
    return hashlib.sha256(f"{symbol}/{number}".encode()).hexdigest()[:22]


def _place(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    ticket = _ticket(ledger, call)
    order = ledger.exchange.place(
        call.account, ticket.listing.symbol, ticket.side, ticket.kind, ticket.quantity, price=ticket.price,
        stop=ticket.stop, time_in_force=ticket.time_in_force, client_id=ticket.client_id,
    )  # fmt: skip
    ledger.collect()
    if order.status == "rejected":
        raise ApiError(-2010, _REJECTED.get(order.reason, "Order was rejected."))
    return order_wire.order_answer(ticket.listing, order, ledger.fills_of(order), ticket.answer, call.unit)


def _test(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    _ticket(ledger, call)
    return {}


def _find(ledger: BinanceLedger, call: MarketDataCall, missing: ApiError) -> tuple[ListedPair, ExchangeOrder]:
    pair = listing(ledger, call)
    if call.params.get("orderId"):
        order = ledger.exchange.orders.get((pair.symbol, call.integer("orderId")))
    elif call.params.get("origClientOrderId"):
        order = ledger.exchange.by_client_id(call.account, call.params["origClientOrderId"])
    else:
        raise ApiError(-1102, "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!")
    if order is None or (order.account, order.symbol) != (call.account, pair.symbol) or order.status == "rejected":
        raise missing
    return pair, order


def _query(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    pair, order = _find(ledger, call, ApiError(-2013, "Order does not exist."))
    return order_wire.order_row(pair, order, call.unit)


def _cancel(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    unknown = ApiError(-2011, "Unknown order sent.")
    pair, order = _find(ledger, call, unknown)
    return _cancelled(ledger, call, pair, order, unknown)


def _cancelled(
    ledger: BinanceLedger, call: MarketDataCall, pair: ListedPair, order: ExchangeOrder, unknown: ApiError
) -> dict[str, Any]:
    client_id = call.params.get("newClientOrderId") or _drawn_id(f"cancel/{order.symbol}", order.id)
    if not order.open:
        raise unknown
    ledger.cancellations[order.symbol, order.id] = client_id
    ledger.exchange.cancel(order)
    ledger.collect()
    return order_wire.cancel_answer(pair, order, client_id, call.unit)


def _cancel_replace(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    """Cancel an order and place another.

    Raises:
        ApiError: neither was done (status 400), or only one of the two (status 409).
    """
    mode = call.need("cancelReplaceMode")
    if mode not in {"STOP_ON_FAILURE", "ALLOW_FAILURE"}:
        raise ApiError(-1100, "Illegal characters found in parameter 'cancelReplaceMode'.")
    _ticket(ledger, call)  # a new order that is malformed cancels nothing
    names = {"orderId": "OrderId", "origClientOrderId": "OrigClientOrderId", "newClientOrderId": "NewClientOrderId"}
    params = {name: call.params.get(f"cancel{ending}", "") for name, ending in names.items()}
    cancel_result, cancelled = _tried(_cancel, ledger, replace(call, params={"symbol": call.need("symbol"), **params}))
    new_result, placed = "NOT_ATTEMPTED", None
    if cancel_result == "SUCCESS" or mode == "ALLOW_FAILURE":
        new_result, placed = _tried(_place, ledger, call)
    results = {
        "cancelResult": cancel_result,
        "newOrderResult": new_result,
        "cancelResponse": cancelled,
        "newOrderResponse": placed,
    }
    if cancel_result == new_result == "SUCCESS":
        return results
    if "SUCCESS" in {cancel_result, new_result}:
        raise ApiError(-2021, "Order cancel-replace partially failed.", status=409, data=results)
    raise ApiError(-2022, "Order cancel-replace failed.", data=results)


def _tried(
    run: Callable[[BinanceLedger, MarketDataCall], Any], ledger: BinanceLedger, call: MarketDataCall
) -> tuple[str, Any]:
    """Carry out one half of a replacement, and return how it went, and its answer."""
    try:
        return "SUCCESS", run(ledger, call)
    except ApiError as error:
        return "FAILURE", error.json()


def _cancel_all(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    pair, unknown = listing(ledger, call), ApiError(-2011, "Unknown order sent.")
    orders = ledger.exchange.open_orders(call.account, pair.symbol)
    if not orders:
        raise unknown
    return [_cancelled(ledger, call, pair, order, unknown) for order in orders]


def _open_orders(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    symbol = listing(ledger, call).symbol if call.params.get("symbol") else None
    listings = ledger.exchange.listings
    return [
        order_wire.order_row(listings[order.symbol], order, call.unit)
        for order in ledger.exchange.open_orders(call.account, symbol)
    ]


def _all_orders(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    pair = listing(ledger, call)
    begin, end, first = call.time("startTime", 0), call.time("endTime", 2**62), call.integer("orderId", 0)
    orders = [
        order
        for order in ledger.exchange.orders.values()
        if (order.account, order.symbol) == (call.account, pair.symbol)
        and order.status != "rejected"
        and begin <= order.time < end + call.unit
        and order.id >= first
    ]
    most = call.limit()
    rows = orders[:most] if first else orders[-most:]  # from a number on, or else the newest
    return [order_wire.order_row(pair, order, call.unit) for order in rows]


def _my_trades(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    pair = listing(ledger, call)
    begin, end = call.time("startTime", 0), call.time("endTime", 2**62)
    first, wanted = call.integer("fromId", 0), call.params.get("orderId")
    if wanted:
        call.integer("orderId")
    fills = [
        fill
        for fill in ledger.fills[call.account]
        if fill.symbol == pair.symbol
        and begin <= fill.time < end + call.unit
        and fill.trade >= first
        and (not wanted or fill.order.id == int(wanted))
    ]
    most = call.limit()
    # From a place on, or else the newest.
    rows = fills[:most] if call.params.get("fromId") or call.params.get("startTime") else fills[-most:]
    return [order_wire.fill_row(pair, fill, call.unit) for fill in rows]


def _account(ledger: BinanceLedger, call: MarketDataCall) -> Any:
    holdings = ledger.holdings(call.account, ledger.shown())
    if call.params.get("omitZeroBalances") == "true":
        holdings = {asset: holding for asset, holding in holdings.items() if any(holding)}
    terms = next(iter(ledger.exchange.listings.values()))
    return order_wire.account_answer(holdings, terms, ledger.exchange.now, call.unit)


def _open_weight(params: Mapping[str, str]) -> int:
    return 6 if params.get("symbol") else 80


def _fills_weight(params: Mapping[str, str]) -> int:
    return 5 if params.get("orderId") else 20


OPERATIONS = (
    Operation("POST /api/v3/order", "order.place", always(1), True, _place),
    Operation("POST /api/v3/order/test", "order.test", always(1), True, _test),
    Operation("GET /api/v3/order", "order.status", always(4), True, _query),
    Operation("DELETE /api/v3/order", "order.cancel", always(1), True, _cancel),
    Operation("POST /api/v3/order/cancelReplace", "order.cancelReplace", always(1), True, _cancel_replace),
    Operation("GET /api/v3/openOrders", "openOrders.status", _open_weight, True, _open_orders),
    Operation("DELETE /api/v3/openOrders", "openOrders.cancelAll", always(1), True, _cancel_all),
    Operation("GET /api/v3/allOrders", "allOrders", always(20), True, _all_orders),
    Operation("GET /api/v3/myTrades", "myTrades", _fills_weight, True, _my_trades),
    Operation("GET /api/v3/account", "account.status", always(20), True, _account),
)
FREE = frozenset({"order.place", "order.cancel", "openOrders.cancelAll"})
"""Operations that weigh nothing where they succeed."""
