"""Alpaca's trading interface, paper by default: orders to requests, and its messages to reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import quote, urlencode

from openfingym.market.brokers.alpaca_messages import TYPES, activity, nanoseconds, order_report, refusal, update
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
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.brokers.wire import parsed, protocol
from openfingym.market.commands import Instant
from openfingym.market.feed import Address, Frame, Request
from openfingym.market.keys import Keys
from openfingym.market.ticks import SECOND
from openfingym.trading.orders import Side, TimeInForce

REAL = "https://api.alpaca.markets"
"""Beginning of the URLs where orders cost real money; those of the paper account follow."""
REAL_STREAM = "wss://api.alpaca.markets/stream"
PAPER = "https://paper-api.alpaca.markets"
PAPER_STREAM = "wss://paper-api.alpaca.markets/stream"
_PAGE = 100
"""Fills that an answer holds at most."""

_JSON = {"Content-Type": "application/json"}
_TYPE_NAMES = {kind: name for name, kind in TYPES.items()}


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
            instruments: the symbols to trade, from :func:`~openfingym.market.brokers.alpaca_messages.instrument`.
            keys: the API key of the account and its secret.
            rest: beginning of the URLs of the REST interface.
            stream: URL of the stream of order events.
        """
        super().__init__(instruments, keys, rest=rest, stream=stream)
        # Positions name a pair of coins without the slash that orders have.
        self._symbols = {symbol.replace("/", ""): symbol for symbol in self.instruments}

    def rest(self) -> Address:
        """See :class:`Broker`; every request carries the keys."""
        return Address(self._rest, {"APCA-API-KEY-ID": self._keys.key, "APCA-API-SECRET-KEY": self._keys.secret})

    @property
    def real(self) -> bool:
        """See :class:`Broker`."""
        return costs_money(self._rest, (PAPER,))

    def session(self) -> AlpacaBrokerSession:
        """See :class:`Broker`."""
        return AlpacaBrokerSession(self, self._keys)

    def place(self, order: Submitted, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        body = {
            "symbol": order.symbol,
            "qty": plain(order.quantity),
            "side": "buy" if order.side is Side.BUY else "sell",
            "type": _TYPE_NAMES[order.type],
            "time_in_force": "ioc" if order.time_in_force is TimeInForce.IOC else self._longest_time(order),
            "client_order_id": order.client_id,
            **_prices(order),
        }
        return Request("POST", "/v2/orders", headers=_JSON, body=json.dumps(body))

    def _longest_time(self, order: Submitted) -> str:
        """The longest time for which the venue lets an order stay open: one of a fraction of a share for a day."""
        whole = "/" in order.symbol or order.quantity == order.quantity.to_integral_value()
        return "gtc" if whole else "day"

    def replace(self, old: TrackedOrder, new: Submitted, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`. The quantity is always stated: left out, it would be that of the old order, its fills
        included.
        """
        body = {"qty": plain(new.quantity), "client_order_id": new.client_id, **_prices(new)}
        path = f"/v2/orders/{quote(old.order_id, safe='')}"
        return Request("PATCH", path, headers=_JSON, body=json.dumps(body))

    def cancel(self, order: TrackedOrder, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        return Request("DELETE", f"/v2/orders/{quote(order.order_id, safe='')}")

    def read_order(self, body: bytes) -> list[Report]:
        """See :class:`Broker`."""
        return [order_report(parsed("alpaca", body, dict), self.symbol)] if body.strip() else []

    def ask_order(self, symbol: str, order_id: str, client_id: str, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        if order_id:
            return Request("GET", f"/v2/orders/{quote(order_id, safe='')}")
        return Request("GET", f"/v2/orders:by_client_order_id?{urlencode({'client_order_id': client_id})}")

    def ask_open(self, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        return Request("GET", "/v2/orders?status=open&limit=500")  # as many as the venue gives

    def read_open(self, body: bytes) -> list[OrderReport]:
        """See :class:`Broker`."""
        return [order_report(order, self.symbol) for order in parsed("alpaca", body, list)]

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

    def ask_standing(self, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`."""
        return Request("GET", "/v2/account")

    def read_standing(self, body: bytes) -> Standing:
        """See :class:`Broker`."""
        account = parsed("alpaca", body, dict)
        with protocol("alpaca"):
            flags = ("trading_blocked", "account_blocked", "trade_suspended_by_user")
            against = [name for name in flags if account.get(name)]
            if account["status"] != "ACTIVE":
                against.insert(0, f"its status is {str(account['status'])[:50]}")
            return Standing(not against, ", ".join(against))

    def ask_clock(self) -> Request:
        """See :class:`Broker`."""
        return Request("GET", "/v2/clock")

    def read_clock(self, body: bytes) -> int:
        """See :class:`Broker`."""
        with protocol("alpaca"):
            return nanoseconds(parsed("alpaca", body, dict)["timestamp"])

    def fills_since(self, since: int) -> list[FillQuery]:
        """See :class:`Broker`."""
        return [FillQuery(since=since)]

    def ask_fills(self, query: FillQuery, at: Instant) -> Request:  # noqa: ARG002
        """See :class:`Broker`. The venue takes no questions for the fills of one order: those of all orders are asked
        for, from when it was sent.
        """
        seconds, rest = divmod(query.since, SECOND)
        after = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
        fields = {"after": after, "direction": "asc", "page_size": str(_PAGE)}
        if query.page:
            fields["page_token"] = query.page
        return Request("GET", f"/v2/account/activities/FILL?{urlencode(fields)}")

    def read_fills(
        self,
        query: FillQuery,
        body: bytes,
        at: Instant,  # noqa: ARG002
    ) -> tuple[list[Report], FillQuery | None]:
        """See :class:`Broker`."""
        fills = parsed("alpaca", body, list)
        with protocol("alpaca"):
            reports: list[Report] = [activity(fill, self.symbol) for fill in fills]
            return reports, query._replace(page=fills[-1]["id"]) if len(fills) >= _PAGE else None

    def refusal(self, answer: BrokerAnswer, at: Instant) -> BrokerRefusal | None:
        """See :class:`Broker`."""
        return refusal(answer, at)

    def symbol(self, name: str) -> str:
        """The name that orders have for a symbol; positions may name it otherwise."""
        return self._symbols.get(name.replace("/", ""), name)


class AlpacaBrokerSession(OrderSession):
    """A connection to ``trade_updates``. Its frames are JSON; those of the paper venue are binary frames.

    Args:
        broker: the account whose events are subscribed.
        keys: the API key of the account and its secret.
    """

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
                    self.refusal = BrokerRefusal("the venue does not accept the keys", fatal=True)
            elif stream == "listening":
                self.ready = "trade_updates" in data["streams"]
                if not self.ready:
                    self.refusal = BrokerRefusal("the venue does not tell what happens to orders")
            elif stream == "trade_updates":
                return update(data, self._broker.symbol)
        return []


def _prices(order: Submitted) -> dict[str, str]:
    prices = {"limit_price": order.limit_price, "stop_price": order.stop_price}
    return {name: plain(price) for name, price in prices.items() if price is not None}
