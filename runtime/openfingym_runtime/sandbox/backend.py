""":class:`SandboxBackend`, which isolates programs as the docker backend does, without an engine."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from openfingym.errors import BackendUnavailableError, RuntimeFailureError
from openfingym.machine import Libraries
from openfingym_runtime.job import Job, Limits, Outcome, program_environment
from openfingym_runtime.packages import environment, libraries
from openfingym_runtime.sandbox import cgroup

if TYPE_CHECKING:
    from openfingym_runtime.sandbox.forkserver import Forkserver
    from openfingym_runtime.sandbox.python_view import PythonView

OLDEST_KERNEL: Final = (5, 14)
"""First Linux that counts processes per user namespace; Landlock came with 5.13."""
MACHINES: Final = ("aarch64", "x86_64")

# Ends with status 0 if it is confined: no capability is left, none can be won back, system calls are filtered (2), the
# user is 65534 in every sense, and no process is to be seen.
_PROBE: Final = """
import ctypes, os
libc = ctypes.CDLL(None)
capget = {"x86_64": 125, "aarch64": 90}[os.uname().machine]
header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[1] * 6)
found = {
    "capabilities": [libc.syscall(capget, header, held), *held],
    "bounding set": sum(libc.prctl(23, number, 0, 0, 0) > 0 for number in range(64)),
    "no new privileges": libc.prctl(39, 0, 0, 0, 0),
    "filter": libc.prctl(21, 0, 0, 0, 0),
    "users": {*os.getresuid(), *os.getresgid()},
    "processes": os.listdir("/proc"),
}
expected = {"capabilities": [0] * 7, "bounding set": 0, "no new privileges": 1, "filter": 2, "users": {65534}}
wrong = {key: found[key] for key, value in (expected | {"processes": []}).items() if found[key] != value}
raise SystemExit(f"not confined: {wrong}" if wrong else 0)
"""
_PROBE_LIMITS: Final = Limits(timeout_s=30, memory_mb=512, cpus=1, pids=16, storage_mb=1, output_bytes=1 << 16)


class SandboxBackend:
    """Run programs in namespaces of their own, confined by Landlock, seccomp and resource limits.

    If root starts a program, it runs as a user that nobody else is; if another user does, as that user without
    any rights. Inside, its id is 65534 in either case. Objects may be shared between threads.
    """

    name = "sandbox"

    _probed: ClassVar[threading.Event] = threading.Event()
    """Set once a program was seen to be confined here: the machine does not change under a running process."""

    def environment(self) -> dict[str, object]:
        """See :class:`openfingym_runtime.job.Backend`."""
        return environment()

    def libraries(self) -> Libraries:
        """See :class:`openfingym_runtime.job.Backend`."""
        return libraries()

    def check(self) -> None:
        """Return if the sandbox can keep every promise on this machine; the first call runs a program to see.

        Raises:
            BackendUnavailableError: the sandbox cannot keep one of them; the message has the reason and the remedy.
        """
        _check_platform()
        _check_kernel()
        if not self._probed.is_set():
            cgroup.reap()
            self._probe()
            self._probed.set()

    def ready(self, patience_s: float, cancel: threading.Event) -> None:
        """Return at once: no engine has to be waited for."""

    def tidy(self) -> None:
        """Do nothing: :meth:`run` leaves nothing behind."""

    def run(self, job: Job) -> Outcome:
        """Run ``job`` to its end, blocking, and leave nothing behind.

        Raises:
            BackendUnavailableError: the files of Python that the program needs cannot be found or read.
            RuntimeFailureError: the machinery failed, which says nothing about the agent.
        """
        # Linux-only modules, imported here so that naming the backend works on every machine.
        from openfingym_runtime.sandbox.forkserver import ForkserverLostError, forkserver_for
        from openfingym_runtime.sandbox.python_view import python_view

        server = forkserver_for(job, python_view())
        if server is not None and self._proven(server):
            try:
                outcome = _run(job, python_view(), server)
                server.failures = 0
                return outcome
            except ForkserverLostError:
                # The program has not begun, so it can be started once more without the fork server.
                server.failures += 1
        return _run(job, python_view(), None)

    def _proven(self, server: Forkserver) -> bool:
        """Whether programs that the server forks are confined, as the first of them finds out."""
        if not server.proven:
            try:
                outcome = _probed(server)
            except RuntimeFailureError:
                outcome = None
            server.proven = outcome is not None and (outcome.ended_by, outcome.exit_code) == ("exit", 0)
            if not server.proven:
                server.give_up()
        return server.proven

    def _probe(self) -> None:
        from openfingym_runtime.sandbox.first_steps import SetupError

        try:
            outcome = _probed(None)
        except SetupError as error:
            raise BackendUnavailableError(_explain(error.step, str(error))) from error
        except RuntimeFailureError as error:
            raise BackendUnavailableError(f"the sandbox does not work here: {error}") from error
        if outcome.ended_by != "exit" or outcome.exit_code != 0:
            printed = outcome.output.decode(errors="replace").strip()[-500:]
            raise BackendUnavailableError(
                f"a first program in the sandbox ended by {outcome.ended_by} with status {outcome.exit_code}: "
                f"{printed or 'no output'}"
            )


def _probed(server: Forkserver | None) -> Outcome:
    """Run a program that looks whether it is confined, and return how it ended."""
    from openfingym_runtime.sandbox.python_view import python_view

    with tempfile.TemporaryDirectory(prefix="openfingym-probe-") as folder:
        gate = Path(folder, "gate")
        gate.mkdir()
        gate.chmod(0o755)
        return _run(Job("probe", _PROBE, {}, gate, _PROBE_LIMITS), python_view(), server)


def _run(job: Job, view: PythonView, server: Forkserver | None) -> Outcome:
    from openfingym_runtime.sandbox.launch import sandbox
    from openfingym_runtime.sandbox.python_view import PYTHON_PATH
    from openfingym_runtime.sandbox.supervise import supervise

    with sandbox(job, view, server) as built:
        built.start(program_environment(job, time.time() + job.limits.timeout_s, PYTHON_PATH))
        return supervise(built, job)


def _check_platform() -> None:
    if sys.platform != "linux":
        raise BackendUnavailableError(f"the sandbox needs Linux, and this is {sys.platform}; use the docker backend")
    if platform.machine() not in MACHINES:
        raise BackendUnavailableError(
            f"the sandbox knows the system calls of {' and '.join(MACHINES)}, and this is {platform.machine()}; use "
            "the docker backend"
        )
    release = os.uname().release
    version = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    if version < OLDEST_KERNEL:
        raise BackendUnavailableError(f"the sandbox needs Linux 5.14, and this is {release}; use the docker backend")


def _check_kernel() -> None:
    from openfingym_runtime.sandbox.inside import landlock

    try:
        landlock.abi_version()
    except OSError as error:
        raise BackendUnavailableError(
            f"Landlock is not available ({error.strerror}); it must be built into the kernel and switched on: "
            "add landlock to the lsm= list of the kernel command line, or use the docker backend"
        ) from error
    status = Path("/proc/self/status").read_text(encoding="ascii")
    if "\nSeccomp:" not in status:
        raise BackendUnavailableError(
            "this kernel was built without seccomp (CONFIG_SECCOMP_FILTER); use the docker backend"
        )
    if _sysctl("user/max_user_namespaces") == "0":
        raise BackendUnavailableError(
            "user namespaces are switched off; run: sudo sysctl -w user.max_user_namespaces=15000"
        )
    if os.geteuid() != 0 and _sysctl("kernel/unprivileged_userns_clone") == "0":
        raise BackendUnavailableError(
            "user namespaces are closed to ordinary users; run: sudo sysctl -w kernel.unprivileged_userns_clone=1"
        )


def _sysctl(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _explain(step: str, detail: str) -> str:
    """The message for a step of the setup that failed, with the remedy that fits it."""
    if os.geteuid() != 0 and _sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            f"{detail}. AppArmor restricts user namespaces for ordinary users here; "
            "run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or use the docker backend"
        )
    remedies = {
        "namespaces": "the kernel or a surrounding container refuses new namespaces; allow them there, or use the "
        "docker backend",
        "identity": "the users of the new namespace could not be set; user 65534 must exist in the surrounding "
        "container's map",
        "mounts": "mounting is refused, as inside a container with a masked /proc; "
        "run outside of it, or give that container --security-opt systempaths=unconfined",
        "memory": "where no control group can be had, the kernel must be able to list unix sockets (CONFIG_UNIX_DIAG; "
        "run: sudo modprobe unix_diag)",
        "privileges": "rights could not be given up, so the program was not started",
    }
    remedy = remedies.get(step)
    return f"{detail}. {remedy[0].upper()}{remedy[1:]}" if remedy else detail
