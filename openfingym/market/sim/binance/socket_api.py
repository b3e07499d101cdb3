"""The WebSocket API of a local Binance venue: the operations of REST, and the stream of an account's events."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web

from openfingym.market.sim.binance import order_wire
from openfingym.market.sim.binance.desk import OPERATIONS
from openfingym.market.sim.binance.keys import socket_payload
from openfingym.market.sim.binance.market_data import ORDER_LIMIT
from openfingym.market.sim.binance.streams import unit_of
from openfingym.market.sim.binance.wire import MILLISECOND, ApiError
from openfingym.market.sim.events import Balance, Event, ExchangeExecution
from openfingym.market.sim.peers import ConnectionTerms, Peer, text_of
from openfingym.market.sim.server import compact

if TYPE_CHECKING:
    from openfingym.market.sim.binance.venue import BinanceVenue

_OPERATIONS = {operation.method: operation for operation in OPERATIONS}


class ApiPeer(Peer):
    """A connection to the WebSocket API.

    Args:
        number: number of the connection.
        request: the request that opens it.
        venue: the venue that it is a connection to.
        terms: the limits of the connection.
    """

    def __init__(self, number: int, request: web.Request, venue: BinanceVenue, terms: ConnectionTerms) -> None:
        super().__init__(number, request, venue.exchange, venue.faults, terms)
        self.unit = unit_of(request)
        self._venue = venue
        self._account = ""  # the account that has logged on; empty for none
        self._subscriptions: dict[int, str] = {}  # accounts whose events are sent, by number of the subscription
        self._numbers = itertools.count()

    def shutdown(self, now: int) -> str:
        """See :class:`Peer`."""
        return compact({"event": {"e": "serverShutdown", "E": now // self.unit}})

    def read(self, frame: str | bytes) -> None:
        """See :class:`Peer`."""
        text = text_of(frame)
        try:
            asked = json.loads(text)
            # Numbers as they were written: they are part of what is signed.
            texts = json.loads(text, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            asked = texts = None
        if not isinstance(asked, dict) or not isinstance(asked.get("params", {}), dict):
            error = {"code": -1000, "msg": "Invalid JSON: expected an object with id, method and params."}
            self.send(compact({"id": None, "status": 400, "error": error}))
            return
        params = {name: _text(value) for name, value in texts.get("params", {}).items()}
        self.later(self._answer(asked.get("id"), str(asked.get("method", "")), params))

    async def _answer(self, number: object, method: str, params: dict[str, str]) -> None:
        venue, body = self._venue, {"id": number}
        answer: dict[str, Any]
        account = ""
        slow = venue.faults.hit("slow", self.exchange.now, path=method)
        if slow is not None:
            await venue.wait(slow.seconds)
        try:
            venue.desk.fail(method)
            account = self._account
            answer = {"status": 200, "result": self._result(method, params)}
            lost = venue.desk.lost(method)
            if lost is not None:
                raise lost
        except ApiError as error:
            details: dict[str, Any] = error.json()
            if error.retry_after_s is not None:
                again = venue.ledger.now // MILLISECOND + error.retry_after_s * 1000
                details["data"] = {"serverTime": venue.ledger.now // MILLISECOND, "retryAfter": again}
            answer = {"status": error.status, "error": details}
        await venue.delayed(method, method == "order.place")
        if params.get("returnRateLimits") != "false":
            answer["rateLimits"] = self._limits(method, account or self._named(params))
        self.send(compact({**body, **answer}))
        venue.publish()

    def _named(self, params: dict[str, str]) -> str:
        key = self._venue.ledger.keys.get(params.get("apiKey", ""))
        return key.account if key else ""

    def _limits(self, method: str, account: str) -> list[dict[str, Any]]:
        desk = self._venue.desk
        if method == "order.place":
            shown = ("ORDERS", "SECOND", 10, ORDER_LIMIT, desk.order_counts(account)[0])
        else:
            shown = ("REQUEST_WEIGHT", "MINUTE", 1, desk.weight_limit, desk.used_weight)
        return [dict(zip(("rateLimitType", "interval", "intervalNum", "limit", "count"), shown, strict=True))]

    def _result(self, method: str, params: dict[str, str]) -> object:
        """Carry a request out, and return its result.

        Raises:
            ApiError: it is refused.
        """
        desk = self._venue.desk
        if method == "session.logon":
            desk.spend(2)
            key = desk.authenticate(params.get("apiKey"), socket_payload(params), params.get("signature", ""), params)
            if key.public is None:  # a connection can be logged on with Ed25519 keys alone
                raise ApiError(-4056, "HMAC_SHA256 API key is not supported.", status=400)
            self._account = key.account
            return {"apiKey": key.name, "serverTime": self._venue.ledger.now // self.unit}
        if method in {"userDataStream.subscribe.signature", "userDataStream.subscribe"}:
            desk.spend(2)
            return self._subscribe(method, params)
        if method == "userDataStream.unsubscribe":
            wanted = params.get("subscriptionId")
            gone = [number for number in self._subscriptions if wanted in {None, str(number)}]
            for subscription in gone:
                del self._subscriptions[subscription]
                ended = {"e": "eventStreamTerminated", "E": self._venue.ledger.now // self.unit}
                self.send(compact({"subscriptionId": subscription, "event": ended}), channel="account")
            return {}
        if method == "session.subscriptions":
            return [{"subscriptionId": number} for number in self._subscriptions]
        operation = _OPERATIONS.get(method)
        if operation is None:
            raise ApiError(-1000, f"Unknown method {method!r}.")
        account = self._authorised(params) if operation.signed else ""
        return desk.answer(operation, params, self.unit, account)

    def _authorised(self, params: dict[str, str]) -> str:
        """The account that a request is for: that of its signature, or of the log-on where it is not signed."""
        if self._account and "signature" not in params:
            return self._account
        signature = params.get("signature", "")
        return self._venue.desk.authenticate(params.get("apiKey"), socket_payload(params), signature, params).account

    def _subscribe(self, method: str, params: dict[str, str]) -> dict[str, Any]:
        account = self._account if method == "userDataStream.subscribe" else self._authorised(params)
        if not account:
            raise ApiError(-1193, "Log on first: userDataStream.subscribe needs an authenticated session.", status=401)
        if account in self._subscriptions.values():
            raise ApiError(-2035, "User data stream subscription is already active.")
        number = next(self._numbers)
        self._subscriptions[number] = account
        return {"subscriptionId": number}

    def publish(self, events: Sequence[Event]) -> None:
        """Send the subscribed accounts what happened to their orders and balances."""
        for number, account in self._subscriptions.items():
            # Balances that change together are one message.
            for owner, own_events in itertools.groupby(events, key=_belongs):
                if owner[0] == account:
                    for payload, symbol in self._payloads(owner[1], list(own_events)):
                        kind = "account" if symbol is None else "execution"
                        self.send(compact({"subscriptionId": number, "event": payload}), symbol=symbol, channel=kind)

    def _payloads(self, balances: bool, events: list[Any]) -> list[tuple[dict[str, Any], str | None]]:
        now, exchange, ledger = self._venue.ledger.now, self.exchange, self._venue.ledger
        if balances:
            return [(order_wire.account_position(events, now, self.unit), None)]
        payloads = []
        for event in events:
            if event.kind != "rejected":
                cancel_id = ledger.cancellations.get((event.symbol, event.order.id), "")
                listing = exchange.listings[event.symbol]
                payloads.append((order_wire.execution_report(listing, event, cancel_id, now, self.unit), event.symbol))
        return payloads


def _belongs(event: Event) -> tuple[str, bool]:
    """The account that an event concerns, and whether it is about a balance."""
    return (
        (event.account, isinstance(event, Balance)) if isinstance(event, Balance | ExchangeExecution) else ("", False)
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else compact(value)
