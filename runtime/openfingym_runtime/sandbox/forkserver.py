"""The launcher's side of the fork servers: which one a job is for, its start, and asking it for a program.

There are two, each started when a second job could use it: one that has imported NumPy and our client, and one with
pandas and scikit-learn as well, whose many pages make each fork slower. They end with this process. Set
``OPENFINGYM_WARM`` to 0 for cold starts only, to 1 for a fork server from the first job on.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.job import Job, Limits, program_environment
from openfingym_runtime.sandbox.first_steps import (
    INSIDE,
    PROGRAM,
    SetupError,
    base_config,
    map_identities,
    receive,
    spawn,
)
from openfingym_runtime.sandbox.inside import channel
from openfingym_runtime.sandbox.python_view import PYTHON_PATH, PythonView

VARIABLE: Final = "OPENFINGYM_WARM"
COMMON: Final = ("numpy", "numpy.random", "openfingym_agent", "openfingym_agent.workspace", "openfingym_agent.forked")
SCIENCE: Final = (
    *COMMON,
    "scipy.optimize",
    "scipy.stats",
    "pandas",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.pipeline",
    "sklearn.preprocessing",
)
_SCIENCE_NAMED: Final = re.compile(r"\b(?:pandas|scipy|sklearn|openfingym_agent\.workspace)\b")
"""What a program's text holds that is for the larger one: a workspace runs programs that are not known yet."""
START_TIMEOUT_S: Final = 60.0
_JOBS_BEFORE: Final = 1
"""Jobs that start cold: a single one would wait for the fork server as long as it saves."""

_MOST_FAILURES: Final = 5
_ROOM_BYTES: Final = 4096
_PROGRAM: Final = """
from inside.forkserver import serve
serve({modules!r})
from openfingym_agent.forked import run_to_the_end
run_to_the_end({program!r})
"""
_NOBODYS: Final = Job("", "", {}, Path("/"), Limits(0.0, 0, 1, 0, 0, 0))
"""Whose environment the fork server has."""


class ForkserverLostError(RuntimeFailureError):
    """The fork server is gone, or could not be started; a cold start does as well."""


@dataclass
class Forkserver:
    """One fork server of this process."""

    modules: tuple[str, ...]
    jobs: int = 0
    """Jobs that could have used it."""
    control: socket.socket | None = None
    handle: int = -1
    """Of its process (pidfd)."""
    process: subprocess.Popen[bytes] | None = None
    """The one that waits for it."""
    said: int = -1
    """Read end of its output."""
    view: PythonView | None = None
    proven: bool = False
    """Whether a program that it forked was seen to be confined."""
    failures: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fork(self, far: socket.socket) -> None:
        """Have a sandbox's first process forked, with ``far`` for its channel.

        Raises:
            ForkserverLostError: the server is gone.
        """
        control = self.control
        try:
            if control is None:
                raise OSError("it is stopped")
            # One message: jobs in several threads ask at once.
            socket.send_fds(control, [b"f"], [far.fileno()])
        except OSError as error:
            raise ForkserverLostError(f"the fork server is gone: {error}") from error

    def give_up(self) -> None:
        """End the server for good: all programs start cold."""
        self.failures = _MOST_FAILURES
        self.stop()

    def stop(self) -> None:
        """End the server, and with it every sandbox of its programs."""
        with self.lock:
            self._stop()

    def start(self, view: PythonView) -> None:
        """Start it, unless it runs, and wait until it serves.

        Raises:
            ForkserverLostError: it does not serve.
        """
        with self.lock:
            if self.control is not None and not self._ended():
                return
            self._stop()
            try:
                self._start(view)
            except (EOFError, OSError, SetupError) as error:
                said = self._said()
                self._stop()
                self.failures += 1
                raise ForkserverLostError(f"the fork server does not start: {said or error!r}") from error

    def _start(self, view: PythonView) -> None:
        near, far = socket.socketpair()
        control, served = socket.socketpair()
        self.said, output = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.said, False)
        self.control, self.view = control, view
        launcher = os.pidfd_open(os.getpid())
        with contextlib.ExitStack() as cleanup:
            for end in (near, far, served):
                cleanup.callback(end.close)
            cleanup.callback(os.close, launcher)
            cleanup.callback(os.close, output)
            near.settimeout(START_TIMEOUT_S)
            control.settimeout(START_TIMEOUT_S)
            self.process = spawn(far)
            far.close()
            channel.send(near, _config(view, self.modules), (launcher, served.fileno(), output))
            served.close()
            receive(near, cleanup, "unshared")
            map_identities(self.process.pid)
            channel.send(near, {"state": "mapped"})
            _state, (handle,) = receive(near, cleanup, "forked")
            self.handle = os.dup(handle)
            receive(control, cleanup, "serving")
            control.settimeout(None)

    def _ended(self) -> bool:
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return bool(poll.poll(0))

    def _said(self) -> str:
        with contextlib.suppress(OSError):
            lines = os.read(self.said, 1 << 16).decode(errors="replace").strip().splitlines()
            return lines[-1] if lines else ""
        return ""

    def _stop(self) -> None:
        if self.handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        if self.control is not None:
            self.control.close()
        if self.process is not None:
            self.process.wait()
            assert self.process.stderr is not None
            self.process.stderr.close()
        for descriptor in (self.handle, self.said):
            if descriptor >= 0:
                os.close(descriptor)
        self.control, self.process, self.handle, self.said = None, None, -1, -1
        self.proven = False


_servers = [Forkserver(COMMON), Forkserver(SCIENCE)]


def forkserver_for(job: Job, view: PythonView) -> Forkserver | None:
    """The running fork server that forks the program of a job; None for a cold start.

    Args:
        job: the job.
        view: the files that its program is to see.
    """
    wanted = os.environ.get(VARIABLE, "")
    server = _servers[bool(_SCIENCE_NAMED.search(job.program))]
    with server.lock:
        server.jobs += 1
    if wanted == "0" or server.failures >= _MOST_FAILURES or (wanted != "1" and server.jobs <= _JOBS_BEFORE):
        return None
    try:
        server.start(view)
    except ForkserverLostError:
        return None
    return server if server.view == view else None


def servers() -> tuple[Forkserver, ...]:
    """The fork servers of this process, the smaller one first, whether they run or not."""
    return tuple(_servers)


def stop() -> None:
    """End the fork servers of this process."""
    for server in _servers:
        server.stop()


def _forget() -> None:
    """In a child of this process: the fork servers are its parent's."""
    for place, server in enumerate(_servers):
        if server.control is not None:
            server.control.close()
        if server.process is not None:
            server.process.returncode = 0  # not a child of this one, which need not wait for it
        _servers[place] = Forkserver(server.modules)


def _config(view: PythonView, modules: tuple[str, ...]) -> channel.Message:
    program = _PROGRAM.format(modules=modules, program=PROGRAM)
    config = base_config(view, 1, {PROGRAM: program})
    # What the command reads of it when it starts, and programs find in /proc; the rest of their own has room there.
    environment = program_environment(_NOBODYS, 0.0, PYTHON_PATH)
    return {
        **config,
        "binds": [*view.binds, (str(INSIDE), "/agent/inside")],
        "serves": True,
        "environment": {**environment, "OPENFINGYM_ROOM": "x" * _ROOM_BYTES},
    }


atexit.register(stop)
os.register_at_fork(after_in_child=_forget)
