"""The store: where built packages live, and how one gets there whole or not at all.

``$OPENFINGYM_HOME`` (default: the user's data directory) holds ``packages/`` for public halves,
``truth/`` (0700) for hidden ones and ``.staging/`` for builds in progress. A build is made in
staging and moved into place by one rename, so a reader never sees half a package; what a killed
build left in staging is removed by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from openfingym.errors import StoreError

PUBLIC_FILE, PUBLIC_FOLDER = 0o644, 0o755
TRUTH_FILE, TRUTH_FOLDER = 0o600, 0o700


def home() -> Path:
    """The store's root: ``$OPENFINGYM_HOME``, or the user's data directory."""
    configured = os.environ.get("OPENFINGYM_HOME")
    if configured:
        return Path(configured).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("openfingym")


def package_folders(task: str, key: str) -> tuple[Path, Path]:
    """The public and the truth folder of one build of ``task``."""
    root = home()
    return root / "packages" / task / key, root / "truth" / task / key


@contextlib.contextmanager
def staging() -> Iterator[Path]:
    """A private folder on the store's file system, removed at the end whatever happens.

    Raises:
        StoreError: the store cannot be written, or the disk is full.
    """
    root = home() / ".staging"
    with _as_store_error(root):
        _make_folder(home(), PUBLIC_FOLDER)
        _make_folder(root, TRUTH_FOLDER)
        _reap(root)
        lock, lock_path = _locked(root)
    folder = lock_path.with_suffix("")
    try:
        with _as_store_error(folder):
            folder.mkdir(mode=TRUTH_FOLDER)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock_path.unlink(missing_ok=True)
        os.close(lock)


def install(source: Path, target: Path, *, replace: bool) -> None:
    """Move the finished folder ``source`` to ``target`` in one step.

    Where ``target`` exists already it is kept, unless ``replace``: builds are deterministic,
    so two processes that built the same key have the same bytes.
    """
    parents = TRUTH_FOLDER if "truth" in target.relative_to(home()).parts[:1] else PUBLIC_FOLDER
    for folder in (target.parent.parent, target.parent):
        _make_folder(folder, parents)
    if replace and target.exists():
        target.rename(source.parent / f"replaced-{source.name}")
    try:
        source.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise


def set_modes(folder: Path, *, file: int, directory: int) -> None:
    """Give every file and folder below and including ``folder`` the same modes, whatever the umask."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(directory if path.is_dir() else file)


def _make_folder(folder: Path, mode: int) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)


def _locked(root: Path) -> tuple[int, Path]:
    """Create and hold a lock file, which says "alive"; the kernel drops the lock even after kill -9.

    It exists before the folder it stands for and is removed after it, so a folder without one is dead.
    """
    while True:
        path = root / f"{os.getpid()}-{secrets.token_hex(4)}.lock"
        lock = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, TRUTH_FILE)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return lock, path
        # Another builder took it for dead between its creation and its locking.
        os.close(lock)


def _reap(root: Path) -> None:
    """Remove what builders that are gone have left."""
    for path in root.glob("*.lock"):
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink(missing_ok=True)
            except BlockingIOError:
                pass
            finally:
                os.close(lock)
    for folder in root.iterdir():
        if folder.suffix != ".lock" and not folder.with_suffix(".lock").exists():
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreError(f"{path}: the disk is full; free some space, or set OPENFINGYM_HOME to a folder on another disk") from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}:
            raise StoreError(f"{path}: cannot be written ({error.strerror}); set OPENFINGYM_HOME to a folder you own") from error
        raise
