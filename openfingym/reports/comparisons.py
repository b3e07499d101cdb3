"""Paired comparisons: which of two agents is better on the tasks and seeds that both ran.

What is tested is the penalized total, in which a run without a score counts as 100 times the baseline
(:func:`openfingym.reports.cells.log_penalized`). The losses where both were scored are beside it, as a
description alone: an agent that fails where it is hard must not be tested on what is left.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.reports.cells import Row, RunGroup, judged, label, log_penalized, log_relative
from openfingym.reports.statistics import FEWEST_UNITS, MANY_UNITS, Estimate, holm, mean_estimate, sign_flip_p, unit_of
from openfingym.results.result import LOSS_FAILURE

if TYPE_CHECKING:
    from openfingym.results import RolloutResult

Differences = Mapping[str, Mapping[int, float]]
"""Differences of log loss, by task and seed."""
RunsBySeed = Mapping[str, Mapping[int, "Sequence[RolloutResult]"]]
"""Judged runs of a row, by task and seed."""
Verdict = Literal["better", "worse", "no difference", "too few"]
SIGNIFICANT = 0.05
"""Adjusted p-value below which a difference is significant."""
EVEN = 1e-9
"""Mean log losses closer than this are a tie: they differ by rounding alone."""


@dataclass(frozen=True)
class RowComparison:
    """The comparison of row ``a`` with row ``b`` on data of one kind."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    a: Row
    """The first row."""
    b: Row
    """The second row."""
    tasks: int
    """How many tasks both were judged on with a common seed."""
    pairs: int
    """How many pairs of a task and a seed both ran."""
    loss_ratio: Estimate
    """Geometric mean over tasks of the penalized total of a over that of b; below 1 a is better."""
    scored: tuple[int, int]
    """How many runs of a and of b have a score, of those at common tasks and seeds."""
    judged: tuple[int, int]
    """How many runs of a and of b there are at common tasks and seeds."""
    scored_ratio: Estimate
    """The ratio as in ``loss_ratio``, but over common tasks and seeds where both were scored; it decides nothing."""
    effect: float | None
    """Mean of the tasks' differences of log loss over their standard deviation (Cohen's d_z); negative if a is better.

    None if they do not vary.
    """
    wins: int
    """How many tasks a is better in."""
    losses: int
    """How many tasks b is better in."""
    ties: int
    """How many tasks neither is better in."""
    p_value: float | None
    """p-value of the two-sided sign-flip test over tasks or, if they are too few, over their common seeds; None if
    there are too few of both."""
    p_holm: float | None
    """The p-value, adjusted for all comparisons on data of this kind."""
    success_p_holm: float | None
    """p-value of the same test of how often they were scored, adjusted for all comparisons on data of this kind."""
    verdict: Verdict
    """Whether a is better than b by the penalized total."""

    @property
    def sentence(self) -> str:
        """The comparison in words, with the row of the lower loss first."""
        a, b, data = label(self.a), label(self.b), f"{self.data_kind} data"
        if self.verdict == "too few":
            needed = f"{FEWEST_UNITS} are needed, or {FEWEST_UNITS} common seeds of each"
            return (
                f"{a} and {b} on {data}: too few to say, {self.tasks} common task{'s' * (self.tasks != 1)}; {needed}."
            )
        swapped = (self.loss_ratio.value or 1.0) > 1.0
        ratio, low, high = _ratio(self.loss_ratio, swapped)
        wins, losses = self.wins, self.losses
        if swapped:
            a, b, wins, losses = b, a, losses, wins
        size = f"{1.0 - ratio:.1%} lower (95 % interval of the ratio {low:.3g} to {high:.3g})"
        tasks = f"{self.tasks} task{'s' * (self.tasks != 1)}"
        if self.loss_ratio.over == "run":
            tasks = f"the seeds of {tasks}, which stand{'s' * (self.tasks == 1)} for no other"
        figures = (
            f"over {tasks}, better on {wins} and worse on {losses}; p = {self.p_value:.2g}, Holm-adjusted "
            f"{self.p_holm:.2g}"
        )
        counted = ""
        if self.scored != self.judged:
            counted = f", a failure counted as {-LOSS_FAILURE:g} times the baseline's,"
            figures += self._successes(a, b, swapped)
        if self.verdict == "no difference" and (self.success_p_holm or 1.0) < SIGNIFICANT:
            # Shares of scored runs, compared without a division: neither row may have been judged.
            often, seldom = (0, 1) if self.scored[0] * self.judged[1] > self.scored[1] * self.judged[0] else (1, 0)
            names = label(self.a), label(self.b)
            return (
                f"{names[often]} is scored more often than {names[seldom]} on {data} (Holm-adjusted p = "
                f"{self.success_p_holm:.2g}), and neither loss is surely lower: the loss of {a}{counted} is {size}, "
                f"{figures}."
            )
        if self.verdict == "no difference":
            return f"{a} and {b} cannot be told apart on {data}: the loss of {a}{counted} is {size}, {figures}."
        return f"{a} is better than {b} on {data}: its loss{counted} is {size}, {figures}."

    def _successes(self, a: str, b: str, swapped: bool) -> str:
        """How often each was scored, and the losses where both were."""
        first, second = (1, 0) if swapped else (0, 1)
        counts = (
            f"; {a} was scored in {self.scored[first]} of {self.judged[first]} runs, {b} in {self.scored[second]} of "
            f"{self.judged[second]}"
        )
        if self.scored_ratio.value is None:
            return f"{counts}, and never both"
        ratio, low, high = _ratio(self.scored_ratio, swapped)
        size = f"{abs(1.0 - ratio):.1%} {'lower' if ratio <= 1.0 else 'higher'}"
        ends = f" (95 % interval of the ratio {low:.3g} to {high:.3g})" if self.scored_ratio.enough else ""
        return f"{counts}; where both were, the loss of {a} is {size}{ends}"


def _ratio(estimate: Estimate, swapped: bool) -> tuple[float, float, float]:
    """A ratio of losses and the ends of its interval, b over a if they are swapped; 1 stands for a missing figure."""
    # The inverse of an interval has its ends in the other order.
    value, low, high = (part or 1.0 for part in (estimate.value, estimate.low, estimate.high))
    return (1.0 / value, 1.0 / high, 1.0 / low) if swapped else (value, low, high)


def compare(groups: Sequence[RunGroup], seed: int) -> list[RowComparison]:
    """Compare every pair of rows on data of the same kind; p-values are adjusted together within each kind.

    A row that was never scored is compared with those that were; two such rows have nothing to compare.

    Args:
        groups: the runs, grouped by kind of data and row.
        seed: seed of the bootstrap and the tests.
    """
    comparisons: list[RowComparison] = []
    with_runs = [group for group in groups if any(judged(runs) for runs in group.tasks.values())]
    for kind in dict.fromkeys(group.data_kind for group in with_runs):
        comparisons += _compare_kind([group for group in with_runs if group.data_kind == kind], seed)
    return comparisons


def _compare_kind(groups: Sequence[RunGroup], seed: int) -> list[RowComparison]:
    """Compare every pair of rows on data of one kind."""
    runs = [_by_task_and_seed(group) for group in groups]
    penalized, scored, failed = (
        [_means(by_seed, losses) for by_seed in runs] for losses in (_penalized, _scored, _failed)
    )
    pairs = [(a, b) for a, b in itertools.combinations(range(len(groups)), 2) if scored[a] or scored[b]]
    differences = [_differences(penalized[a], penalized[b]) for a, b in pairs]
    by_loss = _tested(differences, seed)
    by_success = _tested([_differences(failed[a], failed[b]) for a, b in pairs], seed)
    return [
        _comparison(
            (groups[a], groups[b]),
            (runs[a], runs[b]),
            differences[n],
            _differences(scored[a], scored[b]),
            by_loss.get(n),
            by_success.get(n),
            seed,
        )
        for n, (a, b) in enumerate(pairs)
    ]


def _tested(differences: Sequence[Differences], seed: int) -> dict[int, tuple[float, float]]:
    """p-value of each comparison that has enough units, and the p-value adjusted for all of them; by the index of the
    comparison.
    """
    tested = {n: units for n, values in enumerate(differences) if (units := _units(values))}
    # One matrix for all, in which a unit that a comparison lacks is 0: they share the sign patterns, which take most of
    # the time to draw.
    columns = {unit: place for place, unit in enumerate(sorted({unit for units in tested.values() for unit in units}))}
    matrix = np.zeros((len(tested), len(columns)))
    for row, units in zip(matrix, tested.values(), strict=True):
        row[[columns[unit] for unit in units]] = list(units.values())
    p_values = sign_flip_p(matrix, seed).tolist() if tested else []
    return dict(zip(tested, zip(p_values, holm(p_values), strict=True), strict=True))


def _by_task_and_seed(group: RunGroup) -> RunsBySeed:
    """The judged runs of a row, by task and seed."""
    runs_by_seed: dict[str, dict[int, list[RolloutResult]]] = defaultdict(lambda: defaultdict(list))
    for task, runs in group.tasks.items():
        for run in judged(runs):
            runs_by_seed[task][run.seed].append(run)
    return {task: dict(by_seed) for task, by_seed in runs_by_seed.items()}


def _penalized(runs: Sequence[RolloutResult]) -> list[float]:
    """Log losses of runs, a rejected run counted as 100 times the baseline."""
    return list(map(log_penalized, runs))


def _scored(runs: Sequence[RolloutResult]) -> list[float]:
    """Log losses of scored runs alone."""
    return [log_relative(run) for run in runs if run.state == "scored"]


def _failed(runs: Sequence[RolloutResult]) -> list[float]:
    """1 for each run that failed, 0 for the others."""
    return [float(run.state != "scored") for run in runs]


def _means(runs: RunsBySeed, losses: Callable[[Sequence[RolloutResult]], list[float]]) -> Differences:
    """Mean over the attempts at each seed of each task, without seeds and tasks that have no value."""
    means = {
        task: {seed: fmean(values) for seed, attempts in by_seed.items() if (values := losses(attempts))}
        for task, by_seed in runs.items()
    }
    return {task: by_seed for task, by_seed in means.items() if by_seed}


def _differences(a: Mapping[str, Mapping[int, float]], b: Mapping[str, Mapping[int, float]]) -> Differences:
    """Differences of log loss, a minus b, by common task and common seed."""
    differences = {}
    for task in sorted(a.keys() & b.keys()):
        seeds = sorted(a[task].keys() & b[task].keys())
        if seeds:
            differences[task] = {seed: a[task][seed] - b[task][seed] for seed in seeds}
    return differences


def _units(differences: Differences) -> Mapping[tuple[str, int], float]:
    """The units of a test: what each task, or if tasks are too few each seed, adds to the sum of task means. Empty if
    there are too few of both.
    """
    unit = unit_of([len(values) for values in differences.values()])
    if unit == "task":
        return {(task, 0): fmean(values.values()) for task, values in differences.items()}
    units: dict[tuple[str, int], float] = defaultdict(float)
    if unit == "run":
        # With thousands of seeds, blocks of seeds change sign together, which is as valid a test and much faster.
        blocks = MANY_UNITS // len(differences)
        for task, values in differences.items():
            for number, value in enumerate(values.values()):
                units[task, number % blocks] += value / len(values)
    return units


def _comparison(
    groups: tuple[RunGroup, RunGroup],
    runs: tuple[RunsBySeed, RunsBySeed],
    differences: Differences,
    both_scored: Differences,
    p: tuple[float, float] | None,
    success_p: tuple[float, float] | None,
    seed: int,
) -> RowComparison:
    """The comparison of two rows.

    Args:
        groups: the runs of both rows.
        runs: their judged runs, by task and seed.
        differences: differences of the log of the penalized total.
        both_scored: differences of log loss where both were scored.
        p: p-value of the test of the penalized total, and the adjusted one; None if there are too few units.
        success_p: p-value of the test of how often they were scored, and the adjusted one; None if there are too few
            units.
        seed: seed of the bootstrap.
    """
    means = [fmean(values.values()) for values in differences.values()]
    wins, losses = sum(mean < -EVEN for mean in means), sum(mean > EVEN for mean in means)
    estimate, alone = (
        mean_estimate([list(values.values()) for values in by_task.values()], seed).map(math.exp)
        for by_task in (differences, both_scored)
    )
    common = [
        [run for task, values in differences.items() for number in values for run in mine[task][number]]
        for mine in runs
    ]
    scored_a, scored_b = (sum(run.state == "scored" for run in mine) for mine in common)
    verdict: Verdict = "too few"
    effect = None
    if p is not None:
        mean, spread = fmean(means), stdev(means) if len(means) > 1 else 0.0
        effect = mean / spread if spread > EVEN else None
        # A mean below 0 says that a has less loss.
        verdict = "no difference" if p[1] >= SIGNIFICANT else "better" if mean < 0.0 else "worse"
    return RowComparison(
        data_kind=groups[0].data_kind,
        a=groups[0].row,
        b=groups[1].row,
        tasks=len(means),
        pairs=sum(map(len, differences.values())),
        loss_ratio=estimate,
        scored=(scored_a, scored_b),
        judged=(len(common[0]), len(common[1])),
        scored_ratio=alone,
        effect=effect,
        wins=wins,
        losses=losses,
        ties=len(means) - wins - losses,
        p_value=p[0] if p else None,
        p_holm=p[1] if p else None,
        success_p_holm=success_p[1] if success_p else None,
        verdict=verdict,
    )
