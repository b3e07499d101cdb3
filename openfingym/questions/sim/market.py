"""What a simulated market shows: a price that is a geometric random walk, and prices of outcomes that are calibrated.

Both are martingales: what is shown is the expectation of the end, given all that the market has shown. Events that are
forecast with the probability shown happen as often as it says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from openfingym.questions.sim.path import NORMAL, brownian, uniform

ORIGIN_NS = 1_735_689_600 * 10**9
"""2025-01-01, nanoseconds since the epoch, when every price is its ``start``."""
TICK_NS = 1 << 30
"""How long a price holds, nanoseconds: a little over a second."""
LEVELS = 31
"""The path of a price has ``2**31`` ticks, 73 years, on each side of the origin."""
FINE = 40
"""The number that decides an outcome becomes known in ``2**40`` steps."""
YEAR_NS = 365.25 * 86_400e9
"""Nanoseconds in a year."""
HOUR_NS = 3_600e9
"""Nanoseconds in an hour."""


@dataclass(frozen=True)
class PricePath:
    """The price of a simulated symbol at any time."""

    key: bytes
    """Secret key from which the path follows."""
    symbol: str
    start: float = 100.0
    """Price at the origin."""
    volatility: float = 0.5
    """Standard deviation of the log price after a year."""

    def at(self, moment_ns: int) -> tuple[float, int]:
        """The price at a moment, and the time of its tick, which is not after it."""
        tick = (moment_ns - ORIGIN_NS) // TICK_NS
        # A Brownian motion begins at its origin, so the time before it needs one of its own, run backwards.
        side = "after" if tick >= 0 else "before"
        walked = brownian(self.key, f"price/{self.symbol}/{side}", min(abs(tick), 1 << LEVELS), LEVELS)
        # The motion is on [0, 1]; the spread stretches it to all ticks. Minus half the variance makes a martingale.
        years = tick * TICK_NS / YEAR_NS
        spread = self.volatility * math.sqrt((1 << LEVELS) * TICK_NS / YEAR_NS)
        return self.start * math.exp(spread * walked - 0.5 * self.volatility**2 * years), ORIGIN_NS + tick * TICK_NS

    def probability_above(self, level: float, moment_ns: int, end_ns: int) -> float:
        """The probability, at a moment, that the price at the end is above a level."""
        price, _ = self.at(moment_ns)
        first, last = ((moment - ORIGIN_NS) // TICK_NS for moment in (moment_ns, end_ns))
        spread = self.volatility * math.sqrt(max(0, last - first) * TICK_NS / YEAR_NS)
        if spread == 0.0:
            return float(price > level)
        return NORMAL.cdf(math.log(price / level) / spread - 0.5 * spread)


@dataclass(frozen=True)
class OutcomePath:
    """Prices of the outcomes of a simulated event at any time; at its end one of them is 1, and the others are 0.

    A hidden standard normal number decides which outcome happens; more and more of it becomes known until the end.
    """

    key: bytes
    """Secret key from which the prices follow."""
    market: str
    outcomes: int
    """Number of outcomes."""
    end_ns: int
    """When the event ends, nanoseconds since the epoch."""
    half_known_h: float = 24.0
    """Hours before the end at which half of what decides is known."""

    def at(self, moment_ns: int) -> tuple[float, ...]:
        """The prices of all outcomes at a moment, which sum to 1."""
        path = f"event/{self.market}/{self.outcomes}/{self.end_ns}"
        left_h = max(0.0, (self.end_ns - moment_ns) / HOUR_NS)
        step = math.floor(2.0**FINE * self.half_known_h / (self.half_known_h + left_h))
        # The hidden number is the end of the motion: what is known of it is its value, the rest has the variance left.
        known, unknown = brownian(self.key, path, step, FINE), math.sqrt(1.0 - step / 2.0**FINE)
        below = [self._below(threshold, known, unknown) for threshold in self._thresholds(path)]
        return tuple(high - low for low, high in pairwise((0.0, *below, 1.0)))

    def _thresholds(self, path: str) -> Sequence[float]:
        """Thresholds between the outcomes on the hidden number; prior probabilities are uniform on their simplex."""
        # Exponentials divided by their sum are uniform on the simplex.
        weights = [-math.log(uniform(self.key, f"{path}/weight-{place}")) for place in range(self.outcomes)]
        total = math.fsum(weights)
        return [NORMAL.inv_cdf(math.fsum(weights[: place + 1]) / total) for place in range(self.outcomes - 1)]

    @staticmethod
    def _below(threshold: float, known: float, unknown: float) -> float:
        """The probability that the hidden number is at most a threshold."""
        return float(known <= threshold) if unknown == 0.0 else NORMAL.cdf((threshold - known) / unknown)
