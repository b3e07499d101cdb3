"""Fractional Brownian motion, the conditional set of High-Rank PCF-GAN (Tao, Ni and Liu 2024).

H = 0.25, three independent coordinates, ten steps on [0, 1] and the initial zero; the task gives six
values and asks for five. Exact, by Cholesky of E[B(s) B(t)] = (s^2H + t^2H - abs(t - s)^2H) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import normals
from openfingym.data.processes.gaussian import cholesky, correlate
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fractional_covariance(times: NDArray[np.float64], hurst: float) -> NDArray[np.float64]:
    """Covariance of fractional Brownian motion at positive times, float64[k, k]."""
    power = 2.0 * hurst
    own = times**power
    return 0.5 * (own[:, None] + own - np.abs(times[:, None] - times) ** power)


@dataclass(frozen=True)
class FractionalBrownian:
    """Parameters, with the values of the paper's data set."""

    hurst: float = 0.25
    """H, the roughness of a path: rougher than Brownian motion below a half."""
    increments: int = 10
    """Number of steps from the initial zero to the end."""
    maturity: float = 1.0
    """Time at the end of a path."""
    dimensions: int = 3
    """Number of independent coordinates."""

    def __post_init__(self) -> None:
        if not (0.0 < self.hurst < 1.0 and self.increments >= 1 and self.maturity > 0.0 and self.dimensions >= 1):
            raise DataError(
                f"need 0 < hurst < 1, a positive maturity, and one increment and dimension at least, found {self}"
            )

    @property
    def steps(self) -> int:
        """Points of a path, the initial zero included."""
        return self.increments + 1

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return tuple(f"x{i + 1}" for i in range(self.dimensions))

    def paths(self, bits: np.random.PCG64, n: int) -> NDArray[np.float64]:
        """Draw n paths, float64[n, increments + 1, dimensions], zero at first."""
        values = correlate(normals(bits, n, self.dimensions, self.increments), _factor(self))
        out = np.zeros((n, self.steps, self.dimensions))
        out[:, 1:] = values.transpose(0, 2, 1)
        return out


# Every block of paths needs the same factor, which takes far longer to compute than a block.
@lru_cache(maxsize=8)
def _factor(process: FractionalBrownian) -> NDArray[np.float64]:
    times = process.maturity * np.arange(1, process.increments + 1) / process.increments
    return cholesky(fractional_covariance(times, process.hurst))
