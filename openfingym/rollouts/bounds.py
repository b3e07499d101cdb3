"""The bounds of a rollout, as its task states them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from openfingym.kinds import is_sequential
from openfingym.packages.package import BuiltPackage
from openfingym.task.episodes import MAX_ACTION_BYTES

if TYPE_CHECKING:
    from openfingym_runtime.job import Limits

BODY_OVERHEAD = 64 * 1024
CALLS_PER_SUBMISSION = 200
CALLS_PER_STEP = 4
"""Calls that a program may make for each step, which leaves room for repetitions."""
MARGIN_S = 300.0
"""Seconds beyond the agent's own time, for starting and finalizing."""


def limits_of(package: BuiltPackage) -> Limits:
    """The limits a task states, as the runtime wants them."""
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
    """Longest request body in bytes, and most calls, of a rollout."""
    manifest, budget = package.manifest, package.task.spec.verification.budget
    calls = CALLS_PER_SUBMISSION * (1 + budget)
    if is_sequential(package.task.spec.contract):
        # Axis 1 of the outcomes is at least as long as an episode.
        return MAX_ACTION_BYTES, calls + CALLS_PER_STEP * (budget + manifest.n_private) * manifest.submission_shape[1]
    return 16 * math.prod(manifest.submission_shape) + BODY_OVERHEAD, calls


def lifetime_s(package: BuiltPackage, wall_s: float | None = None) -> float:
    """How long a rollout's token lives: the agent's time, by default that of one program, and a margin."""
    return (package.task.file.agent.timeout_sec if wall_s is None else wall_s) + MARGIN_S
