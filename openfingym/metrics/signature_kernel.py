"""Sig-MMD: maximum mean discrepancy under a truncated signature kernel.

Two laws carry the name, since the library behind the source paper changed (the same call gives
different numbers before and after):

``normalised``
    static kernel exp(-d^2 / 2), each level divided by sqrt(k(x, x) k(y, y)), mean over levels
    0..depth. The default: bounded by 2 and stable at a few hundred paths.
``compat``
    static kernel exp(-d^2), levels summed and not normalised, as in 2021-2023. Self-kernels
    are of the order of 1000, so in a weighted total it drowns every other term.

Both put a row of zeros in front of each path, and then time before its channels: over the t + 1 rows
it runs from 1 / (t + 1) to 1, so that the row of zeros has a time above 0. The static kernel has no
bandwidth of its own: scale values by training statistics.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.arrays import Numbers, windows
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

Law = Literal["normalised", "compat"]
Backend = Literal["numpy", "numba"]
DEPTH = 5
"""Highest level of the kernel in the metric."""
PATHS = 256
"""Most paths of each side: the kernel costs paths^2 t^2, and at 256 laws are told apart (see the documentation)."""
STEPS = 64
"""Most steps of a path in the metric: the time taken grows with their square."""
KEPT = 256
"""Number of sets of paths whose kernels among themselves are kept, some kilobytes each: both folds of a task and the
groups of one are nine or ten sets, the same for every submission, and a submission brings as many of its own."""
BLOCK_CELLS = 16_384
"""Number of cells (steps times paths) handled at once, so that one row of kernels stays in a core's cache."""


def sig_mmd(
    real: Numbers,
    fake: Numbers,
    depth: int = DEPTH,
    paths: int = PATHS,
    law: Law = "normalised",
    backend: Backend = "numba",
    steps: int | None = STEPS,
    *,
    seed: int = 0,
) -> float:
    """Unbiased MMD^2, floored at 0: the unbiased estimate can be negative, and a reward must not pay for luck.

    Args:
        real: real windows, [n, t, d], n >= 2.
        fake: generated windows, [m, t, d], m >= 2.
        depth: highest level of the kernel, at least 1.
        paths: largest number of paths on each side; where there are more, as many are drawn without replacement.
        law: name of the kernel, ``normalised`` or ``compat``; see the module.
        backend: ``numba``, or ``numpy`` for the readable reference, which gives the same numbers to rounding.
        steps: largest number of steps of a path; longer ones are thinned evenly, the first and last step included. None
            for all steps.
        seed: seed from which paths are drawn; fixed by the task.

    Raises:
        UsageError: fewer than two paths, or a parameter is unknown.
    """
    ours, theirs = windows(real, fake)
    if steps is not None and ours.shape[1] > steps:
        places = np.linspace(0, ours.shape[1] - 1, steps).round().astype(np.intp)
        ours, theirs = ours[:, places], theirs[:, places]
    generator = np.random.default_rng(seed)
    # One order for both sides: windows submitted unchanged meet themselves, and the estimate of equal sets is exact.
    order = generator.permutation(max(len(ours), len(theirs)))
    x, y = (values[order[order < len(values)][:paths]] for values in (ours, theirs))
    return max(0.0, mmd_squared(x, y, depth, law, backend))


def mmd_squared(
    x: NDArray[np.float64], y: NDArray[np.float64], depth: int, law: Law = "normalised", backend: Backend = "numba"
) -> float:
    """Unbiased estimate of MMD^2 from paths [n, t, d] and [m, t, d]; may be negative.

    Raises:
        UsageError: fewer than two paths, or a parameter is unknown.
    """
    if min(len(x), len(y)) < 2:
        raise UsageError(f"an unbiased MMD needs at least two paths on either side, found {len(x)} and {len(y)}")
    if depth < 1 or law not in {"normalised", "compat"} or backend not in {"numpy", "numba"}:
        raise UsageError(f"unknown signature kernel: depth {depth}, law {law!r}, backend {backend!r}")
    kernel = _Kernel(depth, law, backend)
    ours, theirs = with_origin(x), with_origin(y)
    # Generated paths too: the same ones are compared with the real paths of either fold.
    inside_x, inside_y = _cached_inside(kernel, ours), _cached_inside(kernel, theirs)
    across = kernel.combined(kernel.levels(ours, theirs), inside_x.own, inside_y.own)
    # Exact sums: the three terms nearly cancel where the laws are alike.
    return inside_x.mean + inside_y.mean - 2.0 * math.fsum(across.ravel()) / across.size


@dataclass(frozen=True, eq=False)
class _InsideKernels:
    """The kernels among the n paths of one set."""

    own: NDArray[np.float64]
    """Levels of each path with itself, float64[depth, n]."""
    mean: float
    """Mean kernel of two different paths."""


@dataclass(frozen=True)
class _Kernel:
    """A signature kernel for paths [n, s, c] that begin with their origin (:func:`with_origin`)."""

    depth: int
    law: Law
    backend: Backend

    def levels(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Levels of each two paths, float64[depth, n, m], as :func:`kernel_levels` gives them."""
        rate = 0.5 if self.law == "normalised" else 1.0
        if self.backend == "numpy":
            return kernel_levels(x, y, self.depth, rate)
        from openfingym.metrics.signature_kernel_numba import levels

        return levels(x, y, self.depth, rate)

    def combined(
        self, levels: NDArray[np.float64], own_x: NDArray[np.float64], own_y: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The kernel of each two paths, float64[n, m], from its levels and those of each path with itself."""
        return _normalised(levels, own_x, own_y) if self.law == "normalised" else 1.0 + levels.sum(axis=0)

    def inside(self, x: NDArray[np.float64]) -> _InsideKernels:
        """The kernels among the paths of a set."""
        levels = self.levels(x, x)
        own = np.diagonal(levels, axis1=1, axis2=2).copy()
        kernel, n = self.combined(levels, own, own), len(x)
        # A path with itself says nothing of the law; leaving the diagonal out is what makes the estimate unbiased.
        return _InsideKernels(own, (math.fsum(kernel.ravel()) - math.fsum(np.diagonal(kernel))) / (n * (n - 1)))


_cache: OrderedDict[tuple[bytes, _Kernel], _InsideKernels] = OrderedDict()
_cache_lock = threading.Lock()


def _cached_inside(kernel: _Kernel, x: NDArray[np.float64]) -> _InsideKernels:
    """The kernels among the paths of a set, computed once for each of the last :data:`KEPT` sets asked for."""
    # By content: the same truth comes in other arrays for every submission.
    key = (hashlib.sha256(repr(x.shape).encode() + x.tobytes()).digest(), kernel)
    with _cache_lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
    # Outside the lock: it takes long, and threads with other sets need not wait for it.
    kernels = kernel.inside(x)
    with _cache_lock:
        _cache[key] = kernels
        while len(_cache) > KEPT:
            _cache.popitem(last=False)
    return kernels


def with_origin(paths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Paths with time in front of the channels and a row of zeros in front of the steps: [n, 1 + t, 1 + d]."""
    n, t, d = paths.shape
    out = np.zeros((n, t + 1, d + 1))
    # Not from 0, which the origin's other channels have: see the module.
    out[:, :, 0] = np.linspace(1.0 / (t + 1), 1.0, t + 1)
    out[:, 1:, 1:] = paths
    return out


def kernel_levels(x: NDArray[np.float64], y: NDArray[np.float64], depth: int, rate: float) -> NDArray[np.float64]:
    """Levels 1..depth of the first-order truncated signature kernel over a static kernel exp(-rate d^2).

    Level k sums, over increasing i_1 < ... < i_k and j_1 < ... < j_k, the product of second
    differences of the static kernel (Kiraly and Oberhauser 2019, algorithm 3).

    Args:
        x: first set of paths, [n, s, c].
        y: second set of paths, [m, s, c].
        depth: highest level of the kernel.
        rate: rate of the static kernel.

    Returns:
        float64[depth, n, m], each level of each pair of paths.
    """
    # Of a set with itself, blocks on and above the diagonal are computed, and mirrored.
    symmetric = x is y
    out = np.empty((depth, len(x), len(y)))
    width = min(len(y), max(1, BLOCK_CELLS // y.shape[1]))
    rows = max(1, BLOCK_CELLS // (y.shape[1] * width))
    for left in range(0, len(y), width):
        right = min(left + width, len(y))
        columns = np.ascontiguousarray(y[left:right].transpose(2, 1, 0))
        for top in range(0, right if symmetric else len(x), rows):
            first = max(top - left, 0) if symmetric else 0
            bottom = min(top + rows, len(x))
            out[:, top:bottom, left + first : right] = _block(x[top:bottom], columns[:, :, first:], depth, rate)
    if symmetric:
        lower = np.tril_indices(len(x), -1)
        out[:, lower[0], lower[1]] = out[:, lower[1], lower[0]]
    return out


def _block(x: NDArray[np.float64], columns: NDArray[np.float64], depth: int, rate: float) -> NDArray[np.float64]:
    """Levels of paths [n, s, c] against paths [c, s, m], float64[depth, n, m]; work arrays are [s, n, m]."""
    cells = (columns.shape[1], len(x), columns.shape[2])
    inner = (cells[0] - 1, *cells[1:])
    # sums[k] holds, for each j, level k + 1's terms that end at j, over all rows so far.
    sums = np.zeros((depth, *inner))
    square, work, second = np.empty(cells), np.empty(cells), np.empty(inner)
    before, prefix = np.zeros(inner), np.zeros(inner)
    for i in range(x.shape[1]):
        # The static kernel of step i of each x with every step of each y.
        for channel in range(x.shape[2]):
            gap = work if channel else square
            np.subtract(columns[channel][:, None, :], x[:, i, channel, None], out=gap)
            np.multiply(gap, gap, out=gap)
            if channel:
                np.add(square, work, out=square)
        np.multiply(square, -rate, out=square)
        np.exp(square, out=square)
        # Its second differences, along the steps of y and then of x, are the terms of level 1.
        difference = square[1:] - square[:-1]
        if i > 0:
            np.subtract(difference, before, out=second)
            # From the top down, so that a level still sees only rows before this one of the level below.
            for k in range(depth - 1, 0, -1):
                prefix[0] = 0.0
                np.add.accumulate(sums[k - 1, :-1], axis=0, out=prefix[1:])
                np.multiply(prefix, second, out=prefix)
                np.add(sums[k], prefix, out=sums[k])
            np.add(sums[0], second, out=sums[0])
        before = difference
    total: NDArray[np.float64] = sums.sum(axis=1)
    return total


def _normalised(
    levels: NDArray[np.float64], own_x: NDArray[np.float64], own_y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean over levels 0..depth of k(x, y) / sqrt(k(x, x) k(y, y)); a level that vanishes on a path counts 0 with
    it.
    """
    # Two roots and not the root of the product, which could overflow; rounding may leave a level a little below 0.
    scale = np.sqrt(np.maximum(own_x, 0.0))[:, :, None] * np.sqrt(np.maximum(own_y, 0.0))[:, None, :]
    ratio = np.divide(levels, scale, out=np.zeros_like(levels), where=scale > 0.0)
    mean: NDArray[np.float64] = (1.0 + ratio.sum(axis=0)) / (len(levels) + 1)
    return mean


def _prepare() -> None:
    """Compile the kernel, which takes seconds where no process has done it before."""
    _Kernel(DEPTH, "normalised", "numba").levels(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)))


METRICS = (
    Metric(
        "sig_mmd",
        sig_mmd,
        "paths",
        "MMD^2 of a normalised signature kernel, depth 5, 256 paths",
        "none",
        "Chevyrev and Oberhauser 2022; Lou, Li and Ni 2023",
        (0.0, 4.0),
        heavy=True,
        prepare=_prepare,
        parameters={"depth": DEPTH, "paths": PATHS, "steps": STEPS},
        stochastic=True,
        noise=0.02,
        minimum_rows=2,
        version=2,
        changed="the row of zeros had time 0",
        differs=(
            "the exact kernel on 256 paths of 64 steps at most, depth 5 (the exact code: 4), by the kernel "
            "library's law of 2024, floored at 0"
        ),
    ),
)
