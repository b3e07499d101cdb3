"""Whether an answer without skill wins by a metric: constant, huge, zero, noise, or copied from other data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openfingym.forge.rewards.evaluated import Call, Value
from openfingym.metrics.cases import CASES
from openfingym.metrics.laws import LAWS
from openfingym.metrics.record import ANSWERS, SHAPES, Problem

SEEDS = (0, 1)
ROWS = 300
"""Rows of each law that are used: enough for an honest answer to be seen, and quick by loops."""
HUGE = 1e6
Values = Callable[[Sequence[Call]], list[Value] | str]


def direction_by(problem: Problem, values: Values) -> Literal["lower", "higher", ""]:
    """Which way is better by a metric's own numbers: the perfect answer against worse and worse ones; empty where they
    do not tell.
    """
    case = CASES[problem](np.random.default_rng(SEEDS[0]))
    found = values([{**case.truth, **answer} for answer in (case.perfect, *case.ladder)])
    numbers = [value for value in found if isinstance(value, float)]
    if len(numbers) < 1 + len(case.ladder):
        return ""
    perfect, *worse = numbers
    if all(value > perfect for value in worse):
        return "lower"
    return "higher" if all(value < perfect for value in worse) else ""


def games(problem: Problem, direction: str, values: Values) -> tuple[str, ...]:
    """The answers without skill that win over, or tie with, what is honestly known of a law, on average over seeds.

    Args:
        problem: the kind of question.
        direction: ``lower`` or ``higher`` is better.
        values: gives the metric's values.
    """
    if set(SHAPES[problem]) == set(ANSWERS[problem]):
        return ()  # accounts are made by the engine, not given; the task's own checks play agents without skill
    sign = 1.0 if direction == "lower" else -1.0
    costs: dict[str, list[float]] = {}
    for seed in SEEDS:
        named = dict(_answers(problem, seed))
        found = values(list(named.values()))
        for name, value in zip(named, found, strict=True) if not isinstance(found, str) else ():
            # What a metric refuses does not win by it.
            costs.setdefault(name, []).append(sign * value if isinstance(value, float) else np.inf)
    honest = float(np.mean(costs.pop("honest", [np.inf])))
    if not np.isfinite(honest):
        return ()
    slack = 1e-9 * max(1.0, abs(honest))
    return tuple(name for name, cost in costs.items() if float(np.mean(cost)) <= honest + slack)


def _answers(problem: Problem, seed: int) -> Iterator[tuple[str, Call]]:
    law, other = (LAWS[problem](np.random.default_rng([seed, number])) for number in range(2))
    rng = np.random.default_rng([seed, 2])
    # What has no rows of its own, as levels, or rows that belong together, as the stocks of a month, is used whole.
    rows = ROWS if all(np.ndim(values) > 1 for values in (*law.truth.values(), *law.honest.values())) else None
    truth = {name: values[:rows] if rows else values for name, values in law.truth.items()}
    honest = {name: values[:rows] if rows else values for name, values in law.honest.items()}
    yield "honest", {**truth, **honest}

    def every(change: Callable[[NDArray[Any]], NDArray[Any]]) -> Call:
        return {**truth, **{name: change(np.asarray(honest[name], dtype=float)) for name in ANSWERS[problem]}}

    yield "a constant", every(lambda values: np.full_like(values, values.mean()))
    yield "zero", every(np.zeros_like)
    yield "huge values", every(lambda values: np.full_like(values, HUGE))
    yield "huge values of either sign", every(lambda values: HUGE * rng.choice((-1.0, 1.0), values.shape))
    yield "noise", every(lambda values: values.std() * rng.standard_normal(values.shape))
    name = ANSWERS[problem][0]
    past = other.truth.get("y_true")
    # Of generated data the nearest to a copy is the best by any distance: copies are looked for in their own way.
    if past is not None and past.dtype.kind == "f" and past[:rows].shape == np.shape(honest[name]):
        yield "a copy of training data", {**truth, name: past[:rows]}
