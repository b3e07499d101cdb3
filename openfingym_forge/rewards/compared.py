"""Comparing formulas by their values on many random arrays: whether they are equal, or one follows from the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from openfingym.errors import OpenFinGymError
from openfingym.metrics.cases import CASES
from openfingym.metrics.record import Metric, Problem
from openfingym_forge.rewards.evaluated import Call, Value

TOLERANCE = 1e-8
"""Relative difference that is rounding: of two programs that add up a few thousand floats in another order."""
DRAWS = 3
"""Number of random questions, on each of which several answers are scored."""


@dataclass(frozen=True)
class FormulaRelation:
    """How one metric follows from another."""

    words: str
    """The relation in words: ``equal``, ``2 times it``, ``the square of it``."""
    exact: bool
    """Whether both give the same numbers."""
    falls: bool = False
    """Whether one falls where the other rises."""


def random_calls(problem: Problem, seed: int = 0, draws: int = DRAWS) -> tuple[list[Call], Mapping[str, object]]:
    """Random arrays to call a metric with: questions of a kind, with answers near the truth and far from it.

    Args:
        problem: the kind of question.
        seed: number from which all draws follow.
        draws: number of questions that are drawn.

    Returns:
        The arguments of each call, and the options that metrics of this kind are called with.
    """
    calls: list[Call] = []
    options: Mapping[str, object] = {}
    for number in range(draws):
        case = CASES[problem](np.random.default_rng([seed, number]))
        calls += [{**case.truth, **answer} for answer in (*case.ladder, *case.rivals[:2])]
        options = case.options
    return calls, options


def edge_calls(problem: Problem, seed: int = 7) -> list[Call]:
    """Arrays at the edge, where formulas differ that are equal elsewhere: a single row, a perfect answer, very small
    and large values, constants and zeros.

    Args:
        problem: the kind of question.
        seed: number from which all draws follow.
    """
    case = CASES[problem](np.random.default_rng(seed))
    whole = {**case.truth, **case.ladder[0]}
    answers = tuple(case.perfect)
    edges: list[Call] = [{**case.truth, **case.perfect}]
    edges.append({name: values[:1] if np.ndim(values) else values for name, values in whole.items()})
    for answer in answers:
        # Labels and counts have no small change.
        if np.asarray(whole[answer]).dtype.kind != "f":
            continue
        values = whole[answer]
        edges += [
            {**whole, answer: changed} for changed in (0.0 * values, 0.0 * values + 0.1, 1e6 * values, 1e-6 * values)
        ]
    return edges


def bank_values(metric: Metric, calls: Sequence[Call], options: Mapping[str, object]) -> list[Value]:
    """Values of a metric of the bank, one for each call; a text in place of a value that it refuses to give."""
    values: list[Value] = []
    for call in calls:
        try:
            values.append(metric.compute(call, 0, options))
        except OpenFinGymError as error:
            values.append(str(error))
    return values


def first_difference(one: Sequence[Value], other: Sequence[Value]) -> str:
    """Where two implementations of a formula differ by more than rounding; empty where they do not.

    Where both refuse the same arrays they agree, whatever reasons they give.
    """
    for number, (left, right) in enumerate(zip(one, other, strict=True)):
        if isinstance(left, str) and isinstance(right, str):
            continue
        if isinstance(left, str) or isinstance(right, str) or not _near(left, right):
            return f"on random arrays {number + 1} of {len(one)}, one gives {left} and the other {right}"
    return ""


def relation(values: Sequence[Value], other: Sequence[Value]) -> FormulaRelation | None:
    """How the first values follow from the second: they are equal, a multiple, a power or a line of them; None where
    they are none of these.

    Args:
        values: values of one metric, or what was wrong in place of a value.
        other: values of the other metric on the same arrays.
    """
    pairs = [(a, b) for a, b in zip(values, other, strict=True) if isinstance(a, float) and isinstance(b, float)]
    # A few points may lie on a curve by chance, and two points lie on a line.
    if len(pairs) < max(4, len(values) // 2):
        return None
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    if all(_near(a, b) for a, b in pairs):
        return FormulaRelation("equal", exact=True)
    # Of constants, anything follows.
    if np.ptp(left) == 0.0 or np.ptp(right) == 0.0:
        return None
    for words, change in _CHANGES:
        with np.errstate(all="ignore"):
            changed = change(right)
        if not np.isfinite(changed).all() or np.ptp(changed) == 0.0:
            continue
        # The multiple that fits best, which is then compared value by value.
        factor = float(left @ changed / (changed @ changed))
        if factor and np.allclose(left, factor * changed, rtol=TOLERANCE, atol=0.0):
            times = "" if _near(factor, 1.0) else f"{factor:.6g} times "
            return FormulaRelation(f"{times}{words}", exact=False, falls=factor < 0.0)
    slope, intercept = (float(number) for number in np.polyfit(right, left, 1))
    scale = max(1.0, float(np.abs(left).max()))
    if abs(slope) > TOLERANCE and np.allclose(left, slope * right + intercept, rtol=0.0, atol=1e-7 * scale):
        return FormulaRelation(f"{intercept:.6g} plus {slope:.6g} times it", exact=False, falls=slope < 0.0)
    return None


# Each rises with the values, so that answers are ranked alike: NaN, for which no relation holds, where one would not.
_CHANGES: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("it", lambda values: values),
    ("the square of it", lambda values: np.square(np.where(values < 0.0, np.nan, values))),
    ("the square root of it", lambda values: np.sqrt(np.where(values < 0.0, np.nan, values))),
)


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12)
