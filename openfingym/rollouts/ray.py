"""Rollouts on the nodes of a Ray cluster: one actor runs on each node (:mod:`openfingym.rollouts.node`), and the driver
writes the results.

Every node needs OpenFinGym, the tasks, and what its backend needs; nodes share nothing but what Ray sends. Each node
starts a verifier of its own, unless addresses of verifiers are given for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from openfingym import catalog
from openfingym.agents import Agent
from openfingym.errors import OpenFinGymError, RuntimeFailureError, UsageError
from openfingym.kinds import looks_ahead
from openfingym.kinds.hindsight import SUFFIX
from openfingym.results import RolloutResult
from openfingym.rollouts.backend import BackendChoice
from openfingym.rollouts.node import ActorSetup, NodeActor, NodeReply, unpack
from openfingym.rollouts.run_files import note_key
from openfingym.rollouts.settings import RolloutSettings
from openfingym.rollouts.spec import RolloutSpec

if TYPE_CHECKING:
    from openfingym.task import Task

RESOURCE = "docker"
"""Custom resource of nodes that may run containers; where no node has it, every node with a CPU takes part."""
LOSSES = 5
"""Nodes that may be lost while they run one rollout, before it is given up: it may be what kills them."""
LOOK_S = 2.0
"""Seconds between two looks for new nodes."""
CONNECT_S = 5.0
"""Longest wait in seconds for somebody to accept a connection at the cluster's address."""
END_S = 30.0
"""Longest wait in seconds for a rollout to be cancelled, and for all actors to close."""
LOSS_CHARACTERS = 1000
"""Length to which the reason for a node's loss is cut."""


@dataclass(eq=False)
class _Node:
    """A node of the cluster, and our actor on it."""

    name: str
    """Ray's id of the node."""
    actor: Any
    """Ray's handle of our actor there."""
    host: str = ""
    """Name of its machine; empty until the actor has started."""
    lost: bool = False
    """Whether the node or the actor is gone."""


class RayRunner:
    """Runs rollouts on a Ray cluster; see :class:`openfingym.rollouts.local.Runner`."""

    def __init__(self, setup: ActorSetup, *, connected: bool) -> None:
        self._setup = setup
        self._connected = connected
        """Whether this process has joined the cluster itself, and so has to leave it."""
        self._nodes: dict[str, _Node] = {}
        """Nodes that have an actor, by Ray's id."""
        self._free: asyncio.Queue[_Node] = asyncio.Queue()
        """A node is in it once for each of its places that is free."""
        self._looking: asyncio.Task[None] | None = None
        self._starting: set[asyncio.Task[None]] = set()
        self.choice: BackendChoice | None = None
        """The backend of all rollouts, on all nodes; None where no agent runs a program."""
        self._last_loss = ""
        """Why the last node was lost, as the end of a message; empty while none was."""

    @classmethod
    async def open(cls, tasks: Sequence[Task], settings: RolloutSettings, *, asked: str | None = None) -> Self:
        """Begin on the cluster that this program is a part of, or else on the one that Ray finds: at ``$RAY_ADDRESS``,
        or on this machine.

        Args:
            tasks: the tasks that will be run.
            settings: how each node runs rollouts; where it leaves the backend open, the first node decides for all.
            asked: the backend that the plan asks for; None for that of the settings.

        Raises:
            BackendUnavailableError: the first node cannot isolate programs so.
            UsageError: the extra ``ray`` is missing, there is no cluster, or it has no node for rollouts.
            RuntimeFailureError: the actor could not start on any node.
        """
        ray = _ray()
        # Within a trainer's own Ray program another ray.init() would fail.
        connected = not ray.is_initialized()
        if connected:
            _connect(ray)
        known = catalog.task_folders()
        names = tuple((task.name if _is_known(task, known) else str(task.folder), task.real) for task in tasks)
        # Only rollouts with a workspace are of use there, and all of them travel to every node.
        in_workspaces = tuple(spec for spec in settings.upcoming if spec.agent.acts is not None)
        runner = cls(ActorSetup(names, replace(settings, upcoming=in_workspaces)), connected=connected)
        try:
            await runner._look()
            if not runner._nodes:
                raise UsageError(
                    f"the Ray cluster has no node with a CPU or the resource {RESOURCE!r}; see docs/rollouts.md"
                )
            await runner._first_place()
            runner.choice = await runner._choose(asked or settings.backend, settings.agents)
        except BaseException:
            await runner.close()
            raise
        runner._looking = asyncio.create_task(runner._keep_looking())
        return runner

    async def run(self, spec: RolloutSpec, out: Path, started: Callable[[], None]) -> RolloutResult:
        """See :meth:`openfingym.rollouts.local.Runner.run`; a rollout whose node is lost begins anew on another."""
        from ray.exceptions import RayActorError

        for lost in range(LOSSES):
            node = await self._place()
            if not lost:  # a rollout that begins anew has its folder already
                started()
            try:
                reply = await self._on(node, spec)
            except RayActorError as error:
                self._lose(node, error)
                continue
            finally:
                if not node.lost:
                    self._free.put_nowait(node)
            if reply.error is not None:
                raise _at(node.host, reply.error)
            assert reply.result is not None
            folder = unpack(reply.archive, out / reply.result.rollout_id)
            # Each node notes the keys that it meets in a store of its own.
            note_key(folder)
            return replace(reply.result, path=folder)
        raise RuntimeFailureError(
            f"{LOSSES} nodes of the Ray cluster were lost while {spec.title} ran on them{self._last_loss}"
        )

    async def close(self) -> None:
        """Stop the verifiers and the actors; leave the cluster as it was found."""
        ray = _ray()
        # First of all no more actors are started.
        ending = [*self._starting, *([self._looking] if self._looking else [])]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        nodes = [node for node in self._nodes.values() if not node.lost]
        with contextlib.suppress(TimeoutError):
            # An actor that has not started yet holds nothing, and would not answer.
            started = [node for node in nodes if node.host]
            ended = asyncio.gather(*(_future(node.actor.close.remote()) for node in started), return_exceptions=True)
            async with asyncio.timeout(END_S):
                await ended
        for node in nodes:
            ray.kill(node.actor)
        if self._connected:
            await asyncio.to_thread(ray.shutdown)

    async def _choose(self, asked: str, agents: Sequence[Agent]) -> BackendChoice | None:
        """The backend that a node takes, which the others are to take too."""
        from ray.exceptions import RayActorError

        while True:
            node = await self._place()
            try:
                choice = await _future(node.actor.choose.remote(asked, agents))
            except RayActorError as error:
                self._lose(node, error)
                continue
            self._free.put_nowait(node)
            if isinstance(choice, OpenFinGymError):
                raise _at(node.host, choice)
            assert choice is None or isinstance(choice, BackendChoice)
            return choice

    async def _on(self, node: _Node, spec: RolloutSpec) -> NodeReply:
        """Run a rollout on a node; where this is cancelled, the rollout is ended there."""
        backend = self._setup.settings.backend if self.choice is None else self.choice.name
        future = _future(node.actor.run.remote(spec, backend))
        try:
            reply = await asyncio.shield(future)
        except asyncio.CancelledError:
            node.actor.cancel.remote(spec.identity)
            # The reply shows that nothing of the rollout is left; a node that is out of reach gives none.
            await asyncio.wait([future], timeout=END_S)
            raise
        assert isinstance(reply, NodeReply)
        return reply

    async def _place(self) -> _Node:
        """Return a node with room for one more rollout, once there is one."""
        while True:
            try:
                async with asyncio.timeout(self._setup.settings.patience_s):
                    node = await self._free.get()
            except TimeoutError:
                if not any(node.host for node in self._nodes.values()):
                    raise self._no_node() from None
                continue  # every place is taken
            # The queue may still hold places of a node that was lost meanwhile.
            if not node.lost:
                return node

    async def _first_place(self) -> None:
        """Wait until the first actor has started.

        Raises:
            RuntimeFailureError: no actor could be started, or none in time; what keeps all of them from starting will
                not go away by itself.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._setup.settings.patience_s):
                while self._free.empty() and self._starting:
                    await asyncio.wait(self._starting, return_when=asyncio.FIRST_COMPLETED)
        if self._free.empty():
            raise self._no_node()

    def _no_node(self) -> RuntimeFailureError:
        why = self._last_loss or f"; other programs may hold its CPUs or the resource {RESOURCE!r}"
        return RuntimeFailureError(f"no node of the Ray cluster is ready for rollouts{why}")

    def _lose(self, node: _Node, error: Exception) -> None:
        """Forget a node; where it still lives, or is replaced, the next look for nodes finds it."""
        if node.lost:
            return
        node.lost = True
        self._last_loss = f"; the last one: {str(error).strip()[:LOSS_CHARACTERS]}"
        del self._nodes[node.name]
        # An actor that is only out of reach must not go on, and keep the resource from the next.
        _ray().kill(node.actor)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    async def _look(self) -> None:
        """Put an actor on every node that has none."""
        ray = _ray()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        for name, needs in nodes_for_rollouts(await asyncio.to_thread(ray.nodes)).items():
            if name in self._nodes:
                continue
            # A soft affinity would let Ray put the actor on another node, which has one already.
            here = NodeAffinitySchedulingStrategy(name, soft=False)
            # Two more threads than places, so that cancelling and closing never wait for a rollout.
            threads = self._setup.settings.places + 2
            actor = (
                ray.remote(NodeActor)
                .options(max_concurrency=threads, scheduling_strategy=here, **needs)
                .remote(self._setup)
            )
            node = self._nodes[name] = _Node(name, actor)
            task = asyncio.create_task(self._welcome(node))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _welcome(self, node: _Node) -> None:
        """Offer a node's places once its actor has started."""
        from ray.exceptions import RayActorError

        try:
            node.host = str(await _future(node.actor.greet.remote()))
        except RayActorError as error:
            self._lose(node, error)
            return
        for _ in range(self._setup.settings.places):
            self._free.put_nowait(node)


def _is_known(task: Task, known: Mapping[str, Path]) -> bool:
    """Whether another machine finds a task by its name; the twin of a task with hindsight is made there from the task
    itself.
    """
    if task.name in known:
        return known[task.name] == task.folder
    return looks_ahead(task.spec.contract) and task.name.removesuffix(SUFFIX) in known


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError("backend 'ray' needs the extra `ray`: pip install 'openfingym[ray]'") from None
    return ray


def _connect(ray: Any) -> None:
    """Join a running cluster as a driver.

    Raises:
        UsageError: there is no cluster.
    """
    terminated = signal.getsignal(signal.SIGTERM)
    try:
        _require_listener(os.environ.get("RAY_ADDRESS", ""))
        ray.init(address="auto", log_to_driver=False, logging_level=logging.WARNING)
    except OSError as error:
        raise UsageError(
            f"no Ray cluster was found ({error}); start one with `ray start --head`, or set RAY_ADDRESS"
        ) from error
    if threading.current_thread() is threading.main_thread():
        # Ray installs a handler of its own, which would end this process without cleaning up.
        signal.signal(signal.SIGTERM, terminated)


def _require_listener(address: str) -> None:
    """Find out at once what Ray itself finds out after minutes: that nobody listens at an address, which may be left
    over from an earlier cluster.

    Raises:
        OSError: nobody listens at the address.
    """
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        try:
            socket.create_connection((host, int(port)), CONNECT_S).close()
        except OSError as error:
            raise ConnectionError(f"nobody answers at RAY_ADDRESS={address}: {error}") from error


def nodes_for_rollouts(nodes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The living nodes that take part, by Ray's id, and the resources that an actor there asks for.

    Args:
        nodes: nodes of the cluster, as ``ray.nodes()`` describes them.
    """
    alive = [node for node in nodes if node["Alive"]]
    chosen = {
        node["NodeID"]: {"num_cpus": 0, "resources": {RESOURCE: 1}}
        for node in alive
        if node["Resources"].get(RESOURCE, 0) >= 1
    }
    return chosen or {node["NodeID"]: {"num_cpus": 1} for node in alive if node["Resources"].get("CPU", 0) >= 1}


def _future(reference: Any) -> asyncio.Future[object]:
    return asyncio.wrap_future(reference.future())


def _at(host: str, error: OpenFinGymError) -> OpenFinGymError:
    """An error of a node, with the name of the node in its message."""
    error.args = (f"on {host}: {error}", *error.args[1:])
    return error
