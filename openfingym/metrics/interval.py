"""Prediction intervals: coverage, width, and the scores that trade one for the other.

Arrays are ``y_true``, ``lower`` and ``upper`` of one shape. An interval with lower above upper is
refused. Coverage alone is won by infinite intervals and width alone by empty ones, so
:func:`picp` and :func:`mpiw` are diagnostics; what may be optimised is :func:`coverage_gap`
beside :func:`cwc`, or the proper :func:`interval_score`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, first, in_unit_interval, known, number, same_shape
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bounds = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]

TARGET = 0.95
"""Nominal coverage of the paper's interval task."""
STEEPNESS = 50.0
"""Rate eta at which CWC grows with missing coverage (Khosravi et al. 2010)."""


def picp(y_true: Numbers, lower: Numbers, upper: Numbers) -> float:
    """Share of cells with lower <= y <= upper (prediction interval coverage probability)."""
    y, low, high = _arrays(y_true, lower, upper)
    above, below = low <= y, y <= high
    crossed = low > high
    if crossed.any():
        raise _crossing(crossed)
    return _share(above, below)


def coverage_gap(y_true: Numbers, lower: Numbers, upper: Numbers, target: float = TARGET) -> float:
    """Distance of the coverage from the target, |PICP - target|, in [0, 1]."""
    in_unit_interval("target", target)
    return abs(picp(y_true, lower, upper) - target)


def mpiw(y_true: Numbers, lower: Numbers, upper: Numbers) -> float:
    """Mean of upper - lower (mean prediction interval width), in the unit of the values."""
    return _bounds(y_true, lower, upper)[4]


def nmpiw(y_true: Numbers, lower: Numbers, upper: Numbers) -> float:
    """MPIW over the range of the truth, max(y) - min(y).

    Raises:
        DataError: the truth is constant, so that it has no range.
    """
    y, _, _, _, width = _bounds(y_true, lower, upper)
    return number("NMPIW", width / _spread(y))


def cwc(y_true: Numbers, lower: Numbers, upper: Numbers, target: float = TARGET) -> float:
    """Coverage width criterion NMPIW (1 + 1[PICP < target] exp(-50 (PICP - target))) (Khosravi et al. 2010).

    It reaches 4e20 times NMPIW at no coverage, so a total must clip it. Intervals of no width
    score 0 whatever they cover, a defect of the criterion that :func:`interval_score` does not
    have; they get the penalty on a width of one hundredth of the truth's range instead.

    Raises:
        DataError: the truth is constant, so that it has no range.
    """
    in_unit_interval("target", target)
    y, low, high, _, mean = _bounds(y_true, lower, upper)
    width, covered = mean / _spread(y), _share(low <= y, y <= high)
    if covered >= target:
        return number("CWC", width)
    # The penalty multiplies the width, which must therefore not be 0.
    return number("CWC", max(width, 0.01) * (1.0 + math.exp(-STEEPNESS * (covered - target))))


def interval_score(y_true: Numbers, lower: Numbers, upper: Numbers, target: float = TARGET) -> float:
    """Mean of (u - l) + (2 / a) (l - y)+ + (2 / a) (y - u)+ with a = 1 - target (Gneiting and Raftery 2007, eq. 43).

    Proper: its expectation is smallest for the true quantiles at a / 2 and 1 - a / 2.
    """
    in_unit_interval("target", target)
    y, low, high, _, width = _bounds(y_true, lower, upper)
    with np.errstate(over="ignore"):
        # In place, since these arrays are of no further use.
        below, above = low - y, y - high
        misses = np.add.reduce(np.maximum(below, 0.0, out=below), axis=None) + np.add.reduce(
            np.maximum(above, 0.0, out=above), axis=None
        )
        return number("the interval score", width + 2.0 / (1.0 - target) * misses / y.size)


def _bounds(y_true: Numbers, lower: Numbers, upper: Numbers) -> Bounds:
    """Truth, lower and upper bounds, upper - lower, and the mean of that, all checked."""
    y, low, high = _arrays(y_true, lower, upper)
    # Whether bounds cross is seen from the width, which is needed anyway.
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
        mean = float(np.add.reduce(width, axis=None)) / width.size
    if width.min() < 0.0:
        raise _crossing(low > high)
    return y, low, high, width, number("the mean width", mean)


def _arrays(
    y_true: Numbers, lower: Numbers, upper: Numbers
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Truth, lower and upper bounds, finite and of one shape."""
    y, low, high = known("y_true", y_true), answer("lower", lower), answer("upper", upper)
    same_shape("lower", low, y.shape)
    same_shape("upper", high, y.shape)
    return y, low, high


def _crossing(crossed: NDArray[np.bool_]) -> UsageError:
    where = first(crossed)
    return UsageError(f"lower{where} is above upper{where}; an interval needs lower <= upper")


def _share(above: NDArray[np.bool_], below: NDArray[np.bool_]) -> float:
    """Share of cells in which both hold; overwrites ``above``."""
    return float(np.count_nonzero(np.logical_and(above, below, out=above)) / above.size)


def _spread(y: NDArray[np.float64]) -> float:
    """The range of the truth, above 0."""
    spread = float(y.max()) - float(y.min())
    if spread == 0.0:
        raise DataError("the width relative to the truth's range is undefined: the truth is constant")
    return spread


_SOURCE = "Khosravi et al. 2010; OpenFinGym (arXiv 2606.26350), Table 6"
_TARGET = {"target": TARGET}
METRICS = (
    Metric(
        "picp",
        picp,
        "interval",
        "share of values inside their interval",
        "fraction",
        _SOURCE,
        (0.0, 1.0),
        "higher",
        None,
        diagnostic=True,
        proper=False,
        pools=True,
    ),
    Metric(
        "mpiw",
        mpiw,
        "interval",
        "mean width",
        "unit",
        _SOURCE,
        optimum=None,
        diagnostic=True,
        proper=False,
        pools=True,
    ),
    Metric(
        "nmpiw",
        nmpiw,
        "interval",
        "mean width over the truth's range",
        "none",
        _SOURCE,
        optimum=None,
        diagnostic=True,
        proper=False,
        pools=True,
    ),
    Metric(
        "coverage_gap",
        coverage_gap,
        "interval",
        "distance of the coverage from 0.95",
        "fraction",
        _SOURCE,
        (0.0, 1.0),
        optimum=None,
        parameters=_TARGET,
        proper=False,
        differs="the distance to the target, where the paper has PICP itself",
        pools=True,
    ),
    Metric(
        "cwc",
        cwc,
        "interval",
        "width with an exponential penalty on missed coverage",
        "none",
        _SOURCE,
        optimum=None,
        clip=(0.0, 5.0),
        parameters=_TARGET,
        proper=False,
        differs="below the target a width under one hundredth of the truth's range counts as that much",
        pools=True,
    ),
    Metric(
        "interval_score",
        interval_score,
        "interval",
        "width plus 2 / a times each miss",
        "unit",
        "Gneiting and Raftery 2007, eq. 43",
        optimum=None,
        parameters=_TARGET,
        pools=True,
    ),
)
