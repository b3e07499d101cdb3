"""Ways out of a container or a sandbox that once worked, as real programs in the real thing; and that none leaves
anything.

Attacks: `flock`, record locks, leases, notices and hints on an inode that rollouts share (task files, libraries,
`/dev/null`, the one inode of every epoll) were messages to another rollout; socket buffers, waiting connections and
large pipes held 851 MB where 400 were allowed; a workspace's server could be reached by `/proc/PID/mem`, limits,
priority and signals; `/proc/self/mountinfo` told the user's name and folders; a killed launcher left a container for
35 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import docker
import psutil
import pytest

from openfingym.packages.package import BuiltPackage
from openfingym.workspace import open_workspace
from openfingym_runtime import owned_directory
from openfingym_runtime.backends import select
from openfingym_runtime.docker import container as docker_container
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_runtime.job import Backend, Job, Limits, Outcome
from openfingym_runtime.sandbox.inside import landlock
from openfingym_runtime.sandbox.python_view import python_view

from .isolation_programs import LOCKING, QUEUES, RECEIVER, SENDER, SERVER_ATTACKS

LIMITS = Limits(timeout_s=60, memory_mb=256, cpus=1, pids=32, storage_mb=16, output_bytes=1 << 18)
BACKENDS = [pytest.param("docker", marks=pytest.mark.docker), pytest.param("sandbox", marks=pytest.mark.sandbox)]
ROOT = Path(__file__).resolve().parents[2]
SOON_S = 20.0
"""More than enough for what should take less than a second or two, on a busy machine."""

Run = Callable[..., Outcome]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, warm_start: Callable[..., None]) -> Backend:
    if request.param == "sandbox":
        warm_start(science=True)
    return select(request.param, trusted=False)


def containers(owner: str) -> list[str]:
    """Containers of a process."""
    with contextlib.closing(docker.from_env()) as engine:
        found = engine.api.containers(all=True, filters={"label": f"{docker_container.OWNER_LABEL}={owner}"})
        return [container["State"] for container in found]


def traces() -> dict[str, object]:
    """What this process could leave: containers, groups, processes, mounts, sockets and descriptors, folders."""
    owner = docker_container.owner_id()
    places = {owned_directory.private_root(), owned_directory.private_root(Path(tempfile.gettempdir()))}
    owners = []
    for path in (path for place in places for path in place.glob("*/owner")):
        with contextlib.suppress(FileNotFoundError):  # tests in other processes remove theirs meanwhile
            owners += [path] if path.read_text() == owner else []
    groups = [f"{at}/{name}" for at, names, _ in os.walk("/sys/fs/cgroup") for name in names]
    return {
        "containers": containers(owner) if Path("/var/run/docker.sock").exists() else [],
        "groups": [group for group in groups if "openfingym" in group and owner in Path(group).name],
        "processes": sorted(child.pid for child in psutil.Process().children(recursive=True)),
        # Others of this machine mount meanwhile: engines for containers, tests for file systems that are full.
        "mounts": [mount for mount in Path("/proc/self/mounts").read_text().splitlines() if "openfingym" in mount],
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "folders": owners,
    }


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every attack, and whatever it did."""
    if "backend" in request.fixturenames:
        request.getfixturevalue("backend")  # its first use opens what stays open
    python_view()
    with warnings.catch_warnings(action="ignore"):
        gc.collect()
    before = traces()
    yield
    assert traces() == before


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """The folder of a user, as it is on many machines; its path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="ofg-") as folder:
        place = Path(folder, "home", "alice")
        place.mkdir(parents=True)
        yield place


@pytest.fixture
def job(home: Path) -> Job:
    data = home / "store" / "data"
    data.mkdir(parents=True)
    (data / "contract.json").write_text("{}" * 100)
    (home / "gate").mkdir(mode=0o755)
    return Job("gaps", "", {"data": data}, home / "gate", LIMITS)


def said(outcome: Outcome) -> object:
    assert (outcome.ended_by, outcome.exit_code) == ("exit", 0), outcome
    return json.loads(outcome.output.decode().splitlines()[-1])


@pytest.mark.usefixtures("processes_shown")
def test_what_a_program_does_to_shared_inodes_no_other_sees(backend: Backend, job: Job, home: Path) -> None:
    other = home / "other"
    other.mkdir()
    receiver = replace(job, program=RECEIVER)
    before = said(backend.run(receiver))
    outcomes: list[Outcome] = []
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(other / "ready.sock"))
        (other / "ready.sock").chmod(0o666)
        door.listen(1)
        door.settimeout(SOON_S)
        sending = threading.Thread(
            target=lambda: outcomes.append(backend.run(replace(job, program=SENDER, gate_directory=other)))
        )
        sending.start()
        try:
            call, _address = door.accept()
            with call:
                during = said(backend.run(receiver))
        finally:
            sending.join()
    assert during == before
    assert said(outcomes[0]) == 0


def test_a_program_that_locks_its_own_files_goes_on(backend: Backend, job: Job) -> None:
    assert said(backend.run(replace(job, program=LOCKING))) == 20


WAYS = ("stream", "datagrams", "waiting", "under_way", "pipe", "memory_file")


def assert_bounded(backend: Backend, job: Job, way: str) -> None:
    """Six processes hold at most the limit together, or are ended for it."""
    outcome = backend.run(replace(job, program=QUEUES.replace("WAY", way), limits=replace(LIMITS, memory_mb=256)))
    if outcome.ended_by != "memory":
        held = [int(line) for line in outcome.output.decode().splitlines() if line.isdigit()]
        assert outcome.ended_by == "exit", outcome
        assert held
        assert sum(held) <= 256 << 20, outcome


@pytest.mark.parametrize("way", ["stream", "waiting"])
def test_buffers_of_the_kernel_are_memory(backend: Backend, job: Job, way: str) -> None:
    assert_bounded(backend, job, way)


@pytest.mark.sandbox
@pytest.mark.parametrize("way", WAYS)
def test_buffers_are_bounded_without_a_control_group(job: Job, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr("openfingym_runtime.sandbox.launch.memory_group", lambda _bytes: contextlib.nullcontext())
    assert_bounded(select("sandbox", trusted=False), job, way)


@pytest.mark.usefixtures("processes_shown")
def test_a_program_cannot_touch_the_process_that_runs_it(backend: Backend, treasury: BuiltPackage, home: Path) -> None:
    """Signals are kept off by Landlock, from Linux 6.12 on; before, they end the sender's own workspace and no more."""
    attack = f"SIGNALS = {landlock.abi_version() >= 6}\n{SERVER_ATTACKS}"

    async def scenario(gates: GateKeeper) -> None:
        with gates.open(rollout_id="gaps", token="t") as gate:
            async with open_workspace(backend, treasury, gate, seed=0, limits=LIMITS, rollout_id="gaps") as space:
                done = await space.run_python(attack, timeout_s=30)
                assert (done.exit_code, done.output) == (0, "[]\n")
                later = (
                    "import os\nprint(len([os.dup(0) for _ in range(99)]), os.getpriority(0, 0), "
                    "open('/proc/self/maps').read(1) > '')"
                )
                priority = 0 if backend.name == "docker" else os.getpriority(os.PRIO_PROCESS, 0)
                assert (await space.run_python(later, timeout_s=30)).output == f"99 {priority} True\n"

    with GateKeeper(home / "verifier.sock", runtime_directory=home) as gates:
        asyncio.run(scenario(gates))


LOOK = """
import json, os
names = ("mountinfo", "mounts", "mountstats", "maps", "cgroup", "environ")
texts = [open(f"/proc/self/{name}").read() for name in names]
texts += [os.readlink(f"/proc/self/{name}") for name in ("root", "cwd", "exe")]
print(json.dumps("\\n".join(texts)))
"""


@pytest.mark.usefixtures("processes_shown")
def test_no_folder_of_the_host_is_told(backend: Backend, job: Job) -> None:
    text = str(said(backend.run(replace(job, program=LOOK, gate_directory=job.task_files["data"]))))
    told = [line for line in text.splitlines() if "alice" in line]
    # The gate's folder is the launcher's choice, and under $XDG_RUNTIME_DIR; here it is the test's.
    assert [line for line in told if " /run/openfingym " not in line] == []
    if backend.name == "sandbox":
        assert told == []
        assert str(Path(tempfile.gettempdir(), "ofg-")) not in text


def launcher(job: Job, timeout_s: float) -> tuple[subprocess.Popen[str], str]:
    """A process that runs a job in a container, and its identity; the program is running already."""
    code = f"""
        import pathlib
        from openfingym_runtime.docker import container as docker_container
        from openfingym_runtime.docker.backend import DockerBackend
        from openfingym_runtime.job import Job, Limits
        from openfingym_runtime.owner import owner_id
        limits = Limits({timeout_s}, 256, 1, 16, 16, 1 << 16)
        program = "import signal, time\\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\\ntime.sleep(600)"
        gate = pathlib.Path({str(job.gate_directory)!r})
        docker_container.OVERTIME_S = 0.5
        DockerBackend().run(Job("gaps", program, {{}}, gate, limits, started=lambda: print(owner_id(), flush=True)))
    """
    path = os.pathsep.join(str(ROOT / part) for part in (".", "verifier", "runtime"))
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def end_soon(owner: str) -> None:
    until = time.monotonic() + SOON_S
    while "running" in containers(owner):
        assert time.monotonic() < until, "the container goes on"
        time.sleep(0.1)


@pytest.mark.docker
@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGSTOP])
def test_a_container_ends_without_its_launcher(job: Job, fate: signal.Signals) -> None:
    """A killed launcher hangs up; one that is stopped does nothing at the time it gave its program."""
    backend = select("docker", trusted=False)
    process, owner = launcher(job, timeout_s=600 if fate == signal.SIGKILL else 1)
    with process:
        try:
            assert containers(owner) == ["running"]
            process.send_signal(fate)
            end_soon(owner)
        finally:
            process.kill()
            process.wait()
    backend.reap()  # type: ignore[attr-defined]  # what every first use of the backend does
    assert containers(owner) == []
    for place in (None, Path(tempfile.gettempdir())):
        owned_directory.reap(place)
