"""What providers share: one request for all questions about the same market, and the middle of an order book."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from openfingym.errors import OpenFinGymError, VenueError
from openfingym.questions.payouts import fitting
from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.web import our_error

if TYPE_CHECKING:
    from openfingym.questions.question import Question

Final = TypeVar("Final")
LONGEST_S = 150.0
"""Seconds after which a batch asks no more: the caller's own limit would throw away what was answered until then."""


def answer_together(
    questions: Sequence[Question],
    about: Callable[[Question], Hashable],
    ask: Callable[[Question], Final | ProviderAnswer],
    answer: Callable[[Question, Final], ProviderAnswer],
) -> dict[str, ProviderAnswer | OpenFinGymError]:
    """Ask once for all questions about the same thing, and answer each; a failure of one leaves the others alone.

    Args:
        questions: questions that one provider answers, in any order.
        about: returns what a question is about, such as a market.
        ask: asks for the final state of what a question is about, or says why there is none yet.
        answer: makes the answer to a question from that final state.

    Returns:
        The answer to each question, or the error that it met, by the question's id.
    """
    known: dict[Hashable, Final | ProviderAnswer | OpenFinGymError] = {}
    answers: dict[str, ProviderAnswer | OpenFinGymError] = {}
    until = time.monotonic() + LONGEST_S
    for question in questions:
        try:
            subject = about(question)
            # A failure is known too: it is not asked again for the next question about the same.
            if subject not in known:
                known[subject] = _tried(ask, question, until)
            state = known[subject]
            done = state if isinstance(state, ProviderAnswer | OpenFinGymError) else answer(question, state)
            answers[question.id] = (
                replace(done, evidence=fitting(done.evidence)) if isinstance(done, ProviderAnswer) else done
            )
        # A stranger's document may lead to any error, and must not cost the other questions their answers.
        except Exception as error:
            answers[question.id] = our_error(error)
    return answers


def _tried(
    ask: Callable[[Question], Final | ProviderAnswer], question: Question, until: float
) -> Final | ProviderAnswer | OpenFinGymError:
    if time.monotonic() > until:
        return VenueError("not asked yet, as many questions were due at once; it is asked about the next time")
    try:
        return ask(question)
    except Exception as error:
        return our_error(error)


def market_of(question: Question) -> str:
    """The market that a question's query names."""
    return str(question.query["market"])


def closed_market(at_ns: int, source: str) -> dict[str, Any]:
    """The reference of a market whose outcome may be known already, for which no forecast is taken."""
    return {"closed": True, "at_ns": at_ns, "source": source}


def midpoint(bid: Decimal | None, ask: Decimal | None, at_ns: int, source: str) -> dict[str, Any] | None:
    """The middle between the best prices of a claim that pays 1 or 0, as a reference.

    None where a side has no orders, or where the prices cross.
    """
    if bid is None or ask is None or bid > ask:
        return None
    return {
        "probability": float((bid + ask) / 2),
        "bid": float(bid),
        "ask": float(ask),
        "at_ns": at_ns,
        "source": source,
    }
