"""Linux system calls that the standard library does not wrap.

Every function raises ``OSError`` with the kernel's error number and the call's name.
"""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWCGROUP: Final = 0x02000000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

AT_FDCWD: Final = -100
AT_EMPTY_PATH: Final = 0x1000
AT_RECURSIVE: Final = 0x8000
OPEN_TREE_CLONE: Final = 1
OPEN_TREE_CLOEXEC: Final = 0o2000000
MOVE_MOUNT_F_EMPTY_PATH: Final = 0x4
FSOPEN_CLOEXEC: Final = 1
FSMOUNT_CLOEXEC: Final = 1
FSCONFIG_SET_STRING: Final = 1
FSCONFIG_CMD_CREATE: Final = 6

MOUNT_ATTR_RDONLY: Final = 0x1
MOUNT_ATTR_NOSUID: Final = 0x2
MOUNT_ATTR_NODEV: Final = 0x4
MOUNT_ATTR_NOEXEC: Final = 0x8

MS_NOSUID: Final = 0x2
MS_NODEV: Final = 0x4
MS_NOEXEC: Final = 0x8
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x40000
MS_SLAVE: Final = 0x80000
MNT_DETACH: Final = 2

PR_SET_DUMPABLE: Final = 4
PR_CAPBSET_DROP: Final = 24
PR_SET_SECUREBITS: Final = 28
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_RAISE: Final = 2
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4

# Calls younger than Linux 5.0 have one number on every architecture; the others do not.
_SHARED: Final = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
NUMBERS: Final = {
    "x86_64": {**_SHARED, "pivot_root": 155, "capset": 126, "seccomp": 317},
    "aarch64": {**_SHARED, "pivot_root": 41, "capset": 91, "seccomp": 277},
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class MountAttributes(ctypes.Structure):
    """``struct mount_attr``."""

    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def _raise(name: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{name}: {os.strerror(number)}")


def syscall(name: str, *arguments: int | bytes | ctypes.Structure | ctypes.Array[ctypes.c_uint32] | None) -> int:
    """Make a system call by name; structures and arrays are passed by address."""
    number = NUMBERS[platform.machine()][name]
    converted: list[object] = []
    for argument in arguments:
        if isinstance(argument, int):
            converted.append(ctypes.c_long(argument))
        elif isinstance(argument, (ctypes.Structure, ctypes.Array)):
            converted.append(ctypes.byref(argument))
        else:
            converted.append(argument)
    result = int(_libc.syscall(ctypes.c_long(number), *converted))
    if result < 0:
        _raise(name)
    return result


def unshare(flags: int) -> None:
    """Leave the namespaces whose ``CLONE_NEW*`` flags are in ``flags`` for new ones."""
    if _libc.unshare(ctypes.c_int(flags)) < 0:
        _raise("unshare")


def enter(descriptor: int, kind: int) -> None:
    """Join the namespace that an open file of ``/proc/PID/ns`` stands for; ``kind`` is its ``CLONE_NEW*`` flag."""
    if _libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)) < 0:
        _raise("setns")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount ``source`` on ``target``."""
    if _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()) < 0:
        _raise(f"mount {kind or source} on {target}")


def unmount(target: str, flags: int) -> None:
    """Unmount ``target``."""
    if _libc.umount2(target.encode(), ctypes.c_int(flags)) < 0:
        _raise(f"umount {target}")


def prctl(option: int, *arguments: int) -> int:
    """Change a property of the calling thread."""
    # The kernel refuses some options if the arguments that they do not use are not 0.
    padded = (*arguments, 0, 0, 0, 0)[:4]
    result = int(_libc.prctl(ctypes.c_int(option), *(ctypes.c_ulong(argument) for argument in padded)))
    if result < 0:
        _raise(f"prctl {option}")
    return result


def set_mount_attributes(fd: int, path: str, attributes: int, flags: int) -> None:
    """Add attributes (``MOUNT_ATTR_*``) to the mount at ``path``, which counts from the folder ``fd``."""
    wanted = MountAttributes(attributes, 0, 0, 0)
    syscall("mount_setattr", fd, path.encode(), flags, wanted, ctypes.sizeof(wanted))


def clone_tree(path: str) -> int:
    """A detached copy of the mounts at and under ``path``, as a file descriptor."""
    try:
        return syscall("open_tree", AT_FDCWD, path.encode(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)
    except OSError as error:
        raise OSError(error.errno, f"open_tree {path}: {os.strerror(error.errno or 0)}") from None


def attach(fd: int, target: str) -> None:
    """Attach a detached mount at ``target``."""
    syscall("move_mount", fd, b"", AT_FDCWD, target.encode(), MOVE_MOUNT_F_EMPTY_PATH)


def detached_proc(**options: str) -> int:
    """A proc file system of the current pid namespace, which is mounted nowhere, as a file descriptor.

    It has nothing that is not about processes, which would reveal much of the host.
    """
    context = syscall("fsopen", b"proc", FSOPEN_CLOEXEC)
    try:
        for name, value in {"subset": "pid", **options}.items():
            syscall("fsconfig", context, FSCONFIG_SET_STRING, name.encode(), value.encode(), 0)
        syscall("fsconfig", context, FSCONFIG_CMD_CREATE, None, None, 0)
        return syscall("fsmount", context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
    finally:
        os.close(context)


def pivot_root(new_root: str, put_old: str) -> None:
    """Make ``new_root`` the root of the mount namespace and move the old one to ``put_old``."""
    syscall("pivot_root", new_root.encode(), put_old.encode())
