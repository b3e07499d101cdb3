"""Inputs of the volatility task: realised volatility, and graphs of correlations and spillovers.

Every number comes from rows up to its own, never from later ones. Graphs are computed for many end rows at
once, and element by element in a fixed order, without BLAS or LAPACK: equal rows make equal bytes on every
machine, which the digest of a built package rests on. The formulas are those of
:func:`openfingym.metrics.spillover.spillover`, one window of which the tests compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

VOLATILITY_WINDOW = 21
"""Daily returns in one value of realised volatility: a month."""
GRAPH_WINDOW = 63
"""Rows that a graph is computed from: a quarter."""
LAGS = 2
"""Order of the vector autoregression behind a spillover graph."""
HORIZON = 10
"""Steps of its forecast-error variance decomposition (Diebold and Yilmaz 2012)."""
DECIMALS = 10
"""Results are rounded to so many decimals, far above the last bits in which machines differ."""
DEPENDENT = 1e-9
"""A column of the regression is dependent on the others if less than this share of its norm is left without them."""
_BLOCK = 512
"""Graphs that are computed at once, which bounds the memory."""


def realised_volatility(prices: NDArray[np.float64], window: int = VOLATILITY_WINDOW) -> NDArray[np.float64]:
    """Root mean square of the last ``window`` log returns, not annualised and not demeaned.

    Args:
        prices: float64[n, d], positive, in time order.
        window: number of returns that each volatility is computed from.

    Returns:
        float64[n - window, d], rounded to ten decimals; row i belongs to row i + window of ``prices``.

    Raises:
        DataError: a price is not positive or not finite, there are too few rows, or a price does not move for a
            whole window; row and channel are named.
    """
    _matrix("prices", prices)
    bad = ~(prices > 0.0)
    if bad.any():
        row, channel = np.argwhere(bad)[0]
        raise DataError(f"prices[{row}, {channel}] is {prices[row, channel]:g}; a log return needs positive prices")
    if window < 1 or len(prices) <= window:
        raise DataError(
            f"realised volatility over {window} returns needs a window of one or more and {window + 1} rows, found "
            f"{len(prices)}"
        )
    # The logarithm of a ratio, near zero, errs in its seventeenth decimal; the difference of two logarithms in its
    # fifteenth.
    squares = np.log(prices[1:] / prices[:-1]) ** 2
    total = np.zeros((len(prices) - window, prices.shape[1]))
    for lag in range(window):
        total += squares[lag : lag + len(total)]
    exact: NDArray[np.float64] = np.sqrt(total / window)
    volatility = np.round(exact, DECIMALS)
    if not volatility.all():
        row, channel = np.argwhere(volatility == 0.0)[0]
        raise DataError(
            f"channel {channel} does not move in the {window} returns up to row {row + window}; its realised "
            "volatility is zero"
        )
    return volatility


def rows_apart(lookback: int, window: int = GRAPH_WINDOW, volatility_window: int = VOLATILITY_WINDOW) -> int:
    """Rows to leave out between the last target of a block and the first input of the next block, so that the two share
    no return.

    The volatility of one day shares all but one return with that of the day before.

    Args:
        lookback: input rows of a window; its graph ends at the last of them and is made of volatilities.
        window: number of rows that a graph is computed from.
        volatility_window: number of returns that a volatility is computed from.
    """
    # A graph ends with the inputs and is `window` rows long, so it may begin before them: its first volatility must
    # share no return with the target either.
    return max(volatility_window - 1, window + volatility_window - 1 - lookback)


def rolling_graphs(
    values: NDArray[np.float64], rows: NDArray[np.int64], window: int = GRAPH_WINDOW
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Correlations and Diebold-Yilmaz spillovers of the ``window`` rows that end at each of ``rows``.

    Args:
        values: float64[n, d], d from 2, in time order: returns or volatilities.
        rows: int64[k], the last row that each graph may use, in any order.
        window: number of rows that each graph is computed from.

    Returns:
        (correlation, spillover), each float64[k, d, d], rounded to ten decimals. Correlations are Pearson's. Row i of a
        spillover graph holds the shares of the forecast-error variance of i that come from each j, and sums to 1.

    Raises:
        DataError: a value is not finite; an end row has no full window behind it; the window is too short for a
            vector autoregression of :data:`LAGS` lags; or a channel is constant or depends linearly on others
            within a window. What is at fault is named by its row or channel.
    """
    _matrix("values", values)
    n, d = values.shape
    rows = np.asarray(rows)
    if d < 2 or window - LAGS - (1 + LAGS * d) < 1:
        raise DataError(
            f"a VAR of {LAGS} lags needs two channels and {2 + LAGS + LAGS * d} rows or more, found {d} and a window "
            f"of {window}"
        )
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise DataError(f"rows must be a list of row numbers, found shape {rows.shape} of {rows.dtype}")
    rows = rows.astype(np.int64)
    outside = (rows < window - 1) | (rows >= n)
    if outside.any():
        raise DataError(
            f"end row {rows[outside][0]} has no {window} rows behind it; it must be from {window - 1} to {n - 1}"
        )
    correlation, spillover = np.empty((len(rows), d, d)), np.empty((len(rows), d, d))
    for start in range(0, len(rows), _BLOCK):
        ends = rows[start : start + _BLOCK]
        standard = _standardised(values[ends - window + 1 + np.arange(window)[:, None]], ends)
        correlation[start : start + _BLOCK] = _correlations(standard)
        spillover[start : start + _BLOCK] = _spillovers(standard, ends)
    return np.round(correlation, DECIMALS) + 0.0, np.round(spillover, DECIMALS) + 0.0


def _standardised(windows: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Windows float64[window, k, d] with mean zero and sum of squares one; neither graph depends on a channel's
    scale.
    """
    centred = windows - _sum(windows) / len(windows)
    norm = np.sqrt(_sum(centred * centred))
    # The mean of equal values is rounded, which can leave a norm of a few units in the last place; hence both tests.
    constant = (windows == windows[0]).all(axis=0) | (norm == 0.0)
    if constant.any():
        k, channel = np.argwhere(constant)[0]
        raise DataError(
            f"channel {channel} is constant in the {len(windows)} rows up to row {ends[k]}; it has no correlation"
        )
    standard: NDArray[np.float64] = centred / norm
    return standard


def _correlations(standard: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros((*standard.shape[1:], standard.shape[2]))
    for row in standard:
        total += row[:, :, None] * row[:, None, :]
    # Rounding can carry a sum of products a little beyond 1.
    total = np.clip(total, -1.0, 1.0)
    total[:, np.arange(standard.shape[2]), np.arange(standard.shape[2])] = 1.0
    return total


def _spillovers(standard: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """theta_ij = sum_h (Phi_h S)_ij^2 / S_jj / sum_h (Phi_h S Phi_h')_ii, rows scaled to sum 1; float64[k, d, d]."""
    steps, covariance = _autoregressions(standard, ends)
    d = covariance.shape[1]
    responses = [np.broadcast_to(np.eye(d), covariance.shape)]
    shares, own = np.zeros_like(covariance), np.zeros(covariance.shape[:2])
    # responses[h] is Phi_h, the response h steps after a shock: Phi_0 = 1, Phi_h = sum of Phi_(h - l) A_l over lags l.
    for h in range(HORIZON):
        impact = _product(responses[h], covariance)
        shares += impact * impact
        for j in range(d):
            own += impact[:, :, j] * responses[h][:, :, j]
        following = np.zeros_like(covariance)
        for lag in range(min(LAGS, h + 1)):
            following += _product(responses[h - lag], steps[lag])
        responses.append(following)
    theta = shares / np.diagonal(covariance, axis1=1, axis2=2)[:, None, :] / own[:, :, None]
    whole = np.zeros_like(own)
    for j in range(d):
        whole += theta[:, :, j]
    table: NDArray[np.float64] = theta / whole[:, :, None]
    return table


def _autoregressions(
    standard: NDArray[np.float64], ends: NDArray[np.int64]
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Least squares by Householder reflections, for all windows at once.

    Returns:
        (coefficients of each lag, float64[k, d, d] with the explained channel first; covariance of the
        residuals, float64[k, d, d], with the usual correction for degrees of freedom).
    """
    window, k, d = standard.shape
    n, p = window - LAGS, 1 + LAGS * d
    lagged = [standard[LAGS - lag : window - lag] for lag in range(1, LAGS + 1)]
    # Columns: a constant, the lagged values of all channels, and the values to be explained. After p reflections the
    # upper p rows hold a triangular system; below them on the right, sums of products are those of the residuals.
    both = np.concatenate([np.ones((n, k, 1)), *lagged, standard[LAGS:]], axis=2)
    norms = np.sqrt(_sum(both * both))
    for j in range(p):
        _reflect(both, j, norms[:, j], ends)
    # Back substitution.
    coefficients = np.zeros((p, k, d))
    for j in range(p - 1, -1, -1):
        rest = both[j, :, p:].copy()
        for later in range(j + 1, p):
            rest -= both[j, :, later, None] * coefficients[later]
        coefficients[j] = rest / both[j, :, j, None]
    covariance = np.zeros((k, d, d))
    for residual in both[p:, :, p:]:
        covariance += residual[:, :, None] * residual[:, None, :]
    floor = np.diagonal(covariance, axis1=1, axis2=2) <= (DEPENDENT * norms[:, p:]) ** 2
    if floor.any():
        at, channel = np.argwhere(floor)[0]
        raise DataError(f"channel {channel} is predicted without error in the {window} rows up to row {ends[at]}")
    steps = [coefficients[1 + lag * d : 1 + (lag + 1) * d].transpose(1, 2, 0) for lag in range(LAGS)]
    return steps, covariance / (n - p)


def _reflect(both: NDArray[np.float64], j: int, norm: NDArray[np.float64], ends: NDArray[np.int64]) -> None:
    """Make column j of float64[n, k, columns] zero below row j, in place."""
    v = both[j:, :, j].copy()
    length = np.sqrt(_sum(v * v))
    dependent = length <= DEPENDENT * norm
    if dependent.any():
        raise DataError(
            f"the channels are linearly dependent in the window up to row {ends[np.argmax(dependent)]}; a VAR is not "
            "identified"
        )
    # Of the opposite sign, so that v[0] - pivot adds magnitudes and loses no digits.
    pivot = np.where(v[0] > 0.0, -length, length)
    v[0] -= pivot
    half = _sum(v * v) / 2.0
    along = np.zeros((both.shape[1], both.shape[2] - j - 1))
    for row, weight in zip(both[j:, :, j + 1 :], v, strict=True):
        along += weight[:, None] * row
    along /= half[:, None]
    both[j:, :, j + 1 :] -= v[:, :, None] * along
    both[j:, :, j] = 0.0
    both[j, :, j] = pivot


def _product(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrix products of float64[k, d, d] by float64[k, d, d], added in a fixed order."""
    total = np.zeros(left.shape)
    for inner in range(left.shape[2]):
        total += left[:, :, inner, None] * right[:, None, inner, :]
    return total


def _sum(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the first axis, row after row."""
    total = np.zeros(rows.shape[1:])
    for row in rows:
        total += row
    return total


def _matrix(name: str, values: NDArray[np.float64]) -> None:
    if values.ndim != 2 or values.size == 0 or values.dtype != np.float64:
        raise DataError(f"{name} must be float64[rows, channels], found {values.dtype} of shape {values.shape}")
    if not np.isfinite(values).all():
        row, channel = np.argwhere(~np.isfinite(values))[0]
        raise DataError(f"{name}[{row}, {channel}] is not a finite number")
