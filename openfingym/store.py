"""The store of built packages, and how a package gets there whole or not at all.

``$OPENFINGYM_HOME`` (default: the user's data directory) holds ``packages/`` for public halves,
``truth/`` (0700) for hidden ones, ``texts/`` for instructions as agents are told them,
``.staging/`` for builds in progress, and ``.instances/`` for instances in use
(:mod:`openfingym.instances`). A build is made in staging and moved into place by one rename, so a
reader never sees half a package; what a killed build left in staging is removed by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from openfingym.digests import sha256_of_text
from openfingym.errors import StoreError
from openfingym.files.whole import FULL, owned_folder, remove_dead, store_errors, whole_file

PUBLIC_FILE, PUBLIC_FOLDER = 0o644, 0o755
TRUTH_FILE, TRUTH_FOLDER = 0o600, 0o700
ELSEWHERE = "set OPENFINGYM_HOME to a folder you own"
"""What to do if the store cannot be written."""


def home() -> Path:
    """The store's root folder: ``$OPENFINGYM_HOME``, or else the user's data directory."""
    configured = os.environ.get("OPENFINGYM_HOME")
    if configured:
        return Path(configured).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("openfingym")


def package_folders(task: str, key: str) -> tuple[Path, Path]:
    """The folders of the public and the hidden half of one build.

    Args:
        task: name of the task.
        key: digest of everything that the build follows from.
    """
    root = home()
    return root / "packages" / task / key, root / "truth" / task / key


def ledger_folder() -> Path:
    """The state folder of this machine's own ledger, which keeps what is asked here and resolved later."""
    return home() / "ledger"


def run_ledger_folder(run: Path) -> Path:
    """The state folder of the ledger of a run that can be resumed after an interruption; it is removed when the run is
    finished.

    Args:
        run: absolute path of the run's folder.
    """
    return home() / "open" / sha256_of_text(str(run))[:32]


@contextlib.contextmanager
def staging(name: str = ".staging") -> Iterator[Path]:
    """A private folder on the store's file system, which is removed at the end whatever happens.

    Args:
        name: folder of the store in which it is made; what dead processes left there is removed first.

    Raises:
        StoreError: the store cannot be written, or the disk is full.
    """
    root = home() / name
    with store_errors(root, ELSEWHERE):
        _make_folder(home(), PUBLIC_FOLDER)
        _make_folder(root, TRUTH_FOLDER)
        remove_dead(root)
    with writing(root), owned_folder(root / f"{os.getpid()}-{secrets.token_hex(4)}", mode=TRUTH_FOLDER) as folder:
        yield folder


def remove_left() -> None:
    """Remove what killed processes of this user left in staging, which may be hidden data; the next build would."""
    with contextlib.suppress(OSError):
        for name in (".staging", ".instances"):
            remove_dead(home() / name)


def keep_text(text: str) -> Path:
    """The path of a file in the store with this text, which anybody may read; two calls with one text have one file.

    Raises:
        StoreError: the store cannot be written, or the disk is full.
    """
    path = home() / "texts" / f"{sha256_of_text(text)}.txt"
    if not path.is_file():
        with writing(path):
            _make_folder(home(), PUBLIC_FOLDER)
            _make_folder(path.parent, PUBLIC_FOLDER)
            with whole_file(path, mode=PUBLIC_FILE) as stream:
                stream.write(text)
    return path


def install(source: Path, target: Path, *, replace: bool) -> None:
    """Move the finished folder ``source`` to ``target`` in one step.

    Args:
        source: a folder inside of :func:`staging`'s.
        target: path in the store.
        replace: whether to put it in the place of what is at ``target`` already. Otherwise that is kept: builds are
            deterministic, so two processes that built the same key have the same bytes.
    """
    parents = TRUTH_FOLDER if "truth" in target.relative_to(home()).parts[:1] else PUBLIC_FOLDER
    for folder in (target.parent.parent, target.parent):
        _make_folder(folder, parents)
    # A folder cannot take the name of one that is not empty. What is replaced goes into the staging folder, and is
    # removed with it.
    if replace and target.exists():
        target.rename(source.parent / f"replaced-{source.name}")
    try:
        source.rename(target)
    except OSError as error:
        # Another process has been faster, with the same bytes.
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise


def set_modes(folder: Path, *, file: int, directory: int) -> None:
    """Give ``folder`` and everything below it the same modes, whatever the umask.

    Args:
        folder: the folder to begin with.
        file: mode of each file.
        directory: mode of each folder.
    """
    for path in (folder, *folder.rglob("*")):
        path.chmod(directory if path.is_dir() else file)


def _make_folder(folder: Path, mode: int) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)  # mkdir's own mode would be lessened by the umask


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Report what prevents writing to the store as a :class:`~openfingym.errors.StoreError`, with the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StoreError(
                f"{path}: the disk is full; free some space, or set OPENFINGYM_HOME to a folder on another disk"
            ) from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}:
            raise StoreError(f"{path}: cannot be written ({error.strerror}); {ELSEWHERE}") from error
        raise
