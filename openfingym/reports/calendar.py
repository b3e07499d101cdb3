"""How the errors of tasks on one series go together, by what each task's units add at the same times.

Each task's logarithm is a sum of what its windows add, so the mean over tasks is one, too: a series in time to which
all tasks contribute. Its variance is that of sums over blocks of time, sliding from the first to the last, which weighs
two windows by 1 - distance / block (Bartlett's kernel; Driscoll and Kraay 1998 for units that depend on one another at
the same time). The block is the longest that a task's own bootstrap draws.

Each task's own error stays what its verifier states. Of the blocks only the correlations between tasks are taken: the
error of the mean is never more than if their errors went together wholly, and never less than if they were independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from openfingym.metrics.unit_calendar import Influence

STEPS = 8
"""Steps of a block in which it slides."""
MOST_BLOCKS = 2_000
"""The most blocks from the first to the last: tasks farther apart in time are of no one series."""
LEAST_EXPLAINED = 0.8
"""The least share of the variance over replicates that must be a sum over units."""
FEWEST_BLOCKS = 2.0
"""The fewest degrees of freedom with which correlations are taken from blocks: of fewer they say next to nothing."""


@dataclass(frozen=True, eq=False)
class Dated:
    """The error of a figure whose items are known in time."""

    error: float
    """Its standard error, above 0."""
    freedom: float
    """Degrees of freedom of that."""
    influence: Influence
    """What the items add to the figure."""


def joint_error(figures: Sequence[Dated]) -> tuple[float, float] | None:
    """The standard error of the sum of some figures, at least one, and its degrees of freedom.

    None if too little is known of how they go together.
    """
    influences = [figure.influence for figure in figures]
    block = max(influence.block for influence in influences)
    begin = min(float(influence.begins[0]) for influence in influences)
    end = max(float(influence.ends.max()) for influence in influences)
    if min(influence.explained for influence in influences) < LEAST_EXPLAINED or end - begin > MOST_BLOCKS * block:
        return None
    times = np.arange(begin - block, end + block, block / STEPS)
    joint, sizes = np.zeros(len(times)), np.zeros(len(times))
    for figure in figures:
        influence = figure.influence
        sums = influence.until(times + block) - influence.until(times)
        norm = float(np.linalg.norm(sums))
        if norm == 0.0:
            return None
        joint += figure.error * math.sqrt(influence.explained) / norm * sums
        sizes += figure.error * np.sqrt(influence.share_until(times + block) - influence.share_until(times))
    # As many as there are blocks, or fewer where some have most of the tasks, less the mean: the variance of each is as
    # the square of what all tasks together have in it.
    freedom = float((sizes**2).sum() ** 2 / (sizes**4).sum()) / STEPS - 1.0
    freedom = min(freedom, *(figure.freedom for figure in figures))
    if freedom < FEWEST_BLOCKS:
        return None
    # What is not linear in the units is taken to go together wholly, and not to go with what is.
    rest = math.fsum(figure.error * math.sqrt(1.0 - figure.influence.explained) for figure in figures)
    together = math.hypot(float(np.linalg.norm(joint)), rest)
    # That tasks of one market make up for one another's errors is more often chance, or a forged file, than true.
    return max(together, math.hypot(*(figure.error for figure in figures))), freedom
