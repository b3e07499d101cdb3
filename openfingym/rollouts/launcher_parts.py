"""The parts that rollouts of one launcher share: connections to verifiers, gate keepers, backends, workspaces, and the
event loop of conversations.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.agents import Agent, require_model
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts.bounds import limits_of
from openfingym.verifiers import VerifierAddress

if TYPE_CHECKING:
    from openfingym.agents.llm.conversation_runner import ConversationRunner
    from openfingym.agents.llm.setup import ModelSetup
    from openfingym.models.meter import Allowance
    from openfingym.models.model import LanguageModel
    from openfingym.models.prices import PriceTable
    from openfingym.models.spec import ModelSpec
    from openfingym.verifiers.client import VerifierClient
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate.gate import GateKeeper
    from openfingym_runtime.job import Backend


@dataclass
class VerifierLine:
    """What is needed to use one verifier."""

    address: VerifierAddress
    client: VerifierClient
    gates: GateKeeper | None = None
    """Opens gates that lead to this verifier; None while no rollout has needed one."""
    pool: WorkspacePool | None = None
    """Workspaces for its tasks that were started ahead of need; None where none were asked for."""


class LauncherParts:
    """What the rollouts of a launcher share; each part is made when a rollout first needs it.

    Args:
        packages: the built packages of the tasks.
        backend: how programs are isolated: ``docker``, ``sandbox``, ``inline`` or ``auto``.
        patience_s: seconds to wait for a model's endpoint that does not answer.
    """

    def __init__(self, packages: Sequence[BuiltPackage], backend: str, patience_s: float) -> None:
        self._packages, self._backend_name, self._patience_s = packages, backend, patience_s
        self._lines: dict[str, VerifierLine] = {}
        """Lines by the names of tasks; tasks of one verifier have the same line."""
        self._stack = contextlib.ExitStack()
        self._runners = contextlib.ExitStack()
        self._runner: ConversationRunner | None = None
        self._warmed: set[str] = set()
        """Digests of the packages for which workspaces were started ahead of need."""
        self._backends: dict[bool, Backend] = {}
        """Backends for trusted agents and for all others."""
        # Rollouts in several threads share a launcher, and must not make the same part twice.
        self._lock = threading.Lock()

    def connect(self, verifiers: Mapping[str, VerifierAddress]) -> None:
        """Open one client for each verifier; nothing is sent yet.

        Args:
            verifiers: address of the verifier of each task, by the task's name.
        """
        lines: dict[VerifierAddress, VerifierLine] = {}
        for package in self._packages:
            address = verifiers[package.manifest.name]
            if address not in lines:
                client = self._stack.enter_context(contextlib.closing(address.connect()))
                lines[address] = VerifierLine(address, client)
            self._lines[package.manifest.name] = lines[address]

    def close(self) -> None:
        """End conversations and workspaces, then gates and clients."""
        with self._stack:
            self._runners.close()  # conversations use the gates, so they end before them
            for backend in self._backends.values():
                backend.tidy()

    def line_of(self, package: BuiltPackage) -> VerifierLine:
        """The line to the verifier that scores a package."""
        assert self._lines, "the launcher has not been entered"
        return self._lines[package.manifest.name]

    @property
    def lines(self) -> list[VerifierLine]:
        """Every line once."""
        return list({id(line): line for line in self._lines.values()}.values())

    def backend_for(self, agent: Agent) -> Backend | None:
        """The backend that isolates an agent's programs; None for the oracle, which runs none.

        Raises:
            BackendUnavailableError: no backend can run the agent's programs here.
        """
        if agent.kind == "oracle":
            return None
        with self._lock:
            if agent.trusted not in self._backends:
                from openfingym_runtime.backends import select

                self._backends[agent.trusted] = select(self._backend_name, trusted=agent.trusted)
            return self._backends[agent.trusted]

    def gate_keeper(self, line: VerifierLine) -> GateKeeper:
        """What opens gates that lead to the verifier of a line."""
        with self._lock:
            if line.gates is None:
                from openfingym_runtime.gate.gate import GateKeeper

                where = line.address.location
                line.gates = self._stack.enter_context(GateKeeper(where if line.address.is_url else Path(where)))
            return line.gates

    def conversations(self) -> ConversationRunner:
        """The event loop on which agents with a model or a command act, in a thread of its own."""
        with self._lock:
            if self._runner is None:
                from openfingym.agents.llm.conversation_runner import ConversationRunner

                self._runner = self._runners.enter_context(ConversationRunner(patience_s=self._patience_s))
            return self._runner

    @contextlib.contextmanager
    def model_setup(
        self,
        package: BuiltPackage,
        agent: Agent,
        model: ModelSpec | LanguageModel | None,
        allowance: Allowance | None,
        prices: PriceTable | None,
    ) -> Iterator[ModelSetup | None]:
        """What an agent with a model or a command needs, during the block; None for any other.

        Raises:
            UsageError: the agent needs a model and has none, or the other way round; or the model cannot be asked.
        """
        require_model(agent, given=model is not None)
        if agent.acts is None:
            yield None
            return
        from openfingym.agents.llm.launching import model_setup

        with model_setup(self.conversations(), package, agent.acts, model, allowance, prices) as setup:
            yield setup

    def warm(
        self, package: BuiltPackage, agent: Agent, rollouts: int, *, allowance: Allowance | None, size: int
    ) -> None:
        """Have workspaces started ahead of need; see :meth:`openfingym.rollouts.launcher.Launcher.warm`.

        Raises:
            BackendUnavailableError: no backend can run the agent's programs here.
        """
        from openfingym.agents.llm.launching import open_pool, with_defaults

        backend, line, conversations = self.backend_for(agent), self.line_of(package), self.conversations()
        assert backend is not None, "the oracle needs no workspace"
        if getattr(agent.acts, "own_container", False):
            return
        # Outside of the lock, which is not reentrant: the gate keeper is made under it.
        gates = self.gate_keeper(line)
        with self._lock:
            if line.pool is None:
                line.pool = open_pool(conversations, backend, gates, max(1, size // len(self.lines)))
            self._warmed.add(package.manifest.digest)
        # A workspace may live for as long as its agent's allowance lasts, not only for the time of one program.
        limits = replace(limits_of(package), timeout_s=with_defaults(allowance, package).wall_s or 0.0)
        conversations.call(partial(line.pool.expect, package, rollouts, limits=limits))

    def pool_for(self, line: VerifierLine, seen: BuiltPackage) -> WorkspacePool | None:
        """The workspaces that wait; None where they were not started over the data that a rollout sees.

        Args:
            line: the line to the verifier of the rollout.
            seen: the package as the rollout's agent sees it.
        """
        # A rollout with hidden data of its own has a public folder of its own too: a workspace that was started
        # earlier shows the package's.
        is_package_itself = seen.public in {package.public for package in self._packages}
        return line.pool if is_package_itself and seen.manifest.digest in self._warmed else None
