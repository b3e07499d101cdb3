"""Point errors relative to the size of the truth, to its spread, or to a benchmark forecast.

Every function takes ``y_true`` and ``y_pred`` of one shape, commonly float64[n, h, d], pools all
cells and returns a pure number. What the truth makes undefined raises
:class:`~openfingym.errors.DataError`; what the prediction could make undefined has a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, all_finite, known, number, pair
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

ZERO_TARGET = 1e-8
"""Size below which a target is left out of MAPE: a percentage of it would mean nothing."""


def mape(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean absolute percentage error mean(|e| / |y|), as a fraction.

    Cells with |y| < 1e-8 are left out; scikit-learn divides by 2.2e-16 there instead.

    Raises:
        DataError: every target is that small.
    """
    y, f = pair(y_true, y_pred)
    size = np.abs(y)
    with np.errstate(over="ignore"):
        error = np.subtract(f, y)
        np.abs(error, out=error)
        if size.min() < ZERO_TARGET:
            keep = size >= ZERO_TARGET
            if not keep.any():
                raise DataError(f"MAPE is undefined: every target is smaller than {ZERO_TARGET}")
            size, error = size[keep], error[keep]
        return number("MAPE", np.divide(error, size, out=size).mean())


def smape(y_true: Numbers, y_pred: Numbers) -> float:
    """Symmetric MAPE mean(2 |e| / (|y| + |f|)), in [0, 2]; a cell with y = f = 0 counts 0."""
    y, f = pair(y_true, y_pred, scan=False)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.abs(y)
        total += np.abs(f)
        error = np.subtract(f, y)
        np.abs(error, out=error)
    # Searched only now: it finds out whose value is not finite; where none is, their sum has overflowed.
    if not all_finite(total):
        pair(y, f)
        raise UsageError("SMAPE is too large for float64; the values must be of a plausible size")
    # Both are 0, so the error is too.
    if total.min() == 0.0:
        total[total == 0.0] = 1.0
    return 2.0 * float(np.divide(error, total, out=error).mean())


def relative_mae(y_true: Numbers, y_pred: Numbers) -> float:
    """Sum of |e| over sum of |y| (normalised deviation).

    Raises:
        DataError: the truth is zero everywhere.
    """
    y, f = pair(y_true, y_pred, scan=False)
    with np.errstate(over="ignore", invalid="ignore"):
        return _ratio("relative MAE", float(np.abs(f - y).sum()), float(np.abs(y).sum()), y, f)


def relative_mse(y_true: Numbers, y_pred: Numbers) -> float:
    """Sum of e^2 over sum of y^2, which is 1 - :func:`r2_zero`.

    Raises:
        DataError: the truth is zero everywhere.
    """
    y, f = pair(y_true, y_pred, scan=False)
    return _ratio("relative MSE", _square(f, y), float(np.vdot(y, y)), y, f)


def nrmse(y_true: Numbers, y_pred: Numbers) -> float:
    """RMSE over the mean of |y| (``rmse_nd`` of the catalogue).

    Raises:
        DataError: the truth is zero everywhere.
    """
    y, f = pair(y_true, y_pred, scan=False)
    return _ratio("normalised RMSE", float(np.sqrt(_square(f, y) / y.size)), float(np.abs(y).mean()), y, f)


def r2(y_true: Numbers, y_pred: Numbers) -> float:
    """Coefficient of determination 1 - SSE / SST, pooled over all cells; higher is better.

    A constant truth gives 1 for an exact forecast and 0 for any other, as scikit-learn does.
    """
    y, f = pair(y_true, y_pred)
    error = _square(f, y)
    # SST is 0, or rounding.
    if y.min() == y.max():
        return 1.0 if error == 0.0 else 0.0
    return 1.0 - number("R2", error / _square(y, y.mean()))


def r2_zero(y_true: Numbers, y_pred: Numbers) -> float:
    """1 - sum(e^2) / sum(y^2), against a forecast of zero (Gu, Kelly and Xiu 2020); higher is better.

    Raises:
        DataError: the truth is zero everywhere.
    """
    y, f = pair(y_true, y_pred, scan=False)
    return 1.0 - _ratio("R2 against zero", _square(f, y), float(np.vdot(y, y)), y, f)


def r2_oos(y_true: Numbers, y_pred: Numbers, benchmark: Numbers | float) -> float:
    """1 - sum(e^2) / sum((y - b)^2), against a benchmark known beforehand; higher is better.

    Args:
        y_true: realised values, commonly float64[n, h, d].
        y_pred: predictions, of the same shape.
        benchmark: the benchmark forecast b, one number (such as the training mean) or an array that broadcasts to
            ``y_true``.

    Raises:
        DataError: the benchmark is exact, so that there is no error to divide by, or its shape does not fit.
    """
    y, f = pair(y_true, y_pred, scan=False)
    b = known("benchmark", np.asarray(benchmark))
    try:
        base = np.broadcast_to(b, y.shape)
    except ValueError:
        raise DataError(f"the benchmark has shape {b.shape}, which does not fit {y.shape}") from None
    return 1.0 - _ratio("out-of-sample R2", _square(f, y), _square(y, base), y, f)


def directional_accuracy(y_true: Numbers, y_pred: Numbers) -> float:
    """Share of cells with the right sign among those with y != 0; a forecast of 0 is half right. Higher is better.

    Half, since it says neither: a forecast of zero scores 0.5, as a coin does, and naming a sign without
    knowing it gains nothing in expectation.

    Raises:
        DataError: the truth is zero everywhere.
    """
    y, f = pair(y_true, y_pred)
    moves = np.count_nonzero(y)
    if moves == 0:
        raise DataError("directional accuracy is undefined: the truth is zero everywhere")
    right = np.count_nonzero((y > 0.0) & (f > 0.0)) + np.count_nonzero((y < 0.0) & (f < 0.0))
    return float((right + 0.5 * np.count_nonzero((y != 0.0) & (f == 0.0))) / moves)


def direction_macro_f1(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean of the F1 of "up" and of "down" over cells with y != 0; a forecast of 0 is half of each. Higher is better.

    So a forecast of zero scores about 0.5 and a forecast that always rises about 1/3. It rewards falls called as
    often as they happen, which is not what is best known of a series that rises more often than not.

    Raises:
        DataError: the truth never goes up, or never down.
    """
    y, f = pair(y_true, y_pred)
    moved = y != 0.0
    neither = np.count_nonzero(moved & (f == 0.0))
    scores = []
    for actual, guess in ((y > 0.0, (f > 0.0) & moved), (y < 0.0, (f < 0.0) & moved)):
        positives = np.count_nonzero(actual)
        if positives == 0:
            raise DataError("macro F1 of the direction is undefined: the truth moves one way only")
        hit = np.count_nonzero(actual & guess) + 0.5 * np.count_nonzero(actual & (f == 0.0))
        scores.append(2.0 * hit / (positives + np.count_nonzero(guess) + 0.5 * neither))
    return float(sum(scores) / 2.0)


def by_horizon(
    metric: Callable[[NDArray[np.float64], NDArray[np.float64]], float], y_true: Numbers, y_pred: Numbers
) -> NDArray[np.float64]:
    """A point metric of each horizon alone, float64[h].

    Args:
        metric: the metric, as a function of truth and prediction.
        y_true: realised values, [n, h, d].
        y_pred: predictions, [n, h, d].
    """
    y, f = pair(y_true, y_pred)
    if y.ndim != 3:
        raise DataError(f"a metric by horizon needs arrays [n, h, d], found {y.shape}")
    return np.array([metric(y[:, h], f[:, h]) for h in range(y.shape[1])])


def mafe_by_horizon(y_true: Numbers, y_pred: Numbers) -> NDArray[np.float64]:
    """MAE of each horizon, float64[h] in the unit of the values, of truth and prediction [n, h, d]."""
    y, f = pair(y_true, y_pred, scan=False)
    if y.ndim != 3:
        raise DataError(f"MAFE by horizon needs arrays [n, h, d], found {y.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.subtract(f, y)
        # Windows first: the inner loop is then over contiguous cells.
        errors: NDArray[np.float64] = np.abs(error, out=error).sum(axis=0).sum(axis=1) / (y.shape[0] * y.shape[2])
    if not all_finite(errors):
        pair(y, f)
        raise UsageError("MAFE is too large for float64; the values must be of a plausible size")
    return errors


def mafe(y_true: Numbers, y_pred: Numbers) -> float:
    """Mean over horizons of :func:`mafe_by_horizon`, in the unit of the values."""
    return number("MAFE", mafe_by_horizon(y_true, y_pred).mean())


def _square(a: NDArray[np.float64], b: NDArray[np.float64] | float) -> float:
    """Sum of the squared differences."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.subtract(a, b)
        return float(np.vdot(error, error))


def _ratio(name: str, loss: float, scale: float, y: NDArray[np.float64], f: NDArray[np.float64]) -> float:
    """Quotient of two sums over the cells of truth ``y`` and prediction ``f``.

    Raises:
        DataError: the truth is not finite, or ``scale`` is 0.
        UsageError: the prediction is not finite, or the quotient too large for float64.
    """
    # A value that is not finite leaves a sum that is not, so the arrays are searched only then.
    if not (math.isfinite(loss) and math.isfinite(scale)):
        pair(y, f)
    if scale == 0.0:
        raise DataError(f"{name} is undefined: the scale it divides by is zero")
    return number(name, loss / scale)


_PAPER = "OpenFinGym (arXiv 2606.26350), Table 6"
_BELOW_ONE = (-float("inf"), 1.0)
METRICS = (
    Metric(
        "mape",
        mape,
        "point",
        "mean absolute error as a fraction of |y|, cells with |y| < 1e-8 left out",
        "none",
        _PAPER,
        proper=False,
        differs="cells with |y| < 1e-8 are left out, where scikit-learn divides by 2.2e-16",
        pools=True,
    ),
    Metric(
        "smape",
        smape,
        "point",
        "mean of 2 |e| / (|y| + |f|)",
        "none",
        _PAPER,
        (0.0, 2.0),
        proper=False,
        pools=True,
    ),
    Metric(
        "relative_mae",
        relative_mae,
        "point",
        "sum of |e| over sum of |y|",
        "none",
        "Salinas et al. 2020, ND",
        pools=True,
    ),
    Metric("relative_mse", relative_mse, "point", "sum of e^2 over sum of y^2", "none", "1 - r2_zero", pools=True),
    Metric("nrmse", nrmse, "point", "RMSE over mean |y|", "none", "Salinas et al. 2020, NRMSE", pools=True),
    Metric(
        "r2", r2, "point", "coefficient of determination, pooled", "none", _PAPER, _BELOW_ONE, "higher", 1.0, pools=True
    ),
    Metric(
        "r2_zero",
        r2_zero,
        "point",
        "R2 against a forecast of zero",
        "none",
        "Gu, Kelly and Xiu 2020",
        _BELOW_ONE,
        "higher",
        1.0,
        pools=True,
    ),
    Metric(
        "r2_oos",
        r2_oos,
        "benchmark",
        "R2 against a benchmark forecast",
        "none",
        _PAPER,
        _BELOW_ONE,
        "higher",
        1.0,
        differs="the tasks' benchmark is the training mean, where the paper does not say",
        pools=True,
    ),
    Metric(
        "directional_accuracy",
        directional_accuracy,
        "point",
        "share of right signs where y is not 0",
        "none",
        "OpenFinGym (arXiv 2606.26350), section 3.1",
        (0.0, 1.0),
        "higher",
        1.0,
        version=2,
        changed="a forecast of 0 was wrong",
        differs="a forecast of 0 is half right, where the paper does not say",
        pools=True,
    ),
    Metric(
        "direction_macro_f1",
        direction_macro_f1,
        "point",
        "mean F1 of up and down",
        "none",
        "Rahimikia, Ni and Wang 2025",
        (0.0, 1.0),
        "higher",
        1.0,
        proper=False,
        version=2,
        changed="a forecast of 0 was neither up nor down",
        differs="a forecast of 0 is half of each class, where the paper does not say",
        pools=True,
    ),
    Metric(
        "mafe",
        mafe,
        "point",
        "mean over horizons of the MAE",
        "unit",
        "Kumar, Umeorah and Alochukwu 2024",
        differs="one number, the mean over the horizons, where the paper lists each",
    ),
)
