"""Cautions about a report's figures: runs that were flagged, or were not made alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openfingym.adversarial.marks import skill_of
from openfingym.reports.cells import RunGroup, judged, label
from openfingym.reports.endpoints import asked_models

if TYPE_CHECKING:
    from openfingym.reports.runs import Made
    from openfingym.results import RolloutResult

NAMED = 3
"""Tasks named in a caution."""

Concern = Literal[
    "flags", "disclosure", "tapes", "sampling", "skill", "settings", "endpoints", "tasks", "environments", "questions"
]


@dataclass(frozen=True)
class Caution:
    """Something that the figures on data of one kind do not show."""

    data_kind: str
    concern: Concern
    sentence: str


def cautions_of(groups: Sequence[RunGroup], made: Mapping[str, Made]) -> Iterator[Caution]:
    """Every caution, by kind of data.

    Args:
        groups: runs by kind of data and row.
        made: what rollouts were made of, by id.
    """
    for kind in dict.fromkeys(group.data_kind for group in groups):
        mine = [group for group in groups if group.data_kind == kind]
        for group in mine:
            yield from (Caution(kind, "flags", said) for said in _flags(group))
            yield from (Caution(kind, "disclosure", said) for said in _disclosure(group))
            yield from (Caution(kind, "tapes", said) for said in _tapes(group))
            yield from (Caution(kind, "sampling", said) for said in _sampling(group))
            yield from (Caution(kind, "settings", said) for said in _settings(group, made))
            yield from (Caution(kind, "endpoints", said) for said in _endpoints(group, made))
        yield from (Caution(kind, "questions", f"On {kind} data {said}") for said in _slices(mine))
        yield from (Caution(kind, "skill", f"On {kind} data {said}") for said in _skill(mine))
        yield from (Caution(kind, "tasks", f"On {kind} data {said}") for said in _tasks(mine))
        yield from (Caution(kind, "environments", f"On {kind} data {said}") for said in _environments(mine, made))


def left_out(slices: Sequence[RolloutResult]) -> Iterator[Caution]:
    """What is said of runs that are in no figure, since others of their task were asked more questions."""
    for kind in dict.fromkeys(run.data_kind for run in slices):
        mine = [run for run in slices if run.data_kind == kind]
        named = sorted({f"{run.task} {run.slice}" for run in mine})
        runs = "1 run was" if len(mine) == 1 else f"{len(mine)} runs were"
        yield Caution(
            kind,
            "questions",
            f"{runs} asked a slice of the questions of a task that others were asked whole "
            f"({', '.join(named[:NAMED])}{', ...' if len(named) > NAMED else ''}), and are in no figure",
        )


def _slices(groups: Sequence[RunGroup]) -> Iterator[str]:
    runs = [run for group in groups for run in _judged(group) if run.slice is not None]
    named = sorted({f"{run.task} {run.slice}" for run in runs})
    if named:
        yield (
            f"runs were asked a slice of their task's questions ({', '.join(named[:NAMED])}"
            f"{', ...' if len(named) > NAMED else ''}), and the figures say nothing of the others"
        )


def _flags(group: RunGroup) -> Iterator[str]:
    flags = Counter(flag for run in _judged(group) for flag in run.flags)
    for flag, count in sorted(flags.items()):
        runs = "1 run" if count == 1 else f"{count} runs"
        who = f"{runs} of {label(group.row)} on {group.data_kind} data"
        yield f"{who}: flagged by the verifier as {flag}; read what the agent did"


def _sampling(group: RunGroup) -> Iterator[str]:
    scored = [run for run in _judged(group) if run.state == "scored" and run.verdict is not None]
    ahead = [run for run in scored if run.relative_total is not None and run.relative_total < 1.0]
    unsure = sum(run.verdict == "no difference" for run in ahead)
    if unsure:
        runs = "The 1 run" if len(ahead) == 1 else f"Of the {len(ahead)} runs"
        yield (
            f"{runs} of {label(group.row)} on {group.data_kind} data with less loss than the "
            f"baseline{',' * (len(ahead) > 1)} "
            f"{'is' if len(ahead) == 1 else f'{unsure} are'} within sampling error: other hidden rows might have shown "
            "no advantage"
        )


def _disclosure(group: RunGroup) -> Iterator[str]:
    found = Counter(run.disclosure for run in _judged(group))
    if found["rounded"]:
        yield (
            f"{label(group.row)} on {group.data_kind} data: {found['rounded']} of {found.total()} runs are shown no "
            "finer than their "
            "sampling error, moved towards the baseline; what they gained is at least what is shown"
        )


def _tapes(group: RunGroup) -> Iterator[str]:
    found = Counter(run.tape for run in _judged(group))
    if len(found) > 1:
        counts = ", ".join(f"{count} {tape}" for tape, count in sorted(found.items()))
        yield (
            f"{label(group.row)} on {group.data_kind} data pools runs on different tapes ({counts}), whose figures are "
            "not of the same "
            "hidden data; report on one kind of tape"
        )
    if found["twin"]:
        yield (
            f"{label(group.row)} on {group.data_kind} data: {found['twin']} of {found.total()} runs were on twins of "
            "the real bars, "
            "which are resampled; they say nothing of what the real bars hold from one to the next"
        )


def _skill(groups: Sequence[RunGroup]) -> Iterator[str]:
    unknown = sorted(
        {
            task
            for group in groups
            for task, runs in group.tasks.items()
            if any(skill_of(run) == "not recorded" for run in judged(runs))
        }
    )
    if unknown:
        tasks = "1 task" if len(unknown) == 1 else f"{len(unknown)} tasks"
        named = f"{', '.join(unknown[:NAMED])}{', ...' if len(unknown) > NAMED else ''}"
        yield (
            f"it is not recorded what answers without skill reach on this build of {tasks} ({named}), so that runs "
            "better than the "
            "baseline there carry no mark; `openfingym task check TASK --adversarial` measures it"
        )


def _settings(group: RunGroup, made: Mapping[str, Made]) -> Iterator[str]:
    found = {made[run.rollout_id].setting for run in _judged(group) if run.rollout_id in made} - {None}
    if len(found) > 1:
        yield (
            f"{label(group.row)} on {group.data_kind} data pools {len(found)} settings of the agent (program, prompt "
            "or allowance); "
            "report on folders of one setting, or name the agents apart"
        )


def _endpoints(group: RunGroup, made: Mapping[str, Made]) -> Iterator[str]:
    asked: dict[str, list[str]] = defaultdict(list)
    for one in asked_models(_judged(group), made):
        if one.endpoint is not None:
            asked[one.model].append(one.endpoint)
    for model, endpoints in asked.items():
        if len(endpoints) > 1:
            named = f"{', '.join(endpoints[:NAMED])}{', ...' if len(endpoints) > NAMED else ''}"
            yield (
                f"{label(group.row)} on {group.data_kind} data pools rollouts of {model} at {len(endpoints)} endpoints "
                f"({named}), which may serve different models under one name"
            )


def _tasks(groups: Sequence[RunGroup]) -> Iterator[str]:
    found = [{task for task, runs in group.tasks.items() if judged(runs)} for group in groups]
    every = set().union(*found)
    if any(tasks != every for tasks in found):
        counts = sorted(map(len, found))
        yield (
            f"the rows are not of the same tasks, but of {counts[0]} to {counts[-1]} of {len(every)}; "
            "the comparisons in pairs take common tasks alone"
        )


def _environments(groups: Sequence[RunGroup], made: Mapping[str, Made]) -> Iterator[str]:
    ids = (run.rollout_id for group in groups for run in _judged(group))
    found = {made[name].environment for name in ids if name in made} - {None}
    if len(found) > 1:
        yield (
            f"programs ran in {len(found)} environments (image, or Python and its packages), "
            "which may differ in their scores"
        )


def _judged(group: RunGroup) -> Iterator[RolloutResult]:
    return (run for runs in group.tasks.values() for run in judged(runs))
