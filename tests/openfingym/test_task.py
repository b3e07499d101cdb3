"""``task.toml``: what is accepted, and what a mistake is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from openfingym.catalog import task_folders
from openfingym.errors import TaskError
from openfingym.task import Task, parse_task_file

PATH = Path("task.toml")


@pytest.fixture(scope="module")
def text() -> str:
    return (task_folders()["treasury-forecast"] / "task.toml").read_text()


def test_a_built_in_task_reads(text: str) -> None:
    file = parse_task_file(text, PATH)
    spec = file.metadata.openfingym
    assert (spec.contract.lookback, spec.contract.horizon) == (20, 5)
    assert spec.dataset.channels == ("3m", "6m", "1y", "2y", "3y", "5y")
    assert [metric.name for metric in spec.scoring.metrics] == ["mse", "rmse", "mae"]


MISTAKES = {
    "unknown key": ("lookback = 20", "lookback = 20\nlokback = 3", ["contract.lokback", "unknown key", "did you mean 'lookback'"]),
    "unknown table": ("[agent]", "[agnt]", ["agnt", "unknown key", "did you mean 'agent'"]),
    "wrong type": ("lookback = 20", 'lookback = "20"', ["contract.lookback", "valid integer", "found '20'"]),
    "negative": ("horizon = 5", "horizon = -5", ["contract.horizon", "greater than 0"]),
    "missing": ("horizon = 5\n", "", ["contract.horizon", "required"]),
    "weights": ("weight = 0.333333334", "weight = 0.5", ["scoring", "weights must add up to 1", "1.16667"]),
    "unknown metric": ('name = "rmse"', 'name = "rmsee"', ["scoring", "'rmsee'", "did you mean 'rmse'"]),
    "metric twice": ('name = "rmse"', 'name = "mae"', ["scoring", "listed twice"]),
    "split": ("train = 0.70", "train = 0.90", ["split", "must be 1", "1.2"]),
    "embargo below horizon": ("embargo = 5", "embargo = 4", ["split.embargo", "at least contract.horizon (5)"]),
    "range": ("low = -5.0", "low = 40.0", ["contract", "low < high"]),
    "channel twice": ('"3m", "6m"', '"3m", "3m"', ["dataset.channels", "more than once: 3m"]),
    "no channels": ('channels = ["3m", "6m", "1y", "2y", "3y", "5y"]', "channels = []", ["dataset.channels", "at least 1"]),
    "network": ('network_mode = "no-network"', 'network_mode = "public"', ["environment.network_mode", "no-network"]),
    "task name": ('name = "openfingym/treasury-forecast"', 'name = "Treasury Forecast"', ["task.name", "kebab-case"]),
    "schema": ('schema_version = "1.4"', 'schema_version = "9.9"', ["schema_version", "1.4"]),
    "family": ('family = "forecasting"', 'family = "guessing"', ["family", "forecasting"]),
    "name and file": ('name = "ust-par-yields"', 'name = "ust-par-yields"\nfile = "x.csv"', ["dataset", "exactly one"]),
    "file without provenance": ('name = "ust-par-yields"', 'file = "x.csv"', ["dataset", "measure, kind, source, licence"]),
    "absolute path": ('name = "ust-par-yields"', 'file = "/etc/passwd"', ["dataset.file", "relative path inside"]),
    "climbing path": ('name = "ust-par-yields"', 'file = "../../secret.csv"', ["dataset.file", "relative path inside"]),
    "not toml": ("[agent]", "[agent", ["not valid TOML"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_file_and_key(mistake: str, text: str) -> None:
    old, new, expected = MISTAKES[mistake]
    assert old in text
    with pytest.raises(TaskError) as caught:
        parse_task_file(text.replace(old, new, 1), PATH)
    message = str(caught.value)
    assert message.startswith("task.toml: ")
    for part in expected:
        assert part in message


def test_several_mistakes_are_reported_together(text: str) -> None:
    broken = text.replace("lookback = 20", "lookback = 0").replace("embargo = 5", "embargo = 0")
    with pytest.raises(TaskError) as caught:
        parse_task_file(broken, PATH)
    assert "contract.lookback" in str(caught.value)
    assert "split.embargo" in str(caught.value)


def test_a_folder_without_a_task_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="task new"):
        Task.read(tmp_path)


def test_a_task_without_an_instruction_is_refused(own_task: Path) -> None:
    (own_task / "instruction.md").unlink()
    with pytest.raises(TaskError, match=r"instruction\.md"):
        Task.read(own_task)


def test_the_task_is_frozen(text: str) -> None:
    file = parse_task_file(text, PATH)
    with pytest.raises(ValueError, match="frozen"):
        file.task.version = "2"  # type: ignore[misc]
