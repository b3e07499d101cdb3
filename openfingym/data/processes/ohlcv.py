"""Daily open, high, low, close and volume of ten stocks, one stock a path.

::

    e = sqrt(h W) N                       the day's log return: GJR-GARCH h, W = (k - 2) / chi2_k, so t shocks
    e = gap + 26 intraday moves           given h W, independent normals; the gap has 34 percent of the variance
    open  = last close x exp(gap)         high, low: of the whole session, see below
    log volume = log median + 0.35 log(h W) + u, with u AR(1)

Between two intraday prices the log price is a Brownian bridge, whose highest point has a closed law:
(x + y + sqrt((y - x)^2 - 2 s^2 log U)) / 2, U uniform. So the high has exactly the law of a price watched
all the time, and the low too (drawn apart from the high: they are dependent through the 26 prices only,
which neglects moves where both lie in the same quarter of an hour).

Low <= open, close <= high therefore holds by construction. Calibrated to AAPL, GOOG, IBM and MSFT, 2004-09
to 2013-03 (Quandl WIKI prices, public domain); targets and what the simulator reaches are in
docs/synthetic.md. Stocks differ in volatility, price and volume only, which are chosen by hand: the names
say which market is imitated, no value was ever traded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import chi_squares, normals, students, uniforms
from openfingym.data.processes.garch import Garch
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAYS_PER_YEAR = 252.0


@dataclass(frozen=True)
class Stock:
    """One imitated stock."""

    name: str
    volatility: float
    """Annualised standard deviation of close-to-close log returns."""
    price: float
    """Median price before the first day, US dollars."""
    volume: float
    """Median daily volume, shares."""


STOCKS = (
    Stock("goog", 0.27, 800.0, 2.0e6), Stock("aapl", 0.28, 140.0, 1.1e8), Stock("amzn", 0.32, 900.0, 3.9e6),
    Stock("tsla", 0.52, 300.0, 3.5e7), Stock("meta", 0.35, 150.0, 2.6e7), Stock("msft", 0.25, 90.0, 3.0e7),
    Stock("nvda", 0.42, 120.0, 4.1e7), Stock("jpm", 0.25, 95.0, 1.5e7), Stock("v", 0.23, 110.0, 8.8e6),
    Stock("pg", 0.18, 90.0, 8.3e6),
)  # fmt: skip
PRICE_GARCH = Garch(alpha=0.025, beta=0.92, gamma=0.075)


@dataclass(frozen=True)
class DailyBars:
    """Parameters of paths of daily bars, one stock a path."""

    steps: int = 20
    """Number of days of a path."""
    stocks: tuple[Stock, ...] = STOCKS
    """Stocks of the paths, taken in turn."""
    garch: Garch = PRICE_GARCH
    """Law of h."""
    degrees_of_freedom: int = 6
    """k, degrees of freedom of a day's return; above 4, so that a kurtosis exists."""
    burn_in: int = 400
    """Days thrown away before the first."""
    overnight: float = 0.34
    """Share of the day's variance that falls between close and open."""
    intraday: int = 26
    """Number of moves from open to close, one for each quarter of an hour."""
    level_sd: float = 0.35
    """Spread of log prices before the first day around the median."""
    volume_elasticity: float = 0.35
    """Elasticity of volume with respect to the day's variance."""
    volume_ar: float = 0.85
    """Autoregression of u."""
    volume_sd: float = 0.22
    """Stationary standard deviation of u."""

    def __post_init__(self) -> None:
        if not (self.stocks and self.steps >= 1 and self.intraday >= 1):
            raise DataError("need a stock, a step and an intraday move at least")
        if not (0.0 <= self.overnight < 1.0 and 0.0 <= self.volume_ar < 1.0 and self.degrees_of_freedom > 4):
            raise DataError(
                f"need 0 <= overnight < 1, 0 <= volume_ar < 1 and more than 4 degrees of freedom, found {self}"
            )

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return ("open", "high", "low", "close", "volume")

    def paths(self, bits: np.random.PCG64, n: int) -> NDArray[np.float64]:
        """Draw n paths, float64[n, steps, 5]: US dollars per share and shares. Path i is stock i modulo their
        number.
        """
        stock = np.arange(n) % len(self.stocks)
        scale = np.array([s.volatility for s in self.stocks])[stock] / math.sqrt(DAYS_PER_YEAR)
        gap, moves, log_variance = self._days(bits, n)
        base = np.log([s.price for s in self.stocks])[stock] + self.level_sd * normals(bits, n)
        # Every move in its order, the gap first, so that one running sum is the log price at each moment.
        flow = (scale[:, None, None] * np.concatenate([gap[:, :, None], moves], axis=2)).reshape(n, -1)
        log_prices = (base[:, None] + np.add.accumulate(flow, axis=1)).reshape(n, self.steps, self.intraday + 1)
        bridge = (1.0 - self.overnight) / self.intraday * scale[:, None] ** 2 * np.exp(log_variance)
        high = _bridge_reach(bits, log_prices, bridge)
        # The lowest point is the highest of the mirrored path.
        low = -_bridge_reach(bits, -log_prices, bridge)
        prices = np.exp(np.stack([log_prices[:, :, 0], high, low, log_prices[:, :, -1]], axis=2))
        volume = np.array([s.volume for s in self.stocks])[stock][:, None] * np.exp(
            self._log_volume(bits, log_variance)
        )
        return np.concatenate([prices, volume[:, :, None]], axis=2)

    def _days(
        self, bits: np.random.PCG64, n: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """(gap [n, steps], moves [n, steps, intraday], log(h W) [n, steps]), for a close-to-close variance of 1."""
        k = float(self.degrees_of_freedom)
        # Burn-in days only move h, so their shocks are drawn whole, and those of shown days from their parts.
        past = students(bits, k, self.burn_in, n)
        w = (k - 2.0) / chi_squares(bits, self.degrees_of_freedom, self.steps, n)
        gap = math.sqrt(self.overnight) * normals(bits, self.steps, n)
        moves = math.sqrt((1.0 - self.overnight) / self.intraday) * normals(bits, self.steps, n, self.intraday)
        shocks = np.sqrt(w) * (gap + np.add.accumulate(moves, axis=2)[:, :, -1])
        _, h = self.garch.run(np.concatenate([past, shocks]), self.steps)
        size = np.sqrt(h * w)
        return (size * gap).T, (size[:, :, None] * moves).transpose(1, 0, 2), np.log(h * w).T

    def _log_volume(self, bits: np.random.PCG64, log_variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log volume over its median, float64[n, steps]."""
        noise = self.volume_sd * normals(bits, *log_variance.shape)
        u = np.empty_like(noise)
        u[:, 0] = noise[:, 0]
        fresh = math.sqrt(1.0 - self.volume_ar**2)
        for t in range(1, self.steps):
            u[:, t] = self.volume_ar * u[:, t - 1] + fresh * noise[:, t]
        return self.volume_elasticity * log_variance + u


def _bridge_reach(
    bits: np.random.PCG64, values: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Highest point of Brownian bridges through the last axis of ``values``, float64[n, steps].

    ``values`` is float64[n, steps, points], ``variance`` that of one move between two points, float64[n, steps].
    """
    x, y = values[:, :, :-1], values[:, :, 1:]
    reach = np.sqrt((y - x) ** 2 - 2.0 * variance[:, :, None] * np.log(uniforms(bits, *x.shape)))
    highest: NDArray[np.float64] = (0.5 * (x + y + reach)).max(axis=2)
    # In exact arithmetic no bridge stays below its ends; rounding could.
    out: NDArray[np.float64] = np.maximum(highest, values.max(axis=2))
    return out
