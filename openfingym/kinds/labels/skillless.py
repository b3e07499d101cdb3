"""Scores of nodes and graphs that take no account of features and edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader
    from openfingym.task.contracts import Contract

DRAWS = 3
"""Number of random rankings, beside that of the baseline."""


def skillless_scores(
    contract: Contract,
    numbers: NDArray[np.int64],
    labels: NDArray[np.int64],
    shape: tuple[int, ...],
    generator: np.random.Generator,
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill, by name; see :mod:`openfingym.kinds.skillless`.

    Args:
        contract: the contract of the task.
        numbers: numbers by which the items to score are known, int64[items].
        labels: labels of the training items, 0 or 1 each, int64[n].
        shape: shape of a submission, [items].
        generator: random generator for the scores that are drawn.
    """
    # The answers below are between 0 and 1, and are placed at the low end of the admissible range.
    low, width = contract.low, min(contract.high - contract.low, 1.0)
    items = shape[0]
    place = np.arange(items) / items
    prior = float(labels.mean())
    answers = {
        "all zeros": np.zeros(items),
        "all ones": np.ones(items),
        "one half": np.full(items, 0.5),
        "training share of ones": np.full(items, prior),
        "in order of submission": place,
        "in reverse order": 1.0 - place,
        "by number": numbers / max(int(numbers.max()), 1),
        "by number, reversed": 1.0 - numbers / max(int(numbers.max()), 1),
        "alternating": np.arange(items) % 2.0,
        "ones at random, as often as in training": (generator.uniform(size=items) < prior).astype(np.float64),
        "the first ones, as many as in training": (place < prior).astype(np.float64),
        "one item": (np.arange(items) == 0).astype(np.float64),
    }
    answers |= {f"random ranks {draw}": generator.permutation(items) / items for draw in range(1, DRAWS + 1)}
    return {name: np.asarray(low + width * values, dtype=np.float64) for name, values in answers.items()}


def of_nodes(
    contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill to a task about nodes, by name; see :func:`skillless_scores`."""
    return skillless_scores(
        contract, np.asarray(read("test_nodes")), np.asarray(read("train_labels")), shape, generator
    )


def of_graphs(
    contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill to a task about graphs, by name; see :func:`skillless_scores`."""
    return skillless_scores(
        contract, np.asarray(read("test_graphs")), np.asarray(read("train_labels")), shape, generator
    )
