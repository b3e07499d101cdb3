"""Reference forecasters, which a tick enters for every question: what a forecaster must beat.

``naive`` knows nothing of a question: one half, or how often the like happens where that is shown, the same probability
for each outcome, or, of a number, that it stays where it is. ``market-implied`` repeats what the market shows. Neither
forecasts what it has nothing to say of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openfingym.questions.scoring import market_forecast, naive_forecast

if TYPE_CHECKING:
    from openfingym.questions.question import Question

NAIVE, MARKET = "naive", "market-implied"
VERSION = "1"


def reference_answers(question: Question, shown: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The answers of the reference forecasters to a question, by their names.

    Args:
        question: what the reference forecasters answer.
        shown: what the market shows; None where it shows nothing.
    """
    market = market_forecast(question, shown)
    values = {NAIVE: naive_forecast(question, market, shown), MARKET: market}
    return {name: answer_document(question, found) for name, found in values.items() if found is not None}


def answer_document(question: Question, values: Sequence[float]) -> dict[str, Any]:
    """The values of an answer as it is sent; the other way round than :func:`openfingym.questions.read_answer`."""
    said: Any = list(values)
    if question.form == "probabilities":
        said = dict(zip(question.outcomes, values, strict=True))
    elif question.form == "choice":
        said = question.outcomes[int(values[0])]
    elif question.form in {"probability", "value"}:
        said = values[0]
    return {question.form: said} | ({"unit": question.unit} if question.unit else {})
