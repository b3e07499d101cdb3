"""OpenFinGym: evaluate and train AI agents on quantitative finance, with scores that can be trusted.

    import openfingym

    env = openfingym.make("treasury-forecast")
    result = openfingym.run("treasury-forecast", agent="ridge")

Importing this package does nothing but make the names below available; each is loaded when it is
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.catalog import TaskInfo, load_task, register, tasks
    from openfingym.envs.batch import BatchEnv
    from openfingym.envs.making import make, make_vec
    from openfingym.errors import OpenFinGymError
    from openfingym.results import RolloutResult, read_run
    from openfingym.rollout import run
    from openfingym.task import Task
    from openfingym.verifiers import VerifierAddress

__all__ = [
    "Agent",
    "BatchEnv",
    "OpenFinGymError",
    "RolloutResult",
    "Task",
    "TaskInfo",
    "VerifierAddress",
    "__version__",
    "load_task",
    "make",
    "make_vec",
    "read_run",
    "register",
    "run",
    "tasks",
]

_HOMES = {
    "Agent": "agents",
    "BatchEnv": "envs.batch",
    "OpenFinGymError": "errors",
    "RolloutResult": "results",
    "Task": "task",
    "TaskInfo": "catalog",
    "VerifierAddress": "verifiers",
    "load_task": "catalog",
    "make": "envs.making",
    "make_vec": "envs.making",
    "read_run": "results",
    "register": "catalog",
    "run": "rollout",
    "tasks": "catalog",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'openfingym' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"openfingym.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _announce_to_gymnasium() -> None:
    from openfingym.envs.registration import register_when_gymnasium_is_imported

    register_when_gymnasium_is_imported()


_announce_to_gymnasium()
