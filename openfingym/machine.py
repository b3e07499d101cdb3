"""The machine that this process runs on: its cores, its sockets, and the backends that may isolate programs on it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from openfingym.errors import RuntimeFailureError

BackendName = Literal["auto", "docker", "sandbox", "inline"]
"""How programs are isolated; ``auto`` takes the best way that works, and ``inline`` isolates nothing."""
ISOLATING = ("docker", "sandbox")
"""Names of the backends that isolate, the better one first."""
SOCKET_PATH_BYTES = 107
"""Length of the longest path of a unix socket on Linux, without its final NUL."""


@dataclass(frozen=True)
class Libraries:
    """The numerical libraries for agents' programs, by the names that people know, such as ``LightGBM``."""

    installed: tuple[str, ...]
    """Those that programs can import."""
    missing: tuple[str, ...]
    """Those that OpenFinGym would offer, and that are not installed where programs run."""


def cores() -> int:
    """Number of cores that this process may use."""
    # They may be fewer than the machine has: a scheduler or a container may confine a process to some of them.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_limiting = threading.Lock()
"""Held while the threads of BLAS are limited."""


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS take one thread for each product: those of many small products mostly wait for one another.

    The limit is the whole process's. Whoever comes in while another thread of the process is in here changes nothing,
    and may have more threads once that one has left.
    """
    from threadpoolctl import threadpool_limits

    # Of two that overlap, the second would find the limit of the first, and restore that at its end.
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        _limiting.release()


def require_socket_path(path: Path) -> None:
    """Check that a unix socket can have this path; the kernel's own error does not say which path is too long.

    Raises:
        RuntimeFailureError: the path is too long.
    """
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES:
        raise RuntimeFailureError(
            f"{path}: too long for a unix socket; set XDG_RUNTIME_DIR to a folder with a short path"
        )
