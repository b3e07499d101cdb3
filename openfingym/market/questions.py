"""Questions to a venue's REST interface: what is asked first, what it may cost, and when it is asked again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from openfingym.market.commands import Ask, Command, RestAnswer
from openfingym.market.feed import Request

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
PURPOSES = ("time", "book", "trades", "latest")
"""What is asked, the first first."""
AGAIN = frozenset(("book", "trades"))
"""Purposes that are asked again after a failure; the others are asked anew when their time comes."""
LONGEST_WAIT_S = 30.0
BAN_S = 120.0
"""Seconds to be quiet after a ban that states no end."""


@dataclass(slots=True)
class VenueQuestion:
    """One question, waiting or asked."""

    purpose: str
    symbol: str
    """Empty where it concerns several."""
    request: Request
    not_before: int
    """Monotonic nanoseconds."""
    attempt: int = 0
    asked: int = 0


class VenueQuestions:
    """The questions of one venue, within its rate limit. One of a purpose and a symbol is in flight or waits at a time.

    Args:
        weight_per_minute: what questions of any minute may cost.
        rng: draws the jitter of waits.
        out: where commands go.
    """

    def __init__(self, weight_per_minute: int, rng: np.random.Generator, out: list[Command]) -> None:
        self.blocked_until = 0
        self._limit = weight_per_minute
        self._rng = rng
        self._out = out
        self._waiting: list[VenueQuestion] = []
        self._asked: dict[int, VenueQuestion] = {}
        self._number = 0
        self._spent: deque[tuple[int, int]] = deque()
        self._refusals = 0

    def pending(self, purpose: str, symbol: str = "") -> bool:
        """Whether such a question waits or is in flight."""
        return any(
            question.purpose == purpose and question.symbol == symbol
            for group in (self._waiting, self._asked.values())
            for question in group
        )

    def put(self, purpose: str, symbol: str, requests: list[Request], now: int, *, wait_s: float = 0.0) -> bool:
        """Ask when it may be asked; return False for what is asked already."""
        if self.pending(purpose, symbol):
            return False
        due = now + int(wait_s * SECOND)
        self._waiting += [VenueQuestion(purpose, symbol, request, due) for request in requests]
        self.release(now)
        return True

    def release(self, now: int) -> None:
        """Ask what may be asked now."""
        if not self._waiting or now < self.blocked_until:
            return
        self._waiting.sort(key=lambda question: PURPOSES.index(question.purpose))
        left = []
        for question in self._waiting:
            if question.not_before > now or not self._afford(question.request.weight, now):
                left.append(question)
                continue
            self._number += 1
            question.asked = now
            self._asked[self._number] = question
            self._out.append(Ask(self._number, question.request))
        self._waiting = left

    def answered(self, number: int, answer: RestAnswer, now: int) -> tuple[VenueQuestion | None, str]:
        """Take an answer.

        Returns:
            The question, or None if it is unknown or will be asked again; and why the answer is none, empty where it
            is one.
        """
        question = self._asked.pop(number, None)
        if question is None:
            return None, ""
        if answer.used is not None:
            self._spend(answer.used - sum(weight for _, weight in self._spent), now)
        if 200 <= answer.status < 300:
            self._refusals = 0
            return question, ""
        why = f"{question.request.path.split('?')[0]} answered {_text(answer)}"
        if answer.status in (418, 429):
            self._refusals += 1
            default = BAN_S if answer.status == 418 else self._wait_s(self._refusals)
            wait_s = default if answer.retry_after_s is None else answer.retry_after_s
            self.blocked_until = max(self.blocked_until, now + int(wait_s * SECOND))
        elif answer.status in (0, 408) or answer.status >= 500:
            question.attempt += 1
            question.not_before = now + int(self._wait_s(question.attempt) * SECOND)
        else:
            return question, why
        if question.purpose not in AGAIN:
            return question, why
        self._waiting.append(question)
        return None, why

    def _wait_s(self, attempt: int) -> float:
        return float(self._rng.uniform(0.5, 1.0)) * min(LONGEST_WAIT_S, 2.0 ** min(attempt, 10))

    def _afford(self, weight: int, now: int) -> bool:
        while self._spent and self._spent[0][0] <= now - MINUTE:
            self._spent.popleft()
        spent = sum(cost for _, cost in self._spent)
        if spent and spent + weight > self._limit:  # what costs more than the limit is asked alone
            return False
        self._spend(weight, now)
        return True

    def _spend(self, weight: int, now: int) -> None:
        if weight > 0:
            self._spent.append((now, weight))


def _text(answer: RestAnswer) -> str:
    body = answer.body[:200].decode(errors="replace")
    return f"HTTP {answer.status}: {body}" if answer.status else f"nothing ({body})"
