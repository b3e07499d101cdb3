"""The clocks of :mod:`openfingym.market`: the machine's own, and a simulated one by which a week passes in minutes."""

from __future__ import annotations

import asyncio
import errno
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from openfingym.errors import RuntimeFailureError
from openfingym.market.pipes import Pipe, PipeServer, ProtocolFactory
from openfingym.market.ticks import SECOND

T = TypeVar("T")


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


class Timed(Protocol):
    """Something with a time of its own that passes with a clock, such as a local venue."""

    def due(self) -> int:
        """When something may happen next by itself, in nanoseconds of its own time."""

    def advance(self, to: int) -> None:
        """Let time pass.

        Args:
            to: until when, in nanoseconds of its own time.
        """


class SimulatedClock:
    """A clock whose time passes only when everything in :meth:`run` waits for it, and then at once.

    The event loop of :meth:`run` goes by this clock, so that timeouts of :mod:`asyncio` and of libraries pass with it:
    a week takes as long as its computations, and goes the same way each time. Threads of the loop's executor, as
    :func:`asyncio.to_thread` starts them, are waited for in real time. So are sockets, for :attr:`patience_s` before
    each step of time, since nobody can know what is on its way: with sockets, simulate short times, and do not expect
    every run to go the same way. What listens at a path of a Unix socket needs none: within the loop it is a
    :class:`~openfingym.market.pipes.Pipe`.
    """

    patience_s = 0.001
    """Real seconds that a socket has to bring something before simulated time passes."""

    def __init__(self, wall: int = 0) -> None:
        """Begin at monotonic time 0.

        Args:
            wall: what the wall clock shows at the beginning, in nanoseconds since the epoch, UTC.
        """
        self._now = 0
        self._wall_offset = wall
        self._carried: Timed | None = None
        self._ahead = 0

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
        """Set the wall clock, as an operator or a time server may at any moment; the monotonic reading goes on.

        Args:
            wall: what it shows from now on, in nanoseconds since the epoch, UTC.
        """
        self._wall_offset = wall - self._now

    def carry(self, timed: Timed, time: int) -> None:
        """Let the time of something else pass with this clock's, in the thread of :meth:`run`: whatever runs finds it
        at this clock's time, and time stops wherever something may happen there.

        Args:
            timed: what is carried from now on, in the place of what was.
            time: what its own time is now, in nanoseconds.
        """
        self._carried, self._ahead = timed, time - self._now

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end in simulated time; the next one goes on where it ended.

        Raises:
            RuntimeFailureError: every task waits for something that no passing of time can bring.
        """
        with asyncio.Runner(loop_factory=lambda: _SimulatedLoop(self)) as runner:
            return runner.run(main)

    def _advance(self, seconds: float | None) -> None:
        """Let time pass, no further than to what may happen in what is carried."""
        to = None if seconds is None else self._now + round(seconds * SECOND)
        if self._carried is not None:
            # A nanosecond at least: something that is always due would stop time for ever.
            due = max(self._carried.due() - self._ahead, self._now + 1)
            to = due if to is None else min(to, due)
        assert to is not None, "without a time and with nothing carried, there is nothing to wait for"
        self._now = to
        if self._carried is not None:
            self._carried.advance(to + self._ahead)


class _SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop in simulated time."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._simulated = clock
        self.working = 0
        """How many threads of the executor have something to do."""
        self._served: dict[str, ProtocolFactory] = {}
        super().__init__(_SimulatedSelector(clock, self))
        # asyncio runs timers that are due within this: with 0, one that is a rounding error away would be waited for in
        # steps of no length.
        self._clock_resolution = 1 / SECOND

    def time(self) -> float:
        return self._simulated.monotonic() / SECOND

    # Some versions of Python declare wider types.
    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
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

    async def create_unix_server(  # type: ignore[override]  # no sockets, and no options of theirs
        self, protocol_factory: ProtocolFactory, path: Any = None, **_: object
    ) -> PipeServer:
        name = str(path)
        if name in self._served:
            raise OSError(errno.EADDRINUSE, f"something listens at {name} already")
        self._served[name] = protocol_factory
        return PipeServer(self, lambda: self._served.pop(name, None))

    async def create_unix_connection(  # type: ignore[override]
        self, protocol_factory: ProtocolFactory, path: Any = None, **_: object
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        serve = self._served.get(str(path))
        if serve is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"nothing listens at {path}")
        protocol = protocol_factory()
        return Pipe.pair(self, protocol, serve()), protocol

    def _worked(self, _: object) -> None:
        self.working -= 1


class _SimulatedSelector(selectors.DefaultSelector):
    """Lets simulated time pass where a selector would wait."""

    OWN = 1
    """How many files the event loop watches for itself: the socket by which threads wake it."""

    def __init__(self, clock: SimulatedClock, loop: _SimulatedLoop) -> None:
        super().__init__()
        self._clock = clock
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        has_sockets = len(self.get_map()) > self.OWN
        passing = timeout is None or timeout > 0
        if not (passing or has_sockets or self._loop.working):
            return []  # what threads want is in the loop's queue already; the socket that wakes it can wait
        ready = super().select(0)
        if ready or not passing:
            return ready
        # A thread wakes the loop when it is done, and no simulated time passes meanwhile; without a timer only a socket
        # can bring anything.
        if self._loop.working or (timeout is None and has_sockets):
            return super().select(None)
        if has_sockets and (ready := super().select(self._clock.patience_s)):
            return ready
        if timeout is None and self._clock._carried is None:
            raise RuntimeFailureError(
                "every task waits, and neither a time nor an answer will come that wakes one; expected a simulated "
                "session to end: see what each of its tasks waits for"
            )
        self._clock._advance(timeout)
        return ready
