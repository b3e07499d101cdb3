"""Checking the arrays of a question before a metric of another author sees them.

The metrics of this library check their arrays themselves, some of them on the way, which is quicker.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import answer, known, same_shape
from openfingym.metrics.record import ANSWERS, SHAPES, Problem

Array = np.ndarray[Any, np.dtype[Any]]
AXES: Mapping[str, int] = {
    "last_value": 2,
    "levels": 1,
    "real": 3,
    "fake": 3,
    "train": 3,
    "held_out": 3,
    "futures": 4,
    "labels": 1,
    "scores": 1,
    "record": 3,
}
"""Number of axes of the arrays for which it is fixed, whatever the kind of question."""
CODE_AXES: Mapping[str, Mapping[str, int]] = {
    "codes": {"y_true": 2, "y_pred": 2},
    "code_samples": {"y_true": 2, "samples": 3},
    "items": {"y_true": 2, "y_pred": 2},
    "words": {"y_true": 2, "y_pred": 2},
}
"""Number of axes of arrays for which it differs between kinds of questions, by kind."""


def guarded(problem: Problem, function: Callable[..., float]) -> Callable[..., float]:
    """Wrap the function of a metric, so that it is called with sound arrays alone, and gives no infinity.

    Args:
        problem: the kind of question, which fixes names and shapes of the arrays.
        function: the metric's function, which takes the arrays by name.

    Returns:
        A function of the same arguments; it raises DataError where the truth is at fault, and UsageError where the
        answer is, or where the result is too large for float64.
    """

    @functools.wraps(function)
    def checked(**arguments: Any) -> float:
        check_arrays(problem, arguments)
        result = function(**arguments)
        # Of finite arrays, an infinity is an overflow; a NaN or another type is left for admission to refuse.
        if isinstance(result, float) and math.isinf(result):
            raise UsageError("the result is too large for float64; the values must be of a plausible size")
        return result

    return checked


def check_arrays(problem: Problem, arrays: Mapping[str, Any]) -> None:
    """Make sure that arrays are what a question of this kind has.

    Args:
        problem: the kind of question.
        arrays: the arrays of the question by name; other names are not looked at.

    Raises:
        DataError: an array of ours is not numeric, not finite, empty, or of another shape.
        UsageError: an array of the answer is so.
    """
    answers = ANSWERS[problem]
    # First each array by itself, then how they fit each other.
    found: dict[str, Array] = {}
    for name in SHAPES[problem]:
        check = answer if name in answers else known
        values = arrays[name]
        axes = CODE_AXES.get(problem, {}).get(name, AXES.get(name))
        # One number may stand for a benchmark.
        found[name] = check(name, np.asarray(values) if isinstance(values, int | float) else values, axes)
    if "last_value" in found:
        known("y_true", found["y_true"], 3)
        _ours("last_value", found["last_value"], (found["y_true"].shape[0], found["y_true"].shape[2]))
    if problem == "quantiles":
        same_shape("quantiles", found["quantiles"], (*found["y_true"].shape, found["levels"].size))
        levels = found["levels"]
        if not (levels[0] > 0.0 and levels[-1] < 1.0 and (np.diff(levels) > 0.0).all()):
            raise DataError(f"levels must increase, between 0 and 1; found {levels.tolist()}")
    elif problem == "ensemble":
        same_shape("samples", found["samples"], (*found["y_true"].shape, found["samples"].shape[-1]))
    elif problem in {"paths", "copying"}:
        first, *others = found
        for name in others:
            _require(name, found[name], (found[name].shape[0], *found[first].shape[1:]), answered=name in answers)
    elif problem == "futures":
        contexts, *shape = found["real"].shape
        same_shape("futures", found["futures"], (contexts, found["futures"].shape[1], *shape))
    elif problem == "ranking":
        same_shape("scores", found["scores"], found["labels"].shape)
        if not np.isin(found["labels"], (0.0, 1.0)).all():
            raise DataError("labels must be 0 or 1")
    elif problem in {"codes", "code_samples", "items"}:
        _check_codes(found, ANSWERS[problem][0])
    elif "y_true" in found:
        for name in answers:
            same_shape(name, found[name], found["y_true"].shape)
        if problem == "benchmark" and found["benchmark"].ndim:
            _ours("benchmark", found["benchmark"], found["y_true"].shape)
        if problem == "panel" and found["period"].shape != found["y_true"].shape:
            _ours("period", found["period"], found["y_true"].shape[:1])


def _check_codes(found: Mapping[str, Array], name: str) -> None:
    truth = found["y_true"]
    if not np.isin(truth, (0.0, 1.0)).all() or not truth.any(axis=1).all():
        raise DataError("y_true must be 0 or 1, and every row must have a true code")
    same_shape(name, found[name], (*truth.shape, *found[name].shape[2:]))
    if found[name].min() < 0.0:
        raise UsageError(f"{name} must not be negative")


def _ours(name: str, values: Array, shape: tuple[int, ...]) -> None:
    """Raise DataError unless an array of ours has the shape."""
    _require(name, values, shape, answered=False)


def _require(name: str, values: Array, shape: tuple[int, ...], *, answered: bool) -> None:
    if values.shape != shape:
        raise (UsageError if answered else DataError)(f"{name} has shape {values.shape}, expected {shape}")
