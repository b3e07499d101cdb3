"""The reward bank: losses of a forecast against the truth, all lower-is-better.

Arrays are float64[n, h, d]: windows, horizon, channels. A function here never returns NaN or
infinity; what cannot be scored raises, and the error says whose fault it is.
"""

from openfingym.metrics.bank import LOSSES, Loss
from openfingym.metrics.comparison import Comparison, Realised
from openfingym.metrics.naive import naive_forecast
from openfingym.metrics.point import mae, mse, rmse
from openfingym.metrics.risk import (
    delta_es,
    delta_sharpe,
    delta_var,
    expected_shortfall,
    path_returns,
    sharpe_ratio,
    tail_risk,
    value_at_risk,
)
from openfingym.metrics.scoring import Score, evaluate, score

__all__ = [
    "LOSSES",
    "Comparison",
    "Loss",
    "Realised",
    "Score",
    "delta_es",
    "delta_sharpe",
    "delta_var",
    "evaluate",
    "expected_shortfall",
    "mae",
    "mse",
    "naive_forecast",
    "path_returns",
    "rmse",
    "score",
    "sharpe_ratio",
    "tail_risk",
    "value_at_risk",
]
