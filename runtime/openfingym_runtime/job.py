"""The interface of backends: the job they are given, and the outcome they give back.

Inside a container or sandbox an agent's program always finds the same world::

    /task/instruction.md  /task/interface.py  /task/data/     read-only
    /agent/program.py                                         read-only; what is run
    /work                                                     its working folder: empty, writable, bounded
/tmp                                                      empty, writable and bounded too
    /run/openfingym/gate.sock                                 the only way out
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

EndedBy = Literal["exit", "timeout", "memory", "output", "cancelled"]
"""Why a program stopped: on its own, or at one of its limits, or because the caller asked."""


@dataclass(frozen=True)
class Limits:
    """Bounds of one agent process tree."""

    timeout_s: float
    """Wall-clock seconds from the start of the program."""
    memory_mb: int
    """Memory of all its processes together, tmpfs included, in MiB."""
    cpus: int
    """CPU cores it may keep busy."""
    pids: int
    """Processes and threads alive at once."""
    storage_mb: int
    """Size of ``/work``, in MiB."""
    output_bytes: int
    """Bytes of stdout and stderr; more ends the program."""


@dataclass(frozen=True)
class Job:
    """One agent program to run in isolation."""

    rollout_id: str
    program: str
    """Source text of the Python program."""
    task_files: Mapping[str, Path]
    """Name under ``/task`` to host path (file or folder); shown read-only."""
    gate_directory: Path
    """Host folder holding ``gate.sock``; shown read-only at ``/run/openfingym``."""
    limits: Limits
    seed: int = 0
    """Given to the program as ``OPENFINGYM_SEED``."""
    cancel: threading.Event = field(default_factory=threading.Event)
    """Set by the caller to end the program early."""
    started: Callable[[], object] = lambda: None
    """Called by the backend when the program begins to run, in whatever thread."""


@dataclass(frozen=True)
class Outcome:
    """How the program ended. A failure of the machinery is never an outcome: it raises."""

    ended_by: EndedBy
    exit_code: int | None
    """Exit status, negative signal number, or None where the program was stopped."""
    output: bytes
    """Interleaved stdout and stderr, at most ``limits.output_bytes``."""
    wall_s: float
    """Seconds the program ran."""


class Backend(Protocol):
    """A way to run a program in isolation."""

    name: str

    def environment(self) -> Mapping[str, object]:
        """The environment that programs run in here, as far as it may matter to their results, as plain values.

        ``digest`` is 64 hex digits, the same where all of it is the same.

        Raises:
            BackendUnavailableError: the backend cannot keep its promises here; see :meth:`check`.
        """

    def check(self) -> None:
        """Return if this machine can keep the backend's promises.

        Raises:
            BackendUnavailableError: with the reason and the remedy.
        """

    def ready(self, patience_s: float, cancel: threading.Event) -> None:
        """Return when programs can be started, or ``cancel`` is set: an engine may be restarting.

        Raises:
            BackendUnavailableError: it does not come back within ``patience_s``.
        """

    def tidy(self) -> None:
        """Remove what :meth:`run` could not remove when it should have."""

    def run(self, job: Job) -> Outcome:
        """Run ``job`` to its end, blocking, and leave nothing behind.

        Raises:
            RuntimeFailureError: the machinery failed; says nothing about the agent.
        """


def program_environment(job: Job, deadline: float, python_path: str) -> dict[str, str]:
    """The complete environment of an agent's program; no host variable is passed through.

    Args:
        job: the job whose program gets the environment.
        deadline: Unix time at which the program will be stopped.
        python_path: value of ``PYTHONPATH`` inside the container or sandbox.
    """
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(job.limits.cpus))
    return {
        "HOME": "/work",
        "LANG": "C.UTF-8",
        # The user has a number, and may have no name where names are kept.
        "LOGNAME": "nobody",
        # Threads that wait sleep: where programs share cores, spinning ones cost several times the work itself.
        "OMP_WAIT_POLICY": "passive",
        "OPENFINGYM_DEADLINE": f"{deadline:.3f}",
        "OPENFINGYM_ROLLOUT": job.rollout_id,
        "OPENFINGYM_SEED": str(job.seed),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": python_path,
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": "/tmp",  # noqa: S108  # inside, a tmpfs of its own
        "TZ": "UTC",
        **single,
    }
