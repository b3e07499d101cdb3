"""Rollouts on the nodes of a Ray cluster: one actor a node, results written by the driver.

Every node needs OpenFinGym, the tasks, and what its backend needs; nothing is shared between nodes
but what Ray carries. A node runs its own verifier, unless one address was given for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import signal
import tarfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from openfingym import catalog
from openfingym.errors import OpenFinGymError, RuntimeFailureError, UsageError
from openfingym.results import RolloutResult
from openfingym.rollout import VerifierAddress
from openfingym.rollouts.spec import RolloutSpec
from openfingym.rollouts.station import ModelAccess, Station

if TYPE_CHECKING:
    from openfingym.task import Task

RESOURCE = "docker"
"""Custom resource of nodes that may run containers; where no node has it, every node with a CPU takes part."""
LOSSES = 5
"""Nodes that may be lost under one rollout."""
LOOK_S = 2.0
"""How often new nodes are looked for."""
PATIENCE_S = 300.0
"""How long to wait for a node when there is none."""
END_S = 30.0


@dataclass(frozen=True)
class Order:
    """What a node's actor needs to begin: plain values."""

    tasks: tuple[tuple[str, bool], ...]
    """Name of each task, or its folder where no catalogue has it; and whether pulled real data takes the place of simulated data."""
    backend: str
    verifier: VerifierAddress | None = None
    models: ModelAccess | None = None


@dataclass(frozen=True)
class Reply:
    """What comes back from a node: a result with its run's files, or the error there was instead."""

    result: RolloutResult | None
    archive: bytes
    """A tar of the run's folder."""
    error: OpenFinGymError | None = None


class NodeActor:
    """Runs rollouts on one node; its methods run in threads."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._lock = threading.Lock()
        self._station: Station | None = None
        self._running: dict[str, threading.Event] = {}

    def run(self, spec: RolloutSpec) -> Reply:
        """Run one rollout."""
        from openfingym_runtime.owned_directory import owned_directory

        cancel = self._running.setdefault(spec.identity, threading.Event())
        try:
            with owned_directory() as folder:
                result = self._ready().run(spec, folder, cancel)
                assert result.path is not None
                return Reply(result, _pack(result.path))
        except OpenFinGymError as error:
            return Reply(None, b"", error)
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
            if self._station is not None:
                self._station.close()

    def _ready(self) -> Station:
        from openfingym.rollouts.preparation import build_all
        from openfingym_runtime import owned_directory

        with self._lock:
            if self._station is None:
                owned_directory.reap()
                packages = build_all([catalog.load_task(name, real=real) for name, real in self._order.tasks])
                order = self._order
                self._station = Station(list(packages.values()), backend=order.backend, verifier=order.verifier, models=order.models)
            return self._station


@dataclass(eq=False)
class _Node:
    """A node and the actor on it."""

    name: str
    actor: Any
    lost: bool = False


class RayRunner:
    """Runs rollouts on a Ray cluster; see :class:`openfingym.rollouts.station.Runner`."""

    def __init__(self, order: Order, places: int, *, connected: bool) -> None:
        self._order = order
        self._places_a_node = places
        self._connected = connected
        self._nodes: dict[str, _Node] = {}
        self._free: asyncio.Queue[_Node] = asyncio.Queue()
        self._looking: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        tasks: Sequence[Task],
        *,
        places: int,
        backend: str = "auto",
        verifier: VerifierAddress | None = None,
        models: ModelAccess | None = None,
    ) -> Self:
        """Begin on the cluster this program is part of, or else on the one Ray finds: ``$RAY_ADDRESS``, or this machine's.

        Args:
            tasks: what will be run.
            places: rollouts at once on each node.
            backend: how programs are isolated there.
            verifier: one that every node can reach; None for one a node.
            models: the way to language models.

        Raises:
            UsageError: the extra ``ray`` is missing, there is no cluster, or it has no node for rollouts.
        """
        ray = _ray()
        connected = not ray.is_initialized()
        if connected:
            _connect(ray)
        known = catalog.task_folders()
        names = tuple((task.name if known.get(task.name) == task.folder else str(task.folder), task.real) for task in tasks)
        runner = cls(Order(names, backend, verifier, models), places, connected=connected)
        try:
            await runner._look()
            if not runner._nodes:
                raise UsageError(f"the Ray cluster has no node with a CPU or the resource {RESOURCE!r}; see docs/rollouts.md")
        except BaseException:
            await runner.close()
            raise
        runner._looking = asyncio.create_task(runner._keep_looking())
        return runner

    async def run(self, spec: RolloutSpec, out: Path, started: Callable[[], None]) -> RolloutResult:
        """See :meth:`openfingym.rollouts.station.Runner.run`; a rollout whose node is lost begins anew on another."""
        from ray.exceptions import RayActorError

        for _ in range(LOSSES):
            node = await self._place()
            started()
            try:
                reply = await self._on(node, spec)
            except RayActorError:
                self._lose(node)
                continue
            finally:
                if not node.lost:
                    self._free.put_nowait(node)
            if reply.error is not None:
                raise reply.error
            assert reply.result is not None
            return replace(reply.result, path=_unpack(reply.archive, out / reply.result.rollout_id))
        raise RuntimeFailureError(f"{LOSSES} nodes of the Ray cluster were lost while {spec.title} ran on them")

    async def close(self) -> None:
        """Stop the verifiers and the actors; leave the cluster as it was found."""
        ray = _ray()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        nodes = [node for node in self._nodes.values() if not node.lost]
        with contextlib.suppress(TimeoutError):
            ended = asyncio.gather(*(_future(node.actor.close.remote()) for node in nodes), return_exceptions=True)
            await asyncio.wait_for(ended, END_S)
        for node in nodes:
            ray.kill(node.actor)
        if self._connected:
            await asyncio.to_thread(ray.shutdown)

    async def _on(self, node: _Node, spec: RolloutSpec) -> Reply:
        future = _future(node.actor.run.remote(spec))
        try:
            reply = await asyncio.shield(future)
        except asyncio.CancelledError:
            node.actor.cancel.remote(spec.identity)
            await asyncio.wait([future], timeout=END_S)
            raise
        assert isinstance(reply, Reply)
        return reply

    async def _place(self) -> _Node:
        """A node with room for one more rollout."""
        while True:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    node = await self._free.get()
            except TimeoutError:
                if all(node.lost for node in self._nodes.values()):
                    raise RuntimeFailureError(f"the Ray cluster has had no node for rollouts for {PATIENCE_S:g} s") from None
                continue  # every place is taken
            if not node.lost:
                return node

    def _lose(self, node: _Node) -> None:
        """Forget a node; where it still lives, or is replaced, the next look finds it."""
        node.lost = True
        if self._nodes.get(node.name) is node:
            del self._nodes[node.name]

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
            here = NodeAffinitySchedulingStrategy(name, soft=False)
            # Two more threads than places, so that cancelling and closing never wait for a rollout.
            threads = self._places_a_node + 2
            actor = ray.remote(NodeActor).options(max_concurrency=threads, scheduling_strategy=here, **needs).remote(self._order)
            node = self._nodes[name] = _Node(name, actor)
            for _ in range(self._places_a_node):
                self._free.put_nowait(node)


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError("backend 'ray' needs the extra `ray`: pip install 'openfingym[ray]'") from None
    return ray


def _connect(ray: Any) -> None:
    """Join a running cluster as a driver."""
    terminated = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address="auto", log_to_driver=False, logging_level=logging.WARNING)
    except ConnectionError as error:
        raise UsageError(f"no Ray cluster was found ({error}); start one with `ray start --head`, or set RAY_ADDRESS") from error
    if threading.current_thread() is threading.main_thread():
        # Ray puts a handler of its own there, which would end this process without its cleaning up.
        signal.signal(signal.SIGTERM, terminated)


def nodes_for_rollouts(nodes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Living nodes that take part, and what an actor there asks for."""
    alive = [node for node in nodes if node["Alive"]]
    chosen = {node["NodeID"]: {"num_cpus": 0, "resources": {RESOURCE: 1}} for node in alive if node["Resources"].get(RESOURCE, 0) >= 1}
    return chosen or {node["NodeID"]: {"num_cpus": 1} for node in alive if node["Resources"].get("CPU", 0) >= 1}


def _future(reference: Any) -> asyncio.Future[object]:
    return asyncio.wrap_future(reference.future())


def _pack(folder: Path) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        tar.add(folder, ".")
    return stream.getvalue()


def _unpack(archive: bytes, folder: Path) -> Path:
    """Write a run's folder.

    Raises:
        StoreError: it cannot be written.
    """
    from openfingym.rollouts.folders import store_errors

    with store_errors(folder), tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder
