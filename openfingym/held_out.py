"""Tasks on which nothing is trained, and those that go with them since they are made of the same data.

What one task gives to train on another may hide: ``fx-forecast-v3`` trains on years that ``fx-forecast`` hides. So a
task is held out with every task on its dataset, or on a dataset of the same real source.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.catalog import TaskInfo
    from openfingym.task import Family

HELD_OUT = ("commodity-forecast", "crypto-forecast", "equity-forecast", "fx-forecast", "treasury-forecast")
"""The five tasks that the OpenFinGym paper holds out (section 5.2): what is trained on others is shown on these."""


def kept_apart(names: Iterable[str]) -> frozenset[str]:
    """The named tasks, and all tasks of the catalogue that share data with one of them.

    Args:
        names: names of tasks; of one that is in no catalogue, nothing but its name is known.
    """
    from openfingym import catalog

    named, tasks = frozenset(names), catalog.tasks()
    shared = frozenset[str]().union(*(_data(info) for info in tasks if info.name in named))
    return named | {info.name for info in tasks if _data(info) & shared}


def training_tasks(family: Family | None = None, *, held_out: Iterable[str] = HELD_OUT) -> list[str]:
    """Names of the tasks of the catalogue to train on, in order: those that share no data with what is held out.

    Args:
        family: only tasks of this family.
        held_out: names of the tasks that are held out.
    """
    from openfingym import catalog

    apart = kept_apart(held_out)
    return [info.name for info in catalog.tasks(family) if info.name not in apart]


def _data(task: TaskInfo) -> frozenset[str]:
    """What stands for a task's data: its dataset, and where that is from, if that is a place with one history."""
    from openfingym.data.dataset import dataset_info
    from openfingym.digests import sha256_of_file
    from openfingym.errors import DataError

    own = Path(task.folder) / task.dataset
    if own.is_file():
        return frozenset({sha256_of_file(own)})
    try:
        info = dataset_info(task.dataset)
    except DataError:  # graphs, curves and whatever else a simulator makes
        return frozenset({task.dataset})
    return frozenset({task.dataset, info.source} if info.kind == "real" else {task.dataset})
