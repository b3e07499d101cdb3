"""Whether an answer without skill wins by a metric: a constant, huge values, zero, noise, or a copy of other data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openfingym.metrics.cases import CASES
from openfingym.metrics.laws import LAWS
from openfingym.metrics.record import ANSWERS, SHAPES, Problem
from openfingym_forge.rewards.evaluated import Call, Value

SEEDS = (0, 1)
"""Seeds of the laws that answers are compared on."""
ROWS = 300
"""Rows of each law that are used: enough for an honest answer to be seen, and few enough for a metric in loops."""
HUGE = 1e6
"""Size of a value far beyond anything that is asked for."""
Values = Callable[[Sequence[Call]], list[Value] | str]
"""Gives a metric's values for some calls; a text where it gives none at all."""


def direction_by(problem: Problem, values: Values) -> Literal["lower", "higher", ""]:
    """Which direction is better by a metric's own numbers: the perfect answer is compared with worse and worse ones.
    Empty where the numbers do not tell.

    Args:
        problem: the kind of question.
        values: gives the metric's values.
    """
    case = CASES[problem](np.random.default_rng(SEEDS[0]))
    given = values([{**case.truth, **answer} for answer in (case.perfect, *case.ladder)])
    numbers = [value for value in given if isinstance(value, float)]
    if len(numbers) < 1 + len(case.ladder):
        return ""
    perfect, *worse = numbers
    if all(value > perfect for value in worse):
        return "lower"
    return "higher" if all(value < perfect for value in worse) else ""


def games(problem: Problem, direction: str, values: Values) -> tuple[str, ...]:
    """The answers without skill that score as well as an honest one, or better, on average over seeds.

    A law is a random process of which it is known how well an honest answer can do.

    Args:
        problem: the kind of question.
        direction: ``lower`` or ``higher`` is better.
        values: gives the metric's values.

    Returns:
        Names of these answers, in words.
    """
    # Accounts come from the engine and are no answer of an agent; the task's own checks play agents without skill.
    if set(SHAPES[problem]) == set(ANSWERS[problem]):
        return ()
    sign = 1.0 if direction == "lower" else -1.0
    costs: dict[str, list[float]] = {}
    for seed in SEEDS:
        named = dict(_answers(problem, seed))
        given = values(list(named.values()))
        for name, value in zip(named, given, strict=True) if not isinstance(given, str) else ():
            # An answer that a metric refuses does not win by it.
            costs.setdefault(name, []).append(sign * value if isinstance(value, float) else np.inf)
    honest = float(np.mean(costs.pop("honest", [np.inf])))
    # Where the honest answer itself is refused there is nothing to compare with.
    if not np.isfinite(honest):
        return ()
    slack = 1e-9 * max(1.0, abs(honest))
    return tuple(name for name, cost in costs.items() if float(np.mean(cost)) <= honest + slack)


def _answers(problem: Problem, seed: int) -> Iterator[tuple[str, Call]]:
    """The honest answer to a law and those without skill, each with its name, as arguments of a metric."""
    law, other = (LAWS[problem](np.random.default_rng([seed, number])) for number in range(2))
    rng = np.random.default_rng([seed, 2])
    # Arrays without rows, as levels, or with rows that belong together, as the stocks of a month, are used whole.
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
    # By a distance of distributions, a copy of training data is the best there is: where data are generated, copies are
    # looked for by metrics of their own.
    if past is not None and past.dtype.kind == "f" and past[:rows].shape == np.shape(honest[name]):
        yield "a copy of training data", {**truth, name: past[:rows]}
