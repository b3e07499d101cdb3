"""The total of a task: the weighted sum of its losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import SubmissionError, UsageError
from openfingym.metrics.bank import LOSSES
from openfingym.metrics.comparison import Comparison, Realised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.task import Scoring, ValueSemantics


@dataclass(frozen=True)
class Score:
    """What a forecast got; lower is better."""

    total: float
    """Weighted sum of the losses, finite."""
    metrics: dict[str, float]
    """Each loss by name, unweighted, in the order of the task's scoring table."""


def evaluate(
    scoring: Scoring,
    y_true: NDArray[np.float64],
    y_pred: NDArray[np.float64],
    last_value: NDArray[np.float64],
    semantics: ValueSemantics,
) -> Score:
    """Score a forecast.

    Args:
        scoring: the task's scoring table.
        y_true: float64[n, h, d], the realised values.
        y_pred: the predictions, of the same shape; any real number type, scored as float64.
        last_value: float64[n, d], the last row of each window's inputs.
        semantics: what the values are.

    Raises:
        SubmissionError: the predictions have a wrong shape or type, are not finite, or are so
            far out that a loss is not a finite number.
        DataError: the realised or last values are at fault.
        UsageError: the scoring table names an unknown loss.
    """
    truth = Realised(y_true, last_value, semantics, scoring.periods_per_year, scoring.tail_level)
    return score(scoring, truth, y_pred)


def score(scoring: Scoring, realised: Realised, y_pred: NDArray[np.float64]) -> Score:
    """Score a forecast of a truth that many forecasts are compared with; see :func:`evaluate`.

    Args:
        scoring: the task's scoring table.
        realised: the truth, with the table's ``periods_per_year`` and ``tail_level``.
        y_pred: the predictions, float64[n, h, d].
    """
    comparison = Comparison(realised, _checked(y_pred, realised.y_true.shape))
    metrics: dict[str, float] = {}
    total = 0.0
    for entry in scoring.metrics:
        loss = LOSSES.get(entry.name)
        if loss is None:
            raise UsageError(f"unknown metric {entry.name!r}; known: {', '.join(LOSSES)}")
        try:
            metrics[entry.name] = loss.function(comparison)
        except UsageError as error:
            raise SubmissionError(f"{entry.name} cannot be computed: {error}", problem="out-of-range") from None
        total += entry.weight * metrics[entry.name]
    if not math.isfinite(total):
        raise SubmissionError("the predictions are so far out that the total is not a finite number", problem="out-of-range")
    return Score(total, metrics)


def _checked(y_pred: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The predictions as finite float64 of the right shape."""
    if not isinstance(y_pred, np.ndarray) or y_pred.dtype.kind not in "fiu":
        found = getattr(y_pred, "dtype", type(y_pred).__name__)
        raise SubmissionError(f"predictions must be an array of real numbers, found {found}", problem="wrong-dtype")
    if y_pred.shape != shape:
        raise SubmissionError(f"predictions have shape {y_pred.shape}, expected {shape}", problem="wrong-shape")
    # A long double beyond float64 becomes infinite here and is refused like any other infinity.
    with np.errstate(over="ignore"):
        values = y_pred.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        cell = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise SubmissionError(f"predictions[{', '.join(map(str, cell))}] is not a finite number", problem="not-finite")
    return values
