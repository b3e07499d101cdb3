"""The launcher's side of the fork servers: choosing one for a job, starting it, and asking it to fork a program.

There are two, and each is started when a second job could use it: one that has imported NumPy and our client, and one
with pandas and scikit-learn as well, whose many pages make each fork slower. They end with this process. Set
``OPENFINGYM_WARM`` to 0 to do without them, or to 1 to use them from the first job on.
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
from openfingym_runtime.sandbox.python_view import PYTHON_PATH, PythonView, agent_package

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
"""Names in a program's text by which it gets the larger fork server; a workspace does, too, since what it will run is
not known yet."""
START_TIMEOUT_S: Final = 60.0
_JOBS_BEFORE: Final = 1
"""Jobs that start cold: a single one would wait for the fork server as long as it saves."""

ANSWERING: Final = "answering.py"
"""Module of the agent's client that the first process of a sandbox imports by its own name."""
_MOST_FAILURES: Final = 5
"""Failures in a row after which a fork server is not used any more."""
_ROOM_BYTES: Final = 4096
"""Bytes that the environment of a program may be longer than the fork server's."""
# `serve` returns in the processes that are to be programs only.
_PROGRAM: Final = """
from inside.forkserver import serve
serve({modules!r})
from openfingym_agent.forked import run_to_the_end
run_to_the_end({program!r})
"""
_NO_JOB: Final = Job("", "", {}, Path("/"), Limits(0.0, 0, 1, 0, 0, 0))
"""Stands in for a job where the environment of the fork server itself is made: it belongs to no rollout."""


class ForkserverLostError(RuntimeFailureError):
    """The fork server is gone or could not be started; programs can be started cold instead."""


@dataclass
class Forkserver:
    """One fork server of this process."""

    modules: tuple[str, ...]
    """Names of the modules that it imports before it serves."""
    jobs: int = 0
    """Jobs that could have used it."""
    control: socket.socket | None = None
    """Socket through which it is asked to fork; None while it does not run."""
    handle: int = -1
    """Handle (pidfd) of its process; -1 while it does not run."""
    process: subprocess.Popen[bytes] | None = None
    """The process that started it and waits for its end, a child of this one."""
    output: int = -1
    """Read end of its standard output and error; -1 while it does not run."""
    view: PythonView | None = None
    """Files of Python that it sees, and its programs with it."""
    proven: bool = False
    """Whether a program that it forked was seen to be confined."""
    failures: int = 0
    """Failures since a program was last forked without one."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while it is started, stopped, or its jobs are counted."""

    def fork(self, far: socket.socket) -> None:
        """Have the first process of a sandbox forked, with ``far`` as its end of the channel to the launcher.

        Raises:
            ForkserverLostError: the server is gone.
        """
        control = self.control
        try:
            if control is None:
                raise OSError("it is stopped")
            # A byte with its descriptor is sent whole, so threads may ask at the same time without a lock.
            socket.send_fds(control, [b"f"], [far.fileno()])
        except OSError as error:
            raise ForkserverLostError(f"the fork server is gone: {error}") from error

    def give_up(self) -> None:
        """End the server for good; all programs then start cold."""
        self.failures = _MOST_FAILURES
        self.stop()

    def stop(self) -> None:
        """End the server, and with it every sandbox that it forked."""
        with self.lock:
            self._stop()

    def start(self, view: PythonView) -> None:
        """Start the server, unless it runs, and wait until it serves.

        Raises:
            ForkserverLostError: the server cannot be started, or does not come to serve in time.
        """
        with self.lock:
            if self.control is not None and not self._ended():
                return
            self._stop()
            try:
                self._start(view)
            except (EOFError, OSError, SetupError) as error:
                # Read before the server is stopped, which closes what it is read from.
                last_line = self._last_line()
                self._stop()
                self.failures += 1
                raise ForkserverLostError(f"the fork server does not start: {last_line or error!r}") from error

    def _start(self, view: PythonView) -> None:
        near, far = socket.socketpair()
        control, served = socket.socketpair()
        self.output, written = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.output, False)
        self.control, self.view = control, view
        # By this handle the server sees its launcher die, however it dies.
        launcher = os.pidfd_open(os.getpid())
        with contextlib.ExitStack() as cleanup:
            for end in (near, far, served):
                cleanup.callback(end.close)
            cleanup.callback(os.close, launcher)
            cleanup.callback(os.close, written)
            near.settimeout(START_TIMEOUT_S)
            control.settimeout(START_TIMEOUT_S)
            self.process = spawn(far)
            # Closed here too, so that the end of the other process is the end of the stream.
            far.close()
            channel.send(near, _config(view, self.modules), (launcher, served.fileno(), written))
            served.close()
            receive(near, cleanup, "unshared")
            map_identities(self.process.pid)
            channel.send(near, {"state": "mapped"})
            _state, (handle,) = receive(near, cleanup, "forked")
            self.handle = os.dup(handle)
            # Only now has it imported its modules; from here on it waits for requests, for as long as it takes.
            receive(control, cleanup, "serving")
            control.settimeout(None)

    def _ended(self) -> bool:
        # A pidfd becomes readable when its process ends.
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return bool(poll.poll(0))

    def _last_line(self) -> str:
        """The last line that the server has printed; empty if there is none."""
        with contextlib.suppress(OSError):
            lines = os.read(self.output, 1 << 16).decode(errors="replace").strip().splitlines()
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
        for descriptor in (self.handle, self.output):
            if descriptor >= 0:
                os.close(descriptor)
        self.control, self.process, self.handle, self.output = None, None, -1, -1
        # The next one has to show it anew.
        self.proven = False


_servers = [Forkserver(COMMON), Forkserver(SCIENCE)]


def forkserver_for(job: Job, view: PythonView) -> Forkserver | None:
    """The running fork server that forks the program of a job; None for a cold start.

    Args:
        job: the job that is about to be run.
        view: files of Python that the job's program is to see.
    """
    # What the user brought along is mounted, and TCP is let through, in a cold start alone.
    if job.brought is not None:
        return None
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
    """Let go, in a forked child of this process, of the fork servers, which are its parent's."""
    for place, server in enumerate(_servers):
        if server.control is not None:
            server.control.close()
        if server.process is not None:
            # It is not this process's child. Without a return code, `subprocess` would try to wait for it.
            server.process.returncode = 0
        _servers[place] = Forkserver(server.modules)


def _config(view: PythonView, modules: tuple[str, ...]) -> channel.Message:
    program = _PROGRAM.format(modules=modules, program=PROGRAM)
    config = base_config(view, 1, {PROGRAM: program})
    # What Python reads of it at its start, such as PYTHONPATH, is the same for every program. A program's own takes its
    # place in /proc/self/environ, which cannot become longer, so room is left there.
    environment = program_environment(_NO_JOB, 0.0, PYTHON_PATH)
    return {
        **config,
        "binds": [
            *view.binds,
            (str(INSIDE), "/agent/inside"),
            (str(agent_package() / ANSWERING), f"/agent/{ANSWERING}"),
        ],
        "serves": True,
        "environment": {**environment, "OPENFINGYM_ROOM": "x" * _ROOM_BYTES},
    }


atexit.register(stop)
os.register_at_fork(after_in_child=_forget)
