"""Verdicts of the operator, on questions that a person decides, and corrections of what was resolved before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from openfingym.errors import DataError
from openfingym.questions import ProviderAnswer
from openfingym.questions.question import utc_text
from openfingym.questions.scoring import check_truth
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.asking import resolution
from openfingym_verifier.questions.resolution_events import Resolvable, Resolved, Revised
from openfingym_verifier.questions.resolving import Pass, recheck

if TYPE_CHECKING:
    from openfingym.questions.provider import Truth
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.questions.clocks import Clocks
    from openfingym_verifier.questions.reading import LedgerQuestion
    from openfingym_verifier.questions.resolving import Resolver

MANUAL = "manual"
"""Name of the provider whose questions a person decides."""


async def decide(
    resolver: Resolver, clocks: Clocks, known: LedgerQuestion, truth: object, evidence: Mapping[str, Any], reason: str
) -> Pass:
    """Resolve one question by the operator's word; where it was resolved before, that is kept beside it.

    Args:
        resolver: writes the verdict, and scores the forecasts.
        clocks: the clocks of questions, which say whether the evaluation time has passed.
        known: the question that is decided.
        truth: the truth of the question, as it was sent; None where there will be none.
        evidence: what the verdict rests on.
        reason: why there will be no truth; empty where there is one.

    Returns:
        What became of the question, in numbers of questions as a pass of the resolver has them.

    Raises:
        Problem: ``not-due``: the evaluation time has not come; ``malformed-request``: the truth is not of the
            question's form, or another provider decides the question.
    """
    question = known.question
    if clocks.now(question.clock) < question.evaluation_ns:
        raise Problem("not-due", f"{question.id} is resolved from {utc_text(question.evaluation_ns)} on.")
    read = _truth(known, truth)
    kind: Literal["resolved", "void"] = "void" if read is None else "resolved"
    answer = ProviderAnswer(kind, read, reason, source="the operator's verdict", evidence=evidence)
    at_ns = clocks.real()
    try:
        # Its provider is asked on as before: what it says is kept beside what a person says.
        again = recheck(question, clocks.now(question.clock))
        first = Resolved(known.row, question.id, resolution(kind, answer, at_ns), again, reason)
        later = Revised(known.row, question.id, [resolution("correction", answer, at_ns)], None)
    except (DataError, ValueError) as error:
        raise Problem("malformed-request", str(error)) from None

    # Which of the two it is, is decided in the transaction: the resolver may be writing a truth at the same time.
    def write(transaction: Transaction) -> str | Problem:
        Resolvable(known.row, question.id, at_ns).apply(transaction)
        resolved = transaction.connection.execute(
            "SELECT 1 FROM resolutions WHERE question = ?", (known.row,)
        ).fetchone()
        if resolved is not None:
            return "revised" if later.apply(transaction) else ""
        if read is not None and question.provider != MANUAL:
            return Problem(
                "malformed-request",
                f"{question.id} is decided by {question.provider}; a person may void it, or correct it afterwards.",
            )
        return kind if first.apply(transaction) else ""

    done = Pass()
    (outcome,) = await resolver.write([write])
    if isinstance(outcome, Problem):
        raise outcome
    if outcome:
        setattr(done, str(outcome), 1)
    if outcome == "void":
        await resolver.notify_ended([known.row])
    await resolver.score(done, [known.row])
    return done


def _truth(known: LedgerQuestion, truth: object) -> Truth | None:
    """A truth as it was sent: a number, a list of payouts, or the name of the outcome that came."""
    question = known.question
    if truth is None:
        return None
    if isinstance(truth, str) and truth in question.outcomes:
        truth = [float(name == truth) for name in question.outcomes]
    if question.form == "probability" and isinstance(truth, str) and truth.lower() in {"yes", "no"}:
        truth = float(truth.lower() == "yes")
    try:
        check_truth(question, truth)
    except DataError as error:
        raise Problem("malformed-request", str(error)) from None
    return tuple(map(float, truth)) if isinstance(truth, list) else float(truth)  # type: ignore[arg-type]  # checked
