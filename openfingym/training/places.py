"""A bound on rollouts that are open at once: who comes first gets the next place, from any thread or event loop."""

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
SAID_AFTER_S = 30.0
"""Who waits for longer is told why."""
STUCK_S = 300.0
"""Where no open rollout was used for so long while somebody waits for a place, none will come free."""


@dataclass(eq=False)
class Place:
    """A place that was taken, or is waited for."""

    granted: Future[None] = field(default_factory=Future)
    """Resolved once the place is the caller's; cancel it to leave the queue."""
    since: float = field(default_factory=time.monotonic)


class Places:
    """``size`` places, handed out in the order in which they were asked for."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._taken: set[Place] = set()
        self._waiting: deque[Place] = deque()
        self._said = False

    @property
    def taken(self) -> int:
        """Places that are taken."""
        return len(self._taken)

    def ask(self) -> Place:
        """A place; see :attr:`Place.granted`."""
        place = Place()
        with self._lock:
            self._waiting.append(place)
            self._grant()
        return place

    def give_back(self, place: Place) -> None:
        """Let the next one have a place, or leave the queue; doing it twice does no harm."""
        with self._lock:
            place.granted.cancel()
            self._taken.discard(place)
            self._grant()

    def look(self, moved: float) -> None:
        """Say that somebody waits for long; end the waiting where it would be for ever.

        Args:
            moved: when a rollout that has a place was last used, by the monotonic clock.
        """
        with self._lock:
            waiting = [place for place in self._waiting if not place.granted.cancelled()]
        now = time.monotonic()
        if not waiting or now - waiting[0].since < SAID_AFTER_S:
            self._said = False
            return
        if not self._said:
            self._said = True
            _log.warning(
                "%d episodes wait for one of %d places, the first for %.0f s; finish() gives a place back, and "
                "Desk(..., places=N) has more",
                len(waiting),
                self.size,
                now - waiting[0].since,
            )
        for place in waiting:
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
        while self._waiting and len(self._taken) < self.size:
            place = self._waiting.popleft()
            try:
                place.granted.set_result(None)
            except InvalidStateError:  # its caller has left
                continue
            self._taken.add(place)
