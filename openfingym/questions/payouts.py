"""Reading what prediction markets answer: exact payouts, moments in several spellings, and what is kept as evidence."""

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
"""Bytes of what is kept with a resolution, as canonical JSON."""
LONGEST_VALUE = 400
"""Bytes of one value of it."""


def exact(value: object, what: str, low: int | None = 0, high: int | None = 1) -> Decimal:
    """A number as it is written, in a text or as a JSON number.

    Raises:
        DataError: it is none, or outside the bounds.
    """
    try:
        found = Decimal(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except InvalidOperation:
        found = None
    if found is None or not found.is_finite():
        raise DataError(f"{what} is {str(value)[:40]!r}, expected a number")
    if (low is not None and found < low) or (high is not None and found > high):
        raise DataError(f"{what} is {found}, expected {low} to {high}")
    return found


def listed(value: object, what: str) -> list[Any]:
    """A list, or a list in a text of JSON; empty where there is none.

    Raises:
        DataError: it is something else.
    """
    if value is None or value == "":
        return []
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise DataError(f"{what} is {str(value)[:60]!r}, expected a list, or one in a text")
    return found


def truth_of(question: Question, labels: Sequence[str], payouts: Sequence[Decimal], outcome: str) -> Truth:
    """The truth of a question from what each outcome of a market pays.

    Args:
        question: a question of the form ``probability``, ``probabilities`` or ``choice``.
        labels: the market's outcomes, by their names.
        payouts: what each of them pays, in their order.
        outcome: which one a ``probability`` is of.

    Raises:
        DataError: the market has not these outcomes, or they do not pay 1 together.
    """
    if question.form == "probability":
        return float(payouts[place(labels, outcome, question)])
    found = [payouts[place(labels, label, question)] for label in question.outcomes]
    total = sum(found, Decimal())
    if abs(total - 1) > Decimal("1e-6"):
        raise DataError(f"the outcomes of question {question.id} pay {total} together, expected 1")
    return tuple(map(float, found))


def place(labels: Sequence[str], label: str, question: Question) -> int:
    """Which of a market's outcomes has a label; by the exact text, or else without regard to case.

    Raises:
        DataError: none has, or several.
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
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
        return int(value * (10**9 if value < 1e11 else 10**6))
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 15:
        return instant_ns(int(value))
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if found is None or found.tzinfo is None:
        return None
    return moment_ns(found)


def earliest_ns(*values: object) -> int | None:
    """The first of some moments as services write them; None where none is one."""
    return min((moment for moment in map(instant_ns, values) if moment is not None), default=None)


def evidence(document: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """What of a document is kept with a resolution: these keys, each cut to a bound."""
    return {key: _bounded(document[key]) for key in keys if key in document}


def fitting(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Evidence within its bound, whatever strangers wrote into their markets: its longest values are cut, and say
    so.
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
    except ValueError:  # a number that is none, or half a character
        return ascii(value)[:LONGEST_VALUE]
    if len(whole) <= LONGEST_VALUE:
        return value
    return f"{whole[:LONGEST_VALUE].decode(errors='ignore')}… ({len(whole)} bytes)"
