"""Where the time of a rollout goes: to the agent, or to the verifier it waits for."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator


class Stopwatch:
    """Adds up the seconds in which anything of a sort is under way; several at once count once.

    One thread runs it, and others may read it.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before_s = 0.0
        self._under_way = 0
        self._since: float | None = None

    @property
    def elapsed_s(self) -> float:
        """Seconds so far, with those of what is under way now."""
        since = self._since
        return self._before_s if since is None else self._before_s + self._clock() - since

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Something is under way during the block."""
        if not self._under_way:
            self._since = self._clock()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._before_s, self._since = self.elapsed_s, None
