"""The groups of a report: runs of one row on data of one kind, by task, and the families of tasks."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Literal, get_args

from openfingym.reports.datasets import known_tasks

if TYPE_CHECKING:
    from openfingym.reports.runs import RunConfig
    from openfingym.results import RolloutResult
    from openfingym.task import DataKind

Field = Literal["agent", "model", "backend", "isolation", "principal"]
Row = tuple[str, ...]
"""The values of the fields by which runs are grouped, such as agent and model."""
SHOWN = 8
"""Fewest characters of a build's digest that are shown."""
ALL = "all"
"""Family of the cell over all families."""
UNKNOWN = "unknown"
"""Family of a task that this installation does not know, and whose family no run states."""
KINDS: tuple[DataKind, ...] = ("real", "simulated", "specified", "real with hindsight", "simulated with hindsight")
"""The kinds of data in the order of reports; all that there are."""
UNSTATED: Mapping[Field, str] = {"isolation": "unknown", "principal": "(unproven)"}
"""What stands for a field that no result states, or no receipt proves."""
_WORD = re.compile(r"[^\s\"]+(?: \(outside\))?")
"""A name that reads as one, with the mark of what ran outside isolation."""
NONE = "-"
"""What stands for the model of a program, which has none."""


@dataclass(frozen=True)
class RunGroup:
    """The runs of one row on data of one kind, so that real and simulated data never get into one figure."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    row: Row
    """The row of the runs."""
    tasks: Mapping[str, Sequence[RolloutResult]]
    """The runs of each task. Builds of a task that differ are different tasks, and so is a slice of its questions."""


def grouped(results: Iterable[RolloutResult], by: Sequence[Field]) -> list[RunGroup]:
    """Group runs by kind of data and by row, in the order of both.

    Args:
        results: the results of the runs to group.
        by: the fields whose values make a row.
    """
    results = list(results)
    builds: dict[str, set[str]] = defaultdict(set)
    for run in results:
        builds[run.task].add(run.task_digest)
    lengths = {task: _length(digests) for task, digests in builds.items()}
    groups: dict[tuple[str, Row], dict[str, list[RolloutResult]]] = defaultdict(lambda: defaultdict(list))
    for run in results:
        # Other builds of a task have other hidden data, and scores on slices are of other questions.
        # And a stranger's task may be named as a build or a slice of another one.
        alone = len(builds[run.task]) == 1 and not {"@", " "} & set(run.task)
        task = run.task if alone else f"{run.task}@{run.task_digest[: lengths[run.task]]}"
        task += "" if run.slice is None else f" questions {run.slice}"
        groups[run.data_kind, row_of(run, by)][task].append(run)
    return [
        RunGroup(kind, row, {task: tuple(runs) for task, runs in sorted(tasks.items())})
        for (kind, row), tasks in sorted(groups.items(), key=lambda item: (kind_order(item[0][0]), item[0][1]))
    ]


def _length(digests: Collection[str]) -> int:
    """How many characters of some digests, each of which is there once, are shown: as many as tell them apart."""
    # A build can be made whose digest begins as another's.
    return next(length for length in count(SHOWN) if len({digest[:length] for digest in digests}) == len(digests))


def row_of(run: RolloutResult, by: Sequence[Field]) -> Row:
    """The row of a run if rows are made of these fields."""
    return tuple(_named(run, name) for name in by)


def _named(run: RolloutResult, field: Field) -> str:
    """The value of a field of a run, as it stands in a row.

    The name of an agent of which something ran outside isolation says so, in every table: it shares no row with one
    that was isolated.
    """
    value = getattr(run, field)
    if value is None and field in UNSTATED:
        return UNSTATED[field]
    return run.agent_label if field == "agent" else str(value or NONE)


def label(row: Row) -> str:
    """A row as one name, in which a program has no model.

    A part that has blanks is in quotes: names are a stranger's, and none may read as words of the report.
    """
    named = [part if _WORD.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in row if part != NONE]
    return " / ".join(named) or NONE


def kind_order(kind: str) -> tuple[int, str]:
    """A sort key of kinds of data: real before simulated before specified, unknown kinds last."""
    return next((place for place, known in enumerate(KINDS) if known == kind), len(KINDS)), kind


def families_of(groups: Sequence[RunGroup], configs: Mapping[str, RunConfig]) -> dict[str, str]:
    """The family of each task of some groups; see :func:`families_of_tasks`.

    Args:
        groups: the runs, grouped by kind of data and row.
        configs: the configuration of each rollout, by the id of the rollout.
    """
    return families_of_tasks(
        (task, config.family if (config := configs.get(run.rollout_id)) else None)
        for group in groups
        for task, runs in group.tasks.items()
        for run in runs
    )


def families_of_tasks(stated: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The family of each task: by the catalogue, or for a task that it does not have, as a run of the task states it.

    Args:
        stated: for each run the name of its task, which may be followed by its build and slice (:func:`grouped`), and
            the family that the run states; None if it states none.
    """
    # By the name without its build and slice, see `grouped`.
    rows = known_tasks()
    known = cache(lambda task: rows.get(task.partition(" ")[0].partition("@")[0]))
    found: dict[str, str] = {}
    for task, family in stated:
        if (row := known(task)) is not None:
            found[task] = str(row.family)
        else:
            found[task] = family if family is not None and _is_family(family) else found.get(task, UNKNOWN)
    return found


def _is_family(name: str) -> bool:
    """Whether a family of this name exists."""
    # Imported only here, since it takes time and most reports are on tasks of the catalogue.
    from openfingym.task import Family

    return name in get_args(Family)


def family_order(family: str) -> int:
    """A sort key of families: in the paper's order, the cell over all last."""
    known = ("forecasting", "generation", "trading", "fraud", UNKNOWN, ALL)
    return known.index(family) if family in known else len(known)


def judged(runs: Iterable[RolloutResult]) -> list[RolloutResult]:
    """The runs that say something about the agent: scored and rejected ones."""
    return [run for run in runs if run.state in {"scored", "rejected"}]
