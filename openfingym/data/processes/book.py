"""High-frequency bars of a two-level limit order book, 14 channels.

::

    f    AR(1) of unit variance                            order-flow imbalance
    e    GARCH(1,1), t shocks                              everything else that moves the price
    log mid(t) - log mid(t-1) = s (c f + sqrt(1 - c^2) e)  so lag-k autocorrelation of mid returns = c^2 phi^k
    spread = 1 + geometric, wider when h is high           in ticks; levels one and two are 1 + geometric apart
    log depth, log activity                                AR(1); sizes and volumes are whole lots
    buys' share of the volume = 1 / (1 + exp(-f))          the last trade is a buy with that probability

Bid and ask are whole ticks with bid_2 < bid_1 < ask_1 < ask_2, the last price is at one of the inner two.
No calibration to a venue: parameters are chosen by hand for a liquid instrument at 100.00 with a tick of
0.01, in bars of some seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import geometrics, normals, students, uniforms
from openfingym.data.processes.garch import Garch
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRICE_GARCH = Garch(0.08, 0.9)


@dataclass(frozen=True)
class OrderBookBars:
    """Parameters of paths of high-frequency bars of a limit order book."""

    steps: int = 60
    burn_in: int = 300
    price: float = 100.0
    """Mid-price before the first bar."""
    tick: float = 0.01
    """Smallest step of a price."""
    bar_deviation: float = 2e-4
    """s, standard deviation of a bar's log return."""
    impact: float = 0.35
    """c, correlation of a bar's return with the flow."""
    flow_ar: float = 0.3
    """phi, autoregression of the flow."""
    garch: Garch = PRICE_GARCH
    """Law of h, the variance of e."""
    degrees_of_freedom: float = 6.0
    """Degrees of freedom of e; above 4, so that a kurtosis exists."""
    spread_q: float = 0.3
    """Parameter of the geometric law of the spread at h = 1; it grows with sqrt(h), to 0.9 at most."""
    gap_q: float = 0.2
    """Parameter of the geometric law of the distance between levels one and two."""
    depth_ar: float = 0.9
    """Autoregression of log sizes."""
    size_sd: float = 0.6
    """Standard deviation of a log size, of which half the variance is common to all four."""
    log_size: float = 5.0
    """Median log size of a quote, lots."""
    log_volume: float = 6.0
    """Median log volume of a bar, lots."""
    activity_ar: float = 0.6
    """Autoregression of log volume."""
    activity_sd: float = 0.8
    """Stationary standard deviation of log volume."""
    lots_per_trade: float = 8.0
    """About how many lots one trade has."""

    def __post_init__(self) -> None:
        rates = (self.flow_ar, self.depth_ar, self.activity_ar, self.impact)
        if not all(0.0 <= rate < 1.0 for rate in rates):
            raise DataError(f"autoregressions and impact must be in [0, 1), found {rates}")
        if not (
            0.0 < self.spread_q <= 0.9 and 0.0 < self.gap_q < 1.0 and self.steps >= 1 and self.degrees_of_freedom > 4.0
        ):
            raise DataError(
                f"need 0 < spread_q <= 0.9, 0 < gap_q < 1, a step and more than 4 degrees of freedom, found {self}"
            )

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels: five prices, four sizes and four flows (lots, trades), and basis points."""
        prices = ("last", "bid_1", "ask_1", "bid_2", "ask_2")
        sizes = ("bid_size_1", "ask_size_1", "bid_size_2", "ask_size_2")
        return (*prices, *sizes, "buy_volume", "sell_volume", "buy_trades", "sell_trades", "realised_volatility_bp")

    def paths(self, bits: np.random.PCG64, n: int) -> NDArray[np.float64]:
        """Draw n paths, float64[n, steps, 14]."""
        # The order in which `bits` is drawn from is part of the set: another order makes other paths.
        flow = stationary_autoregression(normals(bits, self.steps, n), self.flow_ar)
        shocks = students(bits, self.degrees_of_freedom, self.burn_in + self.steps, n)
        e, h = self.garch.run(shocks, self.steps)
        returns = self.bar_deviation * (self.impact * flow + math.sqrt(1.0 - self.impact**2) * e)
        mid = self.price / self.tick * np.exp(np.add.accumulate(returns, axis=0))
        share = 1.0 / (1.0 + np.exp(-flow))
        prices = self._prices(bits, mid, h, share)
        columns = [*(self.tick * level for level in prices), *self._sizes(bits, h), *self._trades(bits, h, share)]
        # In basis points; minus half the variance of the noise, 0.2^2 / 2, makes its mean 1.
        realised = 1e4 * self.bar_deviation * np.sqrt(h) * np.exp(0.2 * normals(bits, self.steps, n) - 0.02)
        return np.stack([*columns, realised], axis=2).transpose(1, 0, 2)

    def _prices(
        self, bits: np.random.PCG64, mid: NDArray[np.float64], h: NDArray[np.float64], share: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """Last, bid_1, ask_1, bid_2, ask_2 in ticks."""
        spread = 1.0 + geometrics(bits, np.minimum(self.spread_q * np.sqrt(h), 0.9), *h.shape)
        bid = np.rint(mid - spread / 2.0)
        # From the bid and not from the mid, so that the spread is a whole number of ticks.
        ask = bid + spread
        below = bid - 1.0 - geometrics(bits, self.gap_q, *h.shape)
        above = ask + 1.0 + geometrics(bits, self.gap_q, *h.shape)
        last = np.where(uniforms(bits, *h.shape) <= share, ask, bid)
        return [last, bid, ask, below, above]

    def _sizes(self, bits: np.random.PCG64, h: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Four sizes in whole lots, one at least; thinner when h is high."""
        depth = stationary_autoregression(normals(bits, *h.shape), self.depth_ar)
        # Half of the variance is common to the four sizes, half is each one's own.
        part = self.size_sd * math.sqrt(0.5)
        own = [stationary_autoregression(normals(bits, *h.shape), self.depth_ar) for _ in range(4)]
        centre = self.log_size - 0.25 * np.log(h) + part * depth
        return [1.0 + np.floor(np.exp(centre + part * noise)) for noise in own]

    def _trades(
        self, bits: np.random.PCG64, h: NDArray[np.float64], share: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """Buy and sell volume in lots, buy and sell trades; a side without volume has no trade."""
        activity = self.activity_sd * stationary_autoregression(normals(bits, *h.shape), self.activity_ar)
        volume = np.exp(self.log_volume + activity + 0.5 * np.log(h))
        sides = [np.floor(volume * share), np.floor(volume * (1.0 - share))]
        trades = [
            np.minimum(side, np.ceil(side / self.lots_per_trade * np.exp(0.3 * normals(bits, *h.shape))))
            for side in sides
        ]
        return [*sides, *trades]


def stationary_autoregression(noise: NDArray[np.float64], coefficient: float) -> NDArray[np.float64]:
    """AR(1) of unit variance over the first axis, from its stationary law; ``noise`` is standard normal."""
    # The first value, standard normal, has the stationary law already.
    out = noise.copy()
    fresh = math.sqrt(1.0 - coefficient**2)
    for t in range(1, len(out)):
        out[t] = coefficient * out[t - 1] + fresh * noise[t]
    return out
