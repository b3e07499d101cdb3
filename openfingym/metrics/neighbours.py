"""Nearest-neighbour distances between real and generated windows.

The distance of two windows is the mean over steps of the Euclidean norm over channels, in the
unit of the values. A submission that repeats the training windows does very well in both
directions, so neither means anything without :mod:`openfingym.metrics.copying`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.arrays import Numbers, number, windows
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_WINDOWS = 8000
"""Most windows looked at on either side, evenly spread: the paper's code takes the first ones, which would be the
futures of few contexts."""
BLOCK_CELLS = 16_384
"""Number of distances worked on at once, so that they stay in a core's cache."""


def onnd(real: Numbers, fake: Numbers) -> float:
    """Outgoing nearest-neighbour distance: mean over real windows of the distance to the nearest generated one.

    Small where every real window has a generated one near it (Tao, Ni and Liu 2024).
    """
    ours, theirs = windows(real, fake)
    return number("ONND", nearest(_thinned(ours), _thinned(theirs)).mean())


def innd(real: Numbers, fake: Numbers) -> float:
    """Incoming nearest-neighbour distance: mean over generated windows of the distance to the nearest real one.

    Small where no generated window is implausible.
    """
    ours, theirs = windows(real, fake)
    return number("INND", nearest(_thinned(theirs), _thinned(ours)).mean())


def _thinned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) <= MAX_WINDOWS:
        return values
    return values[np.linspace(0, len(values) - 1, MAX_WINDOWS).round().astype(np.intp)]


def nearest(queries: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance from each window [n, t, d] to the nearest of the others [m, t, d]: float64[n].

    Squared distances come from one product a step, which is fast and wrong by rounding of the
    size of the values; so the distance to the neighbour found is measured again, exactly.
    """
    n = len(queries)
    # About a common centre, since rounding is of the size of the values that are multiplied.
    centre = others.mean(axis=(0, 1))
    left, right = _augmented(queries - centre, first=True), _augmented(others - centre, first=False)
    width = min(len(others), BLOCK_CELLS)
    rows = max(1, BLOCK_CELLS // width)
    best, source = np.full(n, np.inf), np.zeros(n, dtype=np.intp)
    with np.errstate(over="ignore", invalid="ignore"):
        for top in range(0, n, rows):
            for start in range(0, len(others), width):
                total = _distances(left[:, top : top + rows], right[:, :, start : start + width])
                nearby = total.argmin(axis=1)
                shortest = total[np.arange(len(nearby)), nearby]
                better = shortest < best[top : top + rows]
                best[top : top + rows][better] = shortest[better]
                source[top : top + rows][better] = start + nearby[better]
        # Measured again, exactly.
        gap = queries - others[source]
        exact: NDArray[np.float64] = np.sqrt(np.einsum("ntd,ntd->nt", gap, gap)).mean(axis=1)
    return exact


def _augmented(windows: NDArray[np.float64], *, first: bool) -> NDArray[np.float64]:
    """Factors whose product, step by step, is the squared distance: [t, n, d + 2] or [t, d + 2, n]."""
    with np.errstate(over="ignore"):
        square = np.einsum("ntd,ntd->nt", windows, windows)[:, :, None]
    ones = np.ones_like(square)
    parts = (-2.0 * windows, square, ones) if first else (windows, ones, square)
    return np.ascontiguousarray(np.concatenate(parts, axis=2).transpose((1, 0, 2) if first else (1, 2, 0)))


def _distances(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over steps of the distances, [n, m], from factors [t, n, k] and [t, k, m]."""
    total = np.zeros((left.shape[1], right.shape[2]))
    square = np.empty_like(total)
    for a, b in zip(left, right, strict=True):
        np.matmul(a, b, out=square)
        # Rounding may leave the distance of equal rows a little below 0.
        np.maximum(square, 0.0, out=square)
        np.sqrt(square, out=square)
        np.add(total, square, out=total)
    return total


METRICS = (
    Metric(
        "onnd",
        onnd,
        "paths",
        "mean distance from a real window to the nearest generated one",
        "unit",
        "Tao, Ni and Liu 2024",
        proper=False,
        differs="above 8,000 windows an even selection, where the code takes the first",
    ),
    Metric(
        "innd",
        innd,
        "paths",
        "mean distance from a generated window to the nearest real one",
        "unit",
        "Tao, Ni and Liu 2024, reversed",
        proper=False,
        differs="above 8,000 windows an even selection, where the code takes the first",
    ),
)
