"""Whether a result shows any skill: it does not if its advantage is within sampling error, or if answers without skill
reach it.
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
"""``not recorded``: what answers without skill reach on this build of the task is not known."""
MEANINGS: Mapping[Skill, str] = MappingProxyType(
    {
        "none shown": "within the sampling error of the baseline, or no better than an answer without skill",
        "not recorded": "what answers without skill reach on this build of the task is not known",
    }
)


def meanings_of(found: Iterable[Skill | None]) -> list[str]:
    """Explanations of the marks in a table, one line for each mark that needs one."""
    shown = set(found)
    return [f"skill {mark}: {meaning}" for mark, meaning in MEANINGS.items() if mark in shown]


def skill_of(result: RolloutResult) -> Skill | None:
    """Whether a result shows skill; None where it has no relative total, or is of an instance or a slice of questions.

    Raises:
        StoreError: the record of what answers without skill reach is damaged.
    """
    if result.state != "scored" or result.relative_total is None or result.split != "test" or result.slice:
        return None
    return judged(result.relative_total, result.relative_interval, reached_on(result.task_digest))


def judged(relative: float, interval: tuple[float, float] | None, reached: Reached | None) -> Skill:
    """Whether a relative total shows skill.

    Args:
        relative: relative total on the private fold.
        interval: 95 % interval of the relative total; None where there is none.
        reached: what answers without skill reach on the same build of the task; None where that is not known.
    """
    if relative >= 1.0 or (interval is not None and interval[1] >= 1.0):
        return "none shown"
    if reached is None:
        return "not recorded"
    return "none shown" if reached.relative is not None and relative >= reached.relative else "shown"


def share_without_skill(results: Iterable[RolloutResult]) -> float | None:
    """Share of scored runs that show no skill, of those of which it is known; None where it is of none."""
    found = [skill for skill in map(skill_of, results) if skill in {"shown", "none shown"}]
    return found.count("none shown") / len(found) if found else None
