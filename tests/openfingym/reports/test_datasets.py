"""Which tasks share data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from openfingym import catalog
from openfingym.reports.datasets import datasets_of, items_of, name_of, unknown_of

SERIES = ["treasury-forecast", *(f"treasury-forecast-v{number}" for number in range(2, 8))]


def test_tasks_of_one_series_are_one_dataset_though_their_files_differ() -> None:
    assert {info.dataset for info in catalog.tasks() if info.name in SERIES} == {
        "ust-par-yields",
        "ust-par-yields-1993",
    }
    assert len(set(datasets_of(SERIES, "real"))) == 1
    numbers = datasets_of(["fx-forecast", *SERIES, "exchange-rate-forecast", "gone"], "real")
    assert numbers[0] == numbers[-2]
    assert len(set(numbers)) == 3


def test_real_data_of_one_asset_class_is_one_market_and_simulated_data_is_not() -> None:
    tasks = ["equity-forecast", "stock-ohlcv-forecast"]  # prices of the same companies, from two sources
    assert len(set(datasets_of(tasks, "real"))) == 1
    # Two simulators in place of coins stand for one market once real coins take their place.
    coins = ["crypto-forecast", "crypto-forecast-v2"]
    assert len(set(datasets_of(coins, "simulated"))) == 2
    assert len(set(datasets_of(coins, "real"))) == len(set(datasets_of(coins, "real with hindsight"))) == 1


def test_builds_slices_and_hindsight_are_of_the_same_data() -> None:
    names = [
        "mirai-relation-forecast",
        "mirai-object-forecast-hindsight",
        "mirai-relation-forecast@1a2b questions 1-10",
        "mirai-relation-forecast questions 1-10",
    ]
    assert len(set(datasets_of(names, "simulated"))) == 1
    assert [name_of(name) for name in names] == [
        "mirai-relation-forecast",
        "mirai-object-forecast",
        "mirai-relation-forecast",
        "mirai-relation-forecast",
    ]
    assert len(set(datasets_of(["gone@1a2b", "gone@3c4d", "lost"], "real"))) == 2


def test_what_joins_two_groups_makes_them_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openfingym.packages.scaffold import new_task

    for name in ("first-task", "second-task", "third-task"):
        new_task(name, tmp_path)
    other = tmp_path / "third-task" / "data.csv"
    other.write_text(other.read_text() + "\n")
    monkeypatch.setenv("OPENFINGYM_TASKS", str(tmp_path))
    first, second, third = datasets_of(["first-task", "second-task", "third-task"], "simulated")
    assert first == second != third
    # A task that cannot be read is on data of its own, and is no reason to have no report.
    (tmp_path / "second-task" / "task.toml").write_text("no [toml")
    assert len(set(datasets_of(["first-task", "second-task"], "simulated"))) == 2


@pytest.mark.parametrize(
    ("asset_class", "one_market"),
    [*((name, True) for name in ("commodity", "crypto", "equity", "fx", "rates", "lob")), ("synthetic", False)],
)
def test_ones_own_data_of_a_market_is_no_other_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asset_class: str, one_market: bool
) -> None:
    from openfingym.packages.scaffold import new_task

    tasks = ["first-task", "second-task"]
    for name in tasks:
        new_task(name, tmp_path)
        config = tmp_path / name / "task.toml"
        config.write_text(
            re.sub(r'^asset_class = ".*"', f'asset_class = "{asset_class}"', config.read_text(), flags=re.M)
        )
    other = tmp_path / "second-task" / "data.csv"
    other.write_text(other.read_text() + "\n")
    monkeypatch.setenv("OPENFINGYM_TASKS", str(tmp_path))
    assert (len(set(datasets_of(tasks, "real"))) == 1) is one_market
    assert len(set(datasets_of(tasks, "simulated"))) == 2


def test_of_a_task_whose_file_cannot_be_read_it_is_not_known_what_it_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openfingym.packages.scaffold import new_task

    tasks = ["first-task", "second-task"]
    for name in tasks:
        new_task(name, tmp_path)
    monkeypatch.setenv("OPENFINGYM_TASKS", str(tmp_path))
    assert len(set(datasets_of(tasks, "real"))) == 1

    def broken(path: Path) -> str:
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr("openfingym.digests.sha256_of_file", broken)
    assert len(set(datasets_of(tasks, "real"))) == 2


def test_unknown_tasks_are_named_and_questions_called_so() -> None:
    assert unknown_of(["fx-forecast", "gone@1a2b"]) == ["gone@1a2b"]
    assert items_of(["mirai-relation-forecast", "event-forecast"]) == "questions"
    assert items_of(["mirai-relation-forecast", "fx-forecast"]) == items_of(["gone"]) == "items"
