"""The Ornstein-Uhlenbeck set of PCF-GAN (Lou, Li and Ni 2023), by its exact transition.

::

    dY = (mu t - theta Y) dt + (2 sigma t / steps) dW      t = 0, 1, .. steps - 1, Y(0) ~ U(-1, 1)
    X = Y / sd(Y(0)) = sqrt(3) Y

The published code integrates by Euler steps of 0.1 and divides by the sample mean and deviation of
Y(0); the exact Gaussian transition and the population values are used here, so that no path depends
on another. Drift and diffusion grow with t: nothing about the process is stationary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import normals, uniforms
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class OrnsteinUhlenbeck:
    """Parameters, with the values of the paper's data set (not the defaults of its function)."""

    mu: float = 0.01
    theta: float = 0.02
    sigma: float = 0.4
    steps: int = 64
    """Number of points of a path."""

    def __post_init__(self) -> None:
        if not (self.theta > 0.0 and self.sigma >= 0.0 and self.steps >= 2):
            raise DataError(
                f"need theta > 0, sigma >= 0 and at least two steps, found {self.theta}, {self.sigma} and {self.steps}"
            )

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return ("x",)

    def transition(self, t: float) -> tuple[float, float, float]:
        """(decay, shift, sd) of Y(t + 1) = decay Y(t) + shift + sd N(0, 1)."""
        mu, k = self.mu, self.theta
        decay = math.exp(-k)
        # The integral of exp(-k (1 - s)) mu (t + s) over s in [0, 1].
        shift = mu * (t * (1.0 - decay) / k + (1.0 - (1.0 - decay) / k) / k)
        # The integral of exp(-2k (1 - s)) (t + s)^2: by parts, twice.
        r = 2.0 * k
        fade = math.exp(-r)
        zeroth = (1.0 - fade) / r
        first = ((t + 1.0) - t * fade - zeroth) / r
        second = ((t + 1.0) ** 2 - t * t * fade - 2.0 * first) / r
        return decay, shift, 2.0 * self.sigma / self.steps * math.sqrt(second)

    def paths(self, bits: np.random.PCG64, n: int) -> NDArray[np.float64]:
        """Draw n paths, float64[n, steps, 1], of X (dimensionless)."""
        y = np.empty((n, self.steps))
        y[:, 0] = 2.0 * uniforms(bits, n) - 1.0
        noise = normals(bits, n, self.steps - 1)
        for t in range(self.steps - 1):
            decay, shift, sd = self.transition(float(t))
            y[:, t + 1] = decay * y[:, t] + shift + sd * noise[:, t]
        # Y(0), uniform on -1 to 1, has a standard deviation of 1 / sqrt(3).
        return (math.sqrt(3.0) * y)[:, :, None]
