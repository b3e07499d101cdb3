"""Tail-GAN's evaluation: VaR and ES of 65 strategies (Cont, Cucuringu, Xu and Zhang 2026), as its code computes them.

The prices of a window of increments [t, d] are 1 plus the running sum. The strategies hold ten units: of each asset, of
50 static portfolios, and of each asset whenever a signal says so. What differs from
:mod:`openfingym.metrics.portfolios` and :mod:`openfingym.metrics.threshold_strategies` is as published: profits, VaR
and ES are rounded to three decimals, profits of exactly 0 are left out of ES, thresholds are pooled over assets, and
signals are traded from the first step.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2, ttest_ind

from openfingym.errors import DataError
from openfingym.metrics.portfolios import UNITS, strategy_profits, strategy_weights
from openfingym.metrics.tail_score import joint_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.published.sample import Sample

PERCENTILES = (31, 69)
"""Percentiles of a signal that are its lower and its upper threshold."""
KNOWN = 100
"""Number of training windows from which the thresholds are computed."""
WIDTH = 10
"""Number of steps of the short moving average; the long one has twice as many."""
DECIMALS = 3
SIZE = 0.05
"""Size of a test: the probability with which it rejects what is true."""


def profits(increments: NDArray[np.float64], train: NDArray[np.float64]) -> NDArray[np.float64]:
    """Profit of each strategy in each window, float64[n, 50 + 3 d].

    Args:
        increments: windows of increments, float64[n, t, d].
        train: training windows, float64[m, t, d], of which the first 100 give the thresholds.
    """
    parts = [strategy_profits(increments, strategy_weights(increments.shape[2])).T]
    steps = increments.transpose(1, 0, 2)
    for signal, sign in ((_reversion, -1.0), (_trend, 1.0)):
        low, high = np.percentile(signal(_prices(train[:KNOWN])), PERCENTILES)
        parts.append(sign * UNITS * _held(signal(_prices(increments)), low, high, steps))
    return np.concatenate(parts, axis=1)


def var_es(pnl: NDArray[np.float64], level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(VaR, ES) of each strategy, rounded; ES is NaN where every profit in the tail is exactly 0.

    Args:
        pnl: profits, float64[windows, strategies].
        level: share of the windows that is the tail.
    """
    var = np.percentile(pnl, 100 * level, axis=0)
    tail = np.where((pnl <= var) & (pnl != 0.0), pnl, np.nan)
    with warnings.catch_warnings():
        # NumPy warns where a tail is empty, whose mean is NaN.
        warnings.simplefilter("ignore", RuntimeWarning)
        es: NDArray[np.float64] = np.asarray(np.nanmean(tail, axis=0), dtype=np.float64)
    return np.round(var, DECIMALS), np.round(es, DECIMALS)


def tail_error(sample: Sample, level: float) -> NDArray[np.float64]:
    """Relative error of VaR and ES of each strategy, |generated - real| / |real| in percent, float64[2 x strategies].

    NaN where one of the two is undefined, or both are 0.

    Args:
        sample: windows to compare.
        level: share of the windows that is the tail.

    Raises:
        DataError: a real VaR or ES is 0 and the generated one is not.
    """
    real, fake = (np.concatenate(var_es(profits(side, sample.train), level)) for side in (sample.real, sample.fake))
    with np.errstate(divide="ignore", invalid="ignore"):
        error: NDArray[np.float64] = 100.0 * np.abs(real - fake) / np.abs(real)
    if np.isinf(error).any():
        raise DataError("the relative tail error is undefined: a real VaR or ES is 0 to three decimals")
    return error


def coverage_rejection(sample: Sample, level: float, draws: int, size: int) -> float:
    """Percent of Kupiec's coverage tests that reject the generated VaR.

    Where no window or every window breaches it, the test is undefined and, as in the code, does not reject.

    Args:
        sample: windows to compare.
        level: share of the windows that is the tail.
        draws: number of tests, each on windows drawn anew.
        size: number of windows of either side that a test draws.
    """
    generator = np.random.default_rng(sample.seed)
    real, fake = (profits(side, sample.train) for side in (sample.real, sample.fake))
    real, rejected = np.round(real, DECIMALS), []
    for _ in range(draws):
        var = var_es(_some(fake, size, generator), level)[0]
        seen = _some(real, size, generator)
        n, s = len(seen), (seen < var).sum(axis=0)
        # The log likelihood of the observed share of breaches; 0 log 0 makes NaN, which is below no bound.
        with np.errstate(divide="ignore", invalid="ignore"):
            free = (n - s) * np.log(1.0 - s / n) + s * np.log(s / n)
        ratio = -2.0 * ((n - s) * np.log(1.0 - level) + s * np.log(level) - free)
        rejected.append(chi2.sf(ratio, 1) < SIZE)
    return 100.0 * float(np.mean(rejected))


def score_rejection(sample: Sample, level: float, draws: int, size: int) -> float:
    """Percent of Welch's tests in which the generated (VaR, ES) scores differently from that of another real sample.

    Args:
        sample: windows to compare.
        level: share of the windows that is the tail.
        draws: number of tests, each on windows drawn anew.
        size: number of windows that each of the three samples of a test draws.
    """
    generator = np.random.default_rng(sample.seed)
    real, fake = (profits(side, sample.train) for side in (sample.real, sample.fake))
    rejected = []
    for _ in range(draws):
        pairs = [var_es(_some(side, size, generator), level) for side in (fake, real)]
        seen = _some(np.round(real, DECIMALS), size, generator).T
        scores = [joint_score(seen, *pair, level) for pair in pairs]
        with warnings.catch_warnings():
            # SciPy warns of two equal samples without spread, of which it gives NaN.
            warnings.simplefilter("ignore", RuntimeWarning)
            rejected.append(ttest_ind(scores[1], scores[0], axis=1, equal_var=False).pvalue < SIZE)
    return 100.0 * float(np.mean(rejected))


def correlation_of_totals(sample: Sample) -> float:
    """Sum over pairs of assets of |correlation of their total increments, generated - real|, the real one rounded."""
    real, fake = (np.corrcoef(side.sum(axis=1).T) for side in (sample.real, sample.fake))
    return float(np.abs(np.round(real, DECIMALS) - fake).sum())


def path_autocorrelation(sample: Sample, lags: int) -> float:
    """Sum over assets and lags 0 to ``lags`` of |mean autocorrelation of a window, generated - real|.

    The real one is rounded; windows without variance are left out of the means.
    """
    real, fake = (_autocorrelation(side, lags) for side in (sample.real, sample.fake))
    return float(np.abs(np.round(real, DECIMALS) - fake).sum())


def _some(values: NDArray[np.float64], size: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """``size`` rows, drawn without replacement; all rows, in order, where there are no more."""
    chosen: NDArray[np.float64] = values[generator.permutation(len(values))[:size]]
    return values if size >= len(values) else chosen


def _prices(increments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Prices at the beginning and after each step, float64[t + 1, n, d]."""
    steps = increments.transpose(1, 0, 2)
    prices: NDArray[np.float64] = 1.0 + np.concatenate((np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)))
    return prices


def _reversion(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far a price is from the mean of the first eleven."""
    signal: NDArray[np.float64] = prices - prices[: WIDTH + 1].mean(axis=0)
    return signal


def _trend(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """The short moving average minus the long one; where an average is not known yet, the price takes its place."""
    # Running totals with a zero in front: the sum of a window is the difference of two of them.
    total = np.concatenate((np.zeros_like(prices[:1]), np.cumsum(prices, axis=0)))
    short, long = prices.copy(), prices.copy()
    for average, width in ((short, WIDTH), (long, 2 * WIDTH)):
        average[width - 1 :] = (total[width:] - total[:-width]) / width
    return short - long


def _held(z: NDArray[np.float64], low: float, high: float, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Profit per unit, float64[n, d], of trading a signal.

    One unit is held from where the signal rises to ``high`` until it crosses 0, and minus one from where it falls to
    ``low``. A step that crosses both 0 and a threshold opens a position and does not close it.

    Args:
        z: the signal, float64[t + 1, n, d].
        low: threshold below which a unit is sold short.
        high: threshold above which a unit is bought.
        steps: increments of the prices, float64[t, n, d].
    """
    profit = np.zeros(z.shape[1:])
    above, below = np.zeros(profit.shape, dtype=np.bool_), np.zeros(profit.shape, dtype=np.bool_)
    for t in range(1, len(z) - 1):
        before, now = z[t - 1], z[t]
        crossed = ((before < 0.0) & (now >= 0.0)) | ((before > 0.0) & (now <= 0.0))
        above = ((before < high) & (now >= high)) | (above & ~crossed)
        below = ((before > low) & (now <= low)) | (below & ~crossed)
        profit += (above.astype(np.float64) - below) * steps[t]
    return profit


def _autocorrelation(paths: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """Autocorrelation of lags 0 to ``lags``, its mean over windows, float64[lags + 1, d]."""
    centred = paths - paths.mean(axis=1, keepdims=True)
    length, energy = paths.shape[1], np.square(centred).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = [np.einsum("ntd,ntd->nd", centred[:, : length - k], centred[:, k:]) / energy for k in range(lags + 1)]
    mean: NDArray[np.float64] = np.asarray(np.nanmean(np.stack(each), axis=1), dtype=np.float64)
    return mean
