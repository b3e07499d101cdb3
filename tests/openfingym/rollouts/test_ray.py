"""Rollouts on a real Ray cluster of three nodes on this machine, one of which is killed.

Ray is used by other processes only: it leaves threads behind in a program that has used it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from openfingym.agents import Agent, resolve
from openfingym.errors import RuntimeFailureError, UsageError
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts import RolloutSettings, RolloutSpec
from openfingym.rollouts.backend import BackendChoice
from openfingym.rollouts.node import ActorSetup, NodeActor
from openfingym.rollouts.ray import nodes_for_rollouts
from openfingym_runtime.docker import engine as docker_engine
from openfingym_runtime.docker.backend import DockerBackend
from openfingym_runtime.docker.container import OWNER_LABEL
from tests.openfingym.rollouts.driving import NAIVE, Cli, descendants, runs

pytestmark = pytest.mark.timeout(900)  # on a busy machine a cluster takes minutes
with_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra `ray`")

SEEDS = 9
SLOW = Agent("slow", "program", NAIVE.format(pause="1.0"))

CLUSTER = """
import sys
from ray.cluster_utils import Cluster

small = {"num_cpus": 0, "object_store_memory": 80_000_000, "include_dashboard": False}
# That a node is dead is noticed fast, since nobody answers for it; one that is slow to answer is not dead.
health = {"health_check_period_ms": 500, "health_check_timeout_ms": 30000, "health_check_failure_threshold": 4}
cluster = Cluster(initialize_head=True, head_node_args={**small, "_system_config": health})
nodes = [cluster.add_node(**small, resources={"docker": 1}) for _ in range(3)]
cluster.wait_for_nodes()
print("ready", cluster.address, *(node.all_processes["raylet"][0].process.pid for node in nodes), flush=True)
sys.stdin.read()
cluster.shutdown()
"""
"""A head that runs nothing and three nodes for containers, until stdin ends."""

GUEST = """
import asyncio, json, sys
from pathlib import Path
import ray
from openfingym.agents import resolve
from openfingym.catalog import load_task
from openfingym.errors import RuntimeFailureError, UsageError
from openfingym.rollouts import RolloutEngine, RolloutSettings, RolloutSpec, RunFolder
from openfingym.rollouts.ray import RayRunner

class Theirs:
    def ready(self):
        return True

async def run():
    task, agent, model = ("treasury-forecast", sys.argv[2]), resolve("oneshot"), "stand-in/competent"
    specs = [RolloutSpec(*task, agent, model, seed=n) for n in range(2)]
    runner = await RayRunner.open([load_task("treasury-forecast")], RolloutSettings("sandbox", upcoming=tuple(specs)))
    with RunFolder.open(Path(sys.argv[1])) as folder:
        async with RolloutEngine(runner, folder) as engine:
            await engine.run(specs)

async def wait():
    try:
        await RayRunner.open([load_task("treasury-forecast")], RolloutSettings("sandbox", patience_s=1.0))
    except RuntimeFailureError as error:
        return str(error)

ray.init(address="auto", namespace="theirs", log_to_driver=False)
before = ray.get_runtime_context().get_job_id()
asyncio.run(run())
every = int(ray.cluster_resources()["docker"])  # of the nodes that are left
actors = [ray.remote(Theirs).options(num_cpus=0, resources={"docker": 1}).remote() for _ in range(every)]
ray.get([actor.ready.remote() for actor in actors])  # so the nodes were given back
print(json.dumps({"waited": asyncio.run(wait()), "same job": ray.get_runtime_context().get_job_id() == before}))
"""
"""A program that uses the cluster for something else before, and for something else after."""


@dataclass(frozen=True)
class Nodes:
    """Of a running cluster, which commands find by ``$RAY_ADDRESS``."""

    cli: Cli
    raylets: tuple[int, ...]


@pytest.fixture(scope="module")
def nodes(treasury: BuiltPackage, store_home: Path) -> Iterator[Nodes]:
    cli = Cli(store_home)
    # Ray's own files go with the others, and nothing is told to anybody.
    cli.environment |= {"RAY_TMPDIR": str(cli.temporary), "RAY_USAGE_STATS_ENABLED": "0"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], env=cli.environment, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            said = next((line for line in process.stdout if line.startswith("ready ")), "")
            assert said, "the cluster did not start"
            _, cli.environment["RAY_ADDRESS"], *raylets = said.split()
            below = descendants(process.pid)
            yield Nodes(cli, tuple(map(int, raylets)))
        finally:
            process.stdin.close()
            process.wait(60)
            cli.end()
    assert psutil.wait_procs(below, timeout=30)[1] == []
    shutil.rmtree(cli.temporary)


def verifiers(nodes: Nodes) -> list[psutil.Process]:
    """Of this cluster: other tests, in processes of their own, share its store but not its temporary folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ours = process.environ().get("RAY_TMPDIR") == str(nodes.cli.temporary)
            if ours and "openfingym_verifier.embedded_child" in process.cmdline():
                found.append(process)
    return found


@pytest.mark.sandbox
@pytest.mark.ray
@with_ray
def test_inside_the_program_of_somebody_else_it_is_a_guest(
    nodes: Nodes, treasury: BuiltPackage, tmp_path: Path
) -> None:
    before = verifiers(nodes)
    command = [sys.executable, "-c", GUEST, str(tmp_path / "run"), treasury.manifest.digest]
    done = subprocess.run(command, env=nodes.cli.environment, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    assert [one["state"] for one in runs(tmp_path / "run")] == ["scored"] * 2
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["same job"]
    assert (
        "no node of the Ray cluster is ready for rollouts; other programs may hold its CPUs or the resource 'docker'"
        in said["waited"]
    )
    assert set(verifiers(nodes)) <= set(before)


@pytest.mark.docker
@pytest.mark.ray
@with_ray
def test_a_node_that_is_lost_costs_no_result(nodes: Nodes, treasury: BuiltPackage, tmp_path: Path) -> None:
    """Its raylet and everything below are killed at once, in the middle of their rollouts."""
    (tmp_path / "slow.py").write_text(SLOW.program)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"tasks = ['treasury-forecast']\nseeds = {SEEDS}\nconcurrency = 2\nbackend = 'docker'\n"
        "[[agents]]\nname = 'slow'\nprogram = 'slow.py'\n"
    )
    before, out = verifiers(nodes), tmp_path / "run"
    process = nodes.cli.start("--plan", str(plan), "--backend", "ray", "--out", str(out))
    while len(runs(out)) < 2 and process.poll() is None:
        time.sleep(0.1)
    during = set(verifiers(nodes)) - set(before)
    raylet = psutil.Process(nodes.raylets[-1])
    killed = [raylet, *raylet.children(recursive=True)]
    for one in killed:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    _, err = process.communicate(timeout=200)
    assert len(during) == 3, "one a node"
    found = runs(out)
    assert Counter(one["seed"] for one in found) == dict.fromkeys(range(SEEDS), 1)
    # What had been told its feedback when its node went is not made again: that would be a second try.
    lost = [one for one in found if one["state"] != "scored"]
    assert all(one["state"] == "error" and one["told"] for one in lost), err
    assert process.returncode == (4 if lost else 0), err
    assert all(one in lost or (tmp_path / str(one["path"]) / "submissions" / "1.npy").is_file() for one in found), (
        "with all their files"
    )
    assert psutil.wait_procs(during, timeout=30)[1] == []
    DockerBackend().check()  # what a launcher that comes to the node does first
    with docker_engine.client() as api:
        owners = [one["Labels"][OWNER_LABEL] for one in api.containers(all=True, filters={"label": OWNER_LABEL})]
    assert not [owner for owner in owners for one in killed if f",{one.pid}," in owner]


@pytest.mark.ray
@with_ray
def test_without_a_cluster_none_is_started(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> None:
    cli.environment["RAY_ADDRESS"] = "127.0.0.1:1"
    status, _, err = cli.run(
        "--tasks", "treasury-forecast", "--agent", "naive", "--backend", "ray", "--out", str(tmp_path / "run")
    )
    assert status == 2
    assert "no Ray cluster was found (nobody answers at RAY_ADDRESS=127.0.0.1:1" in err
    assert "ray start --head" in err
    assert runs(tmp_path / "run") == []


def test_what_goes_wrong_on_a_node_comes_back_as_the_error_it_is(treasury: BuiltPackage) -> None:
    order = ActorSetup((("treasury-forecast", False),), RolloutSettings("sandbox"))
    reply = NodeActor(order).run(RolloutSpec("treasury-forecast", "0" * 64, SLOW), "sandbox")
    assert reply.result is None
    assert "one version of OpenFinGym" in str(reply.error)


def test_a_node_says_which_backend_it_takes_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DockerBackend, "check", lambda _: None)
    auto, known = (NodeActor(ActorSetup((), RolloutSettings(name))) for name in ("auto", "inline"))
    choice = auto.choose("auto", [SLOW])
    assert isinstance(choice, BackendChoice)
    assert choice.name == "docker"
    assert known.choose("auto", [resolve("oracle")]) is None
    error = known.choose("auto", [SLOW])
    assert isinstance(error, UsageError)
    assert "this run began with backend 'inline'" in str(error)


def test_a_nodes_full_disk_is_not_the_end_of_the_run(
    treasury: BuiltPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").write_text("in the way")
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))
    reply = NodeActor(ActorSetup((("treasury-forecast", False),), RolloutSettings("sandbox"))).run(
        RolloutSpec("treasury-forecast", treasury.manifest.digest, SLOW), "sandbox"
    )
    assert isinstance(reply.error, RuntimeFailureError), "another node may have room"
    assert str(tmp_path / "store") in str(reply.error)


def test_nodes_with_the_resource_come_first_and_the_head_may_keep_out() -> None:
    def node(name: str, **resources: float) -> dict[str, object]:
        return {"NodeID": name, "Alive": name != "dead", "Resources": resources}

    cpus = [node("head"), node("a", CPU=4.0), node("b", CPU=2.0), node("dead", CPU=8.0, docker=1.0)]
    assert nodes_for_rollouts(cpus) == {"a": {"num_cpus": 1}, "b": {"num_cpus": 1}}
    assert nodes_for_rollouts([*cpus, node("c", docker=1.0)]) == {"c": {"num_cpus": 0, "resources": {"docker": 1}}}
