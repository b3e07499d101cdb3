"""The warm pool: quick to take from, bounded, refilled, and gone without a trace whatever happens to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import docker
import psutil
import pytest

from openfingym.errors import RuntimeFailureError, UsageError
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import RolloutTicket
from openfingym.workspace import WorkspacePool
from openfingym.workspace import pool as pool_module
from openfingym_runtime.docker import container as docker_container
from openfingym_runtime.docker.backend import DockerBackend
from openfingym_runtime.gate.gate import GateKeeper

from .conftest import DOCKER, LIMITS, SANDBOX, containers, verifier


def ticket(package: BuiltPackage, name: str) -> RolloutTicket:
    return RolloutTicket(name, package.manifest.name, package.manifest.digest, f"token-of-{name}", "", 5)


async def until(condition, patience_s: float = 20) -> None:
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def test_rollouts_take_turns_at_a_bounded_pool(backend, gates, treasury, short_dir) -> None:
    async def scenario() -> None:
        async with verifier(short_dir) as tokens, WorkspacePool(backend, gates, size=2) as pool:
            pool.expect(treasury, 4, limits=LIMITS)
            await until(lambda: pool.waiting == 2)
            await asyncio.sleep(0.3)
            assert pool.waiting == 2
            seen, times = set(), []
            for number in range(4):
                await until(lambda: pool.waiting > 0)
                started = time.perf_counter()
                space = await pool.take(ticket(treasury, f"r-{number}"), seed=number)
                times.append(time.perf_counter() - started)
                async with space:
                    code = (
                        "import interface, os; print(os.listdir('/work'), interface.budget().remaining); open('mine', "
                        "'w')"
                    )
                    whose = "print(os.environ['OPENFINGYM_ROLLOUT'], os.environ['OPENFINGYM_SEED'])"
                    assert (
                        await space.run_python(f"{code}\n{whose}", timeout_s=20)
                    ).output == f"[] 4\nr-{number} {number}\n"
                    assert space.gate is not None
                    assert space.gate.calls == 1
                    seen.add(space.directory)
                assert not space.directory.exists()
            assert len(seen) == 4
            assert tokens == [f"token-of-r-{number}" for number in range(4)]
            assert statistics.median(times) < 0.02
            await asyncio.sleep(0.3)
            assert pool.waiting == 0, "nothing more is expected"
            # One more than announced is started when it is asked for.
            async with await pool.take(ticket(treasury, "late"), seed=0) as space:
                assert (await space.run_python("print(1)", timeout_s=20)).output == "1\n"

    asyncio.run(scenario())


@SANDBOX
def test_waiting_costs_no_processor_time_and_none_of_the_rollouts(backend, gates, treasury) -> None:
    async def scenario() -> None:
        async with WorkspacePool(backend, gates, size=1) as pool:
            others = set(psutil.Process().children(recursive=True))
            pool.expect(treasury, 1, limits=replace(LIMITS, timeout_s=2.5))
            await until(lambda: pool.waiting == 1)
            await asyncio.sleep(0.3)
            started = set(psutil.Process().children(recursive=True)) - others
            assert started
            before = {process.pid: process.cpu_times() for process in started}
            await asyncio.sleep(2.7)
            assert {process.pid: process.cpu_times() for process in started} == before
            async with await pool.take(ticket(treasury, "r"), seed=0) as space:
                assert (await space.run_python("print(1)", timeout_s=2.0)).output == "1\n"
                assert (await space.run_python("import time; time.sleep(9)", timeout_s=5)).ended_by == "timeout"
                await until(lambda: not space.alive)

    asyncio.run(scenario())


@DOCKER
def test_a_container_that_dies_waiting_is_replaced(backend, gates, treasury) -> None:
    def kill_all() -> None:
        engine = docker.from_env()
        for identity in containers():
            with contextlib.suppress(docker.errors.NotFound):
                engine.api.kill(identity)
        engine.close()

    async def scenario() -> None:
        async with WorkspacePool(backend, gates, size=2) as pool:
            pool.expect(treasury, 2, limits=LIMITS)
            await until(lambda: pool.waiting == 2)
            first = set(containers())
            await asyncio.to_thread(kill_all)
            # It may not be known yet: a dead one that is handed out says that it was not the agent's fault.
            await until(lambda: pool.waiting < 2)
            await until(lambda: pool.waiting == 2)
            assert first.isdisjoint(containers())
            async with await pool.take(ticket(treasury, "r"), seed=0) as space:
                assert (await space.run_python("print(1)", timeout_s=20)).output == "1\n"

    asyncio.run(scenario())


@SANDBOX
def test_a_workspace_that_waited_too_long_is_not_given(backend, gates, treasury, monkeypatch) -> None:
    async def scenario() -> None:
        async with WorkspacePool(backend, gates, size=1) as pool:
            pool.expect(treasury, 1, limits=LIMITS)
            await until(lambda: pool.waiting == 1)
            old = pool._shelves[treasury.manifest.digest].waiting[0]
            monkeypatch.setattr(pool_module, "WAITING_S", 0.0)
            async with await pool.take(ticket(treasury, "r"), seed=0) as space:
                assert space is not old
                assert not old.alive

    asyncio.run(scenario())


@SANDBOX
def test_who_gives_up_waiting_leaves_the_workspace_to_the_next(backend, gates, treasury) -> None:
    async def scenario() -> None:
        async with WorkspacePool(backend, gates, size=1) as pool:
            pool.expect(treasury, 0, limits=LIMITS)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(pool.take(ticket(treasury, "hasty"), seed=0), 0.01)
            await until(lambda: pool.waiting == 1)
            async with await pool.take(ticket(treasury, "patient"), seed=0) as space:
                assert (await space.run_python("print(1)", timeout_s=20)).output == "1\n"

    asyncio.run(scenario())


@DOCKER
def test_a_machinery_that_fails_is_told_of_and_tried_again(backend, gates, treasury) -> None:
    async def scenario() -> None:
        async with WorkspacePool(backend, gates, size=1) as pool:
            pool.expect(treasury, 1, limits=replace(LIMITS, memory_mb=1))  # below the engine's minimum
            with pytest.raises(RuntimeFailureError, match="engine failed"):
                await pool.take(ticket(treasury, "r"), seed=0)
            assert pool.waiting == 0

    asyncio.run(scenario())


@SANDBOX
def test_misuse(backend, gates, treasury) -> None:
    async def scenario() -> None:
        with pytest.raises(UsageError, match="size=0"):
            WorkspacePool(backend, gates, size=0)
        async with WorkspacePool(backend, gates, size=1) as pool:
            with pytest.raises(UsageError, match="announced"):
                await pool.take(ticket(treasury, "r"), seed=0)
            pool.expect(treasury, 0, limits=LIMITS)
            waiting = asyncio.ensure_future(pool.take(ticket(treasury, "r"), seed=0))
            await asyncio.sleep(0.01)
        with pytest.raises(UsageError, match="closed"):
            await waiting
        with pytest.raises(UsageError, match="closed"):
            await pool.take(ticket(treasury, "r"), seed=0)

    asyncio.run(scenario())


HOST = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from openfingym.verifiers.client import RolloutTicket
from openfingym.packages.package import BuiltPackage
from openfingym.workspace import WorkspacePool
from openfingym_runtime.backends import select
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_runtime.job import Limits

async def main():
    package = BuiltPackage(Path(sys.argv[2]), Path("/nowhere"))
    with GateKeeper(Path("/nonexistent.sock"), runtime_directory=Path(sys.argv[3])) as gates:
        async with WorkspacePool(select(sys.argv[1], trusted=False), gates, size=2) as pool:
            pool.expect(package, 3, limits=Limits(300, 256, 1, 32, 16, 1000))
            async with await pool.take(RolloutTicket("r", "", package.manifest.digest, "t", "", 5), seed=0) as space:
                running = asyncio.ensure_future(space.run_python("import time; time.sleep(300)", timeout_s=300))
                while pool.waiting < 2: await asyncio.sleep(0.05)
                await asyncio.sleep(0.3)
                print("ready", flush=True)
                await running

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("backend", "how"),
    [pytest.param("docker", how, marks=pytest.mark.docker) for how in (signal.SIGINT, signal.SIGKILL)]
    + [pytest.param("sandbox", signal.SIGKILL, marks=pytest.mark.sandbox)],
    indirect=["backend"],
)
def test_a_host_that_is_stopped_leaves_nothing(backend, treasury, short_dir, how) -> None:
    command = [sys.executable, "-c", HOST, backend.name, str(treasury.public), str(short_dir), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def left() -> list[str]:
        with contextlib.closing(docker.from_env()) as engine:
            found = engine.api.containers(all=True, filters={"label": docker_container.OWNER_LABEL})
            return [
                one["State"]
                for one in found
                if one["Labels"][docker_container.OWNER_LABEL].split(",")[3] == str(host.pid)
            ]

    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "ready\n"
        family = psutil.Process(host.pid).children(recursive=True)
        if backend.name == "docker":
            assert left() == ["running"] * 3
        host.send_signal(how)
        host.wait(60)
    _gone, alive = psutil.wait_procs(family, timeout=10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
    if how == signal.SIGKILL and backend.name == "docker":
        end = time.monotonic() + 10
        while "running" in left() and time.monotonic() < end:  # each notices by itself that its host is gone
            time.sleep(0.05)
        # Another launcher on this engine may be removing those that have ended, which is its right.
        assert set(left()) <= {"exited", "removing"}
        DockerBackend().check()  # what every launcher does first, as the next line
    with GateKeeper(Path("/nonexistent.sock"), runtime_directory=short_dir):
        pass
    assert list(short_dir.glob("openfingym-*/*")) == []
    if backend.name == "docker":
        assert left() == []


FORGETFUL_HOST = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from openfingym.packages.package import BuiltPackage
from openfingym.workspace.starting import job_of, start
from openfingym_runtime.backends import select
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_runtime.job import Limits

package = BuiltPackage(Path(sys.argv[2]), Path("/nowhere"))
gates = GateKeeper(Path("/nonexistent.sock"), runtime_directory=Path(sys.argv[3]))
backend, limits = select(sys.argv[1], trusted=False), Limits(300, 256, 1, 32, 16, 1000)
job = job_of(backend, package, gates.reserve(), limits=limits, rollout_id="forgotten")
space = asyncio.new_event_loop().run_until_complete(start(backend, job))
print("ready", flush=True)
"""


@DOCKER
def test_a_host_that_forgets_to_close_leaves_nothing(backend, treasury, short_dir) -> None:
    command = [sys.executable, "-c", FORGETFUL_HOST, backend.name, str(treasury.public), str(short_dir), *sys.path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "ready\n"), done.stderr
    with contextlib.closing(docker.from_env()) as engine:
        assert engine.api.containers(all=True, filters={"label": f"{docker_container.ROLLOUT_LABEL}=forgotten"}) == []
    assert list(short_dir.glob("openfingym-*/*")) == []
