"""Paired comparisons: which of two agents is better on the tasks and seeds that both ran.

What is tested is the penalized total, in which a run without a score counts as 100 times the baseline
(:func:`openfingym.reports.cells.log_penalized`). The losses where both were scored are beside it, as a
description: whoever fails where it is hard is not tested on what is left.
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
EVEN = 1e-9
"""Mean log losses closer than this are a tie."""


@dataclass(frozen=True)
class RowComparison:
    """Row ``a`` against row ``b`` on data of one kind."""

    data_kind: str
    a: Row
    b: Row
    tasks: int
    """Tasks that both were judged on with a common seed."""
    pairs: int
    """Number of (task, seed) pairs that both agents ran."""
    loss_ratio: Estimate
    """Geometric mean over tasks of the penalized total of a over that of b; below 1 a is better."""
    scored: tuple[int, int]
    """Runs of a and of b with a score, of those at common tasks and seeds."""
    judged: tuple[int, int]
    """Runs of a and of b at common tasks and seeds."""
    scored_ratio: Estimate
    """As ``loss_ratio``, of common tasks and seeds where both were scored alone; it decides nothing."""
    effect: float | None
    """Mean over standard deviation of the tasks' differences of log loss (Cohen's d_z); negative where a is better.

    None where they do not vary.
    """
    wins: int
    """Tasks where a is better."""
    losses: int
    ties: int
    p_value: float | None
    """p-value of the two-sided sign-flip test over tasks or, where they are too few, over their common seeds."""
    p_holm: float | None
    """Adjusted for all comparisons on data of this kind."""
    success_p_holm: float | None
    """The same test of how often they were scored, adjusted for all comparisons on data of this kind."""
    verdict: Verdict
    """Verdict on the penalized total of agent a."""

    @property
    def sentence(self) -> str:
        """The comparison in words, the one with the lower loss first."""
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
        found = (
            f"over {tasks}, better on {wins} and worse on {losses}; p = {self.p_value:.2g}, Holm-adjusted "
            f"{self.p_holm:.2g}"
        )
        counted = ""
        if self.scored != self.judged:
            counted = f", a failure counted as {-LOSS_FAILURE:g} times the baseline's,"
            found += self._successes(a, b, swapped)
        if self.verdict == "no difference" and (self.success_p_holm or 1.0) < SIGNIFICANT:
            often, seldom = (0, 1) if self.scored[0] * self.judged[1] > self.scored[1] * self.judged[0] else (1, 0)
            names = label(self.a), label(self.b)
            return (
                f"{names[often]} is scored more often than {names[seldom]} on {data} (Holm-adjusted p = "
                f"{self.success_p_holm:.2g}), and neither loss is surely lower: the loss of {a}{counted} is {size}, "
                f"{found}."
            )
        if self.verdict == "no difference":
            return f"{a} and {b} cannot be told apart on {data}: the loss of {a}{counted} is {size}, {found}."
        return f"{a} is better than {b} on {data}: its loss{counted} is {size}, {found}."

    def _successes(self, a: str, b: str, swapped: bool) -> str:
        """How often each was scored, and the losses where both were."""
        first, second = (1, 0) if swapped else (0, 1)
        said = (
            f"; {a} was scored in {self.scored[first]} of {self.judged[first]} runs, {b} in {self.scored[second]} of "
            f"{self.judged[second]}"
        )
        if self.scored_ratio.value is None:
            return f"{said}, and never both"
        ratio, low, high = _ratio(self.scored_ratio, swapped)
        size = f"{abs(1.0 - ratio):.1%} {'lower' if ratio <= 1.0 else 'higher'}"
        ends = f" (95 % interval of the ratio {low:.3g} to {high:.3g})" if self.scored_ratio.enough else ""
        return f"{said}; where both were, the loss of {a} is {size}{ends}"


def _ratio(estimate: Estimate, swapped: bool) -> tuple[float, float, float]:
    """A ratio and its ends, of b over a where they are swapped; 1 stands for what there is not."""
    value, low, high = (part or 1.0 for part in (estimate.value, estimate.low, estimate.high))
    return (1.0 / value, 1.0 / high, 1.0 / low) if swapped else (value, low, high)


def compare(groups: Sequence[RunGroup], seed: int) -> list[RowComparison]:
    """Every pair of rows on data of the same kind, adjusted together within each kind.

    A row that was never scored is compared with those that were; two such rows have nothing to compare.
    """
    found: list[RowComparison] = []
    able = [group for group in groups if any(judged(runs) for runs in group.tasks.values())]
    for kind in dict.fromkeys(group.data_kind for group in able):
        found += _compare_kind([group for group in able if group.data_kind == kind], seed)
    return found


def _compare_kind(groups: Sequence[RunGroup], seed: int) -> list[RowComparison]:
    runs = [_by_task_and_seed(group) for group in groups]
    penalized, scored, failed = ([_means(some, of) for some in runs] for of in (_penalized, _scored, _failed))
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
    """p-value of each comparison that has enough units, by its place, and the same adjusted for all of them."""
    tested = {n: units for n, values in enumerate(differences) if (units := _units(values))}
    columns = {unit: place for place, unit in enumerate(sorted({unit for units in tested.values() for unit in units}))}
    matrix = np.zeros((len(tested), len(columns)))
    for row, units in zip(matrix, tested.values(), strict=True):
        row[[columns[unit] for unit in units]] = list(units.values())
    p_values = sign_flip_p(matrix, seed).tolist() if tested else []
    return dict(zip(tested, zip(p_values, holm(p_values), strict=True), strict=True))


def _by_task_and_seed(group: RunGroup) -> RunsBySeed:
    found: dict[str, dict[int, list[RolloutResult]]] = defaultdict(lambda: defaultdict(list))
    for task, runs in group.tasks.items():
        for run in judged(runs):
            found[task][run.seed].append(run)
    return {task: dict(by_seed) for task, by_seed in found.items()}


def _penalized(runs: Sequence[RolloutResult]) -> list[float]:
    return list(map(log_penalized, runs))


def _scored(runs: Sequence[RolloutResult]) -> list[float]:
    return [log_relative(run) for run in runs if run.state == "scored"]


def _failed(runs: Sequence[RolloutResult]) -> list[float]:
    return [float(run.state != "scored") for run in runs]


def _means(runs: RunsBySeed, losses: Callable[[Sequence[RolloutResult]], list[float]]) -> Differences:
    """Mean of the attempts at each seed of each task; without those that have none."""
    found = {
        task: {seed: fmean(some) for seed, attempts in by_seed.items() if (some := losses(attempts))}
        for task, by_seed in runs.items()
    }
    return {task: by_seed for task, by_seed in found.items() if by_seed}


def _differences(a: Mapping[str, Mapping[int, float]], b: Mapping[str, Mapping[int, float]]) -> Differences:
    """Differences of log loss, by common task and common seed."""
    found = {}
    for task in sorted(a.keys() & b.keys()):
        seeds = sorted(a[task].keys() & b[task].keys())
        if seeds:
            found[task] = {seed: a[task][seed] - b[task][seed] for seed in seeds}
    return found


def _units(differences: Differences) -> Mapping[tuple[str, int], float]:
    """What is tested: the share that each task, or where these are too few each seed, has in the sum of task means."""
    unit = unit_of([len(values) for values in differences.values()])
    if unit == "task":
        return {(task, 0): fmean(values.values()) for task, values in differences.items()}
    found: dict[tuple[str, int], float] = defaultdict(float)
    if unit == "run":
        # Seeds that change sign together make as valid a test, and a quick one where there are thousands.
        blocks = MANY_UNITS // len(differences)
        for task, values in differences.items():
            for number, value in enumerate(values.values()):
                found[task, number % blocks] += value / len(values)
    return found


def _comparison(
    groups: tuple[RunGroup, RunGroup],
    runs: tuple[RunsBySeed, RunsBySeed],
    differences: Differences,
    both_scored: Differences,
    p: tuple[float, float] | None,
    success_p: tuple[float, float] | None,
    seed: int,
) -> RowComparison:
    means = [fmean(values.values()) for values in differences.values()]
    wins, losses = sum(mean < -EVEN for mean in means), sum(mean > EVEN for mean in means)
    estimate, alone = (
        mean_estimate([list(values.values()) for values in some.values()], seed).map(math.exp)
        for some in (differences, both_scored)
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
