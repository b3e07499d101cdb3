"""Stage ``install``: a proved task among the forge's tasks, whole or not at all, and once only."""

from __future__ import annotations

import shutil
from pathlib import Path

from openfingym import catalog
from openfingym.digests import sha256_of_json
from openfingym.errors import OpenFinGymError
from openfingym.files.strange import sha256
from openfingym.files.whole import store_errors, whole_folder
from openfingym.forge.assembly.stage import FOLDER
from openfingym.forge.stage import RejectionReason, StageResult
from openfingym.packages.scaffold import toml_value
from openfingym.packages.toml_tables import split_tables, with_values
from openfingym.task import Task
from openfingym.task.files import CONFIG

NAME = "install"
TASKS = "tasks"
"""Folder of installed tasks in that of a forge."""


def install(candidate_folder: Path, forge_root: Path) -> StageResult:
    """Install the proved task of a paper; what the same paper had installed before goes.

    Args:
        candidate_folder: the paper's folder, with the proved package in ``task/``.
        forge_root: the forge's folder.

    Returns:
        ``passed`` with the name and the folder, or ``refused`` where another paper's task asks the same of the same
        data.

    Raises:
        StoreError: it cannot be written.
        TaskError: the package cannot be read.
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
        uninstall(key, forge_root)
        with whole_folder(tasks / name) as partial:
            for path in sorted(task.folder.iterdir()):
                shutil.copyfile(path, partial / path.name)
            if name != task.name:
                _rename(partial / CONFIG, task, name)
            Task.read(partial)
    return StageResult(NAME, "passed", facts={"task": name, "folder": f"{TASKS}/{name}"})


def uninstall(key: str, forge_root: Path) -> list[str]:
    """Remove the installed tasks of a paper, and give their names.

    Args:
        key: key of the paper.
        forge_root: the forge's folder.
    """
    gone = []
    for folder in _installed(forge_root / TASKS):
        try:
            mine = _paper_of(Task.read(folder)) == key
        except OpenFinGymError:
            continue
        if mine:
            # Out of sight at once, so that nobody meets half of it.
            aside = folder.with_name(f".{folder.name}.gone")
            shutil.rmtree(aside, ignore_errors=True)
            folder.rename(aside)
            shutil.rmtree(aside)
            gone.append(folder.name)
    return gone


def asks(task: Task) -> str:
    """Digest of what a task asks of which data, whatever it is called and whoever it is of."""
    spec = task.spec
    dataset = spec.dataset.model_dump(mode="json", include={"name", "channels", "first", "last"})
    if spec.dataset.file is not None:
        dataset["file"] = sha256(task.folder, spec.dataset.file)
    metrics = sorted((one.name, one.weight) for one in spec.scoring.metrics)
    split = None if spec.split is None else spec.split.model_dump(mode="json")
    contract = spec.contract.model_dump(mode="json", exclude={"unit"})
    return sha256_of_json({"dataset": dataset, "contract": contract, "split": split, "metrics": metrics})


def _installed(tasks: Path) -> list[Path]:
    return sorted(path.parent for path in tasks.glob("[!.]*/task.toml"))


def _paper_of(task: Task) -> str:
    return task.spec.provenance.paper.partition(":")[0]


def _free(name: str, key: str, taken: set[str]) -> str:
    """The name, or one with the paper's digits behind it where another task has it."""
    digits = "".join(letter for letter in key.rpartition("-")[2].lower() if letter in "0123456789abcdef")
    return name if name not in taken else f"{name}-{digits or 'again'}"


def _rename(path: Path, task: Task, name: str) -> None:
    organisation = task.file.task.name.partition("/")[0]
    changes = {"name": toml_value(f"{organisation}/{name}")}
    blocks = split_tables(path.read_text(encoding="utf-8"))
    text = "".join(with_values(block, changes if table == "task" else {}) for table, block in blocks)
    path.write_text(text, encoding="utf-8")
