"""What makes a result that could be parsed unusable: values of a type, or of a size, that no result of ours has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args, get_origin, get_type_hints

from openfingym.results.result import FORMAT, INTERVALS, RolloutResult, State

HUGE = 1e100
"""Largest magnitude that a figure of a result may have; sums and powers of larger ones could overflow."""
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}|")
"""What a rollout's id must look like: it becomes a part of paths and addresses. A result may also have none."""
SLICE = re.compile(r"[1-9][0-9]{0,8}-[1-9][0-9]{0,8}")
"""What a result states of a slice of questions."""
_TOTALS = ("total", "relative_total", "baseline_total")
"""Numbers that may be missing where the state says so."""
_TYPES = {
    name: hint for name, hint in get_type_hints(RolloutResult).items() if name not in {*_TOTALS, "format", "path"}
}


def _of(*hints: object) -> tuple[str, ...]:
    """Fields of a result that are of one of these types."""
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

_QUESTIONS = {"clock": str, "simulated": bool, "asked": int, "scored": int, "void": int, "open": int}


def _says(value: object, stated: Mapping[str, object]) -> bool:
    """Whether a value is what a verifier says of a session or of questions, or None; later versions may say more."""
    if not isinstance(value, dict):
        return value is None
    plain = all(isinstance(one, str | int | float | None) for one in value.values())
    return plain and all(
        name in value and isinstance(value[name], kind)  # type: ignore[arg-type]
        for name, kind in stated.items()
    )


def _is_slice(value: object) -> bool:
    """Whether a value is a range of questions, as ``1-10``."""
    return isinstance(value, str) and SLICE.fullmatch(value) is not None


def _words(hint: object) -> tuple[object, ...]:
    """The words that a field of this type may be, None among them where it may be missing; none for another type."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    parts = get_args(hint)
    named = [part for part in parts if get_origin(part) is Literal]
    return (None, *get_args(named[0])) if named and type(None) in parts else ()


_TEXTS = _of(str)
_MAYBE_TEXTS = _of(str | None)
_MAPS = _of(dict[str, float])
_MAYBE_NUMBERS = _of(int | None, float | None)
_NUMBERS = (*_of(int, float), *_MAYBE_NUMBERS)
_WORDS = {name: words for name, hint in _TYPES.items() if (words := _words(hint))}


def fault_of(result: RolloutResult) -> str | None:
    """What is wrong with a result as it was parsed; None where nothing is."""
    if not isinstance(result.format, int) or result.format > FORMAT:
        return f"its format is {result.format!r}; this version reads formats up to {FORMAT}, update openfingym"
    if not _is_one_of(result.state, get_args(State)):
        return f"its state is {result.state!r}, expected one of {', '.join(sorted(get_args(State)))}"
    found = vars(result)
    if not all(isinstance(found[name], str) for name in _TEXTS) or not all(
        isinstance(found[name], str | None) for name in _MAYBE_TEXTS
    ):
        return "the names in it must be texts"
    if not IDENTIFIER.fullmatch(result.rollout_id):
        return f"its rollout_id is {result.rollout_id[:80]!r}, expected letters, digits, dots, hyphens and underscores"
    if not all(isinstance(found[name], dict) and all(map(_is_number, found[name].values())) for name in _MAPS):
        return "its metrics and their standard errors must be finite numbers by name"
    if not all(_is_number(found[name]) or (name in _MAYBE_NUMBERS and found[name] is None) for name in _NUMBERS):
        return "its seed, attempt, time, counts, tokens and cost must be finite numbers"
    for name, known in _WORDS.items():
        if not _is_one_of(found[name], known):
            return f"its {name} is {str(found[name])[:80]!r}, expected one of {', '.join(map(str, known))}"
    if not all(isinstance(flag, str) for flag in result.flags):
        return "its flags must be texts"
    if not _says(result.session, _SESSION):
        return f"its session is {str(result.session)[:80]}, expected what a verifier says of a live session, or null"
    if not (_says(result.questions, _QUESTIONS) or _is_slice(result.questions)):
        return f"its questions are {str(result.questions)[:80]}, expected what a verifier says of them, or null"
    if not isinstance(found["told"], bool):
        return "whether it was told anything must be true or false"
    if not all(_is_interval(getattr(result, name)) for name in INTERVALS):
        return (
            f"the intervals in it must be two ordered numbers, or null; found {result.relative_interval}, "
            f"{result.total_interval}"
        )
    for name in _TOTALS:
        missing = found[name] is None and (result.state != "scored" or name == "baseline_total")
        if not (missing or _is_number(found[name])):
            return f"it is {result.state}, but its {name.replace('_', ' ')} is {str(found[name])[:80]}"
    if result.state == "scored" and not (result.relative_total or 0.0) > 1.0 / HUGE:
        return f"it is scored, but its relative total is {result.relative_total!r}, expected a number above 0"
    return None


def _is_one_of(value: object, known: tuple[object, ...]) -> bool:
    return isinstance(value, str | None) and value in known


def _is_interval(value: object) -> bool:
    return value is None or (
        isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value)) and value[0] <= value[1]
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -HUGE < value < HUGE
