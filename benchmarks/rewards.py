"""What a reward costs: verified rollouts of small programs on an instance, in the sandbox, forked against executed.

Run: ``python benchmarks/rewards.py [ROLLOUTS]``, as root for figures of this program's processes alone. Prints, of a
program that uses NumPy and of one that fits with scikit-learn, rollouts a second and CPU seconds a rollout with 1, 2
and 4 at once, after a cold start and after a warm one (limits: 0.08 and 0.15 CPU seconds, 20 and 12 a second on two
cores); the seconds of 32 one-shot rollouts whose model answers at once (limit: 2); and the memory of 32 open
workspaces (limit: 1.5 GB), in which shared pages are shared out.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Before NumPy is loaded: where processes share cores, threads of one product that wait for one another cost more.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import psutil
from size import sized, status

from openfingym.agents import Agent, resolve
from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts import LocalRollouts, LocalRunner, RolloutEngine, RolloutSettings, RolloutSpec, RunFolder
from openfingym.rollouts.bounds import limits_of
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.workspace import Workspace, open_workspace
from openfingym_runtime.backends import select
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_runtime.sandbox import forkserver

TASK = "treasury-forecast"
SPLIT, INSTANCE = "train", 3
GROUP = sized(32, 2)
AT_ONCE = sized((1, 2, 4), (1,))
NUMPY = """
import interface
import numpy as np
inputs, targets = interface.load_train()
mean = targets.mean(axis=0)
interface.predict_each(lambda x: np.broadcast_to(mean, (len(x), *mean.shape)))
"""
SCIKIT = """
import interface
import numpy as np
from sklearn.linear_model import Ridge
inputs, targets = interface.load_train()
model = Ridge().fit(inputs.reshape(len(inputs), -1), targets.reshape(len(targets), -1))
interface.predict_each(lambda x: model.predict(x.reshape(len(x), -1)).reshape(len(x), *targets.shape[1:]))
"""
LIMITS = {"numpy": (0.08, 20.0), "scikit-learn": (0.15, 12.0)}
"""CPU seconds a rollout at most, and rollouts a second at least."""
GROUP_LIMIT_S, MEMORY_LIMIT_MB = 2.0, 1500


class Meter:
    """Processor seconds of this process and all it starts; of the whole machine, where no control group can be had."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.own = file is not None

    @classmethod
    @contextlib.contextmanager
    def open(cls) -> Iterator[Meter]:
        """A meter, with a control group of its own if possible."""
        home = Path("/sys/fs/cgroup/cpuacct")
        place = home if home.is_dir() else Path("/sys/fs/cgroup")
        group = place / f"rewards-{os.getpid()}"
        try:
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            yield cls(None)
            return
        try:
            yield cls(group / ("cpuacct.usage" if home.is_dir() else "cpu.stat"))
        finally:
            forkserver.stop()
            (place / "cgroup.procs").write_text(str(os.getpid()))
            with contextlib.suppress(OSError):
                group.rmdir()

    def seconds(self) -> float:
        """Used so far."""
        if self._file is None:
            fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
            return (sum(map(int, fields[:3])) + sum(map(int, fields[5:8]))) / os.sysconf("SC_CLK_TCK")
        text = self._file.read_text()
        return int(text) / 1e9 if self._file.name == "cpuacct.usage" else int(text.split()[1]) / 1e6


def rollouts(
    launcher: Launcher, agent: Agent, out: Path, meter: Meter, at_once: int, count: int
) -> tuple[float, float]:
    """Rollouts a second, and processor seconds of each."""

    def one(seed: int) -> str:
        return launcher.run(
            launcher.packages[0], agent, RolloutOrder(seed=seed, split=SPLIT, instance=INSTANCE), out=out
        ).state

    one(0)
    began, used = time.perf_counter(), meter.seconds()
    with ThreadPoolExecutor(at_once) as pool:
        states = list(pool.map(one, range(1, count + 1)))
    wall = time.perf_counter() - began
    assert set(states) == {"scored"}, states
    time.sleep(0.2)  # the kernel takes namespaces down a little later
    return count / wall, (meter.seconds() - used) / count


def compare(package: BuiltPackage, folder: Path, meter: Meter, count: int) -> bool:
    """Print the table of single programs; whether a limit was missed."""
    missed = False
    print(f"{'program':<14}{'start':<6}{'at once':>8}{'a second':>10}{'CPU s':>8}{'ratio':>7}")
    with Launcher([package], backend="sandbox") as launcher:
        for name, text in (("numpy", NUMPY), ("scikit-learn", SCIKIT))[: sized(None, 1)]:
            program = folder / f"{name}.py"
            program.write_text(text)
            agent = resolve("script", program)
            best = 0.0
            for at_once in AT_ONCE:
                found = {}
                for start, variable in (("cold", "0"), ("warm", "1")):
                    os.environ[forkserver.VARIABLE] = variable
                    runs = count if start == "warm" else max(sized(4, 1), count // 4)
                    found[start] = rollouts(launcher, agent, folder / "runs", meter, at_once, runs)
                    rate, cpu = found[start]
                    print(f"{name:<14}{start:<6}{at_once:>8}{rate:>10.1f}{cpu:>8.3f}{found['cold'][1] / cpu:>7.1f}")
                best = max(best, found["warm"][0])
                missed |= found["warm"][1] > LIMITS[name][0]
            missed |= best < LIMITS[name][1]
    return missed


def group(package: BuiltPackage, out: Path) -> float:
    """Seconds of one step of 32 rollouts of an agent whose model answers at once."""
    agent = resolve("oneshot")
    specs = [
        RolloutSpec(
            TASK, package.manifest.digest, agent, "stand-in/competent", seed=seed, split=SPLIT, instance=INSTANCE
        )
        for seed in range(GROUP + 2)
    ]

    async def main() -> float:
        runner = LocalRunner(LocalRollouts([package], RolloutSettings("sandbox", places=4)), 4)
        with RunFolder.open(out) as folder:
            async with RolloutEngine(runner, folder) as engine:
                await engine.run(specs[:2])
                started = time.perf_counter()
                results = await engine.run(specs[2:])
                seconds = time.perf_counter() - started
        assert {result.state for result in results} == {"scored"}, results
        return seconds

    return asyncio.run(main())


def memory_mb(package: BuiltPackage, folder: Path) -> float:
    """Memory of 32 open workspaces, in each of which a program has run, and of the fork server."""
    backend = select("sandbox", trusted=False)
    with GateKeeper(folder / "nobody.sock", runtime_directory=folder) as gates:

        async def opened(stack: contextlib.AsyncExitStack, number: int) -> Workspace:
            name = f"open-{number}"
            gate = stack.enter_context(gates.open(rollout_id=name, token="t"))
            work = open_workspace(backend, package, gate, seed=0, limits=limits_of(package), rollout_id=name)
            space = await stack.enter_async_context(work)
            assert (await space.run_python("import numpy; print(1)", timeout_s=60)).output == "1\n"
            return space

        async def main() -> float:
            async with contextlib.AsyncExitStack() as stack:
                for number in range(GROUP):
                    await opened(stack, number)
                shares = 0
                for child in psutil.Process().children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        shares += child.memory_full_info().pss
                return shares / 1e6

        return asyncio.run(main())


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else sized(40, 1)
    package = build(load_task(TASK))
    with tempfile.TemporaryDirectory(prefix="ofg-") as name, Meter.open() as meter:
        print("processor seconds of", "these processes" if meter.own else "the whole machine")
        missed = compare(package, Path(name), meter, count)
        times = {}
        for start, variable in (("cold", "0"), ("warm", "1")):
            os.environ[forkserver.VARIABLE] = variable
            times[start] = group(package, Path(name) / f"group-{start}")
        cold, warm = times["cold"], times["warm"]
        print(f"{GROUP} one-shot rollouts: cold {cold:.2f} s, warm {warm:.2f} s   limit {GROUP_LIMIT_S:g}")
        held = memory_mb(package, Path(name))
        print(f"{GROUP} open workspaces: {held:.0f} MB   limit {MEMORY_LIMIT_MB}")
    return status(not missed and times["warm"] <= GROUP_LIMIT_S and held <= MEMORY_LIMIT_MB)


if __name__ == "__main__":
    sys.exit(main())
