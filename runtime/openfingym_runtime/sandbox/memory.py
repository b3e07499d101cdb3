"""How much memory a sandbox holds, counted from outside, where no control group can be had (see `cgroup`).

The launcher adds up what the processes hold privately, what the sandbox's own file systems store and what is queued in
its sockets. The system-call filter denies the kinds of memory that would show up in none of them, or bounds them: pipes
keep their usual size, of which the kernel allows a user 64 MiB.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from typing import Final, Protocol

from openfingym_runtime.sandbox.socket_memory import queued_bytes

_INIT: Final = "1"
_QUICK: Final = re.compile(rb"^(?:RssAnon|VmSwap|VmPTE|HugetlbPages):\s+(\d+) kB", re.MULTILINE)
_TABLES: Final = re.compile(rb"^VmPTE:\s+(\d+) kB", re.MULTILINE)
_EXACT: Final = re.compile(rb"^(?:Pss_Anon|SwapPss):\s+(\d+) kB", re.MULTILINE)
_KIB: Final = 1024


class Memory(Protocol):
    """Knows when one sandbox has used more memory than it may."""

    def ran_out(self) -> bool:
        """Whether it has."""


@dataclass(frozen=True)
class MemoryMeter:
    """Counts one sandbox's memory."""

    limit_bytes: int
    """What it may hold."""
    processes: int
    """Open folder: ``/proc`` of the sandbox's pid namespace."""
    file_systems: tuple[int, ...]
    """An open folder on each tmpfs the program may write."""

    sockets: socket.socket
    """Monitor of the sockets of the sandbox's network namespace."""

    def ran_out(self) -> bool:
        """Whether the sandbox holds more than its limit.

        Resident size counts a page shared by forked processes once for each; only where that sum
        passes the limit is the slower proportional size read.
        """
        left = self.limit_bytes - self._stored_bytes() - queued_bytes(self.sockets)
        # The quick count holds pages shared after a fork once for each process, so it is the larger one; the exact one
        # costs a walk through page tables, and is made only where the quick one is over.
        return self._held_bytes(exact=False) > left and self._held_bytes(exact=True) > left

    def _stored_bytes(self) -> int:
        total = 0
        for descriptor in self.file_systems:
            numbers = os.statvfs(descriptor)
            total += (numbers.f_blocks - numbers.f_bfree) * numbers.f_frsize
        return total

    def _held_bytes(self, *, exact: bool) -> int:
        listed = os.listdir(self.processes)  # noqa: PTH208 - a descriptor, which no path names
        # The first process is the sandbox's own, not the program's.
        names = [name for name in listed if name.isdigit() and name != _INIT]
        return _KIB * sum(self._process_kib(name, exact=exact) for name in names)

    def _process_kib(self, name: str, *, exact: bool) -> int:
        status = self._read(f"{name}/status")
        shares = self._read(f"{name}/smaps_rollup") if exact else b""
        # Unreadable while the process ends: the resident size is then the safe side.
        if not shares:
            return sum(int(value) for value in _QUICK.findall(status))
        return sum(int(value) for value in _EXACT.findall(shares) + _TABLES.findall(status))

    def _read(self, path: str) -> bytes:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.processes)
        except OSError:
            return b""
        try:
            return os.read(descriptor, 1 << 16)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
