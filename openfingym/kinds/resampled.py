"""A fold and its rows of a submission on a resample, and the metrics of all of them.

What is drawn as a whole, and how, a kind says itself (:meth:`openfingym.kinds.Kind.resampling`); what
several kinds share of it is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.material import Array, Fold
from openfingym.metrics.comparison import ForecastComparison, Truth
from openfingym.metrics.redrawn import Redrawn
from openfingym.metrics.registry import find_metric
from openfingym.metrics.sampling_error import Replicates
from openfingym.metrics.scoring import metrics_where_defined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from openfingym.kinds.kind import Kind
    from openfingym.metrics.resampling import Resampling
    from openfingym.task.contracts import Contract
    from openfingym.task.scoring import Scoring


def replicates(
    kind: Kind, contract: Contract, scoring: Scoring, fold: Fold, submission: NDArray[np.float64], design: Resampling
) -> Replicates:
    """Every metric of a submission that has a score, on every replicate of a fold.

    Args:
        kind: the kind of the contract.
        contract: the contract of the task.
        scoring: the scoring table of the task.
        fold: the public or the private fold of the task.
        submission: float64, of the task's submission shape.
        design: how this fold is drawn again, from :meth:`~openfingym.kinds.Kind.resampling`.
    """
    values = submission[fold.rows]
    found = _all_at_once(scoring, fold, kind.answer(contract, fold, values), design) if design.units_are_rows else {}
    if len(found) < len(scoring.metrics):
        rows = []
        for units in design.draws:
            drawn, drawn_values = kind.resampled(contract, fold, values, units)
            rows.append(metrics_where_defined(scoring, drawn.truth, kind.answer(contract, drawn, drawn_values), found))
        found |= {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return Replicates.of(design, {entry.name: found[entry.name] for entry in scoring.metrics})


def _all_at_once(
    scoring: Scoring, fold: Fold, answer: Mapping[str, Array], design: Resampling
) -> dict[str, NDArray[np.float64]]:
    """Those metrics that need not be computed replicate by replicate."""
    metrics = [find_metric(entry.name) for entry in scoring.metrics if entry.on == "path"]
    if "y_pred" not in answer:
        return {}
    found = {}
    for metric in metrics:
        if metric.by_row is not None:
            drawn = metric.by_row(np.asarray(fold.truth.arrays["y_true"]), answer["y_pred"])
            found[metric.name] = np.array([drawn(rows) for rows in design.draws])
    if not any(metric.redrawn for metric in metrics):
        return found
    forecasts = Redrawn(ForecastComparison(fold.truth, answer["y_pred"]), design)
    return found | {metric.name: metric.redrawn(forecasts) for metric in metrics if metric.redrawn is not None}


def taken(
    fold: Fold, values: NDArray[np.float64], rows: NDArray[np.int64], **renewed: Array
) -> tuple[Fold, NDArray[np.float64]]:
    """A fold and its rows of a submission with some rows alone, in this order and as often as they are named.

    Args:
        fold: a fold in which every array of the truth, and of what is known, has one row for each row of the
            submission.
        values: the rows of a submission that belong to the fold.
        rows: int64[any number], the rows to take; a number may occur several times.
        renewed: arrays of the truth that are given as they are, instead of being indexed by ``rows``.
    """
    arrays = {
        name: array[rows] if isinstance(array, np.ndarray) else array for name, array in fold.truth.arrays.items()
    }
    known = {name: array[rows] for name, array in fold.known.items()}
    truth = Truth({**arrays, **renewed}, fold.truth.options, fold.truth.seed)
    return Fold(slice(None), truth, known), values[rows]


def taken_by_period(
    fold: Fold, values: NDArray[np.float64], periods: NDArray[np.int64]
) -> tuple[Fold, NDArray[np.float64]]:
    """:func:`taken` with all rows of some periods, counted from 0 in order; one that is drawn twice is two periods.

    The truth's array ``period`` says which one a row is of.
    """
    number = np.unique(fold.truth.arrays["period"], return_inverse=True)[1]
    order = np.argsort(number, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(number))[:-1])
    rows = np.concatenate([members[period] for period in periods])
    renewed = np.repeat(np.arange(len(periods)), [len(members[period]) for period in periods])
    return taken(fold, values, rows, period=renewed)


def count_of_periods(fold: Fold) -> int:
    """Number of different periods among the rows of a fold."""
    return len(np.unique(fold.truth.arrays["period"]))
