"""Alpaca's trading interface, paper by default: orders to requests, and its messages to reports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote, urlencode

from openfingym.headers import retry_after_s
from openfingym.market.brokers.broker import Answer, Broker, FillQuery, OrderSession, Refusal, plain
from openfingym.market.brokers.reports import (
    ZERO,
    AccountReport,
    Bust,
    Execution,
    Instrument,
    OrderReport,
    Report,
    Source,
    State,
    Submitted,
)
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.brokers.wire import parsed, protocol
from openfingym.market.commands import Instant
from openfingym.market.feed import Address, Frame, Request
from openfingym.market.keys import Keys
from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

PAPER = "https://paper-api.alpaca.markets"
PAPER_STREAM = "wss://paper-api.alpaca.markets/stream"
_SECOND = 1_000_000_000
_PAGE = 100
"""Fills in an answer, at most."""

_STATES = {
    "pending_new": State.PENDING,
    "pending_review": State.PENDING,
    "held": State.PENDING,
    "accepted_for_bidding": State.PENDING,
    "filled": State.FILLED,
    "canceled": State.CANCELLED,
    "expired": State.EXPIRED,
    "rejected": State.REJECTED,
    "replaced": State.REPLACED,
}
"""States by their names there; any other one is open: ``done_for_day`` may trade again tomorrow."""
_TYPES = {
    "market": OrderType.MARKET,
    "limit": OrderType.LIMIT,
    "stop": OrderType.STOP,
    "stop_limit": OrderType.STOP_LIMIT,
}
_TYPE_NAMES = {kind: name for name, kind in _TYPES.items()}
_REASONS = (
    (r"buying power|insufficient balance|insufficient cash", Reason.INSUFFICIENT_CASH),
    (r"insufficient qty|short", Reason.SHORT_CAP),
    (r"increment|sub-penny|decimal", Reason.OFF_TICK),
    (r"price", Reason.BAD_PRICE),
    (r"qty|quantity|notional|fractional", Reason.BAD_QUANTITY),
    (r"symbol|asset", Reason.UNKNOWN_SYMBOL),
)
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


class Alpaca(Broker):
    """An account at Alpaca."""

    venue = "alpaca"
    cash = "USD"
    weight_per_minute = 200
    account_questions = 2
    shorts = True

    def __init__(
        self,
        instruments: Iterable[Instrument],
        keys: Keys,
        *,
        rest: str = PAPER,
        stream: str = PAPER_STREAM,
    ) -> None:
        """An account at Alpaca.

        Args:
            instruments: what is traded, from :func:`instrument`.
            keys: the account's keys.
            rest: beginning of the URLs of the REST interface.
            stream: URL of the stream of order events.
        """
        super().__init__(instruments)
        self._rest, self._stream, self._keys = rest, stream, keys
        # Positions name a pair of coins without the slash that orders have.
        self._symbols = {symbol.replace("/", ""): symbol for symbol in self.instruments}

    def stream(self) -> Address:
        """See :class:`Broker`."""
        return Address(self._stream)

    def rest(self) -> Address:
        """See :class:`Broker`; every request carries the keys."""
        return Address(self._rest, {"APCA-API-KEY-ID": self._keys.key, "APCA-API-SECRET-KEY": self._keys.secret})

    def session(self) -> AlpacaSession:
        """See :class:`Broker`."""
        return AlpacaSession(self, self._keys)

    def place(self, order: Submitted, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        body = {
            "symbol": order.symbol,
            "qty": plain(order.quantity),
            "side": "buy" if order.side is Side.BUY else "sell",
            "type": _TYPE_NAMES[order.type],
            "time_in_force": "ioc" if order.time_in_force is TimeInForce.IOC else self._good(order),
            "client_order_id": order.client_id,
            **_prices(order),
        }
        return Request("POST", "/v2/orders", body=json.dumps(body))

    def _good(self, order: Submitted) -> str:
        """The longest time for which an order may stay open: one of a fraction of a share for a day."""
        whole = "/" in order.symbol or order.quantity == order.quantity.to_integral_value()
        return "gtc" if whole else "day"

    def replace(self, old: TrackedOrder, new: Submitted, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`. The quantity is always stated: left out, it would be that of the old order, its fills
        included.
        """
        body = {"qty": plain(new.quantity), "client_order_id": new.client_id, **_prices(new)}
        return Request("PATCH", f"/v2/orders/{quote(old.order_id, safe='')}", body=json.dumps(body))

    def cancel(self, order: TrackedOrder, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        return Request("DELETE", f"/v2/orders/{quote(order.order_id, safe='')}")

    def read_order(self, body: bytes) -> list[Report]:
        """See :class:`Broker`."""
        return [self.order_report(parsed("alpaca", body, dict))] if body.strip() else []

    def ask_order(self, symbol: str, order_id: str, client_id: str, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        if order_id:
            return Request("GET", f"/v2/orders/{quote(order_id, safe='')}")
        return Request("GET", f"/v2/orders:by_client_order_id?{urlencode({'client_order_id': client_id})}")

    def ask_open(self, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        return Request("GET", "/v2/orders?status=open&limit=500")

    def read_open(self, body: bytes) -> list[OrderReport]:
        """See :class:`Broker`."""
        return [self.order_report(order) for order in parsed("alpaca", body, list)]

    def ask_account(self, number: int, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        return Request("GET", ("/v2/account", "/v2/positions")[number])

    def read_account(self, number: int, body: bytes, started: int) -> AccountReport:
        """See :class:`Broker`. A symbol that the positions do not name is not held."""
        with protocol("alpaca"):
            if number == 0:
                return AccountReport({self.cash: Decimal(parsed("alpaca", body, dict)["cash"])}, started)
            totals = {item.base: ZERO for item in self.instruments.values()}
            for position in parsed("alpaca", body, list):
                symbol = self._symbols.get(position["symbol"].replace("/", ""))
                if symbol is not None:
                    held = abs(Decimal(position["qty"]))
                    totals[self.instruments[symbol].base] = -held if position["side"] == "short" else held
            return AccountReport(totals, started)

    def fills_since(self, since: int) -> list[FillQuery]:
        """See :class:`Broker`."""
        return [FillQuery(since=since)]

    def ask_fills(self, query: FillQuery, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`. Fills of one order cannot be asked for: all since it was sent are."""
        seconds, rest = divmod(query.since, _SECOND)
        after = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
        fields = {"after": after, "direction": "asc", "page_size": str(_PAGE)}
        if query.page:
            fields["page_token"] = query.page
        return Request("GET", f"/v2/account/activities/FILL?{urlencode(fields)}")

    def read_fills(self, query: FillQuery, body: bytes, at: Instant) -> tuple[list[Report], FillQuery | None]:  # noqa: ARG002
        """See :class:`Broker`."""
        fills = parsed("alpaca", body, list)
        with protocol("alpaca"):
            found: list[Report] = [self._activity(one) for one in fills]
            return found, query._replace(page=fills[-1]["id"]) if len(fills) >= _PAGE else None

    def _activity(self, one: dict[str, Any]) -> Execution:
        return Execution(
            one["order_id"],
            one["id"].rpartition("::")[2],
            self.symbol(one["symbol"]),
            Side.BUY if one["side"] == "buy" else Side.SELL,
            Decimal(one["qty"]),
            Decimal(one["price"]),
            nanoseconds(one["transaction_time"]),
            Source.ACTIVITY,
            slot=_slot(Decimal(one["cum_qty"]), Decimal(one["qty"])),
        )

    def refusal(self, answer: Answer, at: Instant) -> Refusal | None:
        """See :class:`Broker`."""
        if answer.good:
            return None
        text = _message(answer)
        status = answer.status
        if status == 401:
            return Refusal(text, Reason.VENUE_REFUSED, fatal=True)
        if status == 404:
            return Refusal(text, Reason.UNKNOWN_ORDER, missing=True)
        if status == 429:
            return Refusal(text, Reason.VENUE_AWAY, wait_s=_wait(answer, at))
        if status == 0 or status >= 500 or status in {408, 409}:
            return Refusal(text or "no answer", Reason.VENUE_AWAY, certain=False)
        if "client_order_id must be unique" in text:
            return Refusal(text, Reason.DUPLICATE_ID, certain=False)
        reason = next((reason for words, reason in _REASONS if re.search(words, text, re.I)), Reason.VENUE_REFUSED)
        return Refusal(text, reason)

    def symbol(self, name: str) -> str:
        """A symbol as orders name it."""
        return self._symbols.get(name.replace("/", ""), name)

    def order_report(self, order: dict[str, Any]) -> OrderReport:
        """An order as it is stated in answers and in the stream."""
        with protocol("alpaca"):
            filled = Decimal(order["filled_qty"])
            average = _decimal(order.get("filled_avg_price"))
            state = _STATES.get(order["status"], State.OPEN)
            return OrderReport(
                order["id"],
                order["client_order_id"] or "",
                self.symbol(order["symbol"]),
                Side.BUY if order["side"] == "buy" else Side.SELL,
                _decimal(order["qty"]) or ZERO,
                filled,
                filled * average if average is not None else None,
                state,
                _TYPES.get(order["type"], OrderType.MARKET),
                TimeInForce.IOC if order["time_in_force"] in {"ioc", "fok"} else TimeInForce.GTC,
                _decimal(order.get("limit_price")),
                _decimal(order.get("stop_price")),
                Reason.VENUE_REFUSED if state is State.REJECTED else Reason.NONE,
            )


class AlpacaSession(OrderSession):
    """A connection to ``trade_updates``. Its frames are JSON, on the paper venue in binary frames."""

    def __init__(self, broker: Alpaca, keys: Keys) -> None:
        super().__init__()
        self._broker, self._keys = broker, keys

    def opened(self, at: Instant) -> None:  # noqa: ARG002
        """See :class:`OrderSession`."""
        login = {"action": "auth", "key": self._keys.key, "secret": self._keys.secret}
        self.replies.append(json.dumps(login))

    def received(self, frame: Frame) -> Sequence[Report]:
        """See :class:`OrderSession`."""
        message = parsed("alpaca", frame, dict)
        with protocol("alpaca"):
            stream, data = message["stream"], message["data"]
            if stream == "authorization":
                if data["status"] == "authorized":
                    self.replies.append(json.dumps({"action": "listen", "data": {"streams": ["trade_updates"]}}))
                else:
                    self.refusal = Refusal("the venue does not accept the keys", fatal=True)
            elif stream == "listening":
                self.ready = "trade_updates" in data["streams"]
                if not self.ready:
                    self.refusal = Refusal("the venue does not tell what happens to orders")
            elif stream == "trade_updates":
                return self._update(data)
        return []

    def _update(self, data: dict[str, Any]) -> list[Report]:
        order = self._broker.order_report(data["order"])
        event = data["event"]
        told: list[Report] = [order]
        if event in {"fill", "partial_fill", "trade_correct"}:
            quantity = Decimal(data["qty"])
            execution = Execution(
                order.order_id,
                data["execution_id"],
                order.symbol,
                order.side,
                quantity,
                Decimal(data["price"]),
                nanoseconds(data["timestamp"]),
                Source.STREAM,
                slot=_slot(order.filled, quantity),
                client_id=order.client_id,
                position=_decimal(data.get("position_qty")),
                corrects=data.get("previous_execution_id") or "" if event == "trade_correct" else "",
            )
            # First the fill, then the order that includes it: so nothing has to be assumed of its price.
            told.insert(0, execution)
        elif event == "trade_bust":
            told.insert(
                0, Bust(order.order_id, data.get("previous_execution_id") or data["execution_id"], Source.STREAM)
            )
        return told


def instrument(asset: dict[str, Any]) -> Instrument:
    """An instrument from an answer of ``/v2/assets/{symbol}``: of a share, whole ones if it is not fractionable.

    Raises:
        FeedError: the answer is not of the venue's protocol.
    """
    with protocol("alpaca"):
        symbol = asset["symbol"]
        if asset.get("class", asset.get("asset_class")) == "crypto":
            return Instrument(
                symbol,
                symbol.replace("/", ""),
                "USD",
                _decimal(asset.get("price_increment")) or ZERO,
                _decimal(asset.get("min_trade_increment")) or ZERO,
                _decimal(asset.get("min_order_size")) or ZERO,
            )
        step = Decimal("1e-9") if asset.get("fractionable") else Decimal(1)
        return Instrument(symbol, symbol, "USD", Decimal("0.01"), step)


def nanoseconds(stamp: str) -> int:
    """Nanoseconds since the epoch of a time as RFC 3339 writes it, with up to nine decimals.

    Raises:
        ValueError: it is no such time.
    """
    found = _STAMP.fullmatch(stamp)
    if found is None:
        raise ValueError(f"{stamp!r} is no time")
    whole = datetime.fromisoformat(found[1] + found[3])
    return int(whole.timestamp()) * _SECOND + int((found[2] or "0").ljust(9, "0"))


def _slot(cumulative: Decimal, quantity: Decimal) -> str:
    """The name of a fill in every source: the stream and the activities need not give it the same id."""
    return f"{plain(cumulative)}/{plain(quantity)}"


def _prices(order: Submitted) -> dict[str, str]:
    prices = {"limit_price": order.limit_price, "stop_price": order.stop_price}
    return {name: plain(price) for name, price in prices.items() if price is not None}


def _decimal(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _wait(answer: Answer, at: Instant) -> float:
    """Seconds to wait, by either header; a time that is stated is compared with our wall clock, within a minute."""
    stated = retry_after_s(answer.headers)
    if stated is not None:
        return stated
    reset = answer.headers.get("x-ratelimit-reset", "")
    return min(max(int(reset) - at.wall / _SECOND, 1.0), 60.0) if reset.isdecimal() else 5.0


def _message(answer: Answer) -> str:
    try:
        return str(json.loads(answer.body)["message"])[:300]
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status}" if answer.status else ""
