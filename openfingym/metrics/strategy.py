"""Economic value of a cross-sectional forecast: a long-short portfolio of the extreme deciles.

Each period, rows are sorted by prediction; the top decile is held long, the bottom decile short,
equally weighted, the decile of n rows being max(1, n // 10) of them. Rows with equal predictions
share what places they have, so the order of rows means nothing: where all are equal the portfolio is
flat and returns 0, as does a period with a single row.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.arrays import Numbers, answer, number
from openfingym.metrics.record import Metric
from openfingym.metrics.risk import sharpe_ratio
from openfingym.metrics.significance import T_CLIP, newey_west_t, panel

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARPE_CLIP = (-10.0, 10.0)
"""An annual Sharpe ratio beyond this is a sign of too few periods or of a leak, not of skill."""


def long_short_returns(y_true: Numbers, y_pred: Numbers, period: Numbers) -> NDArray[np.float64]:
    """Return of the long-short portfolio in each period, in time order.

    Args:
        y_true: realised returns as fractions, [rows, ...].
        y_pred: predictions, of the shape of ``y_true``; only their order within a period matters.
        period: period of each value, int or datetime64, of the shape of ``y_true``; or [rows] where all of a row is one
            period.

    Returns:
        float64[periods], as fractions.

    Raises:
        DataError: the truth or the periods are at fault.
        UsageError: the predictions are at fault.
    """
    y, f, index, counts = panel(y_true, y_pred, period)
    order = np.lexsort((f, index))  # by period, then prediction
    ranked, period_of = f[order], index[order]
    # Where each period begins among the sorted rows, and how many rows its decile has.
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    size = np.maximum(1, counts // 10)
    shared = _tie_means(y[order], (ranked[1:] != ranked[:-1]) | (period_of[1:] != period_of[:-1]))
    top = _slice_mean(shared, starts + counts - size, size)
    bottom = _slice_mean(shared, starts, size)
    # All predictions are equal, or there is a single row: long and short are the same rows.
    flat = ranked[starts] == ranked[starts + counts - 1]
    return np.where(flat, 0.0, top - bottom)


def long_short_sharpe(y_true: Numbers, y_pred: Numbers, period: Numbers, periods_per_year: float = 12.0) -> float:
    """Annualised Sharpe ratio of the long-short portfolio; 0 where it never moves. Higher is better."""
    return number("the Sharpe ratio", float(sharpe_ratio(long_short_returns(y_true, y_pred, period), periods_per_year)))


def long_short_t(y_true: Numbers, y_pred: Numbers, period: Numbers) -> float:
    """Newey-West t of the mean return of the long-short portfolio. Higher is better."""
    return newey_west_t(long_short_returns(y_true, y_pred, period))


def long_short_drawdown(y_true: Numbers, y_pred: Numbers, period: Numbers) -> float:
    """:func:`max_drawdown` of the long-short portfolio, in [0, 1]."""
    return max_drawdown(long_short_returns(y_true, y_pred, period))


def long_short_worst_period(y_true: Numbers, y_pred: Numbers, period: Numbers) -> float:
    """Largest loss of the long-short portfolio in one period, as a fraction in [0, 1]; 0 if it never loses."""
    return min(1.0, max(0.0, -float(long_short_returns(y_true, y_pred, period).min())))


def max_drawdown(returns: Numbers) -> float:
    """Largest fall from a peak of compounded returns, max(1 - E_t / peak), a POSITIVE fraction in [0, 1].

    The peak includes the starting equity. Equity at or below zero is ruin: the drawdown is 1.

    Args:
        returns: simple returns of each period as fractions, [periods].
    """
    r = answer("returns", returns, 1)
    if (r <= -1.0).any():
        return 1.0
    # In logarithms, whose sum cannot overflow as a product of many returns can.
    log_equity = np.concatenate(([0.0], np.cumsum(np.log1p(r))))
    fall = float((np.maximum.accumulate(log_equity) - log_equity).max())
    return -math.expm1(-fall)


def _tie_means(values: NDArray[np.float64], breaks: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The values, each replaced by the mean of those that it is tied with.

    Args:
        values: values in order of prediction, [n].
        breaks: whether each value and the next one have different predictions, [n - 1].
    """
    if breaks.all():
        return values
    tie = np.concatenate(([0], np.cumsum(breaks)))
    with np.errstate(over="ignore"):
        means: NDArray[np.float64] = (np.bincount(tie, weights=values) / np.bincount(tie))[tie]
    return means


def _slice_mean(values: NDArray[np.float64], starts: NDArray[np.intp], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Mean of values[start : start + size] for each start and size."""
    with np.errstate(over="ignore"):
        total = np.concatenate(([0.0], np.cumsum(values)))
    mean: NDArray[np.float64] = (total[starts + sizes] - total[starts]) / sizes
    if not np.isfinite(mean).all():
        raise UsageError("the portfolio's returns are too large for float64")
    return mean


_PANEL = "Gu, Kelly and Xiu 2020, section 2.4.4"
_TSFM = "Rahimikia, Ni and Wang 2025"
_long_short = partial(
    Metric, problem="panel", proper=False, version=2, changed="equal predictions went to the earlier row"
)
_risk = partial(
    _long_short,
    unit="fraction",
    source=_TSFM,
    range=(0.0, 1.0),
    diagnostic=True,
    differs="as `long_short_sharpe`; a fraction, where the paper has percent",
)
METRICS = (
    _long_short(
        "long_short_sharpe",
        long_short_sharpe,
        description="annualised Sharpe ratio of top minus bottom decile",
        unit="none",
        source=_PANEL,
        range=(-math.inf, math.inf),
        direction="higher",
        optimum=None,
        clip=SHARPE_CLIP,
        parameters={"periods_per_year": 12.0},
        options=("periods_per_year",),
        differs="deciles of max(1, n // 10) rows, equal weights; equal predictions share their places",
    ),
    _long_short(
        "long_short_t",
        long_short_t,
        description="Newey-West t of the mean of top minus bottom decile",
        unit="standard errors",
        source="Newey and West 1986; " + _TSFM,
        range=(-math.inf, math.inf),
        direction="higher",
        optimum=None,
        clip=T_CLIP,
        diagnostic=True,
        minimum_rows=2,
        differs="as `long_short_sharpe`; Newey-West lags by floor(4 (n / 100)^(2/9))",
    ),
    _risk("long_short_drawdown", long_short_drawdown, description="largest fall of the portfolio"),
    _risk("long_short_worst_period", long_short_worst_period, description="largest one-period loss"),
)
