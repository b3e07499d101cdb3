"""Files and folders that are written whole or not at all, whatever ends the process that writes them.

Until it is complete, what is to become ``NAME`` is ``.NAME.partial`` beside it, locked by its writer. So nobody sees
half of it, a second writer of the same name waits for its turn, and what a killed writer left behind is removed by the
next one. Nothing is written through a link: a link at the path is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from openfingym.errors import StoreError
from openfingym.files.locks import Lock, take

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors that say that a disk or a quota is full."""


@contextlib.contextmanager
def store_errors(path: Path, otherwise: str = "choose another place with --out") -> Iterator[None]:
    """Report what the file system refuses as a :class:`~openfingym.errors.StoreError`, with the remedy.

    Args:
        path: the path that is being written, for the message.
        otherwise: the remedy to name where the disk is not full.
    """
    try:
        yield
    except OSError as error:
        remedy = "free some space, then run the same command again" if error.errno in FULL else otherwise
        raise StoreError(f"{error.filename or path}: cannot be written ({error.strerror}); {remedy}") from error


@contextlib.contextmanager
def whole_file(path: Path, *, mode: int | None = None, errors: str = "strict", sync: bool = True) -> Iterator[TextIO]:
    """A file to write, in UTF-8, which takes its place when the block ends without an error.

    Args:
        path: path that the file has once it is finished.
        mode: permissions of the file; None for those that the umask leaves.
        errors: how characters that UTF-8 cannot encode are handled, as in :func:`open`.
        sync: whether the file is flushed to the disk before it takes its place, so that it is whole after a power cut
            too.

    Raises:
        OSError: the file cannot be written; what was at ``path`` before is still there.
    """
    partial = path.with_name(f".{path.name}.partial")
    with _claimed(partial, 0o666 if mode is None else mode) as lock:
        try:
            if mode is not None:
                # Set here too, because the mode given to open() is lessened by the umask.
                os.fchmod(lock.descriptor, mode)
            with open(lock.descriptor, "w", encoding="utf-8", errors=errors, closefd=False) as stream:
                yield stream
                stream.flush()
                # Before the renaming, or after a power cut the name might lead to a file without its content.
                if sync:
                    os.fsync(lock.descriptor)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def write_text(path: Path, text: str, *, errors: str = "strict") -> None:
    """Write a text file whole or not at all.

    Raises:
        StoreError: the file cannot be written.
    """
    with store_errors(path, "choose another place"), whole_file(path, errors=errors) as stream:
        stream.write(text)


def write_json(path: Path, value: object, *, sync: bool = True) -> None:
    """Write a JSON document for people to read whole or not at all: indented, names in order.

    Raises:
        OSError: the file cannot be written.
        ValueError: a number in ``value`` is not finite.
    """
    with whole_file(path, sync=sync) as stream:
        json.dump(value, stream, indent=2, sort_keys=True, allow_nan=False)
        stream.write("\n")


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill, which takes its place when the block ends without an error.

    Args:
        path: path that the folder has once it is finished.

    Raises:
        OSError: the folder cannot be made, or something is at ``path`` already.
    """
    remove_dead(path.parent, ".*.partial")
    with owned_folder(path.with_name(f".{path.name}.partial")) as partial:
        yield partial
        partial.rename(path)


@contextlib.contextmanager
def owned_folder(folder: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """A folder that exists for as long as the block runs. What an earlier one left at its path is removed first.

    ``NAME.lock`` beside it is locked for as long as its owner lives.

    Args:
        folder: path of the folder; the block may move the folder away.
        mode: permissions of the folder, lessened by the umask.

    Raises:
        OSError: the folder cannot be made.
    """
    # The lock file is made before the folder and removed after it, so that a folder without one never has an owner.
    lock_path = folder.with_name(f"{folder.name}.lock")
    with _claimed(lock_path, 0o600):
        try:
            _remove(folder)
            folder.mkdir(mode=mode)
            yield folder
        finally:
            with contextlib.suppress(OSError):
                _remove(folder)
            lock_path.unlink(missing_ok=True)


def remove_dead(root: Path, pattern: str = "*") -> None:
    """Remove the folders of :func:`owned_folder` whose owners are gone.

    Args:
        root: the folder that contains them.
        pattern: pattern that their names must match, as in :meth:`pathlib.Path.glob`.
    """
    for lock_path in root.glob(f"{pattern}.lock"):
        # An error means that the owner lives and holds the lock, or that the file is another user's or no lock.
        with contextlib.suppress(OSError), take(lock_path, wait=False, flags=0):
            _remove(lock_path.with_suffix(""))
            lock_path.unlink()


@contextlib.contextmanager
def _claimed(path: Path, mode: int) -> Iterator[Lock]:
    """Make a new file at ``path`` and lock it, so that it is this caller's alone."""
    lock = None
    while lock is None:
        try:
            lock = take(path, flags=os.O_CREAT | os.O_EXCL, mode=mode)
        # Cleared once a living writer is done with it. Then somebody else may be faster, so this may happen again.
        except FileExistsError:
            _clear(path)
    with lock:
        yield lock


def _clear(path: Path) -> None:
    """Remove the file at ``path``, which a dead writer left; if a writer is alive, wait until it has finished."""
    with contextlib.suppress(FileNotFoundError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            with take(path, flags=0):
                path.unlink()
        # No writer makes a link, or gives its file a second name: there is none to wait for.
        else:
            path.unlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
