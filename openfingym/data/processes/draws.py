"""Random numbers whose bytes are promised.

NumPy guarantees the bit stream of PCG64, not that of the ``Generator`` methods on top of it, so
everything here starts from raw bits, as in :mod:`openfingym.data.simulate`. Logarithm and cosine
differ between machines in their last bit; callers round far above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.simulate import student_t

if TYPE_CHECKING:
    from numpy.typing import NDArray


def stream(seed: int, *key: int) -> np.random.PCG64:
    """The bit stream of ``seed`` at a place in its tree.

    ``stream(s, a, b)`` is child b of child a of ``SeedSequence(s)``: streams of different keys are
    independent, and any of them can be made without the others.
    """
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key))


def uniforms(bits: np.random.PCG64, *shape: int) -> NDArray[np.float64]:
    """Uniforms on (0, 1], float64[shape], from the top 53 bits of each draw."""
    count = int(np.prod(shape))
    return (((bits.random_raw(count) >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53).reshape(shape)


def normals(bits: np.random.PCG64, *shape: int) -> NDArray[np.float64]:
    """Standard normals, float64[shape] (Box and Muller 1958)."""
    count = int(np.prod(shape))
    half = (count + 1) // 2
    radius = np.sqrt(-2.0 * np.log(uniforms(bits, half)))
    angle = 2.0 * np.pi * uniforms(bits, half)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count].reshape(shape)


def students(bits: np.random.PCG64, degrees_of_freedom: float, *shape: int) -> NDArray[np.float64]:
    """Student t draws of unit variance, float64[shape]; ``degrees_of_freedom`` above 2."""
    return student_t((uniforms(bits, *shape), uniforms(bits, *shape)), degrees_of_freedom)


def chi_squares(bits: np.random.PCG64, degrees_of_freedom: int, *shape: int) -> NDArray[np.float64]:
    """Chi-square draws, float64[shape]: a sum of exponentials, and of one squared normal if the degrees are odd."""
    total = np.zeros(shape)
    for _ in range(degrees_of_freedom // 2):
        total -= 2.0 * np.log(uniforms(bits, *shape))
    if degrees_of_freedom % 2:
        total += normals(bits, *shape) ** 2
    return total


def geometrics(bits: np.random.PCG64, q: NDArray[np.float64] | float, *shape: int) -> NDArray[np.float64]:
    """Failures before the first success, P(k) = (1 - q) q^k, as whole float64[shape]; 0 < q < 1."""
    return np.floor(np.log(uniforms(bits, *shape)) / np.log(q))


def permutation(bits: np.random.PCG64, count: int) -> NDArray[np.int64]:
    """A uniformly random order of 0 .. count - 1, int64[count]."""
    return np.argsort(bits.random_raw(count), kind="stable").astype(np.int64)
