"""The Ray actor that runs rollouts on a node of a cluster and sends their files back to the driver."""

from __future__ import annotations

import io
import socket
import tarfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from openfingym import catalog
from openfingym.agents import Agent
from openfingym.errors import OpenFinGymError, RuntimeFailureError, StoreError
from openfingym.files.whole import store_errors
from openfingym.results import RolloutResult
from openfingym.rollouts.backend import BackendChoice, choose
from openfingym.rollouts.local import LocalRollouts
from openfingym.rollouts.settings import RolloutSettings
from openfingym.rollouts.spec import RolloutSpec


@dataclass(frozen=True)
class ActorSetup:
    """What a node's actor needs to begin, as plain values that Ray can send."""

    tasks: tuple[tuple[str, bool], ...]
    """Name of each task, or its folder where no catalogue has it; and whether pulled real data takes the place of
    simulated data."""
    settings: RolloutSettings
    """How the node runs rollouts."""


@dataclass(frozen=True)
class NodeReply:
    """What comes back from a node: a result with its run's files, or the error there was instead."""

    result: RolloutResult | None
    """The result of the rollout; None where there is an error instead."""
    archive: bytes
    """A tar of the run's folder, since nodes share no disk; empty where there is an error."""
    error: OpenFinGymError | None = None
    """Why there is no result; None where there is one."""


class NodeActor:
    """Runs rollouts on one node; Ray calls its methods in several threads at once."""

    def __init__(self, setup: ActorSetup) -> None:
        self._setup = setup
        self._lock = threading.Lock()
        self._rollouts: LocalRollouts | None = None
        self._running: dict[str, threading.Event] = {}

    def greet(self) -> str:
        """Return the name of the machine; an answer shows that the node has started this actor."""
        return socket.gethostname()

    def choose(self, asked: str, agents: Sequence[Agent]) -> BackendChoice | OpenFinGymError | None:
        """The backend that this node would take; see :func:`openfingym.rollouts.backend.choose`."""
        try:
            return choose(self._setup.settings.backend, asked, agents)
        except OpenFinGymError as error:
            return error

    def run(self, spec: RolloutSpec, backend: str) -> NodeReply:
        """Run one rollout to its end; what goes wrong is in the reply.

        Args:
            spec: the rollout to run.
            backend: name of the backend, which is the same for all rollouts and nodes.
        """
        from openfingym_runtime.owned_directory import owned_directory

        cancel = self._running.setdefault(spec.identity, threading.Event())
        try:
            with owned_directory() as folder:
                result = self._ready(backend).run(spec, folder, cancel)
                assert result.path is not None
                return NodeReply(result, _pack(result.path))
        except (StoreError, OSError) as error:
            # This node's disk is not the one that results are kept on: another node may do.
            return NodeReply(None, b"", RuntimeFailureError(str(error)))
        except OpenFinGymError as error:
            return NodeReply(None, b"", error)
        finally:
            self._running.pop(spec.identity, None)

    def cancel(self, identity: str) -> None:
        """End a rollout early."""
        running = self._running.get(identity)
        if running is not None:
            running.set()

    def close(self) -> None:
        """Stop the node's verifier."""
        with self._lock:
            if self._rollouts is not None:
                self._rollouts.close()

    def _ready(self, backend: str) -> LocalRollouts:
        from openfingym.rollouts.preparation import build_all
        from openfingym_runtime import owned_directory

        # Under the lock, so that the first rollouts wait for the tasks to be built instead of building them again.
        with self._lock:
            if self._rollouts is None:
                # An actor that was killed here earlier could not remove its folders.
                owned_directory.reap()
                packages = build_all([catalog.load_task(name, real=real) for name, real in self._setup.tasks])
                settings = replace(self._setup.settings, backend=backend)
                self._rollouts = LocalRollouts(list(packages.values()), settings)
            return self._rollouts


def unpack(archive: bytes, folder: Path) -> Path:
    """Write the folder of a run that came back from a node.

    Args:
        archive: a tar of the run's folder.
        folder: folder to write the files into; made if missing.

    Returns:
        The folder.

    Raises:
        StoreError: the folder cannot be written.
    """
    with store_errors(folder), tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        # The filter refuses what would be written outside of the folder.
        tar.extractall(folder, filter="data")
    return folder


def _pack(folder: Path) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        tar.add(folder, ".")
    return stream.getvalue()
