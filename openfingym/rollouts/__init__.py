"""Batch rollouts: tasks x agents x models x seeds, on this machine or on a cluster, that survive what may happen to a
run.

    with RunFolder.open(Path("runs/demo")) as folder:
        work = prepare(plan, select(plan), folder)
        async with RolloutEngine(LocalRunner(LocalRollouts(work.needed), places=4), folder) as engine:
            results = await engine.run(work.missing)

A rollout is a :class:`RolloutSpec`; its identity says whether it was run before. The
:class:`RolloutEngine` runs each once and keeps its result, a :class:`Runner` says where.
"""

from __future__ import annotations

from openfingym.rollouts.engine import Patience, RolloutEngine, RunWatcher
from openfingym.rollouts.folders import RunFolder
from openfingym.rollouts.local import LocalRollouts, LocalRunner, ModelAccess, Runner
from openfingym.rollouts.plan import Plan, Selection, expand, select
from openfingym.rollouts.preparation import Work, prepare
from openfingym.rollouts.spec import RolloutSpec

__all__ = [
    "LocalRollouts",
    "LocalRunner",
    "ModelAccess",
    "Patience",
    "Plan",
    "RolloutEngine",
    "RolloutSpec",
    "RunFolder",
    "RunWatcher",
    "Runner",
    "Selection",
    "Work",
    "expand",
    "prepare",
    "select",
]
