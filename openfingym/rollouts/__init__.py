"""Batch rollouts: tasks x agents x models x seeds, on this machine or on a cluster, that survive what may happen to a run.

    with RunFolder.open(Path("runs/demo")) as folder:
        work = prepare(plan, select(plan), folder)
        async with Engine(LocalRunner(Station(work.needed), places=4), folder) as engine:
            results = await engine.run(work.missing)

A rollout is a :class:`RolloutSpec`; its identity says whether it was run before. The
:class:`Engine` runs each once and keeps its result, a :class:`Runner` says where.
"""

from __future__ import annotations

from openfingym.rollouts.engine import Engine, Patience, Watch
from openfingym.rollouts.folders import RunFolder
from openfingym.rollouts.plan import Plan, Selection, expand, select
from openfingym.rollouts.preparation import Work, prepare
from openfingym.rollouts.spec import RolloutSpec
from openfingym.rollouts.station import LocalRunner, ModelAccess, Runner, Station

__all__ = [
    "Engine",
    "LocalRunner",
    "ModelAccess",
    "Patience",
    "Plan",
    "RolloutSpec",
    "RunFolder",
    "Runner",
    "Selection",
    "Station",
    "Watch",
    "Work",
    "expand",
    "prepare",
    "select",
]
