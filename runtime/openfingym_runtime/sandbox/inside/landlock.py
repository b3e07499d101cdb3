"""Landlock rules, by which the kernel enforces a second time what the program may do with the files that it can see.

The mounts already ensure the same. Landlock holds even if a mount option was forgotten, and also
denies TCP, abstract sockets of others, and signals to processes that the program did not start.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

from . import syscalls

CREATE_RULESET_VERSION: Final = 1
RULE_PATH_BENEATH: Final = 1

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
MAKE_CHAR: Final = 1 << 6
MAKE_BLOCK: Final = 1 << 11
TRUNCATE: Final = 1 << 14

READ: Final = EXECUTE | READ_FILE | READ_DIR
TCP: Final = 0b11
"""Binding and connecting."""
SCOPES: Final = 0b11
"""Abstract unix sockets and signals of processes outside of the domain."""

_FS_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of rights to files that each ABI version knows; they are the lowest bits."""
_FS_RIGHTS_LATEST: Final = 16


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def abi_version() -> int:
    """Landlock's ABI version on this kernel.

    Raises:
        OSError: the kernel has no Landlock, or it is switched off.
    """
    return syscalls.syscall("landlock_create_ruleset", None, 0, CREATE_RULESET_VERSION)


def restrict(
    writable: tuple[str, ...], writable_files: tuple[str, ...], *, tcp: bool = False, processes: bool = False
) -> int:
    """Confine the calling process to reading and executing what it sees, and writing under ``writable``.

    Files of ``/proc`` cannot be read, not even its own: some of them, such as ``smaps`` and ``pagemap``, tell how many
    processes map a page of a file that rollouts share, and so what others do at this moment. Nothing else than this can
    tell one of them from another.

    Args:
        writable: folders in which regular files, folders, links, fifos and sockets may be made.
        writable_files: single files, such as ``/dev/null``, that may be written.
        tcp: whether TCP may be used, in whatever network namespace the process is.
        processes: whether files of ``/proc`` may be read.

    Returns:
        The ABI version that was enforced.
    """
    abi = abi_version()
    handled = (1 << _FS_RIGHTS.get(abi, _FS_RIGHTS_LATEST)) - 1
    # A kernel refuses rights that it does not know, so each gets those of its version, in a structure of that length.
    ruleset = _Ruleset(handled, TCP if abi >= 4 and not tcp else 0, SCOPES if abi >= 6 else 0)
    size = ctypes.sizeof(_Ruleset) if abi >= 6 else 16 if abi >= 4 else 8
    fd = syscalls.syscall("landlock_create_ruleset", ruleset, size, 0)
    try:
        _allow(fd, "/", READ_DIR)
        for entry in os.scandir("/"):
            if entry.name != "proc" or processes:
                _allow(fd, entry.path, READ if entry.is_dir() else EXECUTE | READ_FILE)
        # No devices, which would open the hardware itself.
        for path in writable:
            _allow(fd, path, handled & ~(MAKE_CHAR | MAKE_BLOCK))
        for path in writable_files:
            _allow(fd, path, (WRITE_FILE | READ_FILE | TRUNCATE) & handled)
        syscalls.syscall("landlock_restrict_self", fd, 0)
    finally:
        os.close(fd)
    return abi


def _allow(ruleset: int, path: str, access: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        syscalls.syscall("landlock_add_rule", ruleset, RULE_PATH_BENEATH, _PathBeneath(access, fd), 0)
    finally:
        os.close(fd)
