"""The cells of a report: what one agent and model achieved in a family of tasks, and in each task."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal, get_args

from openfingym.adversarial.marks import share_without_skill
from openfingym.reports.statistics import Estimate, mean_estimate, pass_at_k
from openfingym.task import DataKind, Family

if TYPE_CHECKING:
    from openfingym.reports.runs import Made
    from openfingym.results import RolloutResult

Field = Literal["agent", "model", "backend"]
Row = tuple[str, ...]
"""Values of the fields that runs are grouped by, such as agent and model."""
ALL = "all"
"""Name of the cell over all families."""
UNKNOWN = "unknown"
"""Family of a task that this installation does not know, and of which no run states it."""
NONE = "-"
"""What stands for the model of a program."""


@dataclass(frozen=True)
class RunGroup:
    """The runs of one row on data of one kind; real and simulated data never meet in one."""

    data_kind: str
    row: Row
    tasks: Mapping[str, Sequence[RolloutResult]]
    """Runs by task; a task of which several builds were run is several tasks, and a slice of its questions is another
    one."""


@dataclass(frozen=True)
class StateCounts:
    """Numbers of runs, by how they ended."""

    scored: int
    rejected: int
    """Without a score by the fault of agent or model."""
    error: int
    """Without a score by a fault of ours: in no figure, and counted here."""
    deferred: int
    void: int

    @classmethod
    def of(cls, runs: Iterable[RolloutResult]) -> StateCounts:
        """Count the states of ``runs``."""
        states = Counter(run.state for run in runs)
        return cls(states["scored"], states["rejected"], states["error"], states["deferred"], states["void"])

    @property
    def judged(self) -> int:
        """Runs that say something about the agent."""
        return self.scored + self.rejected

    @property
    def success(self) -> float | None:
        """Scored over scored and rejected; None where there is neither."""
        return self.scored / self.judged if self.judged else None


@dataclass(frozen=True)
class Cost:
    """The cost of one success: all judged runs together, over those with a score. None where that is unknown."""

    usd: float | None
    tokens: float | None
    seconds: float | None

    @classmethod
    def of(cls, runs: Sequence[RolloutResult]) -> Cost:
        """Cost of a success among judged ``runs``."""
        scored = sum(run.state == "scored" for run in runs)
        if not scored:
            return cls(None, None, None)
        prices = [run.cost_usd for run in runs if run.cost_usd is not None]
        usd = math.fsum(prices) / scored if len(prices) == len(runs) else None
        tokens = sum(run.prompt_tokens + run.completion_tokens for run in runs)
        return cls(usd, tokens / scored if tokens else None, math.fsum(run.wall_s for run in runs) / scored)


@dataclass(frozen=True)
class PassAt:
    """Chance that at least one of k runs of a task succeeds, averaged over tasks."""

    k: int
    """At most the fewest judged runs of any task, so that every k is of the same tasks."""
    scored: float
    """A run succeeds if it is scored."""
    better: float
    """A run succeeds if it is scored better than the baseline, beyond its sampling error where it has an interval."""


@dataclass(frozen=True)
class Cell:
    """One row in one family, on data of one kind."""

    data_kind: str
    row: Row
    family: str
    tasks: int
    """Tasks with a judged run."""
    counts: StateCounts
    reward: float | None
    """The paper's: mean over tasks of the mean over scored runs; see :func:`paper_reward`."""
    skill: Estimate
    """A rejected run counts as the baseline, whose answer one would fall back on. No value where nothing was scored."""
    penalized: Estimate
    """Geometric mean over tasks of the relative total, a rejected run counted as 100 (:func:`log_penalized`): rows are
    ranked by it, lower is better. No value where no run was judged."""
    skill_scored: float | None
    """The skill of scored runs alone; flatters an agent that fails where it is hard."""
    better: float | None
    """Share of judged runs that are better than the baseline, beyond their sampling error where they have an
    interval."""
    no_skill: float | None
    """Share of scored runs that show no skill (:mod:`openfingym.adversarial.marks`), of those of which it is known;
    None of none."""
    cost: Cost
    pass_at: tuple[PassAt, ...]


@dataclass(frozen=True)
class TaskCell:
    """One row in one task."""

    data_kind: str
    row: Row
    family: str
    task: str
    counts: StateCounts
    skill: Estimate
    """As in :class:`Cell`; its interval is over runs."""
    sampling: tuple[float, float] | None
    """For a single run, the 95 % interval of its skill over other hidden rows of the same market; None for several, or
    without one."""
    worst: float | None
    best: float | None
    no_skill: float | None
    """As in :class:`Cell`."""
    total: float | None
    """The paper's loss, mean of scored runs."""
    cost: Cost


def grouped(results: Iterable[RolloutResult], by: Sequence[Field]) -> list[RunGroup]:
    """Runs by kind of data and by row, in order of both."""
    results = list(results)
    builds: dict[str, set[str]] = defaultdict(set)
    for run in results:
        builds[run.task].add(run.task_digest)
    found: dict[tuple[str, Row], dict[str, list[RolloutResult]]] = defaultdict(lambda: defaultdict(list))
    for run in results:
        task = run.task if len(builds[run.task]) == 1 else f"{run.task}@{run.task_digest[:8]}"
        task += "" if run.slice is None else f" questions {run.slice}"
        found[run.data_kind, row_of(run, by)][task].append(run)
    return [
        RunGroup(kind, row, {task: tuple(runs) for task, runs in sorted(tasks.items())})
        for (kind, row), tasks in sorted(found.items(), key=lambda item: (kind_order(item[0][0]), item[0][1]))
    ]


def row_of(run: RolloutResult, by: Sequence[Field]) -> Row:
    """The row that a run is in, where rows are grouped by these fields."""
    return tuple(str(getattr(run, name) or NONE) for name in by)


def label(row: Row) -> str:
    """A row as one name; a program has no model to name."""
    return " / ".join(part for part in row if part != NONE) or NONE


def kind_order(kind: str) -> tuple[int, str]:
    """Sorts real before simulated before specified data."""
    known = get_args(DataKind)
    return (known.index(kind) if kind in known else len(known)), kind


def families_of(groups: Sequence[RunGroup], made: Mapping[str, Made]) -> dict[str, str]:
    """Family of each task as the catalogue has it; of a task known by its folder alone, as a run of it states it."""
    from openfingym import catalog
    from openfingym.errors import TaskError

    folders = catalog.task_folders()
    stated: dict[str, str] = {}
    for task, run in ((task, run) for group in groups for task, runs in group.tasks.items() for run in runs):
        family = one.family if (one := made.get(run.rollout_id)) else None
        stated[task] = family if family is not None and family in get_args(Family) else stated.get(task, UNKNOWN)
    families = {}
    for task, of_runs in stated.items():
        name = task.partition(" ")[0].partition("@")[0]
        try:
            families[task] = str(catalog.load_task(folders[name]).spec.family) if name in folders else of_runs
        except TaskError:
            families[task] = of_runs
    return families


def log_relative(run: RolloutResult) -> float:
    """Log of a judged run's loss relative to the baseline's; 0, the baseline's own, where it was rejected."""
    return 0.0 if run.relative_total is None or run.state != "scored" else math.log(run.relative_total)


def log_penalized(run: RolloutResult) -> float:
    """Log of a judged run's loss relative to the baseline's, where a rejected run counts as 100 times the baseline.

    That is the log of minus the reward ``relative`` (:meth:`openfingym.results.RolloutResult.reward`), by which no
    answer, however bad, is worth less than none: whoever answers only where it is good gains nothing.
    """
    return math.log(-run.reward("relative"))


def skill_of(log_ratio: float) -> float:
    """1 - exp(mean log relative total): 0 is the baseline, 0.5 half its loss, negative is worse."""
    return -math.expm1(log_ratio)


def skill_estimate(tasks: Sequence[Sequence[RolloutResult]], seed: int) -> Estimate:
    """Skill from the judged runs of each task: 1 - the geometric mean of relative totals (Shchur et al. 2025).

    An agent that never delivers is not as good as the baseline; it has no skill to state.
    """
    if not any(run.state == "scored" for runs in tasks for run in runs):
        return Estimate(None, None, None, len(tasks), None)
    return mean_estimate([[log_relative(run) for run in runs] for runs in tasks], seed).map(skill_of)


def paper_reward(run: RolloutResult, family: str) -> float | None:
    """The reward of a scored run as Table 4 of the source paper has it.

    Forecasting and generation: the total, lower is better. Fraud: AUROC + recall, and trading: minus the
    total (the paper does not say what its own was); higher is better.
    """
    if run.total is None:
        return None
    if family == "fraud":
        parts = [run.metrics.get(name) for name in ("auroc", "recall_at_k")]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None
    return -run.total if family == "trading" else run.total


def cells_of(groups: Sequence[RunGroup], families: Mapping[str, str], seed: int) -> list[Cell]:
    """A cell for each group and family of its tasks; and one over all, where data of its kind has several families."""
    cells = []
    for group in groups:
        beside = {families[task] for other in groups if other.data_kind == group.data_kind for task in other.tasks}
        by_family: dict[str, list[str]] = defaultdict(list)
        for task in group.tasks:
            by_family[families[task]].append(task)
        chosen = sorted(by_family.items(), key=lambda item: family_order(item[0]))
        if len(beside) > 1:
            chosen.append((ALL, list(group.tasks)))
        cells += [_cell(group, family, tasks, seed) for family, tasks in chosen]
    return cells


def family_order(family: str) -> int:
    """Sorts families as the paper does, the cell over all last."""
    known = ("forecasting", "generation", "trading", "fraud", UNKNOWN, ALL)
    return known.index(family) if family in known else len(known)


def task_cells_of(group: RunGroup, families: Mapping[str, str], seed: int) -> list[TaskCell]:
    """A cell for each task of the group."""
    return [_task_cell(group, families[task], task, runs, seed) for task, runs in group.tasks.items()]


def judged(runs: Iterable[RolloutResult]) -> list[RolloutResult]:
    """Runs that say something about the agent: scored and rejected ones."""
    return [run for run in runs if run.state in {"scored", "rejected"}]


def _cell(group: RunGroup, family: str, tasks: Sequence[str], seed: int) -> Cell:
    every = [run for task in tasks for run in group.tasks[task]]
    by_task = [runs for runs in (judged(group.tasks[task]) for task in tasks) if runs]
    scored = [alone for alone in ([run for run in runs if run.state == "scored"] for runs in by_task) if alone]
    runs = judged(every)
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
        skill=skill_estimate(by_task, seed),
        penalized=mean_estimate([[log_penalized(run) for run in runs] for runs in by_task], seed).map(math.exp),
        skill_scored=skill_of(fmean(fmean(map(log_relative, alone)) for alone in scored)) if scored else None,
        better=sum(map(_is_better, runs)) / len(runs) if runs else None,
        no_skill=share_without_skill(runs),
        cost=Cost.of(runs),
        pass_at=tuple(_pass_at(by_task)),
    )


def _sampling(runs: Sequence[RolloutResult]) -> tuple[float, float] | None:
    interval = runs[0].relative_interval if len(runs) == 1 and runs[0].state == "scored" else None
    return None if interval is None else (1.0 - interval[1], 1.0 - interval[0])


def _is_better(run: RolloutResult) -> bool:
    """Beyond the sampling error of the hidden rows; a run without an interval is taken at its word."""
    if run.verdict is not None:
        return run.state == "scored" and run.verdict == "better"
    return run.state == "scored" and run.relative_total is not None and run.relative_total < 1.0


def _pass_at(by_task: Sequence[Sequence[RolloutResult]]) -> Iterable[PassAt]:
    tallies = [(len(runs), sum(run.state == "scored" for run in runs), sum(map(_is_better, runs))) for runs in by_task]
    for k in range(1, min((n for n, _, _ in tallies), default=0) + 1):
        scored = fmean(pass_at_k(n, passed, k) for n, passed, _ in tallies)
        yield PassAt(k, scored, fmean(pass_at_k(n, better, k) for n, _, better in tallies))


def _task_cell(group: RunGroup, family: str, task: str, every: Sequence[RolloutResult], seed: int) -> TaskCell:
    runs = judged(every)
    logs = [log_relative(run) for run in runs]
    totals = [run.total for run in runs if run.state == "scored" and run.total is not None]
    return TaskCell(
        data_kind=group.data_kind,
        row=group.row,
        family=family,
        task=task,
        counts=StateCounts.of(every),
        skill=skill_estimate([runs] if runs else [], seed),
        sampling=_sampling(runs),
        worst=skill_of(max(logs)) if totals else None,
        best=skill_of(min(logs)) if totals else None,
        no_skill=share_without_skill(runs),
        total=fmean(totals) if totals else None,
        cost=Cost.of(runs),
    )
