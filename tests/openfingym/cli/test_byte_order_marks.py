"""A byte-order mark before a file of the user's, as some editors leave one, changes nothing."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from openfingym.agents import read_program
from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.models.prices import PriceTable
from openfingym.packages.build import build
from openfingym.rollouts.plan import Plan
from openfingym.verifiers.registry import Registry


def marked(path: Path, text: str | None = None) -> Path:
    path.write_bytes(BOM_UTF8 + (path.read_bytes() if text is None else text.encode()))
    return path


def test_a_task_and_its_data(own_task: Path) -> None:
    expected = build(load_task(own_task))
    marked(own_task / "task.toml")
    marked(next(own_task.glob("*.csv")))
    found = build(load_task(own_task), force=True)
    assert found.task.file == expected.task.file
    truth = expected.read_truth()
    for name, array in found.read_truth().items():
        np.testing.assert_array_equal(array, truth[name])


def test_a_plan_a_registry_and_prices(tmp_path: Path) -> None:
    plan = Plan.read(marked(tmp_path / "plan.toml", 'tasks = ["fx-forecast"]\nagents = ["naive"]\n'))
    assert plan.tasks == ("fx-forecast",)
    assert Registry.read(marked(tmp_path / "verifiers.toml", "verifiers = []\n")).entries == ()
    row = "[my-model]\ninput = 1.0\noutput = 2.0\n"
    plain = tmp_path / "plain.toml"
    plain.write_text(row, encoding="utf-8")
    assert PriceTable.load(marked(tmp_path / "prices.toml", row)).prices == PriceTable.load(plain).prices


def test_a_program(tmp_path: Path) -> None:
    assert read_program(marked(tmp_path / "agent.py", "print(1)\n")) == "print(1)\n"


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_an_answer_to_score(suffix: str, own_task: Path, tmp_path: Path) -> None:
    package = build(load_task(own_task))
    shape, answer = package.manifest.submission_shape, tmp_path / f"answer.{suffix}"
    values = np.full(shape, 0.01)
    columns = package.contract["channels"]
    table = pd.DataFrame(values.reshape(-1, shape[-1]), columns=columns)
    text = json.dumps({"predictions": values.tolist()}) if suffix == "json" else table.to_csv(index=False)
    arguments = ["score", "--task", str(own_task), "--submission", str(answer), "--truth", str(package.truth), "--json"]
    answer.write_text(text, encoding="utf-8")
    plain = CliRunner().invoke(cli, arguments)
    assert plain.exit_code == 0, plain.output
    marked(answer)
    assert CliRunner().invoke(cli, arguments).stdout == plain.stdout
