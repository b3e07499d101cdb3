"""Verdicts on questions that only a person can decide: proposals from the evidence, and what the ledger is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openfingym.rounds.forecaster import KnowsWorld
from openfingym.rounds.generator import round_name
from openfingym.suites.findeepforecast.problem import ForecastEvent
from openfingym.suites.findeepforecast.truth.adjudicating import Adjudicator, RuleAdjudicator
from openfingym.suites.findeepforecast.truth.evidence import EvidenceGatherer, RuleEvidence
from openfingym.suites.findeepforecast.truth.verdicts import beside_record

if TYPE_CHECKING:
    from openfingym.questions.question import Question
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import LedgerClient
    from openfingym.suites.findeepforecast.problem import ForecastProblem
    from openfingym.suites.findeepforecast.truth.verdicts import Agreement, VerdictQueue

MANUAL = "manual"
"""Provider of questions that a person decides."""


@dataclass(frozen=True)
class LedgerVerdicts:
    """The ledger, as verdicts need it."""

    ledger: LedgerClient

    def state(self, question: str) -> str:
        """State of a question."""
        return self.ledger.state(question)

    def decide(self, question: str, truth: float | None, *, evidence: Mapping[str, Any], reason: str) -> None:
        """Decide a question: 1 for YES, 0 for NO, None where there will be no truth."""
        self.ledger.decide(question, truth, evidence=evidence, reason=reason)


def propose(
    book: Book,
    ledger: LedgerClient,
    queue: VerdictQueue,
    gatherer: EvidenceGatherer | None = None,
    adjudicator: Adjudicator | None = None,
) -> int:
    """Put what waits for a person's verdict into the queue, with the evidence as of now; returns how many there are.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        queue: where the cases go; one that is decided stays as it is.
        gatherer: gathers evidence; None for rules.
        adjudicator: proposes; None for rules.
    """
    now_ns = ledger.clock(book.series.clock_name)
    by_source: dict[str, list[Question]] = {}
    for one in ledger.waiting(book.series.name):
        if one.question.provider == MANUAL and one.question.form == "probability":
            name = one.question.id.removeprefix(f"{one.question.round}/").partition("/")[0]
            by_source.setdefault(name, []).append(one.question)
    found = 0
    for name, questions in by_source.items():
        source = book.series.asked.get(name)
        if source is None or now_ns is None or not isinstance(source.generator, KnowsWorld):
            continue
        world = source.generator.world(source.options, datetime.fromtimestamp(now_ns // 10**9, UTC))
        problems: list[ForecastProblem] = [source.generator.problem(one) for one in questions]
        events = [(q, p) for q, p in zip(questions, problems, strict=True) if isinstance(p.about, ForecastEvent)]
        evidence = (gatherer or RuleEvidence()).gather(world, [problem for _, problem in events])
        for (question, problem), gathered in zip(events, evidence, strict=True):
            proposal = (adjudicator or RuleAdjudicator()).propose(problem, gathered)
            queue.propose(question.id, question.text, proposal, gathered)
            found += 1
    return found


def agreement_with_record(book: Book, ledger: LedgerClient) -> Agreement | None:
    """How far the rules' proposals agree with the record of a made-up world, of the first source that asks of one; None
    where none does.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
    """
    now_ns = ledger.clock(book.series.clock_name)
    for name, source in book.series.asked.items():
        if now_ns is None or not source.options.is_simulated or not isinstance(source.generator, KnowsWorld):
            continue
        weeks = book.series.rounds(book.since_ns, now_ns)
        asked = [one.question for times in weeks for one in ledger.questions(round_name(book.series.name, times.week))]
        own = [one for one in asked if one.id.startswith(f"{one.round}/{name}/") and one.form == "probability"]
        if own:
            world = source.generator.world(source.options, datetime.fromtimestamp(now_ns // 10**9, UTC))
            return beside_record(world, [source.generator.problem(one) for one in own])
    return None
