"""The tests that a metric must pass before a score may rest on it.

The metrics of this library pass the same suite. It asks for the interface; a finite number within the declared range on
random answers; the perfect answer as the optimum; worse answers scoring worse; of a metric that is to
rank, that nothing beats what is honestly known of a law, however volatile it is; the same result
twice, and under other seeds a result within the declared noise; and on every edge case a defined
value or an error of ours. A metric that returns a number for a submission that is not a number
is refused: a failure must be an error, never a score.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.metrics.cases import CASES, Arrays, Case
from openfingym.metrics.laws import LAWS
from openfingym.metrics.questions import guarded
from openfingym.metrics.record import SHAPES, Metric

SEEDS = (0, 1, 2)
"""Seeds of the cases, and of a stochastic metric."""
TOLERANCE = 1e-9
"""Relative size of a difference that is taken for rounding."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""The form of a metric's name."""


def admit(metric: object) -> Metric:
    """Test the metric of another package.

    Args:
        metric: what the package offers as a metric.

    Returns:
        The metric, whose arrays are checked before it is called (:mod:`openfingym.metrics.questions`).

    Raises:
        UsageError: the metric does not pass; the message lists all faults, one a line.
    """
    if not isinstance(metric, Metric):
        raise UsageError(f"a metric must be an openfingym.metrics.record.Metric, found {type(metric).__name__}")
    failures = tuple(_interface(metric))
    if not failures:
        metric = replace(metric, function=guarded(metric.problem, metric.function))
        failures = examine(metric)
    if failures:
        listed = "".join(f"\n- {failure}" for failure in failures)
        raise UsageError(f"the metric {metric.name!r} is not admitted:{listed}")
    return metric


def examine(metric: Metric, seeds: tuple[int, ...] = SEEDS) -> tuple[str, ...]:
    """The faults of a metric, on one case for each seed; empty if it may be admitted."""
    # Without a sound interface it cannot be tried.
    faults = list(_interface(metric))
    if faults:
        return tuple(faults)
    for seed in seeds:
        faults.extend(_behaviour(metric, CASES[metric.problem](np.random.default_rng(seed)), seed))
    if metric.ranks and not faults:
        faults.extend(_proper(metric, seeds))
    edges = _edges(metric, CASES[metric.problem](np.random.default_rng(seeds[0])))
    # A fault of ordinary answers, such as a wrong type, is no news on an edge case.
    faults.extend(fault for fault in edges if fault.partition(": ")[2] not in faults)
    return tuple(dict.fromkeys(faults))


def _interface(metric: Metric) -> Iterator[str]:
    """Faults of the record itself."""
    if not NAME.fullmatch(str(metric.name)):
        yield f"the name {metric.name!r} must be lower case letters, digits and underscores"
    function: object = metric.function
    if not callable(function):
        yield "the function cannot be called"
    if metric.problem not in SHAPES:
        yield f"unknown kind of question {metric.problem!r}; known: {', '.join(SHAPES)}"
    if not (metric.description and metric.unit and metric.source):
        yield "description, unit and source must not be empty"
    if str(metric.direction) not in {"lower", "higher"}:
        yield f"the direction must be lower or higher, found {metric.direction!r}"
    if not metric.range[0] < metric.range[1]:
        yield f"the range {metric.range} is empty"
    elif metric.optimum is not None and not metric.range[0] <= metric.optimum <= metric.range[1]:
        yield f"the optimum {metric.optimum} is outside the range {metric.range}"
    if metric.noise < 0.0 or not math.isfinite(metric.noise) or (metric.noise > 0.0 and not metric.stochastic):
        yield "noise must be finite, not negative, and 0 for a metric that draws no random numbers"


def _behaviour(metric: Metric, case: Case, seed: int) -> Iterator[str]:
    """Faults on answers to a case: results that differ, or answers that are ranked in a wrong order."""
    try:
        perfect = _value(metric, case, case.perfect, seed)
        ladder = [_value(metric, case, answer, seed) for answer in case.ladder]
        rivals = [_value(metric, case, answer, seed) for answer in case.rivals]
        misplaced = None if case.misplaced is None else _value(metric, case, case.misplaced, seed)
        again = [_value(metric, case, answer, seed) for answer in (case.perfect, case.ladder[0])]
        elsewhere = [_value(metric, case, case.ladder[0], other) for other in (seed + 11, seed + 12)]
    except _FaultError as fault:
        yield str(fault)
        return
    if again != [perfect, ladder[0]]:
        yield "the same arrays and seed gave two results"
    if max(abs(value - ladder[0]) for value in elsewhere) > metric.noise:
        yield f"other seeds change the result by more than the declared noise of {metric.noise:g}"
    # Of a diagnostic, something other than the perfect answer may score best.
    if metric.diagnostic:
        return
    slack = metric.noise + TOLERANCE * max(1.0, abs(perfect))
    if metric.optimum is not None and abs(perfect - metric.optimum) > slack:
        yield f"the perfect answer scores {perfect:g}, not the declared optimum {metric.optimum:g}"
    sign = 1.0 if metric.direction == "lower" else -1.0
    costs = [sign * value for value in (perfect, *ladder)]
    # A metric with noise may miss the smallest step down; nothing may prefer it, and no metric may miss a large one.
    if (
        costs[1] < costs[0]
        or (costs[1] == costs[0] and metric.noise == 0.0)
        or any(cost <= costs[0] for cost in costs[2:])
    ):
        yield "a worse answer does not score worse than the perfect one"
    if any(after < before - slack for before, after in itertools.pairwise(costs)) or costs[-1] <= costs[1]:
        yield "worse and worse answers do not score worse and worse"
    if misplaced is not None and sign * misplaced <= costs[0]:
        yield "the right values in the wrong places are not worse than the perfect answer"
    if any(sign * value < costs[0] - slack for value in rivals):
        yield "the perfect answer is not the optimum"


def _proper(metric: Metric, seeds: tuple[int, ...]) -> Iterator[str]:
    """Faults that bar a metric from the relative total: answers that beat the honest one, on average over the seeds."""
    costs = []
    sign = 1.0 if metric.direction == "lower" else -1.0
    for seed in seeds:
        law = LAWS[metric.problem](np.random.default_rng(seed))
        case = Case(law.truth, law.honest, (), (), options=law.options)
        try:
            costs.append(
                [sign * _value(metric, case, answer, seed) for answer in (law.honest, *law.beaten, *law.no_better)]
            )
        except _FaultError as fault:
            yield str(fault)
            return
    honest, *rivals = np.mean(costs, axis=0).tolist()
    slack = TOLERANCE * max(1.0, abs(honest))
    if any(rival < honest + slack for rival in rivals[: len(law.beaten)]):
        yield (
            "an answer without knowledge, or with noise, scores as well as what is known of a law; "
            "proper = False keeps it from ranking"
        )
    if any(rival < honest - slack - metric.noise for rival in rivals[len(law.beaten) :]):
        yield "windows of another law score better than draws of the true one; proper = False keeps it from ranking"


def _edges(metric: Metric, case: Case) -> Iterator[str]:
    """Faults on edge cases: a result where only an error is right, or anything but a sound result and our errors."""
    for name, arrays, must_refuse in _edge_cases(metric, case):
        try:
            value = _value(metric, replace(case, truth=arrays), {}, SEEDS[0])
        except OpenFinGymError:
            continue
        except _FaultError as fault:
            yield f"{name}: {fault}"
            continue
        if must_refuse:
            yield f"{name}: gave {value:g} where only an error is right"


def _edge_cases(metric: Metric, case: Case) -> Iterator[tuple[str, Arrays, bool]]:
    """Edge cases of a question: what is broken, the arrays, and whether only an error is right."""
    whole = {**case.truth, **case.perfect}
    for name in metric.needs:
        values = np.asarray(whole[name])
        if values.dtype.kind == "f":
            for what, bad in (("NaN", np.nan), ("infinity", np.inf)):
                broken = values.copy()
                broken.flat[broken.size // 2] = bad
                yield f"{what} in {name}", {**whole, name: broken}, True
            yield f"{name} of size 1e200", {**whole, name: 1e200 * np.sign(values)}, False
            yield f"{name} zero", {**whole, name: np.zeros_like(values)}, False
            yield f"{name} constant", {**whole, name: np.full_like(values, 0.1)}, False
            yield f"{name} as text", {**whole, name: values.astype(str)}, True
        if values.ndim:
            yield f"{name} empty", {**whole, name: values[:0]}, True
            yield f"{name} with one row", {**whole, name: values[:1]}, False
            yield f"{name} with one axis more", {**whole, name: values[None]}, True
    yield (
        "one row of everything",
        {name: values[:1] if np.ndim(values) else values for name, values in whole.items()},
        False,
    )
    lacking = {name: values for name, values in whole.items() if name != metric.answers[0]}
    yield "no answer", lacking, True


class _FaultError(Exception):
    """A metric did something wrong on one set of arrays; the message says what."""


def _value(metric: Metric, case: Case, answer: Arrays, seed: int) -> float:
    """The result, checked; read-only copies show whether the metric writes into its inputs."""
    arrays = {name: np.array(values) for name, values in {**case.truth, **answer}.items()}
    # Several metrics read the same arrays: one that writes into them would change what the next one scores.
    for values in arrays.values():
        values.flags.writeable = False
    try:
        result = metric.compute(arrays, seed, case.options)
    except OpenFinGymError:
        # An error of ours is right on edge cases, which come as a truth without an answer.
        if answer:
            raise _FaultError("refuses an ordinary answer") from None
        raise
    except Exception as error:
        raise _FaultError(f"raises {error!r} instead of an error of openfingym.errors") from error
    # Not ``isinstance``, which a float64 of NumPy would pass.
    if type(result) is not float:
        raise _FaultError(
            f"returns {type(result).__name__}, expected float: convert it with openfingym.metrics.arrays.number"
        )
    if not math.isfinite(result):
        raise _FaultError(f"returns {result}")
    low, high = metric.range
    if not low - TOLERANCE <= result <= high + TOLERANCE:
        raise _FaultError(f"returns {result:g}, outside its range {metric.range}")
    return result
