"""The last steps before the program starts: identity, resource limits, capabilities, Landlock, seccomp."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import landlock, seccomp, syscalls

PROGRAM_ID: Final = 65534
"""User and group that the program sees itself as."""
WRITABLE: Final = ("/work", "/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own /tmp, a file system of one rollout
WRITABLE_FILES: Final = ("/dev/null", "/dev/full")

# Being root gives no capabilities, a change of user gives or takes none, none become ambient; each bit is locked.
_SECUREBITS: Final = 0xEF
_CAPABILITY_VERSION_3: Final = 0x20080522
_HIGHEST_CAPABILITY: Final = 63
_KIB: Final = 1024
_MIB: Final = 1024 * _KIB


@dataclass(frozen=True)
class Bounds:
    """Kernel limits of the program; see `confine`."""

    pids: int
    """Processes and threads alive at once."""
    address_space_mb: int
    """Virtual memory of one process, in MiB."""
    file_mb: int
    """Size of one file, in MiB."""
    cpus: tuple[int, ...]
    """CPUs it may run on."""
    tcp: bool = False
    """Whether its processes may speak to each other by TCP."""
    processes: bool = False
    """Whether it may read files of ``/proc``."""


def drop_capabilities(become: int | None = None) -> None:
    """Give up every capability for good, and any way to win one back.

    Args:
        become: id of the user and group to change to meanwhile, without supplementary groups; None keeps the user.
    """
    for capability in range(_HIGHEST_CAPABILITY + 1):
        try:
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
        except OSError:
            # An error marks the end of the kernel's list; a kernel that refuses even the first is not acceptable.
            if capability == 0:
                raise
            break
    syscalls.prctl(syscalls.PR_CAP_AMBIENT, syscalls.PR_CAP_AMBIENT_CLEAR_ALL)
    syscalls.prctl(syscalls.PR_SET_SECUREBITS, _SECUREBITS)
    if become is not None:
        # Groups first: a process that is not root any more may, as a rule, not change them.
        os.setgroups([])
        os.setresgid(become, become, become)
        os.setresuid(become, become, become)
    # After the change of user, which needs capabilities itself.
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    syscalls.syscall("capset", header, (ctypes.c_uint32 * 6)())
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def keep_capabilities(proc: str) -> None:
    """Keep every capability through the next execution, even if this process is not root in its user namespace.

    Args:
        proc: path of a proc file system that lists the calling process.
    """
    status = Path(proc, "self/status").read_text(encoding="ascii", errors="replace")
    held = int(status.partition("CapPrm:")[2].split()[0], 16)
    low, high = held & 0xFFFFFFFF, held >> 32
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    # Effective, permitted and inheritable, in two halves. Only what is permitted and inheritable can become ambient,
    # and only ambient capabilities survive an execution by a user who is not root.
    syscalls.syscall("capset", header, (ctypes.c_uint32 * 6)(low, low, low, high, high, high))
    for capability in range(_HIGHEST_CAPABILITY + 1):
        if held >> capability & 1:
            syscalls.prctl(syscalls.PR_CAP_AMBIENT, syscalls.PR_CAP_AMBIENT_RAISE, capability)


def enter_own_user_namespace() -> None:
    """Move to a user namespace that maps nothing but the program's own user and group.

    The namespaces that were made before belong to the outer user namespace. So even a program that
    somehow won every capability in this one would hold none over mounts, network or process tree.
    """
    uid, gid = os.getuid(), os.getgid()
    # The change of user made this process undumpable: its files in /proc, which are written below, became root's.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    # The kernel lets a process without rights map its group only once it has given up setgroups, with which it could
    # leave a group that denies it something.
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/gid_map").write_text(f"{PROGRAM_ID} {gid} 1")
    Path("/proc/self/uid_map").write_text(f"{PROGRAM_ID} {uid} 1")


def set_limits(bounds: Bounds) -> None:
    """Set the resource limits and the cores to run on; a hard limit that is lower than ours already stays."""
    limits = {
        # 1 and not 0: a host that pipes core dumps to a program gets them with a limit of 0 too, but not of 1.
        resource.RLIMIT_CORE: 1,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_NPROC: bounds.pids,
        resource.RLIMIT_FSIZE: bounds.file_mb * _MIB,
        resource.RLIMIT_AS: bounds.address_space_mb * _MIB,
        resource.RLIMIT_MEMLOCK: 64 * _KIB,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 256,
        resource.RLIMIT_NICE: 0,
        resource.RLIMIT_RTPRIO: 0,
    }
    for kind, wanted in limits.items():
        _soft, hard = resource.getrlimit(kind)
        # A hard limit cannot be raised without rights, so a lower one of the machine's stays.
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))
    os.sched_setaffinity(0, bounds.cpus)


def enter_unlisted_root(root: int) -> None:
    """Make ``root``, a folder in a tree of mounts that belongs to no namespace, the root of the calling process.

    ``/proc/self/mountinfo`` lists those mounts of the process's namespace that can be reached from its root, each with
    the path on the host that it is a view of. From this root none can be reached. The program's user namespace must be
    entered before, because the kernel refuses that to a process whose root was changed.
    """
    os.fchdir(root)
    os.chroot(".")
    os.chdir("/work")
    os.close(root)


def confine(bounds: Bounds, root: int, *, executes: bool = True) -> None:
    """Restrict the calling process, a child of the sandbox's init, to the rights of the program.

    Args:
        bounds: resource limits of the program.
        root: descriptor of the folder that becomes ``/``; see `enter_unlisted_root`.
        executes: whether the process will execute a program; if not, it is the program's interpreter already.
    """
    os.setsid()
    os.umask(0o022)
    enter_own_user_namespace()
    enter_unlisted_root(root)
    set_limits(bounds)
    drop_capabilities()
    # Landlock wants no_new_privs, which drop_capabilities has set.
    landlock.restrict(WRITABLE, WRITABLE_FILES, tcp=bounds.tcp, processes=bounds.processes)
    # Python ignores SIGPIPE and SIGXFSZ, and a program that is executed inherits what is ignored.
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD) if executes else ():
        signal.signal(number, signal.SIG_DFL)
    if not executes:
        # As executing a program would do: the files of this process in /proc belong to its user again.
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Last, because the filter denies calls that the steps above make.
    seccomp.install(tcp=bounds.tcp)
