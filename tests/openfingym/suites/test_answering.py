"""Agents that answer questions one by one, in every way of acting, and what bad replies come to."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import openfingym
from openfingym.agents import resolve
from openfingym.errors import UsageError
from openfingym.models import from_function
from openfingym.results import RolloutResult

Said = Callable[[str, str], str]
"""Answers the latest message, of a conversation that began with a question."""
ASKED = re.compile(r"How full is the jar on day (\d+)\?")


class Played:
    """What came of a rollout."""

    def __init__(self, folder: Path, result: RolloutResult, conversations: list[list[Any]]) -> None:
        (self.run,) = (path.parent for path in folder.rglob("result.json"))
        self.result = result
        self.conversations = conversations
        self.states = [json.loads(line)["state"] for line in _lines(self.run / "questions.jsonl")]

    def actions(self, question: int) -> list[Mapping[str, Any]]:
        """The actions of a question, as the verifier took them."""
        every = [json.loads(line) for line in _lines(self.run / "actions.jsonl")]
        return [one["action"] for one in every if one["number"] == question]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def play(task: Path, agent: str, say: Said, questions: str = "1-3") -> Played:
    """Let a model that says such texts answer some questions."""
    conversations: list[list[Any]] = []

    def model(messages: list[dict[str, Any]], tools: object) -> dict[str, str]:
        conversations.append(messages)
        day = next(
            found[1]
            for message in messages
            if message["role"] == "user" and (found := ASKED.search(message["content"]))
        )
        return {"role": "assistant", "content": say(messages[-1]["content"], day)}

    out = task.parent / "out"
    result = openfingym.run(
        task, agent=agent, model=from_function("scripted", model), backend="sandbox", questions=questions, out=out
    )
    return Played(out, result, conversations)


def as_asked(act: str, answer: str) -> Said:
    """Look how full the jar is today, then say that."""

    def say(last: str, day: str) -> str:
        level = re.search(r"it was (\S+) full|value=(\S+)", last)
        return answer.format(level[1] or level[2]) if level else act.format(int(day) - 1)

    return say


FUNCTION = as_asked("Thought: I look.\nAction: level(day={})\nObservation: 7", "Action: Final Answer: {}")
BLOCK = as_asked('Action: ```python\nprint(f"value={{level({})}}")\n```', "Action: Final Answer: {}")
TAGS = as_asked(
    "<think>Now <function_call>level(day={})</function_call> and it was 7 full, so <answer>7</answer>",
    "That is it.</think><answer>{}</answer>",
)


@pytest.mark.parametrize(("action", "say"), [("function", FUNCTION), ("block", BLOCK), ("tags", TAGS)])
def test_every_form_of_action_reaches_the_tools_of_the_question(jar_task: Path, action: str, say: Said) -> None:
    found = play(jar_task, f"react:action={action}", say)
    assert found.states == ["answered"] * 3
    assert 0.0 < found.result.relative_total < 0.5, "what was seen a day before is near, and no guess"
    (call,) = (one for one in found.actions(0) if "tool" in one)
    assert call["tool"] == "level"
    config = json.loads((found.run / "config.json").read_text())
    assert (config["agent"], config["answering"]["action"]) == (f"react:action={action}", action)


@pytest.mark.parametrize("agent", ["zero-shot-cot", "react:action=function,tools=none"])
def test_questions_are_answered_without_tools(jar_task: Path, agent: str) -> None:
    found = play(jar_task, agent, lambda *_: "<think>Final Answer: 7</think> Half.\n**Final Answer:** 0.5")
    assert found.states == ["answered"] * 3
    assert [len(messages) for messages in found.conversations] == [2, 2, 2], "each begins anew"
    assert ("step by step" in found.conversations[0][1]["content"]) == (agent == "zero-shot-cot")
    assert "level(" not in found.conversations[0][0]["content"]


@pytest.mark.parametrize(
    ("agent", "reply"),
    [
        ("react:action=function", "Action: level(day=__import__('os'))"),
        ("react:action=block", "Action: level(day=0)"),
        ("react:action=tags", "It will be half full."),
        ("react", ""),
    ],
)
def test_replies_of_no_use_end_a_question_and_not_the_rollout(jar_task: Path, agent: str, reply: str) -> None:
    found = play(jar_task, agent, lambda *_: reply, questions="1-2")
    assert found.result.state == "scored", found.result.reason
    assert found.states == ["invalid"] * 2
    assert len(found.conversations) == 6, "three replies a question"


def test_an_answer_that_cannot_be_parsed_is_told_apart(jar_task: Path) -> None:
    direct = play(jar_task, "direct", lambda *_: "Final Answer: rather full", questions="1-2")
    assert direct.states == ["unparsed"] * 2
    assert len(direct.conversations) == 2


def test_the_answer_that_most_attempts_gave_counts(jar_task: Path) -> None:
    replies = iter(["Final Answer: 0.3", "Final Answer: very", "no", "no", "Final Answer: 0.4", "Final Answer: 0.4"])
    found = play(jar_task, "react:action=function,votes=4", lambda *_: next(replies), questions="1-1")
    assert found.states == ["answered"]
    actions = found.actions(0)
    attempts = [(one["attempt"], one.get("before")) for one in actions if "attempt" in one]
    assert attempts == [(1, None), (2, 0.3), (3, None), (4, 0.4)]
    assert actions[-1] == {"answer": 0.4, "before": 0.4}


def test_a_call_made_once_too_often_ends_its_attempt_alone(jar_task: Path) -> None:
    replies = iter([*["Action: level(day=1)"] * 4, "Final Answer: 0.4", "Final Answer: 0.4"])
    found = play(jar_task, "react:action=function,votes=3", lambda *_: next(replies), questions="1-1")
    assert found.states == ["answered"]
    (jar_task.parent / "out").rename(jar_task.parent / "before")
    alone = play(jar_task, "react:action=function", lambda *_: "Action: level(day=1)", questions="1-2")
    assert alone.states == ["repeated"] * 2


def test_blocks_of_code_in_trouble(jar_task: Path) -> None:
    blocks = ["y = x = 1\nlevel(99)", "print(y)", "while True: pass"]
    seen: list[str] = []

    def say(last: str, day: str) -> str:
        seen.append(last)
        return f"Action: ```python\n{blocks[len(seen) - 1]}\n```"

    found = play(jar_task, "react:action=block,block_s=2", say, questions="1-1")
    assert found.states == ["invalid"]
    assert 'File "block.py", line 2' in seen[1]
    assert "Expected a day from 0 to" in seen[1]
    assert "NameError: name 'y' is not defined" in seen[2]
    assert "interface.py" not in seen[1], "where we run it is no matter of the model's"
    assert [one for one in found.actions(0) if "ran" in one] == [{"ran": False}] * 3


def test_a_block_that_plays_on_by_itself_wastes_its_own_questions_alone(jar_task: Path) -> None:
    thief = "Action: ```python\nimport interface\nenv = interface.make()\nenv.reset()\nenv.step({'answer': 0.5})\n```"
    found = play(jar_task, "react:action=block", lambda *_: thief)
    assert found.result.state == "scored", found.result.reason
    assert found.states == ["not_answered", "answered", "invalid"], "of the third, no next one could be begun"
    inside = "Action: ```python\nimport interface\ninterface._made[0].step({'answer': 0.5})\n```"
    (jar_task.parent / "out").rename(jar_task.parent / "before")
    assert play(jar_task, "react:action=block", lambda *_: inside).states == ["answered"] * 3


def test_a_subset_holds_for_blocks_too(jar_task: Path) -> None:
    found = play(
        jar_task, "react:action=block,tools=none", lambda *_: "Action: ```python\nlevel(0)\n```", questions="1-1"
    )
    assert found.states == ["invalid"]
    assert "There is no tool 'level'" in found.conversations[1][-1]["content"]


def test_a_question_that_takes_too_long_is_left(jar_task: Path) -> None:
    def say(last: str, day: str) -> str:
        if int(day) % 2:
            time.sleep(1.0)
        return "Final Answer: 0.5"

    found = play(jar_task, "direct:question_s=0.5", say)
    assert sorted(found.states) in (["answered", "answered", "not_answered"], ["answered", *["not_answered"] * 2])


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("react:colour=red", "no setting 'colour=red'"),
        ("react:action=dance", "action is 'dance'"),
        ("react:votes=many", "whole number"),
        ("direct:tools=none", "no use for tools"),
        ("oneshot:votes=2", "takes no settings"),
        ("react:tools=news", "the suite 'jars' has full, none"),
        ("react:votes=11", "attempted 10 times"),
        ("rag", "retrieves nothing"),
        ("direct:dictionary=true", "no dictionary"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_asked(jar_task: Path, agent: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        openfingym.run(jar_task, agent=agent, model="stand-in/competent", backend="sandbox")


def test_a_name_states_what_is_not_as_usual() -> None:
    assert resolve("react:votes=3,tools=full,action=block").name == "react:action=block,votes=3"
    assert resolve("react:").name == "react"
    with pytest.raises(UsageError, match="answers questions, and 'treasury-forecast' asks none"):
        openfingym.run("treasury-forecast", agent="direct", model="stand-in/competent")
