"""Preparing a run: from a plan to the rollouts that have no result yet, with their tasks built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from openfingym import store
from openfingym.kinds import asks_questions
from openfingym.kinds.question_range import QuestionRange
from openfingym.packages.build import build, build_key, is_there
from openfingym.packages.many import build_tasks
from openfingym.results import RolloutResult
from openfingym.rollouts.folders import RunFolder
from openfingym.rollouts.plan import Plan
from openfingym.rollouts.selection import Selection, expand, shard
from openfingym.rollouts.spec import RolloutSpec

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.task import Task


@dataclass(frozen=True)
class Work:
    """The rollouts of a run, and the results of those that are finished."""

    specs: tuple[RolloutSpec, ...]
    """Every rollout of the run, finished or not, in the order in which they are run."""
    done: dict[str, RolloutResult]
    """Results of the finished rollouts, by identity."""
    packages: dict[str, BuiltPackage]
    """Built packages of all tasks, by name."""

    @property
    def missing(self) -> list[RolloutSpec]:
        """Rollouts that have no result yet."""
        return [spec for spec in self.specs if spec.identity not in self.done]

    @property
    def needed(self) -> list[BuiltPackage]:
        """Packages of the tasks that have rollouts missing."""
        return [self.packages[name] for name in dict.fromkeys(spec.task for spec in self.missing)]


def prepare(
    plan: Plan,
    selection: Selection,
    folder: RunFolder,
    *,
    part: str | None = None,
    again: bool = False,
    retry_errors: bool = False,
    jobs: int = 1,
    show: Callable[[str], None] = lambda _: None,
) -> Work:
    """Build what is not built, and find out what is left to do.

    Args:
        plan: the plan of the run.
        selection: the tasks and agents that the plan selects.
        folder: folder in which results are kept.
        part: ``"k/n"`` for every n-th rollout only, from the k-th on; None for all.
        again: whether to run everything once more, as further attempts.
        retry_errors: whether to move failures of ours aside, so that they are run again, where the agent was told
            nothing of hidden data.
        jobs: number of processes that build tasks at once; a script that gives more than one needs ``if __name__ ==
            "__main__":``.
        show: called with a line for people about what is being done.

    Raises:
        UsageError: ``part`` is not of the form ``"k/n"`` with 1 <= k <= n; or a task has no such questions.
        TaskError: a task cannot be built as it is written.
        DataError: a dataset is missing or damaged.
        StoreError: packages or results cannot be read or written.
    """
    packages = build_all(selection.tasks, jobs=jobs, show=show)
    if plan.questions is not None:
        asked = QuestionRange.parse(plan.questions)
        for package in packages.values():
            asked.require(package.task.spec.contract, package.manifest.name, package.manifest.n_private)
    # A rollout's identity has the digest of its task's build in it, so that everything is built before.
    specs = expand(plan, selection, {name: package.manifest.digest for name, package in packages.items()})
    if again:
        specs = _further_attempts(specs, folder)
    if part is not None:
        specs = shard(specs, part)
    show("reading what is finished")
    done = folder.read(specs)
    if retry_errors:
        for spec in specs:
            # What an agent was told of hidden data cannot be taken back: another try would be a second look at it.
            # A rollout that is gone on with gets none, since the questions that it was shown are over.
            failed = done.get(spec.identity)
            if failed is not None and failed.state == "error" and (not failed.told or folder.is_open(spec)):
                folder.set_aside(spec)
                del done[spec.identity]
    return Work(tuple(specs), done, packages)


def is_resumable(spec: RolloutSpec, package: BuiltPackage) -> bool:
    """Whether a rollout that was interrupted can go on at its next question: a model is asked one question after the
    other.
    """
    return spec.agent.asks_model and asks_questions(package.task.spec.contract)


def build_all(
    tasks: Sequence[Task], *, jobs: int = 1, show: Callable[[str], None] = lambda _: None
) -> dict[str, BuiltPackage]:
    """The built packages of some tasks, by name; those that the store lacks are built.

    Args:
        tasks: the tasks, whose names are all different.
        jobs: number of processes that build tasks at once.
        show: called with a line for people about what is being done.

    Raises:
        TaskError: a task cannot be built as it is written.
        DataError: a dataset is missing or damaged.
        StoreError: the store cannot be written.
    """
    absent = [
        task for task in tasks if not is_there(store.package_folders(task.name, build_key(task))[0] / "package.json")
    ]
    for real in (False, True):
        folders = [task.folder for task in absent if task.real == real]
        # A single one is built below, in this process.
        if len(folders) > 1:
            show(f"building {len(folders)} tasks")
            for number, outcome in enumerate(build_tasks(folders, jobs=min(jobs, len(folders)), real=real), 1):
                if outcome.error is not None:
                    raise outcome.error
                show(f"building {len(folders)} tasks: {number} done")
    return {task.name: build(task) for task in tasks}


def _further_attempts(specs: Sequence[RolloutSpec], folder: RunFolder) -> list[RolloutSpec]:
    """The same rollouts, with attempt numbers that the folder does not hold yet."""
    first_free: dict[str, int] = {}
    """First attempt that is not finished, by the identity of attempt 0."""
    renumbered = []
    for spec in specs:
        base = replace(spec, attempt=0)
        if base.identity not in first_free:
            first_free[base.identity] = next(n for n in count() if folder.find(replace(spec, attempt=n)) is None)
        renumbered.append(replace(spec, attempt=first_free[base.identity] + spec.attempt))
    return renumbered
