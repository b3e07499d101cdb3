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
from openfingym.metrics.correlation import FLAT, HEAD, centred_correlations
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

FEW_LAGS = 6
"""Number of lags up to which a copy of the windows channel by channel costs more than it saves."""
MAX_LAG = 64
"""Number of lags of the pooled autocorrelation, from 0 on."""
TAILGAN_LAGS = 10
"""Largest lag of the autocorrelation of single windows."""


def autocorrelation_stationary(real: Numbers, fake: Numbers, max_lag: int = MAX_LAG) -> float:
    """Mean over channels of the L2 distance of autocorrelations at lags 0..min(max_lag, t) - 1.

    Values are centred by the channel's mean over windows and steps; rho_k is the mean over
    windows and steps of x_t x_{t+k} (t - k products a window) over the mean of x_t^2.
    """
    true, guess = _stationary_pair(real, fake, range(max_lag))
    return number("the ACF distance", np.sqrt(((guess - true) ** 2).sum(axis=1)).mean())


def autocorrelation_lag(real: Numbers, fake: Numbers, lag: int = 1) -> float:
    """Sum over channels of |rho_lag fake - rho_lag real| (Lou, Li and Ni 2023), rho as
    :func:`autocorrelation_stationary`.
    """
    steps = np.shape(real)[1] if np.ndim(real) == 3 else 2
    if not 1 <= lag < max(steps, 2):
        raise UsageError(f"the lag must be between 1 and {steps - 1} for windows this long, found {lag}")
    true, guess = _stationary_pair(real, fake, (0, lag))
    return number("the ACF distance", np.abs(guess[:, 1] - true[:, 1]).sum())


def autocorrelation_non_stationary(real: Numbers, fake: Numbers) -> float:
    """Distance of the correlations of steps across windows (Tao, Ni and Liu 2024), for laws that change with the step.

    Per channel, the t x t correlation matrix across windows, upper triangle with the diagonal;
    the root of the sum of squared differences over the FIRST index; the mean over the second
    index and channels.
    """
    ours, theirs = windows(real, fake)
    varies = _varies(ours)
    columns = []
    true, guess = _step_correlations(ours), _step_correlations(theirs)
    # Of each channel, the steps at which the real windows vary.
    for d in np.flatnonzero(varies.any(axis=0)):
        kept = np.flatnonzero(varies[:, d])
        gap: NDArray[np.float64] = np.triu(guess(d, kept) - true(d, kept))
        columns.append(np.sqrt((gap * gap).sum(axis=0)))
    if not columns:
        raise DataError("the ACF distance is undefined: every step and channel of the real windows is constant")
    return number("the ACF distance", np.concatenate(columns).mean())


def _step_correlations(paths: NDArray[np.float64]) -> Callable[[np.intp, NDArray[np.intp]], NDArray[np.float64]]:
    """Correlations across windows of the steps of a channel, as a function of the channel and the chosen steps."""
    mean = paths.mean(axis=0)
    # One array for all channels: fresh memory would cost more than the arithmetic.
    rows = np.empty((paths.shape[0], paths.shape[1]))

    def correlations(channel: np.intp, steps: NDArray[np.intp]) -> NDArray[np.float64]:
        np.subtract(paths[:, :, channel], mean[:, channel], out=rows)
        every = len(steps) == rows.shape[1]
        return centred_correlations(rows if every else rows[:, steps], mean[steps, channel])

    return correlations


def autocorrelation_tailgan(real: Numbers, fake: Numbers, lags: int = TAILGAN_LAGS) -> float:
    """Sum over channels and lags 0..min(lags, t - 1) of |mean over windows of the sample ACF, fake - real|
    (Tail-GAN).
    """
    ours, theirs = windows(real, fake)
    depth = min(lags, ours.shape[1] - 1)
    if depth < 1:
        raise DataError(f"an autocorrelation needs windows of at least two steps, found {ours.shape[1]}")
    return number("the ACF distance", np.abs(_path_acf(theirs, depth) - _path_acf(ours, depth)).sum())


def _varies(paths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each step and channel differs between windows; the first windows nearly always settle it."""
    varies: NDArray[np.bool_] = (paths[:HEAD] != paths[0]).any(axis=0)
    return varies if varies.all() else (paths != paths[0]).any(axis=0)


def _stationary_pair(
    real: Numbers, fake: Numbers, lags: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Autocorrelations of real and of generated windows at the lags that fit into a window, float64[d, lags] each."""
    ours, theirs = windows(real, fake)
    kept = _varies(ours)
    channels = kept.any(axis=0)
    if not channels.any():
        raise DataError("the ACF distance is undefined: every step and channel of the real windows is constant")
    if not channels.all():
        ours, theirs, kept = ours[:, :, channels], theirs[:, :, channels], kept[:, channels]
    inside = [lag for lag in lags if lag < ours.shape[1]]
    return _stationary(ours, kept, inside), _stationary(theirs, kept, inside)


def _stationary(paths: NDArray[np.float64], kept: NDArray[np.bool_], lags: Sequence[int]) -> NDArray[np.float64]:
    """Normalised rho of each channel and lag, float64[d, lags], over the cells kept; lags begin with 0."""
    n, t, _ = paths.shape
    # Cells that are left out count in no sum: they are set to 0, and pairs with them are not counted.
    whole = kept.all()
    mean = (paths if whole else np.where(kept, paths, 0.0)).sum(axis=0).sum(axis=0) / (n * kept.sum(axis=0))
    centred = paths - mean
    if not whole:
        centred *= kept
    # Many lags are worth a copy with a channel's steps side by side.
    layout = "ntd,ntd->d"
    if len(lags) > FEW_LAGS:
        centred, layout = np.ascontiguousarray(centred.transpose(2, 0, 1)), "dnt,dnt->d"
    inside = kept.T.astype(np.float64)
    products, pairs = np.empty((len(inside), len(lags))), np.empty((len(inside), len(lags)))
    for i, k in enumerate(lags):
        early, late = (
            (centred[:, : t - k], centred[:, k:])
            if layout == "ntd,ntd->d"
            else (centred[:, :, : t - k], centred[:, :, k:])
        )
        products[:, i] = np.einsum(layout, early, late)
        pairs[:, i] = n * (inside[:, : t - k] * inside[:, k:]).sum(axis=1)
    acf = np.divide(products, pairs, out=np.zeros_like(products), where=pairs > 0)
    # Rounding leaves a constant channel a variance that is tiny beside the square of its mean.
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
        differs="lags end where the windows do, where the code has NaN",
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
        differs="a step that is constant in the real windows is left out, where the code has NaN",
    ),
    Metric(
        "autocorrelation_tailgan",
        autocorrelation_tailgan,
        "paths",
        "sum of gaps of mean path ACFs",
        "none",
        "Cont et al. 2026",
        parameters={"lags": TAILGAN_LAGS},
        differs="the real ones are not rounded to 3 decimals; a window that is constant has 0, where the code leaves "
        "it out",
    ),
)
