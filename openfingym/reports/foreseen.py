"""What difference a plan could tell, before it is run: by the errors of the recorded baselines on its tasks.

A recorded baseline and the task's naive answer stand for the two agents that will be compared: their error over items,
and how their difference varies from dataset to dataset. What repeats of the agents will differ by is not known
beforehand, and comes on top.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from openfingym.reports.datasets import datasets_of
from openfingym.reports.repeats import NOTHING, half_width
from openfingym.reports.statistics import EVEN, FEWEST_UNITS, Figure, Part, Unit, inference_of, over_items
from openfingym.results.baselines import CHECKS, BaselineResult, recorded


@dataclass(frozen=True)
class Foreseen:
    """What a comparison of two agents on a plan's tasks with data of one kind could tell."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    tasks: tuple[str, ...]
    """The tasks whose errors are recorded."""
    datasets: int
    """How many datasets they are on."""
    seeds: int
    """How many repeats of each there will be."""
    difference: float
    """How much lower the loss of one must be, as a share, to be told with a chance of 80 %."""
    over: Unit
    """Whether that is of tasks on other data, or of other items of these tasks alone."""

    @property
    def sentence(self) -> str:
        """The same in words, without a full stop."""
        tasks = "this task" if len(self.tasks) == 1 else f"these {len(self.tasks)} tasks"
        on = f"with {self.seeds} seed{'s' * (self.seeds != 1)} on {tasks} ({self.data_kind} data)"
        alone = "" if self.over == "task" else ", and none at all of other tasks"
        return f"{on} a difference below {self.difference:.1%} of the loss cannot be told{alone}"


def foreseen(tasks: Sequence[str], seeds: int, *, own_tapes: bool = False) -> tuple[list[Foreseen], list[str]]:
    """What a plan could tell.

    Args:
        tasks: names of its tasks.
        seeds: how many repeats it has of each agent on each task.
        own_tapes: whether every rollout has hidden data of its own, so that repeats are of other items.

    Returns:
        What it could tell on data of each kind, and the tasks of which nothing is recorded.
    """
    rows: dict[str, dict[str, list[BaselineResult]]] = defaultdict(lambda: defaultdict(list))
    for row in recorded():
        if row.task in tasks and _is_told(row):
            rows[row.data_kind][row.task].append(row)
    known = {task for of_kind in rows.values() for task in of_kind}
    found = [_of_kind(kind, of_task, seeds, own_tapes=own_tapes) for kind, of_task in sorted(rows.items())]
    return found, [task for task in tasks if task not in known]


def _of_kind(kind: str, rows: dict[str, list[BaselineResult]], seeds: int, *, own_tapes: bool) -> Foreseen:
    tasks = sorted(rows)
    numbers = dict(zip(tasks, datasets_of(tasks, kind), strict=True))
    count = len(set(numbers.values()))
    told = _over_datasets(rows, numbers) if count >= FEWEST_UNITS else []
    if told:
        difference = median(told) / math.sqrt(count)
    else:
        share = 1.0 / math.sqrt(seeds) if own_tapes else 1.0
        parts = [Part.of_interval(share * median(_halves(rows[task]))) for task in tasks]
        figures = [Figure(0.0, NOTHING, (part,)) if own_tapes else Figure(0.0, part, ()) for part in parts]
        known = over_items(figures, list(numbers.values()))
        assert known is not None
        difference = known.detectable
    return Foreseen(kind, tuple(tasks), count, seeds, -math.expm1(-difference), "task" if told else "item")


def _over_datasets(rows: dict[str, list[BaselineResult]], numbers: dict[str, int]) -> list[float]:
    """The differences that tests of the recorded agents against the naive answer tell, were each on a single dataset.

    Of agents that are recorded on enough datasets.
    """
    logs: dict[str, dict[str, float]] = defaultdict(dict)
    for task, of_task in rows.items():
        for row in of_task:
            assert row.relative_total is not None, "what has none is not told"
            logs[row.agent][task] = math.log(row.relative_total)
    told = []
    for values in logs.values():
        datasets = [numbers[task] for task in values]
        if (count := len(set(datasets))) >= FEWEST_UNITS:
            known = inference_of(list(values.values()), datasets, list)
            assert known is not None
            told.append(known.detectable * math.sqrt(count))
    return told


def _is_told(row: BaselineResult) -> bool:
    """Whether a recorded result is of an agent that is neither a check nor the naive answer itself."""
    return (
        row.success
        and row.agent not in CHECKS
        and (half_width(row.relative_total, row.relative_interval) or 0.0) > EVEN
    )


def _halves(rows: Sequence[BaselineResult]) -> list[float]:
    halves = (half_width(row.relative_total, row.relative_interval) for row in rows)
    return [half for half in halves if half is not None]
