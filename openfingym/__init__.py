"""OpenFinGym: evaluate and train AI agents on quantitative finance, with scores that can be trusted.

    import openfingym

    env = openfingym.make("treasury-forecast")
    result = openfingym.run("treasury-forecast", agent="ridge")

Importing this package only makes the names below available; each is loaded when it is first used.
If Gymnasium has been imported before, the tasks are also registered with it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from openfingym.lazy import names_of
from openfingym.version import __version__

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.catalog import TaskInfo, load_task, tasks
    from openfingym.envs.batch import BatchEnv
    from openfingym.envs.making import make, make_vec
    from openfingym.envs.registration import register
    from openfingym.errors import OpenFinGymError
    from openfingym.reports.frame import read_runs
    from openfingym.results import RolloutResult, read_run
    from openfingym.rollouts.single import run
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
    "read_runs",
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
    "read_runs": "reports.frame",
    "register": "envs.registration",
    "run": "rollouts.single",
    "tasks": "catalog",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)


if "gymnasium" in sys.modules:
    # So that `gymnasium.make("openfingym/treasury-forecast-v0")` works. For imports in the other order, see
    # docs/environments.md.
    importlib.import_module("openfingym.envs")
