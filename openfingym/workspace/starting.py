"""Starting a workspace: a job whose program is ours, and the socket through which that program calls back."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import OpenFinGymError, RuntimeFailureError, UsageError
from openfingym.machine import ISOLATING, require_socket_path
from openfingym.workspace import frames
from openfingym.workspace.job_thread import JobThread
from openfingym.workspace.workspace import Workspace, last_words

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym_runtime.gate.gate import Gate
    from openfingym_runtime.job import Backend, Job, Limits

SOCKET_NAME = "workspace.sock"
PROGRAM = """
from openfingym_agent.workspace import serve

serve()
"""
PROTOCOL = 1
"""Version of the messages that both sides must speak."""
START_S = 120.0
"""Longest wait for the first answer of a workspace; on a busy machine that takes long."""
STARTING_LIMIT_S = 150.0
"""Time that a job gets in addition to the rollout's, so that starting costs the rollout nothing."""


@contextlib.asynccontextmanager
async def open_workspace(
    backend: Backend, package: BuiltPackage, gate: Gate, *, seed: int, limits: Limits, rollout_id: str
) -> AsyncIterator[Workspace]:
    """A workspace for one rollout, which is started at the beginning of the block and ended with it.

    Args:
        backend: the backend that isolates programs, ``docker`` or ``sandbox``.
        package: the built package of the task.
        gate: the open gate of the rollout; ending the workspace leaves it open.
        seed: seed of the programs, which find it in ``OPENFINGYM_SEED``.
        limits: limits of the workspace as a whole: its time, and the memory, processes and disk of everything in it.
            Only the limit on output is for each program.
        rollout_id: id of the rollout that the workspace is for.

    Raises:
        UsageError: the backend is ``inline``, which isolates nothing.
        RuntimeFailureError: the workspace could not be started, or ended for a reason that is not the agent's.
    """
    job = job_of(
        backend,
        package,
        gate.directory,
        limits=replace(limits, timeout_s=limits.timeout_s + STARTING_LIMIT_S),
        rollout_id=rollout_id,
    )
    async with await start(backend, job) as workspace:
        workspace.assign(rollout_id, seed=seed, timeout_s=limits.timeout_s)
        yield workspace


def job_of(backend: Backend, package: BuiltPackage, directory: Path, *, limits: Limits, rollout_id: str) -> Job:
    """The job of a workspace.

    Args:
        backend: the backend that will run it, which knows what programs can import.
        package: the built package of the task.
        directory: folder of the rollout's gate, in which the workspace's socket is made too.
        limits: limits of the job.
        rollout_id: id of the rollout, or for a workspace that has none yet another name.
    """
    from openfingym_runtime.job import Job

    return Job(
        rollout_id=rollout_id,
        program=PROGRAM,
        task_files=package.agent_view(backend.libraries()),
        gate_directory=directory,
        limits=limits,
    )


async def start(backend: Backend, job: Job) -> Workspace:
    """Start a workspace, and wait until it has called back.

    Raises:
        UsageError: the backend is ``inline``, which isolates nothing.
        RuntimeFailureError: the workspace cannot be started, or does not answer.
    """
    # An agent's own code is never run without isolation.
    if backend.name not in ISOLATING:
        raise UsageError(f"backend {backend.name!r} isolates nothing; a workspace needs one of: {', '.join(ISOLATING)}")
    path = job.gate_directory / SOCKET_NAME
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        _listen(listener, path)
        try:
            thread = JobThread(backend, job)
            try:
                async with asyncio.timeout(START_S):
                    reader, writer = await _connection(listener, thread)
            except TimeoutError:
                await _abandon(thread)
                raise RuntimeFailureError(f"the workspace did not start within {START_S:.0f} s") from None
            except BaseException:
                await _abandon(thread)
                raise
        finally:
            # The first to call is our program. The agent's come later, and find no socket to call.
            path.unlink(missing_ok=True)
    return Workspace(thread, reader, writer)


def _listen(listener: socket.socket, path: Path) -> None:
    require_socket_path(path)
    try:
        listener.setblocking(False)
        listener.bind(str(path))
        path.chmod(0o666)  # the user inside is another one, and to connect takes the right to write
        listener.listen(1)
    except OSError as error:
        raise RuntimeFailureError(f"{path}: cannot listen there ({error})") from error


async def _connection(listener: socket.socket, thread: JobThread) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The connection of the program inside, once it has said that it speaks our protocol."""
    call = asyncio.ensure_future(_called(listener))
    end = asyncio.ensure_future(thread.finished())
    try:
        try:
            await asyncio.wait((call, end), return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                raise RuntimeFailureError(f"the workspace's program ended before it called: {last_words(end.result())}")
        finally:
            for waiting in (call, end):
                waiting.cancel()
            await asyncio.gather(call, end, return_exceptions=True)
    except BaseException:
        # The program may have called at the very moment in which the wait was given up.
        if call.done() and not call.cancelled() and call.exception() is None:
            call.result().close()
        raise
    reader, writer = await asyncio.open_unix_connection(sock=call.result())
    try:
        (await frames.receive(reader, frames.ENVELOPE_BYTES)).integer("protocol", PROTOCOL, PROTOCOL)
    except BaseException as error:
        writer.transport.abort()
        if isinstance(error, (EOFError, OSError, frames.WorkspaceFrameError)):
            raise RuntimeFailureError(
                f"the workspace's program did not greet with protocol {PROTOCOL}: {error}"
            ) from error
        raise
    return reader, writer


async def _called(listener: socket.socket) -> socket.socket:
    """The first connection. Unlike with asyncio's ``sock_accept``, none is lost if the wait for it is cancelled."""
    loop, calls = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listener, calls.set)
    try:
        await calls.wait()
    finally:
        loop.remove_reader(listener)
    return listener.accept()[0]


async def _abandon(thread: JobThread) -> None:
    """End a job that came to nothing; its own error is not raised, since the reason is known already."""
    thread.cancel()
    with contextlib.suppress(OpenFinGymError):
        await thread.finished()
