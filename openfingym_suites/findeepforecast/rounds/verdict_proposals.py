"""Verdicts on questions that only a person can decide: proposals from the evidence, and their way into the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openfingym.rounds.forecaster import KnowsWorld
from openfingym.rounds.generator import round_name
from openfingym_suites.findeepforecast.problem import ForecastEvent
from openfingym_suites.findeepforecast.truth.adjudicating import Adjudicator, RuleAdjudicator
from openfingym_suites.findeepforecast.truth.evidence import EvidenceGatherer, RuleEvidence
from openfingym_suites.findeepforecast.truth.verdicts import beside_record

if TYPE_CHECKING:
    from openfingym.questions.question import Question
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import LedgerClient
    from openfingym_suites.findeepforecast.problem import ForecastProblem
    from openfingym_suites.findeepforecast.truth.verdicts import Agreement, VerdictQueue

MANUAL = "manual"
"""Name of the provider of questions that a person decides."""


@dataclass(frozen=True)
class LedgerVerdicts:
    """Enters verdicts into the ledger."""

    ledger: LedgerClient
    """A client of the verifier that holds the questions."""

    def state(self, question: str) -> str:
        """The state of the question of this id, such as ``scored``."""
        return self.ledger.state(question)

    def decide(self, question: str, truth: float | None, *, evidence: Mapping[str, Any], reason: str) -> None:
        """Enter the verdict on a question.

        Args:
            question: id of the question.
            truth: 1 for YES, 0 for NO, None if there will be no truth.
            evidence: what the verdict rests on, as JSON.
            reason: the reason in words.
        """
        self.ledger.decide(question, truth, evidence=evidence, reason=reason)


def propose(
    book: Book,
    ledger: LedgerClient,
    queue: VerdictQueue,
    gatherer: EvidenceGatherer | None = None,
    adjudicator: Adjudicator | None = None,
) -> int:
    """Put the questions that wait for a person's verdict into the queue, each with evidence and a proposal.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        queue: the queue of cases, in which a case that is decided stays as it is.
        gatherer: gathers the evidence as of the present time of the series; None for the rules of the library.
        adjudicator: proposes a verdict from the evidence; None for the rules of the library.

    Returns:
        How many questions were put into the queue.
    """
    now_ns = ledger.clock(book.series.clock_name)
    by_source: dict[str, list[Question]] = {}
    for row in ledger.waiting(book.series.name):
        if row.question.provider == MANUAL and row.question.form == "probability":
            name = row.question.id.removeprefix(f"{row.question.round}/").partition("/")[0]
            by_source.setdefault(name, []).append(row.question)
    proposed = 0
    for name, questions in by_source.items():
        source = book.series.asked.get(name)
        if source is None or now_ns is None or not isinstance(source.generator, KnowsWorld):
            continue
        # As of now, not of the round: evidence is what has become known since.
        world = source.generator.world(source.options, datetime.fromtimestamp(now_ns // 10**9, UTC))
        problems: list[ForecastProblem] = [source.generator.problem(question) for question in questions]
        # Figures are decided by their first print, events by evidence.
        events = [
            (question, problem)
            for question, problem in zip(questions, problems, strict=True)
            if isinstance(problem.about, ForecastEvent)
        ]
        evidence = (gatherer or RuleEvidence()).gather(world, [problem for _, problem in events])
        for (question, problem), gathered in zip(events, evidence, strict=True):
            proposal = (adjudicator or RuleAdjudicator()).propose(problem, gathered)
            queue.propose(question.id, question.text, proposal, gathered)
            proposed += 1
    return proposed


def agreement_with_record(book: Book, ledger: LedgerClient) -> Agreement | None:
    """How far the proposals of the rules agree with the record of a made-up world, where all truths are known.

    The first source of the series that asks about such a world is taken; None if there is none.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
    """
    now_ns = ledger.clock(book.series.clock_name)
    for name, source in book.series.asked.items():
        if now_ns is None or not source.options.is_simulated or not isinstance(source.generator, KnowsWorld):
            continue
        weeks = book.series.rounds(book.since_ns, now_ns)
        asked = [row.question for times in weeks for row in ledger.questions(round_name(book.series.name, times.week))]
        own = [
            question
            for question in asked
            if question.id.startswith(f"{question.round}/{name}/") and question.form == "probability"
        ]
        if own:
            world = source.generator.world(source.options, datetime.fromtimestamp(now_ns // 10**9, UTC))
            return beside_record(world, [source.generator.problem(question) for question in own])
    return None
