"""Cautions about the figures of a report: runs that were flagged, or that were not made in the same way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openfingym.adversarial.marks import skill_of
from openfingym.reports.datasets import unknown_of
from openfingym.reports.endpoints import asked_models
from openfingym.reports.groups import RunGroup, judged, label
from openfingym.verifiers.backing import REMEDY

if TYPE_CHECKING:
    from openfingym.reports.runs import RunConfig
    from openfingym.results import RolloutResult

NAMED = 3
"""Most tasks, or the like, that a caution names."""

Concern = Literal[
    "flags",
    "disclosure",
    "tapes",
    "sampling",
    "skill",
    "settings",
    "endpoints",
    "tasks",
    "runs",
    "datasets",
    "environments",
    "questions",
    "receipts",
    "isolation",
    "replayed",
]


@dataclass(frozen=True)
class Caution:
    """Something that the figures on data of one kind do not show."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    concern: Concern
    """What the caution is about."""
    sentence: str
    """The caution in words, without a full stop."""


def cautions_of(groups: Sequence[RunGroup], configs: Mapping[str, RunConfig]) -> Iterator[Caution]:
    """Every caution about a report, by kind of data.

    Args:
        groups: the runs, grouped by kind of data and row.
        configs: what a report compares of each rollout's configuration, by the id of the rollout.
    """
    for kind in dict.fromkeys(group.data_kind for group in groups):
        mine = [group for group in groups if group.data_kind == kind]
        for group in mine:
            yield from (Caution(kind, "flags", sentence) for sentence in _flags(group))
            yield from (Caution(kind, "disclosure", sentence) for sentence in _disclosure(group))
            yield from (Caution(kind, "tapes", sentence) for sentence in _tapes(group))
            yield from (Caution(kind, "sampling", sentence) for sentence in _sampling(group))
            yield from (Caution(kind, "settings", sentence) for sentence in _settings(group, configs))
            yield from (Caution(kind, "endpoints", sentence) for sentence in _endpoints(group, configs))
        yield from (Caution(kind, "questions", f"On {kind} data {sentence}") for sentence in _slices(mine))
        yield from (Caution(kind, "skill", f"On {kind} data {sentence}") for sentence in _skill(mine))
        yield from (Caution(kind, "tasks", f"On {kind} data {sentence}") for sentence in _tasks(mine))
        yield from (Caution(kind, "runs", f"On {kind} data {sentence}") for sentence in _seeds(mine))
        yield from (Caution(kind, "datasets", f"On {kind} data {sentence}") for sentence in _datasets(mine))
        yield from (
            Caution(kind, "environments", f"On {kind} data {sentence}") for sentence in _environments(mine, configs)
        )
        yield from (Caution(kind, "receipts", f"On {kind} data {sentence}") for sentence in _receipts(mine, configs))
        yield from (Caution(kind, "isolation", f"On {kind} data {sentence}") for sentence in _isolation(mine))


def left_out(slices: Sequence[RolloutResult]) -> Iterator[Caution]:
    """Cautions about runs that are in no figure, since others of their task were asked more questions."""
    for kind in dict.fromkeys(run.data_kind for run in slices):
        mine = [run for run in slices if run.data_kind == kind]
        named = _first_of(sorted({f"{run.task} {run.slice}" for run in mine}))
        runs = "1 run was" if len(mine) == 1 else f"{len(mine)} runs were"
        yield Caution(
            kind,
            "questions",
            f"{runs} asked a slice of the questions of a task that others were asked whole ({named}), and are in no "
            "figure",
        )


def left_outside(outside: Sequence[RolloutResult]) -> Iterator[Caution]:
    """Cautions about runs that are in no figure, since something of them ran outside isolation, or may have."""
    for kind in dict.fromkeys(run.data_kind for run in outside):
        mine = [run for run in outside if run.data_kind == kind]
        named = _first_of(sorted({run.agent for run in mine}))
        yield Caution(
            kind,
            "isolation",
            f"{_runs(len(mine))} ran outside isolation, or may have ({named}), and {_are(len(mine))} in no figure",
        )


def set_apart(replayed: Sequence[RolloutResult]) -> Iterator[Caution]:
    """Cautions about runs that are scored apart, since their agents may have known the hidden data."""
    for kind in dict.fromkeys(run.data_kind for run in replayed):
        mine = [run for run in replayed if run.data_kind == kind]
        named = _first_of(sorted({run.agent for run in mine}))
        yield Caution(
            kind,
            "replayed",
            f"{_runs(len(mine))} ({named}) {_are(len(mine))} replayed: its party was shown the hidden data before, "
            "and the agent may know them; scored apart and not ranked",
        )


def _receipts(groups: Sequence[RunGroup], configs: Mapping[str, RunConfig]) -> Iterator[str]:
    """Runs whose receipt does not back the score that they state, or has a score that they do not state."""
    every = [run for group in groups for runs in group.tasks.values() for run in runs if run.rollout_id in configs]
    backings = [(run, configs[run.rollout_id].backing) for run in every if run.state == "scored"]
    if unknown := [(run, backing) for run, backing in backings if backing.state == "unknown key"]:
        agents = _first_of(sorted({run.agent for run, _ in unknown}))
        logs = _first_of(sorted({backing.origin for _, backing in unknown}))
        yield (
            f"{_runs(len(unknown))} ({agents}) {_are(len(unknown))} not backed: the receipt is by a key that this "
            f"machine does not know (log {logs}), and anybody can make one; {REMEDY}"
        )
    if unread := [(run, backing) for run, backing in backings if backing.state == "unreadable"]:
        yield f"{_runs(len(unread))} {_are(len(unread))} not backed, such as {unread[0][0].path}: {unread[0][1].reason}"
    # A launcher may call any rollout a failure of its own, and nobody can prove that it was none.
    if withdrawn := [run for run in every if configs[run.rollout_id].backing.withdrawn]:
        agents = _first_of(sorted({run.agent for run in withdrawn}))
        one = len(withdrawn) == 1
        who = f"{_runs(len(withdrawn))} ({agents}) {'is an error to its' if one else 'are errors to their'} launcher"
        yield (
            f"{who}, and in no figure, and {'its receipt says' if one else 'their receipts say'} that the verifier "
            f"scored {'it' if one else 'them'}: look why, such as whether a bad score was taken away"
        )


def _isolation(groups: Sequence[RunGroup]) -> Iterator[str]:
    """Agents of which something ran outside isolation, or of which that is not known."""
    runs = [run for group in groups for run in _judged(group)]
    if outside := [run for run in runs if run.isolation == "outside"]:
        agents = _first_of(sorted({run.agent for run in outside}))
        yield (
            f"{_runs(len(outside))} ({agents}) ran outside isolation, with the rights of whoever launched "
            f"{'it' if len(outside) == 1 else 'them'}, who could read hidden data; leave such runs out with "
            "--isolated-only"
        )
    if unknown := [run for run in runs if run.isolation is None]:
        agents = _first_of(sorted({run.agent for run in unknown}))
        yield f"of {_runs(len(unknown))} ({agents}) it is not known what ran outside isolation"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _slices(groups: Sequence[RunGroup]) -> Iterator[str]:
    """Runs that are in the figures, and that were asked a slice of their task's questions."""
    runs = [run for group in groups for run in _judged(group) if run.slice is not None]
    named = sorted({f"{run.task} {run.slice}" for run in runs})
    if named:
        yield (
            f"runs were asked a slice of their task's questions ({_first_of(named)}), and the figures say nothing of "
            "the others"
        )


def _flags(group: RunGroup) -> Iterator[str]:
    """Flags of the verifier, such as for answers that know the future."""
    flags = Counter(flag for run in _judged(group) for flag in run.flags)
    for flag, count in sorted(flags.items()):
        runs = "1 run" if count == 1 else f"{count} runs"
        who = f"{runs} of {label(group.row)} on {group.data_kind} data"
        yield f"{who}: flagged by the verifier as {flag}; read what the agent did"


def _sampling(group: RunGroup) -> Iterator[str]:
    """Runs that beat the baseline by less than their sampling error."""
    scored = [run for run in _judged(group) if run.state == "scored" and run.verdict is not None]
    ahead = [run for run in scored if run.relative_total is not None and run.relative_total < 1.0]
    unsure = sum(run.verdict == "no difference" for run in ahead)
    if unsure:
        runs = "The 1 run" if len(ahead) == 1 else f"Of the {len(ahead)} runs"
        yield (
            f"{runs} of {label(group.row)} on {group.data_kind} data with less loss than the baseline"
            f"{',' * (len(ahead) > 1)} {'is' if len(ahead) == 1 else f'{unsure} are'} within sampling error: other "
            "hidden rows might have shown no advantage"
        )


def _disclosure(group: RunGroup) -> Iterator[str]:
    """Runs whose figures the verifier rounded."""
    counts = Counter(run.disclosure for run in _judged(group))
    if counts["rounded"]:
        yield (
            f"{label(group.row)} on {group.data_kind} data: {counts['rounded']} of {counts.total()} runs are shown no "
            "finer than their sampling error, moved towards the baseline; what they gained is at least what is shown"
        )


def _tapes(group: RunGroup) -> Iterator[str]:
    """Rows that pool runs on different tapes, or that have runs on twins."""
    counts = Counter(run.tape for run in _judged(group))
    if len(counts) > 1:
        named = ", ".join(f"{count} {tape}" for tape, count in sorted(counts.items()))
        yield (
            f"{label(group.row)} on {group.data_kind} data pools runs on different tapes ({named}), whose figures are "
            "not of the same hidden data; report on one kind of tape"
        )
    if counts["twin"]:
        yield (
            f"{label(group.row)} on {group.data_kind} data: {counts['twin']} of {counts.total()} runs were on twins of "
            "the real bars, which are resampled; they say nothing of what the real bars hold from one to the next"
        )


def _skill(groups: Sequence[RunGroup]) -> Iterator[str]:
    """Tasks for which nobody has measured what answers without skill reach."""
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
        yield (
            f"it is not recorded what answers without skill reach on this build of {tasks} ({_first_of(unknown)}), so "
            "that runs better than the baseline there carry no mark; `openfingym task check TASK --adversarial` "
            "measures it"
        )


def _settings(group: RunGroup, configs: Mapping[str, RunConfig]) -> Iterator[str]:
    """Rows that pool agents of one name that are not the same."""
    # Runs that do not state their setting may have any.
    settings = {configs[run.rollout_id].setting for run in _judged(group) if run.rollout_id in configs} - {None}
    if len(settings) > 1:
        yield (
            f"{label(group.row)} on {group.data_kind} data pools {len(settings)} settings of the agent (program, "
            "prompt or allowance); report on folders of one setting, or name the agents apart"
        )


def _endpoints(group: RunGroup, configs: Mapping[str, RunConfig]) -> Iterator[str]:
    """Rows that pool rollouts of a model at several endpoints."""
    by_model: dict[str, list[str]] = defaultdict(list)
    for asked in asked_models(_judged(group), configs):
        if asked.endpoint is not None:
            by_model[asked.model].append(asked.endpoint)
    for model, endpoints in by_model.items():
        if len(endpoints) > 1:
            yield (
                f"{label(group.row)} on {group.data_kind} data pools rollouts of {model} at {len(endpoints)} endpoints "
                f"({_first_of(endpoints)}), which may serve different models under one name"
            )


def _tasks(groups: Sequence[RunGroup]) -> Iterator[str]:
    """Rows that are not of the same tasks."""
    by_row = [{task for task, runs in group.tasks.items() if judged(runs)} for group in groups]
    every = set().union(*by_row)
    if any(tasks != every for tasks in by_row):
        counts = sorted(map(len, by_row))
        yield (
            f"the rows are not of the same tasks, but of {counts[0]} to {counts[-1]} of {len(every)}; "
            "the comparisons in pairs take common tasks alone"
        )


def _seeds(groups: Sequence[RunGroup]) -> Iterator[str]:
    """Rows that lack a seed or an attempt which others have: whoever removes failures leaves such a gap.

    Runs that failed by no fault of the agent count as there, and tasks that a row lacks wholly are another caution. A
    baseline of the library of which all runs say the same lacks nothing: plans run it with a seed or two.
    """
    found = [
        (group.row, task, runs, {(run.seed, run.attempt) for run in runs})
        for group in groups
        for task, runs in group.tasks.items()
    ]
    every = set().union(*(mine for *_, mine in found))
    gaps = [
        (row, task, sorted(every - mine))
        for row, task, runs, mine in found
        if mine != every and not _are_of_a_baseline(runs)
    ]
    if gaps:
        row, task, lacking = gaps[0]
        seed, attempt = lacking[0]
        count = sum(len(missing) for _, _, missing in gaps)
        named = f"seed {seed}" + (f", attempt {attempt}" if attempt else "")
        yield (
            f"the rows are not of the same seeds and attempts: {_runs(count)} that others have {_are(count)} not there "
            f"(such as {named} of {label(row)} on {task}), and may have been taken away; the comparisons in pairs take "
            "common seeds alone"
        )


def _are_of_a_baseline(runs: Sequence[RolloutResult]) -> bool:
    """Whether runs are of a baseline that comes with the library, were all scored, and all have one result."""
    if any(run.model is not None or run.isolation == "outside" for run in runs):
        return False
    if {run.state for run in runs} != {"scored"} or len({run.relative_total for run in runs}) > 1:
        return False
    # Imported last, since it takes longer than all other cautions.
    from openfingym.agents.builtin import BUILTIN

    return all(run.agent in BUILTIN and BUILTIN[run.agent].role == "baseline" for run in runs)


def _datasets(groups: Sequence[RunGroup]) -> Iterator[str]:
    """Tasks whose data is not known, and may be that of others."""
    tasks = sorted({task for group in groups for task, runs in group.tasks.items() if judged(runs)})
    unknown = unknown_of(tasks)
    if unknown and len(tasks) > 1:
        counted = "1 task is" if len(unknown) == 1 else f"{len(unknown)} tasks are"
        yield (
            f"{counted} not in the catalogue here ({_first_of(unknown)}), and taken to be on data of their own: if "
            "they share data with others, intervals are too narrow; $OPENFINGYM_TASKS names the folder of tasks"
        )


def _environments(groups: Sequence[RunGroup], configs: Mapping[str, RunConfig]) -> Iterator[str]:
    """Programs that ran in different environments."""
    ids = (run.rollout_id for group in groups for run in _judged(group))
    environments = {configs[name].environment for name in ids if name in configs} - {None}
    if len(environments) > 1:
        yield (
            f"programs ran in {len(environments)} environments (image, or Python and its packages), "
            "which may differ in their scores"
        )


def _first_of(names: Sequence[str]) -> str:
    """The first of some names, with an ellipsis if there are more of them."""
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


def _judged(group: RunGroup) -> Iterator[RolloutResult]:
    """The judged runs of a row in all its tasks."""
    return (run for runs in group.tasks.values() for run in judged(runs))
