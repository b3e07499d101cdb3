"""Tasks that are held out from training, and with them all tasks that are made of the same data.

No task gives out for training what another one on the same real series hides for good
(:mod:`openfingym.checks.calendars`), but it may give out what another one practises on, and simulated series have no
common calendar. So a task is held out together with every task on its dataset, or on a dataset from the same real
source.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.catalog import TaskInfo
    from openfingym.task import Family

HELD_OUT = ("commodity-forecast", "crypto-forecast", "equity-forecast", "fx-forecast", "treasury-forecast")
"""The five tasks that the OpenFinGym paper holds out (section 5.2): what is trained on others is tested on these."""


def kept_apart(names: Iterable[str]) -> frozenset[str]:
    """The named tasks, and all tasks of the catalogue that share data with one of them.

    Args:
        names: names of tasks. A task that is not in the catalogue is returned by its name alone.
    """
    from openfingym import catalog

    named, tasks = frozenset(names), catalog.tasks()
    shared = frozenset[str]().union(*(data_of(info) for info in tasks if info.name in named))
    return named | {info.name for info in tasks if data_of(info) & shared}


def training_tasks(family: Family | None = None, *, held_out: Iterable[str] = HELD_OUT) -> list[str]:
    """Names of the catalogue's tasks to train on, in order: those that share no data with a task that is held out.

    Args:
        family: family of the tasks to train on; None for all families.
        held_out: names of the tasks that are held out.
    """
    from openfingym import catalog

    apart = kept_apart(held_out)
    return [info.name for info in catalog.tasks(family) if info.name not in apart]


def data_of(task: TaskInfo) -> frozenset[str]:
    """What two tasks on the same data have in common: the dataset, and for real data its source."""
    from openfingym.digests import sha256_of_file

    # By its content, since another task may have the same file under another name.
    own = Path(task.folder) / task.dataset
    return frozenset({sha256_of_file(own)}) if own.is_file() else of_dataset(task.dataset)


@cache
def of_dataset(name: str) -> frozenset[str]:
    """The name of a dataset that comes with the library, and for real data its source; read once for all tasks."""
    from openfingym.data.dataset import dataset_info
    from openfingym.errors import DataError

    try:
        info = dataset_info(name)
    except DataError:  # graphs, curves and whatever else a simulator makes
        return frozenset({name})
    # Only a real source has one history, which all datasets from it share; a simulator draws each dataset anew.
    return frozenset({name, info.source} if info.kind == "real" else {name})
