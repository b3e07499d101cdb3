"""Questions are asked in the order of their times, so that no tool knows what became of one that is unanswered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

import openfingym
from openfingym import catalog
from openfingym.agents import Agent
from openfingym.checks.check import check_task
from openfingym.cli import cli
from openfingym.errors import DataError
from openfingym.kinds import kind_of
from openfingym.suites.suite import UNDATED, Observation, QuestionSet, SuiteQuestion
from openfingym_suites.imported.formats import read_questions
from tests.openfingym.suites.own_suite import LEVELS, JarSuite

# Runs where programs run: what it is refused, and what it learns by giving questions up.
OUT_OF_ORDER = """
import json

import interface
from openfingym_agent import EpisodesExhausted, SubmissionRefused

FORMS = {"Content-Type": "application/json"}


def post(path, document):
    try:
        body, task = json.dumps(document).encode(), interface._task
        answer = task._gate.call("POST", path, FORMS, body, task.deadline)
    except SubmissionRefused as refused:
        return refused.problem
    return f"answered: {answer}"


AHEAD = 20
refused = {
    "a step of a question to come": post("/v1/steps", {"episode": AHEAD, "step": 1, "action": None}),
    "a number": post("/v1/episodes", {"fold": "private", "episode": AHEAD}),
    "a question": post("/v1/episodes", {"question": AHEAD}),
    "a time": post("/v1/episodes", {"fold": "private", "as_of": "2100-01-01T00:00:00Z"}),
    "a fold": post("/v1/episodes", {"fold": "train"}),
}
env = interface.make()
observation, info = env.reset()
first = observation["query"]["day"]
later = {"tool": "level", "arguments": {"day": first + AHEAD, "as_of": "2100-01-01T00:00:00Z"}}
refused["a tool as of a later time"] = "" if env.step(later)[0]["valid"] else "invalid"
refused["an action as of a later time"] = post(
    "/v1/steps", {"episode": info["episode"], "step": 2, "as_of": "2100-01-01", "action": later}
)
# Questions that are given up are over: their truths can be looked up then, and told to nobody.
for _ in range(AHEAD):
    observation, info = env.reset()
day = observation["query"]["day"]
truths = [env.step({"tool": "level", "arguments": {"day": known}})[0]["value"] for known in range(day - 3, day)]
refused["the questions before"] = [
    post("/v1/steps", {"episode": number, "step": step, "action": {"answer": 0.5}})
    for number in (1, AHEAD - 1, AHEAD)
    for step in (1, 2, 3)
]
env = interface.make()
observation, info = env.reset()
then = observation["query"]["day"]
print(json.dumps({"refused": refused, "first": first, "day": day, "truths": truths, "then": then}))
"""


@pytest.fixture(autouse=True)
def runs_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are kept in the current folder."""
    monkeypatch.chdir(tmp_path)


def jars() -> QuestionSet:
    suite = JarSuite()
    return suite.questions("jar-world", suite.options({}))


def test_a_set_whose_times_decrease_is_refused_and_the_places_are_named() -> None:
    found = jars()
    first, second, *rest = found.private
    with pytest.raises(DataError, match=r"question 7 of 30 \('jar/35'\) is asked as of 2020-02-05, and question 6 "):
        replace(found, private=(second, first, *rest))
    with pytest.raises(DataError, match=r"question 6 of 30 \('jar/35'\) .* question 5 \('jar/36'\)"):
        replace(found, public=(*found.public[:-1], second), private=(first, *rest, second))
    with pytest.raises(DataError, match="the training question 'jar/40' is asked as of 2020-02-10, after the first"):
        replace(found, train=(*found.train[1:], found.private[5]))
    with pytest.raises(DataError, match="'jar/59' is asked as of 'tomorrow'; expected a time in ISO 8601"):
        replace(found, private=(*found.private[:-1], replace(found.private[-1], as_of="tomorrow")))


@pytest.mark.parametrize("name", [info.name for info in catalog.tasks() if info.kind == "qa"])
def test_every_task_asks_in_the_order_of_time(name: str) -> None:
    task = catalog.load_task(name)
    found = kind_of(task).load(task)
    assert isinstance(found, QuestionSet)
    asked = [question.moment for question in (*found.public, *found.private)]
    assert all(before <= after for before, after in pairwise(asked))
    assert max(question.moment for question in found.train) <= asked[len(found.public)]


def test_imported_questions_are_put_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))
    times = ["2025-03-01", None, "2024-01-01", "2025-02-28T23:00:00-05:00", "2024-01-01"]
    records = [{"id": f"q{n}", "question": "Up?", "answer": "yes", "as_of": time} for n, time in enumerate(times)]
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    assert [(one.id, one.as_of[:10]) for one in read_questions(file)] == [
        ("q2", "2024-01-01"), ("q4", "2024-01-01"), ("q0", "2025-03-01"), ("q3", "2025-03-01"), ("q1", UNDATED[:10])
    ]  # fmt: skip
    CliRunner().invoke(cli, ["questions", "import", str(file)], catch_exceptions=False)
    task = catalog.load_task(tmp_path / "own")
    found = kind_of(task).load(task)
    assert isinstance(found, QuestionSet)
    assert [question.id for question in found.private] == ["q2", "q4", "q0", "q3", "q1"]


def test_a_program_cannot_ask_a_question_before_its_time(jar_task: Path, tmp_path: Path) -> None:
    result = openfingym.run(jar_task, agent=Agent("script", "program", OUT_OF_ORDER, trusted=True), backend="inline")
    assert result.path is not None
    output = (result.path / "output.log").read_text()
    assert result.state == "scored", (result.reason, output)
    told = json.loads(output.splitlines()[-1])
    assert told["refused"] == {
        "a step of a question to come": "out-of-step",
        "a number": "malformed-request",
        "a question": "malformed-request",
        "a time": "malformed-request",
        "a fold": "malformed-request",
        "a tool as of a later time": "invalid",
        "an action as of a later time": "malformed-request",
        "the questions before": ["episode-over"] * 9,
    }
    # It has the truths of three questions that it gave up, and comes to the next one only.
    assert told["day"] == told["first"] + 20
    assert told["truths"] == [LEVELS[day] for day in range(told["day"] - 3, told["day"])]
    assert told["then"] == told["day"] + 1
    naive = openfingym.run(jar_task, agent="naive", backend="inline")
    assert result.relative_total is not None
    assert naive.relative_total is not None
    assert result.relative_total > naive.relative_total


def test_the_check_finds_a_tool_that_is_ahead_of_its_question(jar_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def finding() -> tuple[bool, str]:
        report = check_task(catalog.load_task(jar_task))
        return next((found.passed, found.detail) for found in report.findings if found.name == "tools")

    passed, detail = finding()
    assert passed
    assert "30 questions are in the order of their times" in detail
    suite = type(kind_of(catalog.load_task(jar_task)).asking(catalog.load_task(jar_task).spec.contract).suite)
    honest = suite.lookup

    def ahead(self: JarSuite, vault: object, question: SuiteQuestion, options: Mapping[str, object]) -> object:
        lookup = honest(self, vault, question, options)  # type: ignore[arg-type]

        def call(name: str, arguments: Mapping[str, object]) -> Observation:
            # From the middle of the questions on, tomorrow is known.
            if question.query["day"] == arguments.get("day") and int(str(question.query["day"])) > 45:
                return Observation("early", value=float(LEVELS[int(str(arguments["day"]))]))
            return lookup(name, arguments)

        return call

    monkeypatch.setattr(suite, "lookup", ahead)
    passed, detail = finding()
    assert not passed
    assert "as of question 16 ('jar/45', 2020-02-15) the tools tell the truth of question 16 ('jar/45')" in detail
    monkeypatch.setattr(suite, "lookup", honest)
    monkeypatch.setattr(suite, "revealing", lambda self, question, options: ())
    passed, detail = finding()
    assert passed
    assert "unknown whether tools tell a truth early: the suite jars does not say what to call" in detail
