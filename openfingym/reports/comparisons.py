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

from openfingym.reports.cells import Group, Row, judged, log_relative
from openfingym.reports.statistics import FEWEST_UNITS, Estimate, holm, mean_estimate, sign_flip_p

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.results import RolloutResult

Verdict = Literal["better", "worse", "no difference", "too few"]
SIGNIFICANT = 0.05
EVEN = 1e-9
"""Mean log losses closer than this are a tie."""


@dataclass(frozen=True)
class Comparison:
    """Row ``a`` against row ``b`` on data of one kind."""

    data_kind: str
    a: Row
    b: Row
    tasks: int
    """Tasks that both were judged on with a common seed."""
    pairs: int
    """Common (task, seed)."""
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
    """Of the two-sided sign-flip test over tasks."""
    p_holm: float | None
    """Adjusted for all comparisons on data of this kind."""
    verdict: Verdict
    """Of a."""

    @property
    def sentence(self) -> str:
        """The comparison in words, the one with the lower loss first."""
        a, b, data = label(self.a), label(self.b), f"{self.data_kind} data"
        if self.verdict == "too few":
            return f"{a} and {b} on {data}: too few to say, {self.tasks} common tasks, {FEWEST_UNITS} are needed."
        ratio, low, high = (value or 1.0 for value in (self.loss_ratio.value, self.loss_ratio.low, self.loss_ratio.high))
        wins, losses = self.wins, self.losses
        if ratio > 1.0:
            a, b, ratio, low, high, wins, losses = b, a, 1.0 / ratio, 1.0 / high, 1.0 / low, losses, wins
        size = f"{1.0 - ratio:.1%} lower (95 % interval of the ratio {low:.3g} to {high:.3g})"
        found = f"over {self.tasks} tasks, better on {wins} and worse on {losses}; Holm-adjusted p = {self.p_holm:.2g}"
        if self.verdict == "no difference":
            return f"{a} and {b} cannot be told apart on {data}: the loss of {a} is {size}, {found}."
        return f"{a} is better than {b} on {data}: its loss is {size}, {found}."


def label(row: Row) -> str:
    """A row as one name; a program has no model to name."""
    return " / ".join(part for part in row if part != "-") or "-"


def compare(groups: Sequence[Group], seed: int) -> list[Comparison]:
    """Every pair of rows on data of the same kind, adjusted together within each kind.

    As in a cell, a rejected run counts as the baseline; a row that was never scored has nothing to compare.
    """
    found: list[Comparison] = []
    scoring = [group for group in groups if any(run.state == "scored" for runs in group.tasks.values() for run in runs)]
    for kind in dict.fromkeys(group.data_kind for group in scoring):
        found += _compare_kind([group for group in scoring if group.data_kind == kind], seed)
    return found


def _compare_kind(groups: Sequence[Group], seed: int) -> list[Comparison]:
    losses = [_by_task_and_seed(group) for group in groups]
    tasks = sorted({task for one in losses for task in one})
    pairs = list(itertools.combinations(range(len(groups)), 2))
    differences = [_differences(losses[a], losses[b]) for a, b in pairs]
    testable = [n for n, (values, _) in enumerate(differences) if len(values) >= FEWEST_UNITS]
    matrix = np.array([[differences[n][0].get(task, 0.0) for task in tasks] for n in testable]).reshape(len(testable), len(tasks))
    p_values = sign_flip_p(matrix, seed).tolist() if testable else []
    p = dict(zip(testable, zip(p_values, holm(p_values), strict=True), strict=True))
    return [
        _comparison(groups[a], groups[b], values, common, p.get(n), seed)
        for n, ((a, b), (values, common)) in enumerate(zip(pairs, differences, strict=True))
    ]


def _by_task_and_seed(group: Group) -> dict[str, dict[int, float]]:
    """Mean log relative loss of the attempts at each seed of each task."""
    found: dict[str, dict[int, float]] = {}
    for task, runs in group.tasks.items():
        by_seed: dict[int, list[RolloutResult]] = defaultdict(list)
        for run in judged(runs):
            by_seed[run.seed].append(run)
        if by_seed:
            found[task] = {seed: fmean(map(log_relative, some)) for seed, some in by_seed.items()}
    return found


def _differences(a: Mapping[str, Mapping[int, float]], b: Mapping[str, Mapping[int, float]]) -> tuple[dict[str, float], int]:
    """Mean difference of log loss over common seeds, by common task; and the number of common (task, seed)."""
    values, pairs = {}, 0
    for task in a.keys() & b.keys():
        seeds = a[task].keys() & b[task].keys()
        if seeds:
            values[task] = fmean(a[task][seed] - b[task][seed] for seed in sorted(seeds))
            pairs += len(seeds)
    return dict(sorted(values.items())), pairs


def _comparison(a: Group, b: Group, values: Mapping[str, float], pairs: int, p: tuple[float, float] | None, seed: int) -> Comparison:
    array: NDArray[np.float64] = np.array(list(values.values()), dtype=np.float64)
    wins, losses = int((array < -EVEN).sum()), int((array > EVEN).sum())
    verdict: Verdict = "too few"
    effect, ratio = None, Estimate(None, None, None, len(array))
    if p is not None:
        mean, spread = float(array.mean()), stdev(array.tolist())
        effect = mean / spread if spread > EVEN else None
        verdict = "no difference" if p[1] >= SIGNIFICANT else "better" if mean < 0.0 else "worse"
        estimate = mean_estimate(array, seed)
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is not None
        ratio = Estimate(math.exp(estimate.value), math.exp(estimate.low), math.exp(estimate.high), len(array))
    return Comparison(
        data_kind=a.data_kind,
        a=a.row,
        b=b.row,
        tasks=len(array),
        pairs=pairs,
        loss_ratio=ratio,
        effect=effect,
        wins=wins,
        losses=losses,
        ties=len(array) - wins - losses,
        p_value=p[0] if p else None,
        p_holm=p[1] if p else None,
        verdict=verdict,
    )
