"""Calibration of probabilities: whether events happen as often as was forecast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.reports.forecasts.sums import is_event

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import Forecasts

BINS = 10
"""How many bins of equal width there are; a probability on an edge is in the upper bin, and 1 in the last."""
NORMAL_975 = 1.959963984540054
"""The 97.5 % quantile of the standard normal law."""


@dataclass(frozen=True)
class Bin:
    """The forecasts of one bin of a reliability diagram."""

    count: float
    """Number of questions."""
    forecast: float
    """Mean probability that was forecast."""
    frequency: float
    """How often the events happened; a payout between 0 and 1 counts as a fraction."""
    low: float
    """Lower end of Wilson's 95 % interval of the frequency, as if questions were independent."""
    high: float
    """Upper end of the interval."""


@dataclass(frozen=True)
class Calibration:
    """The calibration of one forecaster's probabilities."""

    bins: tuple[Bin | None, ...]
    """The bins from 0 to 1; None for a bin without forecasts."""
    ece: float
    """Expected calibration error: the mean over forecasts of |frequency - mean forecast| of their bins."""
    by_chance: float
    """The error that these probabilities would be expected to have if they were right, for independent questions: with
    few forecasts it is not 0."""


def calibrations(forecasts: Forecasts) -> dict[int, Calibration]:
    """The calibration of each forecaster that forecast the probability of an event, by its index."""
    chosen = np.flatnonzero(is_event(forecasts) & np.isfinite(forecasts.questions.truth[forecasts.question]))
    p, weight, who = forecasts.p[chosen], forecasts.weight[chosen], forecasts.forecaster[chosen]
    y = forecasts.questions.truth[forecasts.question[chosen]]
    cell = who * BINS + np.minimum((p * BINS).astype(np.int32), BINS - 1)
    size = len(forecasts.forecasters) * BINS
    count, forecast, happened, noise = (
        np.bincount(cell, weights=values, minlength=size).reshape(-1, BINS)
        for values in (weight, weight * p, weight * y, weight * p * (1.0 - p))
    )
    return {
        place: _calibration(count[place], forecast[place], happened[place], noise[place])
        for place in np.flatnonzero(count.sum(axis=1)).tolist()
    }


def calibration(p: NDArray[np.float64], y: NDArray[np.float64]) -> Calibration:
    """The calibration of forecasts, of which there must be one at least.

    Args:
        p: the probabilities that were forecast, float64[forecasts].
        y: 1 for each event that happened, 0 for the others, float64[forecasts].
    """
    cell = np.minimum((p * BINS).astype(np.int32), BINS - 1)
    count, forecast, happened, noise = (
        np.bincount(cell, weights=values, minlength=BINS).astype(np.float64)
        for values in (np.ones_like(p), p, y, p * (1.0 - p))
    )
    return _calibration(count, forecast, happened, noise)


def _calibration(
    count: NDArray[np.float64],
    forecast: NDArray[np.float64],
    happened: NDArray[np.float64],
    noise: NDArray[np.float64],
) -> Calibration:
    """The calibration from sums over the forecasts of each bin.

    Args:
        count: number of forecasts, float64[bins].
        forecast: sum of the probabilities.
        happened: sum of the outcomes.
        noise: sum of p (1 - p), the variance of the sum of outcomes if the probabilities are right.
    """
    bins = []
    for n, p, y in zip(count.tolist(), forecast.tolist(), happened.tolist(), strict=True):
        bins.append(Bin(n, p / n, y / n, *_wilson(y / n, n)) if n > 0.0 else None)
    total = float(count.sum())
    # The mean size of a normal variable of mean 0 is sqrt(2 / pi) times its standard deviation.
    by_chance = math.sqrt(2.0 / math.pi) * float(np.sqrt(noise).sum()) / total
    return Calibration(tuple(bins), float(np.abs(happened - forecast).sum()) / total, by_chance)


def _wilson(share: float, count: float) -> tuple[float, float]:
    """95 % interval of a frequency (Wilson 1927), which unlike the normal one does not vanish at shares of 0 and 1."""
    z = NORMAL_975 * NORMAL_975 / count
    middle = (share + z / 2.0) / (1.0 + z)
    half = math.sqrt(z * (share * (1.0 - share) + z / 4.0)) / (1.0 + z)
    return max(0.0, middle - half), min(1.0, middle + half)
