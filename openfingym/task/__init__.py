"""A task as its author writes it: ``task.toml`` with its contract and scoring table, and the files beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.task.contracts import Contract, Family, PositiveInt
    from openfingym.task.episodes import Step, SteppedEpisode
    from openfingym.task.model import DataKind, Spec, Task

__all__ = [
    "Contract",
    "DataKind",
    "Family",
    "PositiveInt",
    "Spec",
    "Step",
    "SteppedEpisode",
    "Task",
]

_HOMES = {
    "Contract": "contracts",
    "DataKind": "model",
    "Family": "contracts",
    "PositiveInt": "contracts",
    "Spec": "model",
    "Step": "episodes",
    "SteppedEpisode": "episodes",
    "Task": "model",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
