"""The signature kernel compiled with Numba: the same numbers as the NumPy one, to rounding."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


def levels(x: NDArray[np.float64], y: NDArray[np.float64], depth: int, rate: float) -> NDArray[np.float64]:
    """As :func:`openfingym.metrics.signature_kernel.kernel_levels`."""
    out = np.empty((depth, len(x), len(y)))
    _compiled()(np.ascontiguousarray(x), np.ascontiguousarray(y), depth, rate, x is y, out)
    return out


@cache
def _compiled() -> Any:
    # On first use: importing Numba takes half a second, which a verifier of light tasks never spends.
    return compiled(_fill, "the signature kernel")


def _fill(
    x: NDArray[np.float64], y: NDArray[np.float64], depth: int, rate: float, symmetric: bool, out: NDArray[np.float64]
) -> None:
    steps, channels = x.shape[1], x.shape[2]
    sums = np.empty((depth, steps - 1))
    before = np.empty(steps - 1)
    running = np.empty(depth)
    for a in range(x.shape[0]):
        for b in range(a if symmetric else 0, y.shape[0]):
            sums[:] = 0.0
            for i in range(steps):
                running[:] = 0.0
                last = 0.0
                for j in range(steps):
                    square = 0.0
                    for c in range(channels):
                        gap = x[a, i, c] - y[b, j, c]
                        square += gap * gap
                    value = math.exp(-rate * square)
                    if j > 0:
                        difference = value - last
                        if i > 0:
                            second = difference - before[j - 1]
                            # running[k] is the sum over columns before j; the level below is read before it takes this
                            # cell.
                            for k in range(depth - 1, 0, -1):
                                inside = running[k - 1] * second
                                running[k - 1] += sums[k - 1, j - 1]
                                sums[k, j - 1] += inside
                            sums[0, j - 1] += second
                        before[j - 1] = difference
                    last = value
            for k in range(depth):
                total = 0.0
                for j in range(steps - 1):
                    total += sums[k, j]
                out[k, a, b] = total
                if symmetric:
                    out[k, b, a] = total
