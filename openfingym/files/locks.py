"""Locks between processes, each on a file. A lock ends with the process that took it, however that comes about.

A child made by a fork holds none of its parent's: were it otherwise, a lock would outlive its owner for as long as a
child does.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Self

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


class Lock:
    """A lock that is held, from :func:`take`, until :meth:`release`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        """Of the file, open for reading and writing; negative once the lock is released."""
        _held.add(self)

    def release(self) -> None:
        """Let it go; a second call does nothing."""
        _held.discard(self)
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


_held: set[Lock] = set()


def take(path: Path, *, wait: bool = True, flags: int = os.O_CREAT, mode: int = 0o600) -> Lock:
    """Hold the lock of a file, which is there when it is held; nothing is followed, and nothing waited for but the
    lock.

    Args:
        path: the file.
        wait: for another holder to let go.
        flags: for opening; without ``O_CREAT`` the file must be there, with ``O_EXCL`` it must not.
        mode: of a new file.

    Raises:
        BlockingIOError: another holds it, and ``wait`` is false.
        OSError: the file cannot be opened or made, is a link, or its file system has no locks.
    """
    while True:
        descriptor = os.open(path, flags | os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError) and error.errno in _NO_LOCKS:
                raise OSError(error.errno, "its file system has no locks", str(path)) from error
            raise
        lock = Lock(descriptor)
        if _leads_to(path, descriptor):
            return lock
        # Who held it before has removed or replaced the file since.
        lock.release()


def _leads_to(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _forget() -> None:
    """In a child: close what would keep the parent's locks."""
    for lock in tuple(_held):
        lock.release()


os.register_at_fork(after_in_child=_forget)
