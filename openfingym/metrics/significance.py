"""Tests of whether one forecast is better than another, robust to autocorrelation.

Of t statistics that a paper defines, the long-run variance is Newey and West's (1986) with Bartlett weights and no
small-sample correction, S = g_0 + 2 sum_{k=1..L} (1 - k / (L + 1)) g_k with g_k = (1 / n) sum u_t u_{t-k}. Libraries
differ in their default number of lags, so every function here takes it or states it. The test that decides between two
forecasters uses cosine transforms, which keep its size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, number, pair, same_shape
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDING = 1e-12
"""A long-run standard deviation below this fraction of the largest value is rounding noise of a constant series."""
HORIZONS_NEEDED = 4
"""Fewest times the horizon that a series must be long, for a test of overlapping forecasts to keep its size."""
T_CLIP = (-5.0, 5.0)
"""A t statistic grows with the square root of the sample; beyond five standard errors it says nothing more."""


@dataclass(frozen=True)
class DieboldMariano:
    """Outcome of a Diebold-Mariano test of loss a against loss b."""

    statistic: float
    """The statistic, in standard errors; negative where forecast a is better."""
    p_value: float
    """Two-sided p-value of equal accuracy."""


def default_lags(count: int) -> int:
    """Newey and West's rule floor(4 (n / 100)^(2/9)), at most n - 1."""
    return min(int(4.0 * (count / 100.0) ** (2.0 / 9.0)), count - 1)


def newey_west_t(series: Numbers, lags: int | None = None) -> float:
    """Newey and West's t statistic of the mean of a series, mean / sqrt(S / n).

    Args:
        series: the series in order of time, [n], n >= 2.
        lags: number L of lags of the long-run variance; None for :func:`default_lags`.

    Returns:
        The statistic; 0 for a series that is 0 throughout.

    Raises:
        UsageError: the series is constant and not 0, too short, not finite, or L is not in 0..n-1.
    """
    x = answer("series", series, 1)
    count = x.size
    depth = default_lags(count) if lags is None else lags
    if count < 2 or not 0 <= depth < count:
        raise UsageError(f"need at least two values and 0 to n - 1 lags, found {count} values and {depth} lags")
    mean = float(x.mean())
    u = x - mean
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(np.vdot(u, u))
        for k in range(1, depth + 1):
            variance += 2.0 * (1.0 - k / (depth + 1)) * float(np.vdot(u[k:], u[:-k]))
        variance /= count
    # Bartlett's weights keep the variance from being negative, but for rounding; of a series that is constant but for
    # rounding, a t statistic would be huge and mean nothing.
    largest = float(np.abs(x).max())
    if variance <= (ROUNDING * largest) * (ROUNDING * largest):
        if mean == 0.0:
            return 0.0
        raise UsageError(f"the t statistic is undefined: the series does not vary around its mean {mean:.6g}")
    return number("the t statistic", mean / math.sqrt(variance / count))


def diebold_mariano(loss_a: Numbers, loss_b: Numbers, horizon: int = 1) -> DieboldMariano:
    """Diebold and Mariano's (1995) test of equal accuracy, from the loss of each forecast at each time.

    The long-run variance is the mean square of the first cosine transforms of the series (Lazarus, Lewis, Stock and
    Watson 2018, section 3), and the statistic is Student's with as many degrees of freedom: n - 1 at horizon 1, where
    it is the ordinary paired t test, and max(2, n // 2h) beyond, since differences of overlapping forecasts correlate
    over h - 1 steps. On such differences, moving averages of normal numbers, a test at 5 % rejects equal accuracy in 5
    to 6 % of series. Bartlett's weights with h - 1 lags, as many libraries have them, reject it in 9 to 14 %, also
    with the correction of Harvey, Leybourne and Newbold (1997), which is for equal weights.

    Args:
        loss_a: loss of forecast a at each time, [n], in order of time.
        loss_b: loss of forecast b at each time, [n].
        horizon: number h of steps that both forecasts look ahead.

    Returns:
        Statistic and p-value; 0 and 1 for identical losses.

    Raises:
        UsageError: the series do not fit, are shorter than 2 or :data:`HORIZONS_NEEDED` horizons, or differ by a
            constant.
    """
    a, b = answer("loss_a", loss_a, 1), answer("loss_b", loss_b, 1)
    same_shape("loss_b", b, a.shape)
    n = a.size
    if horizon < 1:
        raise UsageError(f"the horizon must be at least 1, found {horizon}")
    if n < 2 or (horizon > 1 and n < HORIZONS_NEEDED * horizon):
        raise UsageError(f"{n} values are too few at horizon {horizon}; {max(2, HORIZONS_NEEDED * horizon)} are needed")
    difference = a - b
    mean, largest = float(difference.mean()), float(np.abs(difference).max())
    degrees_of_freedom = n - 1 if horizon == 1 else max(2, n // (2 * horizon))
    error = math.sqrt(_cosine_variance(difference - mean, degrees_of_freedom) / n)
    if error <= ROUNDING * largest:
        if mean == 0.0:
            return DieboldMariano(0.0, 1.0)
        raise UsageError(f"the t statistic is undefined: the series does not vary around its mean {mean:.6g}")
    statistic = number("the t statistic", mean / error)
    return DieboldMariano(statistic, _student_p(statistic, degrees_of_freedom))


def _cosine_variance(centred: NDArray[np.float64], frequencies: int) -> float:
    """Long-run variance of a series with mean 0, [n], from its cosine transforms of the first ``frequencies``."""
    if frequencies == centred.size - 1:  # all of them together are the sample variance
        return float(centred @ centred) / frequencies
    angles = np.pi / centred.size * np.outer(np.arange(1, frequencies + 1), np.arange(centred.size) + 0.5)
    transforms = math.sqrt(2.0 / centred.size) * (np.cos(angles) @ centred)
    return float(np.mean(transforms * transforms))


def panel_diebold_mariano(error_1: Numbers, error_2: Numbers, period: Numbers, lags: int | None = None) -> float:
    """Diebold-Mariano statistic of a panel (Gu, Kelly and Xiu 2020, eq. 20).

    The Newey-West t of the series, one value a period, of the cross-sectional mean of
    error_1^2 - error_2^2.

    Args:
        error_1: errors of model 1, [rows].
        error_2: errors of model 2, [rows].
        period: month (or other period) of each row, int[rows], whose order is that of time.
        lags: number L of lags; None for :func:`default_lags` of the number of periods.

    Returns:
        The statistic, positive where model 2 is better; unbounded, growing with sqrt(periods).
    """
    a, b = answer("error_1", error_1, 1), answer("error_2", error_2, 1)
    same_shape("error_2", b, a.shape)
    # The mean over the rows of each period makes one series, in which only dependence over time is left.
    index, counts = _periods(period, a.size)
    with np.errstate(over="ignore", invalid="ignore"):
        d = np.bincount(index, weights=a * a - b * b) / counts
    return newey_west_t(d, lags)


def dm_zero(y_true: Numbers, y_pred: Numbers, period: Numbers) -> float:
    """:func:`panel_diebold_mariano` of the prediction against a forecast of zero; positive where it is better."""
    y, f, index, _ = panel(y_true, y_pred, period)
    with np.errstate(over="ignore"):
        error = y - f
    return panel_diebold_mariano(y, error, index)


def _student_p(statistic: float, degrees_of_freedom: int) -> float:
    """Two-sided p-value of Student's t (Abramowitz and Stegun 26.7.3 and 26.7.4, exact for whole degrees of
    freedom).
    """
    # The probability within plus and minus the statistic is a finite series in the cosine of an angle.
    angle = math.atan(abs(statistic) / math.sqrt(degrees_of_freedom))
    cosine, odd = math.cos(angle), degrees_of_freedom % 2
    term = total = 1.0 if not odd else (cosine if degrees_of_freedom > 1 else 0.0)
    for k in range(2 + odd, degrees_of_freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    inside = 2.0 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return min(max(1.0 - inside, 0.0), 1.0)


def panel(
    y_true: Numbers, y_pred: Numbers, period: Numbers
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Truth and prediction as rows, the index of each row's period, and the rows of each period.

    Args:
        y_true: realised values, [rows, ...].
        y_pred: predictions, of the shape of ``y_true``.
        period: period of each value, int or datetime64, of the shape of ``y_true``; or [rows] where all of a row is one
            period.

    Raises:
        DataError: the truth or the periods are at fault.
        UsageError: the predictions are at fault.
    """
    y, f = pair(y_true, y_pred)
    # One period a row, for all values of the row, or one for each value.
    if isinstance(period, np.ndarray) and 1 == period.ndim < y.ndim and len(period) == len(y):
        period = np.repeat(period, y.size // len(y))
    elif isinstance(period, np.ndarray) and period.shape == y.shape:
        period = period.ravel()
    index, counts = _periods(period, y.size)
    return y.ravel(), f.ravel(), index, counts


def _periods(period: Numbers, rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Index of each row's period, and rows of each period."""
    if not isinstance(period, np.ndarray) or period.shape != (rows,) or period.dtype.kind not in "iuM":
        raise DataError(
            f"period must be {rows} integers or dates, one a row, found "
            f"{getattr(period, 'dtype', type(period).__name__)}"
        )
    _, index, counts = np.unique(period, return_inverse=True, return_counts=True)
    return index.astype(np.intp), counts


METRICS = (
    Metric(
        "dm_zero",
        dm_zero,
        "panel",
        "Diebold-Mariano statistic against a forecast of zero",
        "standard errors",
        "Gu, Kelly and Xiu 2020, eq. 20",
        (-math.inf, math.inf),
        "higher",
        None,
        T_CLIP,
        diagnostic=True,
        minimum_rows=2,
        proper=False,
        differs="Newey-West lags by floor(4 (n / 100)^(2/9)), where the paper does not say",
    ),
)
