"""Risk of forecasts: gaps of Sharpe ratio, VaR and ES between predicted and realised paths.

Every function takes ``y_true`` and ``y_pred`` [n, h, d], ``last_value`` [n, d] (the last row of each
window's inputs), and what the values are. Returns along the paths are pooled over windows and
steps; the gap is the mean over assets (OpenFinGym, arXiv 2606.26350, Table 6).

A fault of the truth raises :class:`~openfingym.errors.DataError`, one of the prediction
:class:`~openfingym.errors.UsageError`, such as a predicted price that is not positive.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, known, same_shape
from openfingym.metrics.comparison import PERIODS_PER_YEAR, TAIL_LEVEL
from openfingym.metrics.record import Metric
from openfingym.metrics.risk import mean_gap, path_returns, sharpe_ratio, tail_risk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.metrics.semantics import ValueSemantics


def delta_sharpe(
    y_true: Numbers,
    last_value: Numbers,
    y_pred: Numbers,
    semantics: ValueSemantics,
    periods_per_year: float = PERIODS_PER_YEAR,
) -> float:
    """Mean over assets of |Sharpe_pred - Sharpe_true|, annualised by sqrt(``periods_per_year``)."""
    true, predicted = _returns(y_true, last_value, y_pred, semantics)
    return mean_gap(sharpe_ratio(true, periods_per_year), sharpe_ratio(predicted, periods_per_year))


def delta_var(
    y_true: Numbers, last_value: Numbers, y_pred: Numbers, semantics: ValueSemantics, tail_level: float = TAIL_LEVEL
) -> float:
    """Mean over assets of |VaR_pred - VaR_true| at ``tail_level``, in the unit of the returns."""
    true, predicted = _returns(y_true, last_value, y_pred, semantics)
    return mean_gap(tail_risk(true, tail_level)[0], tail_risk(predicted, tail_level)[0])


def delta_es(
    y_true: Numbers, last_value: Numbers, y_pred: Numbers, semantics: ValueSemantics, tail_level: float = TAIL_LEVEL
) -> float:
    """Mean over assets of |ES_pred - ES_true| at ``tail_level``, in the unit of the returns."""
    true, predicted = _returns(y_true, last_value, y_pred, semantics)
    return mean_gap(tail_risk(true, tail_level)[1], tail_risk(predicted, tail_level)[1])


def _returns(
    y_true: Numbers, last_value: Numbers, y_pred: Numbers, semantics: ValueSemantics
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns along the realised and the predicted paths, float64[d, n * h] each."""
    # The truth first, whose last values the prediction's returns start from: a fault in it is not the agent's.
    y, last = known("y_true", y_true, 3), known("last_value", last_value, 2)
    try:
        true = path_returns(y, last, semantics)
    except UsageError as error:
        raise DataError(f"the realised values: {error}") from None
    f = answer("y_pred", y_pred, 3)
    same_shape("y_pred", f, y.shape)
    return true, path_returns(f, last, semantics)


_PAPER = "OpenFinGym (arXiv 2606.26350), Table 6"
_GAP = "mean over assets of the absolute difference of {}, predicted against realised"
_tail_gap = partial(
    Metric,
    problem="forecast",
    unit="return",
    source=_PAPER,
    options=("semantics", "tail_level"),
    proper=False,
    differs="defined here, since the paper only names it: returns pooled over windows and steps",
)
METRICS = (
    Metric(
        "delta_sharpe",
        delta_sharpe,
        "forecast",
        _GAP.format("Sharpe ratios"),
        "none",
        _PAPER,
        options=("semantics", "periods_per_year"),
        shared=lambda comparison: mean_gap(comparison.truth.sharpe, comparison.sharpe),
        proper=False,
        differs=(
            "defined here, since the paper only names it: returns pooled over windows and steps, a flat forecast has 0"
        ),
        redrawn=lambda forecasts: forecasts.sharpe_gap,
    ),
    _tail_gap(
        "delta_var",
        delta_var,
        description=_GAP.format("Value-at-Risk"),
        shared=lambda comparison: mean_gap(comparison.truth.tail[0], comparison.tail[0]),
        redrawn=lambda forecasts: forecasts.tail_gaps[0],
    ),
    _tail_gap(
        "delta_es",
        delta_es,
        description=_GAP.format("Expected Shortfall"),
        shared=lambda comparison: mean_gap(comparison.truth.tail[1], comparison.tail[1]),
        redrawn=lambda forecasts: forecasts.tail_gaps[1],
    ),
)
