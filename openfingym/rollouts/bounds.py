"""The bounds of a rollout that follow from its task: limits of programs, of requests, and of time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from openfingym.kinds import is_sequential, walks
from openfingym.packages.package import BuiltPackage
from openfingym.task.episodes import MAX_ACTION_BYTES
from openfingym.verifiers.routes import most_body_bytes

if TYPE_CHECKING:
    from openfingym_runtime.job import Limits

CALLS_PER_SUBMISSION = 200
"""Calls that a program may make for each submission in its budget: reading the task and the state of its rollout, and
repeating what was refused or failed."""
CALLS_PER_STEP = 4
"""Calls that a program may make for each step, which leaves room for repetitions."""
MARGIN_S = 300.0
"""Seconds beyond the agent's own time, for starting and finalizing."""


def limits_of(package: BuiltPackage) -> Limits:
    """The limits that a task states for each program, as the runtime takes them."""
    from openfingym_runtime.job import Limits

    file, own = package.task.file, package.task.spec.limits
    return Limits(
        timeout_s=file.agent.timeout_sec,
        memory_mb=file.environment.memory_mb,
        cpus=file.environment.cpus,
        pids=own.pids,
        storage_mb=file.environment.storage_mb,
        output_bytes=own.output_kb * 1024,
    )


def gate_bounds(package: BuiltPackage) -> tuple[int, int]:
    """The longest request body in bytes, and the largest number of calls, that the gate forwards in one rollout."""
    manifest, budget = package.manifest, package.task.spec.verification.budget
    calls = CALLS_PER_SUBMISSION * (1 + budget)
    if is_sequential(package.task.spec.contract):
        # Axis 1 of the outcomes is at least as long as an episode. The budget counts practice episodes here.
        return MAX_ACTION_BYTES, calls + CALLS_PER_STEP * (budget + manifest.n_private) * manifest.submission_shape[1]
    if walks(package.task.spec.contract):
        windows = package.contract["windows"]
        return MAX_ACTION_BYTES, calls + CALLS_PER_STEP * (budget * windows["public"] + windows["private"])
    return most_body_bytes(math.prod(manifest.submission_shape)), calls


def lifetime_s(package: BuiltPackage, wall_s: float | None = None) -> float:
    """How long a rollout's token is valid, in seconds: the agent's time and a margin.

    Args:
        package: the built package of the task.
        wall_s: seconds that the agent may take; None for the time limit of one program.
    """
    return (package.task.file.agent.timeout_sec if wall_s is None else wall_s) + MARGIN_S
