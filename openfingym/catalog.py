"""Finding tasks: the built-in ones, a user's folders, and installed plug-ins.

Tasks come from, in this order:

1. the task packages that ship with OpenFinGym;
2. every folder in ``$OPENFINGYM_TASKS`` (separated like ``$PATH``), which contains one folder for each task;
3. the entry-point group ``openfingym.tasks``: each entry is a folder, or a function that returns one;
4. folders given to :func:`register` in this process.

Two tasks with the same name are an error, because a result names its task.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.catalog_cache import CatalogRows
from openfingym.errors import OpenFinGymError, TaskError, TaskNotFoundError
from openfingym.plugins import entry_points
from openfingym.task.files import CONFIG, has_task_file, read_task_file

if TYPE_CHECKING:
    from openfingym.task import DataKind, Family, Task
    from openfingym.task.model import AssetClass, Frequency

ENTRY_POINT_GROUP = "openfingym.tasks"
TASKS_VARIABLE = "OPENFINGYM_TASKS"

_registered: list[Path] = []


@dataclass(frozen=True)
class TaskInfo:
    """One row of the catalogue: what a task is about, in short."""

    name: str
    version: str
    description: str
    family: Family
    """What the task is about, such as ``forecasting``."""
    asset_class: AssetClass
    frequency: Frequency
    data_kind: DataKind
    """Whether the data are real, simulated, or synthetic by the paper's own definition."""
    dataset: str
    """Name of the dataset, or of a file in the task's folder."""
    kind: str
    """Form of the task, such as ``forecast`` or ``trading``; see the glossary in CONTRIBUTING.md."""
    panel: str
    """What the data are, in words."""
    lookback: int
    """Rows that are shown before each forecast; 0 for a task without such rows."""
    horizon: int
    """Rows that are forecast; 1 for a task without a horizon of its own."""
    channels: int | None
    """Number of series of a panel or of a generated window, or of symbols of bars; None for tasks of rows, curves and
    graphs."""
    metrics: tuple[str, ...]
    """Names of the task's metrics."""
    folder: str
    """Path of the task's folder."""

    def to_dict(self) -> dict[str, object]:
        """The row as plain values, as ``openfingym tasks --json`` prints it."""
        return {**asdict(self), "metrics": list(self.metrics)}


def task_folders() -> dict[str, Path]:
    """The folders of all known tasks by name, sorted; no file is read.

    Raises:
        TaskError: two folders have the same name, or a folder of tasks does not exist.
    """
    folders: dict[str, Path] = {}
    for folder in _all_folders():
        other = folders.setdefault(folder.name, folder)
        # The same folder may be known in two ways, perhaps through a link.
        if other != folder and other.resolve() != folder.resolve():
            raise TaskError(
                f"the task name {folder.name!r} is taken by {other}; rename one of the two folders", path=folder
            )
    return dict(sorted(folders.items()))


def tasks(family: Family | None = None) -> list[TaskInfo]:
    """List the known tasks.

    Args:
        family: family of the tasks to list; None for all tasks.

    Raises:
        TaskError: one of the task packages is malformed.
    """
    rows, faults = survey()
    if faults:
        raise next(iter(faults.values()))
    return [row for row in rows if family is None or row.family == family]


def survey() -> tuple[list[TaskInfo], dict[str, OpenFinGymError]]:
    """The known tasks, and for those that cannot be read the error, by name.

    Rows are kept in the store for the next time; see :mod:`openfingym.catalog_cache`.

    Raises:
        TaskError: two folders have the same name, or a folder of tasks does not exist.
    """
    cache = CatalogRows()
    rows, faults = [], {}
    for name, folder in task_folders().items():
        try:
            rows.append(_row(name, folder, cache))
        except OpenFinGymError as error:
            faults[name] = error
    cache.write()
    return rows, faults


def load_task(name: str | Path, *, real: bool = False) -> Task:
    """Load a task by name, or by the path of its folder.

    Args:
        name: name of the task, or path of its folder. For a task of questions with tools, ``NAME-hindsight`` is the
            task NAME for an experiment: its tools ignore when things became known, as each of its results says.
        real: whether to run on real data that were pulled. A task whose own data are real, and for which no others are
            known, runs on its own.

    Raises:
        TaskNotFoundError: no task has this name; the message suggests similar ones.
        TaskError: the task's folder is malformed; the message names the file and the key.
    """
    text = str(name)
    # A name without a separator is a folder's only if there is a task in it.
    if isinstance(name, Path) or os.sep in text or has_task_file(Path(text), CONFIG):
        folder = Path(text).expanduser().absolute()
        if not folder.is_dir():
            raise TaskNotFoundError(f"there is no folder {folder}")
    else:
        folders = task_folders()
        if text not in folders and (twin := _twin(text, folders)) is not None:
            return twin
        if text not in folders:
            near = difflib.get_close_matches(text, folders, 3, cutoff=0.8)
            hint = (
                f"did you mean {' or '.join(map(repr, near))}?" if near else "`openfingym tasks` lists the known ones"
            )
            several = "; give several one by one, and not with commas between them" if "," in text else ""
            raise TaskNotFoundError(f"no task is named {text!r}; {hint}{several}")
        folder = folders[text]
    from openfingym.kinds import kind_of
    from openfingym.task import Task

    task = Task.read(folder)
    if real and not (task.spec.dataset.pulled is None and kind_of(task).data_kind(task) == "real"):
        task = replace(task, real=True)
    if task.name != folder.name:
        raise TaskError(
            f"says {task.file.task.name!r}, but its folder is named {folder.name!r}; the two must agree",
            path=task.config_path,
            key="task.name",
        )
    return task


def _twin(name: str, folders: Mapping[str, Path]) -> Task | None:
    """The variant with hindsight of a known task, if ``name`` is that of one; otherwise None."""
    from openfingym.kinds.hindsight import SUFFIX, may_look_ahead, with_hindsight

    own = name.removesuffix(SUFFIX)
    if own == name or own not in folders:
        return None
    task = load_task(own)
    return with_hindsight(task) if may_look_ahead(task.spec.contract) else None


def register(folder: str | Path) -> Task:
    """Make the task package in ``folder`` known in this process; :func:`openfingym.register` also tells Gymnasium.

    Returns:
        The task, whose ``task.toml`` has been checked.

    Raises:
        TaskError: the package is malformed, or its name is taken.
    """
    path = Path(folder).expanduser().absolute()
    task = load_task(path)
    taken = task_folders().get(task.name)
    if taken is not None and taken.resolve() != path.resolve():
        raise TaskError(f"the task name {task.name!r} is taken by {taken}", path=path)
    if taken is None:
        _registered.append(path)
    return task


def describe(task: Task) -> TaskInfo:
    """The catalogue row of ``task``."""
    from openfingym.kinds import kind_of

    spec, kind = task.spec, kind_of(task)
    return TaskInfo(
        name=task.name,
        version=task.version,
        description=task.file.task.description,
        family=spec.family,
        asset_class=spec.asset_class,
        frequency=spec.frequency,
        data_kind=kind.data_kind(task),
        dataset=spec.dataset.name or str(spec.dataset.file),
        kind=spec.contract.kind,
        panel=spec.panel,
        lookback=getattr(spec.contract, "lookback", 0),
        horizon=getattr(spec.contract, "horizon", 1),
        channels=kind.channels(task),
        metrics=tuple(metric.name for metric in spec.scoring.metrics),
        folder=str(task.folder),
    )


def builtin_root() -> Path:
    """Folder of the task packages that ship with OpenFinGym: inside an installed library, or beside a checkout's."""
    installed = Path(str(resources.files("openfingym"))) / "_packages"
    return installed if installed.is_dir() else Path(__file__).resolve().parent.parent / "tasks"


def _row(name: str, folder: Path, cache: CatalogRows) -> TaskInfo:
    """The row of a known task, from the cache or else from the task itself."""
    key = cache.key(folder, read_task_file(folder, CONFIG))
    cached: Any = key and cache.get(key)
    if cached:
        return TaskInfo(**{**cached, "metrics": tuple(cached["metrics"])})
    task = load_task(name)
    row = describe(task)
    if key is not None and _is_all_in_key(task):
        cache.put(key, row.to_dict())
    return row


def _is_all_in_key(task: Task) -> bool:
    """Whether a task's row follows only from what its key is made of, and neither from a plug-in nor a hidden file."""
    from openfingym.metrics.registry import METRICS
    from openfingym.task.known_kinds import is_builtin

    spec = task.spec
    return (
        is_builtin(spec.contract.kind)
        and all(metric.name in METRICS for metric in spec.scoring.metrics)
        and not any(part.startswith(".") for part in Path(spec.dataset.file or "").parts)
    )


def _all_folders() -> Iterator[Path]:
    roots = [
        builtin_root(),
        *(Path(part).expanduser() for part in os.environ.get(TASKS_VARIABLE, "").split(os.pathsep) if part),
    ]
    for root in roots:
        if not root.is_dir():
            raise TaskError(
                f"{root} (from ${TASKS_VARIABLE}) is not a folder"
                if root != roots[0]
                else f"{root}: the built-in tasks are missing"
            )
        yield from sorted(folder for folder in root.iterdir() if folder.is_dir() and has_task_file(folder, CONFIG))
    for entry in entry_points(ENTRY_POINT_GROUP):
        try:
            loaded = entry.load()
            folder = Path(str(loaded() if callable(loaded) else loaded))
        except Exception as error:  # a stranger's module may raise anything
            raise TaskError(
                f"the tasks {entry.name!r} of {entry.dist.name if entry.dist else entry.value} cannot be loaded: "
                f"{error!r}; mend or uninstall it"
            ) from error
        yield folder
    yield from _registered
