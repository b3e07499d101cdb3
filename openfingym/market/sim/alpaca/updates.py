"""The stream of order events of a local Alpaca venue."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
from aiohttp import web

from openfingym.market.sim.alpaca.ledger import AlpacaLedger
from openfingym.market.sim.alpaca.order_wire import update
from openfingym.market.sim.events import Event, ExchangeExecution
from openfingym.market.sim.peers import ConnectionTerms, Peer
from openfingym.market.sim.server import compact


class TradePeer(Peer):
    """A connection to ``trade_updates``.

    Args:
        number: number of the connection.
        request: the request that opens it.
        ledger: the records of the venue.
        terms: the limits of the connection.
        binary: whether JSON is sent in binary frames, as on the paper venue.
    """

    def __init__(
        self, number: int, request: web.Request, ledger: AlpacaLedger, terms: ConnectionTerms, *, binary: bool
    ) -> None:
        super().__init__(number, request, ledger.exchange, ledger.faults, terms)
        self._ledger = ledger
        self._binary = binary
        self._packed = "msgpack" in request.headers.get("Content-Type", "")
        self._account = ""
        self._listening = False

    def read(self, frame: str | bytes) -> None:
        """See :class:`Peer`."""
        try:
            asked = msgspec.msgpack.decode(frame) if self._packed and isinstance(frame, bytes) else json.loads(frame)
        except (ValueError, RecursionError, msgspec.DecodeError):
            asked = None
        action = asked.get("action") if isinstance(asked, dict) else None
        data = asked.get("data") if isinstance(asked, dict) else None
        data = data if isinstance(data, dict) else {}
        # Alpaca takes the keys in two forms, of which its older clients use the nested one.
        if isinstance(asked, dict) and action in {"auth", "authenticate"}:
            key, secret = asked.get("key", data.get("key_id")), asked.get("secret", data.get("secret_key"))
            known = isinstance(key, str) and isinstance(secret, str)
            self._account = (self._ledger.account_of(str(key), str(secret)) if known else None) or self._account
            status = "authorized" if known and self._ledger.account_of(str(key), str(secret)) else "unauthorized"
            self._say("authorization", {"status": status, "action": "authenticate"})
        elif action == "listen" and self._account:
            streams = data.get("streams")
            wanted = streams if isinstance(streams, list) else []
            self._listening = "trade_updates" in wanted
            self._say("listening", {"streams": ["trade_updates"] if self._listening else []})
        else:
            self._say("authorization", {"status": "unauthorized", "action": str(action)[:40]})

    def hears(self, account: str) -> bool:
        """Whether it is subscribed to the events of an account's orders."""
        return self._listening and self._account == account

    def publish(self, events: Iterable[Event]) -> None:
        """Send what happened to the account's orders."""
        for event in events:
            if isinstance(event, ExchangeExecution) and self.hears(event.account):
                self.tell(event, waiting=self.exchange.halted(event.symbol))

    def tell(self, event: ExchangeExecution, *, waiting: bool) -> None:
        """Send an event.

        Args:
            event: the event to send.
            waiting: whether the order waits for its market to open, so that it is accepted, and not new yet.
        """
        message = update(self._ledger, event, waiting=waiting)
        if message is not None:
            self.send(self._frame(message), symbol=event.symbol, channel="execution")

    def _say(self, stream: str, data: dict[str, Any]) -> None:
        self.send(self._frame({"stream": stream, "data": data}))

    def _frame(self, message: dict[str, Any]) -> str | bytes:
        if self._packed:
            return msgspec.msgpack.encode(message)
        return compact(message).encode() if self._binary else compact(message)
