"""The interface of backends: the job that one is given, and the outcome that it returns.

Inside a container or sandbox an agent's program always finds the same files::

    /task/instruction.md  /task/interface.py  /task/data/     read-only
    /agent/program.py                                         read-only; what is run
    /work                                                     its working folder: empty, writable, bounded
    /tmp                                                      empty, writable and bounded too
    /run/openfingym/gate.sock                                 the only way out
    /opt/cli                                                  read-only; what the user brought along, where it did
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from openfingym.machine import Libraries

BROUGHT = "/opt/cli"
"""Where a folder that the user brought along is shown."""
EndedBy = Literal["exit", "timeout", "memory", "output", "cancelled"]
"""Why a program stopped: on its own, at one of its limits, or because the caller asked."""


@dataclass(frozen=True)
class Limits:
    """Bounds on one agent's program and all processes that it starts."""

    timeout_s: float
    """Wall-clock seconds from the start of the program."""
    memory_mb: int
    """Memory of all its processes together, tmpfs included, in MiB."""
    cpus: int
    """CPU cores it may keep busy."""
    pids: int
    """Processes and threads alive at once."""
    storage_mb: int
    """Size of ``/work``, and also of ``/tmp``, in MiB."""
    output_bytes: int
    """Bytes of stdout and stderr together; a program that prints more is ended."""


@dataclass(frozen=True)
class Job:
    """One agent program to run in isolation."""

    rollout_id: str
    """Identifier of the rollout that the program belongs to."""
    program: str
    """Source text of the Python program."""
    task_files: Mapping[str, Path]
    """Host paths of the files and folders to show read-only, by their names under ``/task``."""
    gate_directory: Path
    """Host folder holding ``gate.sock``; shown read-only at ``/run/openfingym``."""
    limits: Limits
    brought: Path | None = None
    """Real path of a host folder with a command line that the user brought along, shown read-only at :data:`BROUGHT`;
    None without one. With it come a shell with its usual programs, and TCP between the job's own processes, since such
    programs speak to their model by the loopback interface. No other interface is there."""
    seed: int = 0
    """Seed for the program's random draws, which it finds in ``OPENFINGYM_SEED``."""
    cancel: threading.Event = field(default_factory=threading.Event)
    """Set by the caller to end the program early."""
    started: Callable[[], object] = lambda: None
    """Called by the backend when the program begins to run; in which thread is not defined."""


@dataclass(frozen=True)
class Outcome:
    """How the program ended. A failure of the machinery is never an outcome: it raises."""

    ended_by: EndedBy
    """Why the program stopped."""
    exit_code: int | None
    """Exit status or negative signal number; None if the program was stopped."""
    output: bytes
    """Interleaved stdout and stderr, at most ``limits.output_bytes``."""
    wall_s: float
    """Seconds for which the program ran."""


class Backend(Protocol):
    """A way to run a program in isolation."""

    name: str
    """Name by which the backend is chosen, such as ``docker``."""

    def environment(self) -> Mapping[str, object]:
        """The environment in which programs run, as far as it may matter to their results, as plain values.

        ``digest`` is 64 hex digits, which are the same whenever the rest is the same.

        Raises:
            BackendUnavailableError: the backend cannot keep its promises here; see :meth:`check`.
        """

    def libraries(self) -> Libraries | None:
        """Which numerical libraries programs can import; None where that is not known."""

    def check(self) -> None:
        """Return if the backend can keep its promises on this machine.

        Raises:
            BackendUnavailableError: the backend cannot keep one of them; the message has the reason and the remedy.
        """

    def ready(self, patience_s: float, cancel: threading.Event) -> None:
        """Wait until programs can be started, which an engine that is restarting delays, or ``cancel`` is set.

        Raises:
            BackendUnavailableError: programs still cannot be started after ``patience_s`` seconds.
        """

    def tidy(self) -> None:
        """Remove what an earlier :meth:`run` could not remove."""

    def run(self, job: Job) -> Outcome:
        """Run ``job`` to its end, blocking, and leave nothing behind.

        Raises:
            RuntimeFailureError: the machinery failed, which says nothing about the agent.
        """


def program_environment(job: Job, deadline: float, python_path: str) -> dict[str, str]:
    """The complete environment of an agent's program; no host variable is passed through.

    Args:
        job: the job whose program gets the environment.
        deadline: Unix time at which the program will be stopped.
        python_path: value of ``PYTHONPATH`` inside the container or sandbox.
    """
    # By default these libraries start a thread for every core that they see, whatever the limit on CPU time.
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(job.limits.cpus))
    return {
        "HOME": "/work",
        "LANG": "C.UTF-8",
        # The user has a number that no list of users may know; what asks for its name finds one here.
        "LOGNAME": "nobody",
        # Waiting threads sleep: if programs share cores, threads that spin cost several times the work itself.
        "OMP_WAIT_POLICY": "passive",
        "OPENFINGYM_DEADLINE": f"{deadline:.3f}",
        "OPENFINGYM_ROLLOUT": job.rollout_id,
        "OPENFINGYM_SEED": str(job.seed),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": python_path,
        # What a program printed before it was stopped must not be lost in a buffer.
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": "/tmp",  # noqa: S108  # inside, a tmpfs of its own
        "TZ": "UTC",
        **threads,
    }
