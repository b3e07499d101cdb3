"""What a machine or a stranger's folder may do to a command ends in an error of ours, with what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openfingym.cli import cli
from openfingym.errors import OpenFinGymError, StoreError, UsageError


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, standalone_mode=False)


def said(*arguments: str) -> OpenFinGymError:
    """The error of ours that a command ends with."""
    error = invoke(*arguments).exception
    assert isinstance(error, OpenFinGymError), repr(error)
    return error


NEEDS_STORE = {
    "run": ("run", "treasury-forecast", "--agent", "naive", "--out", "{out}"),
    "task build": ("task", "build", "treasury-forecast"),
    "task show": ("task", "show", "treasury-forecast"),
    "rollout": ("rollout", "--tasks", "treasury-forecast", "--agent", "naive", "--out", "{out}"),
    "data pull": ("data", "pull", "treasury-par-yields"),
}


@pytest.mark.parametrize("home", ["/proc/x", "/dev/null", "/dev/null/x", "/sys/x", f"/tmp/{'x' * 300}"])
@pytest.mark.parametrize("command", NEEDS_STORE)
def test_a_store_that_cannot_be_made(command: str, home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", home)
    error = said(*(part.format(out=tmp_path / "out") for part in NEEDS_STORE[command]))
    assert isinstance(error, StoreError)
    assert home in str(error)
    assert "set OPENFINGYM_HOME to a folder you own" in str(error)


def test_a_verifier_whose_state_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", "/proc/x")
    error = said("verifier", "serve", "--port", "0", "--task", "treasury-forecast")
    assert isinstance(error, StoreError)
    assert "--state" in str(error)


def deep(path: Path) -> None:
    path.write_text("[" * 100_000, encoding="utf-8")


def deep_and_whole(path: Path) -> None:
    path.write_text('{"a":' * 100_000 + "1" + "}" * 100_000, encoding="utf-8")


DAMAGES: list[Callable[[Path], None]] = [deep, deep_and_whole, os.mkfifo, Path.mkdir]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("command", ["report", "report tearsheet", "report surface", "view", "export trajectories"])
def test_a_run_that_cannot_be_read(command: str, damage: Callable[[Path], None], tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("result.json", "config.json", "trajectory.json"):
        damage(run / name)
    out = ("--format", "native", "--out", str(tmp_path / "out")) if command.startswith("export") else ()
    error = said(*command.split(), str(run), *out)
    assert str(run) in str(error)


def test_a_report_of_damaged_runs_alone_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        deep(tmp_path / name / "result.json")
    page = tmp_path / "page.html"
    error = said("report", str(tmp_path), "--html", str(page), "--json")
    assert isinstance(error, UsageError)
    assert error.exit_code == 2
    assert "one/result.json" in str(error)
    assert "and 1 more" in str(error)
    assert not page.exists()
