"""The twin of a task that asks questions, with hindsight: the same questions, and tools that ignore when things became
known.

It is there to measure what looking ahead gains, and has a name of its own: that of the task, and ``-hindsight``.
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
    """Whether a task of this contract has such a twin."""
    return "hindsight" in type(contract).model_fields


def with_hindsight(task: Task) -> Task:
    """The twin of a task, whose files are written into the store.

    Raises:
        TaskError: the task has none, or is written in a way that cannot be turned into it.
        StoreError: the store cannot be written.
    """
    if not may_look_ahead(task.spec.contract) or looks_ahead(task.spec.contract):
        raise TaskError(f"{task.name} has no twin with hindsight; only questions with tools have", path=task.folder)
    text = read_task_file(task.folder, CONFIG).decode()
    for pattern, put in (
        (_NAME, rf'\g<1>{SUFFIX}"'),
        (_DESCRIPTION, r"\g<1>WITH HINDSIGHT, an experiment: "),
        (_CONTRACT, r"\g<0>\nhindsight = true"),
    ):
        text = pattern.sub(put, text, count=1)
    files = {CONFIG: text.encode(), INSTRUCTION: read_task_file(task.folder, INSTRUCTION)}
    if has_task_file(task.folder, INTERFACE):
        files[INTERFACE] = read_task_file(task.folder, INTERFACE)
    name = f"{task.name}{SUFFIX}"
    folder = _kept(name, files)
    found = Task.read(folder)
    if found.name != name or not looks_ahead(found.spec.contract):
        raise TaskError(
            "its name and contract are not written as a table each; write `hindsight = true` into the contract of a "
            "copy of the task",
            path=task.config_path,
        )
    return found


def _kept(name: str, files: dict[str, bytes]) -> Path:
    """A folder of this name in the store with these files, which never change: other files are another folder."""
    key = sha256_of(b"\0".join(files[one] for one in sorted(files)))[:16]
    final = store.home() / "hindsight" / key / name
    if not (final / CONFIG).is_file():
        with store.staging() as folder:
            made = folder / name
            made.mkdir()
            for one, content in files.items():
                (made / one).write_bytes(content)
            store.set_modes(made, file=store.PUBLIC_FILE, directory=store.PUBLIC_FOLDER)
            store.install(made, final, replace=False)
    return final
