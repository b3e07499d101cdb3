"""ForecastBench's public sets of questions, resolutions and forecasts, by their own field names.

A question about a data series is asked once for each of its resolution dates; one about a market, once for each date
at which the resolution set looks at it. What a market that had not resolved showed then is no truth: that question is
void.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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

    def is_of(self, bench: BenchQuestion, resolution: BenchResolution) -> bool:
        """Whether this is a forecast of a question for the date of one of its resolutions."""
        same = (self.source, self.key, self.direction) == (bench.source, bench.key, resolution.direction)
        return same and self.resolution_date in {"", resolution.date} and self.due_date in {"", bench.due_date}


def resolved_questions(
    questions: Sequence[BenchQuestion], resolutions: Sequence[BenchResolution], clock: str
) -> Iterator[tuple[BenchQuestion, BenchResolution, Question, dict[str, Any]]]:
    """Every question as it is asked for one date, with its resolution and its recorded truth.

    Raises:
        UsageError: a resolution belongs to no question, or a question or one of its dates has no resolution.
    """
    by_question: dict[tuple[str, str], list[BenchResolution]] = {}
    for resolution in resolutions:
        by_question.setdefault((resolution.source, resolution.key), []).append(resolution)
    # By identity: two lines may be equal, and each must be used.
    used: set[int] = set()
    for bench in questions:
        candidates = by_question.get((bench.source, bench.key), ())
        own = [resolution for resolution in candidates if resolution.due_date in {"", bench.due_date}]
        used.update(map(id, own))
        if not own:
            raise UsageError(f"no resolution is given of {bench.source} {bench.key}")
        if missing := sorted(set(bench.dates) - {resolution.date for resolution in own}):
            raise UsageError(f"no resolution is given of {bench.source} {bench.key} on {missing[0]}")
        for resolution in own:
            question = bench.asked(resolution.date, resolution.direction, clock)
            yield bench, resolution, question, _truth(bench, resolution, question)
    for resolution in resolutions:
        if id(resolution) not in used:
            raise UsageError(f"a resolution is of {resolution.source} {resolution.key}, which nothing asks")


def _truth(bench: BenchQuestion, resolution: BenchResolution, question: Question) -> dict[str, Any]:
    """The recorded truth of a question, as :class:`~openfingym.questions.history.PastSeason` has it."""
    known = resolution.resolved and resolution.resolved_to is not None
    reference = None
    # What a market showed is about its own question, and not about a combination of two.
    if bench.shown is not None and not resolution.direction:
        reference = {"probability": bench.shown, "at_ns": bench.frozen_ns, "source": bench.url or bench.source}
    return {
        "truth": resolution.resolved_to if known else None,
        "reason": "" if known else f"not resolved by {utc_text(question.evaluation_ns)}",
        "available_ns": question.evaluation_ns,
        "source": bench.url or bench.source,
        "reference": reference,
    }


def _key(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _direction(value: object) -> str:
    return "".join(f"{int(sign):+d}" for sign in value) if isinstance(value, list) else ""


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
