"""Relevance: what is not known of a signal, where sources conflict, and what may delay it (appendix C)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Protocol, TypeVar

from openfingym.suites.findeepforecast.generation.reports import DocumentClaims, read_report
from openfingym.suites.findeepforecast.generation.signals import Signal

T = TypeVar("T")


@dataclass(frozen=True)
class Assessment:
    """What is open about a signal, as of a time."""

    due: date | None
    """The day by which most sources say that it is settled."""
    condition: str
    """What most say is contested: ``happens`` (the day), ``at_least``, ``at_most`` or ``detail``."""
    threshold: float
    detail: str
    unknowns: tuple[str, ...]
    """What is not known, in words."""
    conflicts: tuple[str, ...]
    """Where sources contradict each other, in words."""
    delay: bool
    """Whether a delay is spoken of."""
    leaning: float
    """Share of the turns that speak for it, with one for and one against added: in (0, 1)."""
    uncertainty: float
    """In [0, 1]: how far sources disagree."""


class RelevanceAssessor(Protocol):
    """The second stage: what makes a signal worth a question."""

    def assess(self, signal: Signal) -> Assessment | None:
        """Assess a signal by its documents; None where no assessment can be had."""


class RuleRelevance:
    """Relevance by counting what reports say: no model is asked.

    The uncertainty is ``1 - |2 s - 1|``, where ``s`` is the share of outlets' turns that speak for the event, an
    outlet counting once for each report; a tenth is added where sources name other days or thresholds, and where a
    delay is spoken of; it is cut at one.
    """

    def assess(self, signal: Signal) -> Assessment:
        """As :class:`RelevanceAssessor` has it."""
        reports = [read_report(one) for one in signal.documents]
        days = Counter(one.day for one in reports if one.day)
        due = _most(days)
        bounds = Counter(one.bound for one in reports if one.bound)
        details = Counter(one.detail for one in reports if one.detail)
        condition, threshold, detail = "happens", 0.0, ""
        if bounds:
            condition, threshold = _most(bounds) or ("happens", 0.0)
        elif details:
            condition, detail = "detail", _most(details) or ""
        conflicts = _conflicts(days, bounds, reports)
        turns = sum(one.turns for one in reports)
        leaning = (1 + sum((one.turns + one.leans) // 2 for one in reports)) / (2 + turns)
        delay = any(one.delay for one in reports)
        uncertainty = 1 - abs(2 * leaning - 1) + 0.1 * (len(days) > 1 or len(bounds) > 1) + 0.1 * delay
        unknowns = ["whether it comes in time"]
        if condition in {"at_least", "at_most"}:
            unknowns.insert(0, f"whether it is {condition.replace('_', ' ')} {threshold:g}")
        if detail:
            unknowns.insert(0, f'whether it comes "{detail}"')
        return Assessment(
            due, condition, threshold, detail, tuple(unknowns), conflicts, delay, leaning, min(1.0, uncertainty)
        )


def _conflicts(
    days: Counter[date], bounds: Counter[tuple[str, float]], reports: list[DocumentClaims]
) -> tuple[str, ...]:
    found = []
    if len(days) > 1:
        found.append("days: " + ", ".join(sorted(one.isoformat() for one in days)))
    if len(bounds) > 1:
        found.append("thresholds: " + ", ".join(f"{one[1]:g}" for one in sorted(bounds)))
    if any(one.leans > 0 for one in reports) and any(one.leans < 0 for one in reports):
        found.append("some sources speak for it, others against it")
    if any(one.denial for one in reports):
        found.append("those who decide have not confirmed it")
    return tuple(found)


def _most(counts: Counter[T]) -> T | None:
    """The most frequent thing; of several the one seen first."""
    return max(counts, key=lambda one: counts[one]) if counts else None
