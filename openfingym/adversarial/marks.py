"""Whether a result shows any skill: it does if it is better than the baseline and than every answer without skill, both
beyond its sampling error.

One rule for all answers: a constant, such as the drift of training, is within sampling error of the constants among the
answers without skill, whoever submits it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from openfingym.adversarial.record import reached_on

if TYPE_CHECKING:
    from openfingym.adversarial.record import Reached
    from openfingym.results import RolloutResult

Skill = Literal["shown", "none shown", "not recorded"]
"""Whether a result shows skill; ``not recorded`` if it is not known what answers without skill reach on its task."""
MEANINGS: Mapping[Skill, str] = MappingProxyType(
    {
        "none shown": "within the sampling error of the baseline, or of an answer without skill",
        "not recorded": "what answers without skill reach on this build of the task is not known",
    }
)


def meanings_of(found: Iterable[Skill | None]) -> list[str]:
    """Explanations of the marks in a table, one line for each mark that needs one.

    Args:
        found: the marks in the table, from :func:`skill_of`.
    """
    shown = set(found)
    return [f"skill {mark}: {meaning}" for mark, meaning in MEANINGS.items() if mark in shown]


def skill_of(result: RolloutResult) -> Skill | None:
    """Whether a result shows skill; None if it has no relative total, or is on an instance or on a slice of questions.

    Raises:
        StoreError: the record of what answers without skill reach is damaged.
    """
    # The record is about a task as a whole: it says nothing of other hidden rows.
    if result.state != "scored" or result.relative_total is None or result.split != "test" or result.slice:
        return None
    return judged(result.relative_total, result.relative_interval, reached_on(result.task_digest))


def judged(relative: float, interval: tuple[float, float] | None, reached: Reached | None) -> Skill:
    """Whether a relative total shows skill.

    Args:
        relative: relative total on the private fold; lower is better, 1 is the baseline.
        interval: lower and upper end of its 95 % interval; None where there is none.
        reached: what answers without skill reach on the same build of the task; None where that is not known.
    """
    # What other hidden rows might have given; without an interval, what these gave.
    worst = relative if interval is None else max(relative, interval[1])
    # First what can be said without the record.
    if worst >= 1.0:
        return "none shown"
    if reached is None:
        return "not recorded"
    return "none shown" if reached.relative is not None and worst >= reached.relative else "shown"


def share_without_skill(results: Iterable[RolloutResult]) -> float | None:
    """Share of results that show no skill, among those of which it is known whether they do; None if there are none."""
    known = [skill for skill in map(skill_of, results) if skill in {"shown", "none shown"}]
    return known.count("none shown") / len(known) if known else None
