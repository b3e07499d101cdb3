"""One workspace: programs run one after another in the same container or sandbox, and files stay between them.

Nothing here isolates anything. A workspace is one ordinary job of a backend, whose program is ours and
does what this side asks for over a unix socket beside the gate's. The agent's programs run beside it with the
same rights, so whatever comes back is parsed strictly, and at worst spoils that agent's own run.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from openfingym.errors import RuntimeFailureError, UsageError
from openfingym.workspace import frames
from openfingym.workspace.answers import (
    ENTRY_BYTES,
    MAX_ENTRIES,
    EndedBy,
    Execution,
    FolderEntry,
    WorkspaceError,
    entries,
    execution,
    refusal,
)
from openfingym.workspace.job_thread import JobThread

if TYPE_CHECKING:
    from openfingym_runtime.gate.gate import Gate
    from openfingym_runtime.job import Outcome

MAX_CODE_BYTES = 1024 * 1024
MAX_FILE_BYTES = 8 * 1024 * 1024
ANSWER_S = 30.0
"""Longest wait for an answer, in addition to the time that a program may take."""
STOP_S = 5.0
"""How long a workspace may take to end by itself before its job is cancelled."""
_DEATHS: Mapping[str, EndedBy] = {"timeout": "timeout", "memory": "memory", "output": "output"}
"""Ends of the workspace's own job that say why a program in it ended; every other end counts as ``killed``."""
_REASONS: Mapping[EndedBy, str] = {
    "timeout": "its time is up",
    "memory": "it ran out of memory",
    "output": "it printed too much",
    "killed": "a program ended it",
}

T = TypeVar("T")


class _EndedError(Exception):
    """The workspace ended during a request, which was the agent's doing."""


class Workspace:
    """A started workspace; made by :func:`open_workspace` or :meth:`WorkspacePool.take`.

    One request at a time is served; others wait. A request that is cancelled while it is served ends the workspace.
    """

    gate: Gate | None = None
    """The rollout's gate, which is closed with the workspace; None unless the workspace came from a pool."""

    def __init__(self, job: JobThread, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take over a job whose program has called back through ``reader`` and ``writer``."""
        self.cleanup = contextlib.ExitStack()
        """Closed when the workspace has ended."""
        self._job = job
        self._reader = reader
        self._writer = writer
        self._born = time.monotonic()
        self._environment: Mapping[str, str] = {}
        self._deadline = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._lock = asyncio.Lock()
        self._number = 0
        self._used = False
        self._fault: str | None = None
        self._expired = False
        self._closing: asyncio.Task[Outcome] | None = None

    @property
    def alive(self) -> bool:
        """Whether requests are served."""
        running = not self._job.done and not self._job.job.cancel.is_set()
        return running and self._closing is None and not self._reader.at_eof()

    @property
    def ended(self) -> Outcome | None:
        """How the container or sandbox ended; None while it runs, and if the machinery failed."""
        outcome = self._job.outcome
        # A workspace whose time is up is ended by cancelling its job.
        return (
            replace(outcome, ended_by="timeout")
            if outcome and self._expired and outcome.ended_by == "cancelled"
            else outcome
        )

    @property
    def directory(self) -> Path:
        """Folder on the host that is shown at ``/run/openfingym``."""
        return self._job.job.gate_directory

    @property
    def age_s(self) -> float:
        """Seconds since the workspace was started."""
        return time.monotonic() - self._born

    def when_ended(self, call: Callable[[], object]) -> None:
        """Have ``call`` called by the event loop when the program has ended."""
        loop = asyncio.get_running_loop()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody is left to tell
                loop.call_soon_threadsafe(call)

        self._job.when_done(tell)

    def assign(self, rollout_id: str, *, seed: int, timeout_s: float) -> None:
        """Give the workspace to a rollout.

        Args:
            rollout_id: id of the rollout, which programs find in ``OPENFINGYM_ROLLOUT``.
            seed: seed of the programs, which find it in ``OPENFINGYM_SEED``.
            timeout_s: seconds that the rollout has from now on.
        """
        self._environment = {"OPENFINGYM_ROLLOUT": rollout_id, "OPENFINGYM_SEED": str(seed)}
        self._deadline = time.monotonic() + timeout_s
        self._timer = asyncio.get_running_loop().call_later(timeout_s, self._expire)

    async def run_python(self, code: str, *, timeout_s: float) -> Execution:
        """Run a program in ``/work``, and end every process that it leaves behind.

        Args:
            code: source text of the program.
            timeout_s: seconds that the program may take; it gets no more than the workspace has left.

        Raises:
            UsageError: ``timeout_s`` is not a positive number.
            WorkspaceError: the program is too long, there is no room to store it, or the workspace has ended.
            RuntimeFailureError: the workspace ended for a reason that is not the agent's.
        """
        if not 0 < timeout_s < math.inf:
            raise UsageError(f"timeout_s must be a positive number of seconds, found {timeout_s}")
        content = code.encode("utf-8", "surrogatepass")
        if len(content) > MAX_CODE_BYTES:
            raise WorkspaceError(f"the program has {len(content)} bytes; at most {MAX_CODE_BYTES}", problem="too-large")
        seconds = max(0.0, min(timeout_s, self._deadline - time.monotonic()))
        limit = self._job.job.limits.output_bytes
        request = {
            "do": "run",
            "code": base64.b64encode(content).decode(),
            "timeout_s": seconds,
            "output_bytes": limit,
            "environment": {**self._environment, "OPENFINGYM_DEADLINE": f"{time.time() + seconds:.3f}"},
        }
        started = time.monotonic()
        try:
            answer = await self._ask(
                request, frames.room_for(limit), seconds + ANSWER_S, lambda fields: execution(fields, limit)
            )
        except _EndedError:
            return Execution("", self._death(), None, time.monotonic() - started, truncated=False)
        return replace(answer, wall_s=time.monotonic() - started)

    async def read_file(self, path: str, *, max_bytes: int = 65536) -> bytes:
        """Read a file, with the agent's own rights.

        Args:
            path: path of the file, absolute or relative to ``/work``.
            max_bytes: length in bytes of the longest file that is read, at most :data:`MAX_FILE_BYTES`.

        Raises:
            UsageError: ``max_bytes`` is out of range.
            WorkspaceError: the file does not exist, is too large or is not a regular file; or the workspace has ended.
            RuntimeFailureError: the workspace ended for a reason that is not the agent's.
        """
        if not 0 <= max_bytes <= MAX_FILE_BYTES:
            raise UsageError(f"max_bytes must be from 0 to {MAX_FILE_BYTES}, found {max_bytes}")
        request = {"do": "read", "path": _path(path), "max_bytes": max_bytes}
        return await self._do(request, frames.room_for(max_bytes), lambda answer: answer.content("content", max_bytes))

    async def write_file(self, path: str, content: bytes) -> None:
        """Write a file whole or not at all, making the folders above it.

        Args:
            path: path of the file, relative to ``/work`` or absolute and below it.
            content: content of the file, at most :data:`MAX_FILE_BYTES` bytes.

        Raises:
            WorkspaceError: the path leads out of ``/work`` or to a folder, the content is too large, or the disk is
                full; or the workspace has ended.
            RuntimeFailureError: the workspace ended for a reason that is not the agent's.
        """
        place = PurePosixPath("/work", _path(path))
        # Checked here for a clear message only: the isolation itself lets nothing else be written.
        if ".." in place.parts or not place.is_relative_to("/work") or place == PurePosixPath("/work"):
            raise WorkspaceError(f"{path!r} is not below /work, where files can be written", problem="outside")
        if len(content) > MAX_FILE_BYTES:
            raise WorkspaceError(f"the file has {len(content)} bytes; at most {MAX_FILE_BYTES}", problem="too-large")
        request = {
            "do": "write",
            "path": str(place.relative_to("/work")),
            "content": base64.b64encode(content).decode(),
        }
        await self._do(request, frames.room_for(0), lambda answer: answer.values["done"])

    async def list_files(self, path: str = ".") -> list[FolderEntry]:
        """The entries of a folder, sorted by name; links are not followed.

        Args:
            path: path of the folder, absolute or relative to ``/work``.

        Raises:
            WorkspaceError: the folder does not exist or has more than :data:`MAX_ENTRIES` entries; or the workspace has
                ended.
            RuntimeFailureError: the workspace ended for a reason that is not the agent's.
        """
        request = {"do": "list", "path": _path(path)}
        return await self._do(request, frames.room_for(ENTRY_BYTES * MAX_ENTRIES), entries)

    async def close(self) -> Outcome:
        """End everything that runs in the workspace, and return when nothing is left; a second call does no harm.

        Raises:
            RuntimeFailureError: the machinery failed, now or before.
        """
        if self._closing is None:
            # A task of its own, so that closing goes on if the caller is cancelled.
            self._closing = asyncio.ensure_future(self._close(self._job.done))
            # Looks at the error, which a cancelled caller does not; asyncio would complain that nobody did.
            self._closing.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            return await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._job.cancel()
            await asyncio.wait([self._closing])
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
            return
        with contextlib.suppress(RuntimeFailureError):  # the error of the block is the one to report
            await self.close()

    async def _close(self, was_over: bool) -> Outcome:
        """End the job; ``was_over`` says whether it had ended before."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            self._writer.transport.abort()  # the program inside ends when this side hangs up
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()
            outcome = await self._job.finished(STOP_S)
            # A program that ends with 0 now has just been hung up on; any other end needs somebody at fault.
            if was_over or outcome.exit_code != 0:
                await self._judge()
        finally:
            self.cleanup.close()
        ended = self.ended
        assert ended is not None
        return ended

    async def _do(self, request: Mapping[str, object], room: int, parse: Callable[[frames.Fields], T]) -> T:
        try:
            return await self._ask(request, room, ANSWER_S, parse)
        except _EndedError:
            raise self._no_more() from None

    async def _ask(
        self, request: Mapping[str, object], room: int, wait_s: float, parse: Callable[[frames.Fields], T]
    ) -> T:
        """Send a request and return what its answer says.

        Args:
            request: the fields of the request, without its number.
            room: length in bytes of the longest answer that is accepted.
            wait_s: seconds to wait for the answer.
            parse: reads the answer, and raises :class:`~openfingym.workspace.frames.WorkspaceFrameError` if it cannot.

        Raises:
            _EndedError: the workspace ended, which was the agent's doing.
            RuntimeFailureError: the workspace ended for a reason that is not the agent's.
            WorkspaceError: the answer is a refusal.
        """
        async with self._lock:
            if not self.alive:
                if self._closing is None:
                    await self._judge()
                raise self._no_more()
            # Before it is sent: from then on an end of the workspace may be the agent's doing.
            self._used |= request["do"] == "run"
            self._number += 1
            try:
                async with asyncio.timeout(wait_s):
                    await frames.send(self._writer, {"id": self._number, **request})
                    answer = await frames.receive(self._reader, room)
                # A program inside may have sent an answer of its own before; it would be taken for this request's.
                answer.integer("id", self._number, self._number)
                if "refused" in answer:
                    raise refusal(answer)
                return parse(answer)
            except TimeoutError:
                self._spoil(f"it did not answer within {wait_s:.0f} s")
            except (frames.WorkspaceFrameError, KeyError) as error:
                self._spoil(f"it sent {error}")
            except (EOFError, OSError):
                pass  # it is gone, or about to be
            except asyncio.CancelledError:
                # The answer is still to come, and the next request would take it for its own.
                self._spoil("a request was cancelled")
                raise
            await self._judge()
            raise _EndedError

    def _no_more(self) -> WorkspaceError:
        """The error for requests to a workspace that has ended."""
        return WorkspaceError(f"the workspace has ended: {self._fault or _REASONS[self._death()]}", problem="ended")

    def _death(self) -> EndedBy:
        """Why the workspace ended, as the end of a program that ran in it."""
        ended = self.ended
        return _DEATHS.get(ended.ended_by, "killed") if ended is not None else "killed"

    def _spoil(self, fault: str) -> None:
        """End the workspace, whose inside can no longer be relied on."""
        self._fault = fault
        self._job.cancel()

    def _expire(self) -> None:
        self._expired = True
        self._spoil("its time is up")

    async def _judge(self) -> None:
        """Wait for the workspace's end, and return only if the agent may have caused it.

        Raises:
            RuntimeFailureError: the agent did not cause it: none of its code had run, or the backend reports a failure.
        """
        outcome = await self._job.finished(STOP_S)
        if self._fault is not None:
            return
        # Before any program of the agent's ran, an end of the workspace cannot be the agent's doing.
        if not self._used:
            raise RuntimeFailureError(f"the workspace ended before anything was run in it: {last_words(outcome)}")


def _path(path: str) -> str:
    """Return ``path`` if it can be the name of a file.

    Raises:
        WorkspaceError: no file can have this name.
    """
    try:
        usable = path != "" and "\0" not in path and len(path.encode()) < 4096
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise WorkspaceError(f"{path[:100]!a} is no path of a file", problem="bad-path")
    return path


def last_words(outcome: Outcome) -> str:
    """The last line that a program printed, or else how it ended."""
    lines = outcome.output.decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else f"{outcome.ended_by}, status {outcome.exit_code}"
