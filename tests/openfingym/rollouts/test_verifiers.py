"""Two verifiers, each with a task of its own: real processes that are listed in one registry file."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from click.testing import CliRunner

import openfingym
from openfingym.agents import resolve
from openfingym.catalog import load_task
from openfingym.cli import cli as cli_group
from openfingym.errors import UsageError, VerifierError
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.packages.scaffold import new_task
from openfingym.rollouts.launcher import Launcher
from openfingym.verifiers import VerifierAddress, find_verifiers
from openfingym.verifiers.client import VerifierClient
from openfingym.verifiers.registry import Registry
from tests.openfingym.rollouts.driving import NAIVE, Cli, runs
from tests.warm_verifiers import ForkedCommand, WarmVerifiers

TREASURY, FX = "treasury-forecast", "fx-forecast"


@dataclass
class Fleet:
    """Verifiers of the command line, one process each, with a registry file in one folder."""

    folder: Path
    cli: Cli
    processes: dict[str, subprocess.Popen[str] | ForkedCommand] = field(default_factory=dict)

    @property
    def registry(self) -> Path:
        return self.folder / "verifiers.toml"

    def start(self, name: str, *tasks: str, where: tuple[str, ...] = ("--port", "0")) -> str:
        """Start a verifier and wait until it serves; returns what it said until then."""
        named = [argument for task in tasks for argument in ("--task", task)]
        kept = ["--state", str(self.folder / name), "--admin-token-file", str(self.folder / f"{name}.token")]
        words = ["serve", *named, *where, *kept, "--register", str(self.registry)]
        process = self.cli.start(*words, verb="verifier")
        assert process.stderr is not None
        self.processes[name] = process
        said = ""
        while "serving" not in said:
            line = process.stderr.readline()
            said += line
            if not line:
                self.end(name)
                break
        return said

    def end(self, name: str, number: signal.Signals = signal.SIGTERM) -> int:
        process = self.processes.pop(name)
        assert process.stderr is not None
        process.send_signal(number)
        assert process.stdout is not None
        with process.stderr, process.stdout:
            return process.wait(60)

    def address(self, task: str) -> VerifierAddress:
        found = find_verifiers(str(self.registry), [load_task(task)])
        assert found is not None
        return found[task]

    def client(self, task: str) -> VerifierClient:
        return self.address(task).connect()


@pytest.fixture(scope="module")
def fleet(treasury: BuiltPackage, store_home: Path, warm_verifiers: WarmVerifiers) -> Iterator[Fleet]:
    """One over TCP and one on a unix socket."""
    with tempfile.TemporaryDirectory(prefix="ofg-", dir="/tmp") as folder:
        commands = Cli(store_home, warm_verifiers)
        made = Fleet(Path(folder), commands)
        try:
            assert "serving treasury-forecast on http://127.0.0.1:" in made.start("first", TREASURY)
            assert "serving fx-forecast on unix:" in made.start("second", FX, where=("--uds", f"{folder}/second.sock"))
            yield made
        finally:
            for name in list(made.processes):
                made.end(name)
            shutil.rmtree(commands.temporary)
        assert Registry.read(made.registry).entries == (), "who ends takes itself out"


def status_of(registry: Path, *options: str) -> tuple[int, str]:
    asked = CliRunner().invoke(cli_group, ["verifier", "status", str(registry), *options])
    return asked.exit_code, asked.output


@pytest.mark.sandbox
def test_a_run_over_both_outlives_the_restart_of_one_and_each_has_its_own_ledger(
    cli: Cli, fleet: Fleet, tmp_path: Path
) -> None:
    program, out = tmp_path / "slow.py", tmp_path / "run"
    program.write_text(NAIVE.format(pause="0.5"))
    port = fleet.address(TREASURY).location.rpartition(":")[2]

    def restart() -> None:
        with fleet.client(FX) as client:
            while not runs(out) and process.poll() is None:
                client.load()
        fleet.end("first", signal.SIGKILL)
        fleet.start("first", TREASURY, where=("--port", port))

    process = cli.start(
        "--tasks",
        TREASURY,
        "--tasks",
        FX,
        "--agent",
        "script",
        "--program",
        str(program),
        "--seeds",
        "3",
        "--concurrency",
        "2",
        "--backend",
        "sandbox",
        "--verifier",
        str(fleet.registry),
        "--out",
        str(out),
    )
    thread = threading.Thread(target=restart)
    thread.start()
    _, err = process.communicate(timeout=200)
    thread.join()
    assert process.returncode == 0, err
    assert cli.leftovers() == []
    found = runs(out)
    assert Counter((one["task"], one["seed"]) for one in found) == dict.fromkeys(product((TREASURY, FX), range(3)), 1)
    assert {one["state"] for one in found} == {"scored"}
    with fleet.client(TREASURY) as first, fleet.client(FX) as second:
        for one in found:
            own, other = (first, second) if one["task"] == TREASURY else (second, first)
            assert own.rollout_status(str(one["rollout_id"])).state == "scored"
            with pytest.raises(VerifierError, match="not-found"):
                other.rollout_status(str(one["rollout_id"]))


def test_environments_find_their_verifier_too(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    # One that is open already, at a verifier of its own, has no part in it.
    with contextlib.closing(openfingym.make(TREASURY)) as earlier:
        _step(earlier, TREASURY)
        monkeypatch.setenv("OPENFINGYM_VERIFIER", str(fleet.registry))
        for task in (TREASURY, FX):
            with contextlib.closing(openfingym.make(task)) as env, fleet.client(task) as client:
                _step(env, task)
                assert client.rollout_status(env.unwrapped.rollout_id).agent == "array"  # type: ignore[union-attr]


def _step(env: gymnasium.Env[Any, Any], task: str) -> None:
    observation, info = env.reset(seed=0)
    horizon, done = build(load_task(task)).manifest.submission_shape[1], False
    while not done:
        observation, _, done, _, info = env.step(observation["inputs"][:, -1:, :].repeat(horizon, axis=1))
    assert info["state"] == "scored"


def test_status_asks_every_one(fleet: Fleet) -> None:
    status, out = status_of(fleet.registry, "--json")
    assert status == 0
    found = json.loads(out)
    assert sorted([task["name"] for task in one["tasks"]] for one in found) == [[FX], [TREASURY]]
    assert [one["problems"] for one in found] == [[], []]
    assert all(one["load"]["queued_writes"] == 0 for one in found)


def test_what_is_wrong_is_said_before_anything_runs(cli: Cli, fleet: Fleet, tmp_path: Path) -> None:
    def refused(registry: Path, task: str) -> tuple[int, str]:
        options = [
            "--agent",
            "naive",
            "--backend",
            "inline",
            "--verifier",
            str(registry),
            "--out",
            str(tmp_path / "run"),
        ]
        status, out, err = cli.run("--tasks", TREASURY, "--tasks", task, *options)
        assert out == ""
        assert runs(tmp_path / "run") == []
        return status, err

    status, err = refused(fleet.registry, "crypto-forecast")
    assert (status, "no verifier serves 'crypto-forecast'" in err) == (2, True)

    changed = tmp_path / "changed.toml"
    changed.write_text(fleet.registry.read_text().replace("second.token", "first.token"))
    status, err = refused(changed, FX)
    assert (status, "unauthorized" in err) == (4, True)

    changed.write_text(fleet.registry.read_text().replace('"fx-forecast"', '"fx-forecast", "crypto-forecast"'))
    status, err = refused(changed, "crypto-forecast")
    assert (status, "does not serve 'crypto-forecast'; it serves fx-forecast" in err) == (4, True)
    status, out = status_of(changed)
    assert status == 4
    assert "leaves crypto-forecast to it, which it does not serve" in out


def test_a_task_is_left_to_one_verifier(fleet: Fleet) -> None:
    before = fleet.registry.read_text()
    said = fleet.start("third", FX)
    assert "error:" in said
    assert "second.sock serves fx-forecast already" in said
    assert fleet.registry.read_text() == before


def test_one_that_died_is_said_to_be_dead_until_another_takes_its_place(fleet: Fleet, tmp_path: Path) -> None:
    folder = new_task("my-task", tmp_path)
    built = build(load_task(folder))
    fleet.start("mine", str(folder))
    place = find_verifiers(str(fleet.registry), [load_task(folder)])
    assert place is not None
    fleet.end("mine", signal.SIGKILL)
    status, out = status_of(fleet.registry)
    assert status == 4
    assert (
        f"{place['my-task'].location}: not well\n  the verifier at {place['my-task'].location} cannot be reached" in out
    )
    said = fleet.start("other", str(folder))
    assert f"{place['my-task'].location} does not answer; this verifier takes its place" in said

    config = folder / "task.toml"
    config.write_text(config.read_text().replace("budget = 5", "budget = 4"))
    changed = load_task(folder)
    assert build(changed).manifest.digest != built.manifest.digest
    wrong = f"another build of 'my-task' .{built.manifest.digest[:16]}"
    with pytest.raises(VerifierError, match=wrong):
        Launcher.for_tasks([changed], backend="inline", verifier=str(fleet.registry))
    found = find_verifiers(str(fleet.registry), [changed])
    with (
        Launcher([build(changed)], backend="inline", verifiers=found) as launcher,
        pytest.raises(VerifierError, match=wrong),
    ):
        launcher.run(launcher.packages[0], resolve("naive"))
    assert fleet.end("other") == 0
    with pytest.raises(UsageError, match="no verifier serves 'my-task'"):
        find_verifiers(str(fleet.registry), [changed])
