"""Statistics of a report: intervals over tasks and seeds, a paired test, and the estimator of pass@k.

The unit is the task. Runs of one task share its data and its difficulty, so they are averaged first
and tasks are resampled with all their runs: the spread of task averages already holds the noise of
seeds. Drawing the runs of a drawn task once more would count that noise twice (Davison and Hinkley
1997, section 3.8). If there are too few tasks to stand for others, the runs of each are resampled: such
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
"""Probability with which an interval should cover the mean."""
REPLICATES = 10_000
"""Number of bootstrap replicates: at six units an end of the interval still has 20 of them beyond it."""
EXACT_UNITS = 13
"""Up to this many units all sign patterns are tried, at most 8,192; beyond, random ones."""
PATTERNS = 100_000
"""Number of random sign patterns: the smallest p-value is 1e-5, which survives the adjustment for a thousand
comparisons."""
MANY_UNITS = 200
"""Number of units above which replicates of a mean are drawn from the normal law that they tend to, which is faster."""
CHUNK = 4_000_000
"""Most numbers of sign patterns that are in memory at a time: 32 MB."""


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks with its 95 % interval."""

    value: float | None
    """The mean; None if there is no run to average."""
    low: float | None
    """Lower end of the interval; None if there are too few units for one."""
    high: float | None
    """Upper end of the interval; None if there are too few units for one."""
    tasks: int
    """How many tasks the mean is over."""
    over: Unit | None
    """What the interval is over: tasks, or if they are too few, the runs of these tasks. None if there is no
    interval."""

    @property
    def enough(self) -> bool:
        """Whether there is an interval."""
        return self.over is not None

    def map(self, function: Callable[[float], float]) -> Estimate:
        """The estimate of a monotone function of the mean, rising or falling."""
        if self.value is None or self.low is None or self.high is None:
            return replace(self, value=None if self.value is None else function(self.value))
        # A falling function swaps the ends.
        low, high = sorted((function(self.low), function(self.high)))
        return replace(self, value=function(self.value), low=low, high=high)


def unit_of(counts: Sequence[int]) -> Unit | None:
    """The unit of an interval and a test: tasks if there are enough, else runs if every task has enough, else None.

    Args:
        counts: how many runs each task has.
    """
    if len(counts) >= FEWEST_UNITS:
        return "task"
    return "run" if counts and min(counts) >= FEWEST_UNITS else None


def mean_estimate(tasks: Sequence[Sequence[float]], seed: int) -> Estimate:
    """Mean over tasks of the mean over the runs of each, and its expanded percentile bootstrap interval.

    Args:
        tasks: the finite values of the runs, by task; each task has at least one run.
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
    # If all values are equal, sums in another order differ from the mean by rounding.
    return Estimate(mean, min(float(low), mean), max(float(high), mean), len(runs), over)


def expanded_tail(samples: Sequence[NDArray[np.float64]], level: float = LEVEL) -> float:
    """Share of replicates of the mean of sample means that belongs beyond each end of the interval.

    For one sample it is Phi(-sqrt(n / (n - 1)) t), with t the quantile of Student's t(n - 1). For several, the root is
    that of the estimated variance over the replicates' variance, and the degrees of freedom are those of Welch and
    Satterthwaite.

    Args:
        samples: the values of each sample, float64[values], two values at least.
        level: probability with which the interval should cover the mean.
    """
    from scipy.special import ndtr, stdtrit

    counts = np.array([sample.size for sample in samples], dtype=np.float64)
    variances = np.array([sample.var(ddof=1) for sample in samples]) / counts
    total = variances.sum()
    # Without any variance, every tail gives the same interval, and the degrees of freedom are not defined.
    if total == 0.0:
        return 0.5 * (1.0 - level)
    freedom = total**2 / (variances**2 / (counts - 1.0)).sum()
    return float(
        ndtr(-math.sqrt(total / (variances * (counts - 1.0) / counts).sum()) * stdtrit(freedom, 0.5 + 0.5 * level))
    )


def _replicates(units: NDArray[np.float64], seed: Sequence[int]) -> NDArray[np.float64]:
    """Means of resamples of the units, float64[REPLICATES]."""
    count = units.size
    if count <= MANY_UNITS:
        return _weights(count, *seed) @ units
    return np.random.default_rng([*seed, count]).normal(units.mean(), units.std() / math.sqrt(count), REPLICATES)


@lru_cache(maxsize=8)
def _weights(count: int, *seed: int) -> NDArray[np.float64]:
    """The share of each unit in each resample, float64[REPLICATES, units]."""
    drawn = np.random.default_rng([*seed, count]).integers(0, count, (REPLICATES, count))
    # Each resample counts in numbers of its own, so that one bincount serves all of them.
    cells = drawn + count * np.arange(REPLICATES)[:, None]
    return np.bincount(cells.ravel(), minlength=REPLICATES * count).reshape(REPLICATES, count) / count


def sign_flip_p(differences: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Two-sided p-values of the paired permutation test that mean differences are 0.

    Under the hypothesis each unit's difference is as likely to have the other sign, which is a swap of the two agents'
    results. The test is exact up to 13 units; beyond, it takes random sign patterns and the one observed (Phipson and
    Smyth 2010).

    Args:
        differences: the difference of each unit, float64[comparisons, units]; 0 for a unit that is not common to both
            agents, which changes no sum.
        seed: seed of the sign patterns.

    Returns:
        The p-values, float64[comparisons], each above 0 and at most 1.
    """
    comparisons, count = differences.shape
    # Patterns whose sum differs from the observed one by rounding alone are as extreme as that.
    observed = np.abs(differences.sum(axis=1)) - 1e-12 * np.abs(differences).sum(axis=1)
    reached = sum((np.abs(signs @ differences.T) >= observed).sum(axis=0) for signs in _signs(comparisons, count, seed))
    return np.asarray(reached / 2.0**count if count <= EXACT_UNITS else (reached + 1.0) / PATTERNS, dtype=np.float64)


def _signs(comparisons: int, count: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Sign patterns in pieces, each float64[patterns, units]: all patterns of few units; of many units random ones, one
    less than :data:`PATTERNS`, which leaves a place for the one observed.
    """
    if count <= EXACT_UNITS:
        yield np.array(list(itertools.product((1.0, -1.0), repeat=count)))
        return
    # The generator makes four numbers of 8 bits at a time and discards the rest of a piece: with pieces of whole fours,
    # the patterns are the same however long the pieces are.
    generator, rows = np.random.default_rng([seed, count]), 4 * (CHUNK // (4 * max(count, comparisons)) + 1)
    for first in range(0, PATTERNS - 1, rows):
        yield generator.integers(0, 2, (min(rows, PATTERNS - 1 - first), count), np.int8) * 2.0 - 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for all of them by Holm's (1979) step-down method, in the order given."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        # An adjusted p-value is never below that of a comparison that is clearer.
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def pass_at_k(runs: int, passed: int, k: int) -> float:
    """Unbiased estimate of the chance that one of k runs passes, 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, eq. 1).

    Args:
        runs: how many runs there were, n.
        passed: how many of them passed, c.
        k: how many runs there are to pass.

    Raises:
        UsageError: k is not from 1 to runs, or passed is not from 0 to runs.
    """
    if not (1 <= k <= runs and 0 <= passed <= runs):
        raise UsageError(
            f"pass@k needs 1 <= k <= runs and 0 <= passed <= runs, found k {k}, runs {runs}, passed {passed}"
        )
    return 1.0 - math.comb(runs - passed, k) / math.comb(runs, k)
