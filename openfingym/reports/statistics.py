"""Statistics of a report: intervals over tasks, a paired test, and the estimator of pass@k.

The unit is the task. Runs of one task share its data and its difficulty, so they are averaged first
and tasks are resampled with all their runs: the spread of task averages already holds the noise of
seeds. Drawing the runs of a drawn task once more would count that noise twice (Davison and Hinkley
1997, section 3.8). Intervals are expanded percentile intervals (Hesterberg 2015, section 5.3): plain
percentiles are too narrow for few units, by the factor between the normal and Student's t.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_UNITS = 6
"""Below six tasks no two-sided sign-flip test can reach 5 % (2 of 2^5 sign patterns are 6.25 %), so nothing is claimed."""
LEVEL = 0.95
REPLICATES = 10_000
"""Bootstrap replicates: at six units an end of the interval still has 20 of them beyond it."""
EXACT_UNITS = 13
"""Up to this many tasks all sign patterns are tried; beyond, random ones."""
PATTERNS = 100_000
"""Random sign patterns: the smallest p-value is 1e-5, which survives the adjustment for a thousand comparisons."""
CACHED_UNITS = 200
"""Up to this many units, replicates are shared by all estimates of as many units."""
CHUNK = 4_000_000
"""Cells drawn at a time beyond that, which bounds the memory."""


@dataclass(frozen=True)
class Estimate:
    """A mean over units with its 95 % interval; all None where there are too few to say."""

    value: float | None
    low: float | None
    high: float | None
    units: int
    """Tasks, or of a single task its runs."""

    @property
    def enough(self) -> bool:
        """Whether there were enough units to say anything."""
        return self.value is not None


def mean_estimate(values: Sequence[float] | NDArray[np.float64], seed: int) -> Estimate:
    """Mean of one value a unit, and its expanded percentile bootstrap interval.

    Args:
        values: [units], finite.
        seed: of the replicates; the interval depends on it and the values alone, not on what else a report holds.

    Returns:
        The estimate; without a number below :data:`FEWEST_UNITS`.
    """
    units = np.asarray(values, dtype=np.float64)
    count = units.size
    if count < FEWEST_UNITS:
        return Estimate(None, None, None, count)
    tail = expanded_tail(count)
    mean = float(units.mean())
    low, high = np.quantile(_replicates(units, seed), [tail, 1.0 - tail])
    # Of equal values, sums in another order differ by rounding.
    return Estimate(mean, min(float(low), mean), max(float(high), mean), count)


def expanded_tail(units: int, level: float = LEVEL) -> float:
    """Share of replicates beyond each end: Phi(-sqrt(n / (n - 1)) t) with t the quantile of Student's t(n - 1)."""
    from scipy.special import ndtr, stdtrit

    return float(ndtr(-math.sqrt(units / (units - 1.0)) * stdtrit(units - 1.0, 0.5 + 0.5 * level)))


def _replicates(units: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Means of :data:`REPLICATES` resamples of the units."""
    count = units.size
    if count <= CACHED_UNITS:
        return _weights(count, seed) @ units
    generator, rows = np.random.default_rng([seed, count]), CHUNK // count + 1
    sizes = [min(rows, REPLICATES - first) for first in range(0, REPLICATES, rows)]
    return np.concatenate([units[generator.integers(0, count, (size, count))].mean(axis=1) for size in sizes])


@lru_cache(maxsize=8)
def _weights(count: int, seed: int) -> NDArray[np.float64]:
    """float64[replicates, units]: the share of each unit in each resample."""
    drawn = np.random.default_rng([seed, count]).integers(0, count, (REPLICATES, count))
    cells = drawn + count * np.arange(REPLICATES)[:, None]
    return np.bincount(cells.ravel(), minlength=REPLICATES * count).reshape(REPLICATES, count) / count


def sign_flip_p(differences: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Two-sided p-values of the paired permutation test that mean differences are 0.

    Under the hypothesis the sign of each task's difference is as likely the other, which is one
    swap of the two agents' results. Exact up to 13 tasks; beyond, by random ones and the one
    observed (Phipson and Smyth 2010).

    Args:
        differences: float64[comparisons, tasks]; 0 where a task is not common to both, which changes no mean.
        seed: of the sign patterns.

    Returns:
        float64[comparisons] in (0, 1].
    """
    count = differences.shape[1]
    exact = count <= EXACT_UNITS
    if exact:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=count)))
    else:
        signs = np.random.default_rng([seed, count]).integers(0, 2, (PATTERNS - 1, count), np.int8) * 2.0 - 1.0
    # Patterns that give the same sum but for rounding are as extreme as what was seen.
    seen = np.abs(differences.sum(axis=1)) - 1e-12 * np.abs(differences).sum(axis=1)
    rows = CHUNK // max(len(differences), 1) + 1
    pieces = (signs[first : first + rows] for first in range(0, len(signs), rows))
    reached = sum((np.abs(piece @ differences.T) >= seen).sum(axis=0) for piece in pieces)
    return np.asarray(reached / len(signs) if exact else (reached + 1.0) / PATTERNS, dtype=np.float64)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down adjustment, in the order given."""
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, n in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[n]))
        adjusted[n] = largest
    return adjusted


def pass_at_k(runs: int, passed: int, k: int) -> float:
    """Unbiased chance that one of k runs passes, 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, eq. 1).

    Raises:
        UsageError: k is not in 1..runs, or passed not in 0..runs.
    """
    if not (1 <= k <= runs and 0 <= passed <= runs):
        raise UsageError(f"pass@k needs 1 <= k <= runs and 0 <= passed <= runs, found k {k}, runs {runs}, passed {passed}")
    return 1.0 - math.comb(runs - passed, k) / math.comb(runs, k)
