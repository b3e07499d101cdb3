"""How much memory a sandbox holds, counted from outside, if no control group can be had (see `cgroup`).

The launcher adds up what the processes hold privately, what the sandbox's own file systems store and what is queued in
its sockets. The system-call filter denies or bounds the kinds of memory that would show up in none of them: pipes, for
example, keep their usual size, and the kernel allows a user 64 MiB of those.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from typing import Final, Protocol

from openfingym_runtime.sandbox.socket_memory import queued_bytes, tcp_bytes

_INIT: Final = "1"
"""Process id of the sandbox's own first process."""
_QUICK: Final = re.compile(rb"^(?:RssAnon|VmSwap|VmPTE|HugetlbPages):\s+(\d+) kB", re.MULTILINE)
"""Fields of ``/proc/PID/status`` that add up to a process's memory, a page shared after a fork counted in each."""
_TABLES: Final = re.compile(rb"^VmPTE:\s+(\d+) kB", re.MULTILINE)
"""Memory of the page tables, which the exact fields leave out."""
_EXACT: Final = re.compile(rb"^(?:Pss_Anon|SwapPss):\s+(\d+) kB", re.MULTILINE)
"""Fields of ``/proc/PID/smaps_rollup`` that add up to a process's memory, with its share of each shared page."""
_KIB: Final = 1024
MOST_TCP_BYTES: Final = 64 << 20
"""Most memory in the buffers of TCP sockets, in addition to a sandbox's limit: as much as pipes may hold."""


class Memory(Protocol):
    """Knows when one sandbox has used more memory than it may."""

    def ran_out(self) -> bool:
        """Whether the sandbox has used more than that."""


@dataclass(frozen=True)
class TcpBound:
    """Bounds the buffers of TCP sockets too, which neither processes nor every kind of control group show."""

    others: Memory
    """Knows of all other memory."""
    sockets: socket.socket
    """The kernel's monitor of the sockets in the sandbox's network namespace."""

    def ran_out(self) -> bool:
        """Whether the sandbox holds more of either than it may."""
        return self.others.ran_out() or tcp_bytes(self.sockets) > MOST_TCP_BYTES


@dataclass(frozen=True)
class MemoryMeter:
    """Counts the memory of one sandbox."""

    limit_bytes: int
    """Memory that the sandbox may hold."""
    processes: int
    """Descriptor of a folder, ``/proc`` of the sandbox's pid namespace."""
    file_systems: tuple[int, ...]
    """Descriptors of folders, one on each tmpfs that the program may write to."""

    sockets: socket.socket
    """The kernel's monitor of the sockets in the sandbox's network namespace."""

    def ran_out(self) -> bool:
        """Whether the sandbox holds more than its limit."""
        left = self.limit_bytes - self._stored_bytes() - queued_bytes(self.sockets)
        # The quick count has a page that forked processes share once for each of them, so it is never too small. The
        # exact one costs a walk through page tables, and is made only if the quick one exceeds the limit.
        return self._held_bytes(exact=False) > left and self._held_bytes(exact=True) > left

    def _stored_bytes(self) -> int:
        total = 0
        for descriptor in self.file_systems:
            numbers = os.statvfs(descriptor)
            total += (numbers.f_blocks - numbers.f_bfree) * numbers.f_frsize
        return total

    def _held_bytes(self, *, exact: bool) -> int:
        listed = os.listdir(self.processes)  # noqa: PTH208 - a descriptor, which no path names
        # The first process is the sandbox's own and not the program's.
        names = [name for name in listed if name.isdigit() and name != _INIT]
        return _KIB * sum(self._process_kib(name, exact=exact) for name in names)

    def _process_kib(self, name: str, *, exact: bool) -> int:
        status = self._read(f"{name}/status")
        shares = self._read(f"{name}/smaps_rollup") if exact else b""
        # It cannot be read while a process ends; the quick count, which is never too small, then stands in.
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
