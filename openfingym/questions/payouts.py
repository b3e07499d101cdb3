"""Readers of what prediction markets answer: exact payouts, moments in several spellings, and evidence to keep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json, sha256_of
from openfingym.errors import DataError
from openfingym.questions.question import moment_ns

if TYPE_CHECKING:
    from openfingym.questions.provider import Truth
    from openfingym.questions.question import Question

LONGEST_EVIDENCE = 16_000
"""The most bytes of evidence that are kept with a resolution, as canonical JSON."""
LONGEST_VALUE = 400
"""The most bytes of one value of evidence."""


def exact(value: object, what: str, low: int | None = 0, high: int | None = 1) -> Decimal:
    """A number exactly as it is written, in a text or as a JSON number.

    Args:
        value: the number, or anything else that a service may send in its place.
        what: what the number is, for messages.
        low: lowest value, included; None for no bound.
        high: highest value, included; None for no bound.

    Raises:
        DataError: it is no number, or outside the bounds.
    """
    # str of a float is the shortest decimal that reads back the same, and so what the service wrote.
    try:
        number = Decimal(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise DataError(f"{what} is {str(value)[:40]!r}, expected a number")
    if (low is not None and number < low) or (high is not None and number > high):
        raise DataError(f"{what} is {number}, expected {low} to {high}")
    return number


def listed(value: object, what: str) -> list[Any]:
    """A list, be it one of JSON or, as Polymarket's Gamma sends it, JSON in a text; empty where there is none.

    Args:
        value: the list, or anything else that a service may send in its place.
        what: what the list is, for messages.

    Raises:
        DataError: it is something else.
    """
    if value is None or value == "":
        return []
    try:
        items = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        items = None
    if not isinstance(items, list):
        raise DataError(f"{what} is {str(value)[:60]!r}, expected a list, or one in a text")
    return items


def truth_of(question: Question, labels: Sequence[str], payouts: Sequence[Decimal], outcome: str) -> Truth:
    """The truth of a question from what each outcome of a market pays.

    Args:
        question: a question of the form ``probability``, ``probabilities`` or ``choice``.
        labels: names of the market's outcomes.
        payouts: what each outcome pays, in the order of ``labels``.
        outcome: name of the outcome that a ``probability`` is about; unused for the other forms.

    Raises:
        DataError: the market does not have the question's outcomes, or they do not pay 1 together.
    """
    if question.form == "probability":
        return float(payouts[place(labels, outcome, question)])
    pays = [payouts[place(labels, label, question)] for label in question.outcomes]
    total = sum(pays, Decimal())
    if abs(total - 1) > Decimal("1e-6"):
        raise DataError(f"the outcomes of question {question.id} pay {total} together, expected 1")
    return tuple(map(float, pays))


def place(labels: Sequence[str], label: str, question: Question) -> int:
    """The position of a market's outcome by its label: by the exact text, or else without regard to case.

    Args:
        labels: names of the market's outcomes.
        label: name to look for.
        question: the question that names it, for messages.

    Raises:
        DataError: no outcome has the label, or several have.
    """
    same = [at for at, name in enumerate(labels) if name == label]
    if not same:
        same = [at for at, name in enumerate(labels) if name.casefold() == label.casefold()]
    if len(same) != 1:
        known = ", ".join(map(repr, labels[:8]))
        raise DataError(f"question {question.id} is about the outcome {label!r}, the market's are {known}")
    return same[0]


def instant_ns(value: object) -> int | None:
    """A moment as services write it: ISO 8601 in several spellings, or seconds or milliseconds since the epoch; None
    where it is none of these.
    """
    # As seconds, 1e11 is the year 5138; as milliseconds, it is 1973: what is smaller must be seconds.
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
        return int(value * (10**9 if value < 1e11 else 10**6))
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 15:
        return instant_ns(int(value))
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None or moment.tzinfo is None:
        return None
    return moment_ns(moment)


def earliest_ns(*values: object) -> int | None:
    """The earliest of some moments as services write them; None where none of them is a moment."""
    return min((moment for moment in map(instant_ns, values) if moment is not None), default=None)


def evidence(document: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The part of a document that is kept with a resolution: the values of some keys, each cut to a bound."""
    return {key: _bounded(document[key]) for key in keys if key in document}


def fitting(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Evidence cut to its bound, whatever strangers wrote into their markets: the longest values give way to their
    beginning, length and digest.
    """
    kept = dict(found)
    for key in sorted(kept, key=lambda key: -len(canonical_json(kept[key]))):
        if len(canonical_json(kept)) <= LONGEST_EVIDENCE:
            break
        whole = canonical_json(kept[key])
        kept[key] = f"{whole[:100].decode(errors='ignore')}… ({len(whole)} bytes, SHA-256 {sha256_of(whole)})"
    return kept


def _bounded(value: Any) -> Any:
    try:
        whole = canonical_json(value)
    # Infinity, or a lone surrogate, which canonical JSON cannot write.
    except ValueError:
        return ascii(value)[:LONGEST_VALUE]
    if len(whole) <= LONGEST_VALUE:
        return value
    return f"{whole[:LONGEST_VALUE].decode(errors='ignore')}… ({len(whole)} bytes)"
