"""Running code that a model wrote: isolated from this machine, without a network, within limits."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from openfingym.errors import UsageError
from openfingym.workspace.answers import WorkspaceError
from openfingym.workspace.starting import PROGRAM, STARTING_LIMIT_S, start

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from openfingym.workspace.answers import EndedBy
    from openfingym_runtime.job import Backend

MEGABYTE = 1 << 20
T = TypeVar("T")


@dataclass(frozen=True)
class CodeLimits:
    """Limits of a piece of code."""

    timeout_s: float = 20.0
    """Seconds after which it is ended."""
    memory_mb: int = 1024
    storage_mb: int = 64
    """Megabytes that it may write."""
    output_bytes: int = 256 * 1024
    """Bytes that it may print."""
    pids: int = 64
    """Processes and threads that it may have at once."""


@dataclass(frozen=True)
class CodeOutcome:
    """How a piece of code ended. A failure of the machinery that runs it is no outcome: it raises."""

    ended_by: EndedBy
    """What ended it: ``exit`` if it ended by itself, else the limit that it exceeded."""
    exit_code: int | None
    output: str
    """What it printed, on both streams."""
    wall_s: float
    """Seconds that it ran."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Bytes of the files that were to be collected and are there, by name."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Why a file that was to be collected is missing, by name."""

    @property
    def whole(self) -> bool:
        """Whether it ended by itself, without an error."""
        return self.ended_by == "exit" and self.exit_code == 0


def run_in_sandbox(
    code: str,
    files: Mapping[str, bytes] | None = None,
    limits: CodeLimits | None = None,
    *,
    collect: Sequence[str] = (),
    directory: Path | None = None,
) -> CodeOutcome:
    """Run a Python program where it sees neither the network, nor this machine's files, nor its environment.

    NumPy and pandas are there. It runs in ``/work``, which is empty and its own.

    Args:
        code: source of the program.
        files: files by name, which the program finds read-only in ``/task/given/``.
        limits: limits of the program; None for those of :class:`CodeLimits`.
        collect: names of files below ``/work`` that are wanted back, of at most 8 MiB each.
        directory: folder of this machine with a short path, which the program sees as ``/run/openfingym``. A unix
            socket in it is the program's only way out; None for no way out.

    Raises:
        BackendUnavailableError: nothing on this machine can isolate programs.
        RuntimeFailureError: the machinery failed, which says nothing about the code.
    """
    return _in_thread(_run(code, files or {}, limits or CodeLimits(), collect, directory))


async def _run(
    code: str, files: Mapping[str, bytes], limits: CodeLimits, collect: Sequence[str], directory: Path | None
) -> CodeOutcome:
    from openfingym_runtime.job import Job, Limits
    from openfingym_runtime.owned_directory import create, remove

    bounds = Limits(
        timeout_s=limits.timeout_s + STARTING_LIMIT_S,
        memory_mb=limits.memory_mb,
        cpus=1,
        pids=limits.pids,
        storage_mb=limits.storage_mb,
        output_bytes=limits.output_bytes,
    )
    owned = create()
    try:
        given, gate = owned / "given", directory or owned / "g"
        for folder in (given, gate):
            folder.mkdir(exist_ok=True)
            # The program runs as another user, whatever the umask of this process is.
            folder.chmod(0o755)
        for name, content in files.items():
            # A name with a path in it would write elsewhere on this machine.
            if Path(name).name != name:
                raise UsageError(f"{name!r} is no name of a file")
            (given / name).write_bytes(content)
            (given / name).chmod(0o644)
        rollout = f"forge-{secrets.token_hex(6)}"
        job = Job(rollout_id=rollout, program=PROGRAM, task_files={"given": given}, gate_directory=gate, limits=bounds)
        if not collect:
            # Only what it prints is wanted: no workspace has to be started around it.
            ended = await asyncio.to_thread(
                _backend().run, replace(job, program=code, limits=replace(bounds, timeout_s=limits.timeout_s))
            )
            how: EndedBy = "killed" if ended.ended_by == "cancelled" else ended.ended_by
            return CodeOutcome(how, ended.exit_code, ended.output.decode(errors="replace"), ended.wall_s)
        async with await start(_backend(), job) as workspace:
            workspace.assign(rollout, seed=0, timeout_s=limits.timeout_s + STARTING_LIMIT_S)
            execution = await workspace.run_python(code, timeout_s=limits.timeout_s)
            collected: dict[str, bytes] = {}
            lacking: dict[str, str] = {}
            for name in collect:
                try:
                    collected[name] = await workspace.read_file(name, max_bytes=8 * MEGABYTE)
                except WorkspaceError as error:
                    lacking[name] = str(error)
        return CodeOutcome(
            execution.ended_by, execution.exit_code, execution.output, execution.wall_s, collected, lacking
        )
    finally:
        remove(owned)


@cache
def _backend() -> Backend:
    """The sandbox, which starts sooner, if the kernel has what it needs; otherwise Docker. Never without isolation."""
    from openfingym.errors import BackendUnavailableError
    from openfingym_runtime.backends import select

    try:
        return select("sandbox", trusted=False)
    except BackendUnavailableError:
        return select("auto", trusted=False)


def _in_thread(work: Coroutine[None, None, T]) -> T:
    """Wait for a coroutine, on an event loop and in a thread of its own."""
    # asyncio.run would refuse if a loop runs in this thread, as in a notebook.
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(asyncio.run(work))
        except BaseException as error:
            done.set_exception(error)

    thread = threading.Thread(target=run, name=f"openfingym-forge-{os.getpid()}", daemon=True)
    thread.start()
    return done.result()
