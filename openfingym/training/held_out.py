"""Tasks on which nothing is trained."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.task import Family

HELD_OUT = ("commodity-forecast", "crypto-forecast", "equity-forecast", "fx-forecast", "treasury-forecast")
"""The five tasks that the OpenFinGym paper holds out (section 5.2): what is trained on the others is shown on these."""


def training_tasks(family: Family | None = None, *, held_out: Collection[str] = HELD_OUT) -> list[str]:
    """Names of the tasks of the catalogue to train on, in order: all but those that are held out.

    Args:
        family: only tasks of this family.
        held_out: names of tasks to leave out.
    """
    from openfingym import catalog

    return [info.name for info in catalog.tasks(family) if info.name not in held_out]
