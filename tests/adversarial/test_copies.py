"""Training windows handed back in disguise are refused by the tasks themselves, and honest windows are not.

Three tasks are tried in an ordinary run, each with a third of the disguises; all tasks where OPENFINGYM_ALL
is set (some ten minutes).

Before copies were refused, training windows that were mirrored, spliced, turned, averaged or scaled gained up to 85 %,
on `crypto-generation`. Of all pairs of disguises on all tasks, four pass: ``NOT_FOUND``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from openfingym.catalog import load_task, tasks
from openfingym.errors import SubmissionError
from openfingym.packages.build import build
from openfingym_verifier.scoring.truth import load_task as load_hidden
from tests.adversarial.copied_windows import COMBINED, SINGLE, TRANSFORMATIONS, Transformation
from tests.sweeps import ALL, fixed_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym_verifier.scoring.truth import Grader

USUAL = ("exchange-generation", "stock-ohlcv-generation", "stock-generation")
PAIRS_ON = "stock-ohlcv-generation"
"""The task, a small one, on which pairs of disguises are tried in an ordinary run."""
TASKS = tuple(task.name for task in tasks(family="generation")) if ALL else USUAL
COPIES = 400
"""Windows taken from training; a submission repeats them."""
CASES = [
    (name, change)
    for number, name in enumerate(TASKS)
    # Each disguise is tried on one of the three tasks at least.
    for change in fixed_part(SINGLE, 3, first=number) + fixed_part(COMBINED if ALL or name == PAIRS_ON else (), 3)
]
NOT_FOUND = frozenset(
    {
        ("exchange-generation", "spliced_joined, scaled_by_channel"),
        ("fbm-generation", "spliced, noisy"),
        ("lob-generation", "spliced, noisy"),
    }
)
"""Tasks and transformations that are accepted; whoever has one found takes it off the list."""


@functools.cache
def graded(name: str) -> tuple[Grader, NDArray[np.float64], tuple[int, ...]]:
    """What checks submissions, training windows in an order of no meaning, and the shape of a submission."""
    package = build(load_task(name))
    shape = package.manifest.submission_shape
    train = package.array("train_targets")
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(train), min(len(train), int(np.prod(shape[:-2])), COPIES), replace=False)
    return load_hidden(package).grader, np.asarray(train[chosen], dtype=np.float64), shape


def refused(name: str, windows: NDArray[np.float64]) -> bool:
    grader, _, shape = graded(name)
    rows = np.arange(int(np.prod(shape[:-2]))) % len(windows)
    try:
        grader.check(windows[rows].reshape(shape))
    except SubmissionError as error:
        return error.problem == "memorised"
    return False


@pytest.mark.parametrize(("name", "transformation"), CASES)
def test_copies_in_disguise_are_refused(name: str, transformation: str) -> None:
    windows = TRANSFORMATIONS[transformation](graded(name)[1], np.random.default_rng(2))
    assert refused(name, windows) is ((name, transformation) not in NOT_FOUND)


@pytest.mark.parametrize("name", TASKS)
def test_three_copies_in_ten_are_refused_and_one_in_twenty_is_not(name: str) -> None:
    grader, windows, shape = graded(name)
    honest = grader.baseline.reshape(-1, *shape[-2:])
    for share, expected in ((0.3, True), (0.05, False)):
        mixed = honest.copy()
        count = round(share * len(mixed))
        rows = np.random.default_rng(3).choice(len(mixed), count, replace=False)
        mixed[rows] = TRANSFORMATIONS["mirrored_channels"](windows, np.random.default_rng(2))[
            np.arange(count) % len(windows)
        ]
        assert refused(name, mixed) is expected, share


@pytest.mark.parametrize("name", TASKS)
def test_the_baseline_and_the_truth_are_accepted(name: str) -> None:
    grader, _, _ = graded(name)
    grader.check(grader.baseline)
    real = grader.private.truth.arrays.get("future.real", grader.private.truth.arrays["real"])
    assert not refused(name, real)


def test_every_transformation_changes_windows_and_keeps_their_shape() -> None:
    windows = np.random.default_rng(0).standard_normal((30, 8, 3)).cumsum(axis=1)
    assert len(TRANSFORMATIONS) == len(set(TRANSFORMATIONS))
    for name, transformation in TRANSFORMATIONS.items():
        made = made_by(transformation, windows)
        assert made.shape == windows.shape, name
        assert np.isfinite(made).all(), name
        assert np.array_equal(made, made_by(transformation, windows)), name
        assert (name == "exact") == np.array_equal(made, windows), name


def made_by(transformation: Transformation, windows: NDArray[np.float64]) -> NDArray[np.float64]:
    return transformation(windows, np.random.default_rng(5))
