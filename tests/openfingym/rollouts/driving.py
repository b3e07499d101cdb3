"""Plain rollouts to plan with, and a runner that really writes run folders but runs nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from openfingym.agents import Agent
from openfingym.results import RolloutResult
from openfingym.results.run_folder import RunFiles, write_run
from openfingym.rollouts import RolloutSpec
from openfingym_verifier.child import environment
from tests.warm_verifiers import ForkedCommand, WarmVerifiers

AGENT = Agent("test", "program", "print('hello')")
NAIVE = (
    "import os, time, interface, numpy as np\n"
    "time.sleep(float({pause}))\n"
    "interface.predict_each(lambda x: np.repeat(x[:, -1:, :], interface.HORIZON, axis=1))\n"
)
"""Answers with the last value, after a while."""


def spec(**changes: object) -> RolloutSpec:
    return replace(RolloutSpec("some-task", "d" * 64, AGENT), **changes)  # type: ignore[arg-type]  # as the caller says


class PaperRunner:
    """Ends every rollout as it is told to, in a run folder of the real form, and counts."""

    def __init__(
        self,
        places: int = 4,
        states: Callable[[RolloutSpec, int], str] = lambda spec, time: "scored",
        seconds: float = 0.0,
    ) -> None:
        self.places, self.states, self.seconds = asyncio.Semaphore(places), states, seconds
        self.runs: dict[str, int] = {}
        self.now: list[RolloutSpec] = []
        self.cleaned: list[RolloutSpec] = []
        self.most: dict[str, int] = {}
        self.closed = False

    async def run(self, spec: RolloutSpec, out: Path, started: Callable[[], None]) -> RolloutResult:
        async with self.places:
            started()
            time = self.runs[spec.identity] = self.runs.get(spec.identity, 0) + 1
            self.now.append(spec)
            for task in ("any", spec.task):
                running = len([one for one in self.now if task in ("any", one.task)])
                self.most[task] = max(self.most.get(task, 0), running)
            try:
                await asyncio.sleep(self.seconds)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)  # as stopping a container takes its time
                self.cleaned.append(spec)
                raise
            finally:
                self.now.remove(spec)
            return paper(spec, self.states(spec, time), out)

    async def close(self) -> None:
        self.closed = True


def paper(spec: RolloutSpec, state: str, out: Path, name: str | None = None) -> RolloutResult:
    name = name or uuid.uuid4().hex
    scored: dict[str, Any] = {"reason": "as it was told to"}
    if state == "scored":
        scored = {"total": 0.5, "relative_total": 0.8}
    result = RolloutResult(
        name, spec.task, spec.task_digest, "simulated", spec.agent.name, "paper", spec.seed, state, **scored
    )
    return write_run(out, result, RunFiles({"agent": spec.agent.name}, spec.agent.program, b"said\n", [], {}))


class Cli:
    """The command line in a process of its own, with temporary folders of its own.

    The process is forked from one that has loaded its modules where ``warm`` can, and one that loads them otherwise.
    """

    def __init__(self, home: Path, warm: WarmVerifiers | None = None) -> None:
        self.warm = warm
        self.temporary = Path(tempfile.mkdtemp(prefix="ofg-", dir="/tmp"))  # short: unix sockets go there
        self.started: list[subprocess.Popen[str] | ForkedCommand] = []
        self.environment = environment(
            OPENFINGYM_HOME=str(home),
            TMPDIR=str(self.temporary),
            XDG_RUNTIME_DIR=str(self.temporary),
            OPENBLAS_NUM_THREADS="1",
        )

    @property
    def forking(self) -> bool:
        """Whether commands are forked, each of which then has a child that forks its verifiers."""
        return self.warm is not None and self.warm.can_fork(self.environment)

    def start(self, *arguments: str, verb: str = "rollout") -> subprocess.Popen[str] | ForkedCommand:
        if self.warm is not None and self.forking:
            forked = self.warm.command([verb, *arguments], self.environment, "/")
            self.started.append(forked)
            return forked
        # Tests that are run under nohup have this signal ignored, which a command must then leave so.
        code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); from openfingym.cli import main; main()"
        command = [sys.executable, "-c", code, verb, *arguments]
        process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def end(self) -> None:
        """End what a test that failed left running; it must not trouble the next one."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def leftovers(self) -> list[str]:
        """What lies in the temporary folders, their empty frames left out."""
        paths = [
            path
            for path in self.temporary.rglob("*")
            if path.name != "lock" and not path.name.startswith("openfingym-")
        ]
        return sorted(str(path.relative_to(self.temporary)) for path in paths)


def run_of(*agent: str, out: Path, seeds: int, backend: str, concurrency: int = 2) -> list[str]:
    """Arguments of a run on the treasury task; ``agent`` has the options that name one."""
    return [
        *("--tasks", "treasury-forecast", *agent),
        *("--seeds", str(seeds), "--concurrency", str(concurrency), "--backend", backend, "--out", str(out)),
    ]


def script(program: Path, code: str) -> list[str]:
    """Options that name the agent which runs this code, written to a file."""
    program.write_text(code)
    return ["--agent", "script", "--program", str(program)]


def fill(disk: Path) -> Path:
    """A file that takes what is left of a disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while stream.write(bytes(1024)) == 1024:
            pass
    return ballast


def descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(processes: list[psutil.Process], patience_s: float = 10.0) -> list[psutil.Process]:
    return psutil.wait_procs(processes, timeout=patience_s)[1]


def wait_for(out: Path, finished: int) -> None:
    """Return when so many rollouts are finished."""
    until = time.monotonic() + 60
    while len(runs(out)) < finished:
        assert time.monotonic() < until
        time.sleep(0.05)


def require_complete(out: Path, seeds: int, state: str = "scored") -> None:
    """Nothing lost and nothing double: every seed once."""
    found = runs(out)
    assert Counter(one["seed"] for one in found) == dict.fromkeys(range(seeds), 1)
    assert {one["state"] for one in found} == {state}
    assert not (out / ".staging").exists()


def runs(out: Path) -> list[dict[str, object]]:
    """Every finished rollout, as its folder says."""
    return [
        json.loads(path.read_text())
        for path in sorted(out.glob("*/*/result.json"))
        if not path.parts[-3].startswith(".")
    ]
