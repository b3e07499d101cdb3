"""Making tasks known to Gymnasium as ``openfingym/<task>-v0``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import gymnasium
from gymnasium.envs.registration import EnvSpec

from openfingym import catalog
from openfingym.errors import OpenFinGymError

if TYPE_CHECKING:
    from pathlib import Path

    from openfingym.task import Task

NAMESPACE = "openfingym"
_log = logging.getLogger(__name__)


def register(folder: str | Path) -> Task:
    """Make the task in a folder known in this process, to OpenFinGym and to Gymnasium.

    A warning is logged where the task shows days of a real series that bundled tasks hide, or the other way about.

    Args:
        folder: the task's folder, with ``task.toml``.

    Returns:
        The task, after checking its ``task.toml``.

    Raises:
        TaskError: the task is malformed, or its name is taken.
    """
    from openfingym.checks.calendars import cautions

    task = catalog.register(folder)
    try:
        told = cautions(task)
    except OpenFinGymError as error:
        # Whoever builds the task is told the same; until then its days are unknown.
        told = (f"{task.name}: not compared with bundled tasks, as its data cannot be read: {error}",)
    for caution in told:
        _log.warning("%s", caution)
    register_env(task.name)
    return task


def register_envs() -> None:
    """Make every known task known to Gymnasium; reads folder names only."""
    for name in catalog.task_folders():
        register_env(name)


def register_env(name: str) -> None:
    """Make one task known to Gymnasium, unless it is already."""
    spec = spec_of(name, {"task": name})
    if spec.id not in gymnasium.registry:
        gymnasium.register(
            id=spec.id,
            entry_point=spec.entry_point,
            vector_entry_point=spec.vector_entry_point,
            kwargs=spec.kwargs,
        )


def spec_of(name: str, options: dict[str, object]) -> EnvSpec:
    """The specification by which Gymnasium makes the environment of a task.

    Args:
        name: name of the task.
        options: arguments by which ``openfingym.make`` makes the environment.
    """
    making = "openfingym.envs.making"
    return EnvSpec(
        id=f"{NAMESPACE}/{name}-v0",
        entry_point=f"{making}:make",
        vector_entry_point=f"{making}:make_vec",
        # Our environments say themselves what they are called out of order; Gymnasium's wrappers would slow each step.
        order_enforce=False,
        disable_env_checker=True,
        kwargs=options,
    )
