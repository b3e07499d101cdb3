"""A suite that another distribution brings, as a task: checked, answered by programs and models, and verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import openfingym
from openfingym.agents import Agent
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.models import from_function

LAST = """
import interface

env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    day = observation["query"]["day"] - 1
    seen, *_ = env.step({"tool": "level", "arguments": {"day": day}})
    later, *_ = env.step({"tool": "level", "arguments": {"day": day + 1}})
    assert not later["valid"] and "Expected a day" in later["text"], later
    env.step({"answer": seen["value"]})
"""

OBJECTS = """
import interface
import pytest
from jars_api import level

with pytest.raises(RuntimeError, match="no question is open"):
    level(0)
env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    day = observation["query"]["day"] - 1
    with pytest.raises(ValueError, match="Expected a day from 0"):
        level(day + 1)
    env.step({"answer": level(day)})
with pytest.raises(RuntimeError, match="no question is open"):
    level(0)
"""


@pytest.fixture(autouse=True)
def runs_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are kept in the current folder."""
    monkeypatch.chdir(tmp_path)


def test_a_program_calls_tools_as_the_functions_of_the_suites_module(jar_task: Path) -> None:
    result = openfingym.run(jar_task, agent=Agent("script", "program", OBJECTS, trusted=True), backend="inline")
    assert result.state == "scored", result.reason
    by_steps = openfingym.run(jar_task, agent=Agent("script", "program", LAST, trusted=True), backend="inline")
    assert result.relative_total == by_steps.relative_total


def test_a_program_asks_tools_and_is_verified(jar_task: Path) -> None:
    result = openfingym.run(jar_task, agent=Agent("script", "program", LAST, trusted=True), backend="inline")
    assert result.state == "scored", result.reason
    assert 0.0 < result.relative_total < 0.5
    oracle = openfingym.run(jar_task, agent="oracle", backend="inline")
    assert oracle.relative_total < 0.05
    naive = openfingym.run(jar_task, agent="naive", backend="inline")
    assert naive.relative_total == pytest.approx(1.0)


def test_a_world_that_is_away_is_no_fault_of_the_agent(jar_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JARS_AWAY", "1")
    result = openfingym.run(jar_task, agent=Agent("script", "program", LAST, trusted=True), backend="inline")
    assert result.state == "error"
    assert result.relative_total is None


def test_a_model_answers_each_question_in_a_conversation_of_its_own(jar_task: Path) -> None:
    shown = []

    def model(messages, tools):
        shown.append(len(messages))
        last = messages[-1]
        if last["role"] == "user":
            assert {tool["function"]["name"] for tool in tools} == {"level", "answer"}
            day = int(last["content"].split("How full is the jar on day ")[1].split("?")[0]) - 1
            call = {"name": "level", "arguments": json.dumps({"day": day})}
            return {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "1", "type": "function", "function": call}],
            }
        level = last["content"].split("it was ")[1].split(" ")[0]
        return {"role": "assistant", "content": f"As before.\nFinal Answer: {level}"}

    result = openfingym.run(jar_task, agent="react", model=from_function("scripted", model), backend="sandbox")
    assert result.state == "scored", result.reason
    assert 0.0 < result.relative_total < 0.5
    assert max(shown) == 4, "system, question, call, observation"


def test_the_environment_gives_a_loss_of_training_questions(jar_task: Path) -> None:
    env = openfingym.make(jar_task, split="train")
    text, info = env.reset(options={"number": 3})
    assert "How full is the jar on day 4?" in text
    text, reward, terminated, truncated, info = env.step(json.dumps({"tool": "level", "arguments": {"day": 3}}))
    assert (reward, terminated, truncated) == (0.0, False, False)
    level = info["observation"]["value"]
    *_, reward, terminated, _, _ = env.step(json.dumps({"answer": level}))
    assert terminated
    assert -0.1 < reward < 0.0
    env.close()


@pytest.mark.parametrize("number", ["3", 3.0, True, -1, 10**6])
def test_only_the_number_of_a_training_question_chooses_one(jar_task: Path, number: object) -> None:
    env = openfingym.make(jar_task, split="train")
    with pytest.raises(UsageError, match="there is no training question"):
        env.reset(options={"number": number})
    env.close()


def test_an_action_too_deep_to_be_read_is_refused(jar_task: Path) -> None:
    env = openfingym.make(jar_task, split="train")
    env.reset(options={"number": 3})
    with pytest.raises(UsageError, match="an action is a JSON text"):
        env.step("[" * 100_000)
    env.close()


def test_it_passes_the_check_of_tasks(jar_task: Path) -> None:
    done = CliRunner().invoke(cli, ["task", "check", str(jar_task), "--json"])
    findings = json.loads(done.stdout)
    assert '"passed": false' not in json.dumps(findings), findings
    assert done.exit_code == 0


def test_an_action_that_is_nested_deep_is_refused_and_never_recorded(jar_task: Path) -> None:
    env = openfingym.make(jar_task, split="train")
    env.reset(options={"number": 3})
    deep = "[" * 300 + "]" * 300
    with pytest.raises(UsageError, match="nested at most 20 deep"):
        env.step('{"tool": "level", "arguments": {"day": ' + deep + "}}")
    env.close()
