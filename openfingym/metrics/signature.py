"""Truncated path signatures, and the Sig-W1 distance of their means.

The signature of a piecewise linear path is built one segment at a time with Chen's identity, the
product with the exponential of a segment in Horner form, for all paths at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.arrays import Numbers, answer, number, windows
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEPTH = 2
"""Depth used by Tao, Ni and Liu (2024) for both of their data sets."""
MAX_TERMS = 200_000
"""Most terms of a signature that is computed; with more, those of all paths would take gigabytes."""
CHUNK_CELLS = 50_000
"""Number of terms that are worked on at once, so that they stay in a core's cache."""


def with_time(paths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Paths [n, t, d] with a first channel that runs from 0 to 1: [n, t, 1 + d]."""
    n, t, _ = paths.shape
    clock = np.broadcast_to(np.linspace(0.0, 1.0, t)[None, :, None], (n, t, 1))
    return np.concatenate((clock, paths), axis=2)


def signature(paths: Numbers, depth: int) -> NDArray[np.float64]:
    """Signature of each path, levels 1 to ``depth``, without the leading 1.

    Args:
        paths: values of each path at each step, [n, t, d], t >= 1; a path of one point has signature 0.
        depth: highest level of the signature, at least 1.

    Returns:
        float64[n, d + d^2 + ... + d^depth], level by level, each in the order of its indices.

    Raises:
        UsageError: the signature would have more than 200,000 terms, or overflows.
    """
    x = answer("paths", paths, 3)
    n, _, d = x.shape
    if depth < 1 or sum(d**k for k in range(1, depth + 1)) > MAX_TERMS:
        raise UsageError(f"a signature of {d} channels to depth {depth} is not possible; at most {MAX_TERMS} terms")
    # The highest level has most of the terms, so it alone decides how many paths go together.
    chunk = max(1, CHUNK_CELLS // d**depth)
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [
            _signature(np.ascontiguousarray(np.diff(x[start : start + chunk], axis=1)), depth)
            for start in range(0, n, chunk)
        ]
    result = np.concatenate(parts)
    if not np.isfinite(result).all():
        raise UsageError("the signature is too large for float64; the values must be of a plausible size")
    return result


def sig_w1(real: Numbers, fake: Numbers, depth: int = DEPTH) -> float:
    """L2 norm of the difference of mean signatures, levels 1 to ``depth``, with time as first channel.

    No base point is put in front and nothing is normalised, so channels of large values dominate:
    scale by training statistics first. Values are taken as the path itself; returns are not summed.

    Args:
        real: real windows, [n, t, d], t >= 2; for conditional tasks the whole window, past and future.
        fake: generated windows, [m, t, d].
        depth: highest level of the signature, at least 1.
    """
    ours, theirs = windows(real, fake)
    gap = signature(with_time(theirs), depth).mean(axis=0) - signature(with_time(ours), depth).mean(axis=0)
    return number("Sig-W1", np.sqrt(np.vdot(gap, gap)))


def _signature(steps: NDArray[np.float64], depth: int) -> NDArray[np.float64]:
    """Signatures of paths with increments [n, t - 1, d]."""
    n, count, d = steps.shape
    levels = [np.zeros((n, d**k)) for k in range(1, depth + 1)]
    for i in range(count):
        step = steps[:, i]
        # Chen's identity: level k gains the sum of level j before, times step^(k - j) / (k - j)!, over all j below k.
        # From the top level down, so that every level still holds the value before this segment.
        for k in range(depth, 0, -1):
            # In Horner's form: (... ((step / k + level 1) step / (k - 1) + level 2) ... + level k - 1) step.
            product = step / k
            for j in range(1, k):
                product = ((product + levels[j - 1])[:, :, None] * (step / (k - j))[:, None, :]).reshape(n, -1)
            levels[k - 1] += product
    return np.concatenate(levels, axis=1)


METRICS = (
    Metric(
        "sig_w1",
        sig_w1,
        "paths",
        "L2 distance of mean signatures, depth 2, time first",
        "mixed powers of the unit",
        "Tao, Ni and Liu 2024 (code)",
        parameters={"depth": DEPTH},
    ),
)
