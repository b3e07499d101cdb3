"""What each service of prices can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from openfingym.errors import DataError, UsageError
from openfingym.questions.trading_days import next_to_close

if TYPE_CHECKING:
    from openfingym.questions.question import Question

MINUTE_NS = 60 * 10**9
SETTLES_NS = 60 * MINUTE_NS
"""After the close of a session, until its closing price has settled."""


@dataclass(frozen=True)
class FinalPrice:
    """A price that is final."""

    value: float
    at_ns: int
    """When the bar begins that it closes, or the session."""
    final_ns: int
    """When that ends; after the moment asked for."""
    source: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NotYet:
    """There is no final price of the moment asked for."""

    reason: str
    source: str


@dataclass(frozen=True)
class PriceHistory:
    """What a market shows of something now: its newest price, and what it closed at before."""

    closes: tuple[float, ...]
    """Of the latest bars that are complete, the oldest first, with later splits undone; dividends are not added."""
    reference: Mapping[str, Any]
    """As :meth:`PriceVenue.now` gives it."""
    currency: str = "USD"


class PriceVenue(Protocol):
    """A service of prices."""

    keys: Mapping[str, type]
    """Keys that a query may have beside ``venue``, ``symbol`` and ``above``."""

    def check(self, question: Question) -> None:
        """Refuse what it cannot know.

        Raises:
            UsageError: with what was expected.
        """

    def at(self, query: Mapping[str, str | float], moment_ns: int, now_ns: int) -> FinalPrice | NotYet:
        """The first price that is not older than a moment.

        Args:
            query: which price is meant, as the question has it.
            moment_ns: the moment, in nanoseconds since the epoch.
            now_ns: now, by our clock. What is not over by it and by the service's clock is not final.

        Raises:
            OpenFinGymError: it cannot be asked, or answers something else.
        """

    def now(self, query: Mapping[str, str | float]) -> Mapping[str, Any] | None:
        """The newest price, as a reference; None where there is none.

        Raises:
            OpenFinGymError: it cannot be asked, or answers something else.
        """

    def history(self, query: Mapping[str, str | float], bar_s: int, count: int, now_ns: int) -> PriceHistory:
        """The newest price, and the closes of the latest bars, however many, in one request or two.

        Args:
            query: what is asked.
            bar_s: seconds of a bar; of what trades in sessions, a day's is a session.
            count: number of bars.
            now_ns: now, by our clock. What is not over by it and by the service's clock is no complete bar.

        Raises:
            UsageError: it has no such bars.
            OpenFinGymError: it cannot be asked, answers something else, or has not so many.
        """

    def hours(self, query: Mapping[str, str | float]) -> str | None:
        """Code of the exchange by whose hours it is traded; None where it is traded always."""

    def close(self) -> None:
        """Let go of connections."""


def calendar_of(query: Mapping[str, str | float]) -> str:
    """Code of the exchange by whose hours a query goes."""
    return str(query.get("calendar", "XNYS"))


def require_calendar(question: Question) -> None:
    """Refuse an exchange or a time for which no trading day is known.

    Raises:
        UsageError: with what was expected.
    """
    try:
        next_to_close(calendar_of(question.query), question.evaluation_ns)
    except UsageError as error:
        raise UsageError(f"question {question.id}: {error}") from None


def latest(found: Sequence[float], count: int, what: str) -> tuple[float, ...]:
    """The last closes of a list.

    Raises:
        DataError: it has fewer.
    """
    if len(found) < count:
        raise DataError(f"{what}: {len(found)} complete bars until now, expected {count}")
    return tuple(found[-count:])


def interval_of(query: Mapping[str, str | float], default: str, known: Mapping[str, int]) -> tuple[str, int]:
    """The length of bars that a query names, and in nanoseconds.

    Raises:
        UsageError: it is none of those known.
    """
    interval = str(query.get("interval", default))
    if interval not in known:
        raise UsageError(f"the interval is {interval!r}; expected one of {', '.join(known)}")
    return interval, known[interval] * 10**9
