"""The machine that this process runs on: its cores, and what may isolate programs on it."""

from __future__ import annotations

import os
from typing import Literal

BackendName = Literal["auto", "docker", "sandbox", "inline"]
"""How programs are isolated; ``auto`` is the best that works, and ``inline`` isolates nothing."""
ISOLATING = ("docker", "sandbox")
"""Those that isolate, the better one first."""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
