"""Actions as models write them."""

import pytest

from openfingym.agents.llm.actions import Action, react_action, tagged_action
from openfingym_suites.mirai.answers import parsed_set
from openfingym_suites.mirai.calls import parsed_call


@pytest.mark.parametrize(
    "text",
    [
        "Thought: count first.\n\nAction: count_events()",
        "**Thought:** count first.\n**Action:** count_events()\n**Observation:** 33\nAction: Final Answer: {}",
        'Thought: count.\n"Action": count_events()\n',
        "count_events()",
        "Action:\ncount_events()\nAction:\nget_events()",
    ],
)
def test_calls(text):
    action = react_action(text)
    assert action is not None
    assert action.kind == "call"
    assert parsed_call(action.text) == ("count_events", {})


def test_code_blocks():
    text = "Thought: look.\nAction:\n``` python\nx = count_events()\nprint(x)\n```\nObservation: 5"
    assert react_action(text) == Action("code", "x = count_events()\nprint(x)")
    fenced = react_action("Action: ```python\ncount_events()\n```")
    assert fenced == Action("code", "count_events()")
    assert parsed_call(fenced.text) == ("count_events", {})


@pytest.mark.parametrize(
    "text",
    [
        'Thought: done.\nAction: Final Answer: {"04": ["042"]}',
        'Thought: done.\n\n**Final Answer:** {"04": ["042"]}',
        'Action: **Final Answer**: ```json\n{"04": ["042"]}\n```',
    ],
)
def test_answers(text):
    action = react_action(text)
    assert action is not None
    assert action.kind == "answer"
    assert parsed_set(action.text).codes == {"04": ("042",)}


@pytest.mark.parametrize("text", ["", "I wonder.", "Action:", "Action: \nObservation: 5", "Action: ```python\n```"])
def test_no_action(text):
    assert react_action(text) is None


def test_an_answer_behind_an_observation_that_was_made_up_does_not_count():
    made_up = 'Action: count_events()\nObservation: 33\nThought: so.\nAction: Final Answer: {"19": ["190"]}'
    assert react_action(made_up) == Action("call", "count_events()")


def test_tags():
    text = "<think>First.\n<function_call>\ncount_events()\n</function_call>\n<observation>3</observation>"
    text += "<answer>{}</answer>"
    assert tagged_action(text) == Action("call", "count_events()")
    assert tagged_action("<function_call>count_events()") == Action("call", "count_events()")
    answer = tagged_action('so </think>\n<answer>\n{"04": ["042"]}\n</answer>')
    assert answer is not None
    assert answer.kind == "answer"
    assert parsed_set(answer.text).codes == {"04": ("042",)}
    for nothing in ("", "<think>", "<answer></answer>", "function_call"):
        assert tagged_action(nothing) is None
