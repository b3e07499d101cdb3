"""The Gaussian baseline of generation."""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from openfingym.kinds.material import Array

NARROW = 0.4
"""Windows of which the increments are narrower than this beside the values are drawn as random walks."""


def gaussian_windows(targets: Array, shape: tuple[int, ...], low: float, high: float) -> NDArray[np.float64]:
    """Independent draws with the moments of training windows, the same each time; random walks where windows wander.

    Beside paths that wander, white noise is so rough that any answer without skill which is less so, such as a
    constant, would be nearer to them. So windows are random walks where that makes those of training much likelier
    than independent values do.

    Args:
        targets: training windows, [n, rows, channels].
        shape: shape of the array of draws; its last two axes are those of a window.
        low: draws are held within these limits.
        high: see ``low``.
    """
    (mean, deviation), (step, spread) = _moments(targets), _moments(targets, increments=True)
    bits = np.random.default_rng(int.from_bytes(hashlib.sha256(repr(shape).encode()).digest()[:8]))
    normal = bits.standard_normal(shape)
    drawn = mean + deviation * normal
    walk = np.concatenate([drawn[..., :1, :], step + spread * normal[..., 1:, :]], axis=-2).cumsum(axis=-2)
    return np.clip(walk if _wanders(deviation[1:], spread) else drawn, low, high)


def _moments(targets: Array, *, increments: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each row and channel, [rows, channels] each; or of the increments between rows, [rows - 1,
    channels] each.
    """
    # In blocks: the largest training set is read from disk.
    total, square = np.zeros(1), np.zeros(1)
    for start in range(0, len(targets), 2000):
        block = np.asarray(targets[start : start + 2000], dtype=np.float64)
        block = np.diff(block, axis=1) if increments else block
        total = total + block.sum(axis=0)
        square = square + (block**2).sum(axis=0)
    mean = total / len(targets)
    return mean, np.sqrt(np.maximum(square / len(targets) - mean**2, 0.0))


def _wanders(deviation: NDArray[np.float64], spread: NDArray[np.float64]) -> bool:
    """Whether increments are on the geometric average less than :data:`NARROW` times as wide as values, over all rows
    and channels.

    The log likelihood of a Gaussian at its own moments is minus the log of its deviation, up to what is the same for
    both: so a random walk is taken where it is clearly the likelier of the two. Values that turn back as often as they
    go on, as those of a rough fractional motion or the sizes in an order book, are nearer to independent ones.

    Args:
        deviation: standard deviations of the values, float64[rows - 1, channels], without the first row, which both
            draw alike.
        spread: standard deviations of the increments, of the same shape.
    """
    known = (deviation > 0.0) & (spread > 0.0)
    gain = np.log(deviation[known]) - np.log(spread[known])
    return gain.size > 0 and bool(gain.mean() > -math.log(NARROW))
