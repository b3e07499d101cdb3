"""Keeping from an agent's program, in a container, what the kernel's own files tell of others.

Some files of ``/proc`` that each process has of its own, such as ``smaps`` and ``pagemap``, tell how many processes map
a page of a file that rollouts share; others count what the whole machine does, and so do files of control groups. No
mount hides the files of processes that do not exist yet, and so Landlock does. A sandbox has rules of its own.
"""

import ctypes
import os

HIDDEN = ("proc", "sys")
SHOWN = (
    # How many of its processes were killed for want of memory, and its own limit on processor time.
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
    # Which cores there are.
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
)
"""Files that tell of the program itself, or never change."""
READ_FILE, REFER = 1 << 2, 1 << 13
"""Reading a file; moving one into another folder, which a domain takes away unless it allows it."""
REFER_SINCE = 2
"""The version of Landlock that knows `REFER`."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_ENOSYS, _EOPNOTSUPP = 38, 95


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def hide_processes() -> None:
    """Make the files of ``/proc`` and ``/sys`` unreadable for this process and all that it starts, for good.

    Where the kernel has no Landlock, they stay readable.

    Raises:
        OSError: the kernel refused; the process must not go on.
    """
    try:
        version = _call(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    except OSError as error:
        if error.errno in (_ENOSYS, _EOPNOTSUPP):
            return
        raise
    moving = REFER if version >= REFER_SINCE else 0
    ruleset = _call(_CREATE_RULESET, ctypes.byref(ctypes.c_uint64(READ_FILE | moving)), ctypes.c_size_t(8), 0)
    for entry in os.scandir("/"):
        if entry.name not in HIDDEN:
            _allow(ruleset, entry.path, READ_FILE)
    for path in SHOWN:
        _allow(ruleset, path, READ_FILE)
    if moving:
        _allow(ruleset, "/", moving)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a link to nothing, or another version of control groups
    try:
        rule = _PathBeneath(rights, place)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock refused")
    return result
