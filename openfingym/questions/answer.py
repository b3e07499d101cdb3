"""An answer to a question, read from JSON; what is no answer is refused with the reason."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json
from openfingym.errors import SubmissionError

if TYPE_CHECKING:
    from openfingym.questions.question import Question

SUM_TOLERANCE = 1e-6
"""How far the sum of probabilities may be from 1, since decimals are rounded."""
LARGEST = 1e15
"""Largest magnitude of a number that is forecast."""


@dataclass(frozen=True)
class Answer:
    """A valid answer to a question."""

    values: tuple[float, ...]
    """The answer as numbers, in the order of the question: one probability; a probability for each outcome; the
    position of the chosen outcome; the number; a number for each level; or both ends of the interval."""
    document: Mapping[str, Any]
    """The answer as it was sent, which has the keys of its form and no others."""

    @property
    def canonical(self) -> bytes:
        """The canonical bytes of the answer, of which its digest is taken."""
        return canonical_json(dict(self.document))


def read_answer(question: Question, document: object) -> Answer:
    """Read the answer to a question.

    Args:
        question: the question that is answered.
        document: a JSON object with one key, named as the form: ``{"probability": 0.6}``,
            ``{"probabilities": {"A": 0.6, "B": 0.4}}``, ``{"choice": "A"}``, ``{"value": 3.1}``,
            ``{"quantiles": [1.0, 2.0, 4.0]}`` or ``{"interval": [1.0, 4.0]}``; and with a second key ``unit`` where the
            question has a unit.

    Raises:
        SubmissionError: it is no answer to the question; the message says what was found and expected, and ``problem``
            is ``malformed-submission``, ``wrong-shape``, ``out-of-range`` or ``wrong-unit``.
    """
    form = question.form
    expected = {form, "unit"} if question.unit else {form}
    if not isinstance(document, Mapping) or set(document) != expected:
        found = sorted(map(str, document))[:5] if isinstance(document, Mapping) else type(document).__name__
        raise SubmissionError(
            f"an answer to {question.id} is a JSON object with {' and '.join(sorted(expected))}; found {found}",
            problem="malformed-submission",
        )
    if question.unit and document["unit"] != question.unit:
        raise SubmissionError(
            f"an answer to {question.id} is in {question.unit}; found {str(document['unit'])[:40]!r}",
            problem="wrong-unit",
        )
    values = _READERS[form](question, document[form])
    return Answer(values, {key: document[key] for key in sorted(expected)})


def _probability(question: Question, value: object) -> tuple[float, ...]:
    return (_within(question, "the probability", value, 0.0, 1.0),)


def _probabilities(question: Question, value: object) -> tuple[float, ...]:
    if not isinstance(value, Mapping) or set(value) != set(question.outcomes):
        raise SubmissionError(
            f"the probabilities of {question.id} are an object with one for each of its {len(question.outcomes)} "
            "outcomes, by their names",
            problem="wrong-shape",
        )
    probabilities = tuple(
        _within(question, f"the probability of {name!r}", value[name], 0.0, 1.0) for name in question.outcomes
    )
    total = math.fsum(probabilities)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise SubmissionError(
            f"the probabilities of {question.id} sum to {total:.6g}, expected 1", problem="out-of-range"
        )
    return probabilities


def _choice(question: Question, value: object) -> tuple[float, ...]:
    if value not in question.outcomes:
        raise SubmissionError(
            f"the choice of {question.id} is {str(value)[:60]!r}, expected one of its outcomes", problem="out-of-range"
        )
    return (float(question.outcomes.index(value)),)


def _value(question: Question, value: object) -> tuple[float, ...]:
    return (_within(question, "the value", value, -LARGEST, LARGEST),)


def _quantiles(question: Question, value: object) -> tuple[float, ...]:
    return _ordered(question, value, len(question.levels), "quantiles", "do not cross")


def _interval(question: Question, value: object) -> tuple[float, ...]:
    return _ordered(question, value, 2, "ends of the interval", "are in order")


def _ordered(question: Question, value: object, count: int, what: str, rule: str) -> tuple[float, ...]:
    if not isinstance(value, list | tuple) or len(value) != count:
        found = len(value) if isinstance(value, list | tuple) else type(value).__name__
        raise SubmissionError(f"{question.id} has {count} {what}, as a list; found {found}", problem="wrong-shape")
    numbers = tuple(_within(question, f"one of the {what}", number, -LARGEST, LARGEST) for number in value)
    if any(high < low for low, high in itertools.pairwise(numbers)):
        raise SubmissionError(
            f"the {what} of {question.id} are {list(numbers)}, expected that they {rule}", problem="out-of-range"
        )
    return numbers


def _within(question: Question, what: str, value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SubmissionError(
            f"{what} of {question.id} is {str(value)[:40]!r}, expected a number", problem="malformed-submission"
        )
    # In this form, so that NaN is outside too.
    if not low <= value <= high:
        raise SubmissionError(
            f"{what} of {question.id} is {value}, expected {low:g} to {high:g}", problem="out-of-range"
        )
    return float(value)


_READERS = {
    "probability": _probability,
    "probabilities": _probabilities,
    "choice": _choice,
    "value": _value,
    "quantiles": _quantiles,
    "interval": _interval,
}
