"""Paired comparisons: which of two agents is better on the tasks and seeds that both ran."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.reports.cells import Row, RunGroup, judged, label, log_relative
from openfingym.reports.statistics import FEWEST_UNITS, MANY_UNITS, Estimate, holm, mean_estimate, sign_flip_p, unit_of

if TYPE_CHECKING:
    from openfingym.results import RolloutResult

Differences = Mapping[str, Mapping[int, float]]
"""Differences of log relative loss, by task and seed."""
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
    """Geometric mean over tasks of the loss of a over that of b; below 1 a is better."""
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
    verdict: Verdict
    """Verdict on agent a."""

    @property
    def sentence(self) -> str:
        """The comparison in words, the one with the lower loss first."""
        a, b, data = label(self.a), label(self.b), f"{self.data_kind} data"
        if self.verdict == "too few":
            needed = f"{FEWEST_UNITS} are needed, or {FEWEST_UNITS} common seeds of each"
            return (
                f"{a} and {b} on {data}: too few to say, {self.tasks} common task{'s' * (self.tasks != 1)}; {needed}."
            )
        ratio, low, high = (
            value or 1.0 for value in (self.loss_ratio.value, self.loss_ratio.low, self.loss_ratio.high)
        )
        wins, losses = self.wins, self.losses
        if ratio > 1.0:
            a, b, ratio, low, high, wins, losses = b, a, 1.0 / ratio, 1.0 / high, 1.0 / low, losses, wins
        size = f"{1.0 - ratio:.1%} lower (95 % interval of the ratio {low:.3g} to {high:.3g})"
        tasks = f"{self.tasks} task{'s' * (self.tasks != 1)}"
        if self.loss_ratio.over == "run":
            tasks = f"the seeds of {tasks}, which stand{'s' * (self.tasks == 1)} for no other"
        found = (
            f"over {tasks}, better on {wins} and worse on {losses}; p = {self.p_value:.2g}, Holm-adjusted "
            f"{self.p_holm:.2g}"
        )
        if self.verdict == "no difference":
            return f"{a} and {b} cannot be told apart on {data}: the loss of {a} is {size}, {found}."
        return f"{a} is better than {b} on {data}: its loss is {size}, {found}."


def compare(groups: Sequence[RunGroup], seed: int) -> list[RowComparison]:
    """Every pair of rows on data of the same kind, adjusted together within each kind.

    As in a cell, a rejected run counts as the baseline; a row that was never scored has nothing to compare.
    """
    found: list[RowComparison] = []
    scoring = [group for group in groups if any(run.state == "scored" for runs in group.tasks.values() for run in runs)]
    for kind in dict.fromkeys(group.data_kind for group in scoring):
        found += _compare_kind([group for group in scoring if group.data_kind == kind], seed)
    return found


def _compare_kind(groups: Sequence[RunGroup], seed: int) -> list[RowComparison]:
    losses = [_by_task_and_seed(group) for group in groups]
    pairs = list(itertools.combinations(range(len(groups)), 2))
    differences = [_differences(losses[a], losses[b]) for a, b in pairs]
    tested = {n: units for n, values in enumerate(differences) if (units := _units(values))}
    columns = {unit: place for place, unit in enumerate(sorted({unit for units in tested.values() for unit in units}))}
    matrix = np.zeros((len(tested), len(columns)))
    for row, units in zip(matrix, tested.values(), strict=True):
        row[[columns[unit] for unit in units]] = list(units.values())
    p_values = sign_flip_p(matrix, seed).tolist() if tested else []
    p = dict(zip(tested, zip(p_values, holm(p_values), strict=True), strict=True))
    return [_comparison(groups[a], groups[b], differences[n], p.get(n), seed) for n, (a, b) in enumerate(pairs)]


def _by_task_and_seed(group: RunGroup) -> dict[str, dict[int, float]]:
    """Mean log relative loss of the attempts at each seed of each task."""
    found: dict[str, dict[int, float]] = {}
    for task, runs in group.tasks.items():
        by_seed: dict[int, list[RolloutResult]] = defaultdict(list)
        for run in judged(runs):
            by_seed[run.seed].append(run)
        if by_seed:
            found[task] = {seed: fmean(map(log_relative, some)) for seed, some in by_seed.items()}
    return found


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
    a: RunGroup, b: RunGroup, differences: Differences, p: tuple[float, float] | None, seed: int
) -> RowComparison:
    means = [fmean(values.values()) for values in differences.values()]
    wins, losses = sum(mean < -EVEN for mean in means), sum(mean > EVEN for mean in means)
    estimate = mean_estimate([list(values.values()) for values in differences.values()], seed)
    verdict: Verdict = "too few"
    effect = None
    if p is not None:
        mean, spread = fmean(means), stdev(means) if len(means) > 1 else 0.0
        effect = mean / spread if spread > EVEN else None
        verdict = "no difference" if p[1] >= SIGNIFICANT else "better" if mean < 0.0 else "worse"
    return RowComparison(
        data_kind=a.data_kind,
        a=a.row,
        b=b.row,
        tasks=len(means),
        pairs=sum(map(len, differences.values())),
        loss_ratio=estimate.map(math.exp),
        effect=effect,
        wins=wins,
        losses=losses,
        ties=len(means) - wins - losses,
        p_value=p[0] if p else None,
        p_holm=p[1] if p else None,
        verdict=verdict,
    )
