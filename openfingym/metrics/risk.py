"""Risk statistics of paths: returns, Sharpe ratio, Value-at-Risk, Expected Shortfall.

Returns are kept asset-major, float64[d, m]: one row an asset, its m = n * h returns pooled
over windows and steps. A statistic is computed for each asset; :mod:`openfingym.metrics.forecast`
compares those of a forecast with those of the truth.

Edge cases, the same for all: NaN, infinities and no returns at all raise
:class:`~openfingym.errors.UsageError`; a single return is enough.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.semantics import ValueSemantics

FLAT_STD = 1e-12
"""Standard deviation below which a series counts as flat, since it may be rounding; its Sharpe ratio is 0."""


def path_returns(
    values: NDArray[np.float64], last_value: NDArray[np.float64], semantics: ValueSemantics
) -> NDArray[np.float64]:
    """Per-step returns along each path, asset-major.

    ``log_return``: the values are the returns already. ``price_level``: simple returns
    p_t / p_{t-1} - 1, the first against the last value the window showed. ``yield_level``:
    first differences in the unit of the yield, the first against the last value shown; a yield
    is not a price, so dividing one by another would mean nothing and fails at zero.

    Args:
        values: values of each window's path, float64[n, h, d].
        last_value: the last row of each window's inputs, float64[n, d]; unused for ``log_return``.
        semantics: what the values are: returns, prices or yields.

    Returns:
        Returns of each asset, window by window, float64[d, n * h], C-contiguous.

    Raises:
        UsageError: shapes do not fit, a price is not positive, or a return is not finite.
    """
    if values.ndim != 3 or last_value.shape != (values.shape[0], values.shape[2]):
        raise UsageError(f"need values [n, h, d] and last values [n, d], found {values.shape} and {last_value.shape}")
    n, h, d = values.shape
    out = np.empty((d, n, h))
    paths = values.transpose(2, 0, 1)
    if semantics == "log_return":
        out[...] = paths
    else:
        before = np.empty((d, n, h))
        before[:, :, 0] = last_value.T
        before[:, :, 1:] = paths[:, :, :-1]
        if semantics == "price_level":
            # Written so that a NaN, of which every comparison is false, is refused too.
            if before.size and not (before.min() > 0.0 and values.min() > 0.0):
                raise UsageError(
                    "returns of a price need positive prices, so not standardised ones; one here is zero, negative or "
                    "NaN"
                )
            with np.errstate(over="ignore"):
                np.divide(paths, before, out=out)
            out -= 1.0
        elif semantics == "yield_level":
            with np.errstate(over="ignore"):
                np.subtract(paths, before, out=out)
        else:
            raise UsageError(
                f"{semantics!r} values have no returns; those of log_return, price_level and yield_level do"
            )
    if not np.isfinite(out).all():
        raise UsageError("the returns along the paths are not finite")
    return out.reshape(d, n * h)


def sharpe_ratio(returns: NDArray[np.float64], periods_per_year: float = 1.0) -> NDArray[np.float64]:
    """Sharpe ratio mean / std * sqrt(P) over the last axis, with a zero risk-free rate (Sharpe 1994).

    The standard deviation has ddof = 1. Where it is below 1e-12 (a constant series), or there
    is a single return, the ratio is 0.0 and not infinite: flat predictions are the most common
    naive submission and must have a finite, unexceptional score.

    Args:
        returns: returns per period as fractions, float64[..., m].
        periods_per_year: number P of periods a year; 1 leaves the ratio per period, 252 annualises daily returns.

    Returns:
        The ratio of each row, float64[...], without a unit.
    """
    _check(returns)
    if not 0.0 < periods_per_year < math.inf:
        raise UsageError(f"periods_per_year must be positive and finite, found {periods_per_year}")
    count = returns.shape[-1]
    mean = np.add.reduce(returns, axis=-1) / count  # as returns.mean(), at half its overhead
    if count == 1:
        return np.zeros_like(mean)
    # Two passes: the textbook formula from sums of squares cancels where the mean is large against the deviation.
    centred = returns - mean[..., None]
    std = np.sqrt(np.einsum("...i,...i->...", centred, centred) / (count - 1))
    flat = std < FLAT_STD
    ratio: NDArray[np.float64] = np.where(flat, 0.0, mean / np.where(flat, 1.0, std)) * math.sqrt(periods_per_year)
    return ratio


def tail_risk(returns: NDArray[np.float64], level: float = 0.05) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Value-at-Risk and Expected Shortfall over the last axis, from one partial sort.

    VaR is the linearly interpolated quantile of the returns at ``level`` (Hyndman and Fan 1996,
    type 7, as ``numpy.quantile``): a negative number is a loss. ES is the mean of the returns
    not above VaR, of which there is always at least one. For a constant series both equal the
    constant; for a single return both equal it.

    Args:
        returns: returns per period as fractions, float64[..., m].
        level: tail probability, in (0, 1).

    Returns:
        (VaR, ES), each float64[...], in the unit of the returns.
    """
    _check(returns)
    if not 0.0 < level < 1.0:
        raise UsageError(f"the tail level must be between 0 and 1, found {level}")
    position = (returns.shape[-1] - 1) * level
    below = int(position)
    above = min(below + 1, returns.shape[-1] - 1)
    # Only the tail is needed in order, so a partition does what a sort would, in linear time.
    ordered = np.partition(returns, above, axis=-1)
    # Sorting the small tail makes the order of summation, and so the last bit, the same everywhere.
    tail = np.sort(ordered[..., : below + 1], axis=-1) if above > below else np.sort(ordered, axis=-1)
    low, high = tail[..., -1], ordered[..., above]
    var = _interpolate(low, high, position - below)
    shortfall = np.add.reduce(tail, axis=-1) / tail.shape[-1]
    if (high <= var).any():  # values tied with VaR lie beyond the tail slice
        inside = returns <= var[..., None]
        tied = np.where(inside, returns, 0.0).sum(axis=-1) / inside.sum(axis=-1)
        shortfall = np.where(high <= var, tied, shortfall)
    # The rounded mean of equal numbers may miss them by one bit; ES lies between the worst return and VaR.
    return var, np.minimum(np.maximum(shortfall, tail[..., 0]), var)


def value_at_risk(returns: NDArray[np.float64], level: float = 0.05) -> NDArray[np.float64]:
    """Value-at-Risk alone; see :func:`tail_risk`."""
    return tail_risk(returns, level)[0]


def expected_shortfall(returns: NDArray[np.float64], level: float = 0.05) -> NDArray[np.float64]:
    """Expected Shortfall alone; see :func:`tail_risk`."""
    return tail_risk(returns, level)[1]


def mean_gap(true: NDArray[np.float64], pred: NDArray[np.float64]) -> float:
    """Mean over assets of the absolute difference of two statistics, float64[d] each."""
    if true.shape != pred.shape:
        raise UsageError(f"statistics of {true.shape} and {pred.shape} assets cannot be compared")
    with np.errstate(over="ignore"):
        gap = float(np.add.reduce(np.abs(pred - true), axis=None)) / true.size
    if not math.isfinite(gap):
        raise UsageError("the difference of the risk statistics is too large for float64")
    return gap


def _check(returns: NDArray[np.float64]) -> None:
    """Raise UsageError unless there are returns, all of them finite."""
    if returns.ndim == 0 or returns.size == 0:
        raise UsageError(f"need at least one return on the last axis, found shape {returns.shape}")
    if not np.isfinite(returns).all():
        raise UsageError("NaN or infinity among the returns; a risk statistic of them would not be a number")


def _interpolate(low: NDArray[np.float64], high: NDArray[np.float64], fraction: float) -> NDArray[np.float64]:
    """Linear interpolation in the form that ``numpy.quantile`` uses, so that both agree to the last bit."""
    step = high - low
    # From the nearer end, so that equal ends give that very number.
    return low + step * fraction if fraction < 0.5 else high - step * (1.0 - fraction)
