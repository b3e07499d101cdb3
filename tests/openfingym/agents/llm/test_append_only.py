"""Conversations that only ever grow: whatever the model answers, each request begins with the one before, and its
answer as it was given."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.agents import Agent, resolve, with_sampling
from openfingym.agents.llm import React
from openfingym.agents.llm.react import FORGETS, SYSTEM_STEPS
from openfingym.models import Allowance, ModelSpec
from openfingym.models.driven import DrivenModel
from openfingym.rollouts.hooks import RolloutHooks
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.spec import agent_digest
from tests.openfingym.models.scripted import Json, Scripted, completion, refusal

from .conftest import TASKS, Play

pytestmark = pytest.mark.sandbox
GROWING = Agent("react", "model", acts=React())
LIMITS = Allowance(turns=12, useless=50)


def call(name: str, arguments: str, number: int = 0) -> Json:
    return {"id": f"call{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


TEXTS = st.sampled_from(
    [
        "",
        " ",
        "I am done.",
        "<think>Hm.</think>\n\nSo it is.",
        "<think>I never come to an end",
        "Look:\n```python\nprint(1)\n```",
        'I step.\n<call tool="step">\n<action>\nnull\n</action>\n</call>',
        '<call tool="start_episode">\n</call>',
        '<call tool="fly">\nup\n</call> and away',
        'Now <tool_call>\n{"name": "start_episode", "arguments": {"practice": false}}\n</tool_call>',
        '{"name": "step", "arguments": {"action": null}}',
    ]
)
CALLS = st.lists(
    st.builds(
        call,
        st.sampled_from(["start_episode", "step", "fly", "run python", "x" * 99, ""]),
        st.sampled_from(
            ["{}", "", " {} ", "{", "[]", "null", '{"action": null}', '{"action": null, "wait": 3}', "x\ny"]
        ),
    ),
    max_size=18,
)


@st.composite
def answers(draw: st.DrawFn) -> Json:
    """A message as it goes over the wire, and perhaps why it ended there."""
    content, calls = draw(TEXTS), draw(st.one_of(st.just([]), CALLS))
    message: Json = {"role": "assistant", "content": (content or None) if calls else content}
    if calls:
        message["tool_calls"] = [
            {**made, "id": f"{draw(st.uuids()).hex[:9]}_{number}"} for number, made in enumerate(calls)
        ]
    if draw(st.booleans()) and "think>" not in content:
        message["reasoning_content"] = draw(st.sampled_from(["Hm.", "Let me\nsee."]))
    if draw(st.integers(0, 5)) == 0:
        message["finish_reason"] = "length"
    return message


def sent_back(answer: Json) -> Json:
    return {key: value for key, value in answer.items() if key != "finish_reason"}


def wire(message: Json) -> str:
    return json.dumps(message, sort_keys=True)


@settings(max_examples=25)
@given(said=st.lists(answers(), min_size=1, max_size=10), text_tools=st.sampled_from([None, True]))
def test_every_request_begins_with_the_one_before_and_its_answer(
    said: list[Json], text_tools: bool | None, launcher_of_all: Launcher
) -> None:
    package = next(known for known in launcher_of_all.packages if known.manifest.name == TASKS["trading"])
    agent = with_sampling(GROWING, text_tools=text_tools, append_only=True)
    driven, asked, conversations = DrivenModel(), [], []
    with ThreadPoolExecutor(1) as pool, contextlib.closing(driven):
        hooks = RolloutHooks(opened=conversations.append)
        running = pool.submit(launcher_of_all.run, package, agent, model=driven, allowance=LIMITS, hooks=hooks)
        running.add_done_callback(lambda _: driven.close())
        request = driven.request_sync(30)
        for answer in said:
            assert request is not None
            asked.append((request.messages, request.tools, answer))
            request.answer(answer)
            request = driven.request_sync(30)
            if request is None:  # its turns were used up
                break
            messages, tools, _ = asked[-1]
            end = len(messages)
            assert json.dumps(request.messages[:end]) == json.dumps(messages)
            assert wire(request.messages[end]) == wire(sent_back(answer))
            assert request.tools == tools
            assert all(message["role"] in {"tool", "user"} for message in request.messages[end + 1 :])
        driven.close()
        result = running.result(30)
    assert result.state in {"rejected", "scored"}, result.reason
    assert conversations[0].asker.rewritten == 0


@pytest.fixture(scope="module")
def launcher_of_all(sandboxed: Launcher) -> Launcher:
    return sandboxed


def grew(bodies: Sequence[Json], answered: Sequence[Json]) -> bool:
    """Whether bodies of requests only ever grew, each by the answer and what follows it."""
    return all(
        after["messages"][: len(before["messages"])] == before["messages"]
        and after["messages"][len(before["messages"])] == answer
        and after.get("tools") == before.get("tools")
        for (before, after), answer in zip(pairwise(bodies), answered, strict=False)
    )


ODD: list[Json] = [
    {"role": "assistant", "content": ""},
    {"role": "assistant", "content": None, "tool_calls": [call("run python", "{", 1)]},
    {"role": "assistant", "content": "<think>Hm.</think>I look.", "tool_calls": [call("read_file", '{"path":"x"}', 2)]},
    {"role": "assistant", "content": "So:", "reasoning_content": "Hm.", "tool_calls": [call("fly", " {} ", 3)]},
    {"role": "assistant", "content": '<tool_call>{"name": "read_file", "arguments": {"path": "y"}}</tool_call>'},
    {"role": "assistant", "content": "I am done."},
]


def scripted(answers: Sequence[Json]) -> Scripted:
    return Scripted(lambda _, number: completion(answers[min(number, len(answers) - 1)]))


@pytest.mark.parametrize("append_only", [True, False])
def test_over_the_wire_of_an_endpoint(append_only: bool, play: Play) -> None:
    with scripted(ODD) as server:
        agent = with_sampling(resolve("react"), append_only=append_only)
        left = play(agent, ModelSpec("m", server.base_url, api_key="k"), allowance=Allowance(turns=9, useless=99))
    assert (left.result.ended_by, len(server.bodies)) == ("turns", 9)
    assert grew(server.bodies, [*ODD, *[ODD[-1]] * 9]) is append_only
    # As it is by default: the empty answer, both odd calls, and the two thoughts.
    assert left.record.rewritten == (0 if append_only else 5)
    assert left.config["sampling"]["append_only"] is append_only  # type: ignore[index]
    roles = [message["role"] for message in server.bodies[-1]["messages"]]
    if append_only:
        assert roles[:12] == [
            *("system", "user"),
            *("assistant", "user"),  # the empty one
            *("assistant", "tool"),
            *("assistant", "tool"),
            *("assistant", "tool"),
            *("assistant", "user"),  # the result of a call in the text
        ]


def test_with_calls_as_text(play: Play) -> None:
    said = [
        {"role": "assistant", "content": 'Hm. <call tool="read_file">\n<path>\nx\n</path>\n</call> Go on.'},
        {"role": "assistant", "content": "<think>Then?</think>" + '<call tool="fly">\n</call>' * 2},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "I am done."},
    ]
    agent = with_sampling(resolve("react"), append_only=True, text_tools=True)
    with scripted(said) as server:
        left = play(agent, ModelSpec("m", server.base_url, api_key="k"), allowance=Allowance(turns=6, useless=99))
    assert len(server.bodies) == 6
    assert grew(server.bodies, [*said, said[-1], said[-1]])
    assert left.record.rewritten == 0
    assert [len(turn.tool_calls) for turn in left.record.messages if turn.role == "assistant"][:2] == [1, 2]
    results = server.bodies[2]["messages"][-1]["content"]
    assert results.count('<result tool="fly">\nThere is no tool') == 2


def test_a_sequential_task_is_shown_whole(play: Play) -> None:
    calls = [call("step", '{"action": null}', number) for number in range(20)]
    said = [{"role": "assistant", "content": None, "tool_calls": [made]} for made in calls]
    for append_only in (True, False):
        with scripted(said) as server:
            agent = with_sampling(resolve("react"), append_only=append_only)
            limits = Allowance(turns=20, useless=99)
            left = play(agent, ModelSpec("m", server.base_url, api_key="k"), kind="trading", allowance=limits)
        shown = [sum(message["role"] == "assistant" for message in body["messages"]) for body in server.bodies]
        told = server.bodies[0]["messages"][0]["content"]
        if append_only:
            assert (shown, left.record.rewritten) == (list(range(20)), 0)
            assert "is not shown again" not in told
        else:
            assert (max(shown), left.record.rewritten) == (12, 7)
            assert "your latest 12 answers" in told


def test_an_endpoint_that_takes_no_empty_answer_back_ends_the_rollout(play: Play) -> None:
    def strict(body: Json, number: int) -> Any:
        if any(message["role"] == "assistant" and not message.get("content") for message in body["messages"]):
            return refusal("messages: text content must be non-empty")
        return completion({"role": "assistant", "content": ""})

    for append_only in (True, False):
        with Scripted(strict) as server:
            agent = with_sampling(resolve("react"), append_only=append_only)
            left = play(agent, ModelSpec("m", server.base_url, api_key="k"))
        assert (left.result.state, left.result.ended_by) == ("rejected", "silent")
        assert ("does not take back what it answered" in str(left.result.reason)) is append_only
        assert len(server.bodies) == (1 if append_only else 3)


def test_an_endpoint_that_takes_no_thoughts_back_is_not_said_to_have_them(play: Play) -> None:
    def strict(body: Json, number: int) -> Any:
        if any("reasoning_content" in message for message in body["messages"]):
            return refusal("reasoning_content is not supported in input messages", param="reasoning_content")
        return completion({"role": "assistant", "content": "I am done.", "reasoning_content": "Hm."})

    with Scripted(strict) as server:
        agent = with_sampling(resolve("react"), append_only=True)
        left = play(agent, ModelSpec("m", server.base_url, api_key="k"))
    assert (len(server.refused), len(server.bodies)) == (1, 3)
    assert left.record.rewritten == 2


def test_rollouts_of_before_keep_their_names() -> None:
    before = agent_digest(resolve("react"))
    assert before == agent_digest(with_sampling(resolve("react"), append_only=False))
    assert before != agent_digest(with_sampling(resolve("react"), append_only=True))
    assert FORGETS in SYSTEM_STEPS, "a conversation that grows is not told that it forgets"
