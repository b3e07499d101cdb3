"""The deep-research loop: four phases, of which the second and the third may call, and a draft that is no answer."""

import json
import re

import pytest

import openfingym
from openfingym.agents import resolve, without_tools
from openfingym.errors import UsageError
from openfingym.models import from_function


def call(tool, **arguments):
    return {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}],
    }


def played(task, say, agent="deep-research"):
    """The phases of every conversation, and the actions that the verifier took."""
    phases = []

    def model(messages, tools):
        asked = next(message["content"] for message in messages if message["role"] == "user")
        day = int(re.search(r"day (\d+)", asked)[1])
        last = next(message["content"] for message in reversed(messages) if message["role"] == "user")
        phase = next(name for name, sign in SIGNS.items() if sign in last)
        names = [tool["function"]["name"] for tool in tools or ()]
        phases.append((phase, names))
        return say(phase, day, messages[-1])

    out = task.parent / "out"
    result = openfingym.run(
        task, agent=agent, model=from_function("scripted", model), backend="sandbox", questions="1-2", out=out
    )
    (run,) = (path.parent for path in out.rglob("result.json"))
    actions = [json.loads(line)["action"] for line in (run / "actions.jsonl").read_text().splitlines()]
    return result, phases, actions


SIGNS = {
    "plan": "answer with a plan",
    "look": "Carry the plan out",
    "check": "Now doubt it",
    "answer": "Name the source",
}


def test_a_draft_is_checked_before_it_is_given(jar_task):
    def say(phase, day, last):
        if phase == "plan":
            return {"role": "assistant", "content": "Look at the day before."}
        if phase == "answer":
            return {"role": "assistant", "content": f"level of day {day - 1}\nFinal Answer: 0.5"}
        if phase == "look" and last["role"] != "tool":
            return call("level", day=day - 1)
        return call("answer", answer="0.1")

    result, phases, actions = played(jar_task, say)
    assert result.state == "scored"
    assert [phase for phase, _ in phases[:4]] == ["plan", "look", "check", "answer"]
    offered = dict(phases)
    assert offered["plan"] == offered["answer"] == []
    assert offered["look"] == offered["check"] == ["level", "answer"]
    assert [action for action in actions if "answer" in action] == [{"answer": "0.5"}] * 2, "no draft was given"
    assert [action["tool"] for action in actions if "tool" in action] == ["level"] * 2


def test_without_tools_it_answers_from_its_plan(jar_task):
    _, phases, actions = played(
        jar_task, lambda *_: {"role": "assistant", "content": "Final Answer: 0.5"}, "deep-research:tools=none"
    )
    assert all("level" not in names for _, names in phases)
    assert actions == [{"answer": "0.5"}] * 2


def test_a_model_that_never_answers_comes_to_an_end(jar_task):
    result, _, actions = played(jar_task, lambda *_: {"role": "assistant", "content": "Who knows."})
    assert result.state == "scored"
    assert all("tool" not in action for action in actions)


def test_no_tools_is_a_setting_of_those_that_have_tools():
    assert without_tools("react") == "react:tools=none"
    assert without_tools("react:action=function,tools=search") == "react:action=function,tools=none"
    assert resolve(without_tools("deep-research")).name == "deep-research:tools=none"
    with pytest.raises(UsageError, match="react and deep-research"):
        without_tools("naive")
