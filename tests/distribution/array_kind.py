"""A kind for tests, installed as a distribution of somebody else's would be: forecasts that are answered in one array.

Windows of a task of this kind are shown at once, as hidden items without a time are. It stands for the library's kinds
of which that is true, whose answers take longer to make and to score.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from openfingym.kinds import (
    SHOWN,
    Brief,
    ForecastContract,
    ForecastKind,
    Instance,
    InstanceSplit,
    Material,
    TrainingData,
)
from openfingym.task import Contract, Task


class ArrayContract(ForecastContract):
    """The contract of a forecast."""

    kind: Literal["array"]  # type: ignore[assignment]  # another name than the kind whose form it has


class ArrayKind(ForecastKind):
    """Windows of a panel that are answered in one array."""

    contract = ArrayContract
    load_test = ("test_inputs",)
    interface = "interface.py"
    environment = "openfingym.envs:BatchEnv"
    naive_program = """import interface

print(interface.submit(interface.load_test_inputs()[:, -1:].repeat(interface.SUBMISSION_SHAPE[1], axis=1) * 0.0))
"""

    def shape(self, task: Task, source: object) -> Material:
        """The material of a forecast, whose windows are public."""
        return shown_at_once(super().shape(task, source))  # type: ignore[arg-type]  # a panel

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance of a forecast, whose windows are public."""
        made = super().instance(data, split, generator)
        return replace(made, material=shown_at_once(made.material))

    def walks(self, contract: Contract) -> bool:
        """Windows are shown at once."""
        return False

    def brief(self, task: Task, material: Material) -> Brief:
        """Next to nothing."""
        return Brief((), "Windows are shown at once.", "feedback = interface.submit(predictions)")


def shown_at_once(material: Material) -> Material:
    """A material whose windows are public."""
    shown = {name: array for name, array in material.hidden.items() if name.startswith(SHOWN)}
    hidden = {name: array for name, array in material.hidden.items() if name not in shown}
    return replace(material, public={**material.public, **shown}, hidden=hidden)


KIND = ArrayKind()
