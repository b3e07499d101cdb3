"""A malformed task among sound ones: it is named with file and reason, and the others are there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openfingym import catalog
from openfingym.cli import cli
from openfingym.errors import TaskError
from openfingym.packages.scaffold import new_task
from openfingym.rollouts.plan import Plan
from openfingym.rollouts.selection import select


def no_file(task: Path) -> None:
    (task / "instruction.md").unlink()


def no_toml(task: Path) -> None:
    (task / "task.toml").write_text("[task", encoding="utf-8")


def misspelt(task: Path) -> None:
    config = task / "task.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("panel =", "pannel ="), encoding="utf-8")


def a_pipe(task: Path) -> None:
    (task / "task.toml").unlink()
    os.mkfifo(task / "task.toml")


def another_name(task: Path) -> None:
    config = task / "task.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("bad-task", "bat-task"), encoding="utf-8")


FAULTS = [no_file, no_toml, misspelt, a_pipe, another_name]


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with ``good-task`` beside the one that is returned."""
    monkeypatch.setenv(catalog.TASKS_VARIABLE, str(tmp_path))
    new_task("good-task", tmp_path)
    return new_task("bad-task", tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_listing_names_it_and_has_the_rest(fault: Callable[[Path], None], bad: Path) -> None:
    fault(bad)
    listed = invoke("tasks", "--json")
    names = [row["name"] for row in json.loads(listed.stdout)]
    assert "good-task" in names
    assert "treasury-forecast" in names
    assert "bad-task" not in names
    assert listed.stderr.startswith(f"error: bad-task: {bad}/")
    assert len(listed.stderr.splitlines()) == 1
    assert listed.exit_code == TaskError.exit_code
    table = invoke("tasks")
    assert "good-task" in table.stdout
    assert table.stderr == listed.stderr
    assert table.exit_code == TaskError.exit_code


def test_without_a_fault_the_status_is_0(bad: Path) -> None:  # a sound folder
    listed = invoke("tasks")
    assert (listed.exit_code, listed.stderr) == (0, "")


def chosen(*patterns: str) -> list[str]:
    return [task.name for task in select(Plan.make({"tasks": patterns, "agents": ["naive"]}), program=None).tasks]


def test_a_pattern_that_does_not_mean_it_is_not_held_up(bad: Path) -> None:
    misspelt(bad)
    assert chosen("good-*") == ["good-task"]
    assert "treasury-forecast" in chosen("treasury-*")
    assert "amazon-fraud" in chosen("fraud/*")


@pytest.mark.parametrize("pattern", ["bad-task", "bad-*", "*-task", "forecasting/*"])
def test_a_pattern_that_means_it_is_an_error_with_its_name(pattern: str, bad: Path) -> None:
    misspelt(bad)
    with pytest.raises(TaskError, match=r"bad-task/task\.toml.*pannel"):
        chosen(pattern)


def test_what_cannot_be_read_may_be_of_any_family(bad: Path) -> None:
    no_toml(bad)
    with pytest.raises(TaskError, match="bad-task"):
        chosen("fraud/*")


def test_a_plug_in_whose_tasks_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[openfingym.tasks]\nmine = not_there:folder\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = invoke("tasks")
    assert isinstance(result.exception, TaskError)
    assert "'mine' of plugin cannot be loaded" in str(result.exception)
