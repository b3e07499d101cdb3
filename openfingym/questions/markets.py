"""What providers share: one request for many questions about the same, and the middle of a book."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from openfingym.errors import OpenFinGymError, VenueError
from openfingym.questions.payouts import fitting
from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.web import one_error

if TYPE_CHECKING:
    from openfingym.questions.question import Question

Final = TypeVar("Final")
LONGEST_S = 150.0
"""After so long no more is asked in one go, so that what was answered is not lost with it."""


def answer_together(
    questions: Sequence[Question],
    about: Callable[[Question], Hashable],
    ask: Callable[[Question], Final | ProviderAnswer],
    answer: Callable[[Question, Final], ProviderAnswer],
) -> dict[str, ProviderAnswer | OpenFinGymError]:
    """Ask once about the same, and answer its questions; what fails for one leaves the others alone.

    Args:
        questions: questions that one provider answers, in any order.
        about: what a question is about, such as a market.
        ask: what the final state of that is, or why there is none; by any of its questions.
        answer: the answer to a question about what is final.
    """
    known: dict[Hashable, Final | ProviderAnswer | OpenFinGymError] = {}
    found: dict[str, ProviderAnswer | OpenFinGymError] = {}
    until = time.monotonic() + LONGEST_S
    for question in questions:
        try:
            place = about(question)
            if place not in known:
                known[place] = _tried(ask, question, until)
            state = known[place]
            done = state if isinstance(state, ProviderAnswer | OpenFinGymError) else answer(question, state)
            found[question.id] = (
                replace(done, evidence=fitting(done.evidence)) if isinstance(done, ProviderAnswer) else done
            )
        except Exception as error:  # whatever a stranger's document leads to
            found[question.id] = one_error(error)
    return found


def _tried(
    ask: Callable[[Question], Final | ProviderAnswer], question: Question, until: float
) -> Final | ProviderAnswer | OpenFinGymError:
    if time.monotonic() > until:
        return VenueError("not asked yet, as many questions were due at once; it is asked about the next time")
    try:
        return ask(question)
    except Exception as error:
        return one_error(error)


def market_of(question: Question) -> str:
    """The market that a question is about."""
    return str(question.query["market"])


def closed_market(at_ns: int, source: str) -> dict[str, Any]:
    """The reference of a market whose outcome may be known already."""
    return {"closed": True, "at_ns": at_ns, "source": source}


def midpoint(bid: Decimal | None, ask: Decimal | None, at_ns: int, source: str) -> dict[str, Any] | None:
    """The middle of the best prices of what pays 1 or 0, as a reference; None where a side is empty or they cross."""
    if bid is None or ask is None or bid > ask:
        return None
    return {
        "probability": float((bid + ask) / 2),
        "bid": float(bid),
        "ask": float(ask),
        "at_ns": at_ns,
        "source": source,
    }
