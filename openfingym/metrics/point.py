"""Point-forecast errors, pooled over every window, step and channel.

The pooled RMSE differs from the mean of one RMSE a channel; OpenFinGym (arXiv 2606.26350,
Table 6) names the errors without saying which, and pooling is the choice made here.

Every function takes ``y_true`` and ``y_pred`` of one shape, commonly float64[n, h, d], and
returns a float in the unit of the values (its square for :func:`mse`). There is no undefined
case: a constant series is scored like any other, a single value is enough, and a perfect
forecast scores exactly 0. NaN, infinities, an empty array and differing shapes raise
:class:`~openfingym.errors.DataError` where the truth is at fault and
:class:`~openfingym.errors.UsageError` where the prediction is, as does a result beyond the
range of float64.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.arrays import Numbers, pair
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def mse(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean squared error, mean(e^2) over all cells, in squared units of the values."""
    return _of_error(mean_square, y_true, y_pred)


def rmse(y_true: Numbers, y_pred: Numbers) -> float:
    """Root mean squared error, sqrt(mean(e^2)) over all cells, in the unit of the values."""
    return math.sqrt(mse(y_true, y_pred))


def mae(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean absolute error, mean(|e|) over all cells, in the unit of the values."""
    return _of_error(mean_absolute, y_true, y_pred)


def mean_square(error: NDArray[np.float64]) -> float:
    """mean(e^2) of a finite, non-empty float64 array of any shape."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(float(np.vdot(error, error)) / error.size)


def mean_absolute(error: NDArray[np.float64]) -> float:
    """mean(|e|) of a finite, non-empty float64 array of any shape."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(float(np.add.reduce(np.abs(error), axis=None)) / error.size)


def _of_error(mean: Callable[[NDArray[np.float64]], float], y_true: Numbers, y_pred: Numbers) -> float:
    """A mean of the error of a prediction."""
    y, f = pair(y_true, y_pred, scan=False)
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.subtract(f, y)
    try:
        return mean(error)
    except UsageError:
        # A value that is not finite leaves a mean that is not, so the arrays are searched only now; if both are finite,
        # the mean has overflowed.
        pair(y, f)
        raise


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise UsageError("the error is too large for float64; predictions must be of a plausible size")
    return value


_PAPER = "OpenFinGym (arXiv 2606.26350), Table 6"
METRICS = (
    Metric(
        "mse",
        mse,
        "point",
        "mean squared error over all cells",
        "squared unit",
        _PAPER,
        shared=lambda comparison: mean_square(comparison.error),
        redrawn=lambda forecasts: forecasts.square,
        pools=True,
    ),
    Metric(
        "rmse",
        rmse,
        "point",
        "root mean squared error over all cells",
        "unit",
        _PAPER,
        shared=lambda comparison: math.sqrt(mean_square(comparison.error)),
        differs="pooled over channels, where the paper does not say; the mean of one RMSE a channel is smaller",
        redrawn=lambda forecasts: np.sqrt(forecasts.square),
        pools=True,
    ),
    Metric(
        "mae",
        mae,
        "point",
        "mean absolute error over all cells",
        "unit",
        _PAPER,
        shared=lambda comparison: mean_absolute(comparison.error),
        redrawn=lambda forecasts: forecasts.absolute,
        pools=True,
    ),
)
