"""Stage ``install``: a proved task is put among the forge's tasks, whole or not at all, and no task twice."""

from __future__ import annotations

import shutil
from pathlib import Path

from openfingym import catalog
from openfingym.checks.calendars import cautions
from openfingym.digests import sha256_of_json
from openfingym.errors import OpenFinGymError
from openfingym.files.strange import sha256
from openfingym.files.whole import store_errors, whole_folder
from openfingym.packages.scaffold import toml_value
from openfingym.packages.toml_tables import split_tables, with_values
from openfingym.task import Task
from openfingym.task.files import CONFIG
from openfingym_forge.assembly.stage import FOLDER
from openfingym_forge.folder import remove_at_once
from openfingym_forge.stage import RejectionReason, StageResult

NAME = "install"
TASKS = "tasks"
"""Name of the folder of installed tasks in the folder of a forge."""


def install(candidate_folder: Path, forge_root: Path) -> StageResult:
    """Install the proved task of a paper, in the place of what the same paper had installed before.

    Args:
        candidate_folder: folder of the paper, with the proved package in ``task/``.
        forge_root: folder of the forge.

    Returns:
        ``passed`` with the name, the folder, and days of bundled tasks that it should not show or hide; or ``refused``
        if another paper's task asks the same of the same data.

    Raises:
        StoreError: the task cannot be written.
        TaskError: the package, or a task that is installed, cannot be read.
    """
    task = Task.read(candidate_folder / FOLDER)
    tasks, key = forge_root / TASKS, candidate_folder.name
    with store_errors(tasks):
        tasks.mkdir(parents=True, exist_ok=True)
    taken = set(catalog.task_folders())
    for folder in _installed(tasks):
        other = Task.read(folder)
        if _paper_of(other) == key:
            continue
        taken.add(other.name)
        if asks(other) == asks(task):
            same = f"{other.name}, of the paper {_paper_of(other)}, asks the same of the same data"
            return StageResult(NAME, "refused", (RejectionReason("duplicate-task", same),))
    name = _free(task.name, key, taken)
    with store_errors(tasks):
        # Before: under another name, the paper's old task would stay beside the new one.
        uninstall(key, forge_root)
        with whole_folder(tasks / name) as partial:
            for path in sorted(task.folder.iterdir()):
                shutil.copyfile(path, partial / path.name)
            if name != task.name:
                _rename(partial / CONFIG, task, name)
            # Read once more before it takes its place: what is installed can be run.
            Task.read(partial)
    told = cautions(Task.read(tasks / name))
    facts = {"task": name, "folder": f"{TASKS}/{name}", **({"calendar": list(told)} if told else {})}
    return StageResult(NAME, "passed", facts=facts)


def uninstall(key: str, forge_root: Path) -> list[str]:
    """Remove the installed tasks of a paper, and give their names.

    Args:
        key: key of the paper.
        forge_root: folder of the forge.
    """
    gone = []
    for folder in _installed(forge_root / TASKS):
        # A task that cannot be read is somebody's to look at, and not removed.
        try:
            is_papers = _paper_of(Task.read(folder)) == key
        except OpenFinGymError:
            continue
        if is_papers:
            remove_at_once(folder)
            gone.append(folder.name)
    return gone


def asks(task: Task) -> str:
    """Digest of what a task asks of which data, whatever its name, its words and its paper are."""
    spec = task.spec
    dataset = spec.dataset.model_dump(mode="json", include={"name", "channels", "first", "last"})
    if spec.dataset.file is not None:
        dataset["file"] = sha256(task.folder, spec.dataset.file)
    metrics = sorted((metric.name, metric.weight) for metric in spec.scoring.metrics)
    split = None if spec.split is None else spec.split.model_dump(mode="json")
    contract = spec.contract.model_dump(mode="json", exclude={"unit"})
    return sha256_of_json({"dataset": dataset, "contract": contract, "split": split, "metrics": metrics})


def _installed(tasks: Path) -> list[Path]:
    return sorted(path.parent for path in tasks.glob("[!.]*/task.toml"))


def _paper_of(task: Task) -> str:
    """Key of the paper that a task was forged from, which stands before the colon."""
    return task.spec.provenance.paper.partition(":")[0]


def _free(name: str, key: str, taken: set[str]) -> str:
    """The name, or, if another task has it, the name with the digits behind it that end the paper's key."""
    digits = "".join(letter for letter in key.rpartition("-")[2].lower() if letter in "0123456789abcdef")
    return name if name not in taken else f"{name}-{digits or 'again'}"


def _rename(path: Path, task: Task, name: str) -> None:
    """Give a task another name in its ``task.toml``, and change nothing else there."""
    organisation = task.file.task.name.partition("/")[0]
    changes = {"name": toml_value(f"{organisation}/{name}")}
    blocks = split_tables(path.read_text(encoding="utf-8"))
    text = "".join(with_values(block, changes if table == "task" else {}) for table, block in blocks)
    path.write_text(text, encoding="utf-8")
