"""Running a live market's machine: a thread that carries out its commands and records every input before it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from openfingym.errors import ConnectionClosedError, OpenFinGymError, VenueError
from openfingym.market.clock import Clock, SystemClock
from openfingym.market.commands import Ask, Close, Command, Connect, Instant, Send, Tell, ending
from openfingym.market.feed import Frame, Request
from openfingym.market.ingest import Ingest
from openfingym.market.rest import RestClient
from openfingym.market.tape import NoRecorder, Recorder, RecordKind, answered, asked, told
from openfingym.market.transport import AiohttpTransport, Connection, Transport

PASS_S = 0.1
"""Seconds between two calls of the machine that say that time has passed."""
SLICE_NS = 1_000_000
"""After this long of reading without a pause, others have a turn: without it a thread that wants to read the state
waits for the interpreter's switch interval of 5 ms."""
PAUSE_S = 20e-6
IDLE_NS = 200_000
"""Frames further apart than this were waited for, so that others had their turn."""
STOP_S = 5.0
_instant: Callable[[type[Instant], tuple[int, int]], Instant] = tuple.__new__  # in half the time of Instant(...)


class Live:
    """A feed that runs, from entering the context to leaving it.

    Args:
        machine: what is told, and asks; nobody else may call it while this runs.
        transport: makes the way to connect, in the thread.
        recorder: told of every input.
        clock: time.
        tell: called in the thread with what people should know; must return soon.
    """

    def __init__(
        self,
        machine: Ingest,
        *,
        transport: Callable[[], Transport] = AiohttpTransport,
        recorder: Recorder | None = None,
        clock: Clock | None = None,
        tell: Callable[[Tell], None] | None = None,
    ) -> None:
        self.machine = machine
        self._make_transport = transport
        self._recorder = recorder or NoRecorder()
        self._clock = clock or SystemClock()
        self._tell = tell
        self._thread = threading.Thread(target=self._run, name=f"market {machine.feed.venue}", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = threading.Event()
        self._end = asyncio.Event()
        self._error: BaseException | None = None
        self._outboxes: dict[int, asyncio.Queue[Frame]] = {}
        self._readers: dict[int, asyncio.Task[None]] = {}
        self._asking: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def check(self) -> None:
        """Return if the feed works, or may again.

        Raises:
            VenueError: it will not, with the reason.
        """
        if self._error is not None:
            if isinstance(self._error, OpenFinGymError):
                raise VenueError(f"The feed of {self.machine.feed.venue} has stopped: {self._error}") from self._error
            raise VenueError(f"The feed of {self.machine.feed.venue} has stopped: {self._error!r}") from self._error
        if self.machine.failed:
            raise VenueError(f"The feed has stopped for good: {self.machine.failed}. Mend this and start it again.")

    def refresh(self, symbols: Sequence[str]) -> None:
        """Ask the venue for fresher values of these symbols; returns at once, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # it ended between the two lines
                self._loop.call_soon_threadsafe(self._refresh, list(symbols))

    def stop(self) -> None:
        """Close every connection and wait for the thread; a second call does nothing.

        Raises:
            VenueError: it does not end.
        """
        if self._loop is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(STOP_S)
            if self._thread.is_alive():
                raise VenueError(f"The feed of {self.machine.feed.venue} did not end within {STOP_S:g} s.")

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # a thread has nobody above it: whoever reads is told by check()
            self._error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
            machine = self.machine
            machine.state.lost(machine.feed.symbols, self._now())
        finally:
            self._begun.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun.set()
        transport, rest = self._make_transport(), RestClient(self.machine.feed.rest())
        self._transport, self._rest = transport, rest
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                self._do(self.machine.start(self._input(RecordKind.START)))
                ticking = group.create_task(self._tick())
                await self._end.wait()
                ticking.cancel()
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
                        self._tell(command)

    async def _link(self, number: int) -> None:
        """A connection, from its opening to its end."""
        connection: Connection | None = None
        try:
            connection = await self._transport.connect(self.machine.feed.stream())
            self._do(self.machine.opened(number, self._input(RecordKind.OPENED, number)))
            writer = self._group.create_task(self._write(connection, self._outboxes[number]))
            try:
                await self._read(number, connection)
            finally:
                writer.cancel()
        except ConnectionClosedError as error:
            self._readers.pop(number, None)
            reason = ending(str(error), error.retry_after_s)
            self._do(self.machine.closed(number, reason, self._input(RecordKind.CLOSED, number, reason)))
        finally:
            self._outboxes.pop(number, None)
            if connection is not None:
                await connection.close()

    async def _read(self, number: int, connection: Connection) -> None:
        machine, recorder, frame_kind = self.machine, self._recorder, RecordKind.FRAME
        since = last = 0
        while True:
            frame = await connection.receive()
            at = self._input(frame_kind, number, frame)
            if at.monotonic - last > IDLE_NS:
                since = at.monotonic
            last = at.monotonic
            commands = machine.frame(number, frame, at)
            if commands:
                self._do(commands)
            if recorder.lagging:
                await recorder.settle()
            if at.monotonic - since > SLICE_NS:
                time.sleep(PAUSE_S)  # noqa: ASYNC251  # gives up the interpreter's lock, which sleep(0) need not
                await asyncio.sleep(0)
                since = self._clock.monotonic()

    async def _write(self, connection: Connection, outbox: asyncio.Queue[Frame]) -> None:
        with contextlib.suppress(ConnectionClosedError):  # the reader is told as well
            while True:
                await connection.send(await outbox.get())

    async def _ask(self, number: int, request: Request) -> None:
        self._recorder.record(RecordKind.ASKED, self._now(), number, asked(request))
        answer = await self._rest.ask(request)
        self._do(self.machine.answered(number, answer, self._input(RecordKind.ANSWERED, number, answered(answer))))

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(PASS_S)
            self._do(self.machine.passed(self._input(RecordKind.PASSED)))

    def _refresh(self, symbols: list[str]) -> None:
        if not self._end.is_set():
            self._group.create_task(self._refreshed(symbols))  # as a task, so that its errors end the feed too

    async def _refreshed(self, symbols: list[str]) -> None:
        self._do(self.machine.refresh(symbols, self._input(RecordKind.REFRESHED, 0, json.dumps(symbols))))
