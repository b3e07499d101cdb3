"""Tasks that are held out from training, and with them all tasks that are made of the same data.

No task gives out for training what another one on the same real series hides for good
(:mod:`openfingym.checks.calendars`), but it may give out what another one practises on, and simulated series have no
common calendar. So a task is held out together with every task on its dataset, or on a dataset from the same real
source, and with every one whose tools serve such a dataset. :func:`exposure_of` says which instruments and days those
are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import OpenFinGymError
from openfingym.task.exposure import ALWAYS, NOTHING, Days, Exposure

if TYPE_CHECKING:
    from openfingym.catalog import TaskInfo
    from openfingym.kinds import Array
    from openfingym.task import Family, Task

HELD_OUT = ("commodity-forecast", "crypto-forecast", "equity-forecast", "fx-forecast", "treasury-forecast")
"""The five tasks that the OpenFinGym paper holds out (section 5.2): what is trained on others is tested on these."""
DATED = frozenset({"forecast", "rolling", "trading", "generation"})
"""Kinds whose rows have days."""
GAP_DAYS = 14
"""Rows that lie farther apart than this are of two intervals of days."""


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
    if task.kind != "qa":
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


def exposure_of(task: Task) -> Exposure:
    """What a task shows and hides, from the data that it is built from.

    Raises:
        OpenFinGymError: its data cannot be loaded.
    """
    from openfingym.data.instruments import instrument
    from openfingym.kinds import kind_of
    from openfingym.kinds.paths import Paths

    kind = kind_of(task)
    if task.spec.contract.kind == "qa":
        return _of_questions(task)
    # Before anything is loaded: what is drawn anew was seen by nobody.
    if (simulated := kind.data_kind(task) != "real") and kind.renewable(task):
        return NOTHING
    if task.spec.contract.kind not in DATED or simulated:
        whole = {f"dataset {task.spec.dataset.name or task.name}": ALWAYS}
        return Exposure(whole, whole)
    source = kind.load(task)
    material = kind.shape(task, source)
    arrays = {name: array for part in (material.public, material.hidden) for name, array in part.items()}
    # Windows to generate have no times in the package.
    times = source.times if isinstance(source, Paths) else {}
    own = "" if task.spec.dataset.name else material.dataset_digest
    facts = {**material.facts, "n_public": material.n_public}
    return exposure_by_times(task, partial(instrument, material.info, own=own), facts, {**arrays, **times})


def exposure_by_times(
    task: Task, named: Callable[[str], str], facts: Mapping[str, Any], arrays: Mapping[str, Any]
) -> Exposure:
    """What a task shows and hides, by the times of its rows.

    Args:
        task: the task.
        named: the instrument of a channel.
        facts: what its contract states of its data, and how many items its public fold has.
        arrays: arrays by name, those of times among them.
    """
    import numpy as np

    contract = task.spec.contract
    lookback, channels = int(facts["lookback"]), facts.get("symbols") or facts["channels"]
    names = sorted(set(map(named, channels)))
    train = np.ravel(arrays["train_times"])
    if contract.kind in {"rolling", "trading"}:
        hidden, played = arrays["private_times"], np.concatenate([arrays["public_times"], arrays["private_times"]])
    else:
        test = np.asarray(arrays["test_times"])
        hidden = test[int(facts["n_public"]) :, lookback:]
        # A window shows what was asked for by those before it; of one to generate, nothing but its context is shown.
        played = test if contract.kind == "forecast" else test[:, :0]
        if contract.kind == "generation":
            train = np.concatenate([train, np.ravel(test[:, :lookback])])
    return Exposure(*(dict.fromkeys(names, _days(times)) for times in (train, hidden, played)))


def _of_questions(task: Task) -> Exposure:
    """What a suite's tools show, and what its questions hide."""
    from openfingym.kinds.qa_contract import qa_contract

    contract = qa_contract(task.spec.contract)
    return contract.asked_by.exposure(task.spec.dataset.name or task.name, contract.chosen)


def _days(times: Array) -> Days:
    """The days of some times as intervals."""
    import numpy as np

    days = np.unique(np.asarray(times).astype("datetime64[D]"))
    if not len(days):
        return ()
    ends = np.flatnonzero(np.diff(days) > np.timedelta64(GAP_DAYS, "D"))
    firsts, lasts = days[np.r_[0, ends + 1]], days[np.r_[ends, len(days) - 1]]
    return tuple(zip(map(str, firsts), map(str, lasts), strict=True))


def exposures(tasks: Iterable[str]) -> dict[str, Exposure | None]:
    """What the tasks of the catalogue show and hide, by name; None where the data are not on this machine.

    What is found is kept in the store for the next time.

    Args:
        tasks: names of the tasks.
    """
    from openfingym import catalog
    from openfingym.catalog_cache import CatalogRows
    from openfingym.task.files import CONFIG, read_task_file

    cache = CatalogRows("exposures.json", ("suites", "vault", "held_out.py"))
    found: dict[str, Exposure | None] = {}
    folders = catalog.task_folders()
    for name in tasks:
        found[name] = None
        with contextlib.suppress(OpenFinGymError):
            key = cache.key(folders[name], read_task_file(folders[name], CONFIG))
            kept = key and cache.get(key)
            exposure = Exposure.of(kept) if kept else exposure_of(catalog.load_task(name))
            if key is not None and not kept:
                cache.put(key, exposure.to_dict())
            found[name] = exposure
    cache.write()
    return found
