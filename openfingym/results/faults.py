"""Checks of a parsed result, whose file may come from a stranger: is each value of a type and size that a verifier or
launcher of this library writes?
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args, get_origin, get_type_hints

from openfingym.results.result import FORMAT, INTERVALS, RolloutResult

HUGE = 1e100
"""Largest magnitude that a figure of a result may have; sums and powers of larger ones could overflow."""
RELATIVE = (0.01, 100.0)
"""The least and the largest relative total that a verifier states: it cuts off the ratio of each metric there."""
ROUNDING = 1e-9
"""Share by which a number may be beyond its bounds."""
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}|")
"""What a rollout's id must look like: it becomes a part of paths and addresses. A result may also have none."""
SLICE = re.compile(r"[1-9][0-9]{0,8}-[1-9][0-9]{0,8}")
"""How a result states a slice of questions: the first and the last number, as ``1-10``."""
_TOTALS = ("total", "relative_total", "baseline_total")
"""Numbers that may be missing where the state says so."""
SCORE_FIELDS = ("total", "relative_total", *INTERVALS)
"""Fields that only a scored result has."""
# The totals are left out because the state decides whether they may be missing; the format is checked before all
# else, and the path is set by whoever reads the folder.
_TYPES = {
    name: hint for name, hint in get_type_hints(RolloutResult).items() if name not in {*_TOTALS, "format", "path"}
}


def _fields_of(*hints: object) -> tuple[str, ...]:
    """Names of the fields of a result that are of one of these types."""
    return tuple(name for name, hint in _TYPES.items() if hint in hints)


_SESSION = {
    "venue": str,
    "simulated": bool,
    "interval_s": int,
    "duration_s": int,
    "incomplete_bars": int,
    "left_early": bool,
    "tape_sha256": str | None,
}
"""Names and types of what a verifier states of a live session; each name must be there."""

_QUESTIONS = {"clock": str, "simulated": bool, "asked": int, "scored": int, "void": int, "open": int}
"""Names and types of what a verifier states of the questions that were asked; each name must be there."""


def _states(value: object, required: Mapping[str, object]) -> bool:
    """Whether a value is None, or an object of plain values that has every required name with its type."""
    if not isinstance(value, dict):
        return value is None
    # Names beyond the required ones are let through, since a later version may state more; their values must be plain
    # too, as the types of the fields promise to whoever reads them.
    plain = all(isinstance(item, str | int | float | None) for item in value.values())
    return plain and all(
        name in value and isinstance(value[name], kind)  # type: ignore[arg-type]
        for name, kind in required.items()
    )


def _is_slice(value: object) -> bool:
    """Whether a value is a range of questions, as ``1-10``."""
    return isinstance(value, str) and SLICE.fullmatch(value) is not None


def _words(hint: object) -> tuple[object, ...]:
    """The words that a field of this type may be, None among them where it may be missing; empty for another type."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    parts = get_args(hint)
    literals = [part for part in parts if get_origin(part) is Literal]
    return (None, *get_args(literals[0])) if literals and type(None) in parts else ()


# The lists follow from the annotations of RolloutResult, so that a new field of a known type is checked at once.
_TEXTS = _fields_of(str)
_MAYBE_TEXTS = _fields_of(str | None)
_TRUTHS = _fields_of(bool)
_MAPS = _fields_of(dict[str, float])
_MAYBE_NUMBERS = _fields_of(int | None, float | None)
_NUMBERS = (*_fields_of(int, float), *_MAYBE_NUMBERS)
_AMOUNTS = (
    "submissions_accepted",
    "submissions_rejected",
    "budget",
    "attempt",
    "shown_before",
    "resumed",
    "wall_s",
    "verifier_s",
    "turns",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
)
"""Numbers that are not below 0."""
_WORDS = {name: words for name, hint in _TYPES.items() if (words := _words(hint))}


def fault_of(result: RolloutResult) -> str | None:
    """The first thing that is wrong with a result as it was parsed, as a clause; None where nothing is."""
    # The format comes first: a later one may have other types and states, and the remedy is then an update.
    if not isinstance(result.format, int) or result.format > FORMAT:
        return f"its format is {result.format!r}; this version reads formats up to {FORMAT}, update openfingym"
    if result.state not in _WORDS["state"]:
        return f"its state is {result.state!r}, expected one of {', '.join(sorted(map(str, _WORDS['state'])))}"
    values = vars(result)
    # Lists rather than generators, which take longer: reports read tens of thousands of results.
    if [name for name in _TEXTS if not isinstance(values[name], str)] or [
        name for name in _MAYBE_TEXTS if not (values[name] is None or isinstance(values[name], str))
    ]:
        return "the names in it must be texts"
    if not IDENTIFIER.fullmatch(result.rollout_id):
        return f"its rollout_id is {result.rollout_id[:80]!r}, expected letters, digits, dots, hyphens and underscores"
    if [name for name in _MAPS if not (isinstance(values[name], dict) and all(map(_is_number, values[name].values())))]:
        return "its metrics and their standard errors must be finite numbers by name"
    if [
        name for name in _NUMBERS if not (_is_number(values[name]) or (values[name] is None and name in _MAYBE_NUMBERS))
    ]:
        return "its seed, attempt, time, counts, tokens and cost must be finite numbers"
    if below := [name for name in _AMOUNTS if values[name] is not None and values[name] < 0]:
        return f"its {below[0]} is {values[below[0]]!r}, expected a number that is not below 0"
    for name, known in _WORDS.items():
        # A stranger's text may be of any length: what is quoted of it is cut.
        if values[name] not in known:
            return f"its {name} is {str(values[name])[:80]!r}, expected one of {', '.join(map(str, known))}"
    if not all(isinstance(flag, str) for flag in result.flags):
        return "its flags must be texts"
    if not _states(result.session, _SESSION):
        return f"its session is {str(result.session)[:80]}, expected what a verifier says of a live session, or null"
    if not (_states(result.questions, _QUESTIONS) or _is_slice(result.questions)):
        return f"its questions are {str(result.questions)[:80]}, expected what a verifier says of them, or null"
    if wrong := [name for name in _TRUTHS if not isinstance(values[name], bool)]:
        return f"its {wrong[0]} is {str(values[wrong[0]])[:80]}, expected true or false"
    if [name for name in INTERVALS if not _is_interval(values[name])]:
        return (
            f"the intervals in it must be two ordered numbers, or null; found {result.relative_interval}, "
            f"{result.total_interval}"
        )
    for name in _TOTALS:
        missing = values[name] is None and (result.state != "scored" or name == "baseline_total")
        if not (missing or _is_number(values[name])):
            return f"it is {result.state}, but its {name.replace('_', ' ')} is {str(values[name])[:80]}"
    if result.state != "scored" and any(values[name] is not None for name in SCORE_FIELDS):
        return f"it is {result.state}, and states a score, which only a scored result has"
    # Reports average its logarithm: a single one from beyond the bounds would outweigh all others.
    low, high = RELATIVE
    if result.state == "scored" and not low * (1.0 - ROUNDING) <= (result.relative_total or 0.0) <= high * (
        1.0 + ROUNDING
    ):
        return (
            f"it is scored, but its relative total is {result.relative_total!r}, expected a number from {low} to {high}"
        )
    return None


def _is_interval(value: object) -> bool:
    return value is None or (
        isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value)) and value[0] <= value[1]
    )


def _is_number(value: object) -> bool:
    # The comparisons are false for NaN, which Python's JSON reader lets through. Nearly every value is of one of these
    # two types themselves, which is quick to see; of others a bool is an int to Python.
    if type(value) is float or type(value) is int:
        return -HUGE < value < HUGE
    return isinstance(value, int | float) and not isinstance(value, bool) and -HUGE < value < HUGE
