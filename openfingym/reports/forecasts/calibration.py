"""Whether what is called likely happens as often as was said."""

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
"""Bins of equal width; a probability on an edge is in the upper one, and 1 in the last."""
NORMAL_975 = 1.959963984540054


@dataclass(frozen=True)
class Bin:
    """The forecasts of one bin of a reliability diagram."""

    count: float
    """Number of questions."""
    forecast: float
    """Mean probability that was forecast."""
    frequency: float
    """How often it happened, payouts counting as fractions."""
    low: float
    """95 % interval of the frequency (Wilson's), as if questions were independent."""
    high: float


@dataclass(frozen=True)
class Calibration:
    """The calibration of one forecaster's probabilities."""

    bins: tuple[Bin | None, ...]
    """From 0 to 1; None where there is no forecast."""
    ece: float
    """Expected calibration error: the mean over forecasts of |frequency - mean forecast| of their bins."""
    by_chance: float
    """What it is expected to be of these probabilities if they are right, for independent questions: the error of few
    forecasts is not 0."""


def calibrations(found: Forecasts) -> dict[int, Calibration]:
    """Calibration of each forecaster, by its place, of those who forecast the probability of an event."""
    chosen = np.flatnonzero(is_event(found) & np.isfinite(found.questions.truth[found.question]))
    p, weight, who = found.p[chosen], found.weight[chosen], found.forecaster[chosen]
    y = found.questions.truth[found.question[chosen]]
    cell = who * BINS + np.minimum((p * BINS).astype(np.int32), BINS - 1)
    size = len(found.forecasters) * BINS
    count, forecast, happened, noise = (
        np.bincount(cell, weights=values, minlength=size).reshape(-1, BINS)
        for values in (weight, weight * p, weight * y, weight * p * (1.0 - p))
    )
    return {
        place: _calibration(count[place], forecast[place], happened[place], noise[place])
        for place in np.flatnonzero(count.sum(axis=1)).tolist()
    }


def calibration(p: NDArray[np.float64], y: NDArray[np.float64]) -> Calibration:
    """Calibration of forecasts, float64[forecasts], of events that happened (1) or did not (0); of one at least."""
    cell = np.minimum((p * BINS).astype(np.int32), BINS - 1)
    count, forecast, happened, noise = (
        np.bincount(cell, weights=one, minlength=BINS).astype(np.float64)
        for one in (np.ones_like(p), p, y, p * (1.0 - p))
    )
    return _calibration(count, forecast, happened, noise)


def _calibration(
    count: NDArray[np.float64],
    forecast: NDArray[np.float64],
    happened: NDArray[np.float64],
    noise: NDArray[np.float64],
) -> Calibration:
    """From sums over the forecasts of each bin; of ``noise`` of p (1 - p)."""
    bins = []
    for n, p, y in zip(count.tolist(), forecast.tolist(), happened.tolist(), strict=True):
        bins.append(Bin(n, p / n, y / n, *_wilson(y / n, n)) if n > 0.0 else None)
    total = float(count.sum())
    # E|x| of a normal x is sqrt(2 / pi) of its deviation.
    by_chance = math.sqrt(2.0 / math.pi) * float(np.sqrt(noise).sum()) / total
    return Calibration(tuple(bins), float(np.abs(happened - forecast).sum()) / total, by_chance)


def _wilson(share: float, count: float) -> tuple[float, float]:
    """95 % interval of a frequency (Wilson 1927)."""
    z = NORMAL_975 * NORMAL_975 / count
    middle = (share + z / 2.0) / (1.0 + z)
    half = math.sqrt(z * (share * (1.0 - share) + z / 4.0)) / (1.0 + z)
    return max(0.0, middle - half), min(1.0, middle + half)
