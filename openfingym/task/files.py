"""The files of a task folder, which may come from a stranger: everything in it is read through this module."""

from __future__ import annotations

import os
from pathlib import Path

from openfingym.errors import TaskError
from openfingym.files import strange as strange_files
from openfingym.files.strange import MEGABYTE

CONFIG, INSTRUCTION, INTERFACE = "task.toml", "instruction.md", "interface.py"
LIMITS = {CONFIG: MEGABYTE, INSTRUCTION: MEGABYTE, INTERFACE: 64 * 1024}
"""Most bytes that each file may have."""
DATASET_LIMIT = 256 * MEGABYTE
"""Most bytes that the file of a dataset may have, both as it is and decompressed."""


def read_task_file(folder: Path, name: str, *, key: str | None = None) -> bytes:
    """The content of a file of a task folder.

    Args:
        folder: folder of the task; may itself be a link.
        name: name of the file, relative to it.
        key: the key of ``task.toml`` that names the file; None for the files that every task has.

    Raises:
        TaskError: the file is missing, is a link or is reached through one, is no regular file, or is too large.
    """
    try:
        return strange_files.read_bytes(folder, name, LIMITS.get(name, DATASET_LIMIT))
    except FileNotFoundError:
        raise TaskError(_missing(name, key), path=folder / (CONFIG if key else name), key=key) from None
    except OSError as error:
        raise TaskError(str(error.strerror), path=Path(str(error.filename or folder / name)), key=key) from None


def has_task_file(folder: Path, name: str) -> bool:
    """Whether the folder has an entry of this name, even if it is not a file."""
    # Not exists(): a link that leads nowhere must be refused when it is read, not passed over in silence.
    return os.path.lexists(folder / name)


def require_plain_folder(folder: Path) -> None:
    """Refuse a task folder that holds anything but regular files and folders.

    Raises:
        TaskError: the folder has a link, a pipe, a socket or a device, which the message names, or more than
            :data:`openfingym.files.strange.MOST_FILES` files.
    """
    try:
        strange_files.require_plain(folder)
    except OSError as error:
        raise TaskError(
            f"{error.strerror}; a task folder holds files and folders of its own alone", path=Path(str(error.filename))
        ) from None


def _missing(name: str, key: str | None) -> str:
    if key is not None:
        return f"{name!r} is not there"
    return {
        CONFIG: "no such file; a task package needs one (see `openfingym task new`)",
        INSTRUCTION: "no such file; it is what the agent reads",
    }[name]
