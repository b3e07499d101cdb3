"""Private folders that do not outlive their owners: each names the process that made it, and those of dead ones go.

::

    $XDG_RUNTIME_DIR or the temporary folder
    └── openfingym-<uid>/    0700
        └── <random>/        0700
            ├── owner        the process that made the folder
            └── …            what that process keeps there
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.owner import is_alive, owner_id

OWNER_FILE = "owner"
UNNAMED_GRACE_S = 60.0
"""Age from which a folder without an owner file is removed: a younger one may be in the making, an older one was left
by a process that died while making it."""


def private_root(parent: Path | None = None) -> Path:
    """The folder of this user's owned folders, made if missing.

    Args:
        parent: folder that it lies in; by default $XDG_RUNTIME_DIR, or the temporary folder if that cannot be used.

    Raises:
        RuntimeFailureError: the folder cannot be made, or what is there is not a private folder of this user.
    """
    if parent is None:
        configured = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
        parent = configured if os.access(configured, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    root = parent / f"openfingym-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        info = root.lstat()
    except OSError as error:
        raise RuntimeFailureError(
            f"{root}: cannot be made ({error}); set XDG_RUNTIME_DIR to a writable folder"
        ) from error
    # In a temporary folder, which all users share, somebody else may have put a folder or a link under this name first.
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise RuntimeFailureError(
            f"{root} is not a folder of yours with mode 0700; remove it, or set XDG_RUNTIME_DIR to another folder"
        )
    return root


def create(parent: Path | None = None) -> Path:
    """Make a folder with mode 0700 that this process owns; remove it with :func:`remove`.

    Raises:
        RuntimeFailureError: the folder cannot be made.
    """
    root = private_root(parent)
    try:
        folder = Path(tempfile.mkdtemp(dir=root, prefix=""))
        # Renamed once it is whole: an empty owner file, read meanwhile or left by a process that died, names nobody,
        # and its folder would never be removed.
        name = folder / f"{OWNER_FILE}.new"
        name.write_text(owner_id(), encoding="utf-8")
        name.rename(folder / OWNER_FILE)
    except OSError as error:
        raise RuntimeFailureError(f"{root}: no folder can be made in it ({error})") from error
    return folder


def remove(folder: Path) -> None:
    """Remove a folder and all it holds; it may be gone already."""
    # The owner's name goes last: what is left of a folder whose owner is killed meanwhile is then still found.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != OWNER_FILE:
                Path(entry.path).unlink()
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def owned_directory(parent: Path | None = None) -> Iterator[Path]:
    """An owned folder that exists for as long as the block runs."""
    folder = create(parent)
    try:
        yield folder
    finally:
        remove(folder)


def reap(parent: Path | None = None) -> int:
    """Remove the folders of dead owners, and return how many there were."""
    removed = 0
    for folder in private_root(parent).iterdir():
        try:
            dead = not is_alive((folder / OWNER_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            try:
                dead = time.time() - folder.stat().st_mtime > UNNAMED_GRACE_S
            except FileNotFoundError:  # its owner removed it meanwhile
                continue
        except (NotADirectoryError, UnicodeDecodeError):
            continue  # not made by this module
        if dead:
            remove(folder)
            removed += 1
    return removed
