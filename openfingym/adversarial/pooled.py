"""Small advantages that add up: an answer without skill that is a little better on nearly all tasks.

A task of twenty windows cannot tell an advantage of a fifth from luck; ten datasets can. The log relative totals of an
answer on tasks that rank by the same metrics are averaged within each dataset, because its tasks share their market and
so their luck. Student's t over datasets then tests whether the mean is below 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from openfingym.adversarial.promise import FALSE_ALARM, MATERIAL

if TYPE_CHECKING:
    from openfingym.adversarial.promise import Survey
    from openfingym.adversarial.record import Reached

FEWEST_DATASETS = 4
"""Fewest datasets on which an answer is judged; with fewer, Student's t has next to no power."""


@dataclass(frozen=True)
class SkilllessOutcome:
    """The relative total of one answer without skill on one task."""

    metrics: str
    """Names of the metrics by which the task ranks; a fault that an answer exploits lies in these, not in the data."""
    dataset: str
    """Name of the task's dataset."""
    name: str
    """Name of the answer."""
    relative: float
    """Relative total on the private fold; lower is better, 1 is the baseline."""


@dataclass(frozen=True)
class Pooled:
    """One answer without skill on all tasks that rank by the same metrics."""

    metrics: str
    """Names of the metrics by which the tasks rank."""
    name: str
    """Name of the answer."""
    tasks: int
    """Number of tasks that are pooled."""
    datasets: int
    """Number of datasets that these tasks have."""
    relative: float
    """Geometric mean over datasets of the relative total."""
    p_value: float
    """Probability that an answer as good as the baseline would do as well by chance (one-sided)."""
    breaks: bool
    """Whether the answer is better than the baseline beyond chance, by Bonferroni's bound over all answers judged."""

    def __str__(self) -> str:
        return (
            f"{self.name!r} {self.relative:.4g} on average over {self.tasks} tasks that rank by {self.metrics}, on "
            f"{self.datasets} datasets"
        )


def outcomes_of(dataset: str, row: Reached, survey: Survey) -> Iterator[SkilllessOutcome]:
    """The outcomes of those answers that a task does not refuse.

    Args:
        dataset: name of the task's dataset.
        row: the task's row of the record, for the metrics by which it ranks.
        survey: the scores of the answers on the task.
    """
    metrics = ", ".join(row.metrics)
    return (
        SkilllessOutcome(metrics, dataset, trial.name, trial.relative)
        for trial in survey.trials
        if trial.relative is not None
    )


def pooled(outcomes: Iterable[SkilllessOutcome]) -> list[Pooled]:
    """Pool the outcomes of every answer that has some on enough datasets, the lowest p-value first."""
    from scipy.stats import t

    logs_of: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        logs_of[outcome.metrics, outcome.name][outcome.dataset].append(math.log(outcome.relative))
    # Bonferroni's bound below is over these alone: an answer on few datasets is not tested.
    enough = {key: datasets for key, datasets in logs_of.items() if len(datasets) >= FEWEST_DATASETS}
    rows = []
    for (metrics, name), datasets in enough.items():
        means = [fmean(logs) for logs in datasets.values()]
        mean, error = fmean(means), stdev(means) / math.sqrt(len(means))
        # Without any spread, as of an answer that equals the baseline everywhere, the sign alone decides.
        p_value = float(t.cdf(mean / error, len(means) - 1)) if error > 0.0 else float(mean >= 0.0)
        breaks = math.exp(mean) < MATERIAL and p_value < FALSE_ALARM / len(enough)
        rows.append(
            Pooled(metrics, name, sum(map(len, datasets.values())), len(means), math.exp(mean), p_value, breaks)
        )
    return sorted(rows, key=lambda row: (row.p_value, row.metrics, row.name))
