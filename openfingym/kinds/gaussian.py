"""The Gaussian baseline of generation tasks: windows with the means and deviations of the training windows."""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from openfingym.kinds.material import Array

NARROW = 0.4
"""Windows are drawn as random walks if increments are less than this many times as wide as values."""


def gaussian_windows(targets: Array, shape: tuple[int, ...], low: float, high: float) -> NDArray[np.float64]:
    """Independent draws with the moments of training windows, or random walks where those windows are paths.

    Compared with a path, white noise is so rough that any smoother answer without skill, such as a constant, would be
    nearer to the truth. So windows are drawn as random walks where that makes the training windows much likelier than
    independent values do. The draws are the same each time.

    Args:
        targets: training windows, [n, rows, channels].
        shape: shape of the array of draws; its last two axes are those of a window.
        low: smallest value of a draw; what is below is set to it.
        high: largest value of a draw; what is above is set to it.
    """
    (mean, deviation), (step, spread) = _moments(targets), _moments(targets, increments=True)
    # The seed follows from the shape alone, so that the baseline of a task is always the same.
    bits = np.random.default_rng(int.from_bytes(hashlib.sha256(repr(shape).encode()).digest()[:8]))
    normal = bits.standard_normal(shape)
    drawn = mean + deviation * normal
    walk = np.concatenate([drawn[..., :1, :], step + spread * normal[..., 1:, :]], axis=-2).cumsum(axis=-2)
    return np.clip(walk if _wanders(deviation[1:], spread) else drawn, low, high)


def _moments(targets: Array, *, increments: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each row and channel, float64[rows, channels] each; or of the increments between
    rows, float64[rows - 1, channels] each.
    """
    # In blocks: the array is memory-mapped, and may be too large to hold as float64.
    total, square = np.zeros(1), np.zeros(1)
    for start in range(0, len(targets), 2000):
        block = np.asarray(targets[start : start + 2000], dtype=np.float64)
        block = np.diff(block, axis=1) if increments else block
        total = total + block.sum(axis=0)
        square = square + (block**2).sum(axis=0)
    mean = total / len(targets)
    # The difference of two nearly equal numbers can come out slightly negative.
    return mean, np.sqrt(np.maximum(square / len(targets) - mean**2, 0.0))


def _wanders(deviation: NDArray[np.float64], spread: NDArray[np.float64]) -> bool:
    """Whether windows are closer to random walks than to independent values.

    They are if the geometric mean over all rows and channels of the ratio of the widths of increments and values is
    less than :data:`NARROW`. The log likelihood of a Gaussian at its own moments is minus the log of its deviation, up
    to a constant, so that a random walk is taken where it is clearly the likelier of the two. Series that turn back as
    often as they go on, such as rough fractional motions or the sizes in an order book, are nearer to independent
    values.

    Args:
        deviation: standard deviations of the values, float64[rows - 1, channels], without the first row, which both
            models draw in the same way.
        spread: standard deviations of the increments, float64[rows - 1, channels].
    """
    known = (deviation > 0.0) & (spread > 0.0)
    gain = np.log(deviation[known]) - np.log(spread[known])
    return gain.size > 0 and bool(gain.mean() > -math.log(NARROW))
