"""Tasks that are held out from training, and with them all tasks that are made of the same data.

No task gives out for training what another one on the same real series hides for good
(:mod:`openfingym.checks.calendars`), but it may give out what another one practises on, and simulated series have no
common calendar. So a task is held out together with every task on its dataset, or on a dataset from the same real
source, and with every one whose tools serve such a dataset. :func:`exposures` says which instruments and days those
are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import OpenFinGymError
from openfingym.task.exposure import Exposure

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
    shared = frozenset[str]().union(*(_met_with(info) for info in tasks if info.name in named))
    return named | {info.name for info in tasks if _met_with(info) & shared}


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


def _met_with(task: TaskInfo) -> frozenset[str]:
    """The data that a task is on, and those that its tools serve."""
    if task.family != "questions":
        return data_of(task)
    from openfingym import catalog
    from openfingym.kinds.qa_contract import qa_contract

    contract = qa_contract(catalog.load_task(Path(task.folder)).spec.contract)
    return data_of(task).union(*map(of_dataset, contract.asked_by.serves(contract.chosen)))


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


def exposures(tasks: Iterable[str]) -> dict[str, Exposure | None]:
    """What the tasks of the catalogue show and hide, by name; None where the data are not on this machine.

    What is found is kept in the store for the next time.

    Args:
        tasks: names of the tasks.
    """
    from openfingym import catalog
    from openfingym.catalog_cache import CatalogRows
    from openfingym.task.files import CONFIG, read_task_file

    cache = CatalogRows("exposures.json", ("suites", "vault", "kinds/exposing.py"))
    found: dict[str, Exposure | None] = {}
    folders = catalog.task_folders()
    for name in tasks:
        found[name] = None
        with contextlib.suppress(OpenFinGymError):
            key = cache.key(folders[name], read_task_file(folders[name], CONFIG))
            kept = key and cache.get(key)
            exposure = Exposure.of(kept) if kept else _read(name)
            if key is not None and not kept:
                cache.put(key, exposure.to_dict())
            found[name] = exposure
    cache.write()
    return found


def _read(name: str) -> Exposure:
    """What a task shows and hides; kinds are loaded here alone, because what was kept needs none of them."""
    from openfingym import catalog
    from openfingym.kinds.exposing import exposure_of

    return exposure_of(catalog.load_task(name))
