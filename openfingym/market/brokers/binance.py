"""Binance Spot's trading interface: orders to signed requests, and its messages to reports.

Requests are signed by HMAC-SHA256. The venue numbers orders within a symbol, so that an order's id here is
``SYMBOL/number``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from openfingym.errors import FeedError
from openfingym.headers import retry_after_s
from openfingym.market.brokers.broker import Answer, Broker, FillQuery, OrderSession, Refusal, plain
from openfingym.market.brokers.reports import (
    ZERO,
    AccountReport,
    Execution,
    Instrument,
    OrderReport,
    Report,
    Source,
    State,
    Submitted,
)
from openfingym.market.brokers.signing import signed_fields, signed_query
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.brokers.wire import parsed, protocol
from openfingym.market.commands import Instant
from openfingym.market.feed import Address, Frame, Request
from openfingym.market.keys import Keys
from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

DEMO = "https://demo-api.binance.com"
DEMO_STREAM = "wss://demo-ws-api.binance.com/ws-api/v3"
_MILLISECOND = 1_000_000
_DAY = 86_400_000
"""Milliseconds that an answer of fills may span."""
_PAGE = 1000

_STATES = {
    "PENDING_NEW": State.PENDING,
    "NEW": State.OPEN,
    "PARTIALLY_FILLED": State.OPEN,
    "PENDING_CANCEL": State.OPEN,
    "FILLED": State.FILLED,
    "CANCELED": State.CANCELLED,
    "REJECTED": State.REJECTED,
    "EXPIRED": State.EXPIRED,
    "EXPIRED_IN_MATCH": State.EXPIRED,
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
_TYPE_NAMES = {
    OrderType.MARKET: "MARKET",
    OrderType.LIMIT: "LIMIT",
    OrderType.STOP: "STOP_LOSS",
    OrderType.STOP_LIMIT: "STOP_LOSS_LIMIT",
}
_FILTERS = (
    ("LOT_SIZE", Reason.ODD_LOT),
    ("PRICE_FILTER", Reason.OFF_TICK),
    ("PERCENT_PRICE", Reason.BAD_PRICE),
    ("NOTIONAL", Reason.BAD_QUANTITY),
    ("MAX_NUM", Reason.TOO_MANY_ORDERS),
)
_REASONS = {-1111: Reason.ODD_LOT, -1121: Reason.UNKNOWN_SYMBOL, -1015: Reason.TOO_MANY_ORDERS, -2011: Reason.NOT_OPEN}
_BAD_KEYS = frozenset({-2014, -2015})
_UNCERTAIN = frozenset({-1000, -1001, -1006, -1007, -1008})
"""Codes after which an order may have been taken."""


class Binance(Broker):
    """An account at Binance Spot, by default one in demo mode."""

    venue = "binance"
    weight_per_minute = 6000
    fee_assets = ("BNB",)

    def __init__(
        self,
        instruments: Iterable[Instrument],
        keys: Keys,
        *,
        cash: str = "USDT",
        rest: str = DEMO,
        stream: str = DEMO_STREAM,
        receive_window_ms: int = 5000,
    ) -> None:
        """An account at Binance.

        Args:
            instruments: what is traded, from :func:`instrument`.
            keys: the account's keys.
            cash: the asset in which the account is kept.
            rest: beginning of the URLs of the REST interface.
            stream: URL of the WebSocket interface that tells what happens to orders.
            receive_window_ms: how old a request may be when it arrives, in milliseconds.
        """
        super().__init__(instruments)
        self.cash = cash
        self._rest, self._stream, self._keys, self._window = rest, stream, keys, receive_window_ms
        self._offset = 0
        """The venue's clock less ours, in nanoseconds."""

    def stream(self) -> Address:
        """See :class:`Broker`."""
        return Address(self._stream)

    def rest(self) -> Address:
        """See :class:`Broker`; every request carries the key."""
        return Address(self._rest, {"X-MBX-APIKEY": self._keys.key})

    def session(self) -> BinanceSession:
        """See :class:`Broker`."""
        return BinanceSession(self)

    def timestamp(self, at: Instant) -> str:
        """The time that a request carries, in milliseconds by the venue's clock."""
        return str((at.wall + self._offset) // _MILLISECOND)

    def login(self, at: Instant) -> dict[str, str]:
        """Signed parameters by which a connection asks for this account's events."""
        return signed_fields(self._keys.secret, {"apiKey": self._keys.key, "timestamp": self.timestamp(at)})

    def _signed(self, method: str, path: str, fields: dict[str, str], at: Instant, weight: int = 1) -> Request:
        fields = {**fields, "recvWindow": str(self._window), "timestamp": self.timestamp(at)}
        return Request(method, f"{path}?{signed_query(self._keys.secret, fields)}", weight)

    def place(self, order: Submitted, at: Instant) -> Request:
        """See :class:`Broker`."""
        return self._signed("POST", "/api/v3/order", {**_fields(order), "newOrderRespType": "FULL"}, at)

    def replace(self, old: TrackedOrder, new: Submitted, at: Instant) -> Request:
        """See :class:`Broker`. The new order is placed only if the old one could be cancelled."""
        fields = {
            **_fields(new),
            "newOrderRespType": "FULL",
            "cancelReplaceMode": "STOP_ON_FAILURE",
            "cancelOrderId": _number(old.order_id),
        }
        return self._signed("POST", "/api/v3/order/cancelReplace", fields, at)

    def cancel(self, order: TrackedOrder, at: Instant) -> Request:
        """See :class:`Broker`."""
        fields = {"symbol": order.asked.symbol, "orderId": _number(order.order_id)}
        return self._signed("DELETE", "/api/v3/order", fields, at)

    def read_order(self, body: bytes) -> list[Report]:
        """See :class:`Broker`."""
        answer = parsed("binance", body, dict)
        with protocol("binance"):
            if "newOrderResponse" not in answer:
                return self._order(answer)
            return [
                report
                for name in ("newOrderResponse", "cancelResponse")
                if isinstance(answer[name], dict) and "orderId" in answer[name]
                for report in self._order(answer[name], replaced=name == "cancelResponse")
            ]

    def read_refused_replacement(self, body: bytes) -> list[Report]:
        """See :class:`Broker`: the old order may have been cancelled although the new one was refused."""
        try:
            cancelled = parsed("binance", body, dict)["data"]["cancelResponse"]
            return self._order(cancelled) if "orderId" in cancelled else []
        except (FeedError, KeyError, TypeError):
            return []

    def _order(self, order: dict[str, Any], *, replaced: bool = False) -> list[Report]:
        """The reports in an order as answers state it, its fills first."""
        with protocol("binance"):
            order_id, symbol = f"{order['symbol']}/{order['orderId']}", order["symbol"]
            side = Side[order["side"]] if "side" in order else Side.BUY
            client_id = order.get("origClientOrderId") or order["clientOrderId"]
            time = order.get("transactTime", 0) * _MILLISECOND
            told: list[Report] = [
                Execution(
                    order_id,
                    str(fill["tradeId"]),
                    symbol,
                    side,
                    Decimal(fill["qty"]),
                    Decimal(fill["price"]),
                    time,
                    Source.STREAM,
                    Decimal(fill["commission"]),
                    fill["commissionAsset"],
                    client_id=client_id,
                )
                for fill in order.get("fills", ())
            ]
            if "status" in order:
                told.append(_report(order, order_id, client_id, side, replaced=replaced))
            return told

    def ask_order(self, symbol: str, order_id: str, client_id: str, at: Instant) -> Request:
        """See :class:`Broker`."""
        if order_id:
            fields = {"symbol": order_id.partition("/")[0], "orderId": _number(order_id)}
        else:
            fields = {"symbol": symbol, "origClientOrderId": client_id}
        return self._signed("GET", "/api/v3/order", fields, at, 4)

    def ask_open(self, at: Instant) -> Request:
        """See :class:`Broker`."""
        return self._signed("GET", "/api/v3/openOrders", {}, at, 80)

    def read_open(self, body: bytes) -> list[OrderReport]:
        """See :class:`Broker`."""
        reports = [report for order in parsed("binance", body, list) for report in self._order(order)]
        return [report for report in reports if isinstance(report, OrderReport)]

    def ask_account(self, number: int, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        return self._signed("GET", "/api/v3/account", {"omitZeroBalances": "true"}, at, 20)

    def read_account(self, number: int, body: bytes, started: int) -> AccountReport:  # noqa: ARG002
        """See :class:`Broker`. An asset that the balances do not name is not held."""
        items = self.instruments.values()
        totals = dict.fromkeys([self.cash, *self.fee_assets, *(item.base for item in items)], ZERO)
        with protocol("binance"):
            for balance in parsed("binance", body, dict)["balances"]:
                if balance["asset"] in totals:
                    totals[balance["asset"]] = Decimal(balance["free"]) + Decimal(balance["locked"])
        return AccountReport(totals, started)

    def fills_since(self, since: int) -> list[FillQuery]:
        """See :class:`Broker`."""
        return [FillQuery(symbol, since=since) for symbol in self.instruments]

    def ask_fills(self, query: FillQuery, at: Instant) -> Request:
        """See :class:`Broker`."""
        fields, weight = {"symbol": query.symbol, "limit": str(_PAGE)}, 20
        if query.page:
            fields["fromId"] = query.page
        if query.order_id:
            fields["orderId"], weight = _number(query.order_id), 5
        elif not query.page:
            begin = query.since // _MILLISECOND
            fields |= {"startTime": str(begin), "endTime": str(begin + _DAY)}
        return self._signed("GET", "/api/v3/myTrades", fields, at, weight)

    def read_fills(self, query: FillQuery, body: bytes, at: Instant) -> tuple[list[Report], FillQuery | None]:
        """See :class:`Broker`."""
        trades = parsed("binance", body, list)
        with protocol("binance"):
            found: list[Report] = [
                Execution(
                    f"{trade['symbol']}/{trade['orderId']}",
                    str(trade["id"]),
                    trade["symbol"],
                    Side.BUY if trade["isBuyer"] else Side.SELL,
                    Decimal(trade["qty"]),
                    Decimal(trade["price"]),
                    trade["time"] * _MILLISECOND,
                    Source.ACTIVITY,
                    Decimal(trade["commission"]),
                    trade["commissionAsset"],
                )
                for trade in trades
            ]
            if len(trades) >= _PAGE:
                return found, query._replace(page=str(trades[-1]["id"] + 1))
        later = query.since + _DAY * _MILLISECOND
        if not query.order_id and not query.page and later < at.wall + self._offset:
            return found, query._replace(since=later)
        return found, None

    def ask_time(self) -> Request:
        """See :class:`Broker`."""
        return Request("GET", "/api/v3/time")

    def read_time(self, body: bytes, sent: Instant, at: Instant) -> None:
        """See :class:`Broker`: the venue's time is taken to be that of the middle of the exchange."""
        with protocol("binance"):
            half = (at.monotonic - sent.monotonic) // 2
            self._offset = parsed("binance", body, dict)["serverTime"] * _MILLISECOND - (at.wall - half)

    def refusal(self, answer: Answer, at: Instant) -> Refusal | None:  # noqa: ARG002
        """See :class:`Broker`."""
        if answer.good:
            return None
        code, text = _code(answer)
        if answer.status == 401 or code in _BAD_KEYS:
            return Refusal(text, fatal=True)
        if answer.status in {418, 429} and code != -1015:
            return Refusal(text, Reason.VENUE_AWAY, wait_s=retry_after_s(answer.headers) or 60.0)
        if answer.status == 0 or answer.status >= 500 or code in _UNCERTAIN:
            return Refusal(text or "no answer", Reason.VENUE_AWAY, certain=False)
        if code == -1021:
            return Refusal(text, Reason.VENUE_AWAY, clock=True)
        if code == -2013:
            return Refusal(text, Reason.UNKNOWN_ORDER, missing=True)
        if code == -2010 and "Duplicate" in text:
            return Refusal(text, Reason.DUPLICATE_ID, certain=False)
        if "insufficient balance" in text:
            return Refusal(text, Reason.INSUFFICIENT_CASH)
        by_filter = next((reason for words, reason in _FILTERS if words in text), Reason.VENUE_REFUSED)
        return Refusal(text, _REASONS.get(code, by_filter))


class BinanceSession(OrderSession):
    """A connection to the WebSocket interface that tells this account's events."""

    def __init__(self, broker: Binance) -> None:
        super().__init__()
        self._broker = broker

    def opened(self, at: Instant) -> None:
        """See :class:`OrderSession`."""
        method = "userDataStream.subscribe.signature"
        self.replies.append(json.dumps({"id": "1", "method": method, "params": self._broker.login(at)}))

    def received(self, frame: Frame) -> Sequence[Report]:
        """See :class:`OrderSession`."""
        message = parsed("binance", frame, dict)
        with protocol("binance"):
            if "event" in message:
                return self._event(message["event"])
            if message.get("status") == 200:
                self.ready = True
            elif "status" in message:
                code, text = message["error"]["code"], str(message["error"]["msg"])[:300]
                bad = code in _BAD_KEYS or code == -1022
                self.refusal = Refusal(text, fatal=bad, clock=code == -1021)
        return []

    def _event(self, event: dict[str, Any]) -> list[Report]:
        kind = event["e"]
        if kind in {"outboundAccountPosition", "balanceUpdate", "externalLockUpdate"}:
            # The account is asked instead: a message that comes late must not count as its word.
            self.moved = True
        elif kind in {"eventStreamTerminated", "serverShutdown"}:
            self.ready, self.over = False, True
        elif kind == "executionReport":
            return self._execution(event)
        return []

    @staticmethod
    def _execution(event: dict[str, Any]) -> list[Report]:
        order_id, side = f"{event['s']}/{event['i']}", Side[event["S"]]
        # When an order is cancelled, ``c`` is the id of the request that did it.
        client_id = event["C"] or event["c"]
        filled, value = Decimal(event["z"]), Decimal(event["Z"])
        state = _STATES.get(event["X"], State.OPEN)
        if event["x"] == "REPLACED":
            state = State.REPLACED
        told: list[Report] = []
        if event["x"] == "TRADE":
            told.append(
                Execution(
                    order_id,
                    str(event["t"]),
                    event["s"],
                    side,
                    Decimal(event["l"]),
                    Decimal(event["L"]),
                    event["T"] * _MILLISECOND,
                    Source.STREAM,
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
            Reason.VENUE_REFUSED if state is State.REJECTED else Reason.NONE,
        )
        return [*told, order]


def instrument(symbol: dict[str, Any]) -> Instrument:
    """An instrument from an element of ``symbols`` in an answer of ``/api/v3/exchangeInfo``.

    Raises:
        FeedError: the answer is not of the venue's protocol.
    """
    with protocol("binance"):
        filters = {one["filterType"]: one for one in symbol["filters"]}
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


def _fields(order: Submitted) -> dict[str, str]:
    """The parameters of a new order."""
    fields = {"symbol": order.symbol, "side": order.side.name, "type": _TYPE_NAMES[order.type]}
    if order.limit_price is not None:
        fields["timeInForce"] = order.time_in_force.name
    fields["quantity"] = plain(order.quantity)
    if order.limit_price is not None:
        fields["price"] = plain(order.limit_price)
    if order.stop_price is not None:
        fields["stopPrice"] = plain(order.stop_price)
    return {**fields, "newClientOrderId": order.client_id}


def _report(order: dict[str, Any], order_id: str, client_id: str, side: Side, *, replaced: bool) -> OrderReport:
    value = Decimal(order["cummulativeQuoteQty"])
    state = _STATES.get(order["status"], State.OPEN)
    return OrderReport(
        order_id,
        client_id,
        order["symbol"],
        side,
        Decimal(order["origQty"]),
        Decimal(order["executedQty"]),
        value if value > 0 else None,
        State.REPLACED if replaced and state is State.CANCELLED else state,
        _TYPES.get(order["type"], OrderType.MARKET),
        TimeInForce.GTC if order["timeInForce"] == "GTC" else TimeInForce.IOC,
        Decimal(order["price"]) or None,
        Decimal(order.get("stopPrice") or 0) or None,
        Reason.VENUE_REFUSED if state is State.REJECTED else Reason.NONE,
    )


def _number(order_id: str) -> str:
    """The venue's number of an order."""
    return order_id.rpartition("/")[2]


def _code(answer: Answer) -> tuple[int, str]:
    try:
        error = json.loads(answer.body)
        return int(error["code"]), str(error["msg"])[:300]
    except (ValueError, KeyError, TypeError):
        return 0, f"status {answer.status}" if answer.status else ""
