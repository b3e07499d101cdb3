"""Running a rollout: verifier, gate, backend and agent put together.

One :class:`Launcher` holds what rollouts share: the verifier (its own process, or one that is
running elsewhere), the gate keeper and the backend. :func:`run` is one rollout with a launcher of
its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import platform
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openfingym import catalog
from openfingym.agents import Agent, require_fit, resolve
from openfingym.build import build
from openfingym.errors import RuntimeFailureError, UsageError, VerifierError
from openfingym.kinds import kind_of
from openfingym.package import BuiltPackage
from openfingym.results import RolloutResult, RunFiles, write_run
from openfingym.task import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.client import RolloutTicket, VerifiedResult, VerifierClient
    from openfingym_runtime.gate import GateKeeper
    from openfingym_runtime.job import Backend, Limits, Outcome

VERIFIER_VARIABLE = "OPENFINGYM_VERIFIER"
ADMIN_TOKEN_VARIABLE = "OPENFINGYM_ADMIN_TOKEN"  # noqa: S105  # the name of a variable
BODY_OVERHEAD = 64 * 1024
CALLS_PER_SUBMISSION = 200


@dataclass(frozen=True)
class VerifierAddress:
    """Where a running verifier is, and the token that lets one create rollouts there."""

    location: str
    """``http://host:port``, or the path of a unix socket."""
    admin_token: str

    @classmethod
    def find(cls, location: str | None = None) -> VerifierAddress | None:
        """The verifier named by the argument or ``$OPENFINGYM_VERIFIER``; None to start one.

        Raises:
            UsageError: a location is given without ``$OPENFINGYM_ADMIN_TOKEN``.
        """
        location = location or os.environ.get(VERIFIER_VARIABLE)
        if not location:
            return None
        token = os.environ.get(ADMIN_TOKEN_VARIABLE)
        if not token:
            raise UsageError(f"the verifier at {location} needs its admin token in ${ADMIN_TOKEN_VARIABLE}")
        return cls(location, token)

    def connect(self) -> VerifierClient:
        """A client for this verifier."""
        from openfingym.client import VerifierClient

        if self.is_url:
            return VerifierClient(base_url=self.location, admin_token=self.admin_token)
        return VerifierClient(uds=Path(self.location), admin_token=self.admin_token)

    @property
    def is_url(self) -> bool:
        """Whether it is reached over TCP."""
        return self.location.startswith(("http://", "https://"))


class Launcher:
    """Runs rollouts of some tasks; a context manager.

    Attributes:
        packages: the built packages it serves, in the order given.
    """

    def __init__(self, packages: Sequence[BuiltPackage], *, backend: str = "auto", verifier: VerifierAddress | None = None) -> None:
        self.packages = list(packages)
        self._backend_name = backend
        self._address = verifier
        self._stack = contextlib.ExitStack()
        self._gates: GateKeeper | None = None
        self._backends: dict[bool, Backend] = {}
        self._lock = threading.Lock()

    @classmethod
    def for_tasks(
        cls, tasks: Sequence[str | Path | Task], *, backend: str = "auto", verifier: VerifierAddress | None = None, real: bool = False
    ) -> Launcher:
        """A launcher for tasks given by name, folder or value, building what is not built."""
        loaded = [task if isinstance(task, Task) else catalog.load_task(task, real=real) for task in tasks]
        names = [task.name for task in loaded]
        if len(set(names)) < len(names):
            raise UsageError("a task is named twice")
        return cls([build(task) for task in loaded], backend=backend, verifier=verifier)

    def __enter__(self) -> Self:
        if self._address is None:
            from openfingym_verifier.embedded import EmbeddedVerifier

            embedded = self._stack.enter_context(EmbeddedVerifier.start(self.packages))
            self._address = VerifierAddress(str(embedded.uds), embedded.admin_token)
        self.client = self._stack.enter_context(contextlib.closing(self._address.connect()))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(
        self,
        package: BuiltPackage,
        agent: Agent,
        *,
        seed: int = 0,
        out: Path | None = None,
        cancel: threading.Event | None = None,
    ) -> RolloutResult:
        """Run one rollout to its verified result.

        Args:
            package: one of :attr:`packages`.
            agent: who acts.
            seed: given to the agent's program.
            out: folder below which the run is kept; None keeps nothing.
            cancel: ends the program early when set.

        Returns:
            The result; ``state`` is ``error`` where our machinery failed.

        Raises:
            BackendUnavailableError: no backend can run the program here.
            StoreError: the run could not be written.
            UsageError: a built-in agent is not for this task.
        """
        require_fit(agent, package.task)
        backend = self._backend(agent)
        name = backend.name if backend else "host"
        started, clock = datetime.now(UTC), time.monotonic()
        ticket = self.client.create_rollout(package.manifest.name, agent=agent.name, seed=seed, ttl_s=_lifetime_s(package))
        if ticket.task_digest != package.manifest.digest:
            raise VerifierError(
                f"the verifier scores another build of {package.manifest.name!r} ({ticket.task_digest[:16]}) than this one "
                f"({package.manifest.digest[:16]}); update whichever is older"
            )
        result = RolloutResult(
            rollout_id=ticket.rollout_id,
            task=package.manifest.name,
            task_digest=package.manifest.digest,
            data_kind=package.manifest.data_kind,
            agent=agent.name,
            backend=name,
            seed=seed,
            state="error",
            budget=ticket.budget,
            started_at=started.isoformat(timespec="milliseconds"),
        )
        outcome: Outcome | None = None
        try:
            outcome, failures = self._act(package, agent, backend, ticket, seed, cancel or threading.Event())
            result = _merge(result, self.client.finalize(ticket.rollout_id), outcome)
            if failures and not (result.state == "scored" and result.exit_code == 0):
                # A program that ended well has tried again and got through; any other was let down by us.
                raise VerifierError(f"the verifier failed {failures} request(s) of this rollout, whose result would not be the agent's")
        except (RuntimeFailureError, VerifierError) as error:
            result = replace(result, state="error", reason=str(error), total=None, relative_total=None, metrics={})
        except BaseException:
            with contextlib.suppress(VerifierError):
                self.client.finalize(ticket.rollout_id)
            raise
        result = replace(result, wall_s=round(time.monotonic() - clock, 3))
        if out is None:
            return result
        return write_run(out, result, self._files(package, agent, result, outcome))

    def _act(
        self, package: BuiltPackage, agent: Agent, backend: Backend | None, ticket: RolloutTicket, seed: int, cancel: threading.Event
    ) -> tuple[Outcome | None, int]:
        """Let the agent act; returns how its program ended, and how many of its requests our side failed."""
        if backend is None:
            kind, contract = kind_of(package.task), package.task.spec.contract
            self.client.submit(ticket.token, kind.oracle(contract, package.read_truth(), package.manifest.submission_shape))
            return None, 0
        from openfingym_runtime.job import Job

        body = 16 * math.prod(package.manifest.submission_shape) + BODY_OVERHEAD
        calls = CALLS_PER_SUBMISSION * (1 + package.task.spec.verification.budget)
        with self._gate_keeper().open(rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=body, max_calls=calls) as gate:
            job = Job(
                rollout_id=ticket.rollout_id,
                program=agent.program,
                task_files=package.agent_view(),
                gate_directory=gate.directory,
                limits=limits_of(package),
                seed=seed,
                cancel=cancel,
            )
            return backend.run(job), gate.verifier_failures

    def _backend(self, agent: Agent) -> Backend | None:
        if agent.kind == "oracle":
            return None
        with self._lock:
            if agent.trusted not in self._backends:
                from openfingym_runtime.backends import select

                self._backends[agent.trusted] = select(self._backend_name, trusted=agent.trusted)
            return self._backends[agent.trusted]

    def _gate_keeper(self) -> GateKeeper:
        with self._lock:
            if self._gates is None:
                from openfingym_runtime.gate import GateKeeper

                assert self._address is not None
                where = self._address.location
                self._gates = self._stack.enter_context(GateKeeper(where if self._address.is_url else Path(where)))
            return self._gates

    def _files(self, package: BuiltPackage, agent: Agent, result: RolloutResult, outcome: Outcome | None) -> RunFiles:
        from openfingym import __version__

        config: dict[str, object] = {
            "format": result.format,
            "openfingym": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "task": package.manifest.name,
            "task_version": package.manifest.version,
            "task_digest": package.manifest.digest,
            "data_kind": package.manifest.data_kind,
            "agent": agent.name,
            "program_sha256": hashlib.sha256(agent.program.encode()).hexdigest() if agent.program else None,
            "backend": result.backend,
            "limits": asdict(limits_of(package)),
            "seed": result.seed,
        }
        # The evidence is the verifier's; where it cannot be reached the run is an error, and is kept all the same.
        log: list[dict[str, object]] = []
        submissions: dict[int, bytes] = {}
        with contextlib.suppress(VerifierError):
            log = [asdict(row) for row in self.client.log(result.rollout_id)]
            for number in range(1, result.submissions_accepted + 1):
                submissions[number] = _npy(self.client.submission(result.rollout_id, number))
        return RunFiles(config, agent.program, outcome.output if outcome else b"", log, submissions)


def run(
    task: str | Path | Task,
    agent: str | Agent = "naive",
    *,
    program: str | Path | None = None,
    backend: str = "auto",
    seed: int = 0,
    out: str | Path | None = "runs",
    verifier: VerifierAddress | None = None,
) -> RolloutResult:
    """Run one agent on one task and return its verified result.

    Args:
        task: a task's name, its folder, or a task.
        agent: a built-in agent's name, as in :data:`openfingym.agents.BUILTIN`, or an agent.
        program: path of your program, with ``agent="script"``.
        backend: ``auto``, ``docker``, ``sandbox`` or ``inline``.
        seed: given to the program as ``OPENFINGYM_SEED``.
        out: folder below which the run is kept; None keeps nothing on disk.
        verifier: a running verifier; None starts one for this call.

    Raises:
        OpenFinGymError: see :mod:`openfingym.errors`. A failure of the machinery during the rollout is
            returned as a result in state ``error``.
    """
    resolved = resolve(agent, program)
    loaded = task if isinstance(task, Task) else catalog.load_task(task)
    require_fit(resolved, loaded)
    with Launcher.for_tasks([loaded], backend=backend, verifier=verifier or VerifierAddress.find()) as launcher:
        return launcher.run(launcher.packages[0], resolved, seed=seed, out=Path(out) if out is not None else None)


@contextlib.contextmanager
def launcher_for(task: str | Path | Task, *, backend: str = "auto") -> Iterator[Launcher]:
    """A launcher for one task, with the verifier of the environment or one of its own."""
    with Launcher.for_tasks([task], backend=backend, verifier=VerifierAddress.find()) as launcher:
        yield launcher


def limits_of(package: BuiltPackage) -> Limits:
    """The limits a task states, as the runtime wants them."""
    from openfingym_runtime.job import Limits

    file, own = package.task.file, package.task.spec.limits
    return Limits(
        timeout_s=file.agent.timeout_sec,
        memory_mb=file.environment.memory_mb,
        cpus=file.environment.cpus,
        pids=own.pids,
        storage_mb=file.environment.storage_mb,
        output_bytes=own.output_kb * 1024,
    )


def _lifetime_s(package: BuiltPackage) -> float:
    """How long a rollout's token lives: the program's time, and a margin for starting and finalizing."""
    return package.task.file.agent.timeout_sec + 300.0


def _merge(result: RolloutResult, verified: VerifiedResult, outcome: Outcome | None) -> RolloutResult:
    reason = None
    if verified.state == "rejected":
        reason = "; ".join(part for part in (_how_it_ended(outcome), verified.reason) if part)
    return replace(
        result,
        state=verified.state,
        reason=reason,
        total=verified.total,
        metrics=dict(verified.metrics),
        relative_total=verified.relative_total,
        baseline=verified.baseline,
        baseline_total=verified.baseline_total,
        baseline_metrics=dict(verified.baseline_metrics),
        submissions_accepted=verified.submissions_accepted,
        submissions_rejected=verified.submissions_rejected,
        flags=tuple(verified.flags),
        log_head=verified.log_head,
        ended_by=outcome.ended_by if outcome else None,
        exit_code=outcome.exit_code if outcome else None,
    )


def _how_it_ended(outcome: Outcome | None) -> str | None:
    """One clause on a program that did not simply finish, with the last line it printed."""
    if outcome is None or (outcome.ended_by == "exit" and outcome.exit_code == 0):
        return None
    stopped = {
        "timeout": "the program was stopped at its time limit",
        "memory": "the program was stopped at its memory limit",
        "output": "the program was stopped for printing too much",
        "cancelled": "the program was cancelled",
    }
    if outcome.ended_by != "exit":
        return stopped[outcome.ended_by]
    lines = outcome.output.decode(errors="replace").strip().splitlines()
    return f"the program ended with status {outcome.exit_code}" + (f" ({lines[-1][:300]})" if lines else "")


def _npy(values: NDArray[np.float64]) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()
