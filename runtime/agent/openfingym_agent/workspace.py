"""The inside of a workspace: runs programs and reads and writes files as the host asks, one request at a time.

A message is four bytes of length, big-endian, and a JSON object, in which bytes are base64. Everything happens with
the rights of the agent's own programs, which may end or corrupt this process: the host trusts no answer.

A program runs in a fork of this process, which has imported what nearly every program imports, so that
no program waits for that. No code of the agent's ever runs in this process itself.

Between executions no process of the agent's is left. The process-id namespace holds nothing else, so that
one ``kill(-1)`` ends whatever an execution started, in however many sessions, and nothing can fork past it.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np  # noqa: F401  # for the programs; this package, likewise, is imported as a whole

from openfingym_agent.forked import draw_anew, run_to_the_end
from openfingym_agent.workspace_files import (
    WORK,
    Answer,
    RequestRefused,
    list_files,
    read_file,
    replace_file,
    write_file,
)

PROTOCOL = 1
SOCKET = "/run/openfingym/workspace.sock"
SELF = Path("/agent/program.py")
"""The program that started this process."""
PROGRAM_FOLDERS = (Path("/tmp"), WORK, Path("/dev/shm"))  # noqa: S108 (inside, file systems of this rollout)
"""Folders for a program's text; the first that has room is taken."""
NOBODY = 65534
"""Lowest user id of a program in isolation."""
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
CHUNK = 64 * 1024
"""Most bytes of output that are read at once."""
ALL_GONE_S = 10.0
"""How long the processes of an execution may take to end once they are killed."""
OOM_COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))
"""Files of control groups, version 2 and 1, that count kills for want of memory. A sandbox sees neither, and is ended
as a whole when memory runs out."""
WATCHER_S = 0.5
"""Longer than the launcher takes to notice that a sandbox's memory ran out, for which it looks every 0.05 s."""
PR_SET_DUMPABLE = 4
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
"""Numbers of system calls, the same on every architecture."""
MAKE_CHARACTER_DEVICE = 1 << 6
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
SCOPES_SINCE = 6
"""The version of Landlock that brought scopes."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Forked(BaseException):
    """Raised in a forked process, so that it leaves the server's frames before it becomes a program."""

    def __init__(self, path: str, environment: dict[str, str], output: int) -> None:
        super().__init__()
        self.path = path
        self.environment = environment
        self.output = output
        """Descriptor of the file that is to be its stdout and stderr."""


def serve(path: str = SOCKET) -> NoReturn:
    """Do what the host at the socket asks until it hangs up, and then end.

    Args:
        path: path of the host's socket.
    """
    if os.getuid() < NOBODY or not SELF.exists():
        raise SystemExit(
            "a workspace ends every process it can reach: it runs in a container or sandbox of its own, as a user of "
            "its own"
        )
    os.chdir(WORK)
    # Then no program may open this process's files in /proc, such as its memory and its descriptors.
    _prctl(PR_SET_DUMPABLE, 0)
    # Otherwise the garbage collector of every program would write to, and so copy, the memory of these modules.
    gc.freeze()
    try:
        _serve(path)
    except _Forked as forked:
        program = forked
    # Not in the handler, or what the program raises would have an exception of ours for its context.
    _become(program)


def _serve(path: str) -> NoReturn:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(path)
        _send(link, {"id": 0, "protocol": PROTOCOL})
        with contextlib.suppress(ConnectionError):
            while request := _receive(link):
                _send(link, {"id": request["id"], **_answer(link, request)})
        os._exit(0)  # nothing is worth finalizing, and the host waits


def _become(program: _Forked) -> NoReturn:
    """Run the program as ``python3 -s -P PATH`` would, with the modules that are imported already."""
    os.setsid()
    _leave_server_alone()
    # As executing a program would do; before, this process may not write its own files in /proc.
    _prctl(PR_SET_DUMPABLE, 1)
    _die_first()
    null = os.open(os.devnull, os.O_RDONLY)
    for source, standard in ((null, 0), (program.output, 1), (program.output, 2)):
        os.dup2(source, standard)
    os.close(null)
    os.close(program.output)
    os.environ.update(program.environment)
    sys.orig_argv = [sys.executable, "-s", "-P", program.path]
    # As a new interpreter has it: without the folder of this process's program, and with /work, which is the last of
    # PYTHONPATH, in its place.
    sys.path.remove(str(SELF.parent))
    sys.path.insert(len(os.environ["PYTHONPATH"].split(":")) - 1, str(WORK))
    draw_anew()
    run_to_the_end(program.path)


def _leave_server_alone() -> None:
    """Enter a Landlock domain, from which no process outside can be traced, or from Linux 6.12 on sent a signal."""
    landlock = _libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if landlock < 1:
        return  # without Landlock: an undumpable process cannot be traced either
    scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS if landlock >= SCOPES_SINCE else 0
    # A domain must restrict something: here the making of character devices, which nobody inside can make anyway.
    attributes = struct.pack("=QQQ", MAKE_CHARACTER_DEVICE, 0, scopes)
    ruleset = _libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(24 if scopes else 8), 0)
    if ruleset < 0 or _libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0):
        raise OSError(ctypes.get_errno(), "Landlock refused")
    os.close(ruleset)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def _answer(link: socket.socket, request: dict[str, Any]) -> Answer:
    """The answer to a request; whatever the operating system refuses is one, too."""
    try:
        return REQUESTS[request["do"]](link, request)
    except RequestRefused as refused:
        return {"refused": refused.problem, "detail": str(refused)}
    except OSError as error:
        return {"refused": "failed", "detail": error.strerror or str(error)}


def _send(link: socket.socket, message: Answer) -> None:
    body = json.dumps(message).encode()
    link.sendall(struct.pack(">I", len(body)) + body)


def _receive(link: socket.socket) -> dict[str, Any] | None:
    """The next request, or None if the host has hung up."""
    header = _exactly(link, 4)
    if len(header) < 4:
        return None
    (size,) = struct.unpack(">I", header)
    body = _exactly(link, min(size, MAX_MESSAGE_BYTES))
    return dict(json.loads(body)) if len(body) == size else None


def _exactly(link: socket.socket, size: int) -> bytes:
    """``size`` bytes, or fewer at the end of the stream."""
    found = bytearray()
    while len(found) < size and (part := link.recv(min(size - len(found), 1 << 20))):
        found += part
    return bytes(found)


def _run(link: socket.socket, request: dict[str, Any]) -> Answer:
    """Run a program to its end or to a limit, and end whatever it leaves."""
    limit = int(request["output_bytes"])
    path = _store(base64.b64decode(request["code"]))
    killed_before = _out_of_memory_kills()
    # The agent's own modules in /work are searched after the installed ones.
    environment = request["environment"] | {"PYTHONPATH": f"{os.environ['PYTHONPATH']}:{WORK}"}
    output = bytearray()
    with _woken_by_children() as woken:
        pid, pipe = _fork(path, environment)
        stop_at = time.monotonic() + float(request["timeout_s"])
        try:
            ended_by = _watch(link, pid, woken, pipe, stop_at, output, limit)
        except BaseException:
            os.close(pipe)
            raise
        finally:
            exit_code = _end_all(pid)
    try:
        # All writers are gone, so this reads what the pipe still holds and then ends.
        while len(output) <= limit and (chunk := os.read(pipe, CHUNK)):
            output += chunk
    finally:
        os.close(pipe)
    if len(output) > limit:
        ended_by = "output"
    elif ended_by == "exit" and exit_code == -signal.SIGKILL:
        killed = _out_of_memory_kills()
        if killed is None or killed_before is None:
            # A sandbox: if it was for memory, the launcher ends the whole workspace, and is the one to say why. So no
            # answer is given until it has had the time.
            time.sleep(WATCHER_S)
        elif killed > killed_before:
            ended_by = "memory"
    return {
        "ended_by": ended_by,
        "exit_code": exit_code if ended_by == "exit" else None,
        "output": base64.b64encode(output[:limit]).decode(),
    }


@contextlib.contextmanager
def _woken_by_children() -> Iterator[int]:
    """A descriptor that becomes readable when a child ends: a handle of the program, which its filter of system calls
    refuses, would be numbered through the whole machine.
    """
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    # The forked program leaves by this way, too.
    try:
        yield woken
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, before)
        os.close(woken)
        os.close(wake)


def _fork(path: Path, environment: dict[str, str]) -> tuple[int, int]:
    """Fork a process for a program; returns its id, and the descriptor to read its output from."""
    readable, writable = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(readable)
        os.close(writable)
        raise
    if pid == 0:
        os.close(readable)
        raise _Forked(str(path), environment, writable)
    os.close(writable)
    return pid, readable


def _store(code: bytes) -> Path:
    """Put a program's text into a file."""
    for folder in PROGRAM_FOLDERS:
        with contextlib.suppress(OSError):
            return replace_file(folder / "program.py", code)
    raise RequestRefused("no-space", f"there is no room for the program in {', '.join(map(str, PROGRAM_FOLDERS))}")


def _die_first() -> None:
    """Make the program the first to be killed when memory runs out, before the process that must report that."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _watch(link: socket.socket, pid: int, woken: int, pipe: int, stop_at: float, output: bytearray, limit: int) -> str:
    """Collect output until the program ends or passes a limit, and return which of these it was.

    Args:
        link: the host's connection; when it hangs up, everything ends.
        pid: process id of the program.
        woken: descriptor that is readable when a child may have ended.
        pipe: descriptor to read the program's output from.
        stop_at: value of ``time.monotonic()`` at which the program's time is over.
        output: receives the output.
        limit: most bytes of output.
    """
    poll = select.poll()
    for descriptor, events in ((woken, select.POLLIN), (pipe, select.POLLIN), (link.fileno(), select.POLLRDHUP)):
        poll.register(descriptor, events)
    while (left := stop_at - time.monotonic()) > 0:
        # Left to be waited for, so that nothing else gets its number before everything has ended.
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            return "exit"
        ready = {descriptor for descriptor, _events in poll.poll(1000 * left + 1)}
        if link.fileno() in ready:
            os._exit(0)  # the host is gone; the namespace's first process ends the rest
        if woken in ready:
            os.read(woken, CHUNK)
        if pipe in ready:
            chunk = os.read(pipe, CHUNK)
            output += chunk
            # All writers are gone, and the pipe would be ready for ever; the program itself may go on.
            if not chunk:
                poll.unregister(pipe)
            if len(output) > limit:
                return "output"
    return "timeout"


def _end_all(pid: int) -> int:
    """End every process but this one, and when the last has gone return the program's exit status or negative signal
    number.
    """
    give_up = time.monotonic() + ALL_GONE_S
    status: int | None = None
    while True:
        try:
            # Everything that this user may kill, apart from this process and the first one of the namespace.
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            break
        if status is None:
            _, status = os.waitpid(pid, 0)
        if time.monotonic() > give_up:
            raise SystemExit("a process cannot be ended")  # it ends with the container
        time.sleep(0.001)
    assert status is not None, "a program that was not waited for is there"
    return os.waitstatus_to_exitcode(status)


def _out_of_memory_kills() -> int | None:
    """Processes of this container that the kernel has killed for want of memory so far; None if no counter is shown."""
    for path in OOM_COUNTERS:
        with contextlib.suppress(OSError):
            return sum(
                int(line.split()[1])
                for line in path.read_text(encoding="ascii").splitlines()
                if line.startswith("oom_kill ")
            )
    return None


REQUESTS: dict[str, Callable[[socket.socket, dict[str, Any]], Answer]] = {
    "run": _run,
    "read": read_file,
    "write": write_file,
    "list": list_files,
}
