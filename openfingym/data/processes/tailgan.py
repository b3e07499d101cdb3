"""The five-asset set of Tail-GAN (Cont, Cucuringu, Xu and Zhang 2026), with three corrections.

Correlated Gaussian noise z drives five return series of 100 steps: Gaussian; AR(1) with 0.5; AR(1) with
-0.12; GARCH(1,1) with t noise of 5 and of 10 degrees of freedom. Each path of each asset is divided by its
own standard deviation (not centred) and multiplied by that of the asset.

The published code draws correlations, deviations and coefficients at random in stated ranges and keeps no
seed; one such draw is fixed below. Corrected:

- its GARCH is fed noise of standard deviation 0.0025 without scaling, so its variance is constant to
  6e-6 and the "GARCH" assets are i.i.d.; here the t noise has unit variance, sqrt((k - 2) / chi2_k) z
- its AR assets lag the others by one step, so that the stated correlation is not between equal times;
  here all series read the noise of the same step
- the absolute value of a correlation matrix may be no correlation matrix; the one here is (its smallest
  eigenvalue is 0.27)

omega, which the paper also draws, only scales a GARCH path, and the division by the path's deviation
removes every scale: it is no parameter here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import chi_squares, normals
from openfingym.data.processes.garch import Garch
from openfingym.data.processes.gaussian import cholesky, correlate

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TailGan:
    """Parameters. The order of the assets is that of ``channels``."""

    steps: int = 100
    burn_in: int = 101
    """Steps thrown away before the first."""
    autoregressions: tuple[float, float] = (0.5, -0.12)
    """Coefficients of the two AR(1) series."""
    degrees_of_freedom: tuple[int, int] = (5, 10)
    """Degrees of freedom of the noise of the two GARCH series."""
    garch: tuple[Garch, Garch] = (Garch(0.1063, 0.8272), Garch(0.1109, 0.8668))
    """Laws of the two GARCH series, drawn once from alpha ~ U(0.08, 0.12), beta ~ U(0.825, 0.875)."""
    annual_deviation: tuple[float, ...] = (0.3372, 0.3297, 0.4927, 0.4805, 0.3313)
    """Standard deviation of each series a year, drawn once from U(0.3, 0.5); a year has 250 days of 100 steps."""
    correlations: tuple[float, ...] = (0.278, 0.26, 0.261, 0.069, 0.56, 0.297, 0.1, 0.172, 0.512, 0.172)
    """Correlations of the noise, above the diagonal, row by row."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return ("gauss", "ar_50", "ar_-12", "garch_t5", "garch_t10")

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviation of every path, per step, float64[5]."""
        return np.array(self.annual_deviation) / math.sqrt(250 * 100)

    @property
    def correlation(self) -> NDArray[np.float64]:
        """Correlation of the noise, float64[5, 5]."""
        matrix = np.eye(len(self.channels))
        upper = np.triu_indices(len(matrix), 1)
        matrix[upper] = matrix[upper[::-1]] = self.correlations
        return matrix

    def paths(self, bits: np.random.PCG64, n: int) -> NDArray[np.float64]:
        """Draw n paths, float64[n, steps, 5], of returns (decimal fractions per step)."""
        length = self.burn_in + self.steps
        z = correlate(normals(bits, length, n, len(self.channels)), cholesky(self.correlation))
        raw = np.empty((self.steps, n, len(self.channels)))
        raw[:, :, 0] = z[self.burn_in :, :, 0]
        for i, coefficient in enumerate(self.autoregressions, start=1):
            raw[:, :, i] = _autoregression(z[:, :, i], coefficient)[self.burn_in :]
        for i, (k, garch) in enumerate(zip(self.degrees_of_freedom, self.garch, strict=True), start=3):
            # A normal over the root of chi-square / k is Student's t; k - 2 in place of k gives it unit variance.
            shocks = z[:, :, i] * np.sqrt((k - 2.0) / chi_squares(bits, k, length, n))
            raw[:, :, i] = garch.run(shocks, self.steps)[0]
        paths: NDArray[np.float64] = raw * (self.deviation / _deviation(raw))
        return np.transpose(paths, (1, 0, 2))


def _autoregression(z: NDArray[np.float64], coefficient: float) -> NDArray[np.float64]:
    out = np.empty_like(z)
    last = np.zeros_like(z[0])
    for t, row in enumerate(z):
        last = coefficient * last + row
        out[t] = last
    return out


def _deviation(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Population standard deviation over time; accumulate adds in one order everywhere, unlike sum."""
    steps = len(raw)
    mean = np.add.accumulate(raw)[-1] / steps
    squares = np.add.accumulate((raw - mean) ** 2)[-1]
    deviation: NDArray[np.float64] = np.sqrt(squares / steps)
    return deviation
