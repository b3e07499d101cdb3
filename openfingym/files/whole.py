"""Files and folders that are written whole or not at all, whatever ends the process that writes them.

Until it is complete, what shall be ``NAME`` is ``.NAME.partial`` beside it, locked by its writer. So nobody sees half
of it, who writes the same waits for his turn, and what a writer left who was killed goes when the next one comes.
Nothing is written through a link: one that is in the place is replaced.
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
"""Errors for want of room."""


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
        path: path that the finished file takes.
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
                # The mode given to open() is lessened by the umask, and an older partial file keeps its own.
                os.fchmod(lock.descriptor, mode)
            with open(lock.descriptor, "w", encoding="utf-8", errors=errors, closefd=False) as stream:
                yield stream
                stream.flush()
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

    Raises:
        OSError: it cannot be made, or its place is taken.
    """
    remove_dead(path.parent, ".*.partial")
    with owned_folder(path.with_name(f".{path.name}.partial")) as partial:
        yield partial
        partial.rename(path)


@contextlib.contextmanager
def owned_folder(folder: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """A folder for the time of the block; what is there of an earlier one goes first. ``NAME.lock`` beside it shows
    that its owner lives.

    Args:
        folder: path of the folder; the block may move it away.
        mode: permissions of the folder, from which the umask is taken.

    Raises:
        OSError: the folder cannot be made.
    """
    # The lock is there before the folder, and goes after it: a folder without one has no owner.
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
    """Remove those folders of :func:`owned_folder` in ``root``, with such a name, whose owners are gone."""
    for lock_path in root.glob(f"{pattern}.lock"):
        # One that cannot be removed is another user's, or no lock.
        with contextlib.suppress(OSError), take(lock_path, wait=False, flags=0):
            _remove(lock_path.with_suffix(""))
            lock_path.unlink()


@contextlib.contextmanager
def _claimed(path: Path, mode: int) -> Iterator[Lock]:
    """A new file, locked: it is this caller's alone."""
    lock = None
    while lock is None:
        try:
            lock = take(path, flags=os.O_CREAT | os.O_EXCL, mode=mode)
        except FileExistsError:
            _clear(path)
    with lock:
        yield lock


def _clear(path: Path) -> None:
    """Remove what a dead writer left, once none that lives is at it; and what no writer of ours made."""
    with contextlib.suppress(FileNotFoundError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            with take(path, flags=0):
                path.unlink()
        else:
            path.unlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
