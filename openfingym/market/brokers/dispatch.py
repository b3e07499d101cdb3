"""Sending requests to a broker: in order of urgency, within the venue's rate limit, each with its purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from openfingym.market.commands import Ask, Instant
from openfingym.market.feed import Request
from openfingym.market.ticks import SECOND

MINUTE = 60 * SECOND


class Urgency(IntEnum):
    """The urgency of a request: the lower the number, the earlier it is sent."""

    CANCEL = 0
    ORDER = 1
    QUERY = 2


_LEFT = {Urgency.CANCEL: 0.0, Urgency.ORDER: 0.1, Urgency.QUERY: 0.3}
"""Share of the allowance that a request leaves to more urgent ones: questions must not keep orders from being
cancelled."""


class RequestBudget:
    """A token bucket, filled at the venue's rate, of which a part is reserved for more urgent requests.

    Args:
        per_minute: what the requests of a minute may cost.
    """

    def __init__(self, per_minute: int) -> None:
        self._capacity = float(per_minute)
        self._tokens = float(per_minute)
        self._at: int | None = None  # when the tokens were last counted
        self.held_until = 0
        """When anything may be asked again, in nanoseconds of the monotonic clock."""

    def take(self, weight: int, urgency: Urgency, now: int) -> bool:
        """Take the tokens for a request, if there are enough; return whether there were.

        Args:
            weight: what the request costs.
            urgency: how urgent it is.
            now: the monotonic clock in nanoseconds.
        """
        if now < self.held_until:
            return False
        if self._at is not None:
            self._tokens = min(self._capacity, self._tokens + self._capacity * (now - self._at) / MINUTE)
        self._at = now
        if self._tokens - weight < _LEFT[urgency] * self._capacity:
            return False
        self._tokens -= weight
        return True

    def hold(self, until: int) -> None:
        """Let nothing be asked before a time: the venue has said so."""
        self.held_until = max(self.held_until, until)


class Purpose(NamedTuple):
    """What a request is for. No two requests of the same purpose are on their way at a time."""

    kind: str
    """``place``, ``replace``, ``cancel``, ``order``, ``open``, ``account``, ``fills`` or ``time``."""
    client_id: str = ""
    """Our id of the order that it concerns; empty for none."""
    symbol: str = ""
    """The symbol that it concerns; empty for all."""
    order_id: str = ""
    """The broker's id of the order that it concerns; otherwise a mark by which purposes differ."""
    detail: object = None
    """What else tells purposes of a kind apart, such as a :class:`~openfingym.market.brokers.broker.FillQuery`."""


class SentRequest(NamedTuple):
    """A request that was sent."""

    purpose: Purpose
    """What it was sent for."""
    urgency: Urgency
    """How urgent it was."""
    sent: Instant
    """When it was sent."""


@dataclass
class _Waiting:
    purpose: Purpose
    make: Callable[[Instant], Request]
    urgency: Urgency
    since: int | None = None
    """When it could first not be sent for want of tokens, by the monotonic clock; None where it could."""


class Dispatcher:
    """The requests that are to be sent, and those that were sent and have no answer yet.

    Args:
        budget: what requests may cost.
        timeout_s: seconds after which a request counts as unanswered, and after which an order that could not be sent
            is given up.
    """

    def __init__(self, budget: RequestBudget, *, timeout_s: float = 15.0) -> None:
        self.budget = budget
        self._timeout = round(timeout_s * SECOND)
        self._waiting: list[_Waiting] = []
        self._asked: dict[int, SentRequest] = {}  # without an answer, by the number of the question
        self._late: dict[int, SentRequest] = {}  # those that count as unanswered; an answer may still come
        self._questions = 0

    def add(self, purpose: Purpose, make: Callable[[Instant], Request], urgency: Urgency) -> None:
        """Put a request in line.

        Args:
            purpose: what it is for.
            make: makes the request when it is sent, since it may have to state the time.
            urgency: how urgent it is.
        """
        self._waiting.append(_Waiting(purpose, make, urgency))

    def has(self, purpose: Purpose) -> bool:
        """Whether a request for this purpose waits to be sent, or waits for its answer."""
        waiting = (item.purpose for item in self._waiting)
        return purpose in waiting or any(sent.purpose == purpose for sent in self._asked.values())

    def release(self, at: Instant) -> list[Ask]:
        """The requests that may be sent now, the most urgent first."""
        released: list[Ask] = []
        left: list[_Waiting] = []
        blocked = False
        for item in sorted(self._waiting, key=lambda item: item.urgency):
            request = None if blocked else item.make(at)
            # One that does not fit holds up all behind it: cheaper ones would take its tokens time and again.
            if request is None or not self.budget.take(request.weight, item.urgency, at.monotonic):
                blocked = True
                item.since = at.monotonic if item.since is None else item.since
                left.append(item)
                continue
            self._questions += 1
            self._asked[self._questions] = SentRequest(item.purpose, item.urgency, at)
            released.append(Ask(self._questions, request))
        self._waiting = left
        return released

    def answered(self, question: int) -> SentRequest | None:
        """The request that has an answer now; None if it had one before."""
        return self._asked.pop(question, None) or self._late.pop(question, None)

    def overdue(self, at: Instant) -> list[SentRequest]:
        """Requests that have had no answer for too long. Each is given once, and its answer may still come."""
        now = at.monotonic
        over = {number: sent for number, sent in self._asked.items() if now - sent.sent.monotonic > self._timeout}
        for number in over:
            self._late[number] = self._asked.pop(number)
        for number in [number for number, sent in self._late.items() if now - sent.sent.monotonic > 10 * MINUTE]:
            del self._late[number]
        return list(over.values())

    def drop(self) -> list[Purpose]:
        """Forget the requests that wait to be sent, and return what they were for."""
        gone, self._waiting = [item.purpose for item in self._waiting], []
        return gone

    def stale(self, at: Instant) -> list[Purpose]:
        """Forget the orders that could not be sent for too long, and return what they were for."""
        since = at.monotonic - self._timeout
        gone = [
            item
            for item in self._waiting
            if item.urgency is Urgency.ORDER and item.since is not None and item.since < since
        ]
        self._waiting = [item for item in self._waiting if item not in gone]
        return [item.purpose for item in gone]
