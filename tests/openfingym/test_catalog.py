"""Discovery: built-in, a user's folder, registered, and what a wrong name is answered with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import openfingym
from openfingym import catalog
from openfingym.errors import TaskError, TaskNotFoundError, UsageError
from openfingym.kinds import KINDS
from openfingym.packages.scaffold import new_task
from openfingym.task.known_kinds import OWN

FIVE = ["commodity-forecast", "crypto-forecast", "equity-forecast", "fx-forecast", "treasury-forecast"]


def test_the_five_tasks_are_there_and_say_what_their_data_is() -> None:
    rows = {row.name: row for row in openfingym.tasks(family="forecasting")}
    assert [name for name in rows if name in FIVE] == FIVE
    kinds = {name: rows[name].data_kind for name in FIVE}
    assert kinds == {
        "commodity-forecast": "simulated",
        "crypto-forecast": "simulated",
        "equity-forecast": "real",
        "fx-forecast": "real",
        "treasury-forecast": "real",
    }


def test_contracts_follow_the_catalogue_of_the_paper() -> None:
    contracts = {row.name: (row.lookback, row.horizon, row.channels) for row in openfingym.tasks()}
    assert contracts["commodity-forecast"] == (60, 10, 17)
    assert contracts["crypto-forecast"] == (72, 12, 12)
    assert contracts["equity-forecast"] == (40, 10, 8)
    assert contracts["fx-forecast"] == (30, 5, 6)
    assert contracts["treasury-forecast"] == (20, 5, 6)


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(TaskNotFoundError, match="did you mean 'treasury-forecast'"):
        openfingym.load_task("tresury-forecast")


def test_tasks_from_a_users_folder(own_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalog.TASKS_VARIABLE, str(own_task.parent))
    assert openfingym.load_task("my-task").folder == own_task
    assert "my-task" in [row.name for row in openfingym.tasks()]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalog.TASKS_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(TaskError, match="nowhere"):
        catalog.task_folders()


def test_two_tasks_of_one_name_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("one", "two"):
        new_task("my-task", tmp_path / part)
    monkeypatch.setenv(catalog.TASKS_VARIABLE, os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two")]))
    with pytest.raises(TaskError, match="is taken by"):
        catalog.task_folders()


def test_a_task_by_path(own_task: Path) -> None:
    assert openfingym.load_task(own_task).name == "my-task"


def test_folder_and_name_must_agree(own_task: Path) -> None:
    moved = own_task.rename(own_task.with_name("other-task"))
    with pytest.raises(TaskError, match="must agree"):
        openfingym.load_task(moved)


def test_register(own_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gymnasium

    monkeypatch.setattr(catalog, "_registered", [])
    openfingym.register(own_task)
    openfingym.register(own_task)
    assert openfingym.load_task("my-task").folder == own_task
    assert "openfingym/my-task-v0" in gymnasium.registry
    del gymnasium.registry["openfingym/my-task-v0"]


def test_entry_points_are_read(own_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real installed distribution, as `pip` would leave it, whose entry point names a folder."""
    info = tmp_path / "site" / "plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[openfingym.tasks]\nmine = plugin_tasks:folder\n")
    (tmp_path / "site" / "plugin_tasks.py").write_text(f"def folder():\n    return {str(own_task)!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert openfingym.load_task("my-task").folder == own_task


def test_a_scaffold_name_must_be_kebab_case(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="kebab-case"):
        new_task("My Task", tmp_path)


def test_a_scaffold_never_overwrites(own_task: Path) -> None:
    with pytest.raises(UsageError, match="exists already"):
        new_task("my-task", own_task.parent)


@pytest.mark.parametrize(
    "name", ["lob-forecast", "lob-generation", "equity-excess-return-forecast", "ou-generation", "ba2motifs-fraud"]
)
def test_real_data_that_nobody_knows_of_is_never_replaced_in_silence(name: str) -> None:
    from openfingym.packages.build import build

    with pytest.raises(TaskError, match=r"dataset\.pulled: no real data is known for .*: .*Run it without --real"):
        build(openfingym.load_task(name, real=True))


def test_a_task_whose_own_data_are_real_runs_on_them() -> None:
    assert openfingym.load_task("treasury-forecast", real=True) == openfingym.load_task("treasury-forecast")
    # Its own bars are real, and so are those that can be pulled.
    assert openfingym.load_task("equity-trading", real=True).real


def test_real_data_that_has_not_been_pulled_says_how() -> None:
    from openfingym.errors import DataError
    from openfingym.packages.build import build

    with pytest.raises(DataError, match="openfingym data pull amazon-fraud-graph"):
        build(openfingym.load_task("amazon-fraud", real=True))


DOCUMENTED = (Path(__file__).resolve().parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", OWN)
def test_every_kind_and_every_key_of_its_contract_is_documented(kind: str) -> None:
    assert f"`{kind}`" in DOCUMENTED
    fixed = {"kind", "dtype", "low", "high", "unit"}
    for key, field in KINDS[kind].contract.model_fields.items():
        if key not in fixed and getattr(field.annotation, "__args__", [None])[0] != field.default:
            assert f"`{key}`" in DOCUMENTED, key


def test_the_documented_number_of_tasks_is_the_real_one() -> None:
    rows = openfingym.tasks()
    sequential = [row for row in rows if row.kind in {"rolling", "trading", "live"}]
    counts = {
        family: sum(row.family == family and row not in sequential for row in rows)
        for family in ("forecasting", "generation", "fraud")
    }
    assert counts == {"forecasting": 52, "generation": 13, "fraud": 7}
    assert sorted(row.kind for row in sequential) == [
        "live",
        "live",
        "live",
        "rolling",
        "rolling",
        "trading",
        "trading",
    ]
    assert f"{len(rows)} tasks come with the package" in " ".join(DOCUMENTED.split())
    assert "52 forecasts, 13 generation tasks and 7 on fraud" in DOCUMENTED
