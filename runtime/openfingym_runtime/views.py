"""The host's files as a container sees them, under paths that reveal nothing.

A program in a container can read where on the host each of its mounts is: ``/proc/self/mountinfo`` tells, and the
engine has no way to hide it. A task's files are usually in a user's home folder. So they are shown from a folder of
ours in the temporary folder instead: as hard links, or as copies if that is another file system. Rollouts of one task
that run at the same time share them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openfingym.errors import RuntimeFailureError
from openfingym_runtime import owned_directory


def parent() -> Path:
    """The folder in which views are made; not ``$XDG_RUNTIME_DIR``, which is small and in memory."""
    return Path(tempfile.gettempdir())


@dataclass
class _View:
    users: int = 0
    """Callers that use the view at this moment."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the folder is made."""
    folder: Path | None = None
    """The folder with the files; None before it is made."""


_views: dict[Hashable, _View] = {}
_lock = threading.Lock()


@contextlib.contextmanager
def view(files: Mapping[str, Path]) -> Iterator[dict[str, Path]]:
    """The same files and folders in a neutral place, for as long as the block runs.

    Args:
        files: paths of the files and folders to show, by the names that they get.

    Raises:
        RuntimeFailureError: the files cannot be read, or there is no room for copies of them.
    """
    try:
        # With the files' state: a task that was rebuilt meanwhile gets a view of its own.
        key = tuple((name, *_state(path)) for name, path in files.items())
        with _lock:
            shared = _views.setdefault(key, _View())
            shared.users += 1
        try:
            # The first caller makes it and the others wait, without keeping those of other tasks waiting.
            with shared.lock:
                shared.folder = shared.folder or _made(files)
            yield {name: shared.folder / str(number) for number, name in enumerate(files)}
        finally:
            with _lock:
                shared.users -= 1
                if not shared.users:
                    del _views[key]
                    if shared.folder is not None:
                        owned_directory.remove(shared.folder)
    except (OSError, shutil.Error) as error:
        raise RuntimeFailureError(f"a task's files cannot be shown to a container: {error}") from error


def _state(path: Path) -> Iterator[Hashable]:
    """The metadata by which one state of the files is told from another, without reading them."""
    for entry in (path, *sorted(path.rglob("*"))) if path.is_dir() else (path,):
        # A link within a folder is shown as a link, and may lead nowhere.
        info = entry.stat(follow_symlinks=entry == path)
        yield str(entry), info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_mode


def _made(files: Mapping[str, Path]) -> Path:
    folder = owned_directory.create(parent())
    try:
        for number, path in enumerate(files.values()):
            real, place = path.resolve(), folder / str(number)
            if real.is_dir():
                shutil.copytree(real, place, symlinks=True, copy_function=_link)
            else:
                _link(str(real), str(place))
    except BaseException:
        owned_directory.remove(folder)
        raise
    return folder


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or somebody else's file
        shutil.copy2(source, target)
