"""Time as everything in :mod:`openfingym.market` takes it, so that a week can pass in minutes and a replay in none."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Two readings and a way to wait. Ages and deadlines are measured by the monotonic reading alone: the wall clock
    may be set while a session runs.
    """

    def monotonic(self) -> int:
        """Nanoseconds that never go back, from an origin without meaning."""

    def wall(self) -> int:
        """Nanoseconds since the epoch, UTC."""

    async def sleep(self, seconds: float) -> None:
        """Wait; in simulated time without passing any real time."""


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> int:
        """See :class:`Clock`."""
        return time.monotonic_ns()

    def wall(self) -> int:
        """See :class:`Clock`."""
        return time.time_ns()

    async def sleep(self, seconds: float) -> None:
        """See :class:`Clock`."""
        await asyncio.sleep(seconds)
