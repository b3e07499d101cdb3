"""Answers to questions that take no account of the question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.skillless.departures import departures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader
    from openfingym.task.contracts import Contract

WIDTHS = (0.0, 0.5, 0.9, 1.1, 2.0)
"""Widths of an answer of several quantiles, as multiples of the baseline's."""


def skillless(
    contract: Contract,
    read: Reader,
    known: NDArray[np.float64],
    baseline: NDArray[np.float64],
    generator: np.random.Generator,
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill, by name; see :mod:`openfingym.kinds.skillless`.

    Args:
        contract: the contract of the task.
        read: reads a public array, given its name.
        known: the baseline's answers to the training questions, float64[n] or float64[n, numbers].
        baseline: the baseline's answers to the test questions, in the same form.
        generator: random generator for the answers that are drawn.
    """
    outcomes = np.asarray(read("train_targets"), dtype=np.float64)
    # One number an answer: of quantiles, the middle of the outermost two. Departures move the whole answer by it.
    past, centre = outcomes - _middle(known), _middle(baseline)
    moved = {name: _plus(baseline, move) for name, move in departures(past, centre.shape, generator)}
    if baseline.ndim == 1:
        rows = len(baseline)
        constants = {"never": 0.0, "always": 1.0, "one half": 0.5, "training mean": float(outcomes.mean())}
        moved |= {name: np.full(rows, value) for name, value in constants.items()}
        moved["drawn as often as in training"] = (generator.uniform(size=rows) < outcomes.mean()).astype(np.float64)
        moved["the baseline in another order"] = generator.permutation(baseline)
    if baseline.ndim > 1:
        moved |= {
            f"{width:g} times as wide": centre[:, None] + width * (baseline - centre[:, None]) for width in WIDTHS
        }
    return {name: np.ascontiguousarray(np.clip(values, contract.low, contract.high)) for name, values in moved.items()}


def _middle(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middle of each answer, float64[n]."""
    return answers if answers.ndim == 1 else np.asarray(answers[:, [0, -1]].mean(axis=1))


def _plus(answers: NDArray[np.float64], move: NDArray[np.float64]) -> NDArray[np.float64]:
    """Answers, all numbers of each moved by the same amount."""
    return answers + (move if answers.ndim == 1 else np.broadcast_to(move, len(answers))[:, None])
