"""Which tasks are on the same data, and so share their luck.

Tasks share data if they are on one dataset, on files with the same content, or on real data of one asset class: these
are the same market at the same times, whatever part of it each shows. A task that the catalogue does not have is taken
to be on data of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from openfingym import catalog
from openfingym.catalog import TaskInfo
from openfingym.errors import OpenFinGymError
from openfingym.held_out import data_of
from openfingym.task.files import CONFIG

MARKETS = frozenset({"commodity", "crypto", "equity", "fx", "rates", "lob"})
"""Asset classes whose prices move together."""
ASKING = frozenset({"qa", "questions"})
"""Kinds of tasks whose items are questions."""


def datasets_of(tasks: Sequence[str], data_kind: str) -> list[int]:
    """The number of each task's dataset, from 0 on; tasks that share data, be it through others, have the same number.

    Args:
        tasks: names of tasks, with their build or slice if there are several.
        data_kind: kind of their data, such as ``real``.
    """
    folders = catalog.task_folders()
    keys = {task: _keys(name_of(task), folders.get(name_of(task)), data_kind) for task in tasks}
    groups: list[set[str]] = []
    for mine in keys.values():
        joined = set(mine).union(*(group for group in groups if group & mine))
        groups = [group for group in groups if not group & mine] + [joined]
    numbers = {key: number for number, group in enumerate(groups) for key in group}
    return [numbers[next(iter(keys[task]))] for task in tasks]


def unknown_of(tasks: Iterable[str]) -> list[str]:
    """The tasks of which the catalogue does not say what data they are on."""
    folders = catalog.task_folders()
    return [task for task in tasks if folders.get(name_of(task)) is None]


def items_of(tasks: Iterable[str]) -> str:
    """What the items of tasks are called: ``questions`` if all of them ask some, else ``items``."""
    folders = catalog.task_folders()
    for task in tasks:
        folder = folders.get(name_of(task))
        try:
            if folder is None or _described(folder, _changed(folder)).kind not in ASKING:
                return "items"
        except (OpenFinGymError, OSError):
            return "items"
    return "questions"


def name_of(task: str) -> str:
    """The name of a task without its build, its slice of questions, and without hindsight."""
    return task.partition(" ")[0].partition("@")[0].removesuffix("-hindsight")


def _keys(name: str, folder: Path | None, data_kind: str) -> frozenset[str]:
    """What tasks on the same data have in common."""
    if folder is None:
        return frozenset({f"task {name}"})
    try:
        info = _described(folder, _changed(folder))
        market = {f"real {info.asset_class}"} if data_kind.startswith("real") and info.asset_class in MARKETS else set()
        return data_of(info) | market
    except (OpenFinGymError, OSError):
        return frozenset({f"task {name}"})


def _changed(folder: Path) -> int:
    return (folder / CONFIG).stat().st_mtime_ns


@lru_cache(maxsize=1024)
def _described(folder: Path, _changed: int) -> TaskInfo:
    """The catalogue's row of the task in a folder, whose file was last changed at a time."""
    return catalog.describe(catalog.load_task(folder))
