"""Answering the requests to a local Binance venue, over REST or WebSocket: limits, keys, signatures, operations."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping

from openfingym.market.sim.binance import market_data, trading
from openfingym.market.sim.binance.keys import BinanceKey, check_time
from openfingym.market.sim.binance.ledger import BinanceLedger
from openfingym.market.sim.binance.market_data import ORDER_LIMIT, MarketDataCall, Operation
from openfingym.market.sim.binance.wire import ApiError
from openfingym.market.ticks import SECOND

OPERATIONS = market_data.OPERATIONS + trading.OPERATIONS
MINUTE = 60 * SECOND
DAY = 86400 * SECOND
BAN_S = 120
"""Seconds for which a client is banned that goes on in spite of the limit."""


class BinanceDesk:
    """The requests of one address: their weight in this minute, the orders among them, and whether it is banned for
    ignoring the limits.

    Args:
        ledger: the records of the venue.
        weight_limit: what the requests of a minute may weigh.
    """

    def __init__(self, ledger: BinanceLedger, weight_limit: int) -> None:
        self.ledger = ledger
        self.weight_limit = weight_limit
        self._minute = 0
        self._weight = 0
        self._orders: dict[str, deque[int]] = defaultdict(deque)  # when orders of the last day were placed, by account
        self._banned_until = 0

    @property
    def used_weight(self) -> int:
        """Weight of the requests in this minute."""
        minute = self.ledger.exchange.now // MINUTE
        if minute != self._minute:
            self._minute, self._weight = minute, 0
        return self._weight

    def spend(self, weight: int) -> None:
        """Count a request.

        Raises:
            ApiError: -1003, too many requests: status 429, or 418 after twice as many.
        """
        now = self.ledger.exchange.now
        if now < self._banned_until:
            raise self._refusal(418, -(-(self._banned_until - now) // SECOND))
        used = self.used_weight + weight
        self._weight = used
        if used > 2 * self.weight_limit:  # it has gone on after a refusal
            self._banned_until = now + BAN_S * SECOND
            raise self._refusal(418, BAN_S)
        if used > self.weight_limit:
            raise self._refusal(429, -(-(MINUTE - now % MINUTE) // SECOND))

    def fail(self, path: str) -> None:
        """Refuse a request where a fault says so.

        Raises:
            ApiError: the fault's status.
        """
        fault = self.ledger.faults.hit("limited", self.ledger.exchange.now, path=path)
        if fault is not None:
            raise self._refusal(fault.status if fault.status in {418, 429} else 429, int(fault.seconds))
        fault = self.ledger.faults.hit("refused", self.ledger.exchange.now, path=path)
        if fault is not None:
            raise ApiError(-2010, fault.text or "NEW_ORDER_REJECTED", status=fault.status)

    def lost(self, path: str) -> ApiError | None:
        """What is answered in the place of a result, although the request was carried out; None where no fault hits."""
        fault = self.ledger.faults.hit("lost-answer", self.ledger.exchange.now, path=path)
        if fault is None:
            return None
        text = "Timeout waiting for response from backend server. Send status unknown; execution status unknown."
        return ApiError(-1007, text, status=fault.status)

    @staticmethod
    def _refusal(status: int, seconds: int) -> ApiError:
        text = "Too much request weight used; please use WebSocket Streams for live updates to avoid polling the API."
        return ApiError(-1003, text, status=status, retry_after_s=seconds)

    def order_counts(self, account: str) -> tuple[int, int]:
        """How many orders an account has placed in the last ten seconds, and in the last day."""
        placed, now = self._orders[account], self.ledger.exchange.now
        while placed and placed[0] <= now - DAY:
            placed.popleft()
        return sum(time > now - 10 * SECOND for time in placed), len(placed)

    def authenticate(self, name: str | None, payload: str, signature: str, params: Mapping[str, str]) -> BinanceKey:
        """Check the key and the signature of a request, and return the key.

        Args:
            name: the API key that it states; None for none.
            payload: the text that is signed.
            signature: the signature of that text.
            params: its parameters, with the time at which it was made.

        Raises:
            ApiError: the key, the signature or the time is wrong.
        """
        if not name:
            raise ApiError(-2014, "API-key format invalid.", status=401)
        key = self.ledger.keys.get(name)
        if key is None:
            raise ApiError(-2015, "Invalid API-key, IP, or permissions for action.", status=401)
        if not signature:
            raise ApiError(-1102, "Mandatory parameter 'signature' was not sent, was empty/null, or malformed.")
        key.check(payload, signature)
        check_time(params, self.ledger.now)
        return key

    def answer(self, operation: Operation, params: Mapping[str, str], unit: int, account: str) -> object:
        """Carry an operation out, and return its result.

        Args:
            operation: what is asked for.
            params: the parameters of the request.
            unit: the unit of the answer's times, in nanoseconds.
            account: name of the account of the key that signed it; empty for a request that needs none.

        Raises:
            ApiError: it is refused.
        """
        placing = operation.method == "order.place"
        free = operation.method in trading.FREE
        self.spend(0 if free else operation.weight(params))
        if placing and self.order_counts(account)[0] >= ORDER_LIMIT:
            raise ApiError(-1015, "Too many new orders; current limit is 50 orders per 10 SECOND.", status=429)
        try:
            result = operation.run(self.ledger, MarketDataCall(params, unit, account))
        except ApiError:
            self._weight += operation.weight(params) if free else 0  # free is only what succeeds
            raise
        if placing:
            self._orders[account].append(self.ledger.exchange.now)
        return result
