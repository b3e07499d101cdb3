"""The logarithm of a relative total on every replicate of a fold, from which two answers are compared in pairs.

All answers to one task are scored on the same replicates. So the difference of two answers' logarithms, replicate by
replicate, varies as much as the difference would on other hidden rows: what is hard or easy for both cancels, as it
does between an answer and the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.unit_calendar import Influence, UnitCalendar

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED_SHARE = 0.05
"""Where a metric has no value on more than this share of the replicates, the others are no fair sample of its
spread."""
DECIMALS = 9
"""Decimals with which logarithms are stated: smaller differences are rounding."""
MOST = 10_000
"""The most replicates that are read."""


@dataclass(frozen=True, eq=False)
class RelativeSample:
    """The logarithm of a relative total on every replicate of a fold, and how its spread is read."""

    values: NDArray[np.float64]
    """The logarithms, float64[replicates]; NaN where a replicate gives no value."""
    scale: float
    """Factor by which the standard deviation over replicates becomes the standard error."""
    freedom: float
    """Degrees of freedom of the standard error."""
    units: int
    """How many units of the fold are drawn anew, such as windows or questions."""
    calendar: UnitCalendar | None = None
    """When the units were; None where units have no times, or it was not stated."""

    @property
    def error(self) -> float | None:
        """The standard error of the logarithm; None where too many replicates have no value, or it is not finite."""
        return standard_error(self.values, self.scale)

    @property
    def influence(self) -> Influence | None:
        """What the units add to the logarithm; None where it is not known when they were, or what each adds."""
        return None if self.calendar is None else self.calendar.influence(self.values)

    def minus(self, other: RelativeSample) -> RelativeSample | None:
        """The sample of the difference; None if the two are of different replicates."""
        same = (self.scale, self.freedom, self.units, self.values.shape) == (
            other.scale,
            other.freedom,
            other.units,
            other.values.shape,
        )
        if not same:
            return None
        dated = self.calendar is not None and self.calendar.is_same(other.calendar)
        return replace(self, values=self.values - other.values, calendar=self.calendar if dated else None)

    def times(self, share: float) -> RelativeSample:
        """The sample of the logarithm times a number."""
        return replace(self, values=self.values * share)

    @classmethod
    def mean(cls, samples: Sequence[RelativeSample]) -> RelativeSample | None:
        """The sample of the mean of at least one logarithm; None if they are of different replicates."""
        first = samples[0]
        others = [first.minus(sample) for sample in samples[1:]]
        if None in others:
            return None
        values = np.mean([sample.values for sample in samples], axis=0) if others else first.values
        dated = all(other is not None and other.calendar is not None for other in others)
        return replace(first, values=values, calendar=first.calendar if dated else None)

    def to_dict(self) -> dict[str, float | int | list[float | None]]:
        """Plain values for JSON; null where a replicate gives no value."""
        logs = [None if math.isnan(value) else value for value in self.values.round(DECIMALS).tolist()]
        dates = {} if self.calendar is None else self.calendar.to_dict()
        return {"logs": logs, "scale": self.scale, "freedom": self.freedom, "units": self.units, **dates}

    @classmethod
    def from_dict(cls, data: object) -> RelativeSample | None:
        """Read what :meth:`to_dict` gave; None of anything else, which may be a stranger's."""
        if not isinstance(data, Mapping):
            return None
        logs, units = data.get("logs"), data.get("units")
        scale, freedom = (data.get(name) for name in ("scale", "freedom"))
        if not (isinstance(logs, list) and 2 <= len(logs) <= MOST and type(units) is int and units > 0):
            return None
        if not (_is_positive(scale) and _is_positive(freedom)) or {type(log) for log in logs} - {
            float,
            int,
            type(None),
        }:
            return None
        values = np.array(logs, dtype=np.float64)
        if np.isinf(values).any():
            return None
        calendar = UnitCalendar.from_dict(data, units)
        return cls(values, float(scale), float(freedom), units, calendar)  # type: ignore[arg-type]  # as was checked


def standard_error(results: NDArray[np.float64], scale: float) -> float | None:
    """Standard error of a number from its replicates; None where too many are NaN, or it is not finite."""
    # A replicate without a value, such as one of a single class, is NaN.
    defined = results[~np.isnan(results)]
    if len(defined) < (1.0 - REFUSED_SHARE) * len(results):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        error = scale * float(defined.std(ddof=1))
    return error if math.isfinite(error) else None


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < math.inf
