"""The venue's clock against ours: how late its messages arrive, whatever this machine's wall clock does meanwhile."""

from __future__ import annotations

from openfingym.market.commands import Instant

STEP_NS = 500_000_000
"""Nanoseconds: a wall clock that moves against the monotonic one by more than this at once was set."""
WINDOW_NS = 600 * 1_000_000_000
"""Nanoseconds of a window: the lowest delay of two windows counts, so that clocks may drift apart."""


class VenueClock:
    """The offset of the venue's clock to our monotonic one.

    It is measured where the venue tells its time. Otherwise it is the highest difference between an event's time and
    its arrival in the last two windows of ten minutes, so that the quickest event counts as having taken no time.
    """

    def __init__(self) -> None:
        self._measured: int | None = None
        self._highest: int | None = None  # of the current window
        self._before: int | None = None  # of the window before it
        self._window = 0  # when the current window began
        self._wall: int | None = None  # our wall clock less our monotonic one

    @property
    def offset(self) -> int | None:
        """The venue's time less our monotonic reading, nanoseconds; None as long as nothing is known."""
        if self._measured is not None:
            return self._measured
        if self._before is None or self._highest is None:
            return self._highest if self._before is None else self._before
        return max(self._before, self._highest)

    def time(self, at: Instant) -> int:
        """What the venue's clock shows at an instant; our own wall clock as long as nothing is known."""
        offset = self.offset
        return at.wall if offset is None else at.monotonic + offset

    def measured(self, time: int, asked: int, answered: int) -> None:
        """The venue has told its time, which it read between the question and the answer.

        Args:
            time: the venue's time, in nanoseconds since the epoch.
            asked: when the question was put, in monotonic nanoseconds.
            answered: when the answer came, in monotonic nanoseconds.
        """
        self._measured = time - (asked + answered) // 2

    def observed(self, time: int, now: int) -> int:
        """An event has arrived; return how late, in nanoseconds.

        Args:
            time: when it happened by the venue's clock, in nanoseconds since the epoch.
            now: when it arrived, in monotonic nanoseconds.
        """
        if self._measured is not None:
            return now + self._measured - time
        if now - self._window > WINDOW_NS:
            self._before, self._highest, self._window = self._highest, None, now
        offset, highest = time - now, self._highest
        if highest is None or offset > highest:
            highest = self._highest = offset
        if self._before is not None and self._before > highest:
            highest = self._before
        return highest - offset

    def stepped(self, at: Instant) -> int:
        """Nanoseconds by which our wall clock was set since the last call; 0 where it was not."""
        difference = at.wall - at.monotonic
        before, self._wall = self._wall, difference
        step = 0 if before is None else difference - before
        return step if abs(step) > STEP_NS else 0
