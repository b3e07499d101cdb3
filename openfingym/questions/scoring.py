"""The score of one forecast, once the truth of its question is known.

Sums are rounded once (``math.fsum``), so that the same forecast has the same score to the last digit on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError
from openfingym.questions.answer import LARGEST, SUM_TOLERANCE

if TYPE_CHECKING:
    from openfingym.questions.provider import Truth
    from openfingym.questions.question import Question


@dataclass(frozen=True)
class Scores:
    """What a forecast lost, and what two others that anyone could have made would have lost on the same question."""

    loss: float
    """At least 0, lower is better; its form's own, see :func:`scores`."""
    naive_loss: float | None
    """Of a forecast without knowledge: 0.5, or how often the like happens where that was shown, the same probability
    for each outcome, the first outcome, or the price or the last value at submission; None of numbers without
    either."""
    market_loss: float | None
    """Of what the market showed at submission; None where it showed nothing."""
    correct: bool | None
    """Whether the forecast counts as correct; None where none of this question does."""


def scores(
    question: Question, values: Sequence[float], truth: Truth | Sequence[float], reference: Mapping[str, Any] | None
) -> Scores:
    """Score a forecast.

    The loss of ``probability`` is Brier's (p - y)^2; of ``probabilities`` half the sum of these, which is the same for
    two outcomes; of ``choice`` 1 less the payout of the outcome that was chosen. The loss of ``value`` is the absolute
    error, of ``quantiles`` twice the mean pinball loss, and of ``interval`` the interval score, each divided by a
    scale: the price at submission, or the last value, as a positive number, without one the truth, and 1 where that
    is 0.

    Payouts may be fractions, as where a market pays half to each side. Then the loss counts, and nothing is correct
    or false.

    Args:
        question: what the forecast answers.
        values: the forecast, as :attr:`openfingym.questions.Answer.values`.
        truth: what came, as a provider gives it.
        reference: what the market showed when the forecast was received; None where it showed nothing.

    Raises:
        DataError: the truth is none of this question.
    """
    check_truth(question, truth)
    shown = market_forecast(question, reference)
    naive = naive_forecast(question, shown, reference)
    if isinstance(truth, int | float) and question.numeric:
        price = abs(naive[0]) if naive else 0.0
        scale = price or abs(truth) or 1.0
        return Scores(
            _number_loss(question, values, truth, scale),
            None if naive is None else _number_loss(question, naive, truth, scale),
            None if shown is None else _number_loss(question, shown, truth, scale),
            _close(values[0], truth, question.tolerance) if question.form == "value" else None,
        )
    payouts = (1.0 - truth, float(truth)) if isinstance(truth, int | float) else tuple(truth)
    return Scores(
        _event_loss(question, values, payouts),
        None if naive is None else _event_loss(question, naive, payouts),
        None if shown is None else _event_loss(question, shown, payouts),
        _decides(question, values, payouts),
    )


def check_truth(question: Question, truth: object) -> None:
    """Return if this is a truth of the question.

    Raises:
        DataError: it is not, with what was expected.
    """
    where = f"the truth of {question.id}"
    if question.form in {"probabilities", "choice"}:
        count = len(question.outcomes)
        if not isinstance(truth, list | tuple) or len(truth) != count or not all(map(_payout, truth)):
            raise DataError(f"{where} is {str(truth)[:80]}, expected a payout in [0, 1] for each of {count} outcomes")
        if abs(math.fsum(truth) - 1.0) > SUM_TOLERANCE:
            raise DataError(f"{where} has payouts that sum to {math.fsum(truth):.6g}, expected 1")
    elif question.form == "probability":
        if not _payout(truth):
            raise DataError(f"{where} is {str(truth)[:80]}, expected a payout in [0, 1]")
    elif isinstance(truth, bool) or not isinstance(truth, int | float) or not abs(truth) <= LARGEST:
        raise DataError(f"{where} is {str(truth)[:80]}, expected a number of at most {LARGEST:g}")


def market_forecast(question: Question, reference: Mapping[str, Any] | None) -> tuple[float, ...] | None:
    """What the market showed, as an answer to the question; None where it showed nothing.

    Prices of all outcomes are made to sum to 1, which those that somebody asks for do not. A price is the forecast of
    each quantile, and of both ends of an interval.
    """
    shown = reference or {}
    if question.form in {"probabilities", "choice"}:
        found = shown.get("probabilities")
        if isinstance(found, Mapping):
            found = [found.get(name) for name in question.outcomes]
        if not isinstance(found, list | tuple) or len(found) != len(question.outcomes) or not all(map(_payout, found)):
            return None
        total = math.fsum(found)
        if total <= 0.0:
            return None
        if question.form == "choice":
            return (float(found.index(max(found))),)
        return tuple(one / total for one in found)
    if question.form == "probability":
        probability = shown.get("probability")
        return (float(probability),) if probability is not None and _payout(probability) else None
    return _number(question, shown.get("price"))


def naive_forecast(
    question: Question, shown: tuple[float, ...] | None, reference: Mapping[str, Any] | None = None
) -> tuple[float, ...] | None:
    """The forecast that knows nothing of the question; of a number, that it stays where it was; of what happens or not,
    how often the like does where that is shown (``base_rate``). A number without a price stays at its last value
    (``last``).

    Args:
        question: what is forecast.
        shown: what the market showed, as :func:`market_forecast` has it.
        reference: what was shown, as a provider gives it.
    """
    if question.form == "probability":
        rate = (reference or {}).get("base_rate")
        return (float(rate),) if rate is not None and _payout(rate) else (0.5,)
    if question.form == "probabilities":
        return (1.0 / len(question.outcomes),) * len(question.outcomes)
    if question.form == "choice":
        return (0.0,)
    return shown or _number(question, (reference or {}).get("last"))


def _number(question: Question, value: object) -> tuple[float, ...] | None:
    """A number as an answer: each quantile, or both ends of an interval; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        return None
    return (float(value),) * _count(question)


def _count(question: Question) -> int:
    """How many numbers answer a question whose truth is a number."""
    return {"quantiles": len(question.levels), "interval": 2}.get(question.form, 1)


def _payout(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def _event_loss(question: Question, values: Sequence[float], payouts: Sequence[float]) -> float:
    """Loss of a forecast of what happens, by the payout of each outcome (of one probability: no, yes)."""
    if question.form == "choice":
        return 1.0 - payouts[int(values[0])]
    if question.form == "probability":
        return float((values[0] - payouts[1]) ** 2)
    return math.fsum((p - y) ** 2 for p, y in zip(values, payouts, strict=True)) / 2.0


def _number_loss(question: Question, values: Sequence[float], truth: float, scale: float) -> float:
    """Loss of a forecast of a number, over the scale; bounded, so that a tiny scale does not make it infinite."""
    if question.form == "value":
        loss = abs(values[0] - truth)
    elif question.form == "quantiles":
        by_level = ((level - (truth < q)) * (truth - q) for level, q in zip(question.levels, values, strict=True))
        loss = 2.0 * math.fsum(by_level) / len(question.levels)
    else:
        low, high = values
        miss = max(low - truth, 0.0) + max(truth - high, 0.0)
        loss = high - low + 2.0 / (1.0 - question.levels[0]) * miss
    return min(loss / scale, LARGEST)


def _decides(question: Question, values: Sequence[float], payouts: Sequence[float]) -> bool | None:
    """Whether the likeliest outcome of a forecast came; equal ones name none, and are false."""
    if max(payouts) < 1.0:
        return None
    came = payouts.index(max(payouts))
    if question.form == "choice":
        return int(values[0]) == came
    forecast = (1.0 - values[0], values[0]) if question.form == "probability" else values
    return all(forecast[came] > one for place, one in enumerate(forecast) if place != came)


def _close(forecast: float, truth: float, tolerance: float | None) -> bool | None:
    """Whether a number is nearer to the truth than the tolerance; to a truth of 0, whether it is 0.

    The numbers are compared as they are written: in binary 3.003 is less than 0.1 % above 3.
    """
    if tolerance is None:
        return None
    if truth == 0.0:
        return forecast == 0.0
    found, came, most = (Decimal(repr(float(one))) for one in (forecast, truth, tolerance))
    return abs(found - came) < most * abs(came)
