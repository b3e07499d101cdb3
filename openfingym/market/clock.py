"""Time as everything in :mod:`openfingym.market` takes it, so that a week can pass in minutes and a replay in none."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from openfingym.errors import RuntimeFailureError

T = TypeVar("T")
SECOND = 1_000_000_000


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

    monotonic = staticmethod(time.monotonic_ns)
    """See :class:`Clock`."""
    wall = staticmethod(time.time_ns)
    """See :class:`Clock`."""

    async def sleep(self, seconds: float) -> None:
        """See :class:`Clock`."""
        await asyncio.sleep(seconds)


class SimulatedClock:
    """A clock whose time passes only when everything in :meth:`run` waits for it, and then at once.

    The event loop of :meth:`run` has its time, so that timeouts of :mod:`asyncio` and of libraries pass with it: what
    takes a week takes as long as its computations, and goes the same way each time. Threads of the loop's executor, as
    :func:`asyncio.to_thread` starts them, are waited for in real time. So are sockets, for :attr:`patience_s` before
    each step of time, since nobody can know what is on its way: with sockets, use short weeks, and do not expect every
    run to go the same way.
    """

    patience_s = 0.001
    """Real seconds in which a socket may have something, before time passes."""

    def __init__(self, wall: int = 0) -> None:
        """Begin at monotonic time 0.

        Args:
            wall: nanoseconds since the epoch, UTC, of the beginning.
        """
        self._now = 0
        self._wall_offset = wall

    def monotonic(self) -> int:
        """See :class:`Clock`."""
        return self._now

    def wall(self) -> int:
        """See :class:`Clock`."""
        return self._now + self._wall_offset

    async def sleep(self, seconds: float) -> None:
        """See :class:`Clock`."""
        await asyncio.sleep(seconds)

    def set_wall(self, wall: int) -> None:
        """Set the wall clock to nanoseconds since the epoch, as an operator or a time server may at any moment; the
        monotonic reading goes on.
        """
        self._wall_offset = wall - self._now

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end in simulated time; the next one goes on where it ended.

        Raises:
            RuntimeFailureError: everything waits for something that no time brings.
        """
        with asyncio.Runner(loop_factory=lambda: _SimulatedLoop(self)) as runner:
            return runner.run(main)

    def _advance(self, seconds: float) -> None:
        self._now += round(seconds * SECOND)


class _SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop in simulated time."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._simulated = clock
        self.working = 0
        """Threads of the executor that do something."""
        super().__init__(_SimulatedSelector(clock, self))
        # Else a timer whose time is a rounding error away would be waited for in steps of no length.
        self._clock_resolution = 1 / SECOND

    def time(self) -> float:
        return self._simulated.monotonic() / SECOND

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]  # wider types in some versions
        job = super().run_in_executor(executor, func, *args)
        self.working += 1
        job.add_done_callback(self._worked)
        return job

    async def shutdown_default_executor(self, *timeout: Any) -> None:
        self.working += 1  # a thread waits for the others
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self.working -= 1

    def _worked(self, _: object) -> None:
        self.working -= 1


class _SimulatedSelector(selectors.DefaultSelector):
    """Lets time pass where a selector waits."""

    OWN = 1
    """Files that the event loop itself watches: the socket by which threads wake it."""

    def __init__(self, clock: SimulatedClock, loop: _SimulatedLoop) -> None:
        super().__init__()
        self._clock = clock
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        has_sockets = len(self.get_map()) > self.OWN
        if self._loop.working or (timeout is None and has_sockets):
            return super().select(None)
        if has_sockets and (found := super().select(self._clock.patience_s)):
            return found
        if timeout is None:
            raise RuntimeFailureError(
                "every task waits, and neither a time nor an answer will come that wakes one; expected a simulated "
                "session to end: see what each of its tasks waits for"
            )
        self._clock._advance(timeout)
        return found
