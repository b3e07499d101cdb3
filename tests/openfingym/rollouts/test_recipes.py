"""The recipes of examples/cluster, run as they stand: by a shell, by the schema of Kubernetes, in a container."""

from __future__ import annotations

import contextlib
import copy
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from openfingym.packages.package import BuiltPackage
from openfingym.version import __version__
from tests.openfingym.rollouts.driving import Cli, runs

CLUSTER = Path(__file__).resolve().parents[3] / "examples" / "cluster"
SHARD = CLUSTER / "shard.sh"
PLAN = 'tasks = ["treasury-forecast"]\nagents = ["naive"]\nseeds = {seeds}\n'
IMAGE = f"openfingym-verifier:{__version__}"
"""Has the library where the image of the recipes has it, and is built before the tests."""

STAND_INS = {
    # What Slurm and Apptainer do with the words after their own.
    "srun": 'exec "$@"',
    "apptainer": 'shift 2\nexec "$@"',
    "scontrol": 'echo "$@" >>"$(dirname "$0")/scontrol.log"',
    "openfingym-shard": f'exec sh {SHARD} "$@"',
}


class Node:
    """A machine of a cluster: the words that a job finds there, and its own of Slurm."""

    def __init__(self, folder: Path, cli: Cli) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []
        self.environment = {**cli.environment, "PATH": f"{folder}:{os.environ['PATH']}"}
        for name, body in STAND_INS.items():
            self.put(name, body)
        self.put("openfingym", f'exec {sys.executable} -c "from openfingym.cli import main; main()" "$@"')

    def put(self, name: str, body: str) -> None:
        program = self.folder / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)

    def shard(self, *arguments: str) -> subprocess.Popen[str]:
        return self._start(["sh", str(SHARD), *arguments], {})

    def job(self, place: int, count: int, *arguments: str, restarts: int = 0) -> int:
        """Run one job of an array to its end."""
        given = {
            "SLURM_ARRAY_JOB_ID": "70", "SLURM_JOB_ID": "71", "SLURM_ARRAY_TASK_ID": str(place),
            "SLURM_CPUS_PER_TASK": "2", "SLURM_RESTART_COUNT": str(restarts),
        }  # fmt: skip
        return self._start(["sh", str(CLUSTER / "slurm.sh"), str(count), *arguments], given).wait(120)

    @property
    def requeued(self) -> list[str]:
        log = self.folder / "scontrol.log"
        return log.read_text().splitlines() if log.exists() else []

    def _start(self, command: list[str], given: dict[str, str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command, env=self.environment | given, cwd=self.folder, text=True, start_new_session=True
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        """End what a test that failed left running."""
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def node(cli: Cli, tmp_path: Path) -> Iterator[Node]:
    folder = tmp_path / "node"
    folder.mkdir()
    machine = Node(folder, cli)
    yield machine
    machine.end()
    assert cli.leftovers() == []


@pytest.mark.sandbox
def test_an_array_of_jobs_does_the_whole_plan_once(node: Node, treasury: BuiltPackage, tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(PLAN.format(seeds=3))
    assert [node.job(place, 2, str(plan), str(out)) for place in range(2)] == [0, 0]
    parts = [[(one["seed"], one["state"]) for one in runs(out / str(place))] for place in range(2)]
    assert parts == [[(0, "scored"), (2, "scored")], [(1, "scored")]]
    assert node.requeued == []


@pytest.mark.sandbox
def test_a_shard_that_is_told_to_end_goes_on_when_it_is_started_again(
    node: Node, treasury: BuiltPackage, tmp_path: Path
) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(PLAN.format(seeds=60))
    command = ["0", "20", str(out), "--plan", str(plan), "--concurrency", "1"]
    first = node.shard(*command)
    deadline = time.monotonic() + 100
    while not runs(out / "0") and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGTERM)  # to the shell alone, as Kubernetes does
    assert first.wait(60) == 130
    before = {one["rollout_id"] for one in runs(out / "0")}
    assert 1 <= len(before) < 3
    assert node.shard(*command).wait(120) == 0
    after = runs(out / "0")
    assert sorted(one["seed"] for one in after) == [0, 20, 40]
    assert before < {one["rollout_id"] for one in after}


@pytest.mark.parametrize(("status", "says"), [(0, 0), (2, 2), (3, 0), (4, 4), (130, 130)])
def test_a_rejected_agent_is_a_result_and_anything_else_is_told_as_it_is(status: int, says: int, node: Node) -> None:
    node.put("openfingym", f"exit {status}")
    assert node.shard("0", "1", "out").wait(20) == says


def test_a_job_that_did_not_end_is_queued_again_but_not_for_ever(node: Node) -> None:
    node.put("openfingym", "exit 130")
    assert node.job(1, 2, "plan.toml", "out") == 130
    assert node.requeued == ["requeue 70_1"]  # this job of the array, and not all of it
    assert node.job(1, 2, "plan.toml", "out", restarts=8) == 130
    assert len(node.requeued) == 1


def test_a_job_with_wrong_options_is_not_queued_again(node: Node, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(seeds=2))
    assert node.job(2, 2, str(plan), str(tmp_path / "out")) == 2  # there are a shard 0 and a shard 1
    assert node.requeued == []


@pytest.fixture(scope="module")
def manifest() -> dict[str, object]:
    return yaml.safe_load((CLUSTER / "kubernetes.yaml").read_text())


@pytest.mark.parametrize("version", ["1.33", kubernetes_validate.latest_version()])
def test_the_job_is_one_of_kubernetes(version: str, manifest: dict[str, object]) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)
    for wrong in ("shards", "completions"):
        other = copy.deepcopy(manifest)
        other["spec"][wrong] = "8"  # type: ignore[index]  # a word it does not know; a word of the wrong type
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(other, version, strict=True)


def _options(manifest: dict[str, object]) -> list[str]:
    """What the Job asks of Kubernetes for its container, as Docker says it."""
    pod = manifest["spec"]["template"]["spec"]  # type: ignore[index]
    (container,) = pod["containers"]
    users, security = pod["securityContext"], dict(container["securityContext"])
    assert users["runAsNonRoot"] is True
    said = {
        "allowPrivilegeEscalation": {False: ["--security-opt", "no-new-privileges"]},
        "readOnlyRootFilesystem": {True: ["--read-only"]},
        "procMount": {"Unmasked": ["--security-opt", "systempaths=unconfined"]},
    }
    options = ["--user", f"{users['runAsUser']}:{users['runAsGroup']}"]
    options += [f"--cap-drop={name}" for name in security.pop("capabilities")["drop"]]
    options += ["--security-opt", f"seccomp={security.pop('seccompProfile')['type'].lower()}"]
    options += ["--security-opt", f"apparmor={security.pop('appArmorProfile')['type'].lower()}"]
    options += [word for key, value in security.items() for word in said[key][value]]
    options += [word for one in container["env"] for word in ("--env", f"{one['name']}={one['value']}")]
    paths = [one["mountPath"] for one in container["volumeMounts"] if not one.get("readOnly")]
    return [*options, *(word for path in paths for word in ("--tmpfs", f"{path}:mode=1777"))]


@pytest.fixture
def image() -> str:
    found = subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False).returncode == 0
    if not found and not os.environ.get("OPENFINGYM_REQUIRE_DOCKER"):
        pytest.skip(f"{IMAGE} is not built; run: scripts/docker-engine images")
    return IMAGE


@pytest.mark.docker
def test_the_rights_of_the_job_are_enough_for_its_command(
    image: str, manifest: dict[str, object], tmp_path: Path
) -> None:
    (container,) = manifest["spec"]["template"]["spec"]["containers"]  # type: ignore[index]
    plan = tmp_path / "plan"
    plan.mkdir()
    (plan / "plan.toml").write_text(PLAN.format(seeds=2))
    mounts = [f"--volume={plan}:/plan:ro", f"--volume={SHARD}:/opt/openfingym/bin/openfingym-shard:ro"]
    ways = [
        "--rm",
        "--pull=never",
        "--network=none",
        "--env=JOB_COMPLETION_INDEX=1",
        f"--name=recipe-{uuid.uuid4().hex[:12]}",
    ]
    command = ["docker", "run", *ways, *mounts, *_options(manifest), "--entrypoint", container["command"][0], image]
    done = subprocess.run(
        [*command, *container["command"][1:], *container["args"]],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1/1 treasury-forecast naive seed 1: scored" in done.stdout + done.stderr
    assert "compare: openfingym report /runs/t4/1" in done.stdout


def test_kubernetes_is_asked_for_as_many_pods_as_there_are_shards(manifest: dict[str, object]) -> None:
    spec = manifest["spec"]
    (command,) = spec["template"]["spec"]["containers"][0]["args"]  # type: ignore[index]
    assert command.split()[3] == str(spec["completions"])  # type: ignore[index]
