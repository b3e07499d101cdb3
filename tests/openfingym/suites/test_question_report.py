"""What a report says of runs of questions, and what it must not say.

Attacks: a tool called in one question alone, to read in the row of that tool whether its answer is true; and other
answers put into a run folder that is sent to the holder of the truth, to have them scored.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from openfingym.agents import Agent
from openfingym.errors import UsageError
from openfingym.models.cutoffs import require_cutoff
from openfingym.packages.build import build
from openfingym.reports.html import render
from openfingym.reports.questions.sections import _remembered
from openfingym.reports.report import Report, make_report
from openfingym.reports.runs import find_runs
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.task import Task
from openfingym.verifiers import known_logs
from openfingym_verifier.embedded import EmbeddedVerifier

PROGRAM = """
import interface

env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    day = observation["query"]["day"] - 1
    if day == 36:
        env.step({"tool": "level", "arguments": {"day": day}})
        env.step({"tool": "level", "arguments": {"day": day}})
    if day == 37:
        env.step({"tool": "level", "arguments": {"day": day + 9}})
    if day != 38:
        env.step({"answer": LEVEL})
    else:
        for _ in range(5):
            env.step(None)
"""
"""Calls the tool in the second of its questions alone, asks for a later day in the third, and leaves out the fourth."""


@pytest.fixture(scope="module")
def played() -> dict[str, Path]:
    """The runs, once a test has made them."""
    return {}


@pytest.fixture
def jars(jar_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: dict[str, Path]) -> Path:
    """The folder of two runs of one agent, of which each says the same of every jar."""
    monkeypatch.setenv("OPENFINGYM_TASKS", str(jar_task.parent))
    if "runs" not in played:
        played["runs"] = tmp_path / "played"
        with Launcher.for_tasks([jar_task], backend="inline") as launcher:
            (package,) = launcher.packages
            for seed, level in enumerate((0.3, 0.8)):
                program = Agent("script", "program", PROGRAM.replace("LEVEL", str(level)), trusted=True)
                result = launcher.run(package, program, RolloutOrder(questions="1-10", seed=seed), out=played["runs"])
                assert result.state == "scored", result.reason
    shutil.copytree(played["runs"], tmp_path / "runs")
    return tmp_path / "runs"


def report_of(out: Path, **options: object) -> Report:
    return make_report(find_runs([out]), **options)


def rows(report: Report, key: str) -> list[dict[str, object]]:
    assert report.questions is not None
    return [row for table in report.questions.to_dict()["tables"] if table["key"] == key for row in table["rows"]]


def rewrite(out: Path, **changes: object) -> None:
    for path in out.rglob("result.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_report_of_any_suite(jars: Path) -> None:
    report = report_of(jars)
    (ended,) = rows(report, "endings")
    assert (ended["questions"], ended["answered"], ended["not answered"]) == (20, 18, 2)
    (tool,) = rows(report, "tools")
    assert (tool["calls"], tool["refused"], tool["repeated"], tool["questions"]) == (6, 2, 2, 2)
    (wrong,) = rows(report, "errors")
    assert (wrong["later day"], wrong["repeated call"]) == (2, 2)
    (score,) = rows(report, "scores")
    stated = [run.metrics["mse"] for run in find_runs([jars]).results]
    assert score["MSE"]["mean"] == pytest.approx(np.mean(stated))
    (best,) = rows(report, "samples")
    assert best["K=1"] < best["K=2"]
    (parts,) = rows(report, "classes")
    assert 0.0 <= parts["empty"] < 1.0
    assert parts["full"] > 0.0
    page = render(report)
    for words in ("By tool", "How questions ended", "What was wrong with calls", "Max@K"):
        assert words in page
    json.dumps(report.to_dict(), allow_nan=False)


def test_what_a_judge_made_of_answers_stands_beside_the_scores(jars: Path) -> None:
    assert not rows(report_of(jars), "judged")
    first = find_runs([jars]).results[0]
    lines = [
        {"rollout": first.rollout_id, "rule": {"outcome": outcome}, "judge": None if score == "" else {"score": score}}
        for outcome, score in (("right", 1), ("right", 0), ("wrong", ""), ("undecided", 1), ("undecided", None))
    ]
    lines.append({"rollout": "another", "rule": {"outcome": "right"}, "judge": None})
    (jars / "judgements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (row,) = rows(report_of(jars), "judged")
    counts = [
        row[name] for name in ("answers", "right by rule", "wrong by rule", "undecided", "judged right", "judged wrong")
    ]
    assert (counts, row["agreement with rules"], row["both"]) == ([5, 2, 1, 2, 1, 0], 0.5, 2)
    for damaged in ("no JSON\n", "[1]\n", '{"rollout": 7, "rule": 3, "judge": []}\n'):
        (jars / "judgements.jsonl").write_text(damaged)
        assert not rows(report_of(jars), "judged")


def withheld(report: Report) -> str:
    """Why scores of parts are not there, of which then there are none."""
    assert [row["closeness"] for row in rows(report, "tools")] == [None]
    assert not any(rows(report, key) for key in ("classes", "samples", "tags"))
    assert all(row["gain"] is None for row in rows(report, "ways"))
    assert report.questions is not None
    return report.questions.remarks[0]


def test_an_agent_that_calls_a_tool_in_one_question_learns_nothing_of_it(
    jars: Path, jar_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where scores are rationed, the score of the one question with a call would tell whether its answer was right."""
    open_ones = rows(report_of(jars), "tools")
    assert open_ones[0]["closeness"] is not None
    # To take the ration off a result by hand is of no use, since its receipt proves another: it is damaged then.
    rewrite(jars, policy="strict")
    assert report_of(jars).questions is None
    assert all("its receipt does not hold" in one.reason for one in report_of(jars).damaged)
    assert report_of(jars).damaged
    package = build(Task.read(jar_task))
    with EmbeddedVerifier.start([package], policy="strict") as running:
        monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", running.admin_token)
        with Launcher.for_tasks([jar_task], backend="inline", verifier=str(running.uds)) as launcher:
            program = Agent("script", "program", PROGRAM.replace("LEVEL", "0.3"), trusted=True)
            result = launcher.run(
                launcher.packages[0], program, RolloutOrder(questions="1-10"), out=tmp_path / "strict"
            )
    assert (result.state, result.policy, result.disclosure) == ("scored", "strict", "full"), result.reason
    report = report_of(tmp_path / "strict")
    assert "rations" in withheld(report)
    # What its verifier told stays, and its operator may look.
    assert rows(report, "scores")[0]["MSE"] == pytest.approx(result.metrics["mse"])
    shown = report_of(tmp_path / "strict", with_hidden=True)
    assert rows(shown, "tools")[0]["closeness"] is not None
    assert shown.questions is not None
    assert any("for its operator" in remark for remark in shown.questions.remarks)


def test_a_folder_from_elsewhere_is_not_taken_at_its_word(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier of one's own signs whatever is wanted."""
    monkeypatch.setattr(known_logs, "FILE", "known-logs-of-nobody")
    assert "has not met" in withheld(report_of(jars))


def test_answers_that_were_put_into_a_folder_are_not_scored(jars: Path) -> None:
    """Whoever sends a folder to somebody who holds the answers could else ask for the scores of any answers."""
    for path in jars.rglob("submissions/*.npy"):
        probe = np.load(path)
        probe[5:, 1] = 0.5
        path.chmod(0o644)
        np.save(path, probe)
    assert "no receipt proves" in withheld(report_of(jars))
    # Nor does it help to leave out what proves it.
    for path in jars.rglob("receipt.json"):
        path.unlink()
    assert "no receipt proves" in withheld(report_of(jars))
    shown = report_of(jars, with_hidden=True)
    assert shown.questions is not None
    assert shown.questions.remarks[0].endswith("do not have the scores that its result states")


def test_a_run_without_its_task_shows_what_its_folder_has(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENFINGYM_TASKS")
    report = report_of(jars)
    (ended,) = rows(report, "endings")
    assert ended["answered"] == 18
    assert not rows(report, "scores")
    assert report.questions is not None
    assert "not on this machine" in report.questions.remarks[0]


def test_months_against_cutoffs() -> None:
    said = [_remembered("real", "2023-10", cutoff) for cutoff in (None, "2023-09", "2023-10", "2023-10-15", "2023-12")]
    assert said == ["not known", "after it", "before it", "partly before it", "before it"]
    assert _remembered("simulated", "2023-10", "2023-12").startswith("made up")
    assert require_cutoff("2024-02-29") == "2024-02-29"
    for wrong in ("", "2023", "2023-13", "2023-02-30", "October 2023", "2023-1"):
        with pytest.raises(UsageError, match="cut-off"):
            require_cutoff(wrong)
