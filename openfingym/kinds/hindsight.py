"""The twin with hindsight of a task that asks questions: its tools ignore when things became known.

It serves to measure what looking ahead gains. Its questions are those of the task, and its name is that of the task
with ``-hindsight`` behind it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import store
from openfingym.digests import sha256_of
from openfingym.errors import TaskError
from openfingym.kinds import looks_ahead
from openfingym.task import Task
from openfingym.task.files import CONFIG, INSTRUCTION, INTERFACE, has_task_file, read_task_file

if TYPE_CHECKING:
    from openfingym.task.contracts import Contract

SUFFIX = "-hindsight"
_NAME = re.compile(r'^(name\s*=\s*"[^"/]+/[^"]+)"', re.MULTILINE)
_CONTRACT = re.compile(r"^\[metadata\.openfingym\.contract\][ \t]*$", re.MULTILINE)
_DESCRIPTION = re.compile(r'^(description\s*=\s*")', re.MULTILINE)


def may_look_ahead(contract: Contract) -> bool:
    """Whether a task of this contract can have a twin with hindsight."""
    return "hindsight" in type(contract).model_fields


def with_hindsight(task: Task) -> Task:
    """The twin with hindsight of a task; its files are written into the store.

    Raises:
        TaskError: the task can have no such twin, or its ``task.toml`` is written in a way that cannot be changed here.
        StoreError: the store cannot be written.
    """
    if not may_look_ahead(task.spec.contract) or looks_ahead(task.spec.contract):
        raise TaskError(f"{task.name} has no twin with hindsight; only questions with tools have", path=task.folder)
    # The text is changed by patterns, so that everything else stays as its author wrote it.
    text = read_task_file(task.folder, CONFIG).decode()
    for pattern, replacement in (
        (_NAME, rf'\g<1>{SUFFIX}"'),
        (_DESCRIPTION, r"\g<1>WITH HINDSIGHT, an experiment: "),
        (_CONTRACT, r"\g<0>\nhindsight = true"),
    ):
        text = pattern.sub(replacement, text, count=1)
    files = {CONFIG: text.encode(), INSTRUCTION: read_task_file(task.folder, INSTRUCTION)}
    if has_task_file(task.folder, INTERFACE):
        files[INTERFACE] = read_task_file(task.folder, INTERFACE)
    name = f"{task.name}{SUFFIX}"
    folder = _stored(name, files)
    twin = Task.read(folder)
    # The patterns may have found nothing, in a file that is valid TOML but written in another way.
    if twin.name != name or not looks_ahead(twin.spec.contract):
        raise TaskError(
            "its name and contract are not written as a table each; write `hindsight = true` into the contract of a "
            "copy of the task",
            path=task.config_path,
        )
    return twin


def _stored(name: str, files: dict[str, bytes]) -> Path:
    """A folder of the store with some files; a folder never changes, as other files lead to another folder.

    Args:
        name: name of the folder.
        files: content of each file by its name.
    """
    key = sha256_of(b"\0".join(files[file] for file in sorted(files)))[:16]
    final = store.home() / "hindsight" / key / name
    if not (final / CONFIG).is_file():
        with store.staging() as folder:
            partial = folder / name
            partial.mkdir()
            for file, content in files.items():
                (partial / file).write_bytes(content)
            store.set_modes(partial, file=store.PUBLIC_FILE, directory=store.PUBLIC_FOLDER)
            store.install(partial, final, replace=False)
    return final
