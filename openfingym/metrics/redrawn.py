"""A forecast on many resamples of its windows at once.

A replicate gives each window a whole weight, so sums over windows are one matrix product for all
replicates, and tails are read off returns that were sorted once.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.risk import FLAT_STD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.comparison import ForecastComparison
    from openfingym.metrics.resampling import Resampling


class Redrawn:
    """What several metrics of a forecast share, for every replicate of a design whose units are its windows."""

    def __init__(self, comparison: ForecastComparison, design: Resampling) -> None:
        """Compute nothing yet.

        Args:
            comparison: the forecast of the whole fold, beside its truth.
            design: the replicates, whose units are the windows of the forecast.
        """
        self._comparison = comparison
        self._counts = design.counts(len(comparison.y_pred))

    @cached_property
    def square(self) -> NDArray[np.float64]:
        """Mean squared error of each replicate, float64[replicates]."""
        return self._mean(self._comparison.error**2)

    @cached_property
    def absolute(self) -> NDArray[np.float64]:
        """Mean absolute error of each replicate, float64[replicates]."""
        return self._mean(np.abs(self._comparison.error))

    @cached_property
    def sharpe_gap(self) -> NDArray[np.float64]:
        """Mean over assets of |Sharpe_pred - Sharpe_true| of each replicate, float64[replicates]."""
        truth = self._comparison.truth
        true, predicted = (
            sharpe_ratios(returns, self._counts, truth.periods_per_year)
            for returns in (truth.returns, self._comparison.returns)
        )
        return np.asarray(np.abs(predicted - true).mean(axis=0))

    @cached_property
    def tail_gaps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean over assets of |VaR_pred - VaR_true| and of |ES_pred - ES_true| of each replicate, float64[replicates]
        each.
        """
        truth = self._comparison.truth
        true, predicted = (
            tail_risks(returns, self._counts, truth.tail_level) for returns in (truth.returns, self._comparison.returns)
        )
        var, shortfall = (np.abs(ours - theirs).mean(axis=0) for ours, theirs in zip(predicted, true, strict=True))
        return var, shortfall

    def _mean(self, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of cells [windows, ...] in each replicate."""
        windows = cells.reshape(len(cells), -1).mean(axis=1)
        return np.asarray(self._counts @ windows / self._counts.sum(axis=1))


def sharpe_ratios(
    returns: NDArray[np.float64], counts: NDArray[np.float64], periods_per_year: float
) -> NDArray[np.float64]:
    """:func:`openfingym.metrics.risk.sharpe_ratio` of every replicate.

    Args:
        returns: returns of each asset, window by window, float64[d, n * h].
        counts: how often each window is in each replicate, float64[replicates, n].
        periods_per_year: number of periods a year.

    Returns:
        float64[d, replicates], the ratio of each asset in each replicate.
    """
    windows = counts.shape[1]
    # About the mean of all, so that no digits are lost where it is large beside the deviation.
    centre = returns.mean(axis=1, keepdims=True)
    paths = (returns - centre).reshape(len(returns), windows, -1)
    number = counts.sum(axis=1) * paths.shape[2]
    mean = paths.sum(axis=2) @ counts.T / number
    square = np.einsum("dnh,dnh->dn", paths, paths) @ counts.T
    std = np.sqrt(np.maximum(square - number * mean**2, 0.0) / np.maximum(number - 1.0, 1.0))
    flat = std < FLAT_STD
    return np.asarray(np.where(flat, 0.0, (mean + centre) / np.where(flat, 1.0, std)) * math.sqrt(periods_per_year))


def tail_risks(
    returns: NDArray[np.float64], counts: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """:func:`openfingym.metrics.risk.tail_risk` of every replicate; arguments as of :func:`sharpe_ratios`.

    Returns:
        (VaR, ES), float64[d, replicates] each.
    """
    var, shortfall = np.empty((2, len(returns), len(counts)))
    steps = returns.shape[1] // counts.shape[1]
    position = (counts.sum(axis=1) * steps - 1.0) * level
    below = np.floor(position)
    for asset, values in enumerate(returns):
        # Each return of the sorted ones counts as often as its window is in the replicate.
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        weights = counts[:, order // steps]
        reached = weights.cumsum(axis=1)
        # The k-th smallest, from 0, is the first that more than k returns reach.
        low, high = (
            ordered[(reached > at[:, None]).argmax(axis=1)]
            for at in (below, np.minimum(below + 1.0, reached[:, -1] - 1.0))
        )
        var[asset] = low + (high - low) * (position - below)
        inside = weights * (ordered <= var[asset][:, None])
        shortfall[asset] = inside @ ordered / inside.sum(axis=1)
    return var, shortfall
