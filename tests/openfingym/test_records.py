"""The records that come with the library are of the tasks, metrics and programs that come with it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from openfingym import catalog
from openfingym.adversarial.record import RECORD, reached_in
from openfingym.cli import cli
from openfingym.kinds import is_live
from openfingym.packages.build import build_key
from openfingym.reports.baselines import stale
from openfingym.results.baselines import recorded

ROOT = Path(__file__).resolve().parents[2]


def test_no_result_of_a_baseline_is_stale() -> None:
    assert stale(recorded()) == set(), "measure them again with `openfingym report baselines --run`"


def test_what_answers_without_skill_reach_is_known_of_every_task_that_is_scored_offline() -> None:
    tasks = [catalog.load_task(name) for name in catalog.task_folders()]
    named = {row["task"] for row in json.loads(RECORD.read_text())}
    unknown = {task.name for task in tasks if task.name in named and reached_in(build_key(task)) is None}
    assert unknown == set(), "survey them again with `openfingym task check TASK --adversarial --record`"
    # The market of a live task is another each time, so that nothing can be recorded of it.
    assert {task.name for task in tasks if task.name not in named} == {
        task.name for task in tasks if is_live(task.spec.contract)
    }


def test_the_documented_table_is_that_of_the_record() -> None:
    printed = CliRunner().invoke(cli, ["report", "baselines", "--markdown"], catch_exceptions=False)
    documented = (ROOT / "docs" / "baseline-results.md").read_text()
    assert documented.endswith(printed.stdout), "print it again with `openfingym report baselines --markdown`"
