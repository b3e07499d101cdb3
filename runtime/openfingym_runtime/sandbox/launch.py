"""Starting and ending one sandbox: the launcher's side of `openfingym_runtime.sandbox.inside.init`."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.job import Job
from openfingym_runtime.sandbox.cgroup import MARGIN_BYTES, ControlGroup, memory_group
from openfingym_runtime.sandbox.inside import channel
from openfingym_runtime.sandbox.inside.confine import PROGRAM_ID
from openfingym_runtime.sandbox.memory import Memory, MemoryMeter
from openfingym_runtime.sandbox.python_view import PythonView, readable_by_all
from openfingym_runtime.sandbox.socket_memory import queued_bytes
from openfingym_runtime.users import own_user

PROGRAM: Final = "/agent/program.py"
SETUP_TIMEOUT_S: Final = 30.0
ADDRESS_SPACE_MARGIN_MB: Final = 4096
"""Virtual memory a process may map beyond the memory limit; libraries reserve far more than they touch."""

_BOOTSTRAP: Final = "import sys; sys.path.append(sys.argv[2]); from inside.init import main; main(int(sys.argv[1]))"
_ACCOUNTS: Final = {
    "/etc/passwd": f"nobody:x:{PROGRAM_ID}:{PROGRAM_ID}:nobody:/work:/usr/sbin/nologin\n",
    "/etc/group": f"nogroup:x:{PROGRAM_ID}:\n",
}
# joblib asks lscpu for the number of cores, and warns at length where neither it nor cat answers.
_TOOLS: Final = {
    "/usr/local/bin/lscpu": "#!/usr/local/bin/python3 -IS\nimport os\nprint(*sorted(os.sched_getaffinity(0)), "
    "sep='\\n')\n",
}
_placement = itertools.count()


class SetupError(RuntimeFailureError):
    """The sandbox could not be built.

    Attributes:
        step: the step that failed, such as ``namespaces``.
        errno: the kernel's error number, if one is known.
    """

    def __init__(self, step: str, detail: str, errno: int | None = None) -> None:
        super().__init__(f"the sandbox could not be built; step {step!r} failed: {detail}")
        self.step = step
        self.errno = errno


@dataclass
class Sandbox:
    """A built sandbox; `start` lets the program run."""

    link: socket.socket
    output: int
    """Read end of the program's stdout and stderr, not blocking."""
    cleanup: contextlib.ExitStack = field(repr=False)
    process: subprocess.Popen[bytes] | None = None
    first: int = -1
    """Handle (pidfd) of the namespace's first process; -1 before it exists."""
    group: ControlGroup | None = None
    """The control group of all its processes, where one can be had."""
    memory: Memory | None = None
    """None before it exists."""

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the program."""
        channel.send(self.link, {"environment": dict(environment)})

    def kill(self) -> None:
        """End every process of the sandbox; returns when all are gone."""
        if self.first >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.first, signal.SIGKILL)
        # Without a channel, whatever half-built part is left ends by itself.
        self.link.close()
        if self.process is not None:
            try:
                self.process.wait(SETUP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            if self.process.stderr is not None:
                self.process.stderr.close()


@contextlib.contextmanager
def sandbox(job: Job, view: PythonView) -> Iterator[Sandbox]:
    """Build a sandbox for ``job`` and destroy it, with everything in it, on the way out.

    Raises:
        SetupError: it could not be built.
    """
    config = _config(job, view)
    with contextlib.ExitStack() as cleanup:
        near, far = socket.socketpair()
        cleanup.callback(far.close)
        readable, writable = os.pipe2(os.O_CLOEXEC)
        cleanup.callback(os.close, readable)
        os.set_blocking(readable, False)
        # An init that hangs must not hang its launcher.
        near.settimeout(SETUP_TIMEOUT_S)
        memory_bytes = job.limits.memory_mb << 20
        built = Sandbox(near, readable, cleanup, group=cleanup.enter_context(memory_group(memory_bytes + MARGIN_BYTES)))
        try:
            try:
                built.process = _spawn(far)
                far.close()
                _build(built, config, writable, memory_bytes)
            except (EOFError, OSError) as error:
                raise SetupError("start", _last_words(built.process) or str(error)) from error
            finally:
                os.close(writable)
            yield built
        finally:
            built.kill()


def _spawn(far: socket.socket) -> subprocess.Popen[bytes]:
    # Isolated and without site: nothing of the user's environment or packages runs in the process that builds the
    # sandbox.
    command = [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, str(far.fileno()), str(Path(__file__).resolve().parent)]
    null = subprocess.DEVNULL
    return subprocess.Popen(
        command,
        pass_fds=(far.fileno(),),
        env={},
        cwd="/",
        stdin=null,
        stdout=null,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _last_words(process: subprocess.Popen[bytes] | None) -> str:
    """The last line the process wrote before the channel took over, such as an import error."""
    if process is None or process.stderr is None:
        return ""
    os.set_blocking(process.stderr.fileno(), False)
    lines = (process.stderr.read() or b"").decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _build(built: Sandbox, config: channel.Message, writable: int, memory_bytes: int) -> None:
    process = built.process
    assert process is not None
    # While it waits for the first message, and has no children yet.
    if built.group is not None and not built.group.add(process.pid):
        built.group = None
    # By this handle the init sees its launcher die, however it dies and whatever reuses its number.
    launcher = os.pidfd_open(os.getpid())
    try:
        channel.send(built.link, config, (launcher, writable))
    finally:
        os.close(launcher)
    _receive(built, "unshared")
    _map_identities(process.pid)
    channel.send(built.link, {"state": "mapped"})
    # The two messages come from two processes, in either order.
    states: dict[str, tuple[int, ...]] = {}
    while len(states) < 2:
        state, fds = _receive(built, "forked", "ready")
        states[state] = fds
        if state == "forked":
            built.first = fds[0]
    built.memory = built.group or _meter(built, memory_bytes, states["ready"])


def _meter(built: Sandbox, memory_bytes: int, descriptors: tuple[int, ...]) -> MemoryMeter:
    proc, *file_systems, monitor = descriptors
    processes = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    built.cleanup.callback(os.close, processes)
    sockets = built.cleanup.enter_context(socket.socket(fileno=os.dup(monitor)))
    try:
        queued_bytes(sockets)
    except OSError as error:
        raise SetupError("memory", str(error), error.errno) from error
    return MemoryMeter(memory_bytes, processes, tuple(file_systems), sockets)


def _receive(built: Sandbox, *expected: str) -> tuple[str, tuple[int, ...]]:
    message, fds = channel.receive(built.link)
    for descriptor in fds:
        # Descriptors received over a socket may be inheritable, and another thread may start a child at any time.
        os.set_inheritable(descriptor, False)
        built.cleanup.callback(os.close, descriptor)
    state = message.get("state")
    if state == "failed":
        number = message.get("errno")
        raise SetupError(
            str(message.get("step")), str(message.get("detail")), number if isinstance(number, int) else None
        )
    if not isinstance(state, str) or state not in expected:
        raise SetupError("protocol", f"expected {' or '.join(expected)}, found {state!r}")
    return state, fds


def _map_identities(pid: int) -> None:
    """Give the new user namespace its users.

    Root maps every user it has to itself, so that files of any owner can be mounted, and the
    program becomes a user of its own; an ordinary user can map nobody but itself.
    """
    folder = Path("/proc", str(pid))
    try:
        if os.geteuid() == 0:
            for name in ("uid_map", "gid_map"):
                ranges = [line.split() for line in Path("/proc/self", name).read_text().splitlines()]
                (folder / name).write_text("".join(f"{start} {start} {count}\n" for start, _outside, count in ranges))
        else:
            (folder / "setgroups").write_text("deny")
            (folder / "uid_map").write_text(f"{PROGRAM_ID} {os.geteuid()} 1")
            (folder / "gid_map").write_text(f"{PROGRAM_ID} {os.getegid()} 1")
    except OSError as error:
        raise SetupError("identity", str(error), error.errno) from error


def _config(job: Job, view: PythonView) -> channel.Message:
    limits = job.limits
    available = sorted(os.sched_getaffinity(0))
    # Sandboxes are dealt out over the cores in turn, so that those that run at once do not share a few.
    first = next(_placement) * limits.cpus
    cpus = sorted({available[(first + place) % len(available)] for place in range(limits.cpus)})
    return {
        "binds": [*view.binds, *_task_binds(job)],
        "hidden": list(view.hidden),
        "links": [(view.interpreter, path) for path in ("/usr/local/bin/python3", "/usr/local/bin/python")],
        "files": {**_ACCOUNTS, **_TOOLS, PROGRAM: job.program},
        "storage_mb": limits.storage_mb,
        # A little above the file system's size, so that a full disk is reported as a full disk.
        "file_mb": limits.storage_mb + 1,
        "pids": limits.pids,
        "address_space_mb": limits.memory_mb + ADDRESS_SPACE_MARGIN_MB,
        "cpus": cpus,
        # -s: no user site; the environment's PYTHONPATH alone says where packages are.
        "argv": [view.interpreter, "-s", PROGRAM],
        "become": own_user() if os.geteuid() == 0 else None,
    }


def _task_binds(job: Job) -> list[tuple[str, str]]:
    shown = {f"/task/{name}": path for name, path in job.task_files.items()} | {"/run/openfingym": job.gate_directory}
    binds = []
    for name, path in shown.items():
        # Names come from a package, which may be a stranger's; one of them must not land outside /task.
        if ".." in PurePosixPath(name).parts or str(PurePosixPath(name)) != name:
            raise SetupError("task files", f"{name!r} is not a plain path")
        try:
            real = Path(path).resolve(strict=True)
        except OSError as error:
            raise SetupError("task files", f"{path}: {error.strerror}", error.errno) from error
        if os.geteuid() == 0 and not readable_by_all(real):
            raise SetupError("task files", f"{real} must be readable by all, for the program runs as a user of its own")
        binds.append((str(real), name))
    return sorted(binds, key=lambda bind: bind[1].count("/"))
