"""Workspaces that are started before their rollouts exist, so that a rollout need not wait for its container.

A waiting workspace uses no processor time: its program waits for bytes from its socket. It has the folder of a gate,
but no gate, no token and no rollout. These come when it is taken, and no workspace is ever used for a second rollout.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.workspace.starting import STARTING_LIMIT_S, job_of, start
from openfingym.workspace.workspace import Workspace

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.verifiers.client import RolloutTicket
    from openfingym_runtime.gate.gate import GateKeeper
    from openfingym_runtime.job import Backend, Limits

WAITING_S = 6 * 3600.0
"""Longest time that a workspace may wait in the pool. Its job gets this in addition to the rollout's own time, and a
workspace that has used it up is replaced."""
FIRST_PAUSE_S = 0.5
"""Pause after a start has failed; it doubles with each further failure."""
LONGEST_PAUSE_S = 30.0


@dataclass
class _Shelf:
    """The workspaces of one task: those that wait for rollouts, and the rollouts that wait for one."""

    package: BuiltPackage
    limits: Limits
    expected: int = 0
    """Rollouts that are still to come."""
    waiting: deque[Workspace] = field(default_factory=deque)
    """Workspaces that are started and not yet taken."""
    starting: int = 0
    """Number of workspaces that are being started."""
    takers: deque[asyncio.Future[Workspace]] = field(default_factory=deque)
    """Rollouts that wait for a workspace, the one that has waited longest first."""


class WorkspacePool:
    """Keeps workspaces started for rollouts that are to come; use it as an asynchronous context manager.

    How many are started for a task follows from :meth:`expect`. For a rollout that was not announced, a workspace is
    started when it asks. All methods must be called on the event loop that entered the pool.
    """

    def __init__(self, backend: Backend, gates: GateKeeper, *, size: int, starts: int | None = None) -> None:
        """Set up the pool; no workspace is started yet.

        Args:
            backend: the backend that isolates programs, ``docker`` or ``sandbox``.
            gates: the gate keeper that opens the gates of the rollouts; it must outlive the pool.
            size: largest number of workspaces that wait or are being started for no particular rollout, over all tasks.
            starts: largest number of these that are being started at once; by default one for each processor.

        Raises:
            UsageError: ``size`` or ``starts`` is less than 1.
        """
        self._size = size
        self._starts = (os.cpu_count() or 1) if starts is None else starts
        if self._size < 1 or self._starts < 1:
            raise UsageError(f"a pool needs room for one workspace and one start, found size={size}, starts={starts}")
        self._backend = backend
        self._gates = gates
        self._shelves: dict[str, _Shelf] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._pause_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """Workspaces that are ready to be taken."""
        return sum(len(shelf.waiting) for shelf in self._shelves.values())

    def expect(self, package: BuiltPackage, rollouts: int, *, limits: Limits) -> None:
        """Announce rollouts of a task, in addition to those announced before; a negative number takes some back.

        Args:
            package: the built package of the task.
            rollouts: number of further rollouts that will ask for a workspace.
            limits: limits of each of their workspaces, with the meaning that they have in :func:`open_workspace`. Those
                of a task's first announcement hold for all of its workspaces.
        """
        shelf = self._shelves.setdefault(package.manifest.digest, _Shelf(package, limits))
        shelf.expected = max(0, shelf.expected + rollouts)
        self._refill()

    async def take(
        self, ticket: RolloutTicket, *, seed: int, max_body_bytes: int | None = None, max_calls: int | None = None
    ) -> Workspace:
        """Return a workspace for a rollout, with its gate open; closing the workspace closes the gate.

        Args:
            ticket: the ticket of the rollout, whose task was announced.
            seed: seed of the programs, which find it in ``OPENFINGYM_SEED``.
            max_body_bytes: length in bytes of the longest request body that programs may send; None for the gate's own
                bound.
            max_calls: largest number of calls that programs may make; None for the gate's own bound.

        Raises:
            UsageError: the task was never announced, or the pool is closed.
            RuntimeFailureError: no workspace can be started.
        """
        from openfingym_runtime.gate.gate import MAX_BODY_BYTES, MAX_CALLS

        shelf = self._shelves.get(ticket.task_digest)
        if shelf is None or self._closed:
            raise UsageError(
                "the pool is closed" if self._closed else f"no rollout of {ticket.task!r} was announced to the pool"
            )
        shelf.expected = max(0, shelf.expected - 1)
        workspace = await self._next(shelf)
        try:
            workspace.gate = self._gates.open(
                rollout_id=ticket.rollout_id,
                token=ticket.token,
                directory=workspace.directory,
                max_body_bytes=MAX_BODY_BYTES if max_body_bytes is None else max_body_bytes,
                max_calls=MAX_CALLS if max_calls is None else max_calls,
            )
            workspace.cleanup.callback(workspace.gate.close)
            workspace.assign(ticket.rollout_id, seed=seed, timeout_s=shelf.limits.timeout_s)
        except BaseException:
            await _discard(workspace)
            raise
        return workspace

    async def close(self) -> None:
        """End every workspace that waits or is being started; those that were taken stay open."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for shelf in self._shelves.values():
            while shelf.waiting:
                self._spawn(_discard(shelf.waiting.popleft()))
            while shelf.takers:
                self._fail_first_taker(shelf, UsageError("the pool was closed"))
        for task in self._starting:
            task.cancel()
        # Tasks may begin others as they end: a workspace that has just started is discarded.
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _next(self, shelf: _Shelf) -> Workspace:
        """A workspace that waits, or the next one that is started."""
        while shelf.waiting:
            workspace = shelf.waiting.popleft()
            self._refill()
            # If it has waited too long, its job's own time would be over before the rollout's.
            if workspace.alive and workspace.age_s < WAITING_S:
                return workspace
            self._spawn(_discard(workspace))
        taker: asyncio.Future[Workspace] = asyncio.get_running_loop().create_future()
        shelf.takers.append(taker)
        self._refill()
        try:
            return await taker
        except asyncio.CancelledError:
            if taker in shelf.takers:
                shelf.takers.remove(taker)
            elif not taker.cancelled() and taker.exception() is None:
                # Cancelled just as its workspace was ready: another rollout gets it.
                self._put(shelf, taker.result())
            raise

    def _put(self, shelf: _Shelf, workspace: Workspace) -> None:
        """Give a started workspace to the rollout that has waited longest; if none waits, let the workspace wait."""
        while shelf.takers:
            taker = shelf.takers.popleft()
            if not taker.done():
                taker.set_result(workspace)
                return
        if self._closed:
            self._spawn(_discard(workspace))
        else:
            shelf.waiting.append(workspace)

    def _refill(self) -> None:
        """Start the workspaces that are missing: first for rollouts that wait, then for those that are to come."""
        if self._closed:
            return
        for shelf in self._shelves.values():
            takers = sum(not taker.done() for taker in shelf.takers)
            # Rollouts that wait get theirs whatever the pool's size, which bounds only workspaces for no one yet.
            for _ in range(takers - shelf.starting):
                self._begin(shelf)
        for shelf in self._shelves.values():
            while self._room() and len(shelf.waiting) + shelf.starting < shelf.expected + len(shelf.takers):
                self._begin(shelf)

    def _room(self) -> bool:
        """Whether a workspace may be started for no particular rollout."""
        starting = sum(shelf.starting for shelf in self._shelves.values())
        return self._timer is None and starting < self._starts and self.waiting + starting < self._size

    def _begin(self, shelf: _Shelf) -> None:
        shelf.starting += 1
        task = self._spawn(self._start(shelf))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start(self, shelf: _Shelf) -> None:
        try:
            workspace = await self._started(shelf)
        except Exception as error:  # whatever it is, a rollout that waits must learn of it
            self._fail_first_taker(shelf, error)
            self._pause()
        else:
            self._pause_s = 0.0
            self._put(shelf, workspace)
        finally:
            shelf.starting -= 1
            self._refill()

    async def _started(self, shelf: _Shelf) -> Workspace:
        """Start a workspace that belongs to no rollout yet; if it ends while it waits, it is replaced."""
        directory = self._gates.reserve()
        # The job's own time passes while the workspace waits; the rollout's limit is set by assign().
        limits = replace(shelf.limits, timeout_s=shelf.limits.timeout_s + WAITING_S + STARTING_LIMIT_S)
        name = f"waiting-{secrets.token_hex(8)}"
        try:
            workspace = await start(
                self._backend, job_of(self._backend, shelf.package, directory, limits=limits, rollout_id=name)
            )
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        workspace.cleanup.callback(shutil.rmtree, directory, ignore_errors=True)
        workspace.when_ended(lambda: self._lost(shelf, workspace))
        return workspace

    def _lost(self, shelf: _Shelf, workspace: Workspace) -> None:
        """Replace a workspace that has ended, if it was still waiting."""
        if workspace in shelf.waiting:
            shelf.waiting.remove(workspace)
            self._spawn(_discard(workspace))
            self._pause()

    def _fail_first_taker(self, shelf: _Shelf, error: Exception) -> None:
        """Raise an error in the rollout that has waited longest for a workspace, if one waits."""
        while shelf.takers:
            taker = shelf.takers.popleft()
            if not taker.done():
                taker.set_exception(error)
                return

    def _pause(self) -> None:
        """Start no workspace for a while, except for rollouts that wait: to try again at once would only keep the
        machine busy.
        """
        if self._timer is None:
            self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
            self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._go_on)

    def _go_on(self) -> None:
        self._timer = None
        self._refill()

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _discard(workspace: Workspace) -> None:
    """End a workspace that nobody has used; how it ended is of no interest."""
    with contextlib.suppress(OpenFinGymError):
        await workspace.close()
