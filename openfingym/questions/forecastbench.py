"""ForecastBench's public sets of questions, resolutions and forecasts, by their own field names.

A question about a data series is asked once for each of its resolution dates; one about a market, once for each date
at which the resolution set looks at it.

A resolution set is published again and again while its horizons pass, and questions are nullified meanwhile, so that it
need not have a row of everything that was asked:

=====================================================  ================================================================
a row with a value                                     the truth
a row of a market that had not resolved                void: what it showed then is no truth
no row, where the source has none of that date either  waits: the horizon lies ahead of the set
no row, where the source has others of that date       void: nullified
no row of a market                                     void: nullified
=====================================================  ================================================================
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from openfingym.errors import UsageError
from openfingym.questions.question import DAY_NS, LONGEST_TEXT, Question, moment_ns, utc_text

NONE = ("", "N/A", None)
"""How a set writes that there is no value."""


@dataclass(frozen=True)
class BenchQuestion:
    """A line of a question set."""

    key: str
    """Id of the question; for a combination of two questions, their ids joined by ``+``."""
    source: str
    """Name of the market or of the publisher of the data series."""
    question: str
    """Text of the question, in which the resolution date is yet to be filled in."""
    criteria: str
    """How the question is resolved, and its background."""
    url: str
    frozen_ns: int
    """When the set was made, nanoseconds since the epoch."""
    due_date: str
    """ISO date by whose end in UTC forecasts are due."""
    shown: float | None
    """Probability that the market showed when the set was made; None for a data series."""
    dates: tuple[str, ...]
    """Resolution dates of a data series, ISO; empty for a market."""
    directions: tuple[str, ...]
    """The forms in which it is asked: all signs of a combination's questions, such as ``+1-1``; else one, empty."""

    @classmethod
    def read(cls, document: dict[str, Any]) -> BenchQuestion:
        """Read a line.

        Raises:
            UsageError: a field is not of its form.
            KeyError: a field is missing.
        """
        dates = document.get("resolution_dates")
        series = isinstance(dates, list)
        value = document.get("freeze_datetime_value")
        due = _text(document, "forecast_due_date")[:10]
        text = _text(document, "question").replace("{forecast_due_date}", due)
        return cls(
            key=_key(document["id"]),
            source=_text(document, "source"),
            question=text,
            criteria=f"{document.get('resolution_criteria') or ''}\n\n{document.get('background') or ''}".strip(),
            url=str(document.get("url") or ""),
            frozen_ns=_moment(document["freeze_datetime"]),
            due_date=due,
            shown=None if series or value in NONE else _probability(value),
            dates=tuple(map(_date, dates)) if isinstance(dates, list) else (),
            directions=_directions(document["id"]),
        )

    @property
    def deadline_ns(self) -> int:
        """The end of the due date in UTC, nanoseconds since the epoch."""
        return moment_ns(f"{self.due_date}T00:00:00Z") + DAY_NS

    def asked(self, date: str, direction: str, clock: str) -> Question:
        """The question as it is asked for one resolution date.

        Args:
            date: resolution date that the question is asked for, ISO.
            direction: signs of a combination's questions, such as ``+1-1``; else empty.
            clock: name of the simulated clock on which it is asked.
        """
        text = self.question.replace("{resolution_date}", date)
        return Question(
            id=f"{self.due_date}/{self.source}/{self.key}{direction}/{date}",
            text=text[:LONGEST_TEXT],
            form="probability",
            generated_ns=self.frozen_ns,
            deadline_ns=self.deadline_ns,
            evaluation_ns=moment_ns(f"{date}T00:00:00Z") + DAY_NS,
            provider="recorded",
            category=self.source,
            market="" if self.dates else self.source,
            rules=self.criteria[:LONGEST_TEXT],
            clock=clock,
            round=self.due_date,
        )


@dataclass(frozen=True)
class BenchResolution:
    """A line of a resolution set."""

    key: str
    """Id of the question, as :attr:`BenchQuestion.key`."""
    source: str
    direction: str
    """A sign for each question of a combination, such as ``+1-1``; else empty."""
    date: str
    """Date for which the question is resolved, ISO."""
    resolved_to: float | None
    """Probability or payout that it is resolved to; None where there is no value."""
    resolved: bool
    """Whether the question was resolved by then; if not, ``resolved_to`` is what a market showed."""
    due_date: str
    """Due date of the question set that it belongs to; empty where it does not say."""

    @classmethod
    def read(cls, document: dict[str, Any]) -> BenchResolution:
        """Read a line.

        Raises:
            UsageError: a field is not of its form.
            KeyError: a field is missing.
        """
        value, resolved = document["resolved_to"], document.get("resolved", True)
        if not isinstance(resolved, bool):
            raise UsageError(f"resolved is {str(resolved)[:40]!r}, expected true or false")
        return cls(
            key=_key(document["id"]),
            source=_text(document, "source"),
            direction=_direction(document.get("direction")),
            date=_date(document["resolution_date"]),
            resolved_to=None
            if value in NONE or (isinstance(value, float) and math.isnan(value))
            else _probability(value),
            resolved=resolved,
            due_date=str(document.get("forecast_due_date") or "")[:10],
        )


@dataclass(frozen=True)
class BenchForecast:
    """A line of a forecast set."""

    key: str
    """Id of the question, as :attr:`BenchQuestion.key`."""
    source: str
    direction: str
    """A sign for each question of a combination, such as ``+1-1``; else empty."""
    probability: float
    resolution_date: str
    """ISO date that the forecast is for; empty for a market, where it is for every date at which that is looked at."""
    due_date: str
    """Due date of the question set that it answers; empty where it does not say."""
    agent: str
    """Name of the agent that made it."""

    @classmethod
    def read(cls, document: dict[str, Any], agent: str) -> BenchForecast:
        """Read a line.

        Args:
            document: the line, as a JSON object.
            agent: name of the agent of a line that names no organization and model; may be empty.

        Raises:
            UsageError: a field is not of its form, or nothing names an agent.
            KeyError: a field is missing.
        """
        date = document.get("resolution_date")
        agent = "/".join(str(document[name]) for name in ("organization", "model") if document.get(name)) or agent
        if not agent:
            raise UsageError("a forecast names no model; name its agent with --agent")
        return cls(
            key=_key(document["id"]),
            source=_text(document, "source"),
            direction=_direction(document.get("direction")),
            probability=_probability(document["forecast"]),
            resolution_date="" if date in NONE else _date(date),
            due_date=str(document.get("forecast_due_date") or "")[:10],
            agent=agent,
        )


class BenchAsked(NamedTuple):
    """A question as it is asked for one date."""

    bench: BenchQuestion
    direction: str
    """Signs of a combination's questions, such as ``+1-1``; else empty."""
    date: str
    """Date for which it is asked, ISO."""
    question: Question
    truth: dict[str, Any] | None
    """The recorded truth, as :class:`~openfingym.questions.history.PastSeason` has it; None where it waits for one."""


class BenchSet:
    """The questions and resolutions of one or more sets, joined."""

    def __init__(self, questions: Sequence[BenchQuestion], resolutions: Sequence[BenchResolution]) -> None:
        """Join resolutions with their questions.

        Raises:
            UsageError: no resolutions are given of a whole set of questions, or the other way round; or two
                resolutions of one question contradict each other.
        """
        self._questions = questions
        self._rows: dict[tuple[str, str], dict[tuple[str, str, str], BenchResolution]] = {}
        self._seen: set[tuple[str, str, str]] = set()
        """Due date, source and date of every row."""
        asked = {(bench.source, bench.key) for bench in questions}
        due_dates = {bench.due_date for bench in questions}
        self.unasked = 0
        """Number of resolutions of questions that are in none of the sets, such as those only people were asked."""
        for resolution in resolutions:
            if resolution.due_date not in {"", *due_dates} or not questions:
                raise UsageError(f"a resolution is of {resolution.source} {resolution.key}, which nothing asks")
            self.unasked += (resolution.source, resolution.key) not in asked
            self._add(resolution)
        for due in sorted(due_dates):
            if not any(one.due_date in {"", due} for one in resolutions):
                raise UsageError(
                    f"no resolution is given of the questions due on {due}; add the file with their resolution set"
                )

    def _add(self, resolution: BenchResolution) -> None:
        rows = self._rows.setdefault((resolution.source, resolution.key), {})
        same = rows.setdefault((resolution.due_date, resolution.date, resolution.direction), resolution)
        if same != resolution:
            raise UsageError(
                f"two resolutions of {resolution.source} {resolution.key} on {resolution.date} differ: "
                f"{same.resolved_to} and {resolution.resolved_to}"
            )
        self._seen.add((resolution.due_date, resolution.source, resolution.date))

    def asked(self, clock: str) -> Iterator[BenchAsked]:
        """Every question as it is asked for each date, with its truth as far as the set has it.

        Args:
            clock: name of the simulated clock on which they are asked.
        """
        for bench in self._questions:
            rows = [
                row for row in self._rows.get((bench.source, bench.key), {}).values()
                if row.due_date in {"", bench.due_date}
            ]  # fmt: skip
            for row in rows:
                question = bench.asked(row.date, row.direction, clock)
                yield BenchAsked(bench, row.direction, row.date, question, _truth(bench, row, question))
            given = {(row.date, row.direction) for row in rows}
            if bench.dates:
                lacking = [(date, signs) for date in bench.dates for signs in bench.directions]
            else:
                # A market is looked at on one date, and one without a row was not looked at any more.
                lacking = [] if rows else [(self._latest(bench), signs) for signs in bench.directions]
            for date, signs in lacking:
                if (date, signs) not in given:
                    question = bench.asked(date, signs, clock)
                    yield BenchAsked(bench, signs, date, question, self._without_row(bench, date, question))

    def _latest(self, bench: BenchQuestion) -> str:
        """The latest date of any row of the set that a question belongs to, but not before its due date."""
        return max(bench.due_date, *(date for due, _, date in self._seen if due in {"", bench.due_date}))

    def _without_row(self, bench: BenchQuestion, date: str, question: Question) -> dict[str, Any] | None:
        """The truth of a question of which there is no row: that there is none, or None where it may still come."""
        of_source = {seen for due, source, seen in self._seen if source == bench.source and due in {"", bench.due_date}}
        if bench.dates and date not in of_source:
            return None
        return _recorded(bench, question, None, f"nullified: the resolution set has no {bench.source} row of it")


def _truth(bench: BenchQuestion, row: BenchResolution, question: Question) -> dict[str, Any]:
    """The truth that a row states."""
    known = row.resolved and row.resolved_to is not None
    reason = "" if known else f"not resolved by {utc_text(question.evaluation_ns)}"
    return _recorded(bench, question, row.resolved_to if known else None, reason)


def _recorded(bench: BenchQuestion, question: Question, truth: float | None, reason: str) -> dict[str, Any]:
    reference = None
    # What a market showed is about its own question, and not about a combination of two.
    if bench.shown is not None and bench.directions == ("",):
        reference = {"probability": bench.shown, "at_ns": bench.frozen_ns, "source": bench.url or bench.source}
    return {
        "truth": truth,
        "reason": reason,
        "available_ns": question.evaluation_ns,
        "source": bench.url or bench.source,
        "reference": reference,
    }


def _key(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _direction(value: object) -> str:
    return "".join(f"{int(sign):+d}" for sign in value) if isinstance(value, list) else ""


def _directions(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ("",)
    return tuple(map(_direction, map(list, itertools.product((1, -1), repeat=len(value)))))


def _text(document: dict[str, Any], name: str) -> str:
    value = document[name]
    if not isinstance(value, str) or not value:
        raise UsageError(f"{name} is {str(value)[:40]!r}, expected a text")
    return value


def _probability(value: object) -> float:
    try:
        probability = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        probability = math.nan
    # In this form, so that NaN is refused too.
    if not 0.0 <= probability <= 1.0:
        raise UsageError(f"{str(value)[:40]!r} is no probability, expected 0 to 1")
    return probability


def _date(value: object) -> str:
    text = str(value)[:10]
    moment_ns(f"{text}T00:00:00Z")
    return text


def _moment(value: object) -> int:
    """A time of a set as nanoseconds since the epoch; one without a time zone is in UTC."""
    text = str(value)
    return moment_ns(text if text.endswith("Z") or "+" in text[10:] else f"{text[:10]}T{text[11:] or '00:00:00'}Z")
