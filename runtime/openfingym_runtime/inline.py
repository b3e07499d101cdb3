"""Running one of our own programs without isolation.

For machines where nothing can isolate a program (macOS without a Docker engine): the built-in
baselines still work there, through the same interface and the same gate. An agent's own code is
never run this way; :func:`openfingym_runtime.backends.select` refuses.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from openfingym.errors import RuntimeFailureError
from openfingym.machine import Libraries
from openfingym_runtime import lifeline, owned_directory
from openfingym_runtime.job import EndedBy, Job, Outcome, program_environment
from openfingym_runtime.packages import environment, libraries

_POLL_S = 0.02
"""Seconds between two looks at whether the program has ended or passed a limit."""


class InlineBackend:
    """Runs a trusted program as an ordinary child process."""

    name = "inline"

    def environment(self) -> dict[str, object]:
        """See :class:`openfingym_runtime.job.Backend`."""
        return environment()

    def libraries(self) -> Libraries:
        """See :class:`openfingym_runtime.job.Backend`."""
        return libraries()

    def check(self) -> None:
        """Return: a child process can be started on every machine."""

    def ready(self, patience_s: float, cancel: threading.Event) -> None:
        """Return at once: no engine has to be waited for."""

    def tidy(self) -> None:
        """Do nothing: :meth:`run` leaves nothing behind."""

    def run(self, job: Job) -> Outcome:
        """Run ``job`` in a folder of its own; see :class:`openfingym_runtime.job.Backend`."""
        with owned_directory.owned_directory() as root:
            for part in ("task", "work"):
                (root / part).mkdir()
            for name, source in job.task_files.items():
                (root / "task" / name).symlink_to(source)
            program = root / "program.py"
            program.write_text(job.program, encoding="utf-8")
            with (root / "output").open("w+b") as output:
                return _supervise(job, root, program, output)


def _supervise(job: Job, root: Path, program: Path, output: IO[bytes]) -> Outcome:
    started = time.monotonic()
    # The agent's client is beside this package in a checkout, and inside it in an installed wheel.
    client = Path(__file__).resolve().parent.parent / "agent"
    shipped = Path(__file__).resolve().parent / "_image" / "runtime" / "agent"
    path = os.pathsep.join([str(root / "task"), str(client if client.is_dir() else shipped)])
    variables = program_environment(job, time.time() + job.limits.timeout_s, path)
    variables |= {
        "HOME": str(root / "work"),
        "OPENFINGYM_GATE": str(job.gate_directory / "gate.sock"),
        "OPENFINGYM_TASK": str(root / "task"),
        "PATH": os.environ.get("PATH", ""),
        "TMPDIR": str(root / "work"),
    }
    # The lifeline: the program ends when the write end closes, which the kernel does however this process dies.
    read, write = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, lifeline.__file__, str(read), str(program)],
            cwd=root / "work",
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(read,),
            # A process group of its own, so that one signal ends the program with all its children.
            start_new_session=True,
        )
    except OSError as error:
        os.close(write)
        raise RuntimeFailureError(f"the program could not be started: {error}") from error
    finally:
        os.close(read)
    job.started()
    try:
        ended_by = _wait(process, job, output, started)
    finally:
        os.close(write)
        with contextlib.suppress(OSError):  # no process of the group is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    output.seek(0)
    return Outcome(
        ended_by=ended_by,
        exit_code=process.returncode if ended_by == "exit" else None,
        output=output.read(job.limits.output_bytes),
        wall_s=time.monotonic() - started,
    )


def _wait(process: subprocess.Popen[bytes], job: Job, output: IO[bytes], started: float) -> EndedBy:
    while process.poll() is None:
        if job.cancel.is_set():
            return "cancelled"
        if time.monotonic() - started > job.limits.timeout_s:
            return "timeout"
        if os.fstat(output.fileno()).st_size > job.limits.output_bytes:
            return "output"
        job.cancel.wait(_POLL_S)
    return "exit"
