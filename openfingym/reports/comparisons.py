"""Paired comparisons: which of two agents is better on the tasks and seeds that both ran.

What is compared is the penalized total, in which a run without a score counts as 100 times the baseline
(:func:`openfingym.reports.cells.log_penalized`). The losses where both were scored are beside it, as a
description alone: an agent that fails where it is hard must not be judged by what is left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from openfingym.reports.cells import log_penalized, log_relative
from openfingym.reports.datasets import datasets_of, items_of
from openfingym.reports.groups import Row, RunGroup, judged
from openfingym.reports.repeats import (
    RunsBySeed,
    SampleOf,
    Samples,
    by_seed,
    deviation,
    difference_of,
    is_single,
    stored_sample,
)
from openfingym.reports.statistics import EVEN, Estimate, Figure, Inference, estimate_of, holm, inference_of

if TYPE_CHECKING:
    from openfingym.results import RolloutResult

Runs = Mapping[str, RunsBySeed]
"""Judged runs of a row, by task and seed."""
Verdict = Literal["better", "worse", "no difference", "too few"]
SIGNIFICANT = 0.05
"""Adjusted p-value below which a difference is significant."""


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
    datasets: int
    """How many datasets these tasks are on; tasks on one series count once."""
    pairs: int
    """How many pairs of a task and a seed both ran."""
    loss_ratio: Estimate
    """Geometric mean over tasks of the penalized total of a over that of b; below 1 a is better. Its interval is for
    this pair alone."""
    detectable: float | None
    """How much lower the loss of one must be, as a share, for this comparison alone to tell it with a chance of 80 %;
    None if nothing is known of the error."""
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
    items: int | None
    """How many items (windows, questions, nodes) of the tasks both were compared on, replicate by replicate; None if
    the comparison is over datasets, or if it is not known how both did on each."""
    items_are: str
    """What the items are called: ``questions``, or ``items`` of any kind."""
    single: bool
    """Whether some task has one run alone of a row, so that nothing is known of other repeats."""
    p_value: float | None
    """p-value of the two-sided t-test of the mean difference; None if nothing is known of the error."""
    p_holm: float | None
    """The p-value, adjusted for all comparisons on data of this kind."""
    compared: int
    """How many comparisons on data of this kind the p-value is adjusted for."""
    success_p_holm: float | None
    """p-value of the same test of how often they were scored, adjusted for all comparisons on data of this kind; None
    with too few datasets."""
    verdict: Verdict
    """Whether a is better than b by the penalized total; ``too few`` if nothing is known of the error."""

    @property
    def sentence(self) -> str:
        """The comparison in words, with the row of the lower loss first."""
        from openfingym.reports.sentences import sentence_of

        return sentence_of(self)


def compare(groups: Sequence[RunGroup], _seed: int = 0, *, sample_of: SampleOf = stored_sample) -> list[RowComparison]:
    """Compare every pair of rows on data of the same kind; p-values are adjusted together within each kind.

    A row that was never scored is compared with those that were; two such rows have nothing to compare.

    Args:
        groups: the runs, grouped by kind of data and row.
        _seed: of no effect, since nothing is drawn at random; earlier versions took a seed here.
        sample_of: gives the relative total of a run on every replicate of its hidden items, by default from the file
            beside its result; asked only if there are too few datasets.
    """
    comparisons: list[RowComparison] = []
    with_runs = [group for group in groups if any(judged(runs) for runs in group.tasks.values())]
    for kind in dict.fromkeys(group.data_kind for group in with_runs):
        comparisons += _compare_kind([group for group in with_runs if group.data_kind == kind], sample_of)
    return comparisons


_Means = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class _RowRuns:
    """The judged runs of a row, with what is computed of them once for all of its comparisons."""

    group: RunGroup
    runs: Runs
    penalized: _Means
    """Mean of the log of the penalized total, by task and seed."""
    scored: _Means
    """Mean log loss of scored runs, by task and seed that has one."""
    failed: _Means
    """Share of runs that failed, by task and seed."""

    @classmethod
    def of(cls, group: RunGroup) -> _RowRuns:
        runs = {task: mine for task, some in group.tasks.items() if (mine := by_seed(judged(some)))}
        return cls(
            group,
            runs,
            _means(runs, lambda attempts: list(map(log_penalized, attempts))),
            _means(runs, lambda attempts: [log_relative(run) for run in attempts if run.state == "scored"]),
            _means(runs, lambda attempts: [float(run.state != "scored") for run in attempts]),
        )


@dataclass(frozen=True)
class _Pair:
    """Two rows on data of one kind, on the tasks and seeds that both ran."""

    a: _RowRuns
    b: _RowRuns
    seeds: Mapping[str, Sequence[int]]
    """The common seeds of each common task."""
    datasets: Mapping[str, int]
    """The number of each task's dataset."""
    samples: Samples

    @classmethod
    def of(cls, a: _RowRuns, b: _RowRuns, datasets: Mapping[str, int], samples: Samples) -> _Pair:
        common = {task: sorted(a.runs[task].keys() & b.runs[task].keys()) for task in sorted(a.runs.keys() & b.runs)}
        return cls(a, b, {task: seeds for task, seeds in common.items() if seeds}, datasets, samples)

    def differences(self, means: Callable[[_RowRuns], _Means]) -> dict[str, float]:
        """Difference of the means of a and b over common seeds at which both have one, by task."""
        found = {}
        for task, seeds in self.seeds.items():
            a, b = means(self.a).get(task, {}), means(self.b).get(task, {})
            values = [a[seed] - b[seed] for seed in seeds if seed in a and seed in b]
            if values:
                found[task] = fmean(values)
        return found

    def runs(self, task: str) -> tuple[RunsBySeed, RunsBySeed]:
        """The runs of a and of b at the common seeds of a task."""
        a, b = ({seed: row.runs[task][seed] for seed in self.seeds[task]} for row in (self.a, self.b))
        return a, b

    def inference(self, differences: Mapping[str, float]) -> Inference | None:
        """What is known of the mean difference of the log of the penalized total."""
        return inference_of(list(differences.values()), self._datasets(differences), self._figures)

    def success(self) -> Inference | None:
        """The same of the share of runs that failed; None with too few datasets, as it has no error over items."""
        failed = self.differences(lambda row: row.failed)
        return inference_of(list(failed.values()), self._datasets(failed), lambda: [Figure(0.0, None, ())])

    def alone(self) -> Estimate:
        """The ratio of the losses where both were scored."""
        values = self.differences(lambda row: row.scored)
        datasets = self._datasets(values)
        known = inference_of(list(values.values()), datasets, lambda: [Figure(0.0, None, ())] * len(datasets))
        return estimate_of(list(values.values()), known).map(math.exp)

    def items(self) -> int | None:
        """How many items both are compared on, replicate by replicate; None if it is not known of some task."""
        counts = [self.samples.items(*self.runs(task)) for task in self.seeds]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    def _datasets(self, tasks: Iterable[str]) -> list[int]:
        return [self.datasets[task] for task in tasks]

    def _figures(self) -> list[Figure]:
        return [difference_of(*self.runs(task), log_penalized, self.samples) for task in self.seeds]


def _compare_kind(groups: Sequence[RunGroup], sample_of: SampleOf) -> list[RowComparison]:
    """Compare every pair of rows on data of one kind."""
    tasks = sorted({task for group in groups for task in group.tasks})
    datasets = dict(zip(tasks, datasets_of(tasks, groups[0].data_kind), strict=True))
    rows, samples = [_RowRuns.of(group) for group in groups], Samples(sample_of)
    pairs = [_Pair.of(a, b, datasets, samples) for a, b in itertools.combinations(rows, 2) if a.scored or b.scored]
    differences = [pair.differences(lambda row: row.penalized) for pair in pairs]
    by_loss = [pair.inference(values) for pair, values in zip(pairs, differences, strict=True)]
    loss_p, success_p = _adjusted(by_loss), _adjusted([pair.success() for pair in pairs])
    tested = sum(known is not None for known in by_loss)
    # Nearly all pairs have the same tasks.
    named = cache(items_of)
    return [
        _comparison(pair, values, known, p, success, tested, named(tuple(pair.seeds)))
        for pair, values, known, p, success in zip(pairs, differences, by_loss, loss_p, success_p, strict=True)
    ]


def _adjusted(known: Sequence[Inference | None]) -> list[float | None]:
    """The p-value of each comparison of which something is known, adjusted for all of these."""
    tested = [place for place, inference in enumerate(known) if inference is not None]
    adjusted = dict(zip(tested, holm([inference.p_value for inference in known if inference is not None]), strict=True))
    return [adjusted.get(place) for place in range(len(known))]


def _means(runs: Runs, losses: Callable[[Sequence[RolloutResult]], list[float]]) -> _Means:
    """Mean over the attempts at each seed of each task, without seeds and tasks that have no value."""
    means = {
        task: {seed: fmean(values) for seed, attempts in seeds.items() if (values := losses(attempts))}
        for task, seeds in runs.items()
    }
    return {task: seeds for task, seeds in means.items() if seeds}


def _comparison(
    pair: _Pair,
    differences: Mapping[str, float],
    known: Inference | None,
    p_holm: float | None,
    success_p_holm: float | None,
    tested: int,
    items_are: str,
) -> RowComparison:
    """The comparison of two rows.

    Args:
        pair: the rows and what they have in common.
        differences: difference of the log of the penalized total, by task.
        known: what is known of its mean; None if nothing is.
        p_holm: its adjusted p-value.
        success_p_holm: adjusted p-value of the test of how often they were scored.
        tested: how many comparisons were adjusted together.
        items_are: what the items of their tasks are called.
    """
    means = list(differences.values())
    wins, losses = sum(mean < -EVEN for mean in means), sum(mean > EVEN for mean in means)
    spread = deviation(means) if len(means) > 1 else 0.0
    verdict: Verdict = "too few"
    if known is not None and p_holm is not None:
        # A mean below 0 says that a has less loss.
        verdict = "no difference" if p_holm >= SIGNIFICANT else "better" if known.value < 0.0 else "worse"
    runs = [pair.runs(task) for task in pair.seeds]
    both = [
        [run for some in mine for attempts in some.values() for run in attempts] for mine in zip(*runs, strict=True)
    ]
    scored, counts = zip(
        *((sum(run.state == "scored" for run in mine), len(mine)) for mine in both or ([], [])), strict=True
    )
    return RowComparison(
        data_kind=pair.a.group.data_kind,
        a=pair.a.group.row,
        b=pair.b.group.row,
        tasks=len(means),
        datasets=len({pair.datasets[task] for task in differences}),
        pairs=sum(map(len, pair.seeds.values())),
        loss_ratio=estimate_of(means, known).map(math.exp),
        detectable=None if known is None else -math.expm1(-known.detectable),
        scored=(scored[0], scored[1]),
        judged=(counts[0], counts[1]),
        scored_ratio=pair.alone(),
        effect=fmean(means) / spread if spread > EVEN else None,
        wins=wins,
        losses=losses,
        ties=len(means) - wins - losses,
        items=pair.items() if known is not None and known.over == "item" else None,
        items_are=items_are,
        single=any(is_single(some) for mine in runs for some in mine),
        p_value=None if known is None else known.p_value,
        p_holm=p_holm,
        compared=tested,
        success_p_holm=success_p_holm,
        verdict=verdict,
    )
