"""The verifier's clock, which does not move when the machine's clock is set, so that tokens and rate limits hold."""

from __future__ import annotations

import time
from datetime import UTC, datetime

# What goes on while the machine sleeps: a deadline passes then, too. Elsewhere than on Linux there is no such clock.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_START_NS = time.time_ns() - time.clock_gettime_ns(_STEADY)
"""What is added to the steady clock to give Unix time, as the machine's clock had it when the process began."""


def now_ns() -> int:
    """Unix time in nanoseconds at the start of this process, plus the time since, with that of a sleeping machine."""
    return _START_NS + time.clock_gettime_ns(_STEADY)


def ahead_ns() -> int:
    """How far the machine's clock is ahead of :func:`now_ns`, in nanoseconds, at least 0.

    It is where it was set forward since the start of this process, as after a virtual machine was paused, whose steady
    clocks stand still meanwhile.
    """
    return max(0, time.time_ns() - _START_NS - time.clock_gettime_ns(_STEADY))


def utc(ns: int) -> str:
    """Unix nanoseconds as an ISO 8601 time in UTC, to the millisecond."""
    return datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="milliseconds")
