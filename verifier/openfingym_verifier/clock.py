"""The verifier's time. A machine's clock may be set, forwards or back, and no token may expire or rate limit stall by
that.
"""

from __future__ import annotations

import time

_START_NS = time.time_ns() - time.monotonic_ns()


def now_ns() -> int:
    """Unix time in nanoseconds, as it was when this process started and has passed since."""
    return _START_NS + time.monotonic_ns()
