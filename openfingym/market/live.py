"""Running a machine that does no input or output: a thread that carries out its commands, and records every input
before the machine is told. :class:`Live` runs a feed, and :class:`~openfingym.market.brokers.live.LiveBroker` an
account.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, Self, TypeVar

from openfingym.errors import ConnectionClosedError, OpenFinGymError, VenueError
from openfingym.market.clock import Clock, SystemClock
from openfingym.market.commands import (
    Ask,
    Close,
    Command,
    Connect,
    Instant,
    RunMachine,
    Send,
    Tell,
    VenueAddresses,
    ending,
)
from openfingym.market.feed import Address, Frame, Request
from openfingym.market.ingest import Ingest
from openfingym.market.replay import tellers
from openfingym.market.rest import RestClient
from openfingym.market.tape import NoRecorder, Record, Recorder, RecordKind, answered, asked, told
from openfingym.market.transport import AiohttpTransport, FeedConnection, Transport

logger = logging.getLogger(__name__)

PASS_S = 0.1
"""Seconds between two calls of the machine that say that time has passed."""
SLICE_NS = 1_000_000
"""Nanoseconds of reading without a pause after which other threads have a turn: without it a thread that wants to read
the state waits for the interpreter's switch interval of 5 ms."""
CHECKPOINT_S = 60.0
"""Seconds between two digests of the state on the tape."""
PAUSE_S = 20e-6
"""Seconds of such a pause: enough for the interpreter's lock to change hands."""
IDLE_NS = 200_000
"""Nanoseconds: frames further apart than this were waited for, so that other threads had their turn."""
STOP_S = 5.0
"""Seconds in which the thread must end when it is told to."""
_instant: Callable[[type[Instant], tuple[int, int]], Instant] = tuple.__new__  # in half the time of Instant(...)


MachineT = TypeVar("MachineT", bound=RunMachine)


class MachineRunner(ABC, Generic[MachineT]):
    """A machine that runs, from entering the context to leaving it.

    Args:
        machine: the machine to run; nobody else may call it meanwhile.
        transport: makes the transport of its connections; called in the thread.
        rest: makes the client of the REST interface at an address; called in the thread.
        recorder: records every input before the machine is told; None for nothing.
        clock: the clock by which inputs are timed; default: this machine's.
        tell: called in the thread with what people should know; must return soon. What it raises is logged, and costs
            no message.
        digest: gives the digest of the machine's state, which is recorded now and then, and at the end.
        pass_s: seconds between two calls of the machine that say that time has passed.
        checkpoint_s: seconds between two digests.
    """

    def __init__(
        self,
        machine: MachineT,
        *,
        transport: Callable[[], Transport] = AiohttpTransport,
        rest: Callable[[Address], RestClient] = RestClient,
        recorder: Recorder | None = None,
        clock: Clock | None = None,
        tell: Callable[[Tell], None] | None = None,
        digest: Callable[[], str] | None = None,
        pass_s: float = PASS_S,
        checkpoint_s: float = CHECKPOINT_S,
    ) -> None:
        self.machine = machine
        self._digest, self._pass_s, self._checkpoint_s = digest, pass_s, checkpoint_s
        self._make_transport, self._make_rest = transport, rest
        self._recorder = recorder or NoRecorder()
        self._clock = clock or SystemClock()
        self._tell = tell
        self._thread = threading.Thread(target=self._run, name=f"market: {self.name}", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = threading.Event()
        self._end = asyncio.Event()
        self._error: BaseException | None = None
        self._turn = threading.RLock()
        """Held while an input is recorded and told to the machine, so that the inputs of several threads reach it in
        the order of the tape.
        """
        self._outboxes: dict[int, asyncio.Queue[Frame]] = {}
        self._readers: dict[int, asyncio.Task[None]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._checked = self._clock.monotonic()
        self._over = False
        """Whether nothing more is to be begun."""
        self.passing: Callable[[], None] | None = None
        """Called in the thread each time before the machine is told that time has passed; to be set before it runs."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What runs, for messages, such as ``feed of binance``."""

    @property
    @abstractmethod
    def _venue(self) -> VenueAddresses:
        """Where the machine's connections and questions go."""

    def __enter__(self) -> Self:
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.stop()
        except VenueError as unended:
            if error is None:
                raise
            error.add_note(str(unended))  # the error inside the context is the one to be seen

    def check(self) -> None:
        """Return if the machine works, or may work again by itself.

        Raises:
            VenueError: it will not, with the reason.
        """
        if self._error is not None:
            if isinstance(self._error, OpenFinGymError):
                raise VenueError(f"The {self.name} has stopped: {self._error}") from self._error
            raise VenueError(f"The {self.name} has stopped: {self._error!r}") from self._error
        if self.machine.failed:
            failed = self.machine.failed.rstrip(".")
            raise VenueError(f"The {self.name} has stopped for good: {failed}. Mend this and start it again.")

    def stop(self) -> None:
        """Close every connection and wait for the thread; a second call does nothing.

        Raises:
            VenueError: the thread does not end in time.
        """
        if self._thread.is_alive():
            self._call(self._end.set)
            self._thread.join(self._stop_s)
            if self._thread.is_alive():
                raise VenueError(f"The {self.name} did not end within {self._stop_s:g} s.")

    _stop_s = STOP_S

    def _call(self, work: Callable[[], None]) -> None:
        """Have the loop's thread call a function soon; may be called from any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(work)

    def _died(self) -> None:
        """The thread has ended by an error."""

    async def _leave(self) -> None:
        """Bring to an end what must not be left as it is; everything runs as before meanwhile."""

    def _run(self) -> None:
        try:
            asyncio.run(self.run())
        except BaseException as error:  # a thread has nobody above it: whoever reads is told by check()
            self._error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
            self._died()
        finally:
            self._begun.set()  # also where nothing began: __enter__ waits for it

    def end(self) -> None:
        """Have :meth:`run` end, in its own thread."""
        self._end.set()

    async def run(self) -> None:
        """Run in the caller's event loop, without a thread, until :meth:`end`."""
        self._loop = asyncio.get_running_loop()
        self._begun.set()
        transport, rest = self._make_transport(), self._make_rest(self._venue.rest())
        self._transport, self._rest = transport, rest
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                with self._turn:
                    commands = self.machine.start(self._input(RecordKind.START))
                self._do(commands)
                ticking = group.create_task(self._tick())
                await self._end.wait()
                await self._leave()
                ticking.cancel()
                self._over = True
                self._checkpoint()  # the last record of the state: what follows only closes connections
                self._do(self.machine.stop(self._now()))
                await asyncio.sleep(0)
                for task in self._asking:
                    task.cancel()
        finally:
            await transport.close()
            await rest.close()

    def _now(self) -> Instant:
        clock = self._clock
        return _instant(Instant, (clock.monotonic(), clock.wall()))

    def _input(self, kind: RecordKind, connection: int = 0, payload: Frame = b"") -> Instant:
        """Record an input, and say when it came."""
        at = self._now()
        self._recorder.record(kind, at, connection, payload)
        return at

    def _do(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Connect(connection):
                    self._outboxes[connection] = asyncio.Queue()
                    self._readers[connection] = self._group.create_task(self._link(connection))
                case Send(connection, frame):
                    if connection in self._outboxes:
                        self._outboxes[connection].put_nowait(frame)
                case Close(connection):
                    reader = self._readers.pop(connection, None)
                    if reader is not None:
                        reader.cancel()
                case Ask(question, request):
                    task = self._group.create_task(self._ask(question, request))
                    self._asking.add(task)
                    task.add_done_callback(self._asking.discard)
                case Tell():
                    self._recorder.record(RecordKind.TOLD, self._now(), 0, told(command))
                    if self._tell is not None:
                        self._call_tell(command)

    def _call_tell(self, tell: Tell) -> None:
        assert self._tell is not None, "the caller sees to it"
        try:
            self._tell(tell)
        except Exception:  # whatever a user's function may raise: it must cost the feed no message
            logger.exception("%s: the function that is told failed on %r", self.name, tell)

    async def _link(self, number: int) -> None:
        """A connection, from its opening to its end."""
        connection: FeedConnection | None = None
        try:
            connection = await self._transport.connect(self._venue.stream())
            with self._turn:
                commands = self.machine.opened(number, self._input(RecordKind.OPENED, number))
            self._do(commands)
            writer = self._group.create_task(self._write(connection, self._outboxes[number]))
            try:
                await self._read(number, connection)
            finally:
                writer.cancel()
        except ConnectionClosedError as error:
            self._readers.pop(number, None)  # no command to close it may cancel this task, which has more to do
            reason = ending(str(error), error.retry_after_s)
            with self._turn:
                commands = self.machine.closed(number, reason, self._input(RecordKind.CLOSED, number, reason))
            self._do(commands)
        finally:
            self._outboxes.pop(number, None)
            if connection is not None:
                await connection.close()

    async def _read(self, number: int, connection: FeedConnection) -> None:
        machine, recorder, frame_kind, turn = self.machine, self._recorder, RecordKind.FRAME, self._turn
        since = last = 0  # when this began to read without a pause, and when the last frame came
        while True:
            frame = await connection.receive()
            with turn:
                at = self._input(frame_kind, number, frame)
                commands = machine.frame(number, frame, at)
            if at.monotonic - last > IDLE_NS:
                since = at.monotonic
            last = at.monotonic
            if commands:
                self._do(commands)
            if recorder.lagging:  # reading no more makes the venue wait, and memory does not grow with a slow disk
                await recorder.settle()
            if at.monotonic - since > SLICE_NS:
                time.sleep(PAUSE_S)  # noqa: ASYNC251  # gives up the interpreter's lock, which sleep(0) need not
                await asyncio.sleep(0)
                since = self._clock.monotonic()

    async def _write(self, connection: FeedConnection, outbox: asyncio.Queue[Frame]) -> None:
        with contextlib.suppress(ConnectionClosedError):  # the reader gets the same error and reports it
            while True:
                await connection.send(await outbox.get())

    async def _ask(self, number: int, request: Request) -> None:
        self._recorder.record(RecordKind.ASKED, self._now(), number, asked(request))
        answer = await self._rest.ask(request)
        with self._turn:
            at = self._input(RecordKind.ANSWERED, number, answered(answer))
            commands = self.machine.answered(number, answer, at)
        self._do(commands)

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(self._pass_s)
            if self.passing is not None:
                self.passing()
            with self._turn:
                commands = self.machine.passed(self._input(RecordKind.PASSED))
            self._do(commands)
            self._checkpoint(self._checkpoint_s)

    def _checkpoint(self, after_s: float = 0.0) -> None:
        """Record the digest of the machine's state, unless that was done less than so many seconds ago."""
        if self._digest is not None and self._now().monotonic - self._checked >= after_s * 1e9:
            with self._turn:
                at = self._now()
                self._recorder.record(RecordKind.CHECKPOINT, at, 0, self._digest())
            self._checked = at.monotonic


class Live(MachineRunner[Ingest]):
    """A feed that runs, from entering the context to leaving it; its arguments are those of :class:`MachineRunner`."""

    @property
    def name(self) -> str:
        """See :class:`MachineRunner`."""
        return f"feed of {self.machine.feed.venue}"

    @property
    def _venue(self) -> VenueAddresses:
        return self.machine.feed

    def enter(self, kind: RecordKind, payload: Frame) -> None:
        """Tell the machine an input of the caller's own, from any thread; it is recorded first.

        Args:
            kind: what sort of input it is, such as an agent's decision.
            payload: the input, as a tape holds it.

        Raises:
            VenueError: the feed has ended.
        """
        self.check()
        with self._turn:
            at = self._input(kind, 0, payload)
            commands = tellers(self.machine)[kind](Record(0, kind, at, 0, payload))
        self._call(lambda: self._do(commands))

    def refresh(self, symbols: Sequence[str]) -> None:
        """Ask the venue for fresher values of these symbols; returns at once, from any thread."""
        wanted = list(symbols)
        self._call(lambda: self._refresh(wanted))

    def _died(self) -> None:
        """See :class:`MachineRunner`: nothing comes any more, which readers of the state must see."""
        self.machine.state.lost(self.machine.feed.symbols, self._now())

    def _refresh(self, symbols: list[str]) -> None:
        if not self._end.is_set():
            self._group.create_task(self._refreshed(symbols))  # as a task, so that its errors end the feed too

    async def _refreshed(self, symbols: list[str]) -> None:
        self._do(self.machine.refresh(symbols, self._input(RecordKind.REFRESHED, 0, json.dumps(symbols))))
