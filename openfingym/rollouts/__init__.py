"""Batch rollouts: tasks x agents x models x seeds, on this machine or on a cluster, that survive what may happen to a
run.

    results = run(Plan.read("plan.toml"), "runs/demo")

A rollout is a :class:`RolloutSpec`; its identity says whether it was run before. :func:`run` puts the parts together:
what there is to do (:func:`prepare`), the :class:`RolloutEngine`, which runs each rollout once and keeps its result,
and a :class:`Runner`, which says where.
"""

from __future__ import annotations

from openfingym.rollouts.engine import Patience, RolloutEngine, RunWatcher
from openfingym.rollouts.folders import RunFolder
from openfingym.rollouts.local import LocalRollouts, LocalRunner, Runner
from openfingym.rollouts.plan import Plan
from openfingym.rollouts.preparation import Work, prepare
from openfingym.rollouts.running import run
from openfingym.rollouts.selection import Selection, expand, select
from openfingym.rollouts.settings import ModelAccess, RolloutSettings
from openfingym.rollouts.spec import RolloutSpec

__all__ = [
    "LocalRollouts",
    "LocalRunner",
    "ModelAccess",
    "Patience",
    "Plan",
    "RolloutEngine",
    "RolloutSettings",
    "RolloutSpec",
    "RunFolder",
    "RunWatcher",
    "Runner",
    "Selection",
    "Work",
    "expand",
    "prepare",
    "run",
    "select",
]
