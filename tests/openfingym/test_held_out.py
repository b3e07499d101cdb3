"""What is trained on shares no data with what is held out."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from openfingym import catalog
from openfingym.held_out import HELD_OUT, kept_apart, training_tasks
from openfingym.packages.build import build


def test_the_tasks_that_the_paper_holds_out_are_not_trained_on_nor_is_their_data() -> None:
    train = training_tasks("forecasting")
    assert len(train) > 15
    assert len(HELD_OUT) == 5
    assert not set(HELD_OUT) & set(train)
    datasets = {info.name: info.dataset for info in catalog.tasks()}
    assert not {datasets[name] for name in HELD_OUT} & {datasets[name] for name in training_tasks()}


def test_a_task_may_train_on_days_that_another_practises_on_and_is_kept_apart_from_it() -> None:
    held, other = (build(catalog.load_task(name)) for name in ("stock-generation", "equity-forecast"))
    days = np.datetime64("1999-02-01"), np.datetime64("2005-09-30")
    assert held.task.spec.rows.public_from == days[0].astype(object)
    assert np.asarray(other.array("train_times")).max() == days[1]
    assert "equity-forecast" in kept_apart(["stock-generation"])
    assert {"fx-forecast", "fx-forecast-v3", "exchange-rate-forecast"} <= kept_apart(["fx-forecast"])
    assert "fx-forecast-v3" in training_tasks(held_out=["treasury-forecast"])


def test_the_plan_of_the_paper_takes_all_of_its_catalogue_that_shares_no_data_with_what_is_held_out() -> None:
    plan = Path(__file__).resolve().parents[2] / "examples" / "plans" / "paper-training.toml"
    # Of the paper's catalogue of forecasting are neither tasks played bar by bar nor those of questions.
    listed = {info.name for info in catalog.tasks("forecasting") if info.kind not in {"rolling", "questions"}}
    assert len(listed) == 48
    assert tomllib.loads(plan.read_text())["tasks"] == sorted(listed & {*training_tasks("forecasting")})


def test_of_an_unknown_task_the_name_is_kept_apart() -> None:
    assert kept_apart(["nobodys-task"]) == {"nobodys-task"}


def test_tasks_on_one_file_are_kept_apart_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openfingym.packages.scaffold import new_task

    for name in ("first-task", "second-task", "third-task"):
        new_task(name, tmp_path)
    other = tmp_path / "third-task" / "data.csv"
    lines = other.read_text().splitlines()
    other.write_text("\n".join([*lines[:-1], lines[-1].replace("1", "2")]) + "\n")
    monkeypatch.setenv("OPENFINGYM_TASKS", str(tmp_path))
    assert kept_apart(["first-task"]) == {"first-task", "second-task"}
