"""Small advantages that add up: an answer without skill may be no break in any one task, and better in nearly all of
them.

A task of twenty windows cannot tell an advantage of a fifth from luck, ten datasets can. The log relative totals of an
answer on tasks that rank by the same metrics are averaged within each dataset, whose tasks share their market, and
Student's t over datasets asks whether the mean is below 0.
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
"""Below, Student's t says nothing."""


@dataclass(frozen=True)
class SkilllessOutcome:
    """The relative total of one answer without skill on one task."""

    metrics: str
    """Names of the metrics by which the task ranks; a fault lies in these, whatever the data."""
    dataset: str
    name: str
    relative: float


@dataclass(frozen=True)
class Pooled:
    """One answer without skill on all tasks that rank by the same metrics."""

    metrics: str
    name: str
    tasks: int
    datasets: int
    relative: float
    """Geometric mean over datasets of the relative total."""
    p_value: float
    """One-sided: that an answer as good as the baseline would do as well by chance."""
    breaks: bool
    """Whether it is better than the baseline beyond chance, by Bonferroni's bound over the answers that were looked
    at."""

    def __str__(self) -> str:
        return (
            f"{self.name!r} {self.relative:.4g} on average over {self.tasks} tasks that rank by {self.metrics}, on "
            f"{self.datasets} datasets"
        )


def outcomes_of(dataset: str, row: Reached, survey: Survey) -> Iterator[SkilllessOutcome]:
    """The outcomes of those answers that a task does not refuse."""
    metrics = ", ".join(row.metrics)
    return (
        SkilllessOutcome(metrics, dataset, trial.name, trial.relative)
        for trial in survey.trials
        if trial.relative is not None
    )


def pooled(outcomes: Iterable[SkilllessOutcome]) -> list[Pooled]:
    """Every answer that has outcomes on enough datasets, the most telling first."""
    from scipy.stats import t

    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in outcomes:
        found[one.metrics, one.name][one.dataset].append(math.log(one.relative))
    enough = {key: datasets for key, datasets in found.items() if len(datasets) >= FEWEST_DATASETS}
    rows = []
    for (metrics, name), datasets in enough.items():
        means = [fmean(logs) for logs in datasets.values()]
        mean, error = fmean(means), stdev(means) / math.sqrt(len(means))
        p_value = float(t.cdf(mean / error, len(means) - 1)) if error > 0.0 else float(mean >= 0.0)
        breaks = math.exp(mean) < MATERIAL and p_value < FALSE_ALARM / len(enough)
        rows.append(
            Pooled(metrics, name, sum(map(len, datasets.values())), len(means), math.exp(mean), p_value, breaks)
        )
    return sorted(rows, key=lambda row: (row.p_value, row.metrics, row.name))
