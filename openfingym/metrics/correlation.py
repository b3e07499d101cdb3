"""Distances of correlation and covariance between real and generated windows.

The papers' codes differ, so each variant has a name of its own. In those of lagged correlations the
pairs are the lower triangle of channels *with* its diagonal, each channel's own autocorrelation: without
it, windows that have no dependence in time would pass. A real channel that is constant makes a
correlation undefined; a constant *generated* channel has correlation 0 with every other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, all_finite, number, windows
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

HEAD = 64
"""Number of rows that are looked at first to see what varies, which nearly always settles it."""
FLAT = 1e-24
"""A variance below this fraction of the mean square is rounding noise of a constant."""


def correlation_l1(real: Numbers, fake: Numbers) -> float:
    """Mean over pairs of channels of |correlation fake - real|, rows pooled over windows and steps.

    Raises:
        DataError: fewer than two channels, or a real channel that is constant.
    """
    true, guess = _pooled_correlations(real, fake)
    return number("the correlation distance", np.abs(guess - true)[~np.eye(len(true), dtype=bool)].mean())


def correlation_sigcwgan(real: Numbers, fake: Numbers) -> float:
    """Sum over the lower triangle with its diagonal of |c_fake - c_real|, rows pooled (Ni et al. 2020, code).

    c is the mean product (over N rows) of values divided by a deviation with ddof 1, so (N - 1) / N
    times Pearson's correlation: on the diagonal, two sets of unlike size differ by |1 / N - 1 / M|.
    """
    ours, theirs = windows(real, fake)
    true, guess = (_shrunk(rows.reshape(-1, rows.shape[2])) for rows in (ours, theirs))
    _need_channels(ours.reshape(-1, ours.shape[2]))
    # Both matrices are symmetric: the triangle has every pair once.
    return number("the correlation distance", np.abs(np.tril(guess - true)).sum())


def _shrunk(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's correlations times (N - 1) / N."""
    return correlation_matrix(rows) * ((len(rows) - 1) / len(rows))


def correlation_tailgan(real: Numbers, fake: Numbers) -> float:
    """Sum over the whole matrix of |correlation fake - real| of the increments summed over each window (Tail-GAN)."""
    ours, theirs = windows(real, fake, scan=False)
    with np.errstate(over="ignore", invalid="ignore"):
        totals = ours.sum(axis=1), theirs.sum(axis=1)
    # A value that is not finite leaves a total that is not, so only then is anything searched.
    if not (all_finite(totals[0]) and all_finite(totals[1])):
        windows(real, fake)
    return correlation_of_totals(*totals)


def correlation_of_totals(real: NDArray[np.float64], fake: NDArray[np.float64]) -> float:
    """Sum of |correlation fake - real| over the d x d matrices of rows [n, d] and [m, d]."""
    _need_channels(real)
    return number("the correlation distance", np.abs(correlation_matrix(fake) - correlation_matrix(real)).sum())


def cross_correlation(real: Numbers, fake: Numbers, lags: int = 4) -> float:
    """Mean over channel pairs (i, j), i >= j, and lags 0..min(lags, t - 1) of |corr(x_i(t + k), x_j(t)) fake - real|.

    Standardised by each channel's mean and deviation, ddof 1, over windows and steps (Tao, Ni and Liu 2024, code).
    """
    ours, theirs = windows(real, fake)
    _need_channels(ours.reshape(-1, ours.shape[2]))
    depth = min(lags, ours.shape[1] - 1) + 1
    true, guess = (_lagged(paths, range(depth), ddof=1) for paths in (ours, theirs))
    return number("the correlation distance", np.abs(guess - true).mean())


def cross_correlation_lag(real: Numbers, fake: Numbers, lag: int = 0) -> float:
    """Sum over channel pairs (i, j), i >= j, of |corr(x_i(t + lag), x_j(t)) fake - real| (Lou, Li and Ni 2023, code).

    Standardised by each channel's mean and deviation, ddof 0, over windows and steps.
    """
    ours, theirs = windows(real, fake)
    _need_channels(ours.reshape(-1, ours.shape[2]))
    if not 0 <= lag < ours.shape[1]:
        raise UsageError(f"the lag must be between 0 and {ours.shape[1] - 1} for windows this long, found {lag}")
    return number("the correlation distance", np.abs(_lagged(theirs, (lag,)) - _lagged(ours, (lag,))).sum())


def covariance_frobenius(real: Numbers, fake: Numbers) -> float:
    """Frobenius norm of the difference of the d x d covariances (ddof 1) of pooled rows, in squared units."""
    ours, theirs = windows(real, fake)
    gap = _covariance(theirs.reshape(-1, theirs.shape[2])) - _covariance(ours.reshape(-1, ours.shape[2]))
    return number("the covariance distance", np.sqrt((gap * gap).sum()))


def covariance_paths(real: Numbers, fake: Numbers) -> float:
    """Mean absolute difference of the (t d) x (t d) covariances (ddof 1) of whole windows, in squared units (Tao, Ni
    and Liu 2024).
    """
    ours, theirs = windows(real, fake)
    gap = _covariance(theirs.reshape(theirs.shape[0], -1)) - _covariance(ours.reshape(ours.shape[0], -1))
    return number("the covariance distance", np.abs(gap).mean())


def _pooled_correlations(real: Numbers, fake: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ours, theirs = windows(real, fake)
    return _known_correlations(ours.reshape(-1, ours.shape[2])), correlation_matrix(theirs.reshape(-1, theirs.shape[2]))


def _known_correlations(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlations of real rows, which must vary in every channel."""
    _need_channels(rows)
    return correlation_matrix(rows)


def _need_channels(rows: NDArray[np.float64]) -> None:
    """Raise DataError unless real rows have two channels at least, none of them constant."""
    if rows.shape[1] < 2:
        raise DataError("a correlation needs at least two channels")
    # The first rows nearly always settle it.
    if (rows[:HEAD] == rows[0]).all(axis=0).any() and (rows == rows[0]).all(axis=0).any():
        raise DataError("the correlation distance is undefined: a channel of the real windows is constant")


def correlation_matrix(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson correlations of the columns; a constant column has 0 with every other and 1 with itself."""
    mean = rows.mean(axis=0)
    return centred_correlations(rows - mean, mean)


def centred_correlations(centred: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlations as :func:`correlation_matrix` has them, of rows less the mean of each column.

    Args:
        centred: rows less the mean of each column, [n, d].
        mean: the mean of each column, [d].
    """
    gram: NDArray[np.float64] = centred.T @ centred
    energy = np.diagonal(gram)
    # Rounding of a constant column leaves an energy that is tiny beside that of its mean; dividing by infinity gives 0.
    flat = energy <= FLAT * (centred.shape[0] * mean**2 + energy)
    scale = np.where(flat, np.inf, np.sqrt(energy))
    gram /= scale[:, None]
    gram /= scale
    np.fill_diagonal(gram, 1.0)
    return gram


def _standardising(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Centred columns, zero where a column is constant, and the root of their sum of squares, 1 there."""
    mean = rows.mean(axis=0)
    centred = rows - mean
    energy = np.einsum("ij,ij->j", centred, centred)
    flat = energy <= FLAT * (rows.shape[0] * mean**2 + energy)
    if flat.any():
        centred[:, flat] = 0.0
    return centred, np.where(flat, 1.0, np.sqrt(energy))


def _lagged(paths: NDArray[np.float64], lags: Sequence[int], ddof: int = 0) -> NDArray[np.float64]:
    """Lagged correlations corr(x_i(t + k), x_j(t)) of channels i >= j, float64[lags, pairs]; 0 for a constant channel.

    Args:
        paths: windows, [n, t, d].
        lags: numbers k of steps between the two values.
        ddof: correction of the degrees of freedom of the deviations that values are divided by.
    """
    n, t, d = paths.shape
    # Steps first, so that leaving out the first or last k of them leaves rows side by side; not worth a copy for one
    # lag.
    copied = len(lags) > 1
    centred, scale = _standardising(
        (np.ascontiguousarray(paths.transpose(1, 0, 2)) if copied else paths).reshape(-1, d)
    )
    cube = centred.reshape(n, t, d) if not copied else centred.reshape(t, n, d).transpose(1, 0, 2)
    unit = np.outer(scale, scale) / (n * t - ddof)
    lower = np.tril_indices(d)
    out = np.empty((len(lags), len(lower[0])))
    for row, k in enumerate(lags):
        ahead, now = (
            part.transpose(1, 0, 2).reshape(-1, d) if copied else part.reshape(-1, d)
            for part in (cube[:, k:], cube[:, : t - k])
        )
        out[row] = (ahead.T @ now / unit / len(now))[lower]
    return out


def _covariance(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariances of the columns, with ddof 1."""
    if rows.shape[0] < 2:
        raise UsageError(f"a covariance needs at least two rows, found {rows.shape[0]}")
    centred = rows - rows.mean(axis=0)
    matrix: NDArray[np.float64] = (centred.T @ centred) / (rows.shape[0] - 1)
    return matrix


_HIGH_RANK = "Tao, Ni and Liu 2024"
_TABLE = "OpenFinGym (arXiv 2606.26350), Table 6"
METRICS = (
    Metric(
        "correlation_l1",
        correlation_l1,
        "paths",
        "mean gap of pooled correlations",
        "none",
        _TABLE,
        (0.0, 2.0),
        minimum_rows=2,
        differs="defined here, since the paper only names it: Pearson's, rows pooled, mean over pairs",
    ),
    Metric(
        "correlation_sigcwgan",
        correlation_sigcwgan,
        "paths",
        "sum of gaps of pooled correlations",
        "none",
        "Ni et al. 2020",
        minimum_rows=2,
        version=2,
        changed="Pearson's correlation, off the diagonal",
    ),
    Metric(
        "correlation_tailgan",
        correlation_tailgan,
        "paths",
        "sum of gaps of correlations of totals",
        "none",
        "Cont et al. 2026",
        minimum_rows=2,
        differs="the real ones are not rounded to 3 decimals",
    ),
    Metric(
        "cross_correlation",
        cross_correlation,
        "paths",
        "mean gap of correlations at lags 0 to 4",
        "none",
        _HIGH_RANK,
        parameters={"lags": 4},
        minimum_rows=2,
        version=2,
        changed="the diagonal was left out, and ddof was 0",
    ),
    *(
        Metric(
            f"cross_correlation_lag_{lag}",
            cross_correlation_lag,
            "paths",
            f"sum of gaps of correlations at lag {lag}",
            "none",
            "Lou, Li and Ni 2023",
            parameters={"lag": lag},
            minimum_rows=2,
            version=2,
            changed="the diagonal was left out",
        )
        for lag in (0, 5)
    ),
    Metric(
        "covariance_frobenius",
        covariance_frobenius,
        "paths",
        "Frobenius distance of pooled covariances",
        "squared unit",
        _TABLE,
        minimum_rows=2,
        differs="defined here, since the paper only names it: rows pooled, ddof 1",
    ),
    Metric(
        "covariance_paths",
        covariance_paths,
        "paths",
        "mean gap of covariances of whole windows",
        "squared unit",
        _HIGH_RANK,
        minimum_rows=2,
    ),
)
