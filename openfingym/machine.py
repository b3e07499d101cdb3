"""The machine that this process runs on: its cores, and the backends that may isolate programs on it."""

from __future__ import annotations

import os
from typing import Literal

BackendName = Literal["auto", "docker", "sandbox", "inline"]
"""How programs are isolated; ``auto`` takes the best way that works, and ``inline`` isolates nothing."""
ISOLATING = ("docker", "sandbox")
"""Names of the backends that isolate, the better one first."""


def cores() -> int:
    """Number of cores that this process may use."""
    # They may be fewer than the machine has: a scheduler or a container may confine a process to some of them.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
