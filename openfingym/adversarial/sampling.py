"""The sampling error of a relative total on one fold: what another draw of the hidden rows would have given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, SubmissionError
from openfingym.kinds import Fold, score_fold
from openfingym.metrics import relative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.contracts import Contract
    from openfingym.kinds import Array
    from openfingym.scoring_table import Scoring

REPLICATES = 100
GROUPS = 8
"""Groups of generated windows, each left out in turn."""
LEVEL = 0.95


def relative_interval_of(
    contract: Contract, scoring: Scoring, fold: Fold, values: NDArray[np.float64], baseline: NDArray[np.float64]
) -> tuple[float, float]:
    """95 % interval of the relative total of ``values``, paired with the baseline on the same rows.

    A circular block bootstrap (Politis and Romano 1992) over the fold's rows, or over its periods where several rows share one,
    in blocks of about the cube root of their number; nodes and graphs one by one. Of generated windows, whose metrics take long,
    the jackknife that leaves out a group at a time. Student's t with a degree of freedom less than there are units, on the log scale.

    Args:
        contract: the task's.
        scoring: the task's scoring table.
        fold: the fold that is scored.
        values: a whole submission.
        baseline: the baseline's.

    Raises:
        DataError: the fold is too small for two replicates that can be scored.
    """
    from scipy.stats import t

    units = _units(fold, len(values[fold.rows]))
    grouped = contract.kind == "generation"
    draws = _left_out(len(units)) if grouped else _blocks(len(units), exchangeable=contract.kind in {"nodes", "graphs"})
    logs = []
    for drawn in draws:
        try:
            logs.append(_log_relative(contract, scoring, fold, values, baseline, [units[i] for i in drawn]))
        except (DataError, SubmissionError):
            # A draw may lack what a metric needs, such as a class; the others say how uncertain the score is.
            continue
    if len(logs) < 2:
        raise DataError(f"a fold of {len(units)} rows is too small to say how uncertain its score is")
    error = math.sqrt((len(logs) - 1) * float(np.var(logs))) if grouped else float(np.std(logs, ddof=1))
    freedom = (len(logs) if grouped else len(units)) - 1
    centre = _log_relative(contract, scoring, fold, values, baseline, units)
    half = float(t.ppf((1.0 + LEVEL) / 2.0, freedom)) * error
    return math.exp(centre - half), math.exp(centre + half)


def part(fold: Fold, rows: int, taken: NDArray[np.int64], period: NDArray[np.int64] | None = None) -> Fold:
    """A fold of some of the rows of another, whose submission has these rows alone.

    Args:
        fold: the whole fold.
        rows: how many it has.
        taken: rows of the fold, in any order and any number of times.
        period: number of the period of each; by default they keep theirs.
    """

    def some(arrays: Mapping[str, Array | float]) -> dict[str, Array | float]:
        return {name: array[taken] if len(np.shape(array)) and len(array) == rows else array for name, array in arrays.items()}  # type: ignore[index,arg-type]

    kept = {name: array for name, array in fold.truth.arrays.items() if name == "train"}
    arrays = {**some(fold.truth.arrays), **kept}
    if period is not None and "period" in arrays:
        arrays["period"] = period
    known = {name: array for name, array in fold.known.items() if name.startswith("copy_")}
    known = {**some(fold.known), **known}  # type: ignore[dict-item]  # arrays all
    return Fold(slice(None), replace(fold.truth, arrays=arrays), known)


def _units(fold: Fold, rows: int) -> list[NDArray[np.int64]]:
    """Rows of the fold that are drawn together."""
    periods = fold.truth.arrays.get("period")
    if periods is None or len(np.unique(periods)) == rows:
        return list(np.arange(rows)[:, None])
    return [np.flatnonzero(periods == period) for period in np.unique(periods)]


def _left_out(count: int) -> list[NDArray[np.int64]]:
    every = np.arange(count)
    return [np.setdiff1d(every, group) for group in np.array_split(every, min(GROUPS, count))]


def _blocks(count: int, *, exchangeable: bool) -> list[NDArray[np.int64]]:
    generator = np.random.default_rng(count)
    length = 1 if exchangeable else max(round(count ** (1.0 / 3.0)), 1)
    starts = generator.integers(count, size=(REPLICATES, -(-count // length)))
    return list((starts[:, :, None] + np.arange(length)).reshape(REPLICATES, -1)[:, :count] % count)


def _log_relative(
    contract: Contract,
    scoring: Scoring,
    fold: Fold,
    values: NDArray[np.float64],
    baseline: NDArray[np.float64],
    units: list[NDArray[np.int64]],
) -> float:
    taken = np.concatenate(units)
    # A period that is drawn twice is two periods, not one of twice as many rows.
    period = np.repeat(np.arange(len(units)), [len(unit) for unit in units])
    drawn = part(fold, len(values[fold.rows]), taken, period)
    ours, base = (score_fold(contract, scoring, drawn, whole[fold.rows][taken]).metrics for whole in (values, baseline))
    return math.log(relative(scoring, ours, base))
