"""Signal detection: which events the news speaks of that may happen or not, and are not decided (appendix C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from openfingym.suites.findeepforecast.generation.reports import DocumentClaims, read_report
from openfingym.suites.findeepforecast.problem import ECONOMIES, Level
from openfingym.suites.findeepforecast.world.known import Company, Document, KnownWorld


@dataclass(frozen=True)
class Signal:
    """An event that the news speaks of, as of a time."""

    story: str
    """The desk's name of it; where it has none, one from its subject and kind."""
    subject: str
    """Economy or symbol."""
    market: str
    level: Level
    kind: str
    """Code of the macro taxonomy, or number of the corporate event type."""
    phrase: str
    """As reports name it."""
    documents: tuple[Document, ...]
    """What is reported of it, oldest first."""


@dataclass(frozen=True)
class Detected:
    """What signal detection found, and what it left out."""

    signals: tuple[Signal, ...]
    refused: Mapping[str, int] = field(default_factory=dict)
    """Numbers of stories by why they are no signal: ``routine``, ``resolved``, ``compound``, ``taxonomy``,
    ``no uncertainty``."""


class SignalDetector(Protocol):
    """The first stage: from news to signals."""

    def detect(self, world: KnownWorld, begin: datetime, end: datetime) -> Detected:
        """Find the signals in the documents that became known in [begin, end)."""


class RuleSignals:
    """Signal detection by rules over the text: no model is asked."""

    def detect(self, world: KnownWorld, begin: datetime, end: datetime) -> Detected:
        """As :class:`SignalDetector` has it."""
        companies = {one.symbol: one for one in world.companies()}
        refused: Counter[str] = Counter()
        signals = []
        for story, documents in sorted(stories(world.news(begin, end)).items()):
            why, signal = _signal(story, documents, companies)
            if signal is None:
                refused[why] += 1
            else:
                signals.append(signal)
        return Detected(tuple(signals), dict(sorted(refused.items())))


def stories(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """Documents by their story; without a desk's name, those of one subject about one event are one."""
    found: dict[str, list[Document]] = {}
    for document in documents:
        name = document.story
        if not name:
            named = read_report(document).matters
            name = f"{document.subject}-{named[0].kind}" if named else f"{document.subject}-other"
        found.setdefault(name, []).append(document)
    for its in found.values():
        its.sort(key=lambda one: (one.at, one.id))
    return found


def _signal(story: str, documents: Sequence[Document], companies: Mapping[str, Company]) -> tuple[str, Signal | None]:
    """The signal of a story, or why it is none."""
    reports = [read_report(one) for one in documents]
    if all(one.routine for one in reports):
        return "routine", None
    if any(one.tied for one in reports):
        return "compound", None
    if any(one.recap for one in reports) or settled(reports):
        return "resolved", None
    kinds = Counter(one.matters[0].phrase for one in reports if one.matters)
    if not kinds:
        return "taxonomy", None
    if not any(one.contested for one in reports):
        return "no uncertainty", None
    phrase = max(sorted(kinds), key=lambda one: kinds[one])
    matter = next(one.matters[0] for one in reports if one.matters and one.matters[0].phrase == phrase)
    subject = documents[-1].subject
    company = companies.get(subject)
    market = company.economy if company else subject
    if market not in ECONOMIES or matter.macro != (company is None):
        return "taxonomy", None
    level: Level = "macro" if company is None else "corporate"
    return "", Signal(story, subject, market, level, matter.kind, phrase, tuple(documents))


def settled(reports: Sequence[DocumentClaims]) -> bool:
    """Whether reports tell of an end: a statement of the authority, or an outlet that says it is in effect."""
    return any(one.says for one in reports)
