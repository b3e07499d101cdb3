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
WRITABLE: Final = ("/work", "/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own /tmp, a file system of one rollout
WRITABLE_FILES: Final = ("/dev/null", "/dev/full")

# no root magic, no capabilities across setuid, no ambient ones; each with its lock bit
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


def drop_capabilities(become: int | None = None) -> None:
    """Give up every capability for good, and any way to win one back.

    Args:
        become: user and group to change to on the way, without supplementary groups; None keeps the user.
    """
    for capability in range(_HIGHEST_CAPABILITY + 1):
        try:
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
        except OSError:
            # EINVAL marks the end of the kernel's list; a kernel that refuses to drop is not acceptable.
            if capability == 0:
                raise
            break
    syscalls.prctl(syscalls.PR_CAP_AMBIENT, syscalls.PR_CAP_AMBIENT_CLEAR_ALL)
    syscalls.prctl(syscalls.PR_SET_SECUREBITS, _SECUREBITS)
    if become is not None:
        # Groups first, then the user: without its user's rights a process could not change its groups any more.
        os.setgroups([])
        os.setresgid(become, become, become)
        os.setresuid(become, become, become)
    # After the change of user, which needs capabilities itself.
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    syscalls.syscall("capset", header, (ctypes.c_uint32 * 6)())
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def keep_capabilities(proc: str) -> None:
    """Keep every capability through the next execution also where this process is not root in its user namespace.

    Args:
        proc: where a proc file system is that lists the calling process.
    """
    status = Path(proc, "self/status").read_text(encoding="ascii", errors="replace")
    held = int(status.partition("CapPrm:")[2].split()[0], 16)
    low, high = held & 0xFFFFFFFF, held >> 32
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    syscalls.syscall("capset", header, (ctypes.c_uint32 * 6)(low, low, low, high, high, high))
    for capability in range(_HIGHEST_CAPABILITY + 1):
        if held >> capability & 1:
            syscalls.prctl(syscalls.PR_CAP_AMBIENT, syscalls.PR_CAP_AMBIENT_RAISE, capability)


def enter_own_user_namespace() -> None:
    """Move to a user namespace that maps nothing but the program's own user and group.

    The namespaces made before belong to the outer one, so that even a program that somehow won
    every capability here would hold none over the mounts, the network or the process tree.
    """
    uid, gid = os.getuid(), os.getgid()
    # Changing the user id made this process undumpable, which gives its /proc files to root.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    # The kernel lets a process without rights map its group only after it has given up setgroups, with which it could
    # leave a group that denies it something.
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/gid_map").write_text(f"{PROGRAM_ID} {gid} 1")
    Path("/proc/self/uid_map").write_text(f"{PROGRAM_ID} {uid} 1")


def set_limits(bounds: Bounds) -> None:
    """Set the resource limits; a hard limit already lower than ours stays."""
    limits = {
        # 1 and not 0: a core pattern that pipes to a program of the host ignores 0.
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
        # A hard limit cannot be raised again without rights, so a lower one of the machine's stays.
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))
    os.sched_setaffinity(0, bounds.cpus)


def enter_unlisted_root(root: int) -> None:
    """Make ``root``, a folder in a tree of mounts that no namespace lists, the root of the calling process.

    ``/proc/self/mountinfo`` lists those mounts of the process's namespace that its root leads to, each with the place
    on the host it is a view of. Of this root it leads to none. A user namespace must be entered before: later it is
    refused.
    """
    os.fchdir(root)
    os.chroot(".")
    os.chdir("/work")
    os.close(root)


def confine(bounds: Bounds, root: int, *, executes: bool = True) -> None:
    """Restrict the calling process, a child of the sandbox's init, to the rights of the program.

    Args:
        bounds: resource limits of the program.
        root: the folder that becomes ``/``; see `enter_unlisted_root`.
        executes: whether it goes on by executing a program; else it is the program's interpreter already.
    """
    os.setsid()
    os.umask(0o022)
    enter_own_user_namespace()
    enter_unlisted_root(root)
    set_limits(bounds)
    drop_capabilities()
    # Landlock wants no_new_privs, which drop_capabilities has set.
    landlock.restrict(WRITABLE, WRITABLE_FILES)
    # Python ignores SIGPIPE and SIGXFSZ, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD) if executes else ():
        signal.signal(number, signal.SIG_DFL)
    if not executes:
        # What executing a program does: its files in /proc are its own.
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Last: the filter denies calls that the steps above make.
    seccomp.install()
