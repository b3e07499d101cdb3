"""Statistics of a report: what is known of a mean over tasks, adjusted p-values, and the estimator of pass@k.

One model of the data (docs/reports.md): items (windows, questions, nodes) within datasets, tasks on datasets, and
repeats on the same items. A mean over tasks is wrong by independent *parts*: by the items that a dataset happens to
have, and by the repeats that were run.

- With enough datasets, what they differ by holds all of these parts, and stands for other tasks: Student's t over
  datasets, whose degrees of freedom allow for datasets of unlike numbers of tasks (Bell and McCaffrey 2002).
- With fewer, nothing is said of other tasks. Of these tasks on other items, the known parts are added up, with the
  degrees of freedom of Welch and Satterthwaite. The parts of tasks on one dataset are taken to go together wholly.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import UsageError
from openfingym.reports.calendar import Dated, joint_error

if TYPE_CHECKING:
    from openfingym.metrics.unit_calendar import Influence

Unit = Literal["task", "item"]
FEWEST_UNITS = 6
"""Fewest datasets that stand for others: below six, no two-sided sign test can reach 5 % (two of the 2^5 patterns of
signs are 6.25 %)."""
LEVEL = 0.95
"""Probability with which an interval should cover the mean."""
POWER = 0.8
"""Chance with which the detectable difference is told."""
FEWEST_FREEDOM = 2.0
"""The fewest degrees of freedom with which a run has an interval: the number that is assumed if it is not known."""
EVEN = 1e-9
"""Mean log losses closer than this are equal but for rounding."""


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks with its 95 % interval."""

    value: float | None
    """The mean; None if there is no run to average."""
    low: float | None
    """Lower end of the interval; None if nothing is known of how wrong the mean is."""
    high: float | None
    """Upper end of the interval; None if the lower one is."""
    tasks: int
    """How many tasks the mean is over."""
    over: Unit | None
    """What the interval is over: other tasks, or if there are too few datasets, other items of these tasks alone. None
    if there is no interval."""

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


@dataclass(frozen=True)
class Part:
    """A part of what a figure is wrong by, independent of all other parts."""

    error: float
    """Standard error, or the largest that it may be."""
    freedom: float
    """Degrees of freedom of the standard error, or the fewest that it may have."""
    half: float
    """Half the width of the part's own 95 % interval."""

    @classmethod
    def known(cls, error: float, freedom: float) -> Part:
        """The part with this standard error at these degrees of freedom."""
        return cls(error, freedom, error * quantile(freedom))

    @classmethod
    def of_interval(cls, half: float) -> Part:
        """The part of which the 95 % interval is known, and not the degrees of freedom behind it."""
        return cls(half / quantile(math.inf), FEWEST_FREEDOM, half)

    def times(self, share: float) -> Part:
        """The part of a figure that is multiplied."""
        return Part(self.error * share, self.freedom, self.half * share)

    def together(self, other: Part) -> Part:
        """The part of a sum of two figures whose errors may go together wholly."""
        return Part(self.error + other.error, min(self.freedom, other.freedom), self.half + other.half)


@dataclass(frozen=True)
class Figure:
    """A figure of one task, and what it may be wrong by."""

    value: float
    shared: Part | None
    """By the items of the task's dataset; None if that is not known."""
    own: tuple[Part, ...]
    """By repeats, and by items that no other figure is of."""
    influence: Influence | None = None
    """What each of the items adds, and when it was; None if that is not known."""


@dataclass(frozen=True)
class Inference:
    """A mean over tasks, and how far it may be from the truth."""

    value: float
    half: float
    """Half the width of its 95 % interval."""
    freedom: float
    """Degrees of freedom of Student's t."""
    over: Unit
    """What it is about: tasks on other datasets, or other items of these tasks."""
    datasets: int
    """How many datasets the tasks have."""

    @property
    def error(self) -> float:
        """The standard error."""
        return self.half / quantile(self.freedom)

    @property
    def p_value(self) -> float:
        """p-value of the two-sided test that the mean is 0.

        Of other tasks it is never below that of a sign test, in which all datasets have one sign with a probability of
        2 * (1/2)^datasets.
        """
        from scipy.special import stdtr

        if abs(self.value) <= EVEN:
            return 1.0
        lowest = 2.0 ** (1 - self.datasets) if self.over == "task" else 0.0
        return max(lowest, float(2.0 * stdtr(self.freedom, -abs(self.value) / self.error)) if self.error > 0.0 else 0.0)

    @property
    def detectable(self) -> float:
        """The mean that such a test finds at 5 % with a chance of :data:`POWER`."""
        # Rounded, so that few of these are computed: at two degrees of freedom it is off by a thousandth.
        return detectable_in_errors(round(self.freedom, 2)) * self.error


def inference_of(
    values: Sequence[float], datasets: Sequence[int], figures: Callable[[], Sequence[Figure]]
) -> Inference | None:
    """What is known of a mean over tasks; None if it is not known how wrong it is.

    Args:
        values: the figure of each task.
        datasets: number of each task's dataset, from 0 on; tasks on the same data have the same.
        figures: gives the same figures with their parts; asked for only if there are too few datasets.
    """
    count = len(set(datasets))
    if count >= FEWEST_UNITS:
        return _over_datasets(values, datasets)
    return over_items(figures(), datasets) if values else None


def estimate_of(values: Sequence[float], inference: Inference | None) -> Estimate:
    """A mean over tasks with its interval.

    Args:
        values: the figure of each task; without any there is no mean.
        inference: what is known of the mean; None if nothing is.
    """
    if not values:
        return Estimate(None, None, None, 0, None)
    mean = math.fsum(values) / len(values)
    if inference is None:
        return Estimate(mean, None, None, len(values), None)
    return Estimate(mean, mean - inference.half, mean + inference.half, len(values), inference.over)


def _over_datasets(values: Sequence[float], datasets: Sequence[int]) -> Inference:
    """Student's t over datasets.

    The variance of a mean with weights w over datasets is the sum of w^2 (m - mean)^2 / (1 - 2 w + sum w^2), which is
    unbiased if the datasets' means m are equally uncertain.
    """
    of_dataset: dict[int, list[float]] = defaultdict(list)
    for value, dataset in zip(values, datasets, strict=True):
        of_dataset[dataset].append(value)
    shares, freedom = _weighting(tuple(map(len, of_dataset.values())))
    mean = math.fsum(values) / len(values)
    means = (math.fsum(mine) / len(mine) for mine in of_dataset.values())
    variance = math.fsum(share * (own - mean) ** 2 for share, own in zip(shares, means, strict=True))
    return Inference(mean, math.sqrt(variance) * quantile(freedom), freedom, "task", len(shares))


@lru_cache(maxsize=1024)
def _weighting(sizes: tuple[int, ...]) -> tuple[tuple[float, ...], float]:
    """The share of each dataset's square in the variance, by its number of tasks, and the degrees of freedom.

    These are 2 E^2 / Var of the quadratic form for normal means, which are n - 1 for equal weights.
    """
    weights = np.array(sizes, dtype=np.float64) / sum(sizes)
    shares = weights**2 / (1.0 - 2.0 * weights + (weights**2).sum())
    # Of x' M' D M x with M = I - 1 w', the trace and that of the square.
    deviations = np.eye(len(weights)) - weights
    form = deviations.T @ (shares[:, None] * deviations)
    return tuple(shares.tolist()), float(np.trace(form) ** 2 / (form**2).sum())


def over_items(figures: Sequence[Figure], datasets: Sequence[int]) -> Inference | None:
    """What is known of these tasks on other items; None if a task's error over items is not known."""
    of_dataset: dict[int, list[tuple[Part, Influence | None]]] = defaultdict(list)
    parts: list[Part] = []
    for figure, dataset in zip(figures, datasets, strict=True):
        if figure.shared is None:
            return None
        of_dataset[dataset].append((figure.shared, figure.influence))
        parts += figure.own
    parts += map(_shared_part, of_dataset.values())
    share = 1.0 / len(figures)
    mean = math.fsum(figure.value for figure in figures) * share
    half, freedom = _added([part.times(share) for part in parts])
    return Inference(mean, half, freedom, "item", len(of_dataset))


def _shared_part(figures: Sequence[tuple[Part, Influence | None]]) -> Part:
    """The part of the sum of figures on one dataset by its items, from that of each and what its items add."""
    dated = [Dated(part.error, part.freedom, known) for part, known in figures if known is not None]
    wholly = reduce(Part.together, (part for part, _ in figures))
    joint = joint_error(dated) if len(dated) > 1 else None
    if joint is None:
        return wholly
    # Of the others it is not known how they go together.
    aligned = reduce(Part.together, (part for part, known in figures if known is None), Part.known(*joint))
    # Of few blocks it takes a wider interval than if the errors went together wholly, which is as much as they can.
    return min(wholly, aligned, key=lambda part: part.half)


def _added(parts: Sequence[Part]) -> tuple[float, float]:
    """Half the width of the interval of a sum of independent parts, and its degrees of freedom.

    The smaller of two widths, each of which is enough: Welch's, and the root of the sum of squares of the parts' own
    (Banerjee 1960), which needs no degrees of freedom.
    """
    parts = [part for part in parts if part.error > 0.0]
    if not parts:
        return 0.0, math.inf
    # Relative to the largest, whose fourth power might be too small for a float.
    largest = max(part.error for part in parts)
    squares = [(part.error / largest) ** 2 for part in parts]
    total = math.fsum(squares)
    rest = math.fsum(square**2 / part.freedom for square, part in zip(squares, parts, strict=True))
    freedom = total**2 / rest if rest > 0.0 else math.inf
    welch = quantile(freedom) * largest * math.sqrt(total)
    return min(welch, math.hypot(*(part.half for part in parts))), freedom


@lru_cache(maxsize=4096)
def quantile(freedom: float, level: float = 0.5 + 0.5 * LEVEL) -> float:
    """Quantile of Student's t, of the normal distribution at infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(level) if math.isinf(freedom) else stdtrit(freedom, level))


@lru_cache(maxsize=4096)
def detectable_in_errors(freedom: float) -> float:
    """The mean, in estimated standard errors, that a two-sided t-test at 5 % finds with a chance of :data:`POWER`.

    An estimated error is more often too small than too large, so it is set in relation to its median.
    """
    from scipy.special import chdtri

    # By halves, since to import what SciPy has for it takes a tenth of the time of a large report. Far above the upper
    # end the non-central distribution is not computed any more.
    low, high = 0.0, 2.0 * quantile(freedom) + 3.0
    while high - low > 1e-6:
        mean = 0.5 * (low + high)
        low, high = (mean, high) if power(mean, freedom) < POWER else (low, mean)
    return high if math.isinf(freedom) else high / math.sqrt(float(chdtri(freedom, 0.5)) / freedom)


def power(mean: float, freedom: float) -> float:
    """Chance with which a two-sided t-test at 5 % finds a mean of the sign that it has.

    Args:
        mean: the true mean in standard errors, at least 0.
        freedom: degrees of freedom.
    """
    from scipy.special import nctdtr, ndtr

    reach = quantile(freedom)
    return float(ndtr(mean - reach) if math.isinf(freedom) else 1.0 - nctdtr(freedom, mean, reach))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for all of them by Holm's (1979) step-down method, in the order given."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        # An adjusted p-value is never below that of a comparison that is clearer.
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted to the false discovery rate at which each would be found (Benjamini and Hochberg 1995), in the
    order given.
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place], reverse=True)
    adjusted, least = [0.0] * len(p_values), 1.0
    for above, place in enumerate(order):
        # Never above that of a comparison that is less clear.
        least = min(least, len(p_values) / (len(p_values) - above) * p_values[place])
        adjusted[place] = least
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
