"""Departures from a baseline forecast that no input decides: constants, tail values, noise, draws from the past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TINY = 1e-9
"""A departure that states a direction and hardly any size, in standard deviations of training."""
LARGE = 3.0
"""A large departure, in standard deviations of training."""
TAIL = 0.05
"""Level of the tail whose values are put into some cells."""
EVERY = 16
"""A tail value is put into one cell of so many: into 6.25 % of them, slightly more than the tail of 5 %."""


def departures(
    past: NDArray[np.float64], shape: tuple[int, ...], generator: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """What an answer without skill may add to the baseline, by name.

    Args:
        past: training targets minus their baseline, float64[n, ...], one row an item.
        shape: shape of a submission, [items, ...]; its other axes are those of ``past``.
        generator: random generator for the departures that are drawn.

    Yields:
        Names and arrays that can be broadcast to ``shape``.
    """
    mean, deviation = past.mean(axis=0), past.std(axis=0)
    tiny = TINY * deviation
    yield "tiny", tiny
    yield "minus tiny", -tiny
    yield "sign of the drift", np.sign(mean) * tiny
    yield "random signs, tiny", generator.choice([-1.0, 1.0], shape) * tiny
    yield "drift", mean
    yield "large", LARGE * deviation
    yield "minus large", -LARGE * deviation
    # The sign changes from each cell to its neighbour along every axis.
    alternating = np.where(np.indices(shape).sum(axis=0) % 2 == 0, 1.0, -1.0)
    yield "alternating signs", alternating * deviation
    yield from _masks(past, shape, generator)
    noise = generator.standard_normal(shape) * deviation
    yield "noise of training volatility", noise
    yield "a tenth of such noise", 0.1 * noise
    yield "random past", past[generator.integers(len(past), size=shape[0])]


def _masks(
    past: NDArray[np.float64], shape: tuple[int, ...], generator: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Nothing in most cells, and a tail value in slightly more cells than the tail has.

    A metric that compares the tails of answers and truth alone could take this for a forecast of risk.
    """
    low, high = np.quantile(past, (TAIL, 1.0 - TAIL), axis=0)
    # The mean of the values in the lower tail.
    shortfall = np.where(past <= low, past, 0.0).sum(axis=0) / np.maximum((past <= low).sum(axis=0), 1)
    place = _turns(shape, generator)
    yield "value at risk in one cell of 16", np.where(place == 0, low, 0.0)
    yield "expected shortfall in one cell of 16", np.where(place == 0, shortfall, 0.0)
    yield "either tail in one cell of 16", np.where(place == 0, low, np.where(place == EVERY // 2, high, 0.0))


def _turns(shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[np.int64]:
    """Numbers 0 to 15 in turn along each series of a submission, from a random number on; int64 of shape ``shape``.

    In turn, not at random: the quantile of a short series moves only if enough of its cells are in the tail.
    """
    width = shape[-1] if len(shape) > 1 else 1
    turns = np.arange(int(np.prod(shape)) // width)[:, None] + generator.integers(EVERY, size=width)
    return (turns % EVERY).reshape(shape)
