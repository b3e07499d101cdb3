"""Locks between processes, each on a file. A lock ends with the process that took it, however that process ends.

A forked child holds none of its parent's locks; otherwise a lock would outlive its owner as long as a child does.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Self

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""Errors of a file system that has no locks."""


class Lock:
    """A lock that is held from :func:`take` until :meth:`release`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        """Descriptor of the file, open for reading and writing; negative once the lock is released."""
        _held.add(self)

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
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
    """Take the lock of a file, which is the one at ``path`` once the lock is taken; links are refused.

    Args:
        path: path of the lock file; its folder must exist.
        wait: whether to wait until another holder releases the lock.
        flags: flags of :func:`os.open`; without ``O_CREAT`` the file must exist, with ``O_EXCL`` it must not.
        mode: permissions of the file if it is created.

    Raises:
        BlockingIOError: another process holds the lock, and ``wait`` is false.
        OSError: the file cannot be opened or made, is a link, or its file system has no locks.
    """
    while True:
        # Without blocking: whatever has this name, only its lock is waited for.
        descriptor = os.open(path, flags | os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError) and error.errno in _NO_LOCKS:
                raise OSError(error.errno, "its file system has no locks", str(path)) from error
            raise
        lock = Lock(descriptor)
        # Whoever held the lock before may have removed or replaced the file since; then the file at `path` is another
        # one, which somebody else may lock at the same time.
        if _leads_to(path, descriptor):
            return lock
        lock.release()


def _leads_to(path: Path, descriptor: int) -> bool:
    """Whether the file at ``path`` is the one that is open as ``descriptor``."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _forget() -> None:
    """Close, in a forked child, the descriptors with which it would hold the parent's locks."""
    for lock in tuple(_held):
        lock.release()


os.register_at_fork(after_in_child=_forget)
