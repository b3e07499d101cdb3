"""Sampling errors of scores: standard errors and 95 % intervals from replicates of a fold.

A fold of 20 windows is one draw of many that the same market could have given. Replicates
(:mod:`openfingym.metrics.resampling`) show how far a result moves from one to the next. A relative
total compares answer and baseline on the *same* replicate, which takes out what is hard or easy for both.

Intervals are Student's: total +- t s, and for the relative total exp(log r +- t s), with s the standard error and t the
97.5 % quantile at the design's degrees of freedom (few blocks say little of their own spread).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from openfingym.metrics.aggregation import (
    LARGEST_RATIO,
    SMALLEST_RATIO,
    log_ratios,
    losses,
    relative_losses,
    smallest_loss,
)
from openfingym.metrics.registry import find_metric
from openfingym.metrics.relative_sample import RelativeSample, standard_error
from openfingym.metrics.resampling import student
from openfingym.metrics.scoring import relative, relative_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.resampling import Resampling
    from openfingym.metrics.scoring import Rules, Score
    from openfingym.metrics.unit_calendar import UnitCalendar

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Replicates:
    """The metrics of one answer on every replicate of a fold."""

    metrics: Mapping[str, NDArray[np.float64]]
    """Each metric on every replicate, float64[replicates] by name; NaN where it has no value on a replicate."""
    scale: float
    """Scale of the :class:`~openfingym.metrics.resampling.Resampling`; the next three fields are from there, too."""
    freedom: float
    full_size: bool
    units: int
    dealt: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Each metric where the answer is dealt to other truths (:attr:`Resampling.deals`), by name; empty without."""

    @property
    def reach(self) -> float:
        """Half the width of a 95 % interval in standard errors."""
        return student(self.freedom)

    @classmethod
    def of(
        cls,
        design: Resampling,
        metrics: Mapping[str, NDArray[np.float64]],
        dealt: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> Replicates:
        """Results on the replicates of a design."""
        return cls(metrics, design.scale, design.freedom, design.full_size, design.units, dealt or {})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Results on replicates of one design that were computed apart, at least one part, in the design's order."""
        first = parts[0]
        metrics, dealt = (
            {name: np.concatenate([side[name] for side in sides]) for name in sides[0]}
            for sides in ([part.metrics for part in parts], [part.dealt for part in parts])
        )
        return cls(metrics, first.scale, first.freedom, first.full_size, first.units, dealt)

    def to_dict(self) -> dict[str, object]:
        """Plain values; NaN where there is no value, as Python's JSON writes it."""
        metrics, dealt = (
            {name: values.tolist() for name, values in side.items()} for side in (self.metrics, self.dealt)
        )
        return {
            "metrics": metrics,
            "dealt": dealt,
            "scale": self.scale,
            "freedom": self.freedom,
            "full_size": self.full_size,
            "units": self.units,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Replicates:
        """Read what :meth:`to_dict` gave."""
        metrics, dealt = (
            {name: np.array(values, dtype=np.float64) for name, values in data[side].items()}  # type: ignore[attr-defined]
            for side in ("metrics", "dealt")
        )
        scale, freedom = (float(data[name]) for name in ("scale", "freedom"))  # type: ignore[arg-type]
        return cls(metrics, scale, freedom, bool(data["full_size"]), int(data["units"]), dealt)  # type: ignore[call-overload]

    def standard_error(self, results: NDArray[np.float64]) -> float | None:
        """Standard error of a number from its replicates; None where too many are NaN, or it is not finite."""
        return standard_error(results, self.scale)


@dataclass(frozen=True)
class SamplingError:
    """Standard errors and intervals of a score."""

    standard_errors: Mapping[str, float] = field(default_factory=dict)
    """Standard error of each metric by name, in its unit; without metrics that have no value on too many
    replicates."""
    total_interval: Interval | None = None
    """95 % interval of the paper's total; None where nothing can be said."""
    total_standard_error: float | None = None
    """Standard error of the paper's total."""
    relative_interval: Interval | None = None
    """95 % interval of the relative total, paired with the baseline."""
    relative_standard_error: float | None = None
    """Standard error of the logarithm of the relative total."""
    relative_sample: RelativeSample | None = None
    """The logarithm of the relative total on every replicate, by which two answers are compared in pairs."""


def sampling_error(rules: Rules, score: Score, baseline: Score, calendar: UnitCalendar | None = None) -> SamplingError:
    """Compute the standard errors and 95 % intervals of a score.

    Args:
        rules: the scoring table of the task.
        score: score of an answer on one fold, with its replicates.
        baseline: score of the task's baseline on the same fold and the same replicates.
        calendar: when the units of the fold were; None if that is not known.

    Returns:
        Everything None and empty where there are no replicates.

    Raises:
        UsageError: no metric of the table may rank.
    """
    own, theirs = score.replicates, baseline.replicates
    if own is None or theirs is None:
        return SamplingError()
    rank = relative(rules, score.metrics, baseline.metrics)
    # The paper's total is a sum of losses, so that its error is that of the sum on each replicate.
    errors = {name: own.standard_error(values) for name, values in own.metrics.items()}
    terms = [
        entry.weight * losses(find_metric(entry.name), own.metrics[entry.name])
        for entry in rules.metrics
        if entry.weight != 0.0
    ]
    total_error = own.standard_error(np.sum(terms, axis=0)) if terms else None
    smallest = math.fsum(
        entry.weight * smallest_loss(find_metric(entry.name)) for entry in rules.metrics if entry.weight != 0.0
    )
    sample = _log_sample(rules, score, baseline, own, theirs)
    log_error = sample.error
    return SamplingError(
        standard_errors={name: error for name, error in errors.items() if error is not None},
        total_standard_error=total_error,
        total_interval=None if total_error is None else _about(score.total, own.reach * total_error, smallest),
        relative_interval=None if log_error is None else _around(rank, own.reach * log_error),
        relative_standard_error=log_error,
        relative_sample=None if log_error is None else replace(sample, calendar=calendar),
    )


def _log_sample(rules: Rules, score: Score, baseline: Score, own: Replicates, theirs: Replicates) -> RelativeSample:
    """The logarithm of the relative total on every replicate, but for a constant."""
    weights = {name: weight for name, weight in relative_weights(rules).items() if weight != 0.0}
    logs = []
    for name, weight in weights.items():
        loss, base = (relative_losses(name, side.metrics[name]) for side in (own, theirs))
        if own.full_size:
            logs.append(weight * log_ratios(loss, base))
            continue
        # Small replicates have another level, so their spread is taken as it is and set in relation to the level of the
        # fold.
        whole, reference = (float(relative_losses(name, np.array(side.metrics[name]))) for side in (score, baseline))
        held = _held(whole, reference)
        logs.append(np.zeros_like(loss) if held else weight * (loss / whole - base / reference))
    values = np.sum(logs, axis=0) / math.fsum(weights.values())
    sample = RelativeSample(values, own.scale, own.freedom, own.units)
    if not own.dealt or not theirs.dealt or sample.error is None:
        return sample
    # What the answer gains on the baseline where both know nothing, beside the baseline's loss: if that varies more, an
    # answer as good as the baseline does.
    gained = []
    for name, weight in weights.items():
        whole, reference = (float(relative_losses(name, np.array(side.metrics[name]))) for side in (score, baseline))
        if not _held(whole, reference):
            dealt = (relative_losses(name, side.dealt[name]) for side in (own, theirs))
            gained.append(weight * np.subtract(*dealt) / reference)
    if not gained:
        return sample
    idle = replace(sample, values=np.sum(gained, axis=0) / math.fsum(weights.values()))
    return max(sample, idle, key=lambda one: -1.0 if one.error is None else one.error)


def _held(loss: float, reference: float) -> bool:
    """Whether the ratio of a loss to the baseline's is held at a bound, and so does not move with the data."""
    return reference <= 0.0 or not SMALLEST_RATIO < loss / reference < LARGEST_RATIO


def _about(total: float, reach: float, smallest: float) -> Interval:
    """The interval of a total, which no answer brings below the smallest."""
    # No answer has a smaller total than a perfect one, so the interval ends there.
    return max(total - reach, min(total, smallest)), total + reach


def _around(rank: float, reach: float) -> Interval:
    """The interval of a relative total, within the bounds that it is held in."""
    # The total is at a bound but for rounding, and is never outside its own interval.
    low, high = max(rank * math.exp(-reach), SMALLEST_RATIO), min(rank * math.exp(min(reach, 700.0)), LARGEST_RATIO)
    return min(low, rank), max(high, rank)
