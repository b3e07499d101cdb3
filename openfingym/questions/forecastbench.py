"""ForecastBench's public sets of questions, resolutions and forecasts, by their own field names.

A question of a data series is asked once for each of its resolution dates; one of a market once for each date at which
the resolution set looks at it. What a market that had not resolved showed then is no truth: such a question is void.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openfingym.errors import UsageError
from openfingym.questions.question import DAY_NS, LONGEST_TEXT, Question, moment_ns, utc_text

NONE = ("", "N/A", None)
"""How a set says that there is no value."""


@dataclass(frozen=True)
class BenchQuestion:
    """A line of a question set."""

    key: str
    """The id; of a combination, both, joined by ``+``."""
    source: str
    question: str
    criteria: str
    url: str
    frozen_ns: int
    due_date: str
    """ISO date by whose end in UTC forecasts are due."""
    shown: float | None
    """What a market showed when the set was made; None of a data series."""
    dates: tuple[str, ...]
    """Of a data series: its resolution dates."""

    @classmethod
    def read(cls, document: dict[str, Any]) -> BenchQuestion:
        """Read a line."""
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
        """The end of the due date."""
        return moment_ns(f"{self.due_date}T00:00:00Z") + DAY_NS

    def asked(self, date: str, direction: str, clock: str) -> Question:
        """The question as it is asked for one resolution date."""
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
    source: str
    direction: str
    """Of a combination, a sign for each of its questions, such as ``+1-1``; else empty."""
    date: str
    resolved_to: float | None
    resolved: bool
    due_date: str
    """Of the set that it resolves; empty where it does not say."""

    @classmethod
    def read(cls, document: dict[str, Any]) -> BenchResolution:
        """Read a line."""
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
    source: str
    direction: str
    probability: float
    resolution_date: str
    """Empty where it is of a market, and so of every date at which that is looked at."""
    due_date: str
    """Of the set that it answers; empty where it does not say."""
    agent: str

    @classmethod
    def read(cls, document: dict[str, Any], agent: str) -> BenchForecast:
        """Read a line; without a model of its own it is of ``agent``."""
        date = document.get("resolution_date")
        agent = "/".join(str(document[one]) for one in ("organization", "model") if document.get(one)) or agent
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

    def is_of(self, bench: BenchQuestion, one: BenchResolution) -> bool:
        """Whether it is a forecast of a question for one of its dates."""
        same = (self.source, self.key, self.direction) == (bench.source, bench.key, one.direction)
        return same and self.resolution_date in {"", one.date} and self.due_date in {"", bench.due_date}


def resolved_questions(
    questions: Sequence[BenchQuestion], resolutions: Sequence[BenchResolution], clock: str
) -> Iterator[tuple[BenchQuestion, BenchResolution, Question, dict[str, Any]]]:
    """Every question as it is asked for one date, with its resolution and its recorded truth.

    Raises:
        UsageError: a resolution is of no question, or a question or one of its dates has none.
    """
    found: dict[tuple[str, str], list[BenchResolution]] = {}
    for one in resolutions:
        found.setdefault((one.source, one.key), []).append(one)
    used: set[int] = set()
    for bench in questions:
        own = [one for one in found.get((bench.source, bench.key), ()) if one.due_date in {"", bench.due_date}]
        used.update(map(id, own))
        if not own:
            raise UsageError(f"no resolution is given of {bench.source} {bench.key}")
        if missing := sorted(set(bench.dates) - {one.date for one in own}):
            raise UsageError(f"no resolution is given of {bench.source} {bench.key} on {missing[0]}")
        for one in own:
            question = bench.asked(one.date, one.direction, clock)
            yield bench, one, question, _truth(bench, one, question)
    for one in resolutions:
        if id(one) not in used:
            raise UsageError(f"a resolution is of {one.source} {one.key}, which nothing asks")


def _truth(bench: BenchQuestion, one: BenchResolution, question: Question) -> dict[str, Any]:
    known = one.resolved and one.resolved_to is not None
    reference = None
    if bench.shown is not None and not one.direction:
        reference = {"probability": bench.shown, "at_ns": bench.frozen_ns, "source": bench.url or bench.source}
    return {
        "truth": one.resolved_to if known else None,
        "reason": "" if known else f"not resolved by {utc_text(question.evaluation_ns)}",
        "available_ns": question.evaluation_ns,
        "source": bench.url or bench.source,
        "reference": reference,
    }


def _key(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _direction(value: object) -> str:
    return "".join(f"{int(one):+d}" for one in value) if isinstance(value, list) else ""


def _text(document: dict[str, Any], name: str) -> str:
    value = document[name]
    if not isinstance(value, str) or not value:
        raise UsageError(f"{name} is {str(value)[:40]!r}, expected a text")
    return value


def _probability(value: object) -> float:
    try:
        found = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        found = math.nan
    if not 0.0 <= found <= 1.0:
        raise UsageError(f"{str(value)[:40]!r} is no probability, expected 0 to 1")
    return found


def _date(value: object) -> str:
    text = str(value)[:10]
    moment_ns(f"{text}T00:00:00Z")
    return text


def _moment(value: object) -> int:
    """A time of a set, which is in UTC where it does not say so."""
    text = str(value)
    return moment_ns(text if text.endswith("Z") or "+" in text[10:] else f"{text[:10]}T{text[11:] or '00:00:00'}Z")
