"""Services of prices: what each of them can do, and what they share."""

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
"""How long after the close of a session its closing price may still change, nanoseconds."""


@dataclass(frozen=True)
class FinalPrice:
    """A price that is final."""

    value: float
    at_ns: int
    """When the bar or session begins whose close the price is, nanoseconds since the epoch."""
    final_ns: int
    """When that bar or session ends, which is after the moment asked for."""
    source: str
    """Address that was asked, without keys."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """The bar, and the rule by which it was chosen, as JSON."""


@dataclass(frozen=True)
class NotYet:
    """Says that there is no final price of the moment asked for yet."""

    reason: str
    """Why there is none."""
    source: str
    """Address that was asked, without keys."""


@dataclass(frozen=True)
class PriceHistory:
    """What a market shows of a symbol now: its newest price, and its closes before."""

    closes: tuple[float, ...]
    """Closes of the latest complete bars, the oldest first, adjusted for splits and not for dividends."""
    reference: Mapping[str, Any]
    """The newest price, as :meth:`PriceVenue.now` gives it."""
    currency: str = "USD"


class PriceVenue(Protocol):
    """A service of prices."""

    keys: Mapping[str, type]
    """Keys that a query may have beside ``venue``, ``symbol`` and ``above``."""

    def check(self, question: Question) -> None:
        """Return if the service can ever know the price that a question is about; asks nobody.

        Raises:
            UsageError: it cannot; the message says what was expected.
        """

    def at(self, query: Mapping[str, str | float], moment_ns: int, now_ns: int) -> FinalPrice | NotYet:
        """The first price that is not older than a moment.

        Args:
            query: query of a question, which says which price is meant.
            moment_ns: the moment, in nanoseconds since the epoch.
            now_ns: the time by our clock. A bar that is not over by both our clock and the service's is not final.

        Raises:
            OpenFinGymError: the service cannot be asked, or answers something else.
        """

    def now(self, query: Mapping[str, str | float]) -> Mapping[str, Any] | None:
        """The newest price, as a reference; None where there is none.

        Raises:
            OpenFinGymError: the service cannot be asked, or answers something else.
        """

    def history(self, query: Mapping[str, str | float], bar_s: int, count: int, now_ns: int) -> PriceHistory:
        """The newest price and the closes of the latest bars, in one request or two.

        Args:
            query: query of a question, which says which price is meant.
            bar_s: length of a bar in seconds; a day's bar of what trades in sessions is a session.
            count: number of bars whose closes are wanted.
            now_ns: the time by our clock. A bar that is not over by both our clock and the service's is not complete.

        Raises:
            UsageError: the service has no bars of that length.
            OpenFinGymError: the service cannot be asked, answers something else, or has fewer bars.
        """

    def hours(self, query: Mapping[str, str | float]) -> str | None:
        """Code of the exchange by whose hours the symbol of a query is traded; None where it is traded always."""

    def close(self) -> None:
        """Close the connections."""


def calendar_of(query: Mapping[str, str | float]) -> str:
    """Code of the exchange by whose hours a query's symbol is traded; New York's where the query names none."""
    return str(query.get("calendar", "XNYS"))


def require_calendar(question: Question) -> None:
    """Refuse a question with an exchange or a time for which no trading day is known.

    Raises:
        UsageError: there is no calendar of the exchange, or it does not reach so far.
    """
    try:
        next_to_close(calendar_of(question.query), question.evaluation_ns)
    except UsageError as error:
        raise UsageError(f"question {question.id}: {error}") from None


def latest(closes: Sequence[float], count: int, what: str) -> tuple[float, ...]:
    """The last closes of a list.

    Args:
        closes: closes, the oldest first.
        count: number of closes wanted.
        what: where they are from, for messages.

    Raises:
        DataError: there are fewer.
    """
    if len(closes) < count:
        raise DataError(f"{what}: {len(closes)} complete bars until now, expected {count}")
    return tuple(closes[-count:])


def interval_of(query: Mapping[str, str | float], default: str, known: Mapping[str, int]) -> tuple[str, int]:
    """The length of bars that a query names: its name, and the length in nanoseconds.

    Args:
        query: query of a question.
        default: name of the length where the query has none.
        known: lengths that the service has, in seconds by name.

    Raises:
        UsageError: the service has no bars of that length.
    """
    interval = str(query.get("interval", default))
    if interval not in known:
        raise UsageError(f"the interval is {interval!r}; expected one of {', '.join(known)}")
    return interval, known[interval] * 10**9
