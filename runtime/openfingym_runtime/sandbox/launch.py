"""Starting and ending one sandbox: the launcher's side of `openfingym_runtime.sandbox.inside.init`, or of
`openfingym_runtime.sandbox.inside.forkserver` if the program is forked.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from openfingym_runtime.job import BROUGHT, Job
from openfingym_runtime.sandbox.cgroup import MARGIN_BYTES, ControlGroup, memory_group
from openfingym_runtime.sandbox.first_steps import (
    PROGRAM,
    SetupError,
    base_config,
    last_words,
    map_identities,
    python_links,
    receive,
    spawn,
)
from openfingym_runtime.sandbox.forkserver import Forkserver, ForkserverLostError
from openfingym_runtime.sandbox.inside import channel
from openfingym_runtime.sandbox.memory import Memory, MemoryMeter, TcpBound
from openfingym_runtime.sandbox.python_view import PythonView, readable_by_all
from openfingym_runtime.sandbox.shell_tools import shell_tools
from openfingym_runtime.sandbox.socket_memory import queued_bytes, tcp_bytes
from openfingym_runtime.users import own_user

SETUP_TIMEOUT_S: Final = 30.0
"""How long a step of building or ending a sandbox may take."""
ADDRESS_SPACE_MARGIN_MB: Final = 4096
"""Virtual memory, in MiB, that a process may map beyond the memory limit: libraries reserve far more than they use."""

_placement = itertools.count()


@dataclass
class Sandbox:
    """A built sandbox; `start` lets the program run."""

    link: socket.socket
    """The channel to the sandbox's first process."""
    output: int
    """Read end of the program's stdout and stderr, not blocking."""
    cleanup: contextlib.ExitStack = field(repr=False)
    """Closes what belongs to the sandbox when it is over."""
    process: subprocess.Popen[bytes] | None = None
    """The process that builds the sandbox in a cold start, a child of this one; None if a fork server does."""
    first: int = -1
    """Handle (pidfd) of the namespace's first process; -1 before it exists."""
    group: ControlGroup | None = None
    """The control group of all its processes; None if none can be made."""
    memory: Memory | None = None
    """Knows whether memory ran out; None before the sandbox is built."""

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the program with these environment variables."""
        channel.send(self.link, {"environment": dict(environment)})

    def kill(self) -> None:
        """End every process of the sandbox, and return when all are gone."""
        # When the first process of a pid namespace ends, the kernel ends all others in it.
        if self.first >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.first, signal.SIGKILL)
        # Without a channel, whatever half-built part is left ends by itself.
        self.link.close()
        # What a fork server made is no child of this process: only the handle says when it has ended.
        if self.process is None and self.first >= 0:
            ended = select.poll()
            ended.register(self.first, select.POLLIN)
            ended.poll(SETUP_TIMEOUT_S * 1000)
        if self.process is not None:
            try:
                self.process.wait(SETUP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            if self.process.stderr is not None:
                self.process.stderr.close()


@contextlib.contextmanager
def sandbox(job: Job, view: PythonView, server: Forkserver | None = None) -> Iterator[Sandbox]:
    """Build a sandbox for ``job`` and destroy it, with everything in it, on the way out.

    Args:
        job: the job whose program is to run in the sandbox.
        view: files of Python that the program sees.
        server: the running fork server that forks the program; None executes a new interpreter.

    Raises:
        ForkserverLostError: the fork server is gone, or does not see the job's files; a sandbox can be built without
            it.
        SetupError: the sandbox could not be built.
    """
    config = _config(job, view) if server is None else _rollout(job)
    with contextlib.ExitStack() as cleanup:
        near, far = socket.socketpair()
        cleanup.callback(far.close)
        readable, writable = os.pipe2(os.O_CLOEXEC)
        cleanup.callback(os.close, readable)
        os.set_blocking(readable, False)
        # If the other side hangs, the launcher must not hang with it.
        near.settimeout(SETUP_TIMEOUT_S)
        memory_bytes = job.limits.memory_mb << 20
        built = Sandbox(near, readable, cleanup, group=cleanup.enter_context(memory_group(memory_bytes + MARGIN_BYTES)))
        try:
            try:
                if server is None:
                    built.process = spawn(far)
                    far.close()
                    _build(built, config, writable, memory_bytes)
                else:
                    server.fork(far)
                    far.close()
                    _build_forked(built, config, writable, memory_bytes)
            except (EOFError, OSError, SetupError) as error:
                if server is not None:
                    raise ForkserverLostError(f"the fork server made no sandbox: {error!r}") from error
                if isinstance(error, SetupError):
                    raise
                raise SetupError("start", last_words(built.process) or str(error)) from error
            finally:
                # With an end of the pipe open here, reading the program's output would never come to an end.
                os.close(writable)
            yield built
        finally:
            built.kill()


def _build(built: Sandbox, config: channel.Message, writable: int, memory_bytes: int) -> None:
    process = built.process
    assert process is not None
    # Before the first message, for which the process waits: it has no children yet that would be left outside.
    if built.group is not None and not built.group.add(process.pid):
        built.group = None
    # By this handle the sandbox sees its launcher die, however it dies, and whatever process gets its number next.
    launcher = os.pidfd_open(os.getpid())
    try:
        channel.send(built.link, config, (launcher, writable))
    finally:
        os.close(launcher)
    receive(built.link, built.cleanup, "unshared")
    map_identities(process.pid)
    channel.send(built.link, {"state": "mapped"})
    # These two messages come from two processes, in either order.
    states: dict[str, tuple[int, ...]] = {}
    while len(states) < 2:
        state, fds = receive(built.link, built.cleanup, "forked", "ready")
        states[state] = fds
        if state == "forked":
            built.first = fds[0]
    built.memory = built.group or _meter(built, memory_bytes, states["ready"])
    if config["tcp"]:
        built.memory = TcpBound(built.memory, _monitor(built, states["ready"][-1], tcp_bytes))


def _build_forked(built: Sandbox, config: channel.Message, writable: int, memory_bytes: int) -> None:
    _state, (built.first,) = receive(built.link, built.cleanup, "forked")
    # Before the answer, for which the process waits: it has no children yet that would be left outside.
    if built.group is not None and not built.group.add(_number(built.first)):
        built.group = None
    channel.send(built.link, {"state": "placed"})
    launcher = os.pidfd_open(os.getpid())
    try:
        channel.send(built.link, config, (launcher, writable))
    finally:
        os.close(launcher)
    _state, descriptors = receive(built.link, built.cleanup, "ready")
    built.memory = built.group or _meter(built, memory_bytes, descriptors)


def _number(handle: int) -> int:
    """Id that a process has for this one, by its handle (pidfd)."""
    lines = Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("Pid:")).split()[1])


def _meter(built: Sandbox, memory_bytes: int, descriptors: tuple[int, ...]) -> MemoryMeter:
    proc, *file_systems, last = descriptors
    # The descriptor of a detached mount only names it (O_PATH); to list what is in it, it must be opened.
    processes = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    built.cleanup.callback(os.close, processes)
    monitor = _monitor(built, last, queued_bytes)
    return MemoryMeter(memory_bytes, processes, tuple(file_systems), monitor)


def _monitor(built: Sandbox, descriptor: int, count: Callable[[socket.socket], int]) -> socket.socket:
    """The kernel's monitor of the sandbox's sockets, by which ``count`` is going to count."""
    monitor = built.cleanup.enter_context(socket.socket(fileno=os.dup(descriptor)))
    try:
        # Asked once before the program starts, since a kernel may lack the monitor.
        count(monitor)
    except OSError as error:
        raise SetupError("memory", str(error), error.errno) from error
    return monitor


def _config(job: Job, view: PythonView) -> channel.Message:
    """The configuration for a cold start: all files, and how to start the program."""
    base = base_config(view, job.limits.storage_mb, {PROGRAM: job.program})
    binds, tcp = [*view.binds, *_task_binds(job)], job.brought is not None
    if job.brought is None:
        return {**base, "binds": binds, "tcp": tcp, **_rights(job)}
    tools = shell_tools(job.brought)
    # A file that both show, such as the C library, is mounted once.
    places = {inside for _real, inside in binds}
    binds += [(real, inside) for real, inside in tools.binds if inside not in places]
    # Last, since nothing else is shown inside of it.
    binds.append((str(job.brought), BROUGHT))
    links = [*python_links(view), *tools.links]
    return {**base, "binds": binds, "links": links, "tcp": tcp, **_rights(job)}


def _rollout(job: Job) -> channel.Message:
    """The configuration for a fork: the files of the rollout, and which files exactly they are."""
    shown = [(source, target, *_identity(source)) for source, target in _task_binds(job)]
    return {"shown": shown, "program": job.program, "storage_mb": job.limits.storage_mb, **_rights(job)}


def _identity(path: str) -> tuple[int, int]:
    """Device and inode of a file, by which the fork server checks that the same path leads it to the same file."""
    status = os.stat(path)  # noqa: PTH116 - a path as text
    return status.st_dev, status.st_ino


def _rights(job: Job) -> channel.Message:
    return {"become": own_user() if os.geteuid() == 0 else None, "bounds": bounds(job)}


def bounds(job: Job) -> channel.Message:
    """The fields of `openfingym_runtime.sandbox.inside.confine.Bounds` for a job."""
    limits = job.limits
    available = sorted(os.sched_getaffinity(0))
    # Sandboxes are dealt out over the cores in turn, so that those that run at once do not share a few.
    first = next(_placement) * limits.cpus
    return {
        # Above the size of the file system: a program that fills it shall be told that the disk is full, and not be
        # ended by the signal for a file that is too large.
        "file_mb": limits.storage_mb + 1,
        "pids": limits.pids,
        "address_space_mb": limits.memory_mb + ADDRESS_SPACE_MARGIN_MB,
        "cpus": sorted({available[(first + place) % len(available)] for place in range(limits.cpus)}),
        "tcp": job.brought is not None,
        # Command lines that people bring along are made for a whole system, and some end if they cannot.
        "processes": job.brought is not None,
    }


def _task_binds(job: Job) -> list[tuple[str, str]]:
    shown = {f"/task/{name}": path for name, path in job.task_files.items()} | {"/run/openfingym": job.gate_directory}
    binds = []
    for name, path in shown.items():
        # Names come from a package, which may be a stranger's; none of them may lead out of /task.
        if ".." in PurePosixPath(name).parts or str(PurePosixPath(name)) != name:
            raise SetupError("task files", f"{name!r} is not a plain path")
        try:
            real = Path(path).resolve(strict=True)
        except OSError as error:
            raise SetupError("task files", f"{path}: {error.strerror}", error.errno) from error
        if os.geteuid() == 0 and not readable_by_all(real):
            raise SetupError("task files", f"{real} must be readable by all, for the program runs as a user of its own")
        binds.append((str(real), name))
    # Folders before what is shown inside of them.
    return sorted(binds, key=lambda bind: bind[1].count("/"))
