"""Instances: what a kind makes of a task's training data so that an agent can be trained on it.

An instance is a task of the same form, with training data and hidden parts of its own, all of them cut from what the
task gives to train on. Who trains on instances has seen nothing of what the task is scored on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from openfingym.data import DatasetInfo
    from openfingym.kinds.material import Material, Reader
    from openfingym.task import Task

InstanceSplit = Literal["train", "validation"]
"""What an instance is for. What is hidden in one of ``validation`` is in none of ``train``, shown or hidden."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What the built package of a task gives to train on, from which its instances are cut."""

    task: Task
    read: Reader
    """A public array by its name, read-only. Rows that the task hides, and inputs of hidden rows, must not be used."""
    facts: Mapping[str, Any]
    """``contract.json`` of the package."""
    info: DatasetInfo
    """Provenance of the data, which is that of the instance."""
    digest: str
    """Hex SHA-256 that stands for the data, from which the package was built."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A task of the same form on other rows."""

    material: Material
    """What the package of the instance holds of its data."""
    contract: Mapping[str, object] = field(default_factory=dict)
    """Keys of the contract in which the instance differs from its task, such as a shorter ``horizon``."""
