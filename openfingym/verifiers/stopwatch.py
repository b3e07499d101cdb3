"""Measuring where the time of a rollout goes: to the agent, or to the verifier that it waits for."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator


class Stopwatch:
    """Adds up the seconds in which at least one activity is under way; activities that overlap count once.

    One thread runs it, and others may read it.

    Args:
        clock: gives seconds that only go forward.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before_s = 0.0
        """Seconds of the times that are over."""
        self._under_way = 0
        """Number of activities that are under way."""
        self._since: float | None = None
        """When the current time began, by the clock; None while nothing is under way."""

    @property
    def elapsed_s(self) -> float:
        """Seconds so far, including those of what is under way."""
        # Read once: the running thread may set it to None between two looks at it.
        since = self._since
        return self._before_s if since is None else self._before_s + self._clock() - since

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of the block."""
        if not self._under_way:
            self._since = self._clock()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._before_s, self._since = self.elapsed_s, None
