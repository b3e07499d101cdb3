"""Verifiers of the tests' own processes, forked from one that has loaded their modules instead of loading them again.

The program, the process and everything that goes in or out are the real ones; what is left out is the second of
processor time that Python takes to import them, which some hundreds of tests would pay for. Tests of the start itself
use the fixture ``cold_verifiers``.

Commands ``openfingym ...`` that tests run in a process of their own are forked from it as well. Each has a child that
forks its verifiers in turn, so that they are below it and end with it. Verifiers of a command that was started with
``python -m`` are never forked.

Run as a program, this is the process that forks: it takes requests on its standard input, a socket.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from openfingym.task.known_kinds import OWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODULES = (
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "openfingym.listener.asgi",
    "openfingym.listener.listener",
    "openfingym.metrics.naive",
    "openfingym.metrics.resampling",
    "openfingym.metrics.semantics",
    "openfingym.results.baselines",
    "pydantic.v1",
    "scipy.special",
    "threadpoolctl",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "uvloop",
    "openfingym_verifier.http.app",
    "openfingym_verifier.embedded_child",
    "openfingym_verifier.ledger.ledger",
    "openfingym_verifier.policy",
    "openfingym_verifier.service",
    "openfingym_verifier.serving",
    "openfingym_verifier.scoring.truth",
)
COMMAND_MODULES = (
    "httpx",
    "openfingym.agents.builtin",
    "openfingym.catalog",
    "openfingym.cli.rollout",
    "openfingym.cli.rollout_progress",
    "openfingym.cli.verifier",
    "openfingym.models.endpoint",
    "openfingym.packages.many",
    "openfingym.reports.cells",
    "openfingym.rollouts.local",
    "openfingym.rollouts.preparation",
    "openfingym.rollouts.running",
    "openfingym.verifiers.local",
    "openfingym.verifiers.client",
    "openfingym_runtime.sandbox.backend",
    "openfingym_verifier.embedded",
    "rich.progress",
)
"""Loaded when the first command is asked for."""
COMMAND = "openfingym"
SERVICE = "openfingym_verifier"
EMBEDDED = "openfingym_verifier.embedded_child"
FROM_THE_START = ("PYTHONPATH", "PYTHONHASHSEED", "PYTHONWARNINGS", "OPENBLAS_NUM_THREADS")
"""Variables that are read when Python or a library is loaded."""
REQUEST = 1 << 20


class WarmVerifiers:
    """The process that forks, and what stands in the place of :func:`openfingym_verifier.embedded._spawn`."""

    def __init__(self, cold: Any, environment: dict[str, str]) -> None:
        self.cold, self.environment = cold, environment
        self.forking = hasattr(os, "pidfd_open")
        self.process: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None

    def start(self) -> None:
        """Start the process, and do not wait for it."""
        self.control, far = connection()
        with far:
            self.process = subprocess.Popen(
                [sys.executable, "-P", __file__], stdin=far, env=self.environment, start_new_session=True
            )

    def close(self) -> None:
        """End the process; verifiers that still run end with their callers."""
        if self.control is not None and self.process is not None:
            self.control.close()
            self.process.wait()

    def spawn(self, stderr: Path) -> Any:
        """A verifier that waits for its order."""
        from openfingym_verifier.child import environment

        wanted = environment(OPENBLAS_NUM_THREADS="1")
        if not self.can_fork(wanted):
            return self.cold(stderr)
        stderr.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with stderr.open("ab") as stream:
            return self.fork([EMBEDDED], wanted, stream.fileno())

    def service(self, arguments: list[str], stderr: int, **changes: str) -> Any:
        """``python -m openfingym_verifier`` with arguments, or what behaves like it."""
        from openfingym_verifier.child import environment

        wanted = environment(OPENBLAS_NUM_THREADS="1", **changes)
        words = [SERVICE, *arguments]
        if self.can_fork(wanted):
            process = self.fork(words, wanted, stderr)
            process.stdin.close()
            return process
        command = [sys.executable, "-m", *words]
        return subprocess.Popen(
            command, env=wanted, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, bufsize=0
        )

    def command(self, arguments: Sequence[str], wanted: dict[str, str], folder: str) -> ForkedCommand:
        """The command line with these arguments, started in a folder; where :meth:`can_fork` says so."""
        if self.control is None:
            self.start()
        assert self.control is not None
        request = {"environment": wanted, "folder": folder, "words": [COMMAND, *arguments]}
        return ForkedCommand(self.control, request)

    def can_fork(self, wanted: dict[str, str]) -> bool:
        """Whether the system can, the test lets it, and nothing that is read at the start is another."""
        return self.forking and all(wanted.get(name) == self.environment.get(name) for name in FROM_THE_START)

    def fork(self, words: list[str], wanted: dict[str, str], stderr: int) -> Forked:
        """A program that runs a module, the first word, with the others as its arguments."""
        if self.control is None:
            self.start()
        assert self.control is not None
        request: dict[str, object] = {"environment": wanted, "folder": str(Path.cwd()), "words": words}
        return Forked(self.control, request, stderr)


class Forked:
    """As far as the caller of a verifier needs it, a :class:`subprocess.Popen`."""

    def __init__(self, control: socket.socket, request: dict[str, object], stderr: int) -> None:
        (theirs_in, ours_in), (ours_out, theirs_out), (self._ended, tell) = os.pipe(), os.pipe(), os.pipe()
        fds = [theirs_in, theirs_out, stderr, tell]
        control.sendmsg([json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        for fd in (theirs_in, theirs_out, tell):
            os.close(fd)
        self.stdin, self.stdout = os.fdopen(ours_in, "wb", 0), os.fdopen(ours_out, "rb", 0)
        weakref.finalize(self, os.close, self._ended)  # not before: another thread may be about to wait for it
        self.returncode: int | None = None
        self._reading = threading.Lock()
        said = b""
        while not said.endswith(b"\n"):
            said += os.read(self._ended, 1) or b"\n"
        if not said.strip():
            raise RuntimeError("the process that forks verifiers for tests is gone")
        self.pid = int(said)

    def poll(self) -> int | None:
        """The exit status, negative for a signal, or None as long as it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, negative for a signal."""
        if self.returncode is None and not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a forked verifier", timeout or 0.0)
        # Of threads that wait at a time, one reads it; only that is locked, or nobody could send a signal meanwhile.
        with self._reading:
            if self.returncode is None:
                self.returncode = int(os.read(self._ended, 64) or b"-9")
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


class ForkedCommand(Forked):
    """As far as tests need it, a :class:`subprocess.Popen` of a command that reads nothing, with streams of text."""

    def __init__(self, control: socket.socket, request: dict[str, object]) -> None:
        ours, theirs = os.pipe()
        try:
            super().__init__(control, request, theirs)
        finally:
            os.close(theirs)
        self.stdin.close()
        self.stdout = io.TextIOWrapper(io.BufferedReader(self.stdout))
        self.stderr = os.fdopen(ours)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it says on both streams until it has ended."""
        said: dict[str, str] = {}
        streams = {"out": self.stdout, "err": self.stderr}
        # Both at a time: whoever is not read stands still when its pipe is full.
        readers = [
            threading.Thread(target=lambda name=name: said.update({name: streams[name].read()}), daemon=True)
            for name in streams
        ]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader, stream in zip(readers, streams.values(), strict=True):
            reader.join()
            stream.close()
        return said["out"], said["err"]


def is_verifier(process: psutil.Process) -> bool:
    """Whether a process is the verifier of another one, forked or not."""
    words, parent = process.cmdline(), process.parent()
    forked = __file__ in words and parent is not None and __file__ in parent.cmdline()
    return forked or "openfingym_verifier.embedded_child" in words


def load(names: Sequence[str]) -> None:
    """Import modules that forked programs will find loaded."""
    with warnings.catch_warnings(action="ignore"):
        for name in names:
            importlib.import_module(name)
    gc.freeze()  # or looking for garbage would copy all of it in each of them


def serve(control: socket.socket) -> int:
    """Fork programs until there is nobody to ask for them; in a forked one, be the program."""
    running: dict[int, tuple[int, int]] = {}
    while True:
        for ready in select.select([control.fileno(), *running], [], [])[0]:
            if ready in running:
                pid, tell = running.pop(ready)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(BrokenPipeError):
                    os.write(tell, b"%d" % status)
                os.close(tell)
                os.close(ready)
                continue
            raw, fds, _, _ = socket.recv_fds(control, REQUEST, 4)
            if not raw:
                return 0
            request = json.loads(raw)
            if request["words"][0] == COMMAND:
                load(COMMAND_MODULES)
            pid = os.fork()
            if not pid:
                for fd in (control.detach(), *running, *(tell for _, tell in running.values())):
                    os.close(fd)
                return be(request, fds)
            for fd in fds[:3]:
                os.close(fd)
            running[os.pidfd_open(pid)] = pid, fds[3]
            os.write(fds[3], b"%d\n" % pid)


def be(request: Mapping[str, Any], fds: list[int]) -> int:
    """Become what ``python -m`` with the words of the request is."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    for number, fd in enumerate(fds[:3]):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    time.tzset()
    tempfile.tempdir = None
    sys.argv = list(request["words"])
    if sys.argv == [EMBEDDED]:
        from openfingym_verifier.embedded_child import main

        return main()
    if sys.argv[0] == COMMAND:
        return be_a_command()
    runpy.run_module(request["words"][0], run_name="__main__", alter_sys=True)
    return 0


def be_a_command() -> int:
    """Run the command line, with a child that forks its verifiers."""
    from openfingym.cli import main
    from openfingym_verifier import embedded
    from openfingym_verifier.child import environment

    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    control, far = connection()
    forking = os.fork()
    if not forking:
        control.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with Path(os.devnull).open("r+b", 0) as nothing:
            for number in range(3):
                os.dup2(nothing.fileno(), number)
        return serve(far)
    far.close()
    warm = WarmVerifiers(embedded._spawn, environment(OPENBLAS_NUM_THREADS="1"))
    warm.control = control
    embedded._spawn = warm.spawn
    try:
        main()
    finally:
        control.close()
        os.waitpid(forking, 0)
    return 0


def connection() -> tuple[socket.socket, socket.socket]:
    """The two ends of a line on which programs are asked for."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, REQUEST)
    return near, far


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = socket.socket(fileno=os.dup(0))
    load(MODULES)
    load([f"openfingym.kinds.{kind}" for kind in OWN])
    sys.exit(serve(line))
