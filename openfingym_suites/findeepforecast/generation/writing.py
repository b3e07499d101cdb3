"""Question generation, the third stage: a question about the margin of an event, from what is open (appendix C)."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

from openfingym_suites.findeepforecast.generation.keys import plain
from openfingym_suites.findeepforecast.generation.relevance import Assessment
from openfingym_suites.findeepforecast.generation.signals import Signal
from openfingym_suites.findeepforecast.problem import Level
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.known import Company
from openfingym_suites.findeepforecast.world.matters import authorities, matter_named

_WORDINGS = (
    "Will {actor} {clause} by {day}?",
    "By {day}, will {actor} {clause}?",
    "Is it probable that {actor} will {clause} by {day}?",
    "Between now and {day}, will {actor} {clause}?",
)
OFFICIAL_SOURCE = "the company's own announcements and filings"
"""What decides an event of a company."""


@dataclass(frozen=True)
class ProposedQuestion:
    """A question as it is proposed, before its review."""

    text: str
    """The question."""
    signal: Signal
    """The event that the news reports as possible."""
    kind: str
    """Type of the event in the taxonomy, as the writer states it."""
    condition: str
    """What is asked of the event: ``happens``, ``at_least``, ``at_most`` or ``detail``."""
    threshold: float
    """The amount of ``at_least`` or ``at_most``; else 0."""
    detail: str
    """The wording of ``detail``; else empty."""
    by: date | None
    """The last day on which it counts; None if the writer gave none."""
    authority: str
    """The authority whose word decides."""
    leaning: float
    """How far the news speaks for it, in (0, 1); nobody who answers is shown this."""
    uncertainty: float
    """How far sources disagree, from 0 to 1."""

    @functools.cached_property
    def key(self) -> str:
        """The key of its problem, which follows from public facts alone and is the same in any week.

        Example: ``US.A1.2025-12-19.at_least.USM00012``
        """
        parts = (self.signal.subject, self.kind, str(self.by), self.condition, self.signal.story)
        # Only the subject, such as 7203.T, may have dots, so that the other four parts can be told apart.
        return ".".join(plain(part).replace(".", "-") if number else plain(part) for number, part in enumerate(parts))


class QuestionWriter(Protocol):
    """The third stage: writes a question from a signal and its assessment."""

    def write(
        self, signal: Signal, assessment: Assessment, companies: Mapping[str, Company]
    ) -> ProposedQuestion | None:
        """Write a question; None if nothing can be asked.

        Args:
            signal: the event that the news reports as possible.
            assessment: what is open about it.
            companies: the companies of the world, by symbol.
        """


class RuleQuestions:
    """Questions in fixed wordings, without a model.

    The wording follows from the key, that is from what is asked, and from nothing that the news says about its chance.
    """

    def write(
        self, signal: Signal, assessment: Assessment, companies: Mapping[str, Company]
    ) -> ProposedQuestion | None:
        """See :class:`QuestionWriter`."""
        matter = matter_named(signal.phrase)
        company = companies.get(signal.subject)
        if company is None:
            actor = authority = authorities().get((signal.market, signal.kind), "")
        else:
            actor, authority = company.name, OFFICIAL_SOURCE
        clause = matter.clause_for(assessment.condition, assessment.threshold, assessment.detail)
        # The wording follows from the key, and the key from a draft.
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
    """What is stated beside a question, by name: for a company as in the paper's Figure 5, and for an economy alike.

    Args:
        draft: the proposed question.
        company: the company that it is about; None for an economy.
    """
    types = read_taxonomy()
    if company is not None:
        return {
            "Company": company.name,
            "Ticker": company.symbol,
            "Index": ", ".join(company.indices) or "none",
            "Event Type": types.corporate_events[int(draft.kind)].name,
            "Authority": draft.authority,
        }
    event = types.macro_events[draft.kind]
    grounding = types.grounding(draft.signal.market, draft.kind, draft.by)
    level = "level 1" if grounding is None else f"level 2 ({'; '.join(grounding.authority)})"
    definition = event.description if grounding is None else grounding.trigger
    if grounding is None:
        level += f"; {types.about.missing.get(draft.signal.market, 'no grounding of this economy')}"
    return {
        "Economy": draft.signal.market,
        "Event Type": f"{event.code} {event.name}",
        "Authority": draft.authority,
        "Type's Definition": definition,
        "Definition's Level": level,
    }


def subtype_of(level: Level, kind: str) -> str:
    """The name of an event's type, by which errors are analysed.

    Args:
        level: whether the event is of a company or of an economy.
        kind: number of the corporate event type, or code of the macro taxonomy.
    """
    types = read_taxonomy()
    return types.corporate_events[int(kind)].name if level == "corporate" else types.macro_events[kind].name
