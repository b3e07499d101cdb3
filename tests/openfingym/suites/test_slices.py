"""Rollouts that are asked a slice of a task's questions: what is asked, scored, kept and compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import openfingym
from openfingym.agents import Agent, resolve
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.kinds.question_range import QuestionRange
from openfingym.models import from_function
from openfingym.reports.report import make_report
from openfingym.reports.runs import find_runs
from openfingym.results import RolloutResult
from openfingym.rollouts import Plan, RolloutSpec
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.verifiers.receipt_check import check_run

LAST = """
import interface

env = interface.make()
asked = []
while env.episodes_left:
    observation, info = env.reset()
    day = observation["query"]["day"] - 1
    asked.append(day)
    seen, *_ = env.step({"tool": "level", "arguments": {"day": day}})
    env.step({"answer": seen["value"]})
print("asked", asked)
"""
SCRIPT = Agent("script", "program", LAST, trusted=True)
"""Answers every question with the level of the day before."""
FIRST = 35
"""Day of the first question that counts; there are 25."""


def test_a_slice_is_asked_scored_and_reported_as_such(jar_task: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    shown = []

    def model(messages, tools):
        shown.append(messages[-1]["content"])
        return {"role": "assistant", "content": "Final Answer: 0.5"}

    with Launcher.for_tasks([jar_task], backend="sandbox") as launcher:
        (package,) = launcher.packages
        part = launcher.run(package, SCRIPT, RolloutOrder(questions="3-7"), out=out)
        assert part.state == "scored", part.reason
        assert (part.budget, part.submissions_accepted, part.questions, part.slice) == (5, 5, "3-7", "3-7")
        assert f"asked {[FIRST + number for number in range(2, 7)]}" in (part.path / "output.log").read_text()
        assert json.loads((part.path / "config.json").read_text())["questions"] == "3-7"
        assert check_run(part.path).verified["questions"] == "3-7"
        # A baseline that is scored on the same questions is as good as itself, and the truth is perfect.
        naive = launcher.run(package, resolve("naive"), RolloutOrder(questions="3-7"))
        assert naive.relative_total == pytest.approx(1.0)
        oracle = launcher.run(package, resolve("oracle"), RolloutOrder(questions="3-7"))
        assert oracle.metrics["mse"] == 0.0
        told = launcher.run(
            package, resolve("react"), RolloutOrder(questions="24-25"), model=from_function("scripted", model)
        )
        assert told.state == "scored", told.reason
        _check_rows(part.path)
        assert [text.split(",")[0] for text in shown] == ["Question 1 of 2", "Question 2 of 2"]
        assert "How full is the jar on day 60?" in shown[1]
        whole = launcher.run(package, SCRIPT, out=out)
        assert whole.questions is None
        assert whole.baseline_total != part.baseline_total == naive.baseline_total
        for wrong, said in {"20-26": "1 to 25", "7-3": "backwards", "0-3": "from 1", "ten": "1-10"}.items():
            with pytest.raises(UsageError, match=said):
                launcher.run(package, SCRIPT, RolloutOrder(questions=wrong))
        other = launcher.run(package, SCRIPT, RolloutOrder(questions="1-2"), out=tmp_path / "other")
    _check_reports(out, part, whole, other)


def _check_rows(folder: Path) -> None:
    """Each question has its id, how it ended and what it took; and nothing of what is true."""
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    assert [row["question"] for row in rows] == [3, 4, 5, 6, 7]
    first = {"question": 3, "begun": True, "actions": 2, "id": f"jar/{FIRST + 2}", "tags": [], "state": "answered"}
    assert rows[0] == first
    assert all(row.keys() == first.keys() for row in rows)


def _check_reports(out: Path, part: RolloutResult, whole: RolloutResult, other: RolloutResult) -> None:
    found = find_runs([out])
    assert [run.rollout_id for run in found.results] == [whole.rollout_id]
    report = make_report(found)
    assert report.runs == 1
    assert any(one.concern == "questions" and "jar-forecast 3-7" in one.sentence for one in report.cautions)
    alone = make_report(find_runs([part.path]))
    assert [cell.task for cell in alone.tasks] == ["jar-forecast questions 3-7"]
    assert any("a slice of their task's questions (jar-forecast 3-7)" in one.sentence for one in alone.cautions)
    with pytest.raises(UsageError, match=r"different questions: 1-2, 3-7"):
        find_runs([part.path, other.path])
    frame = openfingym.read_runs(out)
    assert set(frame["questions"].fillna("all")) == {"3-7", "all"}
    # Who takes the range out of a result passes it off for one on all questions.
    stated = json.loads((part.path / "result.json").read_text())
    (part.path / "result.json").write_text(json.dumps({**stated, "questions": None}))
    assert "one was changed" in find_runs([out]).damaged[0].reason
    assert "asked questions" in make_report(find_runs([out])).damaged[0].reason


def test_the_command_takes_a_range_and_a_plan_keeps_it(jar_task: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["rollout", "--tasks", str(jar_task), "--agent", "naive", "--questions", "2-3", "--out", str(out)]
    done = CliRunner().invoke(cli, [*words, "--backend", "sandbox", "--quiet", "--json"])
    assert done.exit_code == 0, done.output
    (folder,) = (path.parent for path in out.glob("*/*/result.json"))
    assert "-q2-3-" in folder.name
    again = json.loads(CliRunner().invoke(cli, [*words, "--quiet", "--json"]).output)
    assert (again["rollouts"], again["finished_before"]) == (1, 1)
    dry = json.loads(CliRunner().invoke(cli, [*words[:-3], "5-6", "--out", str(out), "--dry-run", "--json"]).output)
    assert [(one["questions"], one["finished"]) for one in dry["rollouts"]] == [("5-6", False)]
    for stated, said in {"9-30": "has questions 1 to 25", "3-2": "backwards"}.items():
        refused = CliRunner().invoke(cli, ["run", str(jar_task), "--questions", stated, "--out", str(out)])
        assert isinstance(refused.exception, UsageError)
        assert said in str(refused.exception)
    refused = CliRunner().invoke(cli, ["run", "treasury-forecast", "--questions", "1-3", "--out", str(out)])
    assert isinstance(refused.exception, UsageError)
    assert "asks no questions" in str(refused.exception)


def test_a_range_is_a_part_of_a_rollouts_identity_and_of_nothing_else() -> None:
    whole = RolloutSpec("jar-forecast", "d" * 64, SCRIPT)
    part = replace(whole, questions="1-10")
    assert "questions" not in whole.inputs, "rollouts of before keep their names"
    assert part.identity != whole.identity != replace(whole, questions="1-11").identity
    assert part.title == "jar-forecast questions 1-10 script seed 0"
    plan = {"tasks": ["jar-forecast"], "agents": ["naive"]}
    assert Plan.make({**plan, "questions": "4"}).questions == "4-4"
    for wrong in ({"questions": "4-"}, {"questions": "2-1"}, {"questions": "1-2", "fresh": True}):
        with pytest.raises(UsageError, match="questions"):
            Plan.make({**plan, **wrong})
    with pytest.raises(UsageError, match="expected a range"):
        QuestionRange.parse("1-10; DROP TABLE rollouts")
