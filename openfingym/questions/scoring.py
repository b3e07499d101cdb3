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
    """The loss of a forecast, and of two others that anyone could have made on the same question."""

    loss: float
    """Loss of the forecast, at least 0, lower is better; each form of question has its own, see :func:`scores`."""
    naive_loss: float | None
    """Loss of the forecast that knows nothing, see :func:`naive_forecast`; None where there is no such forecast."""
    market_loss: float | None
    """Loss of what the market showed at submission, taken as a forecast; None where it showed nothing."""
    correct: bool | None
    """Whether the forecast counts as correct; None where no forecast of the question counts as correct or false."""


def scores(
    question: Question, values: Sequence[float], truth: Truth | Sequence[float], reference: Mapping[str, Any] | None
) -> Scores:
    """Score a forecast.

    The loss of ``probability`` is Brier's (p - y)^2; of ``probabilities`` half the sum of these, which is the same for
    two outcomes; of ``choice`` 1 less the payout of the outcome that was chosen. The loss of ``value`` is the absolute
    error, of ``quantiles`` twice the mean pinball loss, and of ``interval`` the interval score, each divided by a
    scale: the price at submission as a positive number, or the last figure of what no market trades; without one the
    truth, and 1 where that is 0.

    Payouts may be fractions, as where a market pays half to each side. Then the loss counts, and nothing is correct
    or false.

    Args:
        question: question that the forecast answers.
        values: the forecast, as :attr:`openfingym.questions.Answer.values` has it.
        truth: truth of the question, as its provider gives it.
        reference: what the market showed when the forecast was received, as :meth:`Provider.reference` gives it; None
            where it showed nothing.

    Raises:
        DataError: the truth is not of the question's form.
    """
    check_truth(question, truth)
    shown = market_forecast(question, reference)
    naive = naive_forecast(question, shown, reference)
    if isinstance(truth, int | float) and question.numeric:
        at_submission = abs(naive[0]) if naive else 0.0
        # A figure from before, where there is one: an error weighs the same whether the truth turns out large or small.
        scale = at_submission or abs(truth) or 1.0
        return Scores(
            _number_loss(question, values, truth, scale),
            None if naive is None else _number_loss(question, naive, truth, scale),
            None if shown is None else _number_loss(question, shown, truth, scale),
            _close(values[0], truth, question.tolerance) if question.form == "value" else None,
        )
    # A probability as two outcomes: no, yes.
    payouts = (1.0 - truth, float(truth)) if isinstance(truth, int | float) else tuple(truth)
    return Scores(
        _event_loss(question, values, payouts),
        None if naive is None else _event_loss(question, naive, payouts),
        None if shown is None else _event_loss(question, shown, payouts),
        _decides(question, values, payouts),
    )


def check_truth(question: Question, truth: object) -> None:
    """Return if a value can be the truth of the question.

    Raises:
        DataError: it cannot; the message says what was expected.
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

    The prices of all outcomes are scaled to sum to 1, as those of a market's separate books do not. A price is the
    forecast of each quantile, and of both ends of an interval.
    """
    shown = reference or {}
    if question.form in {"probabilities", "choice"}:
        prices = shown.get("probabilities")
        if isinstance(prices, Mapping):
            prices = [prices.get(name) for name in question.outcomes]
        if (
            not isinstance(prices, list | tuple)
            or len(prices) != len(question.outcomes)
            or not all(map(_payout, prices))
        ):
            return None
        total = math.fsum(prices)
        if total <= 0.0:
            return None
        if question.form == "choice":
            return (float(prices.index(max(prices))),)
        return tuple(price / total for price in prices)
    if question.form == "probability":
        probability = shown.get("probability")
        return (float(probability),) if probability is not None and _payout(probability) else None
    return _repeated(question, shown.get("price"))


def naive_forecast(
    question: Question, shown: tuple[float, ...] | None, reference: Mapping[str, Any] | None = None
) -> tuple[float, ...] | None:
    """The forecast that knows nothing about the question; None for a number of which nothing was shown.

    For a probability it is the base rate where one was shown, else 0.5; for outcomes the same probability for each, or
    the first one; for a number, that it stays where it was: at the market's price, or at the figure published last.

    Args:
        question: question that is forecast.
        shown: what the market showed as a forecast, from :func:`market_forecast`.
        reference: what was shown at submission, as :meth:`Provider.reference` gives it.
    """
    if question.form == "probability":
        rate = (reference or {}).get("base_rate")
        return (float(rate),) if rate is not None and _payout(rate) else (0.5,)
    if question.form == "probabilities":
        return (1.0 / len(question.outcomes),) * len(question.outcomes)
    if question.form == "choice":
        return (0.0,)
    return shown if shown is not None else _repeated(question, (reference or {}).get("last"))


def _repeated(question: Question, number: object) -> tuple[float, ...] | None:
    """A number as the answer to a question whose truth is a number; None where it is no number that can be forecast."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= LARGEST:
        return None
    return (float(number),) * {"quantiles": len(question.levels), "interval": 2}.get(question.form, 1)


def _payout(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def _event_loss(question: Question, values: Sequence[float], payouts: Sequence[float]) -> float:
    """Loss of a forecast of an event from the payout of each outcome; a probability has the outcomes no and yes."""
    if question.form == "choice":
        return 1.0 - payouts[int(values[0])]
    if question.form == "probability":
        return float((values[0] - payouts[1]) ** 2)
    return math.fsum((p - y) ** 2 for p, y in zip(values, payouts, strict=True)) / 2.0


def _number_loss(question: Question, values: Sequence[float], truth: float, scale: float) -> float:
    """Loss of a forecast of a number, divided by the scale; bounded, so that a tiny scale does not make it infinite."""
    if question.form == "value":
        loss = abs(values[0] - truth)
    elif question.form == "quantiles":
        # The pinball loss: level times the miss where the truth is above a quantile, 1 - level where it is below.
        by_level = ((level - (truth < q)) * (truth - q) for level, q in zip(question.levels, values, strict=True))
        loss = 2.0 * math.fsum(by_level) / len(question.levels)
    else:
        # The interval score (Gneiting and Raftery 2007): the width, and a miss times 2 / alpha, alpha = 1 - level.
        low, high = values
        miss = max(low - truth, 0.0) + max(truth - high, 0.0)
        loss = high - low + 2.0 / (1.0 - question.levels[0]) * miss
    return min(loss / scale, LARGEST)


def _decides(question: Question, values: Sequence[float], payouts: Sequence[float]) -> bool | None:
    """Whether the likeliest outcome of a forecast happened; one with a tie at the top names none, and is false."""
    # A market that pays in parts has no outcome that happened.
    if max(payouts) < 1.0:
        return None
    came = payouts.index(max(payouts))
    if question.form == "choice":
        return int(values[0]) == came
    forecast = (1.0 - values[0], values[0]) if question.form == "probability" else values
    return all(forecast[came] > other for place, other in enumerate(forecast) if place != came)


def _close(forecast: float, truth: float, tolerance: float | None) -> bool | None:
    """Whether a number is nearer to the truth than the tolerance; if the truth is 0, whether it is 0.

    The numbers are compared as decimals, as they are written: in binary, 3.003 is less than 0.1 % above 3.
    """
    if tolerance is None:
        return None
    if truth == 0.0:
        return forecast == 0.0
    predicted, came, most = (Decimal(repr(float(number))) for number in (forecast, truth, tolerance))
    return abs(predicted - came) < most * abs(came)
