"""Which tasks are on the same data, and so share their luck.

Tasks share data if they are on one dataset, on files with the same content, or on real data of one asset class: these
are the same market at the same times, whatever part of it each shows. A task that the catalogue does not have is taken
to be on data of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    known = known_tasks()
    keys = {task: _keys(name_of(task), known.get(name_of(task)), data_kind) for task in tasks}
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
    known = known_tasks()
    rows = [known.get(name_of(task)) for task in tasks]
    return "questions" if all(row is not None and row.kind in ASKING for row in rows) else "items"


def name_of(task: str) -> str:
    """The name of a task without its build, its slice of questions, and without hindsight."""
    return task.partition(" ")[0].partition("@")[0].removesuffix("-hindsight")


def _keys(name: str, info: TaskInfo | None, data_kind: str) -> frozenset[str]:
    """What tasks on the same data have in common."""
    if info is None:
        return frozenset({f"task {name}"})
    try:
        market = {f"real {info.asset_class}"} if data_kind.startswith("real") and info.asset_class in MARKETS else set()
        return data_of(info) | market
    except (OpenFinGymError, OSError):
        return frozenset({f"task {name}"})


def known_tasks() -> Mapping[str, TaskInfo]:
    """The catalogue's rows by the name of the task, without tasks that cannot be read."""
    return _rows(tuple((folder, _changed(folder)) for folder in catalog.task_folders().values()))


def _changed(folder: Path) -> int:
    """When the file of a task was last changed; 0 if it is gone."""
    try:
        return (folder / CONFIG).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=4)
def _rows(_folders: tuple[tuple[Path, int], ...]) -> Mapping[str, TaskInfo]:
    """The catalogue's rows while the folders of tasks are these, whose files were last changed then.

    They are kept between commands: to load all tasks takes longer than to read thousands of runs.
    """
    return {row.name: row for row in catalog.survey()[0]}
