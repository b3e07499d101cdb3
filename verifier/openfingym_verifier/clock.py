"""The verifier's clock, which does not move when the machine's clock is set, so that tokens and rate limits hold."""

from __future__ import annotations

import time

_START_NS = time.time_ns() - time.monotonic_ns()


def now_ns() -> int:
    """Unix time in nanoseconds at the start of this process, plus the monotonic time since."""
    return _START_NS + time.monotonic_ns()
