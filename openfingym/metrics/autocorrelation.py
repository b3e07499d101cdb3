"""Distances of autocorrelation between real and generated windows.

The papers' codes differ, so each variant has a name of its own. Edge rules, the same for all: a
cell (step, channel) whose real values are constant is left out, and if none is left the metric
is undefined; a constant *generated* channel or path has autocorrelation 0 at every lag above 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, number, windows
from openfingym.metrics.correlation import FLAT, correlation_matrix
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LAG = 64
TAILGAN_LAGS = 10


def autocorrelation_stationary(real: Numbers, fake: Numbers, max_lag: int = MAX_LAG) -> float:
    """Mean over channels of the L2 distance of autocorrelations at lags 0..min(max_lag, t) - 1.

    Values are centred by the channel's mean over windows and steps; rho_k is the mean over
    windows and steps of x_t x_{t+k} (t - k products a window) over the mean of x_t^2.
    """
    true, guess = _stationary_pair(real, fake, max_lag)
    return number("the ACF distance", np.sqrt(((guess - true) ** 2).sum(axis=1)).mean())


def autocorrelation_lag(real: Numbers, fake: Numbers, lag: int = 1) -> float:
    """Sum over channels of |rho_lag fake - rho_lag real| (Lou, Li and Ni 2023), rho as :func:`autocorrelation_stationary`."""
    true, guess = _stationary_pair(real, fake, lag + 1)
    if not 1 <= lag < true.shape[1]:
        raise UsageError(f"the lag must be between 1 and {true.shape[1] - 1} for windows this long, found {lag}")
    return number("the ACF distance", np.abs(guess[:, lag] - true[:, lag]).sum())


def autocorrelation_non_stationary(real: Numbers, fake: Numbers) -> float:
    """Distance of the correlations of steps across windows (Tao, Ni and Liu 2024), for laws that change with the step.

    Per channel, the t x t correlation matrix across windows, upper triangle with the diagonal;
    the root of the sum of squared differences over the FIRST index; the mean over the second
    index and channels.
    """
    ours, theirs = windows(real, fake)
    columns = []
    for d in range(ours.shape[2]):
        kept = ours[:, :, d].min(axis=0) < ours[:, :, d].max(axis=0)
        if kept.any():
            gap = correlation_matrix(theirs[:, kept, d]) - correlation_matrix(ours[:, kept, d])
            columns.append(np.sqrt((np.triu(gap) ** 2).sum(axis=0)))
    if not columns:
        raise DataError("the ACF distance is undefined: every step and channel of the real windows is constant")
    return number("the ACF distance", np.concatenate(columns).mean())


def autocorrelation_tailgan(real: Numbers, fake: Numbers, lags: int = TAILGAN_LAGS) -> float:
    """Sum over channels and lags 0..min(lags, t - 1) of |mean over windows of the sample ACF, fake - real| (Tail-GAN)."""
    ours, theirs = windows(real, fake)
    depth = min(lags, ours.shape[1] - 1)
    if depth < 1:
        raise DataError(f"an autocorrelation needs windows of at least two steps, found {ours.shape[1]}")
    return number("the ACF distance", np.abs(_path_acf(theirs, depth) - _path_acf(ours, depth)).sum())


def _stationary_pair(real: Numbers, fake: Numbers, max_lag: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ours, theirs = windows(real, fake)
    kept = ours.min(axis=0) < ours.max(axis=0)
    channels = kept.any(axis=0)
    if not channels.any():
        raise DataError("the ACF distance is undefined: every step and channel of the real windows is constant")
    kept = kept[:, channels]
    depth = min(max_lag, ours.shape[1])
    return _stationary(ours[:, :, channels], kept, depth), _stationary(theirs[:, :, channels], kept, depth)


def _stationary(paths: NDArray[np.float64], kept: NDArray[np.bool_], depth: int) -> NDArray[np.float64]:
    """rho_0..rho_{depth-1} of each channel, float64[d, depth], over the cells kept."""
    n, t, _ = paths.shape
    count = n * kept.sum(axis=0)
    mean = np.where(kept, paths, 0.0).sum(axis=(0, 1)) / count
    centred = np.ascontiguousarray(np.where(kept, paths - mean, 0.0).transpose(2, 0, 1))
    products = np.empty((centred.shape[0], depth))
    pairs = np.empty_like(products)
    inside = kept.T.astype(np.float64)
    for k in range(depth):
        products[:, k] = np.einsum("dnt,dnt->d", centred[:, :, : t - k], centred[:, :, k:])
        pairs[:, k] = n * (inside[:, : t - k] * inside[:, k:]).sum(axis=1)
    acf = np.divide(products, pairs, out=np.zeros_like(products), where=pairs > 0)
    variance = acf[:, :1]
    flat = variance <= FLAT * (mean**2 + variance[:, 0])[:, None]
    acf = np.where(flat, 0.0, acf / np.where(flat, 1.0, variance))
    acf[:, 0] = 1.0
    return acf


def _path_acf(paths: NDArray[np.float64], depth: int) -> NDArray[np.float64]:
    """Mean over windows of each window's sample ACF, float64[d, depth + 1]."""
    n, t, d = paths.shape
    mean = paths.mean(axis=1, keepdims=True)
    centred = np.ascontiguousarray((paths - mean).transpose(2, 0, 1))
    energy = np.einsum("dnt,dnt->dn", centred, centred)
    flat = energy <= FLAT * t * (mean[:, 0].T ** 2 + energy / t)
    scale = np.where(flat, 1.0, energy)
    acf = np.ones((d, depth + 1))
    for k in range(1, depth + 1):
        product = np.einsum("dnt,dnt->dn", centred[:, :, : t - k], centred[:, :, k:])
        acf[:, k] = np.where(flat, 0.0, product / scale).sum(axis=1) / n
    return acf


METRICS = (
    Metric(
        "autocorrelation_stationary",
        autocorrelation_stationary,
        "paths",
        "L2 distance of pooled ACFs",
        "none",
        "Ni et al. 2020",
        parameters={"max_lag": MAX_LAG},
        minimum_rows=2,
    ),
    Metric(
        "autocorrelation_lag_1",
        autocorrelation_lag,
        "paths",
        "sum of ACF gaps at lag 1",
        "none",
        "Lou, Li and Ni 2023",
        parameters={"lag": 1},
        minimum_rows=2,
    ),
    Metric(
        "autocorrelation_lag_5",
        autocorrelation_lag,
        "paths",
        "sum of ACF gaps at lag 5",
        "none",
        "Lou, Li and Ni 2023",
        parameters={"lag": 5},
        minimum_rows=2,
    ),
    Metric(
        "autocorrelation_non_stationary",
        autocorrelation_non_stationary,
        "paths",
        "distance of step correlations",
        "none",
        "Tao, Ni and Liu 2024",
        minimum_rows=2,
    ),
    Metric(
        "autocorrelation_tailgan",
        autocorrelation_tailgan,
        "paths",
        "sum of gaps of mean path ACFs",
        "none",
        "Cont et al. 2026",
        parameters={"lags": TAILGAN_LAGS},
    ),
)
