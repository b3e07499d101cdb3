"""Statistics of a report: intervals over tasks and seeds, a paired test, and the estimator of pass@k.

The unit is the task. Runs of one task share its data and its difficulty, so they are averaged first
and tasks are resampled with all their runs: the spread of task averages already holds the noise of
seeds. Drawing the runs of a drawn task once more would count that noise twice (Davison and Hinkley
1997, section 3.8). Where tasks are too few to stand for others, the runs of each are resampled: such
an interval is of these tasks alone. Intervals are expanded percentile intervals (Hesterberg 2015,
section 5.3): plain percentiles are too narrow for few units, by the factor between the normal and
Student's t.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Unit = Literal["task", "run"]
FEWEST_UNITS = 6
"""Below six units no two-sided sign-flip test can reach 5 % (2 of 2^5 sign patterns are 6.25 %), so nothing is
claimed."""
LEVEL = 0.95
REPLICATES = 10_000
"""Bootstrap replicates: at six units an end of the interval still has 20 of them beyond it."""
EXACT_UNITS = 13
"""Up to this many units all sign patterns are tried; beyond, random ones."""
PATTERNS = 100_000
"""Random sign patterns: the smallest p-value is 1e-5, which survives the adjustment for a thousand comparisons."""
MANY_UNITS = 200
"""Number of units above which replicates of a mean are drawn from the normal law that they tend to, which is quick."""
CHUNK = 4_000_000
"""Cells of sign patterns at a time, which bounds the memory."""


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks with its 95 % interval."""

    value: float | None
    """None where there is no run to say anything of."""
    low: float | None
    """None, as ``high``, where there are too few units."""
    high: float | None
    tasks: int
    over: Unit | None
    """What the interval is over: tasks, or where they are too few, the runs of these tasks. None where there is no
    interval."""

    @property
    def enough(self) -> bool:
        """Whether there is an interval."""
        return self.over is not None

    def map(self, function: Callable[[float], float]) -> Estimate:
        """The estimate of a monotone function of the mean."""
        if self.value is None or self.low is None or self.high is None:
            return replace(self, value=None if self.value is None else function(self.value))
        low, high = sorted((function(self.low), function(self.high)))
        return replace(self, value=function(self.value), low=low, high=high)


def unit_of(counts: Sequence[int]) -> Unit | None:
    """What there is enough of for an interval and a test: tasks, else runs of every task, else nothing.

    Args:
        counts: number of runs of each task.
    """
    if len(counts) >= FEWEST_UNITS:
        return "task"
    return "run" if counts and min(counts) >= FEWEST_UNITS else None


def mean_estimate(tasks: Sequence[Sequence[float]], seed: int) -> Estimate:
    """Mean over tasks of the mean over the runs of each, and its expanded percentile bootstrap interval.

    Args:
        tasks: the value of every run, by task; finite, of one run a task at least.
        seed: seed of the replicates; the interval depends on it and the values alone, not on what else a report holds.
    """
    runs = [np.asarray(values, dtype=np.float64) for values in tasks]
    if not runs:
        return Estimate(None, None, None, 0, None)
    means = np.array([values.mean() for values in runs])
    mean, over = float(means.mean()), unit_of([values.size for values in runs])
    if over is None:
        return Estimate(mean, None, None, len(runs), None)
    samples = [means] if over == "task" else runs
    tail = expanded_tail(samples)
    replicates = sum(_replicates(sample, [seed, number]) for number, sample in enumerate(samples)) / len(samples)
    low, high = np.quantile(replicates, [tail, 1.0 - tail])
    # Of equal values, sums in another order differ by rounding.
    return Estimate(mean, min(float(low), mean), max(float(high), mean), len(runs), over)


def expanded_tail(samples: Sequence[NDArray[np.float64]], level: float = LEVEL) -> float:
    """Share of replicates of the mean of sample means that belongs beyond each end of the interval.

    Of one sample Phi(-sqrt(n / (n - 1)) t), with t the quantile of Student's t(n - 1). Of several, the root is that of
    the estimated variance over the replicates', and the degrees of freedom are Welch and Satterthwaite's.
    """
    from scipy.special import ndtr, stdtrit

    counts = np.array([sample.size for sample in samples], dtype=np.float64)
    variances = np.array([sample.var(ddof=1) for sample in samples]) / counts
    total = variances.sum()
    if total == 0.0:
        return 0.5 * (1.0 - level)
    freedom = total**2 / (variances**2 / (counts - 1.0)).sum()
    return float(
        ndtr(-math.sqrt(total / (variances * (counts - 1.0) / counts).sum()) * stdtrit(freedom, 0.5 + 0.5 * level))
    )


def _replicates(units: NDArray[np.float64], seed: Sequence[int]) -> NDArray[np.float64]:
    """Means of :data:`REPLICATES` resamples of the units."""
    count = units.size
    if count <= MANY_UNITS:
        return _weights(count, *seed) @ units
    return np.random.default_rng([*seed, count]).normal(units.mean(), units.std() / math.sqrt(count), REPLICATES)


@lru_cache(maxsize=8)
def _weights(count: int, *seed: int) -> NDArray[np.float64]:
    """float64[replicates, units]: the share of each unit in each resample."""
    drawn = np.random.default_rng([*seed, count]).integers(0, count, (REPLICATES, count))
    cells = drawn + count * np.arange(REPLICATES)[:, None]
    return np.bincount(cells.ravel(), minlength=REPLICATES * count).reshape(REPLICATES, count) / count


def sign_flip_p(differences: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Two-sided p-values of the paired permutation test that mean differences are 0.

    Under the hypothesis the sign of each unit's difference is as likely the other, which is one
    swap of the two agents' results. Exact up to 13 units; beyond, by random ones and the one
    observed (Phipson and Smyth 2010).

    Args:
        differences: float64[comparisons, units]; 0 where a unit is not common to both, which changes no mean.
        seed: seed of the sign patterns.

    Returns:
        float64[comparisons], each in (0, 1].
    """
    comparisons, count = differences.shape
    # Patterns that give the same sum but for rounding are as extreme as what was seen.
    seen = np.abs(differences.sum(axis=1)) - 1e-12 * np.abs(differences).sum(axis=1)
    reached = sum((np.abs(signs @ differences.T) >= seen).sum(axis=0) for signs in _signs(comparisons, count, seed))
    return np.asarray(reached / 2.0**count if count <= EXACT_UNITS else (reached + 1.0) / PATTERNS, dtype=np.float64)


def _signs(comparisons: int, count: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Sign patterns, float64[patterns, units] a piece: all there are of few units, of many all but the one observed."""
    if count <= EXACT_UNITS:
        yield np.array(list(itertools.product((1.0, -1.0), repeat=count)))
        return
    # Signs are drawn four at a time; pieces of whole fours are of one stream, however long they are.
    generator, rows = np.random.default_rng([seed, count]), 4 * (CHUNK // (4 * max(count, comparisons)) + 1)
    for first in range(0, PATTERNS - 1, rows):
        yield generator.integers(0, 2, (min(rows, PATTERNS - 1 - first), count), np.int8) * 2.0 - 1.0


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
        raise UsageError(
            f"pass@k needs 1 <= k <= runs and 0 <= passed <= runs, found k {k}, runs {runs}, passed {passed}"
        )
    return 1.0 - math.comb(runs - passed, k) / math.comb(runs, k)
