"""Relevance, the second stage: what is unknown about a signal, where sources conflict, what may delay it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Protocol, TypeVar

from openfingym_suites.findeepforecast.claims import DocumentClaims, read_report
from openfingym_suites.findeepforecast.generation.signals import Signal

T = TypeVar("T")


@dataclass(frozen=True)
class Assessment:
    """What is open about a signal, as of a time."""

    due: date | None
    """The day by which most sources say that it is decided; None if none names a day."""
    condition: str
    """What most sources call contested: ``happens`` (in time), ``at_least``, ``at_most`` or ``detail``."""
    threshold: float
    """The amount of ``at_least`` or ``at_most``, in the unit of the event; else 0."""
    detail: str
    """The wording of ``detail``; else empty."""
    unknowns: tuple[str, ...]
    """What is not known, in words."""
    conflicts: tuple[str, ...]
    """Where sources contradict each other, in words."""
    delay: bool
    """Whether a source mentions a delay."""
    leaning: float
    """How far the news speaks for it, in (0, 1): the share of turns of phrase for it, with one for and one against
    added.
    """
    uncertainty: float
    """How far sources disagree, from 0 to 1."""


class RelevanceAssessor(Protocol):
    """The second stage: says what makes a signal worth a question."""

    def assess(self, signal: Signal) -> Assessment | None:
        """Assess a signal by its documents; None if no assessment can be made."""


class RuleRelevance:
    """Relevance by counting what documents say, without a model.

    The uncertainty is ``1 - |2 s - 1|``, where ``s`` is the leaning. A tenth is added if sources name different days or
    thresholds, and a tenth if a delay is mentioned; it is 1 at most.
    """

    def assess(self, signal: Signal) -> Assessment:
        """See :class:`RelevanceAssessor`."""
        claims = [read_report(document) for document in signal.documents]
        days = Counter(claim.day for claim in claims if claim.day)
        due = _most(days)
        bounds = Counter(claim.bound for claim in claims if claim.bound)
        details = Counter(claim.detail for claim in claims if claim.detail)
        # An amount is the sharper question than a detail, and either than the mere event.
        condition, threshold, detail = "happens", 0.0, ""
        if bounds:
            condition, threshold = _most(bounds) or ("happens", 0.0)
        elif details:
            condition, detail = "detail", _most(details) or ""
        conflicts = _conflicts(days, bounds, claims)
        turns = sum(claim.turns for claim in claims)
        # turns is for plus against and leans is for less against, so that half their sum is the number for it.
        leaning = (1 + sum((claim.turns + claim.leans) // 2 for claim in claims)) / (2 + turns)
        delay = any(claim.delay for claim in claims)
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
    days: Counter[date], bounds: Counter[tuple[str, float]], claims: list[DocumentClaims]
) -> tuple[str, ...]:
    """Where documents contradict each other, in words.

    Args:
        days: how many documents name each day.
        bounds: how many documents name each amount.
        claims: what each document says.
    """
    conflicts = []
    if len(days) > 1:
        conflicts.append("days: " + ", ".join(sorted(day.isoformat() for day in days)))
    if len(bounds) > 1:
        conflicts.append("thresholds: " + ", ".join(f"{amount:g}" for _, amount in sorted(bounds)))
    if any(claim.leans > 0 for claim in claims) and any(claim.leans < 0 for claim in claims):
        conflicts.append("some sources speak for it, others against it")
    if any(claim.denial for claim in claims):
        conflicts.append("those who decide have not confirmed it")
    return tuple(conflicts)


def _most(counts: Counter[T]) -> T | None:
    """The most frequent value, of several the one that was seen first; None if there is none."""
    return max(counts, key=lambda value: counts[value]) if counts else None
