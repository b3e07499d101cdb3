"""Running a rollout: verifier, gate, backend and agent put together.

One :class:`Launcher` holds what rollouts share: the verifier (its own process, or one that is
running elsewhere), the gate keeper and the backend. :func:`run` is one rollout with a launcher of
its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import platform
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openfingym import catalog
from openfingym.agents import Agent, require_fit, resolve
from openfingym.agents.oracle import submit_truth
from openfingym.bounds import gate_bounds, lifetime_s, limits_of
from openfingym.build import build
from openfingym.errors import UsageError, VerifierError
from openfingym.kinds import is_sequential
from openfingym.package import BuiltPackage
from openfingym.results import RolloutResult, RunFiles, write_run
from openfingym.task import Task
from openfingym.verdict import OURS, Acted, failed, judged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.agents.llm.hosting import Host
    from openfingym.agents.llm.launching import Voice
    from openfingym.client import RolloutTicket, VerifierClient
    from openfingym.models.meter import Allowance
    from openfingym.models.prices import PriceTable
    from openfingym.models.spec import ModelSpec
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate import GateKeeper
    from openfingym_runtime.job import Backend

VERIFIER_VARIABLE = "OPENFINGYM_VERIFIER"
ADMIN_TOKEN_VARIABLE = "OPENFINGYM_ADMIN_TOKEN"  # noqa: S105  # the name of a variable


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
        self._host: Host | None = None
        self._pool: WorkspacePool | None = None
        self._warmed: set[str] = set()
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
        model: ModelSpec | None = None,
        allowance: Allowance | None = None,
        prices: PriceTable | None = None,
        seed: int = 0,
        out: Path | None = None,
        cancel: threading.Event | None = None,
    ) -> RolloutResult:
        """Run one rollout to its verified result.

        Args:
            package: one of :attr:`packages`.
            agent: who acts.
            model: for agents that ask one.
            allowance: what such an agent may spend; where it states no turns or no time, the task's size does.
            prices: of models; by default the table of the package.
            seed: given to the agent's program.
            out: folder below which the run is kept; None keeps nothing.
            cancel: ends the program early when set.

        Returns:
            The result; ``state`` is ``error`` where our machinery failed.

        Raises:
            BackendUnavailableError: no backend can run the program here.
            StoreError: the run could not be written.
            UsageError: a built-in agent is not for this task, or its model cannot be asked.
        """
        require_fit(agent, package.task)
        voice = self._voice(package, agent, model, allowance, prices)
        backend = self._backend(agent)
        name = backend.name if backend else "host"
        started, clock = datetime.now(UTC), time.monotonic()
        ttl_s = lifetime_s(package, voice.wall_s if voice else None)
        ticket = self.client.create_rollout(package.manifest.name, agent=agent.name, seed=seed, ttl_s=ttl_s)
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
            model=model.name if model else None,
            budget=ticket.budget,
            started_at=started.isoformat(timespec="milliseconds"),
        )
        acted = Acted()
        try:
            acted = self._act(package, agent, voice, backend, ticket, seed, cancel or threading.Event())
            if acted.played is not None and acted.played.failure is not None:
                raise acted.played.failure
            result = judged(result, self.client.finalize(ticket.rollout_id), acted)
        except OURS as error:
            result = failed(result, error, acted)
        except BaseException:
            with contextlib.suppress(VerifierError):
                self.client.finalize(ticket.rollout_id)
            raise
        result = replace(result, wall_s=round(time.monotonic() - clock, 3))
        if out is None:
            return result
        return write_run(out, result, self._files(package, agent, voice, result, acted))

    def warm(self, package: BuiltPackage, agent: Agent, rollouts: int, *, allowance: Allowance | None = None, size: int = 2) -> None:
        """Have workspaces started for so many rollouts to come of an agent that asks a model, or of a command.

        At most ``size`` of them wait, all tasks together; the first call decides.

        Raises:
            BackendUnavailableError: no backend can run the agent's programs here.
        """
        from openfingym.agents.llm.launching import open_pool, with_defaults

        backend, gates, host = self._backend(agent), self._gate_keeper(), self._talking()
        assert backend is not None, "the oracle needs no workspace"
        with self._lock:
            if self._pool is None:
                self._pool = open_pool(host, backend, gates, size)
            self._warmed.add(package.manifest.digest)
        limits = replace(limits_of(package), timeout_s=with_defaults(allowance, package).wall_s or 0.0)
        host.call(partial(self._pool.expect, package, rollouts, limits=limits))

    def _act(
        self,
        package: BuiltPackage,
        agent: Agent,
        voice: Voice | None,
        backend: Backend | None,
        ticket: RolloutTicket,
        seed: int,
        cancel: threading.Event,
    ) -> Acted:
        """Let the agent act."""
        if backend is None:
            submit_truth(self.client, ticket, package)
            return Acted()
        body, calls = gate_bounds(package)
        if voice is not None:
            from openfingym.agents.llm.launching import Stage, play_rollout

            pool = self._pool if package.manifest.digest in self._warmed else None
            stage = Stage(self._talking(), self.client, self._gate_keeper(), backend, limits_of(package), body, calls, pool)
            played = play_rollout(stage, package, voice, ticket, seed=seed, cancel=cancel)
            return Acted(played.outcome, played.verifier_failures, played)
        from openfingym_runtime.job import Job

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
            return Acted(backend.run(job), gate.verifier_failures)

    def _voice(
        self, package: BuiltPackage, agent: Agent, model: ModelSpec | None, allowance: Allowance | None, prices: PriceTable | None
    ) -> Voice | None:
        """What an agent that talks needs; None for any other."""
        if agent.asks_model != (model is not None):
            raise UsageError(
                f"agent {agent.name!r} needs a model: give --model NAME, such as stand-in/competent"
                if model is None
                else f"agent {agent.name!r} asks no model; leave the model out"
            )
        if agent.acts is None:
            return None
        from openfingym.agents.llm.launching import find_voice

        return find_voice(self._talking(), package, agent.acts, model, allowance, prices)

    def _talking(self) -> Host:
        with self._lock:
            if self._host is None:
                from openfingym.agents.llm.hosting import Host

                self._host = self._stack.enter_context(Host())
            return self._host

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

    def _files(self, package: BuiltPackage, agent: Agent, voice: Voice | None, result: RolloutResult, acted: Acted) -> RunFiles:
        from openfingym import __version__

        program, trajectory = agent.program, None
        if acted.played is not None:
            from openfingym.agents.llm.record import rollout_record

            program, trajectory = acted.played.program, rollout_record(acted.played, result).model_dump_json()

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
            "program_sha256": hashlib.sha256(program.encode()).hexdigest() if program else None,
            "backend": result.backend,
            "limits": asdict(limits_of(package)),
            "seed": result.seed,
        } | (voice.describe() if voice else {})
        # The evidence is the verifier's; where it cannot be reached the run is an error, and is kept all the same.
        log: list[dict[str, object]] = []
        submissions: dict[int, bytes] = {}
        actions: list[dict[str, object]] | None = None
        with contextlib.suppress(VerifierError):
            log = [asdict(row) for row in self.client.log(result.rollout_id)]
            if is_sequential(package.task.spec.contract):
                actions = [asdict(action) for action in self.client.actions(result.rollout_id)]
            for past in self.client.rollout_status(result.rollout_id).submissions:
                submissions[past.submission] = _npy(self.client.submission(result.rollout_id, past.submission))
        return RunFiles(config, program, acted.output, log, submissions, actions, trajectory)


def run(
    task: str | Path | Task,
    agent: str | Agent = "naive",
    *,
    program: str | Path | None = None,
    command: Sequence[str] | None = None,
    model: str | ModelSpec | None = None,
    allowance: Allowance | None = None,
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
        command: your own agent, with ``agent="command"``.
        model: of agents that ask one: its name, such as ``stand-in/competent``, or where else it is.
        allowance: what such an agent may spend.
        backend: ``auto``, ``docker``, ``sandbox`` or ``inline``.
        seed: given to the program as ``OPENFINGYM_SEED``.
        out: folder below which the run is kept; None keeps nothing on disk.
        verifier: a running verifier; None starts one for this call.

    Raises:
        OpenFinGymError: see :mod:`openfingym.errors`. A failure of the machinery during the rollout is
            returned as a result in state ``error``.
    """
    resolved = resolve(agent, program, command=command)
    if isinstance(model, str):
        from openfingym.models.spec import ModelSpec

        model = ModelSpec.parse(model)
    loaded = task if isinstance(task, Task) else catalog.load_task(task)
    require_fit(resolved, loaded)
    with Launcher.for_tasks([loaded], backend=backend, verifier=verifier or VerifierAddress.find()) as launcher:
        return launcher.run(
            launcher.packages[0], resolved, model=model, allowance=allowance, seed=seed, out=Path(out) if out is not None else None
        )


@contextlib.contextmanager
def launcher_for(task: str | Path | Task, *, backend: str = "auto") -> Iterator[Launcher]:
    """A launcher for one task, with the verifier of the environment or one of its own."""
    with Launcher.for_tasks([task], backend=backend, verifier=VerifierAddress.find()) as launcher:
        yield launcher


def _npy(values: NDArray[np.float64]) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()
