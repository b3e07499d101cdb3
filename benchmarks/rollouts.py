"""Batch rollouts: going on with a long run, and what the harness costs over bare containers.

Run: ``python benchmarks/rollouts.py``. Prints, of a run of 10,000 rollouts with one missing, the time from the start of
the command to the start of the missing one (limit: 5 s); and, where a Docker engine and the agent image are there,
rollouts a minute of a one-shot agent whose model answers at once, over the same program under ``docker run`` with the
same isolation, equally many at once (limits: 0.8, and 2 with the warm pool).

The warm pool is shown twice: with as many workspaces as there are rollouts at once, refilled while they run, so that
every start is part of the time; and with all workspaces waiting already, as they are where models take their time.
Rollouts never share a container, so with as many rollouts at once as there are processors, a pool that refills saves
only what the peer spends beside its container's start, its interpreter and its imports.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from rollout import isolation_flags
from size import sized, status

from openfingym.agents import resolve
from openfingym.catalog import load_task
from openfingym.errors import BackendUnavailableError
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.rollouts import LocalRollouts, LocalRunner, RolloutEngine, RolloutSettings, RolloutSpec, RunFolder
from openfingym_runtime.backends import select
from openfingym_runtime.docker.images import agent_image_tag

FINISHED = sized(10_000, 20)
RESUME_LIMIT_S = 5.0
ROLLOUTS = sized(24, 2)
AT_ONCE = sized((1, 2), (1,))
TURNS = sized(2, 1)
"""All take turns, and each is given its best one."""
COLD_LIMIT, WARM_LIMIT = 0.8, 2.0
TASK = "treasury-forecast"


def finished(out: Path, package: BuiltPackage) -> None:
    """Folders as a run leaves them, all but the last one."""
    for seed in range(FINISHED - 1):
        spec = RolloutSpec(TASK, package.manifest.digest, resolve("naive"), seed=seed)
        folder = out / spec.folder
        folder.mkdir(parents=True)
        result = RolloutResult(
            f"r{seed}",
            TASK,
            spec.task_digest,
            "real",
            "naive",
            "inline",
            seed,
            "scored",
            total=0.5,
            relative_total=0.8,
            path=folder,
        )
        (folder / "result.json").write_text(json.dumps(result.to_dict(), indent=2))
        (folder / "config.json").write_text("{}")


def resume(package: BuiltPackage) -> float:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        finished(out, package)
        code = "from openfingym.cli import main; main()"
        options = [
            "--tasks",
            TASK,
            "--agent",
            "naive",
            "--seeds",
            str(FINISHED),
            "--backend",
            "inline",
            "--out",
            str(out),
        ]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        began = datetime.now(UTC)
        subprocess.run(
            [sys.executable, "-c", code, "rollout", *options], env=environment, check=True, capture_output=True
        )
        (new,) = out.glob(f"*/naive-s{FINISHED - 1}-*/result.json")
        return (datetime.fromisoformat(json.loads(new.read_text())["started_at"]) - began).total_seconds()


def ours(package: BuiltPackage, out: Path, *, at_once: int, waiting: int) -> tuple[float, str]:
    """Seconds for all rollouts, the verifier and so many workspaces already there; and the program they ran."""
    specs = [
        RolloutSpec(TASK, package.manifest.digest, resolve("oneshot"), "stand-in/competent", seed=seed)
        for seed in range(ROLLOUTS + 1)
    ]
    rollouts = LocalRollouts(
        [package], RolloutSettings("docker", upcoming=tuple(specs) if waiting else (), places=waiting or 1)
    )

    async def main() -> tuple[float, str]:
        with RunFolder.open(out) as folder:
            async with RolloutEngine(LocalRunner(rollouts, at_once), folder) as engine:
                first = await engine.submit(specs[0])
                while ready(rollouts) < waiting:  # noqa: ASYNC110 (a pool tells nobody how it fills)
                    await asyncio.sleep(0.05)
                started = time.perf_counter()
                results = await engine.run(specs[1:])
                seconds = time.perf_counter() - started
        assert {result.state for result in results} == {"scored"}, results
        assert first.path is not None
        return seconds, (first.path / "program.py").read_text()

    return asyncio.run(main())


def ready(rollouts: LocalRollouts) -> int:
    """Workspaces that wait."""
    assert rollouts._started is not None, "it has run a rollout"
    return sum(line.pool.waiting for line in rollouts._started.launcher._parts.lines if line.pool is not None)


NOBODY = """

class NoWindows:
    feedback = None

    def __iter__(self):
        return iter(())


def iter_test(practice=False):
    return NoWindows()


def predict_each(model, practice=False):
    return None
"""
"""What stands in the peer's interface where a verifier would show windows."""


def bare(package: BuiltPackage, program: str, folder: Path, *, at_once: int) -> float:
    (folder / "gate").mkdir(parents=True)
    (folder / "program.py").write_text(program)
    # The peer learns the same, and there is nobody whose windows it could answer.
    (folder / "interface.py").write_text(package.interface.read_text() + NOBODY)
    mount = f"--mount=type=bind,src={package.data},dst=/task/data,readonly"
    command = [
        "docker",
        "run",
        "--rm",
        *isolation_flags(folder),
        mount,
        "--entrypoint=python3",
        agent_image_tag(),
    ]
    started = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(
            pool.map(
                lambda _: subprocess.run([*command, "/agent/program.py"], check=True, capture_output=True),
                range(ROLLOUTS),
            )
        )
    return time.perf_counter() - started


def main() -> int:
    package = build(load_task(TASK))
    seconds = resume(package)
    print(f"{FINISHED} rollouts, 1 missing: it starts after {seconds:.1f} s   limit {RESUME_LIMIT_S:g}")
    missed = seconds > RESUME_LIMIT_S
    try:
        select("docker", trusted=False)
    except BackendUnavailableError as error:
        print(f"no comparison with bare containers: {error}")
        return status(not missed)
    print(f"{'path':<28}{'at once':>8}{'per minute':>12}{'ratio':>8}")
    for at_once in AT_ONCE:
        missed |= compare(package, at_once)
    return status(not missed)


def compare(package: BuiltPackage, at_once: int) -> bool:
    """Print the rows of one concurrency; whether a limit was missed."""
    limits = {
        "docker run --rm": None,
        "one-shot": COLD_LIMIT,
        "one-shot, pool refilling": WARM_LIMIT,
        "one-shot, pool full": WARM_LIMIT,
    }
    best = dict.fromkeys(limits, float("inf"))
    with tempfile.TemporaryDirectory() as name:
        for turn in range(TURNS):
            folder = Path(name) / str(turn)
            cold, program = ours(package, folder / "cold", at_once=at_once, waiting=0)
            refilling, _ = ours(package, folder / "refilling", at_once=at_once, waiting=at_once)
            full, _ = ours(package, folder / "full", at_once=at_once, waiting=ROLLOUTS)
            peer = bare(package, program, folder / "bare", at_once=at_once)
            for path, seconds in zip(limits, (peer, cold, refilling, full), strict=True):
                best[path] = min(best[path], seconds)
    missed = False
    for path, limit in limits.items():
        ratio = best["docker run --rm"] / best[path]
        missed |= limit is not None and ratio < limit
        print(
            f"{path:<28}{at_once:>8}{60 * ROLLOUTS / best[path]:>12.0f}{ratio:>8.2f}"
            + ("" if limit is None else f"   limit {limit}")
        )
    return missed


if __name__ == "__main__":
    sys.exit(main())
