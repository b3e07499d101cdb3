"""Gathering evidence of what became of an event, in three phases (appendix D): what the news says, without a verdict.

First statements of authorities and reports of outlets; then whether days, amounts and details are as they were asked;
then denials and contradictions. Each item names its document and quotes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, Protocol

from openfingym.questions.question import moment_at
from openfingym_suites.findeepforecast.claims import DocumentClaims, read_report, sentence_with
from openfingym_suites.findeepforecast.problem import ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.world.known import KnownWorld
from openfingym_suites.findeepforecast.world.outcomes import CONDITIONS, decided

Says = Literal["fulfils", "short", "late", "drops", "postpones", "voids", "silent"]
"""What a document says about the event: it came as asked; it came otherwise; it came after its day; it will not come;
it was put off; an earlier statement has no effect; or nothing that decides.
"""
MOST_FINDINGS = 24
"""How many items of evidence are kept for a problem, the latest ones."""
_TURNS = {
    "confirms": r"confirms|is official|decision of|has announced|in effect|figure is|part of it",
    "drops": r"will not go ahead|ruled out|will be no|decided against",
    "postpones": r"put off|more time|no new date|set no date",
    "voids": r"no legal effect|withdrawn|in error|not valid",
}
"""Patterns of the sentence to quote, by what the document says."""


@dataclass(frozen=True)
class EvidenceItem:
    """One item of evidence."""

    phase: Literal[1, 2, 3]
    """The phase: reports, checks against what was asked, or denials and contradictions."""
    document: str
    """Id of the document; empty if the finding is that there is none."""
    at: str
    """When the document became known, in ISO 8601 and UTC."""
    source: str
    """Name of its source."""
    official: bool
    """Whether its source is an authority that decides."""
    says: Says
    quotation: str
    """Words of the document."""
    note: str = ""
    """What was checked, such as the amount against the threshold; empty for nothing."""


@dataclass(frozen=True)
class Evidence:
    """What was found about a problem as of a time."""

    key: str
    """Key of the problem."""
    as_of: str
    """The time as of which it was gathered, in ISO 8601."""
    findings: tuple[EvidenceItem, ...]
    """The items of evidence, the oldest document first."""
    over: bool
    """Whether the last day on which the event counts has passed."""

    def to_dict(self) -> dict[str, Any]:
        """The evidence as JSON."""
        return asdict(self)


class EvidenceGatherer(Protocol):
    """Gathers evidence, as of the time of a world."""

    def gather(self, world: KnownWorld, problems: Sequence[ForecastProblem]) -> list[Evidence]:
        """The evidence of each of some problems, in their order, from nothing that became known later.

        Args:
            world: what is known at the time of gathering.
            problems: the problems, all of them about events.
        """


class RuleEvidence:
    """Evidence by rules over the documents of a world, without a model."""

    def gather(self, world: KnownWorld, problems: Sequence[ForecastProblem]) -> list[Evidence]:
        """See :class:`EvidenceGatherer`; the news is read once for all problems."""
        if not problems:
            return []
        # Documents that report a decision, by their story, or by their subject if they have no story's name.
        begin = moment_at(min(problem.generated_ns for problem in problems))
        decisions: dict[str, list[DocumentClaims]] = {}
        for document in world.news(begin, world.as_of):
            claims = read_report(document)
            if claims.says:
                decisions.setdefault(document.story or document.subject, []).append(claims)
        return [self._of(problem, world.as_of, decisions) for problem in problems]

    def _of(self, problem: ForecastProblem, now: datetime, decisions: dict[str, list[DocumentClaims]]) -> Evidence:
        """The evidence of one problem, from the documents that report a decision."""
        event = problem.about
        assert isinstance(event, ForecastEvent)  # callers ask about events only
        begin = moment_at(problem.generated_ns)
        about_it = [
            claims
            for claims in decisions.get(event.story or event.subject, ())
            if claims.document.at >= begin
            # Without a story's name, documents about another event of the subject are among them.
            and (event.story or any(matter.kind == event.kind for matter in claims.matters))
        ]
        findings = list(_findings(event, about_it))[-MOST_FINDINGS:]
        over = now >= _end(event.by)
        if over and not findings:
            findings.append(
                EvidenceItem(1, "", "", "", official=False, says="silent", quotation="", note="no document speaks")
            )
        return Evidence(problem.key, now.isoformat(), tuple(findings), over)


def _findings(event: ForecastEvent, reports: Iterable[DocumentClaims]) -> Iterable[EvidenceItem]:
    """An item of evidence for each document."""
    for report in reports:
        document = report.document
        says, note = what_it_says(event, report)
        phase: Literal[1, 2, 3] = 3 if says in {"drops", "postpones", "voids"} else 2 if note else 1
        quotation = sentence_with(document.body, _TURNS.get(report.says, ""))
        # What was checked, a day or an amount, may stand in another sentence than the decision.
        if note and quotation != document.body:
            quotation = document.body[:300]
        at = document.at.isoformat()
        yield EvidenceItem(phase, document.id, at, document.source, document.official, says, quotation, note)


def what_it_says(event: ForecastEvent, report: DocumentClaims) -> tuple[Says, str]:
    """What a document means for the event as it was asked, and what was checked for that.

    Args:
        event: the event that was asked about.
        report: what the document says; it must report a decision.
    """
    if report.says == "voids":
        return "voids", ""
    if report.says == "drops":
        return "drops", ""
    if report.says == "postpones":
        return "postpones", ""
    if event.condition not in CONDITIONS:
        return "silent", f"no rule reads the condition {event.condition}"
    # Only an authority's own statement can be late: outlets often report after the day what came in time.
    day = report.document.at.date()
    if day > event.by and report.document.official:
        return "late", f"stated on {day}, asked by {event.by}"
    amount = report.figure if event.condition != "detail" else None if report.part is None else float(report.part)
    if event.condition == "happens":
        return "fulfils", f"stated on {day}, asked by {event.by}"
    if amount is None:
        return "silent", "the contested point is not stated"
    # An outlet's later report is taken as of the last day, so that the amount alone decides.
    fulfilled = decided(event, min(day, event.by), amount)
    asked = f"asked {event.condition.replace('_', ' ')} {event.threshold:g}"
    note = f"stated {amount:g}, {asked}" if event.condition != "detail" else "the detail is stated"
    return ("fulfils" if fulfilled else "short"), note


def _end(by: date) -> datetime:
    """The morning after the last day on which an event counts."""
    day = by + timedelta(days=1)
    return datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
