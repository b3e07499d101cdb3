"""Point-forecast errors, pooled over every window, step and channel.

The pooled RMSE differs from the mean of one RMSE a channel; OpenFinGym (arXiv 2606.26350,
Table 6) names the errors without saying which, and pooling is the choice made here.

Every function takes ``y_true`` and ``y_pred`` of one shape, commonly float64[n, h, d], and
returns a float in the unit of the values (its square for :func:`mse`). There is no undefined
case: a constant series is scored like any other, a single value is enough, and a perfect
forecast scores exactly 0. NaN, infinities, an empty array and differing shapes raise
:class:`~openfingym.errors.UsageError`, as does a result beyond the range of float64.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mse(y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> float:
    """Mean squared error, mean(e^2) over all cells, in squared units of the values."""
    return mean_square(_error(y_true, y_pred))


def rmse(y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> float:
    """Root mean squared error, sqrt(mean(e^2)) over all cells, in the unit of the values."""
    return math.sqrt(mse(y_true, y_pred))


def mae(y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> float:
    """Mean absolute error, mean(|e|) over all cells, in the unit of the values."""
    return mean_absolute(_error(y_true, y_pred))


def mean_square(error: NDArray[np.float64]) -> float:
    """mean(e^2) of a finite, non-empty float64 array of any shape."""
    with np.errstate(over="ignore"):
        return _finite(float(np.vdot(error, error)) / error.size)


def mean_absolute(error: NDArray[np.float64]) -> float:
    """mean(|e|) of a finite, non-empty float64 array of any shape."""
    with np.errstate(over="ignore"):
        return _finite(float(np.abs(error).mean()))


def _error(y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> NDArray[np.float64]:
    if y_true.shape != y_pred.shape or y_true.size == 0:
        raise UsageError(f"need two non-empty arrays of one shape, found {y_true.shape} and {y_pred.shape}")
    if not (np.isfinite(y_true).all() and np.isfinite(y_pred).all()):
        raise UsageError("NaN or infinity among the values; a loss of them would not be a number")
    with np.errstate(over="ignore"):
        return np.subtract(y_pred, y_true, dtype=np.float64)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise UsageError("the error is too large for float64; predictions must be of a plausible size")
    return value
