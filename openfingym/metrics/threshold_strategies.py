"""Strategies that depend on the path: mean reversion and trend following (Cont, Cucuringu, Xu and Zhang 2026,
Tail-GAN).

Windows hold increments; a price is 1 plus their running sum. Each strategy watches a signal z and
holds ten units from where z crosses a threshold until it crosses zero, or the window ends:

* reversion: z is the price minus the mean of the first w + 1 prices; short above the upper
  threshold, long below the lower one;
* trend: z is the mean of the last w prices minus that of the last 2 w; long above, short below.

w is a tenth of the steps, 10 for the paper's 100. The thresholds are the 31st and 69th percentile
of z over the real windows, so the scale the paper divides z by drops out. Nothing is traded before
its signal is known, which the paper's code does in the first w steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.arrays import Numbers, in_unit_interval, windows
from openfingym.metrics.portfolios import SOURCE, UNITS, finite_profits, tail_gap
from openfingym.metrics.record import Metric
from openfingym.metrics.tail import LEVEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERCENTILES = (0.31, 0.69)
"""Levels of the quantiles of a signal over the real windows that are its lower and its upper threshold."""


def threshold_profits(
    real: NDArray[np.float64], fake: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Profit of each strategy in each window.

    Args:
        real: increments of the real windows, [n, t, d], from which the thresholds are taken.
        fake: increments of the generated windows, [m, t, d].

    Returns:
        Profits in real and in generated windows, float64[2 d, n] and float64[2 d, m]: first reversion in every asset,
        then trend.
    """
    ours, theirs = [], []
    with np.errstate(over="ignore", invalid="ignore"):
        # ``_traded`` is long above the upper threshold; reversion is short there, so that its units are negative.
        for signal, direction in ((_reversion, -UNITS), (_trend, UNITS)):
            z = signal(real)
            low, high = _percentiles(z)
            ours.append(direction * _traded(z, low, high, real))
            theirs.append(direction * _traded(signal(fake), low, high, fake))
    return finite_profits(np.concatenate(ours)), finite_profits(np.concatenate(theirs))


def dynamic_tail_error(real: Numbers, fake: Numbers, level: float = LEVEL) -> float:
    """Mean over reversion and trend strategies and over VaR and ES of |fake - real| / |real|.

    Args:
        real: increments of the real windows, [n, t, d].
        fake: increments of the generated windows, [m, t, d].
        level: tail probability, in (0, 1).

    Raises:
        DataError: a real VaR or ES is zero, as where windows are too short to trade.
    """
    ours, theirs = windows(real, fake)
    in_unit_interval("level", level)
    return tail_gap(*threshold_profits(ours, theirs), level)


def _percentiles(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The thresholds of each asset, float64[2, d]."""
    values = np.array(z.transpose(2, 0, 1), order="C").reshape(z.shape[2], -1)  # a copy, to be sorted in place
    levels: NDArray[np.float64] = np.quantile(values, PERCENTILES, axis=1, overwrite_input=True)
    return levels


def _traded(
    z: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], increments: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Profit of one unit that is long above the upper threshold and short below the lower one, float64[d, n].

    Args:
        z: the signal at each step from where it is known, [steps, n, d].
        low: lower threshold of each asset, [d].
        high: upper threshold of each asset, [d].
        increments: increments of the windows, [n, t, d].
    """
    profit = np.zeros(z.shape[1:])
    above, below = np.zeros(profit.shape, dtype=np.bool_), np.zeros(profit.shape, dtype=np.bool_)
    # The increment that follows z[t] is increments[start + t]; the last z comes after all of them.
    start = increments.shape[1] - (len(z) - 1)
    for t in range(1, len(z) - 1):
        before, now = z[t - 1], z[t]
        # From zero to either side is no crossing of zero, from either side to zero is.
        stays = ~(((before < 0.0) & (now >= 0.0)) | ((before > 0.0) & (now <= 0.0)))
        above &= stays
        above |= (before < high) & (now >= high)
        below &= stays
        below |= (before > low) & (now <= low)
        profit += np.where(above, increments[:, start + t], 0.0)
        profit -= np.where(below, increments[:, start + t], 0.0)
    return profit.T


def _prices(increments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Prices before and after each increment, float64[t + 1, n, d], which begin at 1."""
    steps, count = increments.shape[1], len(increments)
    prices = np.ones((steps + 1, count, increments.shape[2]))
    np.cumsum(increments.transpose(1, 0, 2), axis=0, out=prices[1:])
    prices[1:] += 1.0
    return prices


def _width(steps: int) -> int:
    """The number w of steps of a moving mean."""
    return max(1, steps // 10)


def _reversion(increments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Signal of the reversion strategy, float64[t - w + 1, n, d], from the step at which its mean is known."""
    prices, width = _prices(increments), _width(increments.shape[1])
    signal: NDArray[np.float64] = prices[width:] - prices[: width + 1].mean(axis=0)
    return signal


def _trend(increments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Signal of the trend strategy, float64[t - 2 w + 2, n, d], from the step at which both means are known."""
    prices, width = _prices(increments), _width(increments.shape[1])
    # Moving means are differences of a running sum; the shorter one is known earlier, and is cut to match.
    total = np.concatenate((np.zeros_like(prices[:1]), np.cumsum(prices, axis=0)))
    short, long = ((total[w:] - total[:-w]) / w for w in (width, 2 * width))
    signal: NDArray[np.float64] = short[width:] - long
    return signal


METRICS = tuple(
    Metric(
        f"dynamic_tail_error_{round(100 * level):02d}",
        dynamic_tail_error,
        "paths",
        f"relative error of VaR and ES at {level:.0%}, reversion and trend",
        "none",
        SOURCE,
        parameters={"level": level},
        minimum_rows=2,
        differs=(
            "nothing is traded before its signal is known; the signal is not divided by 0.01, which its percentiles "
            "undo"
        ),
    )
    for level in (0.01, 0.05, 0.10)
)
