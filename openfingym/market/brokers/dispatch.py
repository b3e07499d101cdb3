"""Requests on their way: in order of urgency, within what the venue allows, each with the purpose it was sent for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from openfingym.market.commands import Ask, Instant
from openfingym.market.feed import Request

SECOND = 1_000_000_000
MINUTE = 60 * SECOND


class Urgency(IntEnum):
    """What goes first, and what share of the allowance it leaves to the more urgent."""

    CANCEL = 0
    ORDER = 1
    QUERY = 2


_LEFT = {Urgency.CANCEL: 0.0, Urgency.ORDER: 0.1, Urgency.QUERY: 0.3}


class RequestBudget:
    """A bucket of tokens, filled at the venue's rate, of which a part is kept for what is more urgent."""

    def __init__(self, per_minute: int) -> None:
        self._capacity = float(per_minute)
        self._tokens = float(per_minute)
        self._at: int | None = None
        self.held_until = 0
        """When anything may be asked again, by the monotonic clock."""

    def take(self, weight: int, urgency: Urgency, now: int) -> bool:
        """Take the tokens for a request, if there are as many."""
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
    """What a request was sent for."""

    kind: str
    """``place``, ``replace``, ``cancel``, ``order``, ``open``, ``account``, ``fills`` or ``time``."""
    client_id: str = ""
    symbol: str = ""
    order_id: str = ""
    detail: object = None


class SentRequest(NamedTuple):
    """A request that was sent."""

    purpose: Purpose
    urgency: Urgency
    sent: Instant


@dataclass
class _Waiting:
    purpose: Purpose
    make: Callable[[Instant], Request]
    urgency: Urgency
    since: int | None = None
    """When it could first have been sent, by the monotonic clock."""


class Dispatcher:
    """What is to be sent, and what was sent and has no answer yet."""

    def __init__(self, budget: RequestBudget, *, timeout_s: float = 15.0) -> None:
        self.budget = budget
        self._timeout = round(timeout_s * SECOND)
        self._waiting: list[_Waiting] = []
        self._asked: dict[int, SentRequest] = {}
        self._late: dict[int, SentRequest] = {}
        self._questions = 0

    def add(self, purpose: Purpose, make: Callable[[Instant], Request], urgency: Urgency) -> None:
        """Put a request in line. It is made when it is sent, since it may have to carry the time."""
        self._waiting.append(_Waiting(purpose, make, urgency))

    def has(self, purpose: Purpose) -> bool:
        """Whether such a request waits, or waits for its answer."""
        waiting = (item.purpose for item in self._waiting)
        return purpose in waiting or any(one.purpose == purpose for one in self._asked.values())

    def release(self, at: Instant) -> list[Ask]:
        """What may be sent now, the most urgent first."""
        released: list[Ask] = []
        left: list[_Waiting] = []
        blocked = False
        for item in sorted(self._waiting, key=lambda item: item.urgency):
            request = None if blocked else item.make(at)
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
        """What was asked under a number; None for one that was answered before."""
        return self._asked.pop(question, None) or self._late.pop(question, None)

    def overdue(self, at: Instant) -> list[SentRequest]:
        """What has had no answer for too long; each is given once, and its answer may still come."""
        over = {number: one for number, one in self._asked.items() if at.monotonic - one.sent.monotonic > self._timeout}
        for number in over:
            self._late[number] = self._asked.pop(number)
        for number in [n for n, one in self._late.items() if at.monotonic - one.sent.monotonic > 10 * MINUTE]:
            del self._late[number]
        return list(over.values())

    def drop(self) -> list[Purpose]:
        """Forget what waits, and say what it was for."""
        gone, self._waiting = [item.purpose for item in self._waiting], []
        return gone

    def stale(self, at: Instant) -> list[Purpose]:
        """Forget the orders that could not be sent for too long, and say which."""
        since = at.monotonic - self._timeout
        gone = [
            item
            for item in self._waiting
            if item.urgency is Urgency.ORDER and item.since is not None and item.since < since
        ]
        self._waiting = [item for item in self._waiting if item not in gone]
        return [item.purpose for item in gone]
