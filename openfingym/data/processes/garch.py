"""The GJR-GARCH(1,1) recursion, for many series at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Garch:
    """h' = (1 - alpha - gamma / 2 - beta) + (alpha + gamma 1[e < 0]) e^2 + beta h, so that E[e^2] = 1."""

    alpha: float
    """Effect of a squared shock on the next step's variance."""
    beta: float
    """Share of the variance that is left a step later."""
    gamma: float = 0.0
    """What a negative shock adds to alpha."""

    def __post_init__(self) -> None:
        if not (min(self.alpha, self.beta, self.alpha + self.gamma) >= 0.0 and self.persistence < 1.0):
            raise DataError(
                f"alpha + gamma / 2 + beta must be below 1 and no coefficient negative, found {self.persistence:.6g}"
            )

    @property
    def persistence(self) -> float:
        """How much of a shock to the variance is left a step later: alpha + gamma / 2 + beta."""
        return self.alpha + self.gamma / 2.0 + self.beta

    def follow(self, shocks: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield (e, h) step by step, from h = 1, each the shape of one step.

        Args:
            shocks: float64[steps, ...] of unit variance, symmetric.
        """
        h = np.ones(shocks.shape[1:])
        for z in shocks:
            e = np.sqrt(h) * z
            yield e, h
            h = (1.0 - self.persistence) + (self.alpha + self.gamma * (e < 0.0)) * (e * e) + self.beta * h

    def run(self, shocks: NDArray[np.float64], keep: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The last ``keep`` steps of (e, h), each float64[keep, ...]; what comes before them is burn-in."""
        shape = (keep, *shocks.shape[1:])
        e, h = np.empty(shape), np.empty(shape)
        skipped = len(shocks) - keep
        for t, (e_t, h_t) in enumerate(self.follow(shocks)):
            if t >= skipped:
                e[t - skipped], h[t - skipped] = e_t, h_t
        return e, h
