"""Replicates of a fold for standard errors: a fold and its submission on a resample, and the metrics on all resamples.

A kind itself says how its folds are resampled, and which rows are drawn together
(:meth:`openfingym.kinds.Kind.resampling`); here is what kinds share.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.material import Array, Fold, Reader
from openfingym.metrics.comparison import ForecastComparison, Truth
from openfingym.metrics.redrawn import Redrawn
from openfingym.metrics.registry import find_metric
from openfingym.metrics.resampling import block_bootstrap
from openfingym.metrics.sampling_error import Replicates
from openfingym.metrics.scoring import metrics_where_defined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from openfingym.kinds.kind import Kind
    from openfingym.metrics.resampling import Resampling
    from openfingym.task.contracts import Contract
    from openfingym.task.scoring import Scoring

FEWEST_PERIODS = 6
"""Fewest periods of questions that stand for others, as of datasets in a report: fewer have next to no spread to tell
from."""


def replicates(
    kind: Kind, contract: Contract, scoring: Scoring, fold: Fold, submission: NDArray[np.float64], design: Resampling
) -> Replicates:
    """Every metric of a submission that has a score, on every replicate of a fold.

    Args:
        kind: the kind of the task.
        contract: the contract of the task.
        scoring: the scoring table of the task.
        fold: the public or the private fold of the task.
        submission: float64, of the task's submission shape.
        design: how this fold is drawn again, from :meth:`~openfingym.kinds.Kind.resampling`.
    """
    values = submission[fold.rows]
    # First those metrics that have a fast way over all replicates, then the others, replicate by replicate.
    results = _all_at_once(scoring, fold, kind.answer(contract, fold, values), design) if design.units_are_rows else {}
    if len(results) < len(scoring.metrics):
        rows = []
        for units in design.draws:
            drawn, drawn_values = kind.resampled(contract, fold, values, units)
            rows.append(
                metrics_where_defined(scoring, drawn.truth, kind.answer(contract, drawn, drawn_values), results)
            )
        results |= {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return Replicates.of(
        design,
        {entry.name: results[entry.name] for entry in scoring.metrics},
        _dealt(kind, contract, scoring, fold, values, design),
    )


def _dealt(
    kind: Kind, contract: Contract, scoring: Scoring, fold: Fold, values: NDArray[np.float64], design: Resampling
) -> Mapping[str, NDArray[np.float64]]:
    """The metrics where rows of an answer are dealt to other truths, by name; empty where a design has no deals."""
    rows = [
        metrics_where_defined(scoring, fold.truth, kind.answer(contract, fold, values[order]), {})
        for order in design.deals
    ]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]} if rows else {}


def _all_at_once(
    scoring: Scoring, fold: Fold, answer: Mapping[str, Array], design: Resampling
) -> dict[str, NDArray[np.float64]]:
    """Values on all replicates, by name, of those metrics that need not be computed replicate by replicate."""
    metrics = [find_metric(entry.name) for entry in scoring.metrics if entry.on == "path"]
    # The fast ways take every cell, known or not.
    if "y_pred" not in answer or fold.truth.unknown is not None:
        return {}
    results = {}
    for metric in metrics:
        # A metric that is a function of one number a row computes these numbers once.
        if metric.by_row is not None:
            drawn = metric.by_row(np.asarray(fold.truth.arrays["y_true"]), answer["y_pred"])
            results[metric.name] = np.array([drawn(rows) for rows in design.draws])
    if not any(metric.redrawn for metric in metrics):
        return results
    forecasts = Redrawn(ForecastComparison(fold.truth, answer["y_pred"]), design)
    return results | {metric.name: metric.redrawn(forecasts) for metric in metrics if metric.redrawn is not None}


def taken(
    fold: Fold, values: NDArray[np.float64], rows: NDArray[np.int64], **renewed: Array
) -> tuple[Fold, NDArray[np.float64]]:
    """A fold and its rows of a submission, made of some of its rows, in the order and as often as they are named.

    Args:
        fold: a fold in which every array of ``truth`` and of ``known`` has one row for each row of the submission.
        values: the rows of a submission that belong to the fold.
        rows: the rows to take, int64[any number]; a number may occur several times.
        renewed: arrays that take the place of those of the truth, by name, as they are.
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
    """A fold and its rows of a submission, made of all rows of some periods; see :func:`taken`.

    Args:
        fold: a fold whose truth has an array ``period``, the number of each row's period.
        values: the rows of a submission that belong to the fold.
        periods: the periods to take, counted from 0 in their order; int64[any number]. One that is drawn twice becomes
            two periods, as a metric that forms a portfolio for each would merge them otherwise.
    """
    members = _members(np.asarray(fold.truth.arrays["period"]))
    rows = np.concatenate([members[period] for period in periods])
    renewed = np.repeat(np.arange(len(periods)), [len(members[period]) for period in periods])
    return taken(fold, values, rows, period=renewed)


def drawn_by_period(period: NDArray[np.int64], seed: int) -> Resampling | None:
    """A bootstrap of blocks of periods whose units are the rows: all rows of a drawn period are drawn together.

    So rows in any order are counted as rows, and their errors as those of so many periods.

    Args:
        period: the number of each row's period, int64[rows]; periods are numbered in order of time.
        seed: seed from which the replicates are drawn.

    Returns:
        The design; None with fewer periods than :data:`FEWEST_PERIODS`.
    """
    members = _members(period)
    design = block_bootstrap(len(members), seed) if len(members) >= FEWEST_PERIODS else None
    if design is None:
        return None
    draws = tuple(np.concatenate([members[number] for number in draw]) for draw in design.draws)
    # Blocks are of periods, so that no reader could draw these rows again from a seed and a length in rows.
    return replace(design, draws=draws, units=len(period), units_are_rows=True, block=1, seed=None)


def _members(period: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The rows of each period, in the order of periods."""
    number = np.unique(period, return_inverse=True)[1]
    order = np.argsort(number, kind="stable")
    return np.split(order, np.cumsum(np.bincount(number))[:-1])


def count_of_periods(fold: Fold) -> int:
    """Number of different periods among the rows of a fold."""
    return len(np.unique(fold.truth.arrays["period"]))


def times_of_units(
    kind: Kind, contract: Contract, read: Reader, fold: Fold, rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """When each unit of a fold begins and ends, in Unix seconds, by public arrays alone.

    Args:
        kind: the kind of the task.
        contract: the contract of the task.
        read: reads the package's public arrays.
        fold: the fold, whose units are its periods, or where it has none, its rows.
        rows: number of rows of a submission.

    Returns:
        Begins and ends, int64[units] each; None where rows have no time, or units are not in order of time.
    """
    stated = kind.target_times(contract, read)
    if stated is None or np.isnat(stated).any():
        return None
    seconds = np.asarray(stated).astype("datetime64[s]").astype(np.int64).reshape(rows, -1)[fold.rows]
    number = fold.truth.arrays.get("period", np.arange(len(seconds)))
    units = np.unique(number, return_inverse=True)[1]
    first, last = seconds.min(axis=1), seconds.max(axis=1)
    # What happens in the first step begins a step before it ends; a unit of one step has a time and no length.
    first -= (last - first) // max(1, seconds.shape[1] - 1)
    begins, ends = np.full(units.max() + 1, first.max()), np.full(units.max() + 1, last.min())
    np.minimum.at(begins, units, first)
    np.maximum.at(ends, units, last)
    return None if (np.diff(begins) < 0).any() else (begins, np.maximum(ends, begins + 1))
