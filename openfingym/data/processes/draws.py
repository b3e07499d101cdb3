"""Random numbers whose bytes are promised.

NumPy guarantees the bit stream of PCG64, not that of the ``Generator`` methods on top of it, so
everything here starts from raw bits, as in :mod:`openfingym.data.simulate`. Logarithm and cosine
differ between machines in their last bit; callers round far above it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Branch:
    """Where a simulation leaves its usual course: the last rows of every draw come from another seed.

    The rows before them are those of the simulator's own seed to the last bit, so what follows is a draw from the law
    of the future given that past.
    """

    seed: int
    """Not negative, of any size."""
    rows: int
    """Number of rows at the end that are drawn anew; time is the first axis of every draw."""

    def finer(self, steps: int) -> Branch:
        """The same branch for draws of several steps a row."""
        return replace(self, rows=self.rows * steps)


@dataclass(frozen=True, eq=False)
class Branched:
    """A bit stream and the one that takes over from it; both are advanced by every draw."""

    trunk: np.random.PCG64
    """Stream of the simulator's own seed, which fills the rows before the branch."""
    branch: np.random.PCG64
    """Stream of the branch's seed, which fills the last rows."""
    rows: int
    """Number of rows at the end that come from ``branch``."""

    def join(self, usual: NDArray[np.float64], anew: NDArray[np.float64]) -> NDArray[np.float64]:
        """The usual draws up to the branch, and the new ones from there on.

        Raises:
            DataError: there are fewer rows than are to be new.
        """
        kept = len(usual) - self.rows
        if kept < 0:
            raise DataError(f"a branch of {self.rows} rows does not fit into a draw of {len(usual)}")
        return np.concatenate([usual[:kept], anew[kept:]])


Bits = np.random.PCG64 | Branched


@overload
def stream(seed: int, *key: int) -> np.random.PCG64: ...
@overload
def stream(seed: int, *key: int, branch: Branch | None) -> Bits: ...
def stream(seed: int, *key: int, branch: Branch | None = None) -> Bits:
    """The bit stream of ``seed`` at a place in its tree.

    ``stream(s, a, b)`` is child b of child a of ``SeedSequence(s)``: streams of different keys are
    independent, and any of them can be made without the others. With a branch, that seed's stream of the
    same place takes over in its last rows.
    """
    trunk = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key))
    if branch is None:
        return trunk
    return Branched(trunk, np.random.PCG64(np.random.SeedSequence(branch.seed, spawn_key=key)), branch.rows)


def uniforms(bits: Bits, *shape: int) -> NDArray[np.float64]:
    """Uniforms on (0, 1], float64[shape], from the top 53 bits of each draw."""
    if isinstance(bits, Branched):
        # Both draw all rows, so that each stream is as far on as it would be alone when the next draw comes.
        return bits.join(uniforms(bits.trunk, *shape), uniforms(bits.branch, *shape))
    count = int(np.prod(shape))
    # Plus one, so that no logarithm of zero is ever taken.
    return (((bits.random_raw(count) >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53).reshape(shape)


def normals(bits: Bits, *shape: int) -> NDArray[np.float64]:
    """Standard normals, float64[shape] (Box and Muller 1958)."""
    if isinstance(bits, Branched):
        # The normals are joined and not the uniforms behind them, of which Box and Muller pair the two halves.
        return bits.join(normals(bits.trunk, *shape), normals(bits.branch, *shape))
    count = int(np.prod(shape))
    half = (count + 1) // 2
    radius = np.sqrt(-2.0 * np.log(uniforms(bits, half)))
    angle = 2.0 * np.pi * uniforms(bits, half)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count].reshape(shape)


def students(bits: Bits, degrees_of_freedom: float, *shape: int) -> NDArray[np.float64]:
    """Student t draws of unit variance, float64[shape]; ``degrees_of_freedom`` above 2."""
    return student_t((uniforms(bits, *shape), uniforms(bits, *shape)), degrees_of_freedom)


def student_t(
    uniforms: tuple[NDArray[np.float64], NDArray[np.float64]], degrees_of_freedom: float
) -> NDArray[np.float64]:
    """Student t of unit variance from two independent uniforms on (0, 1].

    Bailey (1994), Mathematics of Computation 62, 779-781: sqrt(k (u^(-2/k) - 1)) cos(2 pi v) has
    k degrees of freedom; its variance k / (k - 2) is divided out.
    """
    u, v = uniforms
    k = degrees_of_freedom
    draw: NDArray[np.float64] = np.sqrt((k - 2.0) * (np.power(u, -2.0 / k) - 1.0)) * np.cos(2.0 * np.pi * v)
    return draw


def chi_squares(bits: Bits, degrees_of_freedom: int, *shape: int) -> NDArray[np.float64]:
    """Chi-square draws, float64[shape]: a sum of exponentials, and of one squared normal if the degrees are odd."""
    total = np.zeros(shape)
    for _ in range(degrees_of_freedom // 2):
        total -= 2.0 * np.log(uniforms(bits, *shape))
    if degrees_of_freedom % 2:
        total += normals(bits, *shape) ** 2
    return total


def geometrics(bits: Bits, q: NDArray[np.float64] | float, *shape: int) -> NDArray[np.float64]:
    """Failures before the first success, P(k) = (1 - q) q^k, as whole float64[shape]; 0 < q < 1."""
    return np.floor(np.log(uniforms(bits, *shape)) / np.log(q))


def permutation(bits: np.random.PCG64, count: int) -> NDArray[np.int64]:
    """A uniformly random order of 0 .. count - 1, int64[count]."""
    return np.argsort(bits.random_raw(count), kind="stable").astype(np.int64)


def autoregression(shocks: NDArray[np.float64], phi: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """x(t) = phi x(t - 1) + shock(t) from x = 0, float64 of the shape of the shocks [steps, ...]."""
    state, out = np.zeros(shocks.shape[1:]), np.empty_like(shocks)
    for t, shock in enumerate(shocks):
        state = phi * state + shock
        out[t] = state
    return out
