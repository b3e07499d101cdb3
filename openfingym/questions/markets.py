"""What providers of prediction markets share: one request a market for many questions, and the middle of a book."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.web import one_error

if TYPE_CHECKING:
    from openfingym.errors import OpenFinGymError
    from openfingym.questions.question import Question

Final = TypeVar("Final")


def answers_by_market(
    questions: Sequence[Question],
    ask: Callable[[str], Final | ProviderAnswer],
    answer: Callable[[Question, Final], ProviderAnswer],
) -> dict[str, ProviderAnswer | OpenFinGymError]:
    """Ask for each market once, and answer its questions; what fails for one leaves the others alone.

    Args:
        questions: each with a ``market`` in its query.
        ask: what a market's final state is, or why there is none.
        answer: the answer to a question about a market that is final.
    """
    known: dict[str, Final | ProviderAnswer | OpenFinGymError] = {}
    found: dict[str, ProviderAnswer | OpenFinGymError] = {}
    for question in questions:
        market = str(question.query["market"])
        if market not in known:
            try:
                known[market] = ask(market)
            except Exception as error:  # whatever a stranger's document leads to
                known[market] = one_error(error)
        state = known[market]
        if isinstance(state, ProviderAnswer | Exception):
            found[question.id] = state
            continue
        try:
            found[question.id] = answer(question, state)
        except Exception as error:
            found[question.id] = one_error(error)
    return found


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
