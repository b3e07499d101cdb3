"""The table of baselines: what fair, simple agents get on every task.

Results of a whole run are recorded in ``baselines.json`` beside this module, with the key of the
build, the program and the definitions of the metrics they belong to; a row whose task, agent or metrics have changed
since is *stale*, and says so wherever it is shown.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import catalog
from openfingym.digests import sha256_of_text
from openfingym.errors import OpenFinGymError, StoreError
from openfingym.files.whole import write_text
from openfingym.kinds import reference_version
from openfingym.packages.build import build, build_key
from openfingym.results import INTERVALS, RolloutResult

if TYPE_CHECKING:
    from openfingym.adversarial.marks import Skill
    from openfingym.packages.package import BuiltPackage
    from openfingym.rollouts.launcher import Launcher
    from openfingym.task import Task

RECORD = Path(__file__).with_name("baselines.json")
CHECKS = ("oracle", "nop")
"""Run on every task beside the baselines: the best there is, and an agent that does nothing."""


@dataclass(frozen=True)
class BaselineResult:
    """The result of one baseline on one task."""

    task: str
    family: str
    data_kind: str
    key: str
    """Key of the build, the metrics and the program that the result was measured with; see :func:`key_of`."""
    agent: str
    state: str
    """``scored``, ``rejected`` or ``error``."""
    reason: str | None
    total: float | None
    """The source paper's loss on the private fold; lower is better."""
    relative_total: float | None
    """Relative to the task's baseline; lower is better, 1 is the baseline."""
    metrics: dict[str, float]
    wall_s: float
    """Seconds of the rollout, scoring included, on the machine that recorded it."""
    seed: int
    relative_interval: tuple[float, float] | None = None
    """95 % interval of ``relative_total``; None where nothing can be said, as in records from before there were any."""
    total_interval: tuple[float, float] | None = None
    standard_errors: dict[str, float] = field(default_factory=dict)
    """Standard errors of the metrics, by name."""

    @property
    def success(self) -> bool:
        """Whether it ended with a score."""
        return self.state == "scored"


def recorded(path: Path = RECORD) -> list[BaselineResult]:
    """The recorded results, by family, task and agent.

    Raises:
        StoreError: the record is missing or damaged.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [BaselineResult(**{**row, **_intervals(row)}) for row in rows]
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(
            f"{path}: no readable record of baselines ({error}); make one with `openfingym report baselines --run`"
        ) from error


def _intervals(row: Mapping[str, list[float] | None]) -> dict[str, tuple[float, ...]]:
    """The intervals of a row of the record, as tuples."""
    return {name: tuple(ends) for name in INTERVALS if (ends := row.get(name)) is not None}


def record(results: Iterable[BaselineResult], path: Path = RECORD) -> None:
    """Write results over a record, whole or not at all.

    Raises:
        StoreError: the record cannot be written.
    """
    ordered = sorted(results, key=lambda row: (row.family, row.task, row.agent))
    lines = ",\n".join(json.dumps(asdict(row)) for row in ordered)
    write_text(path, f"[\n{lines}\n]\n")


def key_of(task: Task, agent: str) -> str:
    """A value that changes with the task's build, with the definition of a metric it is scored by, and with the agent's
    program.
    """
    return _key(_measure(task), agent)


def _measure(task: Task) -> str:
    """What a result of a task is measured by: its build, its reference, and the version of each metric and whether it
    ranks.
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
    from openfingym.agents import resolve

    return sha256_of_text(f"{measure} {resolve(agent).program}")[:16]


def stale(results: Sequence[BaselineResult]) -> set[tuple[str, str]]:
    """(task, agent) of the results whose task, metrics or program are not what they were when they were measured, or
    are gone.
    """
    from openfingym.agents import BUILTIN

    folders = catalog.task_folders()
    measures = {name: _measure(catalog.load_task(name)) for name in {row.task for row in results} if name in folders}
    return {
        (row.task, row.agent)
        for row in results
        if row.task not in measures or row.agent not in BUILTIN or _key(measures[row.task], row.agent) != row.key
    }


def skills(results: Sequence[BaselineResult]) -> dict[tuple[str, str], Skill]:
    """Whether each result shows any skill, by task and agent; of those that have a relative total and are not stale.

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
    """Run every fitting agent on every task, one verifier a task.

    Args:
        tasks: the tasks to run them on.
        agents_of: names of the agents to run on a task.
        backend: how programs are isolated: ``docker``, ``sandbox`` or ``inline``; ``auto`` for the strongest that works
            here.
        seed: seed that each program is given.
        done: results that need not be measured again, if their task and program are still the same.
        progress: told what is being run.

    Yields:
        A result as soon as it is there; a failure of ours is a row too, in state ``error``.
    """
    from openfingym.rollouts.launcher import Launcher

    show = progress or (lambda _: None)
    kept = {(row.task, row.key): row for row in done if row.state != "error"}
    for task in tasks:
        keys = {agent: key_of(task, agent) for agent in (*agents_of(task), *CHECKS)}
        yield from (kept[task.name, key] for key in keys.values() if (task.name, key) in kept)
        missing = {agent: key for agent, key in keys.items() if (task.name, key) not in kept}
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
    from openfingym.agents import resolve

    start = time.monotonic()
    try:
        result = launcher.run(package, resolve(agent), seed=seed)
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
