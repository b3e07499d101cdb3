"""The backend of a run is chosen once: going on elsewhere keeps it, or says that it cannot."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from openfingym import rollouts
from openfingym.agents import Agent, resolve
from openfingym.errors import BackendUnavailableError, StoreError, UsageError
from openfingym.machine import Libraries
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts.backend import choose, known_backend, lacking
from openfingym.rollouts.folders import BACKEND
from openfingym_runtime.docker.backend import DockerBackend
from openfingym_runtime.sandbox import SandboxBackend

NAIVE = {"tasks": ["treasury-forecast"], "agents": ["naive"], "concurrency": 1}
OURS = resolve("naive")
THEIRS = Agent("script", "program", "import lightgbm as lgb\n")
MISSING = Libraries(("NumPy",), ("scikit-learn", "LightGBM", "arch"))


class Machine:
    """Which backends answer here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answering: set[str] = set()
        for kind in (DockerBackend, SandboxBackend):
            monkeypatch.setattr(kind, "check", lambda backend: self.check(backend.name))

    def check(self, name: str) -> None:
        if name not in self.answering:
            raise BackendUnavailableError(f"no {name} here")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def go_on(out: Path, seeds: int, **changes: Any) -> list[str]:
    """Run or resume a plan; returns the backend of each of its rollouts."""
    plan = rollouts.Plan.make({**NAIVE, "seeds": seeds, **changes})
    return [result.backend for result in rollouts.run(plan, out)]


def test_the_first_choice_stays(treasury: BuiltPackage, tmp_path: Path, machine: Machine) -> None:
    out = tmp_path / "run"
    assert go_on(out, 1) == ["inline"]
    assert (out / BACKEND).read_text() == "inline\n"
    machine.answering = {"docker", "sandbox"}
    assert go_on(out, 2) == ["inline", "inline"]
    # A folder of an earlier version says nothing; its results do.
    (out / BACKEND).unlink()
    assert go_on(out, 3) == ["inline"] * 3
    assert (out / BACKEND).read_text() == "inline\n"


def test_where_it_does_not_work_the_run_waits(treasury: BuiltPackage, tmp_path: Path, machine: Machine) -> None:
    out = tmp_path / "run"
    go_on(out, 1)
    (out / BACKEND).write_text("docker\n")
    machine.answering = {"sandbox"}
    with pytest.raises(BackendUnavailableError, match=r"began with backend 'docker'.*no docker here(.|\n)*sandbox"):
        go_on(out, 2)
    assert [path.name for path in out.glob("treasury-forecast/*")] == [
        path.name for path in out.glob("treasury-forecast/naive-s0-*")
    ]
    # Whoever names another one decides so, and the results say it.
    assert go_on(out, 2, backend="inline") == ["inline", "inline"]
    assert (out / BACKEND).read_text() == "docker\n"
    assert go_on(out, 2) == ["inline", "inline"], "nothing is left to run, so nothing is asked"


def test_programs_of_others_do_not_run_inline_because_ours_did(machine: Machine) -> None:
    with pytest.raises(UsageError, match="this run began with backend 'inline'"):
        choose("inline", "auto", [OURS, THEIRS])
    with pytest.raises(BackendUnavailableError) as raised:
        choose("auto", "auto", [OURS, THEIRS])
    assert "began with" not in str(raised.value)


@pytest.mark.parametrize(
    ("answering", "wanted", "chosen"),
    [
        ({"docker", "sandbox"}, "auto", "docker"),
        ({"sandbox"}, "auto", "sandbox"),
        ({"docker", "sandbox"}, "sandbox", "sandbox"),
        (set(), "auto", "inline"),
    ],
)
def test_auto_takes_the_strongest(machine: Machine, answering: set[str], wanted: str, chosen: str) -> None:
    machine.answering = answering
    choice = choose(wanted, "auto", [OURS])
    assert choice is not None
    assert choice.name == chosen


def test_who_runs_no_program_needs_no_backend(machine: Machine) -> None:
    assert choose("docker", "auto", [resolve("oracle")]) is None


@pytest.mark.parametrize(
    ("recorded", "had", "known"),
    [
        (None, [], None),
        (None, ["host"], None),
        (None, ["host", "sandbox", "sandbox"], "sandbox"),
        ("docker", ["sandbox", "inline"], "docker"),
    ],
)
def test_what_a_run_began_with(recorded: str | None, had: list[str], known: str | None) -> None:
    results: list[Any] = [SimpleNamespace(backend=backend) for backend in had]
    assert known_backend(recorded, results) == known


def test_a_run_of_two_backends_is_not_guessed_at() -> None:
    results: list[Any] = [SimpleNamespace(backend=backend) for backend in ("sandbox", "docker")]
    with pytest.raises(UsageError, match=r"docker, sandbox.*--backend"):
        known_backend(None, results)


@pytest.mark.parametrize("text", ["", "auto", "podman", "docker sandbox", "\x00"])
def test_a_record_that_says_nothing_known_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / BACKEND).write_text(text)
    with pytest.raises(UsageError, match="--backend"):
        _ = rollouts.RunFolder.look(tmp_path).backend


def test_a_record_that_is_no_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / BACKEND).mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        _ = rollouts.RunFolder.look(tmp_path).backend
    (tmp_path / BACKEND).rmdir()
    (tmp_path / BACKEND).symlink_to("/etc/hostname")
    with pytest.raises(UsageError, match="is a link"):
        rollouts.RunFolder.look(tmp_path)


@pytest.mark.parametrize(
    ("agents", "missed"),
    [
        ([resolve("react")], "scikit-learn, LightGBM, arch"),
        ([THEIRS], "LightGBM"),
        ([Agent("script", "program", "from sklearn.linear_model import Ridge")], "scikit-learn"),
        ([OURS, THEIRS], "LightGBM"),
        ([Agent("script", "program", "import numpy")], None),
        ([resolve("oracle")], None),
    ],
)
def test_what_is_missing_is_said_to_whom_it_may_matter(agents: list[Agent], missed: str | None) -> None:
    said = lacking(MISSING, agents)
    assert (said is None) if missed is None else (said is not None and f"cannot import {missed}, which" in said)
    assert lacking(Libraries(("NumPy", "LightGBM"), ()), agents) is None
    assert lacking(None, agents) is None


def test_it_is_said_once_at_the_start(
    treasury: BuiltPackage,
    tmp_path: Path,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from openfingym_runtime.inline import InlineBackend

    monkeypatch.setattr(InlineBackend, "libraries", lambda backend: Libraries((), ("NumPy", "arch")))
    with caplog.at_level(logging.WARNING, "openfingym"):
        rollouts.run(rollouts.Plan.make({**NAIVE, "agents": ["mean", "ridge"], "seeds": 2}), tmp_path / "two")
    (record,) = caplog.records
    assert record.getMessage().startswith("programs cannot import NumPy, which this machine lacks")
    assert record.getMessage().endswith("pip install 'openfingym[llm]'")


def test_doctor_says_it_too(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    from openfingym.cli import doctor

    machine.answering = {"sandbox", "docker"}
    monkeypatch.setattr(SandboxBackend, "libraries", lambda backend: MISSING)
    assert "programs cannot import scikit-learn, LightGBM, arch: pip install 'openfingym[llm]'" in doctor._backend(
        "sandbox"
    )
    assert doctor._backend("docker") == "ready"
