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
from openfingym.market.brokers.binance_messages import (
    BAD_KEYS,
    BAD_SIGNATURE,
    BAD_TIME,
    MILLISECOND,
    event_reports,
    order_reports,
    refusal,
    trade_execution,
)
from openfingym.market.brokers.broker import (
    Broker,
    BrokerAnswer,
    BrokerRefusal,
    FillQuery,
    OrderSession,
    Standing,
    costs_money,
    plain,
)
from openfingym.market.brokers.reports import ZERO, AccountReport, Instrument, OrderReport, Report, Submitted
from openfingym.market.brokers.signing import signed_fields, signed_query
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.brokers.wire import parsed, protocol
from openfingym.market.commands import Instant
from openfingym.market.feed import Address, Frame, Request
from openfingym.market.keys import Keys
from openfingym.trading.orders import OrderType

REAL = "https://api.binance.com"
"""Beginning of the URLs where orders cost real money; those of demo mode and of the test network follow."""
REAL_STREAM = "wss://ws-api.binance.com/ws-api/v3"
DEMO = "https://demo-api.binance.com"
DEMO_STREAM = "wss://demo-ws-api.binance.com/ws-api/v3"
TESTNET = "https://testnet.binance.vision"
TESTNET_STREAM = "wss://ws-api.testnet.binance.vision/ws-api/v3"
_DAY = 86_400_000
"""Milliseconds that a question for fills may span: the venue refuses more."""
_PAGE = 1000
"""Fills that an answer holds at most."""

_TYPE_NAMES = {
    OrderType.MARKET: "MARKET",
    OrderType.LIMIT: "LIMIT",
    OrderType.STOP: "STOP_LOSS",
    OrderType.STOP_LIMIT: "STOP_LOSS_LIMIT",
}


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
            instruments: the symbols to trade, from :func:`~openfingym.market.brokers.binance_messages.instrument`.
            keys: the API key of the account and its secret.
            cash: the asset in which the account is kept.
            rest: beginning of the URLs of the REST interface.
            stream: URL of the WebSocket interface that reports what happens to orders.
            receive_window_ms: how old a request may be when it arrives, in milliseconds.
        """
        super().__init__(instruments, keys, rest=rest, stream=stream)
        self.cash = cash
        self._window = receive_window_ms
        self._offset = 0
        """The venue's clock less ours, in nanoseconds."""

    def rest(self) -> Address:
        """See :class:`Broker`; every request carries the key."""
        return Address(self._rest, {"X-MBX-APIKEY": self._keys.key})

    @property
    def real(self) -> bool:
        """See :class:`Broker`."""
        return costs_money(self._rest, (DEMO, TESTNET))

    def session(self) -> BinanceBrokerSession:
        """See :class:`Broker`."""
        return BinanceBrokerSession(self)

    def timestamp(self, at: Instant) -> str:
        """The time that a request carries, in milliseconds by the venue's clock."""
        return str((at.wall + self._offset) // MILLISECOND)

    def login(self, at: Instant) -> dict[str, str]:
        """Signed parameters by which a connection asks for this account's events."""
        return signed_fields(self._keys.secret, {"apiKey": self._keys.key, "timestamp": self.timestamp(at)})

    def _signed(self, method: str, path: str, fields: dict[str, str], at: Instant, weight: int = 1) -> Request:
        fields = {**fields, "recvWindow": str(self._window), "timestamp": self.timestamp(at)}
        return Request(method, f"{path}?{signed_query(self._keys.secret, fields)}", weight)

    def place(self, order: Submitted, at: Instant) -> Request:
        """See :class:`Broker`."""
        # FULL: with the fills, and what each of them cost.
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
                return order_reports(answer)
            return [
                report
                for name in ("newOrderResponse", "cancelResponse")
                if isinstance(answer[name], dict) and "orderId" in answer[name]
                for report in order_reports(answer[name], replaced=name == "cancelResponse")
            ]

    def read_refused_replacement(self, body: bytes) -> list[Report]:
        """See :class:`Broker`: the venue may have cancelled the old order before it refused the new one."""
        try:
            cancelled = parsed("binance", body, dict)["data"]["cancelResponse"]
            return order_reports(cancelled) if "orderId" in cancelled else []
        except (FeedError, KeyError, TypeError):
            return []

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
        reports = [report for order in parsed("binance", body, list) for report in order_reports(order)]
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

    def ask_standing(self, at: Instant) -> Request:
        """See :class:`Broker`."""
        return self.ask_account(0, at)

    def read_standing(self, body: bytes) -> Standing:
        """See :class:`Broker`."""
        account = parsed("binance", body, dict)
        with protocol("binance"):
            trades = account["canTrade"] is True
            return Standing(trades, "" if trades else "canTrade is false: allow the key spot trading")

    def fills_since(self, since: int) -> list[FillQuery]:
        """See :class:`Broker`."""
        return [FillQuery(symbol, since=since) for symbol in self.instruments]

    def ask_fills(self, query: FillQuery, at: Instant) -> Request:
        """See :class:`Broker`."""
        fields, weight = {"symbol": query.symbol, "limit": str(_PAGE)}, 20
        # The venue takes times, or an order, or the id to go on from; not times together with another one.
        if query.page:
            fields["fromId"] = query.page
        if query.order_id:
            fields["orderId"], weight = _number(query.order_id), 5
        elif not query.page:
            begin = query.since // MILLISECOND
            fields |= {"startTime": str(begin), "endTime": str(begin + _DAY)}
        return self._signed("GET", "/api/v3/myTrades", fields, at, weight)

    def read_fills(self, query: FillQuery, body: bytes, at: Instant) -> tuple[list[Report], FillQuery | None]:
        """See :class:`Broker`."""
        trades = parsed("binance", body, list)
        with protocol("binance"):
            reports: list[Report] = [trade_execution(trade) for trade in trades]
            if len(trades) >= _PAGE:
                return reports, query._replace(page=str(trades[-1]["id"] + 1))
        # The answer was of one day: go on with the next one, unless that has not begun. Once ids are followed, the last
        # page holds everything up to now.
        later = query.since + _DAY * MILLISECOND
        if not query.order_id and not query.page and later < at.wall + self._offset:
            return reports, query._replace(since=later)
        return reports, None

    def ask_clock(self) -> Request:
        """See :class:`Broker`."""
        return self.ask_time()

    def read_clock(self, body: bytes) -> int:
        """See :class:`Broker`."""
        with protocol("binance"):
            return int(parsed("binance", body, dict)["serverTime"]) * MILLISECOND

    def ask_time(self) -> Request:
        """See :class:`Broker`."""
        return Request("GET", "/api/v3/time")

    def read_time(self, body: bytes, sent: Instant, at: Instant) -> None:
        """See :class:`Broker`: the venue's time is taken to be that of the middle of the exchange."""
        with protocol("binance"):
            half = (at.monotonic - sent.monotonic) // 2
            self._offset = self.read_clock(body) - (at.wall - half)

    def refusal(self, answer: BrokerAnswer, at: Instant) -> BrokerRefusal | None:  # noqa: ARG002
        """See :class:`Broker`."""
        return refusal(answer)


class BinanceBrokerSession(OrderSession):
    """A connection to the WebSocket interface that reports this account's events.

    Args:
        broker: the account whose events are subscribed.
    """

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
                bad = code in BAD_KEYS or code == BAD_SIGNATURE
                self.refusal = BrokerRefusal(text, fatal=bad, clock=code == BAD_TIME)
        return []

    def _event(self, event: dict[str, Any]) -> list[Report]:
        kind = event["e"]
        if kind in {"outboundAccountPosition", "balanceUpdate", "externalLockUpdate"}:
            # Only a reason to ask: the message may be late, and older than what is known.
            self.moved = True
        elif kind in {"eventStreamTerminated", "serverShutdown"}:
            self.ready, self.over = False, True
        elif kind == "executionReport":
            return event_reports(event)
        return []


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


def _number(order_id: str) -> str:
    """The venue's number of an order."""
    return order_id.rpartition("/")[2]
