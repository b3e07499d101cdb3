"""What bad luck gets: real programs in real isolation, a real verifier, and somebody who kills them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from openfingym.agents import Agent, resolve
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts import LocalRollouts, LocalRunner, RolloutEngine, RolloutSettings, RolloutSpec, RunFolder
from openfingym.rollouts.engine import Patience
from tests.openfingym.rollouts.driving import (
    NAIVE,
    Cli,
    alive,
    descendants,
    require_complete,
    run_of,
    runs,
    script,
    wait_for,
)

SEEDS = 6


ISOLATED = [pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker)]
IN_SANDBOX = pytest.mark.parametrize("backend", ISOLATED[:1])


@pytest.fixture
def arguments(tmp_path: Path, treasury: BuiltPackage, backend: str) -> list[str]:
    slow = script(tmp_path / "slow.py", NAIVE.format(pause="0.5"))
    return run_of(*slow, out=tmp_path / "run", seeds=SEEDS, backend=backend)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def complete(out: Path) -> None:
    require_complete(out, SEEDS)
    assert not (out / ".failed").exists()


def containers(pid: int) -> list[str]:
    """Names of the containers that a process started."""
    said = subprocess.run(
        ["docker", "ps", "-a", "--no-trunc", "--format", "{{.Names}} {{.Labels}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in said.stdout.splitlines() if f",{pid}," in line]


@pytest.mark.parametrize("backend", ISOLATED)
def test_killed_in_the_middle_it_goes_on_even_elsewhere(
    cli: Cli, arguments: list[str], tmp_path: Path, backend: str
) -> None:
    out = tmp_path / "run"
    process = cli.start(*arguments)
    wait_for(out, 1)
    wanted, until = (3 if backend == "sandbox" else 1) + cli.forking, time.monotonic() + 20
    while len(below := descendants(process.pid)) < wanted and time.monotonic() < until:
        time.sleep(0.01)
    assert len(below) >= wanted, "a verifier and two programs, and what forked the verifier"
    if backend == "docker":
        while not containers(process.pid) and time.monotonic() < until:  # between two rollouts there is none
            time.sleep(0.01)
        assert containers(process.pid)
    process.kill()
    process.communicate()
    assert alive(below) == []
    out = out.rename(tmp_path / "elsewhere")
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/*/result.json")}
    status, _, err = cli.run(*arguments[:-1], str(out))
    assert status == 0, err
    assert f"{len(before)} of {SEEDS} rollouts are finished already" in err
    complete(out)
    assert all(path.stat().st_mtime_ns == at for path, at in before.items()), "what was finished is not run again"
    assert cli.leftovers() == [], "of the killed one neither"
    if backend == "docker":
        assert containers(process.pid) == []


@IN_SANDBOX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_it_cleans_up_says_how_to_go_on_and_does(
    cli: Cli, arguments: list[str], tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "run"
    process = cli.start(*arguments)
    wait_for(out, 1)
    below = descendants(process.pid)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "stopping: what runs now is ended" in err
    assert "to go on, run the same command unchanged" in err
    assert "Traceback" not in err
    assert alive(below, 0.0) == []
    assert cli.leftovers() == []
    assert 1 <= len(runs(out)) < SEEDS
    assert cli.run(*arguments)[0] == 0
    complete(out)


@IN_SANDBOX
def test_who_looks_no_longer_does_not_end_it(cli: Cli, arguments: list[str], tmp_path: Path) -> None:
    process = cli.start(*arguments)
    assert process.stderr is not None
    assert process.stdout is not None
    assert process.stderr.readline().startswith(f"1/{SEEDS} ")
    process.stderr.close()
    process.stdout.close()
    assert process.wait(120) == 0
    complete(tmp_path / "run")
    assert cli.leftovers() == []


@pytest.mark.sandbox
def test_workspaces_that_wait_for_a_model_go_with_the_run(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = cli.start(
        "--tasks",
        "treasury-forecast",
        "--agent",
        "react",
        "--model",
        "stand-in/competent",
        "--seeds",
        "20",
        "--concurrency",
        "2",
        "--backend",
        "sandbox",
        "--out",
        str(out),
    )
    wait_for(out, 2)
    below = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert alive(below, 0.0) == []
    assert cli.leftovers() == []
    assert {one["state"] for one in runs(out)} == {"scored"}
    assert all((tmp_path / str(one["path"]) / "trajectory.json").is_file() for one in runs(out))


@IN_SANDBOX
def test_two_at_once_in_one_folder_are_told_apart(cli: Cli, arguments: list[str], tmp_path: Path) -> None:
    first = cli.start(*arguments)
    wait_for(tmp_path / "run", 1)
    # However long the second takes to start, the first is still there.
    first.send_signal(signal.SIGSTOP)
    status, _, err = cli.run(*arguments)
    first.send_signal(signal.SIGCONT)
    assert status == 2
    assert f"process {first.pid}" in err
    _, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    complete(tmp_path / "run")


@pytest.mark.sandbox
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # httpcore drops a socket that cannot connect
def test_a_verifier_that_is_killed_costs_no_result(
    treasury: BuiltPackage, tmp_path: Path, warm_start: Callable[..., None], cold_verifiers: None
) -> None:
    warm_start()  # fork servers are children of this process too, and stay
    agent = Agent("slow", "program", NAIVE.format(pause="0.5"))
    specs = [RolloutSpec("treasury-forecast", treasury.manifest.digest, agent, seed=seed) for seed in range(SEEDS)]
    killed: list[psutil.Process] = []
    before = set(psutil.Process().children())  # other tests' verifiers may be among them

    def kill() -> None:
        wait_for(tmp_path, 1)
        verifiers = [
            one
            for one in set(psutil.Process().children()) - before
            if one.is_running() and "openfingym_verifier.embedded_child" in one.cmdline()
        ]
        killed.extend(verifiers)
        os.kill(verifiers[0].pid, signal.SIGKILL)

    async def main() -> None:
        with RunFolder.open(tmp_path) as folder:
            runner = LocalRunner(LocalRollouts([treasury], RolloutSettings("sandbox")), 2)
            async with RolloutEngine(runner, folder, patience=Patience(pause_s=0.1)) as engine:
                await engine.run(specs)

    thread = threading.Thread(target=kill)
    thread.start()
    asyncio.run(main())
    thread.join()
    assert len(killed) == 1
    found = runs(tmp_path)
    assert Counter(one["seed"] for one in found) == dict.fromkeys(range(SEEDS), 1)
    # What had been told its feedback when the verifier went is not made again: that would be a second try.
    lost = [one for one in found if one["state"] != "scored"]
    assert all(one["state"] == "error" and one["told"] for one in lost)
    assert len(lost) <= 2
    assert set(psutil.Process().children()) <= before


def test_an_engine_leaves_nothing_in_its_process(
    treasury: BuiltPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(cli.temporary))
    specs = [
        RolloutSpec("treasury-forecast", treasury.manifest.digest, resolve("nop"), seed=seed) for seed in range(20)
    ]
    files, threads, before = open_files(), threading.active_count(), set(psutil.Process().children(recursive=True))

    async def main() -> None:
        with RunFolder.open(tmp_path) as folder:
            async with RolloutEngine(
                LocalRunner(LocalRollouts([treasury], RolloutSettings("inline")), 2), folder
            ) as engine:
                results = await engine.run(specs)
        assert Counter(result.state for result in results) == {"rejected": 20}

    asyncio.run(main())
    assert len(runs(tmp_path)) == 20
    assert set(psutil.Process().children(recursive=True)) <= before
    assert cli.leftovers() == []
    assert threading.active_count() == threads
    assert open_files() <= files + 1
