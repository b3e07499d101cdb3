"""Rollouts on a real Ray cluster of three nodes on this machine, one of which is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from openfingym.agents import Agent
from openfingym.catalog import load_task
from openfingym.errors import UsageError
from openfingym.package import BuiltPackage
from openfingym.rollouts import Engine, RolloutSpec, RunFolder
from openfingym.rollouts.ray import NodeActor, Order, RayRunner, nodes_for_rollouts
from tests.openfingym.rollouts.driving import NAIVE, runs

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

pytestmark = [
    pytest.mark.ray,
    pytest.mark.sandbox,
    # Ray's own sockets and futures are not all closed when a node dies.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SEEDS = 18
AGENT = Agent("slow", "program", NAIVE.format(pause="1.0"))


@pytest.fixture
def cluster(treasury: BuiltPackage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(3):
        made.add_node(num_cpus=2, resources={"docker": 1})
    made.wait_for_nodes()
    monkeypatch.setenv("RAY_ADDRESS", made.address)
    yield made
    ray.shutdown()
    made.shutdown()


async def run(treasury: BuiltPackage, out: Path, seeds: int) -> None:
    runner = await RayRunner.open([load_task("treasury-forecast")], places=2, backend="sandbox")
    specs = [RolloutSpec("treasury-forecast", treasury.manifest.digest, AGENT, seed=seed) for seed in range(seeds)]
    with RunFolder.open(out) as folder:
        async with Engine(runner, folder) as engine:
            await engine.run(specs)


def wait_for(out: Path, finished: int) -> None:
    until = time.monotonic() + 120
    while len(runs(out)) < finished and time.monotonic() < until:
        time.sleep(0.1)


def verifiers() -> set[int]:
    """Of this test session: others have stores of their own."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ours = process.environ().get("OPENFINGYM_HOME") == os.environ["OPENFINGYM_HOME"]
            if ours and "openfingym_verifier.embedded_child" in process.cmdline():
                found.add(process.pid)
    return found


def test_a_node_that_is_lost_costs_no_result(cluster: Any, treasury: BuiltPackage, tmp_path: Path) -> None:
    running = set()

    def lose() -> None:
        wait_for(tmp_path, 6)
        running.update(verifiers())
        cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)

    thread = threading.Thread(target=lose)
    thread.start()
    asyncio.run(run(treasury, tmp_path, SEEDS))
    thread.join()
    assert not ray.is_initialized(), "a connection of ours is closed"
    assert len(cluster.list_all_nodes()) == 3, "the head and the two that are left"
    found = runs(tmp_path)
    assert Counter(one["seed"] for one in found) == dict.fromkeys(range(SEEDS), 1)
    assert {one["state"] for one in found} == {"scored"}
    assert all((tmp_path / str(one["path"]) / "submissions" / "1.npy").is_file() for one in found), "with all their files"
    assert len(running) == 3, "one a node"
    until = time.monotonic() + 20
    while verifiers() and time.monotonic() < until:
        time.sleep(0.2)
    assert verifiers() == set()


def test_inside_the_program_of_somebody_else_it_is_a_guest(cluster: Any, treasury: BuiltPackage, tmp_path: Path) -> None:
    ray.init(address=cluster.address, namespace="theirs", log_to_driver=False)
    theirs = ray.get_runtime_context().get_job_id()
    asyncio.run(run(treasury, tmp_path, 3))
    assert len(runs(tmp_path)) == 3
    assert ray.is_initialized()
    assert ray.get_runtime_context().get_job_id() == theirs


def test_without_a_cluster_none_is_started(treasury: BuiltPackage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(UsageError, match="ray start --head"):
        asyncio.run(RayRunner.open([load_task("treasury-forecast")], places=2, backend="sandbox"))
    assert not ray.is_initialized()


def test_what_goes_wrong_on_a_node_comes_back_as_the_error_it_is(treasury: BuiltPackage) -> None:
    order = Order((("treasury-forecast", False),), "sandbox")
    reply = NodeActor(order).run(RolloutSpec("treasury-forecast", "0" * 64, AGENT))
    assert reply.result is None
    assert "one version of OpenFinGym" in str(reply.error)


def test_nodes_with_the_resource_come_first_and_the_head_may_keep_out() -> None:
    def node(name: str, **resources: float) -> dict[str, object]:
        return {"NodeID": name, "Alive": name != "dead", "Resources": resources}

    cpus = [node("head"), node("a", CPU=4.0), node("b", CPU=2.0), node("dead", CPU=8.0, docker=1.0)]
    assert nodes_for_rollouts(cpus) == {"a": {"num_cpus": 1}, "b": {"num_cpus": 1}}
    assert nodes_for_rollouts([*cpus, node("c", docker=1.0)]) == {"c": {"num_cpus": 0, "resources": {"docker": 1}}}
