"""An Alpaca account in memory, which answers requests and tells of its orders; the test is its market and its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

from openfingym.market.brokers.alpaca import Alpaca
from openfingym.market.brokers.broker import BrokerAnswer
from openfingym.market.brokers.executor import BrokerExecutor
from openfingym.market.brokers.journal import Journal
from openfingym.market.brokers.reports import Instrument
from openfingym.market.commands import Ask, Instant
from openfingym.market.feed import Request
from openfingym.market.keys import Keys

S = 1_000_000_000
KEYS = Keys("the-key", "the-secret-nobody-may-see")
INSTRUMENTS = [
    Instrument("AAPL", "AAPL", "USD", Decimal("0.01"), Decimal("0.01")),
    Instrument("BTC/USD", "BTCUSD", "USD", Decimal("0.5"), Decimal("0.0001")),
]
OPEN = {"new", "partially_filled", "accepted", "pending_new"}


class FakeAlpaca:
    """The truth."""

    def __init__(self) -> None:
        self.orders: dict[str, dict] = {}
        self.activities: list[dict] = []
        self.frames: list[bytes] = []
        self.cash, self.held = Decimal(100000), {"AAPL": Decimal(0), "BTCUSD": Decimal(0)}
        self.posts, self.dead, self.limited, self.coin_fee = 0, False, 0, Decimal(0)
        self.now = 1_700_000_000 * S

    def stamp(self) -> str:
        seconds, rest = divmod(self.now, S)
        from datetime import UTC, datetime

        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"

    def tell(self, event: str, order: dict, **more: str) -> None:
        data = {"event": event, "order": dict(order), "timestamp": self.stamp(), **more}
        self.frames.append(json.dumps({"stream": "trade_updates", "data": data}).encode())

    def fill(self, order: dict, quantity: Decimal, price: Decimal) -> None:
        sign = 1 if order["side"] == "buy" else -1
        before, average = Decimal(order["filled_qty"]), Decimal(order["filled_avg_price"] or 0)
        total = before + quantity
        order["filled_avg_price"] = str((before * average + quantity * price) / total)
        order["filled_qty"] = str(total)
        order["status"] = "filled" if total == Decimal(order["qty"]) else "partially_filled"
        name = order["symbol"].replace("/", "")
        fee = quantity * self.coin_fee if "/" in order["symbol"] and sign > 0 else Decimal(0)
        self.held[name] += sign * quantity - fee
        self.cash -= sign * quantity * price
        number = len(self.activities) + 1
        kind = "fill" if order["status"] == "filled" else "partial_fill"
        self.tell(
            kind,
            order,
            qty=str(quantity),
            price=str(price),
            execution_id=f"x{number}",
            position_qty=str(self.held[name]),
        )
        self.activities.append(
            {
                "id": f"2024::a{number:05d}",
                "order_id": order["id"],
                "symbol": order["symbol"],
                "side": order["side"],
                "qty": str(quantity),
                "price": str(price),
                "cum_qty": str(total),
                "transaction_time": self.stamp(),
                "type": kind,
            }
        )

    def end(self, order: dict, status: str) -> None:
        if order["status"] in OPEN:
            order["status"] = status
            self.tell(status, order)

    def new(self, fields: dict, **more: str) -> dict:
        order = {
            "id": f"o{len(self.orders) + 1}",
            "filled_qty": "0",
            "filled_avg_price": None,
            "status": "new",
            "limit_price": None,
            "stop_price": None,
            **fields,
            **more,
        }
        self.orders[order["id"]] = order
        self.tell("new", order)
        return order

    def open(self) -> list[dict]:
        return [order for order in self.orders.values() if order["status"] in OPEN]

    def answer(self, request: Request) -> BrokerAnswer:
        if self.dead:
            return _refused(401, "access key verification failed")
        if self.limited:
            self.limited -= 1
            return BrokerAnswer(429, b'{"message":"too many requests"}', {"retry-after": "3"})
        url = urlsplit(request.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        body = json.loads(request.body) if request.body else {}
        parts = url.path.split("/")[2:]
        match request.method, parts:
            case "POST", ["orders"]:
                self.posts += 1
                if any(order["client_order_id"] == body["client_order_id"] for order in self.orders.values()):
                    return _refused(422, "client_order_id must be unique")
                return _good(self.new(body))
            case "PATCH", ["orders", name]:
                old = self.orders[name]
                if old["status"] not in OPEN:
                    return _refused(422, "order is not open")
                self.end(old, "replaced")
                return _good(self.new({**old, **body}, id=f"o{len(self.orders) + 1}", filled_qty="0", status="new"))
            case "DELETE", ["orders", name]:
                if self.orders[name]["status"] not in OPEN:
                    return _refused(422, "order is not cancelable")
                self.end(self.orders[name], "canceled")
                return BrokerAnswer(204)
            case "GET", ["orders"]:
                return _good(self.open())
            case "GET", ["orders", name]:
                return _good(self.orders[name]) if name in self.orders else _refused(404, "order not found")
            case "GET", ["orders:by_client_order_id"]:
                found = [one for one in self.orders.values() if one["client_order_id"] == query["client_order_id"]]
                return _good(found[0]) if found else _refused(404, "order not found")
            case "GET", ["account", "activities", "FILL"]:
                fills = [one for one in self.activities if one["transaction_time"] > query["after"]]
                fills = [one for one in fills if one["id"] > query.get("page_token", "")]
                return _good(fills[:100])
            case "GET", ["account"]:
                return _good({"cash": str(self.cash)})
            case "GET", ["positions"]:
                held = {name: held for name, held in self.held.items() if held}
                return _good(
                    [
                        {"symbol": name, "qty": str(held), "side": "long" if held > 0 else "short"}
                        for name, held in held.items()
                    ]
                )
        raise AssertionError(request)


def _good(value: object) -> BrokerAnswer:
    return BrokerAnswer(200, json.dumps(value).encode())


def _refused(status: int, message: str) -> BrokerAnswer:
    return BrokerAnswer(status, json.dumps({"code": 40310000, "message": message}).encode())


class Line:
    """An executor, its venue and the line between them, in simulated time."""

    def __init__(self, venue: FakeAlpaca | None = None, journal: Journal | None = None) -> None:
        self.venue = venue or FakeAlpaca()
        self.sent: list[Ask] = []
        self.lost: Callable[[Request], bool] = lambda request: False
        """Whether the answer to a request is lost, after the venue has heeded it."""
        self.unheard: Callable[[Request], bool] = lambda request: False
        """Whether a request is lost."""
        self.streaming = False
        self.executor = BrokerExecutor(
            Alpaca(INSTRUMENTS, KEYS),
            ["AAPL", "BTC/USD"],
            send=self.sent.append,
            clock=self,
            price=lambda symbol: 100.0,
            journal=journal,
        )

    def monotonic(self) -> int:
        return self.venue.now

    def wall(self) -> int:
        return self.venue.now

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")

    @property
    def at(self) -> Instant:
        return Instant(self.venue.now, self.venue.now)

    def connect(self) -> None:
        replies = self.executor.opened(self.at)
        assert "auth" in str(replies[0])
        authorized = {"stream": "authorization", "data": {"status": "authorized", "action": "authenticate"}}
        replies = self.executor.received(json.dumps(authorized).encode(), self.at)
        assert json.loads(replies[0])["action"] == "listen"
        listening = {"stream": "listening", "data": {"streams": ["trade_updates"]}}
        self.venue.frames.clear()
        self.streaming = True
        self.executor.received(json.dumps(listening).encode(), self.at)

    def disconnect(self) -> None:
        self.streaming = False
        self.executor.closed(self.at)

    def carry(self) -> None:
        """Carry all requests, answers and frames."""
        for _ in range(200):
            asks, self.sent[:] = list(self.sent), []
            for ask in asks:
                answer = BrokerAnswer(0) if self.unheard(ask.request) else self.venue.answer(ask.request)
                if self.lost(ask.request):
                    answer = BrokerAnswer(0)
                self.executor.answered(ask.question, answer, self.at)
            frames, self.venue.frames = self.venue.frames, []
            for frame in frames if self.streaming else ():
                self.executor.received(frame, self.at)
            if not self.sent and not self.venue.frames:
                return
        raise AssertionError("requests without end")

    def wait(self, seconds: int = 1) -> None:
        for _ in range(seconds):
            self.venue.now += S
            self.executor.passed(self.at)
            self.carry()

    def start(self) -> BrokerExecutor:
        self.connect()
        self.carry()
        assert self.executor.ready
        return self.executor

    def assert_equal(self) -> None:
        mirror = self.executor.mirror
        assert mirror.cash == self.venue.cash
        assert {symbol: mirror.holding(symbol) for symbol in self.venue.held} == self.venue.held
        assert {order.order_id for order in mirror.live.values()} == {order["id"] for order in self.venue.open()}
        for order in mirror:
            if order.order_id:
                assert order.filled == Decimal(self.venue.orders[order.order_id]["filled_qty"])
