"""Rollouts per minute from the warm pool, against bare ``docker run`` of the same program, two at a time.

Run: ``python benchmarks/workspace.py``. Needs an engine, its command line, and the agent image. A rollout takes a
workspace with a gate of its own, runs a program that imports NumPy, as nearly every one does, and closes. Once the pool
is empty at first and fills and refills meanwhile, so that every start is part of the time; once all the workspaces wait
already, as they do when models keep the rollouts waiting. The peer is ``docker run --rm`` with the same isolation
flags; all take turns.

Starting a container costs about as much processor time here as it does there: a refilled pool is ahead by what the peer
leaves unused, which needs more processors than rollouts at a time.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from rollout import LIMITS, isolation_flags  # the benchmark beside this one
from size import sized, status

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import RolloutTicket
from openfingym.workspace import WorkspacePool
from openfingym_runtime.docker.backend import DockerBackend
from openfingym_runtime.docker.images import agent_image_tag
from openfingym_runtime.gate.gate import GateKeeper

CONCURRENT = 2
ROLLOUTS = sized(24, 2)
ROUNDS = sized(3, 1)
TARGET = 2.0
PROGRAM = "import numpy"


async def at_once(rollout: Callable[[int], Awaitable[None]]) -> float:
    """Seconds that all rollouts take, :data:`CONCURRENT` at a time."""
    numbers = iter(range(ROLLOUTS))

    async def worker() -> None:
        for number in numbers:
            await rollout(number)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(CONCURRENT)))
    return time.perf_counter() - started


async def bare(folder: Path) -> float:
    command = [
        "docker",
        "run",
        "--rm",
        *isolation_flags(folder),
        "--entrypoint=python3",
        agent_image_tag(),
        "/agent/program.py",
    ]

    async def rollout(_number: int) -> None:
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
        assert await process.wait() == 0

    return await at_once(rollout)


async def pooled(backend: DockerBackend, package: BuiltPackage, taken: list[float], *, size: int, full: bool) -> float:
    with GateKeeper(Path("/nonexistent.sock")) as gates:
        async with WorkspacePool(backend, gates, size=size) as pool:

            async def rollout(number: int) -> None:
                ticket = RolloutTicket(
                    f"bench-{number}", package.manifest.name, package.manifest.digest, "token", "", 5
                )
                started = time.perf_counter()
                workspace = await pool.take(ticket, seed=number)
                taken.append(time.perf_counter() - started)
                async with workspace:
                    assert (await workspace.run_python(PROGRAM, timeout_s=60)).exit_code == 0

            pool.expect(package, ROLLOUTS, limits=LIMITS)
            while full and pool.waiting < size:  # noqa: ASYNC110 (a pool tells nobody how it fills)
                await asyncio.sleep(0.01)
            return await at_once(rollout)


async def main() -> int:
    backend, package = DockerBackend(), build(load_task("treasury-forecast"))
    backend.check()
    cold: list[float] = []
    warm: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "gate").mkdir()
        (folder / "program.py").write_text(PROGRAM)
        (folder / "interface.py").touch()
        times = [
            (
                await bare(folder),
                await pooled(backend, package, cold, size=2 * CONCURRENT, full=False),
                await pooled(backend, package, warm, size=ROLLOUTS, full=True),
            )
            for _ in range(ROUNDS)
        ]
    peer, refilled, filled = (60 * ROLLOUTS * ROUNDS / sum(column) for column in zip(*times, strict=True))
    print(f"{CONCURRENT} at a time{'':<12}{'rollouts/min':>14}{'ratio':>8}")
    print(f"{'docker run --rm':<22}{peer:>14.0f}{1:>8.2f}")
    print(f"{'a pool that refills':<22}{refilled:>14.0f}{refilled / peer:>8.2f}")
    print(f"{'a pool that is full':<22}{filled:>14.0f}{filled / peer:>8.2f}   target {TARGET}")
    print(
        f"a workspace is had after {statistics.median(warm) * 1e3:.1f} ms where it waits, "
        f"{statistics.median(cold) * 1e3:.0f} ms where not"
    )
    return status(filled / peer >= TARGET)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
