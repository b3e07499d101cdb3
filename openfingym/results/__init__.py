"""The result of a rollout, in memory and in its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.results.result import Isolation, RolloutResult, SplitName, State
    from openfingym.results.run_folder import read_run

__all__ = [
    "Isolation",
    "RolloutResult",
    "SplitName",
    "State",
    "read_run",
]

_HOMES = {
    "Isolation": "result",
    "RolloutResult": "result",
    "SplitName": "result",
    "State": "result",
    "read_run": "run_folder",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
