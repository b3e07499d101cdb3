"""Running code that a model wrote: in the library's sandbox, without network, within limits."""

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
    memory_mb: int = 1024
    storage_mb: int = 64
    output_bytes: int = 256 * 1024
    pids: int = 64


@dataclass(frozen=True)
class CodeOutcome:
    """How a piece of code ended. A failure of ours is never an outcome: it raises."""

    ended_by: EndedBy
    exit_code: int | None
    output: str
    """What it printed, on both streams."""
    wall_s: float
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The files that were to be collected and are there."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """The others, each with the reason."""

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
        files: files by name, which it finds read-only in ``/task/given/``.
        limits: its limits; None for those of :class:`CodeLimits`.
        collect: names of files below ``/work`` that are wanted back, of at most 8 MiB each.
        directory: host folder with a short path, shown at ``/run/openfingym``, for a unix socket that the program may
            speak to: its only way out. None for none.

    Raises:
        BackendUnavailableError: nothing on this machine can isolate programs.
        RuntimeFailureError: the machinery failed; says nothing about the code.
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
            folder.chmod(0o755)
        for name, content in files.items():
            if Path(name).name != name:
                raise UsageError(f"{name!r} is no name of a file")
            (given / name).write_bytes(content)
            (given / name).chmod(0o644)
        rollout = f"forge-{secrets.token_hex(6)}"
        job = Job(rollout_id=rollout, program=PROGRAM, task_files={"given": given}, gate_directory=gate, limits=bounds)
        if not collect:
            # Nothing is wanted back but what it prints: no workspace has to be started around it.
            ended = await asyncio.to_thread(
                _backend().run, replace(job, program=code, limits=replace(bounds, timeout_s=limits.timeout_s))
            )
            how: EndedBy = "killed" if ended.ended_by == "cancelled" else ended.ended_by
            return CodeOutcome(how, ended.exit_code, ended.output.decode(errors="replace"), ended.wall_s)
        async with await start(_backend(), job) as workspace:
            workspace.assign(rollout, seed=0, timeout_s=limits.timeout_s + STARTING_LIMIT_S)
            execution = await workspace.run_python(code, timeout_s=limits.timeout_s)
            found: dict[str, bytes] = {}
            lacking: dict[str, str] = {}
            for name in collect:
                try:
                    found[name] = await workspace.read_file(name, max_bytes=8 * MEGABYTE)
                except WorkspaceError as error:
                    lacking[name] = str(error)
        return CodeOutcome(execution.ended_by, execution.exit_code, execution.output, execution.wall_s, found, lacking)
    finally:
        remove(owned)


@cache
def _backend() -> Backend:
    """The sandbox where the kernel has what it needs, which starts sooner; else Docker."""
    from openfingym.errors import BackendUnavailableError
    from openfingym_runtime.backends import select

    try:
        return select("sandbox", trusted=False)
    except BackendUnavailableError:
        return select("auto", trusted=False)


def _in_thread(work: Coroutine[None, None, T]) -> T:
    """Do something on an event loop of its own, also where one runs in this thread."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(asyncio.run(work))
        except BaseException as error:
            done.set_exception(error)

    thread = threading.Thread(target=run, name=f"openfingym-forge-{os.getpid()}", daemon=True)
    thread.start()
    return done.result()
