"""The signature kernel compiled with Numba: the same numbers as the NumPy one, to rounding.

One path is taken with eight others at once. Their numbers lie side by side, step by step, so that every loop runs over
neighbours in memory and a processor does four or eight of them in one instruction.

Import it on first use: importing Numba takes half a second, which a verifier of light tasks never spends.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from openfingym.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

LANES = 8
"""Paths taken at once; with more, what is kept of each no longer fits into a core's nearest cache."""
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The logarithm of 2 in two parts; the first has so few digits that its whole multiples are exact."""
TO_WHOLE = 6755399441055744.0
"""1.5 * 2^52: a small number added to it is rounded to a whole one, which its last bits then hold."""
LEAST = -709.0
"""exp of this and of less is 0 here; it is about the least of which float64 has all digits."""
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(13, 1, -1))
"""Coefficients of exp from the 13th power down to the second; on |x| < 0.35 the rest is below 1e-17."""


def levels(x: NDArray[np.float64], y: NDArray[np.float64], depth: int, rate: float) -> NDArray[np.float64]:
    """As :func:`openfingym.metrics.signature_kernel.kernel_levels`."""
    out = np.empty((depth, len(x), len(y)))
    _compiled()(np.ascontiguousarray(x), np.ascontiguousarray(y), depth, rate, x is y, out)
    return out


@cache
def _compiled() -> Any:
    return compiled(_fill, "the signature kernel (some seconds)")


def _add_level(typing: Any, below: Any, level: Any, second: Any) -> Any:  # noqa: ARG001
    """Add to each cell of a level its second difference times the sum of the level below over the columns before it.

    The arguments are arrays float64[columns * LANES]. The running sum is one vector: left to the compiler it would be
    written to memory and read again at every column, and each column would wait for that.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), LANES)
        arrays = [
            context.make_array(kind)(context, builder, one) for kind, one in zip(signature.args, arguments, strict=True)
        ]
        columns = builder.udiv(arrays[0].nitems, ir.Constant(arrays[0].nitems.type, LANES))
        zeros = ir.Constant(vector, [0.0] * LANES)
        running = cgutils.alloca_once_value(builder, zeros)  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, columns) as loop:
            places = [builder.gep(builder.bitcast(array.data, vector.as_pointer()), [loop.index]) for array in arrays]
            # NumPy aligns an array to its numbers, not to vectors of them.
            under, cell, difference = (builder.load(place, align=8) for place in places)
            sums = builder.load(running)
            builder.store(builder.fadd(cell, builder.fmul(sums, difference)), places[1], align=8)
            builder.store(builder.fadd(sums, under), running)
        return context.get_dummy_value()

    return types.void(below, level, second), generate


add_level: Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], None] = cast(
    "Any", intrinsic(_add_level)
)


def _fill(
    x: NDArray[np.float64], y: NDArray[np.float64], depth: int, rate: float, symmetric: bool, out: NDArray[np.float64]
) -> None:
    steps, channels = x.shape[1], x.shape[2]
    width = steps * LANES
    inner = width - LANES
    # Of each lane's path: its values, and a row of the static kernel, as a factor and a power of 2.
    columns = np.empty((channels, width))
    factor, power = np.empty(width), np.empty(width)
    bits = power.view(np.int64)
    # A row of first differences, and of second differences.
    before, second = np.zeros(inner), np.zeros(inner)
    sums = np.empty((depth, inner))
    for first in range(0, len(y), LANES):
        alive = min(LANES, len(y) - first)
        for lane in range(LANES):
            for j in range(steps):
                for c in range(channels):
                    columns[c, j * LANES + lane] = y[first + min(lane, alive - 1), j, c]
        for a in range(first + alive if symmetric else len(x)):
            sums[:] = 0.0
            for i in range(steps):
                factor[:] = 0.0
                for c in range(channels):
                    here, there = x[a, i, c], columns[c]
                    for m in range(width):
                        gap = here - there[m]
                        factor[m] += gap * gap
                # exp(z) = 2^n exp(z - n log 2): written out, since a call of the library's is not done lane by lane.
                for m in range(width):
                    z = max(-rate * factor[m], LEAST)
                    rounded = z * LOG2_E + TO_WHOLE
                    power[m] = rounded
                    whole = rounded - TO_WHOLE
                    rest = (z - whole * LN2_HIGH) - whole * LN2_LOW
                    series = 0.0
                    for coefficient in TAYLOR:
                        series = series * rest + coefficient
                    factor[m] = series * rest * rest + rest + 1.0
                for m in range(width):
                    bits[m] = (bits[m] + 1023) << 52
                for m in range(width):
                    factor[m] *= power[m]
                for m in range(inner):
                    difference = factor[m + LANES] - factor[m]
                    second[m] = difference - before[m]
                    before[m] = difference
                if i > 0:
                    # From the top down, so that a level still sees only rows before this one of the level below.
                    for k in range(depth - 1, 0, -1):
                        add_level(sums[k - 1], sums[k], second)
                    lowest = sums[0]
                    for m in range(inner):
                        lowest[m] += second[m]
            for k in range(depth):
                for lane in range(alive):
                    total = 0.0
                    for j in range(steps - 1):
                        total += sums[k, j * LANES + lane]
                    out[k, a, first + lane] = total
                    if symmetric:
                        out[k, first + lane, a] = total
