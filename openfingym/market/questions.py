"""Questions to a venue's REST interface: their order, what they may cost, and when they are asked again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from openfingym.market.commands import Ask, Command, RestAnswer
from openfingym.market.feed import Request
from openfingym.market.ticks import SECOND

MINUTE = 60 * SECOND
PURPOSES = ("time", "book", "trades", "latest")
"""What questions are for; the earlier it stands here, the earlier it is asked."""
AGAIN = frozenset(("book", "trades"))
"""Purposes of questions that are asked again after a failure; the others come up again by themselves."""
LONGEST_WAIT_S = 30.0
"""Seconds between two attempts at the same question at most."""
BAN_S = 120.0
"""Seconds without any question after a ban that states no end."""


@dataclass(slots=True)
class VenueQuestion:
    """One question, waiting or asked."""

    purpose: str
    """What it is for: one of :data:`PURPOSES`."""
    symbol: str
    """The symbol that it concerns; empty where it concerns several."""
    request: Request
    """The request to send."""
    not_before: int
    """When it may be asked, in nanoseconds of the monotonic clock."""
    attempt: int = 0
    """How often it was asked in vain."""
    asked: int = 0
    """When it was asked last, in nanoseconds of the monotonic clock."""


class VenueQuestions:
    """The questions to one venue, within its rate limit. Of each purpose and symbol, one waits or is in flight at a
    time.

    Args:
        weight_per_minute: what the questions of any minute may cost together.
        rng: draws the jitter of waits.
        out: the machine's commands, to which those to ask are added.
    """

    def __init__(self, weight_per_minute: int, rng: np.random.Generator, out: list[Command]) -> None:
        self.blocked_until = 0
        """Until when the venue wants no question, in nanoseconds of the monotonic clock."""
        self._limit = weight_per_minute
        self._rng = rng
        self._out = out
        self._waiting: list[VenueQuestion] = []
        self._asked: dict[int, VenueQuestion] = {}
        self._number = 0
        self._spent: deque[tuple[int, int]] = deque()  # (when, weight) of what was asked in the last minute
        self._refusals = 0  # answers in a row that said that we ask too much

    def pending(self, purpose: str, symbol: str = "") -> bool:
        """Whether such a question waits or is in flight."""
        return any(
            question.purpose == purpose and question.symbol == symbol
            for group in (self._waiting, self._asked.values())
            for question in group
        )

    def put(self, purpose: str, symbol: str, requests: list[Request], now: int, *, wait_s: float = 0.0) -> bool:
        """Ask as soon as the limits allow.

        Args:
            purpose: what the question is for, one of :data:`PURPOSES`.
            symbol: the symbol that it concerns; empty where it concerns several.
            requests: the requests that it takes.
            now: the monotonic clock in nanoseconds.
            wait_s: seconds to wait at least before it is asked.

        Returns:
            False where such a question waits or is in flight already, and nothing was added.
        """
        if self.pending(purpose, symbol):
            return False
        due = now + int(wait_s * SECOND)
        self._waiting += [VenueQuestion(purpose, symbol, request, due) for request in requests]
        self.release(now)
        return True

    def release(self, now: int) -> None:
        """Ask the waiting questions that may be asked now, the most urgent purpose first."""
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
            The question, or None if it is unknown or will be asked again; and the fault if the request failed, empty
            if it did not.
        """
        question = self._asked.pop(number, None)
        if question is None:
            return None, ""
        if answer.used is not None:
            # The venue's own count is right: others may ask from the same address.
            self._spend(answer.used - self._spent_within_minute(now), now)
        if 200 <= answer.status < 300:
            self._refusals = 0
            return question, ""
        why = f"{question.request.path.split('?')[0]} answered {_text(answer)}"
        if answer.status in (418, 429):  # too many requests; 418 where we went on in spite of it, and are banned
            self._refusals += 1
            default = BAN_S if answer.status == 418 else self._wait_s(self._refusals)
            wait_s = default if answer.retry_after_s is None else answer.retry_after_s
            self.blocked_until = max(self.blocked_until, now + int(wait_s * SECOND))
        elif answer.status in (0, 408) or answer.status >= 500:
            question.attempt += 1
            question.not_before = now + int(self._wait_s(question.attempt) * SECOND)
        else:  # the same question would be refused again
            return question, why
        if question.purpose not in AGAIN:
            return question, why
        self._waiting.append(question)
        return None, why

    def _wait_s(self, attempt: int) -> float:
        return float(self._rng.uniform(0.5, 1.0)) * min(LONGEST_WAIT_S, 2.0 ** min(attempt, 10))

    def _spent_within_minute(self, now: int) -> int:
        while self._spent and self._spent[0][0] <= now - MINUTE:
            self._spent.popleft()
        return sum(weight for _, weight in self._spent)

    def _afford(self, weight: int, now: int) -> bool:
        spent = self._spent_within_minute(now)
        if spent and spent + weight > self._limit:  # a question that costs more than the limit is asked by itself
            return False
        self._spend(weight, now)
        return True

    def _spend(self, weight: int, now: int) -> None:
        if weight > 0:
            self._spent.append((now, weight))


def _text(answer: RestAnswer) -> str:
    body = answer.body[:200].decode(errors="replace")
    return f"HTTP {answer.status}: {body}" if answer.status else f"nothing ({body})"
