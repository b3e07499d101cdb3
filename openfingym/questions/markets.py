"""What providers share: one request for many questions about the same, and the middle of a book."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.web import one_error

if TYPE_CHECKING:
    from openfingym.errors import OpenFinGymError
    from openfingym.questions.question import Question

Final = TypeVar("Final")


def answer_together(
    questions: Sequence[Question],
    about: Callable[[Question], Hashable],
    ask: Callable[[Question], Final | ProviderAnswer],
    answer: Callable[[Question, Final], ProviderAnswer],
) -> dict[str, ProviderAnswer | OpenFinGymError]:
    """Ask once about the same, and answer its questions; what fails for one leaves the others alone.

    Args:
        questions: what is asked.
        about: what a question is about, such as a market.
        ask: what the final state of that is, or why there is none; by any of its questions.
        answer: the answer to a question about what is final.
    """
    known: dict[Hashable, Final | ProviderAnswer | OpenFinGymError] = {}
    found: dict[str, ProviderAnswer | OpenFinGymError] = {}
    for question in questions:
        place = about(question)
        if place not in known:
            try:
                known[place] = ask(question)
            except Exception as error:  # whatever a stranger's document leads to
                known[place] = one_error(error)
        state = known[place]
        if isinstance(state, ProviderAnswer | Exception):
            found[question.id] = state
            continue
        try:
            found[question.id] = answer(question, state)
        except Exception as error:
            found[question.id] = one_error(error)
    return found


def market_of(question: Question) -> str:
    """The market that a question is about."""
    return str(question.query["market"])


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
