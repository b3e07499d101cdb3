"""The JSON shapes of Binance's orders, fills and accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openfingym.market.sim.accounts import Holding
from openfingym.market.sim.binance.wire import amount, price, quantity
from openfingym.market.sim.events import Balance, ExchangeExecution, ExchangeOrder, ListedPair

KINDS = {
    "limit": "LIMIT",
    "market": "MARKET",
    "stop": "STOP_LOSS",
    "stop_limit": "STOP_LOSS_LIMIT",
    "limit_maker": "LIMIT_MAKER",
}
_EXECUTIONS = {
    "new": "NEW",
    "triggered": "NEW",
    "trade": "TRADE",
    "canceled": "CANCELED",
    "expired": "EXPIRED",
    "reduced": "REPLACED",
}


def _common(listing: ListedPair, order: ExchangeOrder, unit: int) -> dict[str, Any]:
    row = {
        "symbol": order.symbol,
        "orderId": order.id,
        "orderListId": -1,
        "clientOrderId": order.client_id,
        "price": price(listing, order.price),
        "origQty": quantity(listing, order.quantity),
        "executedQty": quantity(listing, order.filled),
        "origQuoteOrderQty": amount(0),
        "cummulativeQuoteQty": amount(order.cost),
        "status": order.status.upper(),
        "timeInForce": order.time_in_force,
        "type": KINDS[order.kind],
        "side": side(order),
        "workingTime": order.time // unit if order.working else -1,
        "selfTradePreventionMode": "NONE",
    }
    return row | ({"stopPrice": price(listing, order.stop)} if order.stop is not None else {})


def side(order: ExchangeOrder) -> str:
    """``BUY`` or ``SELL``."""
    return "BUY" if order.side > 0 else "SELL"


def order_row(listing: ListedPair, order: ExchangeOrder, unit: int) -> dict[str, Any]:
    """An order as ``GET /order``, ``/openOrders`` and ``/allOrders`` answer it."""
    return _common(listing, order, unit) | {
        "stopPrice": price(listing, order.stop),
        "icebergQty": amount(0),
        "time": order.time // unit,
        "updateTime": order.updated // unit,
        "isWorking": order.working,
    }


def order_answer(
    listing: ListedPair, order: ExchangeOrder, fills: Sequence[ExchangeExecution], answer: str, unit: int
) -> dict[str, Any]:
    """The answer of ``POST /order``.

    Args:
        listing: the terms of the symbol.
        order: the order that was placed.
        fills: the fills of the order.
        answer: the type of answer that is wanted: ``ACK``, ``RESULT`` or ``FULL``.
        unit: the unit of the answer's times, in nanoseconds.
    """
    row = _common(listing, order, unit) | {"transactTime": order.updated // unit}
    if answer == "ACK":
        return {name: row[name] for name in ("symbol", "orderId", "orderListId", "clientOrderId", "transactTime")}
    if answer == "FULL":
        row["fills"] = [
            {
                "price": price(listing, fill.price),
                "qty": quantity(listing, fill.quantity),
                "commission": amount(fill.fee),
                "commissionAsset": fill.fee_asset,
                "tradeId": fill.trade,
            }
            for fill in fills
        ]
    return row


def cancel_answer(listing: ListedPair, order: ExchangeOrder, client_id: str, unit: int) -> dict[str, Any]:
    """The answer of ``DELETE /order``, whose client order id is that of the cancellation."""
    row = _common(listing, order, unit) | {"transactTime": order.updated // unit}
    return row | {"origClientOrderId": order.client_id, "clientOrderId": client_id}


def fill_row(listing: ListedPair, fill: ExchangeExecution, unit: int) -> dict[str, Any]:
    """A fill as ``/myTrades`` answers it."""
    return {
        "symbol": fill.symbol,
        "id": fill.trade,
        "orderId": fill.order.id,
        "orderListId": -1,
        "price": price(listing, fill.price),
        "qty": quantity(listing, fill.quantity),
        "quoteQty": amount(fill.price * fill.quantity * listing.value),
        "commission": amount(fill.fee),
        "commissionAsset": fill.fee_asset,
        "time": fill.time // unit,
        "isBuyer": fill.order.side > 0,
        "isMaker": fill.maker,
        "isBestMatch": True,
    }


def account_answer(holdings: Mapping[str, Holding], listing: ListedPair, updated: int, unit: int) -> dict[str, Any]:
    """The answer of ``/account``.

    Args:
        holdings: the balances, by asset.
        listing: the terms whose fees are stated.
        updated: when the account last changed, in nanoseconds.
        unit: the unit of the answer's times, in nanoseconds.
    """
    rates = {"maker": amount(100 * listing.maker_ppm), "taker": amount(100 * listing.taker_ppm)}
    return {
        "makerCommission": listing.maker_ppm // 100,
        "takerCommission": listing.taker_ppm // 100,
        "buyerCommission": 0,
        "sellerCommission": 0,
        "commissionRates": rates | {"buyer": amount(0), "seller": amount(0)},
        "canTrade": True,
        "canWithdraw": False,
        "canDeposit": False,
        "brokered": False,
        "requireSelfTradePrevention": False,
        "preventSor": False,
        "updateTime": updated // unit,
        "accountType": "SPOT",
        "balances": [
            {"asset": asset, "free": amount(holding.free), "locked": amount(holding.locked)}
            for asset, holding in sorted(holdings.items())
        ],
        "permissions": ["SPOT"],
        "uid": 0,
    }


def execution_report(
    listing: ListedPair, event: ExchangeExecution, cancel_id: str, now: int, unit: int
) -> dict[str, Any]:
    """The event ``executionReport``.

    Args:
        listing: the terms of the symbol.
        event: what happened to the order.
        cancel_id: client order id of the request that cancelled the order; empty where none did.
        now: when it is sent, in nanoseconds.
        unit: the unit of its times, in nanoseconds.
    """
    order = event.order
    traded = event.kind == "trade"
    canceled = event.kind == "canceled"
    cost = event.price * event.quantity * listing.value
    working = event.status in {"new", "partially_filled"} and (order.stop is None or event.kind != "new")
    report = {
        "e": "executionReport",
        "E": now // unit,
        "s": order.symbol,
        "c": cancel_id if canceled else order.client_id,
        "S": side(order),
        "o": KINDS[order.kind],
        "f": order.time_in_force,
        "q": quantity(listing, order.quantity),
        "p": price(listing, order.price),
        "P": price(listing, order.stop),
        "F": amount(0),
        "g": -1,
        "C": order.client_id if canceled else "",
        "x": _EXECUTIONS[event.kind],
        "X": event.status.upper(),
        "r": "NONE",
        "i": order.id,
        "l": quantity(listing, event.quantity),
        "z": quantity(listing, event.filled),
        "L": price(listing, event.price),
        "n": amount(event.fee) if traded else "0",
        "N": event.fee_asset if traded else None,
        "T": event.time // unit,
        "t": event.trade,
        "I": event.id,
        "w": working,
        "m": event.maker,
        "M": False,
        "O": order.time // unit,
        "Z": amount(event.cost),
        "Y": amount(cost),
        "Q": amount(0),
        "V": "NONE",
    }
    return report | ({"W": order.time // unit} if working else {})


def account_position(balances: Sequence[Balance], now: int, unit: int) -> dict[str, Any]:
    """The event ``outboundAccountPosition``."""
    return {
        "e": "outboundAccountPosition",
        "E": now // unit,
        "u": balances[-1].time // unit,
        "B": [{"a": balance.asset, "f": amount(balance.free), "l": amount(balance.locked)} for balance in balances],
    }
