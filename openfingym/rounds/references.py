"""Reference forecasters, which a tick enters for every question: what any other forecaster must beat.

``naive`` knows nothing of a question. It answers one half, or how often such events happen if that is shown; the same
probability for each outcome; or, for a number, that it stays where it is. ``market-implied`` repeats what the market
shows. Neither answers a question about which nothing is shown that it needs.
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
    """The answers of the reference forecasters to a question, by the names of the forecasters.

    Args:
        question: the question to answer.
        shown: what the market shows about it; None if it shows nothing.
    """
    market = market_forecast(question, shown)
    forecasts = {NAIVE: naive_forecast(question, market, shown), MARKET: market}
    return {name: answer_document(question, values) for name, values in forecasts.items() if values is not None}


def answer_document(question: Question, values: Sequence[float]) -> dict[str, Any]:
    """An answer as the JSON that is sent; the inverse of :func:`openfingym.questions.answer.read_answer`.

    Args:
        question: the question that is answered.
        values: the values of the answer; for a question with a choice, the index of the outcome.
    """
    stated: Any = list(values)
    if question.form == "probabilities":
        stated = dict(zip(question.outcomes, values, strict=True))
    elif question.form == "choice":
        stated = question.outcomes[int(values[0])]
    elif question.form in {"probability", "value"}:
        stated = values[0]
    return {question.form: stated} | ({"unit": question.unit} if question.unit else {})
