"""Proper scores of probabilistic answers: quantiles and samples.

All are in the unit of the values and lower is better. The CRPS of a single sample, or of
quantiles that are all one value, is the absolute error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, first, known, number, same_shape
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pinball(y_true: Numbers, quantiles: Numbers, levels: Numbers) -> float:
    """Mean over cells and levels of max(a (y - q), (a - 1) (y - q)) (Koenker and Bassett 1978).

    Args:
        y_true: realised values, of any shape [...].
        quantiles: predicted quantiles of each value, [..., q], not decreasing along the last axis.
        levels: level a of each quantile, [q], increasing, in (0, 1).

    Raises:
        DataError: the truth or the levels are at fault.
        UsageError: the quantiles have a wrong shape or cross.
    """
    y, q, a = _quantiles(y_true, quantiles, levels)
    return number("the pinball loss", _pinball_by_level(y, q, a).mean())


def crps_quantiles(y_true: Numbers, quantiles: Numbers, levels: Numbers) -> float:
    """CRPS from quantiles: twice the pinball loss integrated over the level (Gneiting and Ranjan 2011).

    Each level stands for the levels nearer to it than to any other, out to 0 and 1; on the grid
    (i - 1/2) / q that is an equal weight, and the result tends to the CRPS as q grows.
    """
    y, q, a = _quantiles(y_true, quantiles, levels)
    # Halfway between neighbouring levels, and 0 and 1 at the ends.
    edges = np.concatenate(([0.0], (a[1:] + a[:-1]) / 2.0, [1.0]))
    return number("the CRPS", 2.0 * float(_pinball_by_level(y, q, a) @ np.diff(edges)))


def crps_samples(y_true: Numbers, samples: Numbers) -> float:
    """CRPS of the empirical distribution of samples, E|X - y| - E|X - X'| / 2 (Gneiting and Raftery 2007, eq. 21).

    This is the score of the k samples as the forecast they are, never negative; the "fair"
    estimator of an underlying distribution can be.

    Args:
        y_true: realised values, of any shape [...].
        samples: samples of each value in any order, [..., k].
    """
    y, x = known("y_true", y_true), answer("samples", samples)
    if x.ndim != y.ndim + 1 or x.shape[:-1] != y.shape:
        raise UsageError(f"samples have shape {x.shape}, expected {y.shape} and one more axis")
    k = x.shape[-1]
    weight = (2.0 * np.arange(1, k + 1) - k - 1.0) / (k * k)
    ordered = np.sort(x, axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        # E|X - X'| / 2 in k log k and not k^2: sum_ij |x_i - x_j| = 2 sum_i (2 i - k - 1) x_(i)
        spread = float((ordered @ weight).mean())
        ordered -= y[..., None]
        distance = float(np.abs(ordered, out=ordered).mean())
        # The two terms cancel for samples that sit on the truth; rounding must not make the score negative.
        return max(0.0, number("the CRPS", distance - spread))


def _pinball_by_level(y: NDArray[np.float64], q: NDArray[np.float64], a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean pinball loss over all cells at each level, float64[q]."""
    with np.errstate(over="ignore", invalid="ignore"):
        # max(a (y - q), (a - 1) (y - q)) is max(q - y, 0) - a (q - y), which needs one array of that size.
        error = (q - y[..., None]).reshape(-1, a.size)
        signed = error.mean(axis=0)
        by_level: NDArray[np.float64] = np.maximum(error, 0.0, out=error).mean(axis=0) - a * signed
    # The difference of two means, which rounding may leave a little below 0.
    return np.maximum(by_level, 0.0)


def _quantiles(
    y_true: Numbers, quantiles: Numbers, levels: Numbers
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Truth, quantiles and levels as float64, after checking that they fit."""
    y, a, q = known("y_true", y_true), known("levels", levels, 1), answer("quantiles", quantiles)
    if not (a[0] > 0.0 and a[-1] < 1.0 and (np.diff(a) > 0.0).all()):
        raise DataError(f"levels must increase and lie in (0, 1), found {a.tolist()}")
    same_shape("quantiles", q, (*y.shape, a.size))
    crossed = q[..., 1:] < q[..., :-1]
    if crossed.any():
        raise UsageError(f"quantiles{first(crossed)} is above the next one; quantiles must not cross")
    return y, q, a


METRICS = (
    Metric(
        "pinball",
        pinball,
        "quantiles",
        "mean pinball loss over levels",
        "unit",
        "Koenker and Bassett 1978",
        optimum=None,
    ),
    Metric(
        "crps_quantiles",
        crps_quantiles,
        "quantiles",
        "CRPS from quantiles",
        "unit",
        "Gneiting and Ranjan 2011",
        optimum=None,
        differs="levels weigh by the span they are nearest to, which on an equal grid is the paper's mean",
    ),
    Metric(
        "crps_samples",
        crps_samples,
        "ensemble",
        "CRPS of the samples' distribution",
        "unit",
        "Gneiting and Raftery 2007, eq. 21",
        optimum=None,
    ),
)
