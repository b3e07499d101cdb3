"""Measures of whole windows that the papers' code computes in another way than :mod:`openfingym.metrics`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.option import RATE, SPOT, STRIKE, YEARS_PER_STEP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.published.sample import Sample

FLAT_WIDTH = 1e-5
"""Width of the histogram of a step and channel whose real values are all equal."""


def histogram_gap(sample: Sample, bins: int, first: int = 0) -> float:
    """Mean over steps, channels and bins of |density, generated - real| (PCF-GAN, High-Rank PCF-GAN).

    The bins of a step and channel are of equal width, between its smallest and its largest real value. A generated
    value on an edge is in no bin, and neither is one outside; both count in the denominator.

    Args:
        sample: windows to compare.
        bins: number of bins of a step and channel.
        first: number of steps left out at the start.
    """
    gaps = []
    for t in range(first, sample.real.shape[1]):
        for d in range(sample.real.shape[2]):
            real, fake = sample.real[:, t, d], sample.fake[:, t, d]
            low, high = float(real.min()), float(real.max())
            edges = np.linspace(low, high if high > low else low + FLAT_WIDTH, bins + 1)
            width = edges[1] - edges[0]
            inside = fake[~np.isin(fake, edges)]
            ours, theirs = (
                np.histogram(x, edges)[0] / (n * width) for x, n in ((real, len(real)), (inside, len(fake)))
            )
            gaps.append(np.abs(theirs - ours).mean())
    return float(np.mean(gaps))


def conditional_mean_gap(sample: Sample, contexts: int) -> float:
    """Mean, over the first contexts, of the Euclidean distance between a context's real future and the mean of its
    generated ones (High-Rank PCF-GAN).

    Args:
        sample: windows to compare, which have contexts.
        contexts: number of contexts, counted from the first drawn.
    """
    futures = _futures(sample)[:contexts].mean(axis=1)
    gap = sample.real[:contexts, sample.lookback :] - futures
    return float(np.sqrt(np.square(gap).sum(axis=(1, 2))).mean())


def put_gap(sample: Sample) -> float:
    """Mean over assets of the gap between two prices of an American put (High-Rank PCF-GAN).

    One is the price on all real futures; the other is the mean, over contexts, of the price on a context's generated
    futures. Both are computed as the paper's code does, which begins its recursion two dates early: the payoff at the
    end never counts, money grows where it should be discounted, and prices are some 20 % too low.
    """
    futures, real = _futures(sample), sample.real[:, sample.lookback :]
    gaps = [
        abs(published_put(real[..., d]) - np.mean([published_put(paths[..., d]) for paths in futures]))
        for d in range(real.shape[2])
    ]
    return float(np.mean(gaps))


def published_put(log_returns: NDArray[np.float64]) -> float:
    """Price of an American put as the paper's code computes it, with the mistakes that :func:`put_gap` names.

    The value of waiting is fitted by least squares with polynomials of degree 2 (Longstaff and Schwartz 2001); the last
    date but one is left out, and worth 0.

    Args:
        log_returns: paths of log returns, float64[n, t].
    """
    n, dates = log_returns.shape
    growth = np.exp(RATE * YEARS_PER_STEP)
    prices = SPOT * np.exp(np.concatenate((np.zeros((n, 1)), np.cumsum(log_returns, axis=1)), axis=1))
    exercised = np.maximum(STRIKE - prices, 0.0)
    value = np.zeros_like(exercised)
    value[:, -1] = exercised[:, -1]
    # As in the code, which should begin a date later: value[:, dates - 1] stays 0, and the payoff at the end is lost.
    for t in range(dates - 2, 0, -1):
        inside = exercised[:, t] > 0.0
        if not inside.any():
            continue
        with warnings.catch_warnings():
            # With fewer paths than coefficients NumPy warns, and gives the fit of least norm, as in the code.
            warnings.simplefilter("ignore")
            fitted = np.polyfit(prices[inside, t], value[inside, t + 1] * growth, 2)
        held = np.polyval(fitted, prices[inside, t])
        # A path on which the put is exercised here has no later payoff.
        chosen = np.flatnonzero(inside)[exercised[inside, t] > held]
        value[chosen, t] = exercised[chosen, t]
        value[chosen, t + 1 :] = 0.0
        waiting = value[:, t] == 0.0
        value[waiting, t] = value[waiting, t + 1] * growth
    return float(value[:, 1].mean() * growth)


def _futures(sample: Sample) -> NDArray[np.float64]:
    if sample.futures is None:
        raise UsageError("this measure is of conditional tasks: it needs the generated futures of each context")
    return sample.futures
