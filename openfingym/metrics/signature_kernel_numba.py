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
"""Number of paths taken at once; with more, what is kept of each no longer fits into a core's nearest cache."""
LOG2_E = 1.4426950408889634
"""The logarithm of e to the base 2."""
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The logarithm of 2 in two parts; the first has so few digits that its whole multiples are exact."""
TO_WHOLE = 6755399441055744.0
"""1.5 * 2^52: a small number added to it is rounded to a whole one, which its last bits then hold."""
LEAST = -709.0
"""exp of this and of less is 0 here; it is about the least of which float64 has all digits."""
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))
"""Coefficients of exp from the 13th power down; on |x| < 0.35 the rest is below 1e-17."""


def levels(x: NDArray[np.float64], y: NDArray[np.float64], depth: int, rate: float) -> NDArray[np.float64]:
    """Levels of the kernel, as :func:`openfingym.metrics.signature_kernel.kernel_levels` gives them."""
    out = np.empty((depth, len(x), len(y)))
    # A tuple, so that the compiler knows how many levels there are.
    sums = tuple(np.zeros((x.shape[1] - 1) * LANES) for _ in range(depth))
    _compiled()(np.ascontiguousarray(x), np.ascontiguousarray(y), rate, x is y, sums, out)
    return out


@cache
def _compiled() -> Any:
    return compiled(_fill, "the signature kernel (some seconds)")


def _every(value: float) -> Any:
    """A vector with the same number in all lanes."""
    return ir.Constant(ir.VectorType(ir.DoubleType(), LANES), [value] * LANES)


def _fused(builder: Any, factor: Any, other: Any, term: Any) -> Any:
    """Factor * other + term, rounded once."""
    kind = ir.FunctionType(term.type, [term.type] * 3)
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, kind, f"llvm.fma.v{LANES}f64"
    )
    return builder.call(function, [factor, other, term])


def _exp(builder: Any, z: Any) -> Any:
    """exp(z) = 2^n exp(z - n log 2), of a vector without anything above 0; a NaN stays one."""
    z = builder.select(builder.fcmp_ordered("<", z, _every(LEAST)), _every(LEAST), z)
    # n, the whole number nearest to z / log 2, in the last bits of a float; ``whole`` is -n.
    rounded = _fused(builder, z, _every(LOG2_E), _every(TO_WHOLE))
    whole = builder.fneg(builder.fsub(rounded, _every(TO_WHOLE)))
    # What is left is at most half of log 2; taken off in two parts, so that no digits are lost.
    rest = _fused(builder, whole, _every(LN2_HIGH), z)
    rest = _fused(builder, whole, _every(LN2_LOW), rest)
    series = _every(TAYLOR[0])
    for coefficient in TAYLOR[1:]:
        series = _fused(builder, series, rest, _every(coefficient))
    # 2^n, by putting n + 1023 where a float64 has its exponent.
    integers = ir.VectorType(ir.IntType(64), LANES)
    exponent = builder.add(builder.bitcast(rounded, integers), ir.Constant(integers, [1023] * LANES))
    power = builder.bitcast(builder.shl(exponent, ir.Constant(integers, [52] * LANES)), z.type)
    return builder.fmul(series, power)


def _advance(typing: Any, point: Any, columns: Any, rate: Any, before: Any, sums: Any) -> Any:  # noqa: ARG001
    """Go one step along the first path: bring the levels of :data:`LANES` paths from its steps so far to one more.

    Written in vectors, since left to the compiler each of its passes over the columns would go through memory, and each
    running sum would wait for itself. Products are added without being rounded (fused), on any machine.

    Args:
        typing: the typing context of Numba, which an intrinsic is given first.
        point: values of the first path at this step, float64[channels].
        columns: values of the other paths, float64[channels, steps * LANES].
        rate: rate of the static kernel.
        before: differences of the static kernel along the columns at the step before, float64[(steps - 1) * LANES]; at
            this step afterwards.
        sums: terms of each level that end at a column, over all steps so far, one float64[(steps - 1) * LANES] a level.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), LANES)
        zeros = _every(0.0)

        def spread(value: Any) -> Any:
            """A vector with one number, known only when this runs, in all lanes."""
            first = builder.insert_element(zeros, value, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

        def place(array: Any, at: Any) -> Any:
            """Where the vector of number ``at`` in an array is."""
            return builder.gep(builder.bitcast(array.data, vector.as_pointer()), [at])

        def load(array: Any, at: Any) -> Any:
            # NumPy aligns an array to its numbers, not to vectors of them.
            return builder.load(place(array, at), align=8)

        def store(value: Any, array: Any, at: Any) -> None:
            builder.store(value, place(array, at), align=8)

        def array_of(kind: Any, value: Any) -> Any:
            return context.make_array(kind)(context, builder, value)

        here, there, last = (array_of(signature.args[n], arguments[n]) for n in (0, 1, 3))
        level_arrays = cgutils.unpack_tuple(builder, arguments[4])  # type: ignore[no-untyped-call]
        levels = [array_of(kind, level) for kind, level in zip(signature.args[4], level_arrays, strict=True)]
        minus_rate = spread(builder.fneg(arguments[2]))
        one = ir.Constant(here.nitems.type, 1)
        steps = builder.udiv(there.nitems, builder.mul(here.nitems, ir.Constant(here.nitems.type, LANES)))
        square = cgutils.alloca_once(builder, vector)  # type: ignore[no-untyped-call]

        def static(column: Any) -> Any:
            """Static kernel of the point and a column: exp(-rate d^2), d their distance over all channels."""
            builder.store(zeros, square)
            with cgutils.for_range(builder, here.nitems) as channel:
                value = builder.load(builder.gep(here.data, [channel.index]))
                offset = builder.add(builder.mul(channel.index, steps), column)
                gap = builder.fsub(load(there, offset), spread(value))
                builder.store(_fused(builder, gap, gap, builder.load(square)), square)
            return _exp(builder, builder.fmul(minus_rate, builder.load(square)))

        first = static(ir.Constant(here.nitems.type, 0))
        earlier = cgutils.alloca_once_value(builder, first)  # type: ignore[no-untyped-call]
        # Of each level but the highest: its sum over the columns so far, as it was at the step before.
        running = [
            cgutils.alloca_once_value(builder, zeros)  # type: ignore[no-untyped-call]
            for _ in levels[1:]
        ]
        with cgutils.for_range(builder, builder.sub(steps, one)) as loop:
            kernel = static(builder.add(loop.index, one))
            difference = builder.fsub(kernel, builder.load(earlier))
            builder.store(kernel, earlier)
            second = builder.fsub(difference, load(last, loop.index))
            store(difference, last, loop.index)
            cells = [load(level, loop.index) for level in levels]
            store(builder.fadd(cells[0], second), levels[0], loop.index)
            # Each level gains the sum of the level below over the columns before this one, times the second difference.
            for level, cell, below, under in zip(levels[1:], cells[1:], running, cells, strict=False):
                sums_below = builder.load(below)
                store(_fused(builder, sums_below, second, cell), level, loop.index)
                builder.store(builder.fadd(sums_below, under), below)
        return context.get_dummy_value()

    return types.void(point, columns, rate, before, sums), generate


advance: Callable[
    [
        NDArray[np.float64],
        NDArray[np.float64],
        float,
        NDArray[np.float64],
        tuple[NDArray[np.float64], ...],
    ],
    None,
] = cast("Any", intrinsic(_advance))


def _fill(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    rate: float,
    symmetric: bool,
    sums: tuple[NDArray[np.float64], ...],
    out: NDArray[np.float64],
) -> None:
    """Write the levels of each pair of paths into ``out``, float64[depth, n, m]: the loops around :func:`advance`."""
    steps, channels = x.shape[1], x.shape[2]
    # The values of each lane's path, and the differences of the static kernel along them at the step before.
    columns, before = np.empty((channels, steps * LANES)), np.zeros((steps - 1) * LANES)
    for first in range(0, len(y), LANES):
        # Lanes without a path of their own repeat the last one; what they give is not written.
        alive = min(LANES, len(y) - first)
        for lane in range(LANES):
            for j in range(steps):
                for c in range(channels):
                    columns[c, j * LANES + lane] = y[first + min(lane, alive - 1), j, c]
        for a in range(first + alive if symmetric else len(x)):
            for i in range(steps):
                advance(x[a, i], columns, rate, before, sums)
                if i == 0:  # a first step has no difference from one before it
                    for level in sums:
                        level[:] = 0.0
            for k, level in enumerate(sums):
                for lane in range(alive):
                    total = 0.0
                    for j in range(steps - 1):
                        total += level[j * LANES + lane]
                    out[k, a, first + lane] = total
                    if symmetric:
                        out[k, first + lane, a] = total
