"""The cells of a report: the figures of one agent and model in a family of tasks, and in each task."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from openfingym.adversarial.marks import share_without_skill
from openfingym.reports.datasets import datasets_of
from openfingym.reports.groups import ALL, Row, RunGroup, family_order, judged
from openfingym.reports.repeats import Loss, Samples, by_seed, row_figure, stored_sample
from openfingym.reports.statistics import Estimate, Figure, estimate_of, inference_of, pass_at_k

if TYPE_CHECKING:
    from openfingym.results import RolloutResult


@dataclass(frozen=True)
class StateCounts:
    """How many runs ended in each state."""

    scored: int
    """Runs with a score."""
    rejected: int
    """Runs without a score by the fault of agent or model."""
    error: int
    """Runs without a score by an infrastructure error; they are in no other figure."""
    deferred: int
    """Runs whose score is still to come."""
    void: int
    """Runs that will have no score, and are nobody's fault."""

    @classmethod
    def of(cls, runs: Iterable[RolloutResult]) -> StateCounts:
        """Count the states of ``runs``."""
        states = Counter(run.state for run in runs)
        return cls(states["scored"], states["rejected"], states["error"], states["deferred"], states["void"])

    @property
    def judged(self) -> int:
        """How many runs say something about the agent: scored and rejected ones."""
        return self.scored + self.rejected

    @property
    def success(self) -> float | None:
        """Share of judged runs that were scored; None if no run was judged."""
        return self.scored / self.judged if self.judged else None


@dataclass(frozen=True)
class Cost:
    """The cost of one success: that of all judged runs together, divided by the number of runs with a score."""

    usd: float | None
    """US dollars; None if nothing was scored, or the cost of some run is unknown."""
    tokens: float | None
    """Tokens of prompts and completions; None if nothing was scored, or no model was asked."""
    seconds: float | None
    """Seconds of the agents, without the verifier's; None if nothing was scored."""

    @classmethod
    def of(cls, runs: Sequence[RolloutResult]) -> Cost:
        """The cost of a success among judged ``runs``."""
        scored = sum(run.state == "scored" for run in runs)
        if not scored:
            return cls(None, None, None)
        # A sum without the runs whose price is unknown would be too low.
        prices = [run.cost_usd for run in runs if run.cost_usd is not None]
        usd = math.fsum(prices) / scored if len(prices) == len(runs) else None
        tokens = sum(run.prompt_tokens + run.completion_tokens for run in runs)
        return cls(usd, tokens / scored if tokens else None, math.fsum(run.wall_s for run in runs) / scored)


@dataclass(frozen=True)
class PassAt:
    """The chance that at least one of k runs of a task succeeds, averaged over tasks."""

    k: int
    """How many runs there are to succeed; at most the fewest judged runs of any task, so that every k is of the same
    tasks."""
    scored: float
    """The chance if a run succeeds when it is scored."""
    better: float
    """The chance if a run succeeds when it is scored better than the baseline, beyond its sampling error if it has an
    interval."""


@dataclass(frozen=True)
class Cell:
    """The figures of one row in one family of tasks, on data of one kind."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    row: Row
    """The row, such as an agent and a model."""
    family: str
    """The family of tasks; :data:`ALL` for the cell over all families."""
    tasks: int
    """How many tasks have a judged run."""
    counts: StateCounts
    """How many runs ended in each state."""
    reward: float | None
    """The paper's reward, as the mean over tasks of the mean over scored runs; see :func:`paper_reward`."""
    skill: Estimate
    """Mean skill over tasks. A rejected run counts as the baseline, on whose answer one would fall back. It has no
    value if nothing was scored."""
    penalized: Estimate
    """Geometric mean over tasks of the relative total, a rejected run counted as 100 (:func:`log_penalized`): rows are
    ranked by it, lower is better. It has no value if no run was judged."""
    skill_scored: float | None
    """The skill of scored runs alone, which flatters an agent that fails where it is hard."""
    better: float | None
    """Share of judged runs that are better than the baseline, beyond their sampling error if they have an interval."""
    no_skill: float | None
    """Share of the scored runs for which it is known that show no skill (:mod:`openfingym.adversarial.marks`); None if
    it is known for none."""
    cost: Cost
    """The cost of one success."""
    pass_at: tuple[PassAt, ...]
    """pass@k for each k from 1 on."""


@dataclass(frozen=True)
class TaskCell:
    """The figures of one row in one task."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    row: Row
    """The row, such as an agent and a model."""
    family: str
    """The family of the task."""
    task: str
    """Name of the task, with its build or slice if there are several."""
    counts: StateCounts
    """How many runs ended in each state."""
    skill: Estimate
    """Mean skill as in :class:`Cell`, with an interval over other items of this task."""
    sampling: tuple[float, float] | None
    """The 95 % interval of the skill of a single run over other hidden rows of the same market; None if there are
    several runs, or if the run has no interval."""
    worst: float | None
    """The lowest skill of a judged run; None if nothing was scored."""
    best: float | None
    """The highest skill of a judged run; None if nothing was scored."""
    no_skill: float | None
    """Share of scored runs that show no skill, as in :class:`Cell`."""
    total: float | None
    """Mean of the paper's loss over scored runs; None if nothing was scored."""
    cost: Cost
    """The cost of one success."""


def log_relative(run: RolloutResult) -> float:
    """Natural log of a judged run's loss relative to the baseline's; a rejected run counts as the baseline, as 0."""
    return 0.0 if run.relative_total is None or run.state != "scored" else math.log(run.relative_total)


def log_penalized(run: RolloutResult) -> float:
    """Natural log of a judged run's loss relative to the baseline's; a rejected run counts as 100 times the baseline.

    That is the log of minus the reward ``relative`` (:meth:`openfingym.results.RolloutResult.reward`), by which no
    answer, however bad, is worth less than none: an agent that answers only where it is good gains nothing.
    """
    return math.log(-run.reward("relative"))


def skill_of(log_ratio: float) -> float:
    """Skill from the mean log of relative totals, 1 - exp(mean): 0 is the baseline, 0.5 half its loss, < 0 worse."""
    # expm1 keeps the digits of a mean close to 0, which 1 - exp would cancel.
    return -math.expm1(log_ratio)


def skill_estimate(
    tasks: Sequence[Sequence[RolloutResult]], datasets: Sequence[int], samples: Samples | None = None
) -> Estimate:
    """Skill from the judged runs of each task: 1 - the geometric mean of relative totals (Shchur et al. 2025).

    Args:
        tasks: the judged runs, by task.
        datasets: number of each task's dataset (:func:`openfingym.reports.datasets.datasets_of`).
        samples: the runs' relative totals on every replicate of their hidden items; None to read those that lie beside
            their results.
    """
    # An agent that never has a score is not as good as the baseline: it has no skill to state.
    if not any(run.state == "scored" for runs in tasks for run in runs):
        return Estimate(None, None, None, len(tasks), None)
    return _estimate(tasks, datasets, log_relative, samples).map(skill_of)


def penalized_estimate(
    tasks: Sequence[Sequence[RolloutResult]], datasets: Sequence[int], samples: Samples | None = None
) -> Estimate:
    """Geometric mean over tasks of the relative total, a rejected run counted as 100; see :func:`log_penalized`.

    Args:
        tasks: the judged runs, by task.
        datasets: number of each task's dataset, as for :func:`skill_estimate`.
        samples: as for :func:`skill_estimate`.
    """
    return _estimate(tasks, datasets, log_penalized, samples).map(math.exp)


def _estimate(
    tasks: Sequence[Sequence[RolloutResult]], datasets: Sequence[int], loss: Loss, samples: Samples | None
) -> Estimate:
    """The mean over tasks of the mean loss of the runs of each."""
    values = [fmean([loss(run) for run in runs]) for runs in tasks]

    def figures() -> list[Figure]:
        # The interval that a result states says all of one task; how tasks go together is in their samples.
        known = None if len(tasks) == 1 else samples or Samples(stored_sample)
        return [
            replace(row_figure(by_seed(runs), loss, known), value=value)
            for runs, value in zip(tasks, values, strict=True)
        ]

    return estimate_of(values, inference_of(values, datasets, figures))


def paper_reward(run: RolloutResult, family: str) -> float | None:
    """The reward of a scored run as in Table 4 of the source paper; None if the run lacks what it is computed from.

    For forecasting and generation it is the total, lower is better. For fraud it is AUROC + recall, and for trading
    minus the total (the paper does not say what its own was); higher is better.
    """
    if run.total is None:
        return None
    if family == "fraud":
        parts = [run.metrics.get(name) for name in ("auroc", "recall_at_k")]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None
    return -run.total if family == "trading" else run.total


def cells_of(groups: Sequence[RunGroup], families: Mapping[str, str], samples: Samples | None = None) -> list[Cell]:
    """A cell for each group and each family of its tasks, and one over all if data of its kind has several families.

    Args:
        groups: the runs, grouped by kind of data and row.
        families: the family of each task.
        samples: as for :func:`skill_estimate`.
    """
    samples = samples or Samples(stored_sample)
    cells = []
    numbers = {kind: _numbers(groups, kind) for kind in dict.fromkeys(group.data_kind for group in groups)}
    for group in groups:
        # Of all groups, so that each row has a cell over all families, also if it has tasks of one.
        present = {families[task] for other in groups if other.data_kind == group.data_kind for task in other.tasks}
        by_family: dict[str, list[str]] = defaultdict(list)
        for task in group.tasks:
            by_family[families[task]].append(task)
        chosen = sorted(by_family.items(), key=lambda item: family_order(item[0]))
        if len(present) > 1:
            chosen.append((ALL, list(group.tasks)))
        cells += [_cell(group, family, tasks, numbers[group.data_kind], samples) for family, tasks in chosen]
    return cells


def _numbers(groups: Sequence[RunGroup], data_kind: str) -> dict[str, int]:
    """The number of the dataset of each task on data of a kind."""
    tasks = sorted({task for group in groups if group.data_kind == data_kind for task in group.tasks})
    return dict(zip(tasks, datasets_of(tasks, data_kind), strict=True))


def task_cells_of(group: RunGroup, families: Mapping[str, str]) -> list[TaskCell]:
    """A cell for each task of a group.

    Args:
        group: the runs of a row.
        families: the family of each task.
    """
    return [_task_cell(group, families[task], task, runs) for task, runs in group.tasks.items()]


def _cell(group: RunGroup, family: str, tasks: Sequence[str], numbers: Mapping[str, int], samples: Samples) -> Cell:
    every = [run for task in tasks for run in group.tasks[task]]
    of_task = {task: runs for task in tasks if (runs := judged(group.tasks[task]))}
    by_task, datasets = list(of_task.values()), [numbers[task] for task in of_task]
    scored = [alone for alone in ([run for run in runs if run.state == "scored"] for runs in by_task) if alone]
    runs = judged(every)
    # Rewards of different families have different scales and directions, and no mean.
    rewards = [[paper_reward(run, family) for run in alone] for alone in scored] if family != ALL else []
    known = [[reward for reward in some if reward is not None] for some in rewards]
    counts = StateCounts.of(every)
    return Cell(
        data_kind=group.data_kind,
        row=group.row,
        family=family,
        tasks=len(by_task),
        counts=counts,
        reward=fmean(map(fmean, known)) if known and all(known) else None,
        skill=skill_estimate(by_task, datasets, samples),
        penalized=penalized_estimate(by_task, datasets, samples),
        skill_scored=skill_of(fmean([fmean([log_relative(run) for run in alone]) for alone in scored]))
        if scored
        else None,
        better=sum(map(_is_better, runs)) / len(runs) if runs else None,
        no_skill=share_without_skill(runs),
        cost=Cost.of(runs),
        pass_at=tuple(_pass_at(by_task)),
    )


def _sampling(runs: Sequence[RolloutResult]) -> tuple[float, float] | None:
    """The interval of the skill of a single run over hidden rows."""
    interval = runs[0].relative_interval if len(runs) == 1 and runs[0].state == "scored" else None
    return None if interval is None else (1.0 - interval[1], 1.0 - interval[0])


def _is_better(run: RolloutResult) -> bool:
    """Whether a run beats the baseline, beyond the sampling error of the hidden rows if it has an interval."""
    if run.verdict is not None:
        return run.state == "scored" and run.verdict == "better"
    return run.state == "scored" and run.relative_total is not None and run.relative_total < 1.0


def _pass_at(by_task: Sequence[Sequence[RolloutResult]]) -> Iterable[PassAt]:
    """pass@k from the judged runs of each task."""
    tallies = [(len(runs), sum(run.state == "scored" for run in runs), sum(map(_is_better, runs))) for runs in by_task]
    for k in range(1, min((n for n, _, _ in tallies), default=0) + 1):
        scored = fmean(pass_at_k(n, passed, k) for n, passed, _ in tallies)
        yield PassAt(k, scored, fmean(pass_at_k(n, better, k) for n, _, better in tallies))


def _task_cell(group: RunGroup, family: str, task: str, every: Sequence[RolloutResult]) -> TaskCell:
    runs = judged(every)
    logs = [log_relative(run) for run in runs]
    totals = [run.total for run in runs if run.state == "scored" and run.total is not None]
    return TaskCell(
        data_kind=group.data_kind,
        row=group.row,
        family=family,
        task=task,
        counts=StateCounts.of(every),
        skill=skill_estimate([runs] if runs else [], [0] if runs else []),
        sampling=_sampling(runs),
        worst=skill_of(max(logs)) if totals else None,
        best=skill_of(min(logs)) if totals else None,
        no_skill=share_without_skill(runs),
        total=fmean(totals) if totals else None,
        cost=Cost.of(runs),
    )
