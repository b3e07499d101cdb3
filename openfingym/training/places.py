"""A bound on rollouts that are open at once: places, granted in the order of asking, from any thread or event loop."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field

from openfingym.errors import UsageError

_log = logging.getLogger(__name__)
WARN_AFTER_S = 30.0
"""Seconds of waiting for a place after which a warning says why it takes so long."""
STUCK_S = 300.0
"""Seconds in which no open rollout was used while somebody waits, after which no place is expected to come free."""


@dataclass(eq=False)
class Place:
    """A place that was taken, or is waited for."""

    granted: Future[None] = field(default_factory=Future)
    """Resolved once the place is the caller's; cancel it to leave the queue."""
    since: float = field(default_factory=time.monotonic)
    """When it was asked for, by the monotonic clock."""


class Places:
    """``size`` places, granted in the order in which they were asked for."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._taken: set[Place] = set()
        self._waiting: deque[Place] = deque()
        self._warned = False
        """Whether the warning was given since somebody last had to wait for long."""

    @property
    def taken(self) -> int:
        """Number of places that are taken."""
        return len(self._taken)

    def ask(self) -> Place:
        """Ask for a place, which is the caller's once :attr:`Place.granted` is resolved."""
        place = Place()
        with self._lock:
            self._waiting.append(place)
            self._grant()
        return place

    def give_back(self, place: Place) -> None:
        """Give a place back to the next who waits, or leave the queue; doing it twice does no harm."""
        with self._lock:
            # Of no effect on one that was granted.
            place.granted.cancel()
            self._taken.discard(place)
            self._grant()

    def look(self, moved: float) -> None:
        """Warn that somebody waits for long, and end the waiting where it would be for ever.

        Args:
            moved: when a rollout that has a place was last used, by the monotonic clock.
        """
        with self._lock:
            waiting = [place for place in self._waiting if not place.granted.cancelled()]
        now = time.monotonic()
        if not waiting or now - waiting[0].since < WARN_AFTER_S:
            self._warned = False
            return
        if not self._warned:
            self._warned = True
            _log.warning(
                "%d episodes wait for one of %d places, the first for %.0f s; finish() gives a place back, and "
                "Desk(..., places=N) has more",
                len(waiting),
                self.size,
                now - waiting[0].since,
            )
        for place in waiting:
            # From when it was asked for, at the earliest: rollouts may have been idle before, and no matter to anybody.
            idle_s = now - max(moved, place.since)
            if idle_s > STUCK_S:
                with contextlib.suppress(InvalidStateError):
                    place.granted.set_exception(
                        UsageError(
                            f"all {self.size} places are taken by episodes of which none was used for {idle_s:.0f} s, "
                            "so that this one would wait for ever; a trainer that opens all episodes of a batch before "
                            "it plays them needs places for all of them: Desk(..., places=N)"
                        )
                    )

    def _grant(self) -> None:
        """Grant free places to those who wait for them; called with the lock held."""
        while self._waiting and len(self._taken) < self.size:
            place = self._waiting.popleft()
            try:
                place.granted.set_result(None)
            except InvalidStateError:  # its caller has left
                continue
            self._taken.add(place)
