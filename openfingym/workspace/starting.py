"""Starting a workspace: a job whose program is ours, and the socket it calls back on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import OpenFinGymError, RuntimeFailureError, UsageError
from openfingym.machine import ISOLATING
from openfingym.workspace import frames
from openfingym.workspace.job_thread import JobThread
from openfingym.workspace.workspace import Workspace, last_words

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym_runtime.gate import Gate
    from openfingym_runtime.job import Backend, Job, Limits

SOCKET_NAME = "workspace.sock"
SOCKET_PATH_BYTES = 107
"""Longest path of a unix socket on Linux, its final NUL left out."""
PROGRAM = """
from openfingym_agent.workspace import serve

serve()
"""
PROTOCOL = 1
START_S = 120.0
"""Longest wait for a workspace to answer for the first time, on a busy machine."""
STARTING_LIMIT_S = 150.0
"""What a job gets beside the rollout's time, so that starting costs the rollout nothing."""


@contextlib.asynccontextmanager
async def open_workspace(
    backend: Backend, package: BuiltPackage, gate: Gate, *, seed: int, limits: Limits, rollout_id: str
) -> AsyncIterator[Workspace]:
    """A workspace of one rollout, which is started at the beginning of the block and ended with it.

    Args:
        backend: the backend that isolates programs, ``docker`` or ``sandbox``.
        package: the built package of the task.
        gate: the open gate of the rollout; ending the workspace leaves it open.
        seed: seed of the programs, which find it in ``OPENFINGYM_SEED``.
        limits: limits of the workspace as a whole: its time, and the memory, processes and disk of everything in it;
            output is of each program.
        rollout_id: id of the rollout that the workspace is for.

    Raises:
        UsageError: the backend is ``inline``, which isolates nothing.
        RuntimeFailureError: the workspace could not be started, or was ended by no doing of the agent's.
    """
    job = job_of(
        package,
        gate.directory,
        limits=replace(limits, timeout_s=limits.timeout_s + STARTING_LIMIT_S),
        rollout_id=rollout_id,
    )
    async with await start(backend, job) as workspace:
        workspace.assign(rollout_id, seed=seed, timeout_s=limits.timeout_s)
        yield workspace


def job_of(package: BuiltPackage, directory: Path, *, limits: Limits, rollout_id: str) -> Job:
    """The job of a workspace."""
    from openfingym_runtime.job import Job

    return Job(
        rollout_id=rollout_id, program=PROGRAM, task_files=package.agent_view(), gate_directory=directory, limits=limits
    )


async def start(backend: Backend, job: Job) -> Workspace:
    """Start a workspace, and wait until it answers.

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
            # Whoever is first is our program: the agent's come later, and find no door.
            path.unlink(missing_ok=True)
    return Workspace(thread, reader, writer)


def _listen(listener: socket.socket, path: Path) -> None:
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES:
        raise RuntimeFailureError(
            f"{path}: too long for a unix socket; set XDG_RUNTIME_DIR to a folder with a short path"
        )
    try:
        listener.setblocking(False)
        listener.bind(str(path))
        path.chmod(0o666)  # the user inside is another one
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
        # It may have called in the moment in which nobody wants it any more.
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
    """The first connection; unlike with asyncio's ``sock_accept``, none is lost when the wait for it is cancelled."""
    loop, calls = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listener, calls.set)
    try:
        await calls.wait()
    finally:
        loop.remove_reader(listener)
    return listener.accept()[0]


async def _abandon(thread: JobThread) -> None:
    """End a job that came to nothing; why is known already."""
    thread.cancel()
    with contextlib.suppress(OpenFinGymError):
        await thread.finished()
