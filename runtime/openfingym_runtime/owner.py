"""The owner of a folder or a container: tells what a dead process left behind from what is in use.

A process id alone is reused; together with the process's start time, the machine's boot and the
process-id namespace it names one process for good.
"""

from __future__ import annotations

import os
import socket
import subprocess
from functools import lru_cache
from pathlib import Path

FIELDS = 5


def owner_id() -> str:
    """The identity of this process: ``host,boot,pid namespace,pid,start``."""
    return _identity(os.getpid())


@lru_cache(maxsize=4)
def _identity(pid: int) -> str:
    return ",".join((*_place(), str(pid), _started(pid) or "unknown"))


def is_alive(owner: str) -> bool:
    """Whether the process named by ``owner`` may still run.

    True where this cannot be known (another host, another process-id namespace, not our format):
    what may be in use is never touched.
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
        # Path.stat costs the same; this follows the magic link.
        namespace = str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116
    except OSError:  # no Linux: one boot and one namespace for all we know
        return host, "-", "-"
    return host, boot, namespace


def _started(pid: int) -> str | None:
    """Start time of a process in the system's own unit, or None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        done = subprocess.run(["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return done.stdout.strip().replace(",", " ") or None
    # The command's name, in parentheses, may hold spaces: count the fields behind it.
    return stat.rpartition(b")")[2].split()[19].decode()
