"""The losses a task may name in its scoring table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from openfingym.metrics.comparison import Comparison
from openfingym.metrics.point import mean_absolute, mean_square
from openfingym.metrics.risk import mean_gap

PAPER = "OpenFinGym (arXiv 2606.26350), Table 6"
NON_NEGATIVE = (0.0, math.inf)


@dataclass(frozen=True)
class Loss:
    """A number that says how far a forecast is from the truth."""

    name: str
    """Name in ``task.toml`` and in every result."""
    function: Callable[[Comparison], float]
    """Pure; finite, or raises."""
    description: str
    """What is computed, in one line."""
    unit: str
    """Unit of the result in terms of the values'."""
    source: str
    """Paper, and the table or equation in it."""
    needs: tuple[str, ...]
    """Fields of :class:`Comparison` and of its :class:`Realised` it reads."""
    range: tuple[float, float] = NON_NEGATIVE
    """Smallest and largest possible result; the smallest is that of a perfect forecast."""
    direction: Literal["lower"] = "lower"
    """Every loss is better when lower."""


VALUES = ("y_true", "y_pred")
PATHS = (*VALUES, "last_value", "semantics")


def _sharpe_gap(comparison: Comparison) -> float:
    return mean_gap(comparison.realised.sharpe, comparison.pred_sharpe)


def _var_gap(comparison: Comparison) -> float:
    return mean_gap(comparison.realised.tail[0], comparison.pred_tail[0])


def _es_gap(comparison: Comparison) -> float:
    return mean_gap(comparison.realised.tail[1], comparison.pred_tail[1])


_ALL = (
    Loss("mse", lambda c: mean_square(c.error), "mean squared error over all cells", "squared unit", PAPER, VALUES),
    Loss("rmse", lambda c: math.sqrt(mean_square(c.error)), "root mean squared error over all cells", "unit", PAPER, VALUES),
    Loss("mae", lambda c: mean_absolute(c.error), "mean absolute error over all cells", "unit", PAPER, VALUES),
    Loss(
        "delta_sharpe",
        _sharpe_gap,
        "mean over assets of the absolute difference of Sharpe ratios, predicted against realised",
        "none",
        PAPER,
        (*PATHS, "periods_per_year"),
    ),
    Loss(
        "delta_var",
        _var_gap,
        "mean over assets of the absolute difference of Value-at-Risk, predicted against realised",
        "return",
        PAPER,
        (*PATHS, "tail_level"),
    ),
    Loss(
        "delta_es",
        _es_gap,
        "mean over assets of the absolute difference of Expected Shortfall, predicted against realised",
        "return",
        PAPER,
        (*PATHS, "tail_level"),
    ),
)

LOSSES: Mapping[str, Loss] = MappingProxyType({loss.name: loss for loss in _ALL})
"""Every known loss by name."""
