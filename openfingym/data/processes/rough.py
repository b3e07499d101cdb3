"""The rough volatility set of PCF-GAN (Lou, Li and Ni 2023): a rough Bergomi model without leverage.

::

    W(t) = sqrt(2H) times the integral over [0, t] of (t - s)^(H - 1/2) dB(s)          Var W(t) = t^2H
    V(t) = xi exp(eta W(t) - eta^2 t^2H / 2)                                           E[V(t) | xi] = xi
    log S(t + h) = log S(t) - V(t) h / 2 + sqrt(V(t) h) Z                              Z independent of B
    xi ~ N(0.1, 0.01^2), log S(0) ~ N(0, 0.05^2), 200 points on [0, 1], h = 1/199

The published code weights the integral by 1 / Gamma(H + 1/2) against its own documentation, which makes
Var W(1) = 1.33 and E[V(1)] = 0.1045, and approximates it on the grid. Here the weight is sqrt(2H), as the
paper says, and W is drawn from its exact covariance on the grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import normals
from openfingym.data.processes.gaussian import cholesky, correlate
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class RoughVolatility:
    """Parameters, with the values of the paper's data set. Maturity is 1."""

    hurst: float = 0.25
    """H, the roughness of W; below a half."""
    steps: int = 200
    """Number of points of a path, both ends included."""
    xi: float = 0.1
    """Mean of xi, the level of a path's variance."""
    xi_sd: float = 0.01
    """Standard deviation of xi."""
    eta: float = 0.5
    """Volatility of the variance."""
    log_price_sd: float = 0.05
    """Standard deviation of log S(0)."""

    def __post_init__(self) -> None:
        if not (0.0 < self.hurst < 0.5 and self.steps >= 2):
            raise DataError(f"need 0 < hurst < 0.5 and at least two steps, found {self.hurst} and {self.steps}")
        if not self.xi > 8.0 * self.xi_sd >= 0.0:
            raise DataError(
                f"xi must exceed eight of its standard deviations, so that no variance is negative, found {self.xi}, "
                f"{self.xi_sd}"
            )

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels; the paper calls the second one "log vol"."""
        return ("log_price", "log_variance")

    @property
    def times(self) -> NDArray[np.float64]:
        """The grid, float64[steps], 0 to 1."""
        return np.arange(self.steps) / (self.steps - 1.0)

    def paths(self, bits: np.random.PCG64, n: int) -> NDArray[np.float64]:
        """Draw n paths, float64[n, steps, 2] of (log S, log V)."""
        # W(0) = 0 has no variance, which a Cholesky factor would refuse; the other points are drawn together.
        w = np.zeros((n, self.steps))
        w[:, 1:] = correlate(normals(bits, n, self.steps - 1), _factor(self.hurst, self.steps))
        xi = self.xi + self.xi_sd * normals(bits, n, 1)
        log_variance = np.log(xi) + self.eta * w - 0.5 * self.eta**2 * self.times ** (2.0 * self.hurst)
        h = 1.0 / (self.steps - 1.0)
        # A move depends on the variance at its beginning, as in the module's formula.
        variance = np.exp(log_variance[:, :-1])
        moves = np.empty((n, self.steps))
        moves[:, 0] = self.log_price_sd * normals(bits, n)
        moves[:, 1:] = -0.5 * h * variance + np.sqrt(h * variance) * normals(bits, n, self.steps - 1)
        return np.stack([np.add.accumulate(moves, axis=1), log_variance], axis=2)


def volterra_covariance(times: NDArray[np.float64], hurst: float) -> NDArray[np.float64]:
    """E[W(s) W(t)] of the Riemann-Liouville process at positive, increasing times, float64[k, k].

    With g = 1/2 - H and r = s / t < 1 it is s^2H ((1 - 2g) / (1 - g)) r^g F(1, g; 2 - g; r), F the
    hypergeometric function (Bayer, Friz and Gatheral 2016, section 4).
    """
    g = 0.5 - hurst
    i, j = np.tril_indices(len(times), -1)
    ratio = times[j] / times[i]
    below = times[j] ** (2.0 * hurst) * (1.0 - 2.0 * g) / (1.0 - g) * ratio**g * _hypergeometric(g, ratio)
    covariance = np.diag(times ** (2.0 * hurst))
    covariance[i, j] = covariance[j, i] = below
    return covariance


def _hypergeometric(g: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """F(1, g; 2 - g; x) for 0 < x < 1, within a few units in the last place.

    Not SciPy's, whose last digits may change from release to release. Above one half by the reflection
    to 1 - x (Abramowitz and Stegun 15.3.6), whose second part is elementary here.
    """
    high = x > 0.5
    gamma = math.gamma
    first = gamma(2.0 - g) * gamma(1.0 - 2.0 * g) / (gamma(1.0 - g) * gamma(2.0 - 2.0 * g))
    second = gamma(2.0 - g) * gamma(2.0 * g - 1.0) / gamma(g)
    rest = 1.0 - x[high]
    out = np.empty_like(x)
    out[high] = first * _series(g, 2.0 * g, rest) + second * rest ** (1.0 - 2.0 * g) * x[high] ** (g - 1.0)
    out[~high] = _series(g, 2.0 - g, x[~high])
    return out


def _series(b: float, c: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """F(1, b; c; x) for x up to 1/2, where 60 terms reach double precision."""
    total, term = np.ones_like(x), np.ones_like(x)
    for k in range(60):
        term *= (b + k) / (c + k) * x
        total += term
    return total


# Every block of paths needs the same factor, which takes far longer to compute than a block.
@lru_cache(maxsize=8)
def _factor(hurst: float, steps: int) -> NDArray[np.float64]:
    return cholesky(volterra_covariance(np.arange(1, steps) / (steps - 1.0), hurst))
