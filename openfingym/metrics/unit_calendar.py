"""When the units of a fold were, and from their replicates, what each unit adds to a logarithm.

Tasks that are cut from one series have windows of their own on days in common. The replicates of one task say nothing
of another's, but what each of its units adds does, once it is known when that unit was.

A block bootstrap draws units by a stated seed, so a reader can draw the same ones again. How often each unit is in each
replicate explains a logarithm on the replicates by least squares: the coefficients are what the units add, and the
share of the variance that they do not explain is what is not linear in the units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.resampling import REPLICATES, block_bootstrap

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_UNITS = 10_000
"""The most units whose times are read."""
MOST_COEFFICIENTS = REPLICATES // 2
"""The most numbers that are fitted to the replicates; consecutive units share one where there are more of them."""
STATED = frozenset({"begins", "ends", "seed", "block"})
"""What a document states of a calendar."""
LATEST = 2**40
"""Unix seconds, before or after 1970, beyond which nothing is a time."""


@dataclass(frozen=True, eq=False)
class Influence:
    """What each stretch of time adds to a logarithm, to first order."""

    begins: NDArray[np.float64]
    """When each stretch begins, in Unix seconds; float64[stretches]."""
    ends: NDArray[np.float64]
    """When each ends, later than it begins."""
    values: NDArray[np.float64]
    """What each adds; float64[stretches], whose sum is 0."""
    explained: float
    """Share of the variance over replicates that they explain, adjusted for their number; from 0 to 1."""
    block: float
    """Seconds of a block, within which units may depend on one another."""

    def until(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is added until each of some times, float64[times]; within a stretch it grows evenly."""
        passed = np.clip((times[:, None] - self.begins) / (self.ends - self.begins), 0.0, 1.0)
        return np.asarray(passed @ self.values)

    def share_until(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Which share of the stretches is over by each of some times, float64[times]."""
        passed = np.clip((times[:, None] - self.begins) / (self.ends - self.begins), 0.0, 1.0)
        return np.asarray(passed.mean(axis=1))


@dataclass(frozen=True, eq=False)
class UnitCalendar:
    """When the units of a fold were, and how a block bootstrap draws them."""

    begins: NDArray[np.int64]
    """When each unit begins, in Unix seconds; int64[units], none before the one before it."""
    ends: NDArray[np.int64]
    """When each ends, later than it begins."""
    seed: int
    """Seed of the bootstrap."""
    block: int
    """Units of a block."""

    def is_same(self, other: UnitCalendar | None) -> bool:
        """Whether another has the same units, drawn alike."""
        return other is not None and (
            (self.seed, self.block) == (other.seed, other.block)
            and np.array_equal(self.begins, other.begins)
            and np.array_equal(self.ends, other.ends)
        )

    def influence(self, logs: NDArray[np.float64]) -> Influence | None:
        """What the units add to a logarithm.

        Args:
            logs: the logarithm on every replicate, float64[replicates].

        Returns:
            None if a replicate has no value, if all are equal, or if these are not the replicates of this bootstrap.
        """
        units = len(self.begins)
        fit = _fit(units, self.seed, self.block)
        centred = logs - logs.mean()
        total = float(centred @ centred)
        if fit is None or len(logs) != REPLICATES or not 0.0 < total < math.inf:
            return None
        coefficients = fit.inverse @ centred
        rest = centred - fit.counts @ coefficients
        unexplained = float(rest @ rest) / (REPLICATES - 1 - fit.rank) / (total / (REPLICATES - 1))
        first = fit.first
        last = np.append(first[1:], units) - 1
        return Influence(
            self.begins[first].astype(np.float64),
            self.ends[last].astype(np.float64),
            (coefficients - coefficients @ fit.sizes / units) * fit.sizes,
            min(1.0, max(0.0, 1.0 - unexplained)),
            float(self.ends[-1] - self.begins[0]) * self.block / units,
        )

    def to_dict(self) -> dict[str, float | int | list[float | None]]:
        """Plain values for JSON."""
        return {"begins": self.begins.tolist(), "ends": self.ends.tolist(), "seed": self.seed, "block": self.block}

    @classmethod
    def from_dict(cls, data: Mapping[str, object], units: int) -> UnitCalendar | None:
        """Read what :meth:`to_dict` gave of a number of units; None of anything else, which may be a stranger's."""
        seed, block = data.get("seed"), data.get("block")
        begins, ends = (_times(data.get(name), units) for name in ("begins", "ends"))
        if begins is None or ends is None or type(seed) is not int or type(block) is not int:
            return None
        if not (0 <= seed < 2**63 and 1 <= block <= units) or (ends <= begins).any() or (np.diff(begins) < 0).any():
            return None
        return cls(begins, ends, seed, block)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares on how often each unit, or each few consecutive ones, is in each replicate."""

    counts: NDArray[np.float64]
    """How often, less the mean over replicates; float64[replicates, coefficients]."""
    inverse: NDArray[np.float64]
    """Its pseudoinverse, float64[coefficients, replicates]: of what draws do not tell apart, the smallest numbers."""
    rank: int
    first: NDArray[np.int64]
    """The first unit of each coefficient, int64[coefficients]."""
    sizes: NDArray[np.float64]
    """How many units each coefficient is of."""


@lru_cache(maxsize=64)
def _fit(units: int, seed: int, block: int) -> _Fit | None:
    """The fit to the replicates of a bootstrap; None where there is no such bootstrap, or it has too many units."""
    design = block_bootstrap(units, seed, shortest=block) if units <= MOST_UNITS else None
    if design is None or design.block != block:
        return None
    together = math.ceil(units / MOST_COEFFICIENTS)
    first = np.arange(0, units, together)
    counts = np.add.reduceat(design.counts(units), first, axis=1)
    counts -= counts.mean(axis=0)
    sizes = np.diff(np.append(first, units)).astype(np.float64)
    return _Fit(counts, np.linalg.pinv(counts, rcond=1e-9), int(np.linalg.matrix_rank(counts)), first, sizes)


def _times(stated: object, units: int) -> NDArray[np.int64] | None:
    if not isinstance(stated, list) or len(stated) != units or units > MOST_UNITS:
        return None
    if any(type(time) is not int or abs(time) > LATEST for time in stated):
        return None
    return np.array(stated, dtype=np.int64)
