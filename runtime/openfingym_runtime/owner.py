"""The owner of a folder or a container, by which what a dead process left behind is told from what is in use.

A process id alone may be reused; together with the process's start time, the machine's boot and the
process-id namespace it names one process for good.
"""

from __future__ import annotations

import os
import socket
import subprocess
from functools import lru_cache
from pathlib import Path

FIELDS = 5
"""Parts of an owner's identity, between commas."""


def owner_id() -> str:
    """The identity of this process: ``host,boot,pid namespace,pid,start``."""
    return _identity(os.getpid())


# Remembered by process id, because a forked child inherits what its parent remembers.
@lru_cache(maxsize=4)
def _identity(pid: int) -> str:
    return ",".join((*_place(), str(pid), _started(pid) or "unknown"))


def is_alive(owner: str) -> bool:
    """Whether the process named by ``owner`` may still be running.

    True where this cannot be known (another host, another process-id namespace, not our format),
    because what may be in use is never touched.
    """
    parts = owner.split(",")
    if len(parts) != FIELDS or not parts[3].isdigit():
        return True
    host, boot, namespace = _place()
    if parts[0] != host:
        return True
    if parts[1] != boot:
        return False
    return parts[2] != namespace or _started(int(parts[3])) == parts[4]


@lru_cache(maxsize=1)
def _place() -> tuple[str, str, str]:
    host = socket.gethostname().replace(",", "-")
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # A magic link, whose text is not a path; what it stands for has the namespace's number as its inode.
        namespace = str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116
    except OSError:  # not Linux: boots and namespaces cannot be told apart
        return host, "-", "-"
    return host, boot, namespace


def _started(pid: int) -> str | None:
    """Start time of a process, in a unit of the system's, or None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        done = subprocess.run(["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return done.stdout.strip().replace(",", " ") or None
    # Field 22 of proc(5). The command's name, field 2, is in parentheses and may hold spaces and parentheses itself, so
    # the fields are counted from the last closing one.
    return stat.rpartition(b")")[2].split()[19].decode()
