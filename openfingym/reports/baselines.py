"""The table of baselines: the scores of fair, simple agents on every task.

The results of a run of all of them are recorded (:mod:`openfingym.results.baselines`). Each row has a key of the task's
build, the agent's program and the definitions of the metrics; a row whose task, agent or metrics have changed
since is *stale*, and says so wherever it is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from openfingym import catalog
from openfingym.digests import sha256_of_text
from openfingym.errors import OpenFinGymError
from openfingym.kinds import reference_version
from openfingym.packages.build import build, build_key
from openfingym.results import RolloutResult
from openfingym.results.baselines import CHECKS, BaselineResult
from openfingym.rollouts.order import RolloutOrder

if TYPE_CHECKING:
    from openfingym.adversarial.marks import Skill
    from openfingym.packages.package import BuiltPackage
    from openfingym.rollouts.launcher import Launcher
    from openfingym.task import Task


def key_of(task: Task, agent: str) -> str:
    """A key that changes with the task's build, with the definition of any of its metrics, and with the program.

    Args:
        task: the task on which the agent is run.
        agent: name of the agent.
    """
    return _key(_measure(task), agent)


def _measure(task: Task) -> str:
    """All that the scores of a task depend on besides the agent: its build, the version of its reference, and the
    version of each metric and whether it ranks.
    """
    from openfingym.metrics.registry import find_metric

    metrics = (find_metric(entry.name) for entry in task.spec.scoring.metrics)
    reference = reference_version(task.spec.contract.kind)
    return " ".join(
        (
            build_key(task),
            *([f"reference-v{reference}"] if reference > 1 else []),
            *(f"{metric.name}-v{metric.version}{'' if metric.ranks else '-reported'}" for metric in metrics),
        )
    )


def _key(measure: str, agent: str) -> str:
    """The key of an agent's program, and of what its score depends on besides."""
    from openfingym.agents import resolve

    return sha256_of_text(f"{measure} {resolve(agent).program}")[:16]


def stale(results: Sequence[BaselineResult]) -> set[tuple[str, str]]:
    """The stale results, by task and agent: their task, metrics or program have changed since they were measured, or do
    not exist any more.
    """
    from openfingym.agents import BUILTIN

    folders = catalog.task_folders()
    # To load a task and read its data takes time: once for each task, not for each result.
    measures = {name: _measure(catalog.load_task(name)) for name in {row.task for row in results} if name in folders}
    return {
        (row.task, row.agent)
        for row in results
        if row.task not in measures or row.agent not in BUILTIN or _key(measures[row.task], row.agent) != row.key
    }


def skills(results: Sequence[BaselineResult]) -> dict[tuple[str, str], Skill]:
    """Whether each result shows any skill, by task and agent, for results that have a relative total and are not stale.

    Raises:
        StoreError: the record of what answers without skill reach is damaged.
    """
    from openfingym.adversarial.marks import judged
    from openfingym.adversarial.record import reached_in

    old = stale(results)
    rows = [
        row for row in results if row.success and row.relative_total is not None and (row.task, row.agent) not in old
    ]
    reached = {name: reached_in(build_key(catalog.load_task(name))) for name in {row.task for row in rows}}
    return {
        (row.task, row.agent): judged(row.relative_total or 0.0, row.relative_interval, reached[row.task])
        for row in rows
    }


def run_baselines(
    tasks: Sequence[Task],
    agents_of: Callable[[Task], Sequence[str]],
    *,
    backend: str = "auto",
    seed: int = 0,
    done: Iterable[BaselineResult] = (),
    progress: Callable[[str], None] | None = None,
) -> Iterator[BaselineResult]:
    """Run every fitting agent on every task, with a verifier for each task.

    Args:
        tasks: the tasks to run agents on.
        agents_of: gives the names of the agents to run on a task.
        backend: how programs are isolated: ``docker``, ``sandbox`` or ``inline``; ``auto`` for the strongest that works
            here.
        seed: the seed that each program is given.
        done: earlier results, which are not measured again if their task and program are still the same.
        progress: receives a line of text before each rollout; None to receive nothing.

    Yields:
        Each result as soon as it is there; an infrastructure error is a result too, in the state ``error``.
    """
    from openfingym.rollouts.launcher import Launcher

    show = progress or (lambda _: None)
    # Errors are measured again: they say nothing of the agent.
    earlier = {(row.task, row.key): row for row in done if row.state != "error"}
    for task in tasks:
        keys = {agent: key_of(task, agent) for agent in (*agents_of(task), *CHECKS)}
        yield from (earlier[task.name, key] for key in keys.values() if (task.name, key) in earlier)
        missing = {agent: key for agent, key in keys.items() if (task.name, key) not in earlier}
        if not missing:
            continue
        show(f"{task.name}: building")
        package = build(task)
        with Launcher.for_tasks([task], backend=backend) as launcher:
            for agent, key in missing.items():
                show(f"{task.name}: {agent}")
                yield _one(launcher, package, task, agent, key, backend, seed)


def _one(
    launcher: Launcher, package: BuiltPackage, task: Task, agent: str, key: str, backend: str, seed: int
) -> BaselineResult:
    """Run one agent on one task."""
    from openfingym.agents import resolve

    start = time.monotonic()
    try:
        result = launcher.run(package, resolve(agent), RolloutOrder(seed=seed))
    except OpenFinGymError as error:
        # One task that cannot be run must not take the rest of a long table with it.
        manifest = package.manifest
        result = RolloutResult(
            "", manifest.name, manifest.digest, manifest.data_kind, agent, backend, seed, "error", reason=str(error)
        )
    return BaselineResult(
        task=task.name,
        family=task.spec.family,
        data_kind=package.manifest.data_kind,
        key=key,
        agent=agent,
        state=result.state,
        reason=result.reason,
        total=result.total,
        relative_total=result.relative_total,
        metrics=dict(result.metrics),
        wall_s=round(time.monotonic() - start, 2),
        seed=seed,
        relative_interval=result.relative_interval,
        total_interval=result.total_interval,
        standard_errors=dict(result.standard_errors),
    )
