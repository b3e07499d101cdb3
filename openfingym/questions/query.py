"""The check of what a question asks its provider: known keys, of the right types, and a form that the provider has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.questions.question import Form, Question

_NAMES = {str: "a text", float: "a number"}


def require_query(
    question: Question,
    required: Mapping[str, type] | None = None,
    *,
    optional: Mapping[str, type] | None = None,
    forms: Collection[Form] | None = None,
) -> None:
    """Refuse a question whose query its provider does not understand.

    Args:
        question: the question whose query is checked.
        required: keys that the query must have, each with its type, ``str`` or ``float``.
        optional: keys that the query may have, each with its type.
        forms: forms that the provider can resolve; None for all.

    Raises:
        UsageError: a key is missing, unknown or of another type, or the form is another one.
    """
    required, optional = required or {}, optional or {}
    where = f"question {question.id} of {question.provider}"
    if forms is not None and question.form not in forms:
        raise UsageError(f"{where}: its form is {question.form}; expected {' or '.join(forms)}")
    known = {**required, **optional}
    if missing := [key for key in required if key not in question.query]:
        raise UsageError(f"{where}: its query lacks {missing[0]!r}; expected {_listed(required, optional)}")
    for key, value in question.query.items():
        if key not in known:
            raise UsageError(f"{where}: its query has {key!r}; expected {_listed(required, optional)}")
        if isinstance(value, str) != (known[key] is str) or isinstance(value, bool) or value == "":
            raise UsageError(f"{where}: {key} of its query is {value!r}; expected {_NAMES[known[key]]}")


def _listed(required: Mapping[str, type], optional: Mapping[str, type]) -> str:
    names = [*required, *(f"{key} (optional)" for key in optional)]
    return ", ".join(names) or "no keys"
