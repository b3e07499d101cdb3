"""Batch rollouts: tasks x agents x models x seeds, on this machine or on a cluster, that survive what may happen to a
run.

    results = run(Plan.read("plan.toml"), "runs/demo")

A rollout is a :class:`RolloutSpec`; its identity says whether it was run before. :func:`run` puts the parts together:
what there is to do (:func:`prepare`), the :class:`RolloutEngine`, which runs each rollout once and keeps its result,
and a :class:`Runner`, which says where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.rollouts.engine import RolloutEngine
    from openfingym.rollouts.folders import RunFolder
    from openfingym.rollouts.hooks import RolloutHooks
    from openfingym.rollouts.launcher import Launcher
    from openfingym.rollouts.local import LocalRollouts, LocalRunner, Runner
    from openfingym.rollouts.loggers import RunLogger
    from openfingym.rollouts.order import RolloutOrder
    from openfingym.rollouts.plan import Plan
    from openfingym.rollouts.preparation import prepare
    from openfingym.rollouts.running import run
    from openfingym.rollouts.selection import select
    from openfingym.rollouts.settings import RolloutSettings
    from openfingym.rollouts.spec import RolloutSpec

__all__ = [
    "Launcher",
    "LocalRollouts",
    "LocalRunner",
    "Plan",
    "RolloutEngine",
    "RolloutHooks",
    "RolloutOrder",
    "RolloutSettings",
    "RolloutSpec",
    "RunFolder",
    "RunLogger",
    "Runner",
    "prepare",
    "run",
    "select",
]

_HOMES = {
    "Launcher": "launcher",
    "LocalRollouts": "local",
    "LocalRunner": "local",
    "Plan": "plan",
    "RolloutEngine": "engine",
    "RolloutHooks": "hooks",
    "RolloutOrder": "order",
    "RolloutSettings": "settings",
    "RolloutSpec": "spec",
    "RunFolder": "folders",
    "RunLogger": "loggers",
    "Runner": "local",
    "prepare": "preparation",
    "run": "running",
    "select": "selection",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
