"""What the command line says of options is what the library knows."""

from __future__ import annotations

from typing import get_args

from openfingym.agents import BUILTIN
from openfingym.cli import choices
from openfingym.data.dataset import Measure
from openfingym.kinds.questions.asking import Clock
from openfingym.machine import BackendName
from openfingym.reports.groups import Field
from openfingym.results import State
from openfingym.task.contracts import Family
from openfingym.task.dataset import Fill
from openfingym.task.known_kinds import OWN
from openfingym.trajectory.record import Split


def test_choices_are_those_of_the_library() -> None:
    known = {
        "FAMILIES": get_args(Family),
        "KINDS": OWN,
        "STATES": get_args(State),
        "AGENTS": tuple(BUILTIN),
        "BACKENDS": get_args(BackendName),
        "CLOCKS": get_args(Clock),
        "REPORTED_BY": get_args(Field),
        "FILLS": get_args(Fill),
        "MEASURES": get_args(Measure),
        "SPLITS": get_args(Split),
    }
    assert {name: getattr(choices, name) for name in dir(choices) if name.isupper()} == known
