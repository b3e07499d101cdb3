"""The inside of a workspace: runs programs and reads and writes files as the host asks, one request at a time.

A message is four bytes of length, big-endian, and a JSON object; bytes are base64 in it. Everything happens with
the rights of the agent's own programs, which may end or corrupt this process: the host trusts no answer.

Between executions no process of the agent's is left: the process-id namespace holds nothing else, so that
one ``kill(-1)`` ends whatever an execution started, in however many sessions, while nothing can fork past it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

PROTOCOL = 1
SOCKET = "/run/openfingym/workspace.sock"
WORK = Path("/work")
PROGRAM_FOLDERS = (Path("/tmp"), WORK, Path("/dev/shm"))  # noqa: S108 (inside, file systems of this rollout)
"""Where a program's text is put: the first that has room."""
NOBODY = 65534
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_ENTRIES = 1000
"""Longest listing of a folder."""
CHUNK = 64 * 1024
ALL_GONE_S = 10.0
OOM_COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))
"""Control groups, version 2 and 1; a sandbox has neither, and is ended as a whole where memory runs out."""

Answer = dict[str, Any]


class Refused(Exception):  # noqa: N818 (an answer, not a failure)
    """A request that cannot be met, by the agent's doing."""

    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = problem


def serve(path: str = SOCKET) -> NoReturn:
    """Do what the host at the socket asks until it hangs up; then end, and with it all that is left."""
    if os.getuid() != NOBODY or not Path("/agent/program.py").exists():
        raise SystemExit("a workspace ends every process it can reach: it runs in a container or sandbox of its own, as user 65534")
    os.chdir(WORK)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(path)
        _send(link, {"id": 0, "protocol": PROTOCOL})
        with contextlib.suppress(ConnectionError):
            while request := _receive(link):
                _send(link, {"id": request["id"], **_answer(link, request)})
    os._exit(0)  # nothing is worth finalizing, and the host waits


def _answer(link: socket.socket, request: dict[str, Any]) -> Answer:
    try:
        return REQUESTS[request["do"]](link, request)
    except Refused as refused:
        return {"refused": refused.problem, "detail": str(refused)}
    except OSError as error:
        return {"refused": "failed", "detail": error.strerror or str(error)}


def _send(link: socket.socket, message: Answer) -> None:
    body = json.dumps(message).encode()
    link.sendall(struct.pack(">I", len(body)) + body)


def _receive(link: socket.socket) -> dict[str, Any] | None:
    """The next request, or None where the host has hung up."""
    header = _exactly(link, 4)
    if len(header) < 4:
        return None
    (size,) = struct.unpack(">I", header)
    body = _exactly(link, min(size, MAX_MESSAGE_BYTES))
    return dict(json.loads(body)) if len(body) == size else None


def _exactly(link: socket.socket, size: int) -> bytes:
    """That many bytes, or fewer at the end of the stream."""
    found = bytearray()
    while len(found) < size and (part := link.recv(min(size - len(found), 1 << 20))):
        found += part
    return bytes(found)


def _run(link: socket.socket, request: dict[str, Any]) -> Answer:
    """Run a program to its end or to a limit, and end whatever it leaves."""
    limit = int(request["output_bytes"])
    path = _store(base64.b64decode(request["code"]))
    killed_before = _out_of_memory_kills()
    environment = os.environ | request["environment"]
    # -P: its folder is not searched for modules; the agent's own ones in /work are, after the installed ones.
    environment["PYTHONPATH"] = f"{os.environ['PYTHONPATH']}:{WORK}"
    process = subprocess.Popen(
        [sys.executable, "-s", "-P", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
        preexec_fn=_die_first,  # noqa: PLW1509 (this process has one thread)
    )
    try:
        output = bytearray()
        ended_by = _watch(link, process, time.monotonic() + float(request["timeout_s"]), output, limit)
    finally:
        _end_all(process)
    while len(output) <= limit and (chunk := _read(process)):  # all writers are gone: no more than the pipe holds
        output += chunk
    if len(output) > limit:
        ended_by = "output"
    elif ended_by == "exit" and process.returncode == -signal.SIGKILL and _out_of_memory_kills() > killed_before:
        ended_by = "memory"
    _pipe(process).close()
    return {
        "ended_by": ended_by,
        "exit_code": process.returncode if ended_by == "exit" else None,
        "output": base64.b64encode(output[:limit]).decode(),
    }


def _store(code: bytes) -> Path:
    """Put a program's text into a file."""
    for folder in PROGRAM_FOLDERS:
        with contextlib.suppress(OSError):
            return _replace(folder / "program.py", code)
    raise Refused("no-space", f"there is no room for the program in {', '.join(map(str, PROGRAM_FOLDERS))}")


def _die_first() -> None:
    """Make a program what is killed first where memory runs out, before the process that must report it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _watch(link: socket.socket, process: subprocess.Popen[bytes], stop_at: float, output: bytearray, limit: int) -> str:
    """Collect output until the program ends or passes a limit; what ended it."""
    end, pipe = os.pidfd_open(process.pid), _pipe(process).fileno()
    try:
        poll = select.poll()
        for descriptor, events in ((end, select.POLLIN), (pipe, select.POLLIN), (link.fileno(), select.POLLRDHUP)):
            poll.register(descriptor, events)
        while (left := stop_at - time.monotonic()) > 0:
            ready = {descriptor for descriptor, _events in poll.poll(1000 * left + 1)}
            if link.fileno() in ready:
                os._exit(0)  # the host is gone; the namespace's first process ends the rest
            if end in ready:
                return "exit"
            if pipe in ready:
                chunk = _read(process)
                output += chunk
                if not chunk:
                    poll.unregister(pipe)
                if len(output) > limit:
                    return "output"
        return "timeout"
    finally:
        os.close(end)


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End every process but this one; returns when the last has gone."""
    give_up = time.monotonic() + ALL_GONE_S
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            break
        process.wait()
        if time.monotonic() > give_up:
            raise SystemExit("a process cannot be ended")  # with the container it will be
        time.sleep(0.001)
    process.wait()


def _pipe(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return process.stdout


def _read(process: subprocess.Popen[bytes]) -> bytes:
    return os.read(_pipe(process).fileno(), CHUNK)


def _out_of_memory_kills() -> int:
    """Processes of this container that the kernel has killed for memory so far."""
    for path in OOM_COUNTERS:
        with contextlib.suppress(OSError):
            return sum(int(line.split()[1]) for line in path.read_text(encoding="ascii").splitlines() if line.startswith("oom_kill "))
    return 0


def _read_file(_link: socket.socket, request: dict[str, Any]) -> Answer:
    path, most = request["path"], int(request["max_bytes"])
    try:
        # Not blocking: opening a fifo would wait for a writer that never comes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Refused("missing", f"there is no file {path}") from None
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise Refused("folder", f"{path} is a folder")
        if not stat.S_ISREG(kind):
            raise Refused("no-file", f"{path} is no regular file")
        content = bytearray()
        while len(content) <= most and (part := os.read(descriptor, most + 1 - len(content))):
            content += part
    finally:
        os.close(descriptor)
    if len(content) > most:
        raise Refused("too-large", f"{path} is larger than {most} bytes")
    return {"content": base64.b64encode(content).decode()}


def _write_file(_link: socket.socket, request: dict[str, Any]) -> Answer:
    path = WORK / request["path"]
    existing = next(folder for folder in path.parents if os.path.lexists(folder))
    if not Path(os.path.realpath(existing)).is_relative_to(WORK):
        raise Refused("outside", f"{request['path']} leads out of {WORK} by a link")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        raise Refused("folder", f"{request['path']} is a folder")
    _replace(path, base64.b64decode(request["content"]))
    return {"done": True}


def _replace(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all; a link or a fifo of that name is replaced, not followed."""
    part = path.with_name(f".{path.name[:100]}.openfingym")
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as file:
            file.write(content)
        return part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _list_files(_link: socket.socket, request: dict[str, Any]) -> Answer:
    entries: list[tuple[str, str, int]] = []
    try:
        with os.scandir(request["path"]) as found:
            for entry in found:
                if len(entries) == MAX_ENTRIES:
                    raise Refused("too-many", f"{request['path']} holds more than {MAX_ENTRIES} entries")
                entries.append(_entry(entry))
    except FileNotFoundError:
        raise Refused("missing", f"there is no folder {request['path']}") from None
    return {"entries": sorted(entries)}


def _entry(entry: os.DirEntry[str]) -> tuple[str, str, int]:
    """Name, kind and size."""
    info = entry.stat(follow_symlinks=False)
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return entry.name, kinds.get(stat.S_IFMT(info.st_mode), "other"), info.st_size


REQUESTS: dict[str, Callable[[socket.socket, dict[str, Any]], Answer]] = {
    "run": _run,
    "read": _read_file,
    "write": _write_file,
    "list": _list_files,
}
