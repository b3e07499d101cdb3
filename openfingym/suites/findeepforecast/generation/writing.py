"""Question generation: from a signal and what is open about it to a question about its margin (appendix C)."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

from openfingym.suites.findeepforecast.generation.keys import plain
from openfingym.suites.findeepforecast.generation.relevance import Assessment
from openfingym.suites.findeepforecast.generation.signals import Signal
from openfingym.suites.findeepforecast.problem import Level
from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.world.known import Company
from openfingym.suites.findeepforecast.world.matters import authorities, matter_named

_WORDINGS = (
    "Will {actor} {clause} by {day}?",
    "By {day}, will {actor} {clause}?",
    "Is it probable that {actor} will {clause} by {day}?",
    "Between now and {day}, will {actor} {clause}?",
)
OFFICIAL_SOURCE = "the company's own announcements and filings"
"""Who decides about an event of a company."""


@dataclass(frozen=True)
class ProposedQuestion:
    """A question as it is proposed, before its review."""

    text: str
    signal: Signal
    kind: str
    """Of the taxonomy, as the writer has it."""
    condition: str
    """``happens``, ``at_least``, ``at_most`` or ``detail``."""
    threshold: float
    detail: str
    by: date | None
    """The last day on which it counts."""
    authority: str
    """Whose word decides."""
    leaning: float
    """As the news has it; nobody who answers is shown it."""
    uncertainty: float

    @functools.cached_property
    def key(self) -> str:
        """Names what it asks, from public facts alone: the same in any week.

        Example: ``US.A1.2025-12-19.at_least.USM00012``
        """
        parts = (self.signal.subject, self.kind, str(self.by), self.condition, self.signal.story)
        return ".".join(plain(part).replace(".", "-") if number else plain(part) for number, part in enumerate(parts))


class QuestionWriter(Protocol):
    """The third stage: from a signal and its assessment to a question."""

    def write(
        self, signal: Signal, assessment: Assessment, companies: Mapping[str, Company]
    ) -> ProposedQuestion | None:
        """Write a question; None where nothing can be asked.

        Args:
            signal: what the news speaks of.
            assessment: what is open about it.
            companies: the companies of the world, by symbol.
        """


class RuleQuestions:
    """Questions in fixed wordings: no model is asked.

    The wording is drawn by the key, that is by what is asked, and by nothing that the news says of its chance.
    """

    def write(
        self, signal: Signal, assessment: Assessment, companies: Mapping[str, Company]
    ) -> ProposedQuestion | None:
        """As :class:`QuestionWriter` has it."""
        matter = matter_named(signal.phrase)
        company = companies.get(signal.subject)
        if company is None:
            actor = authority = authorities().get((signal.market, signal.kind), "")
        else:
            actor, authority = company.name, OFFICIAL_SOURCE
        clause = matter.asked(assessment.condition, assessment.threshold, assessment.detail)
        draft = ProposedQuestion(
            text="",
            signal=signal,
            kind=signal.kind,
            condition=assessment.condition,
            threshold=assessment.threshold,
            detail=assessment.detail,
            by=assessment.due,
            authority=authority,
            leaning=assessment.leaning,
            uncertainty=assessment.uncertainty,
        )
        wording = _WORDINGS[zlib.crc32(draft.key.encode()) % len(_WORDINGS)]
        return replace(draft, text=wording.format(actor=actor, clause=clause, day=assessment.due))


def event_details(draft: ProposedQuestion, company: Company | None) -> dict[str, str]:
    """What is told beside a question, as the paper's figure 5 has it of a company, and alike of an economy."""
    found = taxonomy()
    if company is not None:
        return {
            "Company": company.name,
            "Ticker": company.symbol,
            "Index": ", ".join(company.indices) or "none",
            "Event Type": found.corporate_events[int(draft.kind)].name,
            "Authority": draft.authority,
        }
    event = found.macro_events[draft.kind]
    grounding = found.grounding(draft.signal.market, draft.kind, draft.by)
    level = "level 1" if grounding is None else f"level 2 ({'; '.join(grounding.authority)})"
    definition = event.description if grounding is None else grounding.trigger
    if grounding is None:
        level += f"; {found.about.missing.get(draft.signal.market, 'no grounding of this economy')}"
    return {
        "Economy": draft.signal.market,
        "Event Type": f"{event.code} {event.name}",
        "Authority": draft.authority,
        "Type's Definition": definition,
        "Definition's Level": level,
    }


def subtype_of(level: Level, kind: str) -> str:
    """The type of an event by its name, by which errors are analysed."""
    found = taxonomy()
    return found.corporate_events[int(kind)].name if level == "corporate" else found.macro_events[kind].name
