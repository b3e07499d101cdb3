"""Binance's messages turned into reports: orders, events of the stream, fills, refusals and symbols."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from openfingym.headers import retry_after_s
from openfingym.market.brokers.broker import BrokerAnswer, BrokerRefusal
from openfingym.market.brokers.reports import BrokerExecution, Instrument, OrderReport, OrderState, Report, ReportSource
from openfingym.market.brokers.wire import protocol
from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

MILLISECOND = 1_000_000
_STATES = {
    "PENDING_NEW": OrderState.PENDING,
    "NEW": OrderState.OPEN,
    "PARTIALLY_FILLED": OrderState.OPEN,
    "PENDING_CANCEL": OrderState.OPEN,
    "FILLED": OrderState.FILLED,
    "CANCELED": OrderState.CANCELLED,
    "REJECTED": OrderState.REJECTED,
    "EXPIRED": OrderState.EXPIRED,
    "EXPIRED_IN_MATCH": OrderState.EXPIRED,
}
_TYPES = {
    "MARKET": OrderType.MARKET,
    "LIMIT": OrderType.LIMIT,
    "LIMIT_MAKER": OrderType.LIMIT,
    "STOP_LOSS": OrderType.STOP,
    "TAKE_PROFIT": OrderType.STOP,
    "STOP_LOSS_LIMIT": OrderType.STOP_LIMIT,
    "TAKE_PROFIT_LIMIT": OrderType.STOP_LIMIT,
}
_FILTERS = (
    ("LOT_SIZE", Reason.ODD_LOT),
    ("PRICE_FILTER", Reason.OFF_TICK),
    ("PERCENT_PRICE", Reason.BAD_PRICE),
    ("NOTIONAL", Reason.BAD_QUANTITY),
    ("MAX_NUM", Reason.TOO_MANY_ORDERS),
)
# The venue's codes of errors.
BAD_KEYS = frozenset({-2014, -2015})
"""Codes that say that the keys are of no use."""
BAD_TIME = -1021
"""Code of a request whose time is too far from the venue's."""
BAD_SIGNATURE = -1022
"""Code of a request whose signature is wrong."""
_TOO_MANY_ORDERS, _NEW_ORDER_REJECTED, _NO_SUCH_ORDER = -1015, -2010, -2013
_REASONS = {
    -1111: Reason.ODD_LOT,
    -1121: Reason.UNKNOWN_SYMBOL,
    _TOO_MANY_ORDERS: Reason.TOO_MANY_ORDERS,
    -2011: Reason.NOT_OPEN,
}
_UNCERTAIN = frozenset({-1000, -1001, -1006, -1007, -1008})
"""Codes after which an order may have been taken: the venue itself does not know, had no answer in time, or is busy."""


def order_reports(order: dict[str, Any], *, replaced: bool = False) -> list[Report]:
    """The reports in an order as answers state it, its fills first.

    Args:
        order: the order, as JSON has it.
        replaced: whether it was cancelled in order to be replaced.
    """
    with protocol("binance"):
        order_id, symbol = f"{order['symbol']}/{order['orderId']}", order["symbol"]
        side = Side[order["side"]] if "side" in order else Side.BUY
        # In the answer to a cancellation, ``clientOrderId`` is the id of the request that cancelled it.
        client_id = order.get("origClientOrderId") or order["clientOrderId"]
        time = order.get("transactTime", 0) * MILLISECOND
        reports: list[Report] = [
            BrokerExecution(
                order_id,
                str(fill["tradeId"]),
                symbol,
                side,
                Decimal(fill["qty"]),
                Decimal(fill["price"]),
                time,
                ReportSource.STREAM,
                Decimal(fill["commission"]),
                fill["commissionAsset"],
                client_id=client_id,
            )
            for fill in order.get("fills", ())
        ]
        if "status" in order:
            reports.append(_report(order, order_id, client_id, side, replaced=replaced))
        return reports


def event_reports(event: dict[str, Any]) -> list[Report]:
    """The reports in an ``executionReport``, a fill before its order."""
    order_id, side = f"{event['s']}/{event['i']}", Side[event["S"]]
    # When an order is cancelled, ``c`` is the id of the request that did it.
    client_id = event["C"] or event["c"]
    filled, value = Decimal(event["z"]), Decimal(event["Z"])
    state = _STATES.get(event["X"], OrderState.OPEN)
    if event["x"] == "REPLACED":
        state = OrderState.REPLACED
    reports: list[Report] = []
    if event["x"] == "TRADE":
        reports.append(
            BrokerExecution(
                order_id,
                str(event["t"]),
                event["s"],
                side,
                Decimal(event["l"]),
                Decimal(event["L"]),
                event["T"] * MILLISECOND,
                ReportSource.STREAM,
                Decimal(event["n"] or 0),
                event["N"] or "",
                client_id=client_id,
            )
        )
    order = OrderReport(
        order_id,
        client_id,
        event["s"],
        side,
        Decimal(event["q"]),
        filled,
        value if value > 0 else None,
        state,
        _TYPES.get(event["o"], OrderType.MARKET),
        TimeInForce.GTC if event["f"] == "GTC" else TimeInForce.IOC,
        Decimal(event["p"]) or None,
        Decimal(event["P"]) or None,
        Reason.VENUE_REFUSED if state is OrderState.REJECTED else Reason.NONE,
        str(event.get("r", "")) if state is OrderState.REJECTED else "",
    )
    return [*reports, order]


def trade_execution(trade: dict[str, Any]) -> BrokerExecution:
    """The report of a fill as answers to questions for fills state it."""
    return BrokerExecution(
        f"{trade['symbol']}/{trade['orderId']}",
        str(trade["id"]),
        trade["symbol"],
        Side.BUY if trade["isBuyer"] else Side.SELL,
        Decimal(trade["qty"]),
        Decimal(trade["price"]),
        trade["time"] * MILLISECOND,
        ReportSource.ACTIVITY,
        Decimal(trade["commission"]),
        trade["commissionAsset"],
    )


def refusal(answer: BrokerAnswer) -> BrokerRefusal | None:
    """The meaning of an answer that refuses a request; None for one that does not."""
    if answer.good:
        return None
    code, text = _code(answer)
    if answer.status == 401 or code in BAD_KEYS:
        return BrokerRefusal(text, fatal=True)
    if answer.status in {418, 429} and code != _TOO_MANY_ORDERS:
        return BrokerRefusal(text, Reason.VENUE_AWAY, wait_s=retry_after_s(answer.headers) or 60.0)
    if answer.status == 0 or answer.status >= 500 or code in _UNCERTAIN:
        return BrokerRefusal(text or "no answer", Reason.VENUE_AWAY, certain=False)
    if code == BAD_TIME:
        return BrokerRefusal(text, Reason.VENUE_AWAY, clock=True)
    if code == _NO_SUCH_ORDER:
        return BrokerRefusal(text, Reason.UNKNOWN_ORDER, missing=True)
    if code == _NEW_ORDER_REJECTED and "Duplicate" in text:  # it may be our own request that came twice
        return BrokerRefusal(text, Reason.DUPLICATE_ID, certain=False)
    if "insufficient balance" in text:
        return BrokerRefusal(text, Reason.INSUFFICIENT_CASH)
    by_filter = next((reason for words, reason in _FILTERS if words in text), Reason.VENUE_REFUSED)
    return BrokerRefusal(text, _REASONS.get(code, by_filter))


def instrument(symbol: dict[str, Any]) -> Instrument:
    """An instrument from an element of ``symbols`` in an answer of ``/api/v3/exchangeInfo``.

    Raises:
        FeedError: the answer is not of the venue's protocol.
    """
    with protocol("binance"):
        filters = {rule["filterType"]: rule for rule in symbol["filters"]}
        lot, value = filters.get("LOT_SIZE", {}), filters.get("NOTIONAL", filters.get("MIN_NOTIONAL", {}))
        return Instrument(
            symbol["symbol"],
            symbol["baseAsset"],
            symbol["quoteAsset"],
            Decimal(filters.get("PRICE_FILTER", {}).get("tickSize", 0)),
            Decimal(lot.get("stepSize", 0)),
            Decimal(lot.get("minQty", 0)),
            Decimal(value.get("minNotional", 0)),
        )


def _report(order: dict[str, Any], order_id: str, client_id: str, side: Side, *, replaced: bool) -> OrderReport:
    value = Decimal(order["cummulativeQuoteQty"])
    state = _STATES.get(order["status"], OrderState.OPEN)
    return OrderReport(
        order_id,
        client_id,
        order["symbol"],
        side,
        Decimal(order["origQty"]),
        Decimal(order["executedQty"]),
        value if value > 0 else None,
        OrderState.REPLACED if replaced and state is OrderState.CANCELLED else state,
        _TYPES.get(order["type"], OrderType.MARKET),
        TimeInForce.GTC if order["timeInForce"] == "GTC" else TimeInForce.IOC,
        Decimal(order["price"]) or None,
        Decimal(order.get("stopPrice") or 0) or None,
        Reason.VENUE_REFUSED if state is OrderState.REJECTED else Reason.NONE,
    )


def _code(answer: BrokerAnswer) -> tuple[int, str]:
    try:
        error = json.loads(answer.body)
        return int(error["code"]), str(error["msg"])[:300]
    except (ValueError, KeyError, TypeError):
        return 0, f"status {answer.status}" if answer.status else ""
