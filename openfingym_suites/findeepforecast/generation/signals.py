"""Signal detection, the first stage: events in the news that may happen or not, and are not decided (appendix C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from openfingym_suites.findeepforecast.claims import DocumentClaims, read_report
from openfingym_suites.findeepforecast.problem import ECONOMIES, Level
from openfingym_suites.findeepforecast.world.known import Company, Document, KnownWorld


@dataclass(frozen=True)
class Signal:
    """An event that the news reports as possible, as of a time."""

    story: str
    """The news desk's name of its story; without one, a name made of its subject and kind."""
    subject: str
    """Code of an economy, or symbol of a company."""
    market: str
    """Code of the economy that it belongs to."""
    level: Level
    kind: str
    """Code of the macro taxonomy, or number of the corporate event type."""
    phrase: str
    """The noun phrase by which reports name it."""
    documents: tuple[Document, ...]
    """The documents of its story, the oldest first."""


@dataclass(frozen=True)
class Detected:
    """The result of signal detection: signals, and what was left out."""

    signals: tuple[Signal, ...]
    refused: Mapping[str, int] = field(default_factory=dict)
    """How many stories are no signal, by the reason: ``routine``, ``resolved``, ``compound``, ``taxonomy`` or
    ``no uncertainty``, or one of a model's.
    """


class SignalDetector(Protocol):
    """The first stage: finds signals in the news."""

    def detect(self, world: KnownWorld, begin: datetime, end: datetime) -> Detected:
        """Find the signals in the documents that became known in [begin, end).

        Args:
            world: what is known when the week is generated.
            begin: the beginning of the look-back.
            end: the time of the generation.
        """


class RuleSignals:
    """Signal detection by rules over the text, without a model."""

    def detect(self, world: KnownWorld, begin: datetime, end: datetime) -> Detected:
        """See :class:`SignalDetector`."""
        companies = {company.symbol: company for company in world.companies()}
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
    """Documents by their story, the oldest first. Those without a story's name that are about one event of one subject
    are one story.
    """
    by_story: dict[str, list[Document]] = {}
    for document in documents:
        name = document.story
        if not name:
            named = read_report(document).matters
            name = f"{document.subject}-{named[0].kind}" if named else f"{document.subject}-other"
        by_story.setdefault(name, []).append(document)
    for told in by_story.values():
        told.sort(key=lambda document: (document.at, document.id))
    return by_story


def _signal(story: str, documents: Sequence[Document], companies: Mapping[str, Company]) -> tuple[str, Signal | None]:
    """The signal of a story, or the reason why it is none.

    Args:
        story: name of the story.
        documents: its documents, the oldest first.
        companies: the companies of the world, by symbol.
    """
    claims = [read_report(document) for document in documents]
    if all(claim.routine for claim in claims):
        return "routine", None
    if any(claim.tied for claim in claims):
        return "compound", None
    if any(claim.recap for claim in claims) or settled(claims):
        return "resolved", None
    # The event is the one that most documents name first; they may mention others.
    phrases = Counter(claim.matters[0].phrase for claim in claims if claim.matters)
    if not phrases:
        return "taxonomy", None
    if not any(claim.contested for claim in claims):
        return "no uncertainty", None
    phrase = max(sorted(phrases), key=lambda named: phrases[named])
    matter = next(claim.matters[0] for claim in claims if claim.matters and claim.matters[0].phrase == phrase)
    subject = documents[-1].subject
    company = companies.get(subject)
    market = company.economy if company else subject
    # An event of economies in a story about a company, or the other way round, has been misread.
    if market not in ECONOMIES or matter.macro != (company is None):
        return "taxonomy", None
    level: Level = "macro" if company is None else "corporate"
    return "", Signal(story, subject, market, level, matter.kind, phrase, tuple(documents))


def settled(claims: Sequence[DocumentClaims]) -> bool:
    """Whether a document reports a decision: an authority's statement, or an outlet that says that it is in effect."""
    return any(claim.says for claim in claims)
