"""The report for programs: JSON, CSV, and that it depends on nothing but its runs."""

from __future__ import annotations

import csv
import io
import json
import random

import pytest

from openfingym.errors import UsageError
from openfingym.reports.report import REASON_LENGTH, make_report
from openfingym.reports.runs import Damaged, Runs
from openfingym.reports.tables import figure, percent, skill_table, task_table
from tests.openfingym.reports.made import failed, runs, scored

TASKS = [f"fx-forecast-v{n}" for n in range(2, 8)] + ["fx-forecast", "treasury-forecast"]


def some():
    spread = random.Random(0)
    return [
        scored(spread.lognormvariate(-0.2, 0.3), agent=agent, model=model, task=task, seed=seed, cost_usd=0.1 if model else None)
        for agent, model in (("react", "m"), ("ridge", None))
        for task in TASKS
        for seed in range(2)
    ] + [failed("rejected", agent="react", model="m", seed=7, reason="a\nreason " + "x" * 500), failed("error", seed=8)]


def test_json_has_every_figure_under_the_names_of_its_row(tmp_path):
    report = make_report(Runs(tuple(some()), (Damaged(tmp_path, "why"),), copies=2))
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (found["runs"], found["copies"], found["damaged"]) == (34, 2, [{"path": str(tmp_path), "reason": "why"}])
    assert found["method"] == {"level": 0.95, "replicates": 10_000, "seed": 0, "fewest_tasks": 6}
    react, ridge = found["cells"]
    assert (react["agent"], react["model"], react["family"], ridge["agent"], ridge["model"]) == ("react", "m", "forecasting", "ridge", "-")
    assert react["counts"] == {"scored": 16, "rejected": 1, "error": 0, "deferred": 0, "void": 0}
    assert react["success"] == pytest.approx(16 / 17)
    assert react["skill"] == {name: getattr(report.cells[0].skill, name) for name in ("value", "low", "high", "units")}
    assert len(found["tasks"]) == 16
    (comparison,) = found["comparisons"]
    assert (comparison["a"], comparison["b"], comparison["tasks"]) == (["react", "m"], ["ridge", "-"], 8)
    assert comparison["sentence"] == report.comparisons[0].sentence
    by_state = {one["state"]: one for one in found["failures"]}
    assert (by_state["error"]["boundary"], by_state["rejected"]["boundary"]) == ("verifier", "agent")
    assert by_state["rejected"]["reason"].startswith("a reason xxx")
    assert len(by_state["rejected"]["reason"]) == REASON_LENGTH


def test_csv_is_read_back():
    report = make_report(runs(*some(), scored(0.5, agent='=1+1,"x"\n', task="ou-generation")))
    lines = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert len(lines) == len(report.cells)
    for line, cell in zip(lines, report.cells, strict=True):
        assert (line["data_kind"], line["family"], int(line["tasks"])) == (cell.data_kind, cell.family, cell.tasks)
        assert (float(line["skill"]) if line["skill"] else None) == cell.skill.value
        assert (float(line["usd_per_success"]) if line["usd_per_success"] else None) == cell.cost.usd
    # A spreadsheet must not run a name.
    assert {line["agent"] for line in lines} == {"react", "ridge", '\'=1+1,"x"\n'}


def test_a_report_depends_on_its_runs_and_not_on_their_order():
    results = some()
    report = make_report(runs(*results))
    shuffled = random.Random(1).sample(results, len(results))
    again = make_report(runs(*sorted(shuffled, key=lambda run: (run.task, run.agent, run.seed)))).to_dict()
    assert json.dumps(again) == json.dumps(make_report(runs(*sorted(results, key=lambda run: (run.task, run.agent, run.seed)))).to_dict())
    # Another agent beside it changes no figure of this one.
    alone = make_report(runs(*(run for run in results if run.agent == "react")))
    assert alone.cells == tuple(cell for cell in report.cells if cell.row[0] == "react")
    assert alone.tasks == tuple(cell for cell in report.tasks if cell.row[0] == "react")


@pytest.mark.parametrize("by", [(), ("agent", "agent")])
def test_rows_need_fields_each_once(by):
    with pytest.raises(UsageError, match="grouped by"):
        make_report(runs(*some()), by)


def test_a_table_says_what_is_lacking():
    results = [scored(0.5, agent="few"), *(failed("rejected", agent="nop", task=task) for task in TASKS), failed("error", agent="ours")]
    table = skill_table(make_report(runs(*results), ("agent",)), "real")
    column = table.columns.index("skill")
    assert {row[0]: row[column] for row in table.rows} == {"few": "too few to say", "nop": "never scored", "ours": "no run judged"}
    assert {row[0]: row[table.columns.index("left out")] for row in table.rows} == {"few": "", "nop": "", "ours": "1 error"}


def test_tables_are_rectangular():
    report = make_report(runs(*some()))
    for table in (skill_table(report, "real"), task_table(report, "real")):
        assert {len(row) for row in table.rows} == {len(table.columns)}


@pytest.mark.parametrize(("share", "text"), [(None, "-"), (0.0, "0%"), (1e-4, "<1%"), (0.5, "50%"), (0.9999, "99%"), (1.0, "100%")])
def test_only_all_is_all_and_only_none_is_none(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0.00"),
        (0.04, "0.0400"),
        (25.04, "25.0"),
        (123.4, "123"),
        (999.7, "1,000"),
        (123456.0, "123,456"),
        (1e-5, "1.00e-05"),
    ],
)
def test_figures_have_three_digits(value, text):
    assert figure(value) == text


def test_agents_of_one_name_that_are_not_the_same_are_said_to_be_pooled():
    first, second, other = scored(0.5), scored(0.6, seed=1), scored(0.5, agent="naive")
    ours = failed("error", seed=2)
    settings = {first.rollout_id: "a", second.rollout_id: "b", other.rollout_id: "c", ours.rollout_id: "d"}
    (mixture,) = make_report(Runs((first, second, other, ours), settings=settings)).mixtures
    assert (mixture.row, mixture.settings) == (("ridge", "-"), 2)
    assert "ridge on real data pools 2 settings" in mixture.sentence
    # A run that does not state its setting says nothing.
    assert make_report(Runs((first, second), settings={first.rollout_id: "a"})).mixtures == ()
