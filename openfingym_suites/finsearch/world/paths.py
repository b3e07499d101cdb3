"""What drives prices: returns of the world and of regions, and real exchange rates, on a grid of weekdays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data import load_panel
from openfingym_suites.finsearch.world.draws import stream
from openfingym_suites.finsearch.world.roster import MarketSize

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DAYS_A_YEAR = 261
"""Weekdays of a year."""
_DRIFT = {"us": 0.07, "cn": 0.04, "hk": 0.03}
"""Log return of a region's market a year."""


@dataclass(frozen=True, eq=False)
class MarketPaths:
    """Paths that many prices share.

    Attributes:
        days: the weekdays of the world, in order.
        unrest: float64[weekdays]: variance of returns over that of quiet times, at least 1.
        markets: float64[weekdays] by region (us, cn, hk): log return of its market on each day.
        ecb: float64[weekdays] by name of the channel, such as ``usd_cny``: the ECB's real reference rates, in currency
            units per dollar, that were known before each day; those of the day itself come after the markets of Asia.
    """

    days: pd.DatetimeIndex
    unrest: Floats
    markets: dict[str, Floats]
    ecb: dict[str, Floats]

    def at(self, days: pd.DatetimeIndex) -> NDArray[np.int64]:
        """Places of days in the grid, each of which must be a weekday of it."""
        return np.asarray(self.days.get_indexer(days), np.int64)


def make_paths(size: MarketSize, seed: int) -> MarketPaths:
    """The paths of a world.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
    """
    import pandas as pd

    days = pd.bdate_range(size.first_day, size.last_day)
    rng = stream(seed, "unrest")
    # Bursts of unrest begin about once in 300 weekdays, and fade away within three weeks to four months.
    unrest = np.ones(len(days))
    for start in np.flatnonzero(rng.uniform(size=len(days)) < 1 / 300).tolist():
        length = int(rng.integers(15, 90))
        peak = float(rng.uniform(0.6, 2.6))
        span = unrest[start : start + length]
        span += peak * np.linspace(1.0, 0.0, length)[: len(span)]
    # Unrest makes all markets move more, and fall.
    world = 0.006 * unrest * stream(seed, "world").standard_normal(len(days)) - 0.0012 * (unrest - 1.0)
    markets = {}
    for region, drift in _DRIFT.items():
        own = 0.007 * np.sqrt(unrest) * stream(seed, "region", region).standard_normal(len(days))
        markets[region] = drift / DAYS_A_YEAR + 0.0001 + world * (0.9 if region != "cn" else 0.6) + own
    return MarketPaths(days, unrest, markets, _ecb(days))


def _ecb(days: pd.DatetimeIndex) -> dict[str, Floats]:
    """The ECB's reference rates that were known before each day: currency units per US dollar, by channel."""
    import pandas as pd

    panel = load_panel("ecb-fx")
    fixed = pd.DatetimeIndex(panel.times)
    # The last rate before the day: that of the day itself is known in the evening of Asia.
    before = np.maximum(np.asarray(fixed.searchsorted(days, side="left")) - 1, 0)
    rates = {}
    # Some channels are dollars per unit of a currency: those are inverted.
    for channel, column in zip(panel.channels, panel.values.T, strict=True):  # noqa: PD011  # of a panel
        values = np.asarray(column, np.float64)[before]
        per_dollar = channel.startswith("usd_")
        rates[channel if per_dollar else f"usd_{channel[:3]}"] = values if per_dollar else 1.0 / values
    return rates
