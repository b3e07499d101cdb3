"""What a made-up market shows: a price that is a geometric random walk, and prices of outcomes that are calibrated.

Both are martingales: what is shown is what is expected of the end, given all that the market has shown. Whoever always
forecasts the shown probability is right as often as it says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from openfingym.questions.sim.path import NORMAL, brownian, uniform

ORIGIN_NS = 1_735_689_600 * 10**9
"""2025-01-01, when every price is its ``start``."""
TICK_NS = 1 << 30
"""A price holds for so long, a little over a second."""
LEVELS = 31
"""A price is walked through ``2**31`` ticks, 73 years, on both sides of the origin."""
FINE = 40
"""What decides an outcome becomes known in ``2**40`` steps."""
YEAR_NS = 365.25 * 86_400e9
HOUR_NS = 3_600e9


@dataclass(frozen=True)
class PricePath:
    """The price of a made-up symbol at any time."""

    key: bytes
    symbol: str
    start: float = 100.0
    """At the origin."""
    volatility: float = 0.5
    """Standard deviation of the logarithm in a year."""

    def at(self, moment_ns: int) -> tuple[float, int]:
        """The price at a moment, and the time of its tick, which is not after it."""
        tick = (moment_ns - ORIGIN_NS) // TICK_NS
        side = "after" if tick >= 0 else "before"
        walked = brownian(self.key, f"price/{self.symbol}/{side}", min(abs(tick), 1 << LEVELS), LEVELS)
        years = tick * TICK_NS / YEAR_NS
        spread = self.volatility * math.sqrt((1 << LEVELS) * TICK_NS / YEAR_NS)
        return self.start * math.exp(spread * walked - 0.5 * self.volatility**2 * years), ORIGIN_NS + tick * TICK_NS

    def probability_above(self, level: float, moment_ns: int, end_ns: int) -> float:
        """How probable it is at a moment that the price at the end is above a level."""
        price, _ = self.at(moment_ns)
        first, last = ((moment - ORIGIN_NS) // TICK_NS for moment in (moment_ns, end_ns))
        spread = self.volatility * math.sqrt(max(0, last - first) * TICK_NS / YEAR_NS)
        if spread == 0.0:
            return float(price > level)
        return NORMAL.cdf(math.log(price / level) / spread - 0.5 * spread)


@dataclass(frozen=True)
class OutcomePath:
    """Prices of the outcomes of a made-up event at any time, of which one is 1 and the others 0 at its end.

    A hidden number decides which outcome happens; more and more of it becomes known until the end.
    """

    key: bytes
    market: str
    outcomes: int
    end_ns: int
    half_known_h: float = 24.0
    """Hours before the end at which half of what decides is known."""

    def at(self, moment_ns: int) -> tuple[float, ...]:
        """The prices of all outcomes at a moment, which sum to 1."""
        path = f"event/{self.market}/{self.outcomes}/{self.end_ns}"
        left_h = max(0.0, (self.end_ns - moment_ns) / HOUR_NS)
        step = math.floor(2.0**FINE * self.half_known_h / (self.half_known_h + left_h))
        known, unknown = brownian(self.key, path, step, FINE), math.sqrt(1.0 - step / 2.0**FINE)
        below = [self._below(threshold, known, unknown) for threshold in self._thresholds(path)]
        return tuple(high - low for low, high in pairwise((0.0, *below, 1.0)))

    def _thresholds(self, path: str) -> Sequence[float]:
        """Between the outcomes, for a standard normal number: prior probabilities are uniform on their simplex."""
        weights = [-math.log(uniform(self.key, f"{path}/weight-{place}")) for place in range(self.outcomes)]
        total = math.fsum(weights)
        return [NORMAL.inv_cdf(math.fsum(weights[: place + 1]) / total) for place in range(self.outcomes - 1)]

    @staticmethod
    def _below(threshold: float, known: float, unknown: float) -> float:
        return float(known <= threshold) if unknown == 0.0 else NORMAL.cdf((threshold - known) / unknown)
