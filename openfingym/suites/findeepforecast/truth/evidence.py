"""Evidence of what became of an event, in three phases (appendix D): what the news has as of now, and no verdict.

First the statements of authorities and what outlets report; then whether days, amounts and details are as they were
asked; then denials and contradictions. Each finding names its document and quotes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, Protocol

from openfingym.suites.findeepforecast.generation.reports import DocumentClaims, read_report, sentence_with
from openfingym.suites.findeepforecast.problem import Event, ForecastProblem
from openfingym.suites.findeepforecast.world.known import KnownWorld
from openfingym.suites.findeepforecast.world.outcomes import CONDITIONS, decided

Says = Literal["fulfils", "short", "late", "drops", "postpones", "voids", "silent"]
"""Of a finding: the event came as asked; it came otherwise; after its day; will not come; was put off; an earlier
statement has no effect; or nobody has spoken."""
MOST_FINDINGS = 24
_TURNS = {
    "confirms": r"confirms|is official|decision of|has announced|in effect|figure is|part of it",
    "drops": r"will not go ahead|ruled out|will be no|decided against",
    "postpones": r"put off|more time|no new date|set no date",
    "voids": r"no legal effect|withdrawn|in error|not valid",
}


@dataclass(frozen=True)
class EvidenceItem:
    """One piece of evidence."""

    phase: Literal[1, 2, 3]
    document: str
    """Id of the document; empty where the finding is that there is none."""
    at: str
    """When the document became known; ISO 8601 in UTC."""
    source: str
    official: bool
    says: Says
    quotation: str
    """Words of the document."""
    note: str = ""
    """What was checked: such as the figure against the threshold."""


@dataclass(frozen=True)
class Evidence:
    """What was found about a problem as of a time."""

    key: str
    """Of the problem."""
    as_of: str
    findings: tuple[EvidenceItem, ...]
    over: bool
    """Whether the last day on which it counts has passed."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


class EvidenceGatherer(Protocol):
    """Gathers evidence, as of the time of a world."""

    def gather(self, world: KnownWorld, problems: Sequence[ForecastProblem]) -> list[Evidence]:
        """Evidence of each of some problems about events, in their order; from nothing that became known later."""


class RuleEvidence:
    """Evidence by rules over the documents of a world: no model is asked."""

    def gather(self, world: KnownWorld, problems: Sequence[ForecastProblem]) -> list[Evidence]:
        """As :class:`EvidenceGatherer` has it; the news is read once for all of them."""
        if not problems:
            return []
        begin = datetime.fromtimestamp(min(one.generated_ns for one in problems) / 10**9, UTC)
        told: dict[str, list[DocumentClaims]] = {}
        for document in world.news(begin, world.as_of):
            report = read_report(document)
            if report.says:
                told.setdefault(document.story or document.subject, []).append(report)
        return [self._of(one, world.as_of, told) for one in problems]

    def _of(self, problem: ForecastProblem, now: datetime, told: dict[str, list[DocumentClaims]]) -> Evidence:
        event = problem.about
        assert isinstance(event, Event)  # callers ask about events only
        begin = datetime.fromtimestamp(problem.generated_ns / 10**9, UTC)
        its = [
            one
            for one in told.get(event.story or event.subject, ())
            if one.document.at >= begin and (event.story or any(matter.kind == event.kind for matter in one.matters))
        ]
        found = list(_findings(event, its))[-MOST_FINDINGS:]
        over = now >= _end(event.by)
        if over and not found:
            found.append(
                EvidenceItem(1, "", "", "", official=False, says="silent", quotation="", note="no document speaks")
            )
        return Evidence(problem.key, now.isoformat(), tuple(found), over)


def _findings(event: Event, reports: Iterable[DocumentClaims]) -> Iterable[EvidenceItem]:
    for report in reports:
        document = report.document
        says, note = what_it_says(event, report)
        phase: Literal[1, 2, 3] = 3 if says in {"drops", "postpones", "voids"} else 2 if note else 1
        quotation = sentence_with(document.body, _TURNS.get(report.says, ""))
        if note and quotation != document.body:
            quotation = document.body[:300]
        at = document.at.isoformat()
        yield EvidenceItem(phase, document.id, at, document.source, document.official, says, quotation, note)


def what_it_says(event: Event, report: DocumentClaims) -> tuple[Says, str]:
    """What a report means for the event as it was asked, and what was checked for that."""
    if report.says == "voids":
        return "voids", ""
    if report.says == "drops":
        return "drops", ""
    if report.says == "postpones":
        return "postpones", ""
    if event.condition not in CONDITIONS:
        return "silent", f"no rule reads the condition {event.condition}"
    day = report.document.at.date()
    if day > event.by and report.document.official:
        return "late", f"stated on {day}, asked by {event.by}"
    amount = report.figure if event.condition != "detail" else None if report.part is None else float(report.part)
    if event.condition == "happens":
        return "fulfils", f"stated on {day}, asked by {event.by}"
    if amount is None:
        return "silent", "the contested point is not stated"
    fulfilled = decided(event, min(day, event.by), amount)
    asked = f"asked {event.condition.replace('_', ' ')} {event.threshold:g}"
    note = f"stated {amount:g}, {asked}" if event.condition != "detail" else "the detail is stated"
    return ("fulfils" if fulfilled else "short"), note


def _end(by: date) -> datetime:
    """The morning after the last day on which an event counts."""
    day = by + timedelta(days=1)
    return datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
