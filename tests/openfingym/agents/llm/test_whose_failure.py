"""What an endpoint says decides whose failure a rollout was: the agent's, with a score; or nobody's, without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openfingym.agents import resolve, with_sampling
from openfingym.models import Allowance, ModelSpec
from openfingym.models.refusals import Refusal
from openfingym.models.wire import request_message
from openfingym.trajectory.atif import from_atif, to_atif
from tests.openfingym.models.scripted import Json, Scripted, completion, refusal

from .conftest import Play

pytestmark = pytest.mark.sandbox
ROWS: dict[str, dict[str, tuple[int, Any]]] = json.loads(
    (Path(__file__).parents[2] / "models" / "refusals.json").read_text(encoding="utf-8")
)
SIGNATURE = {"google": {"thought_signature": "c2ln"}}
CALL: Json = {
    "id": "functions.run_python:0",
    "type": "function",
    "function": {"name": "run_python", "arguments": json.dumps(json.dumps({"code": "print(6 * 7)"}))},
    "extra_content": SIGNATURE,
}
FIRST: Json = {"content": None, "tool_calls": [CALL], "reasoning_content": "I think."}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    ("kind", "name", "state", "boundary"),
    [
        ("context", "xai, a text", "rejected", "model"),
        ("context", "gemini, in a list", "rejected", "model"),
        ("filter", "deepseek", "rejected", "model"),
        ("settings", "groq, a minute", "error", "model"),
        ("settings", "vllm", "error", "model"),
        ("billing", "deepseek", "error", "model"),
        ("unknown", "words that nobody knows", "error", "model"),
        ("unknown", "gemini's signature", "error", "model"),
    ],
)
def test_a_refusal_after_an_answer(kind: str, name: str, state: str, boundary: str, inside: bool, play: Play) -> None:
    status, body = ROWS[kind][name]
    refused: Any = (status, body)
    if inside:
        stated = (body[0] if isinstance(body, list) else body).get("error", body)
        refused = {"error": {**(stated if isinstance(stated, dict) else {"message": stated}), "code": status}}
    script = lambda _, number: refused if number else completion(FIRST, "tool_calls")  # noqa: E731
    with Scripted(script) as endpoint:
        left = play("react", ModelSpec("m", base_url=endpoint.base_url))
    assert (left.result.state, left.result.boundary, left.result.turns) == (state, boundary, 1)
    assert Refusal(status, body).message[:150] in str(left.result.reason)
    assert ("--reply-tokens" in str(left.result.reason)) == (kind in {"settings", "unknown"})


@pytest.mark.parametrize("reason", ["abort", "insufficient_system_resource", "xyzzy"])
def test_an_answer_that_was_broken_off_is_no_answer(reason: str, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym.models.retrying.LEAST_S", 1e9)  # one attempt
    with Scripted(lambda *_: completion({"content": ""}, reason)) as endpoint:
        left = play("react", ModelSpec("m", base_url=endpoint.base_url))
    assert (left.result.state, left.result.boundary, left.result.turns) == ("error", "model", 0)
    assert f"finish_reason '{reason}'" in str(left.result.reason)


def test_what_came_with_an_answer_goes_back_and_is_recorded(play: Play) -> None:
    def script(body: Json, number: int) -> Any:
        if number == 0:
            return completion(FIRST, "tool_calls")
        sent = next(message for message in body["messages"] if message["role"] == "assistant")
        if sent["tool_calls"][0].get("extra_content") != SIGNATURE or sent.get("reasoning_content") != "I think.":
            return refusal("Function call is missing a thought_signature in functionCall parts.")
        return completion({"content": "I am done."})

    with Scripted(script) as endpoint:
        left = play("react", ModelSpec("m", base_url=endpoint.base_url))
    assert left.result.state == "rejected"  # it submitted nothing
    assert not endpoint.refused
    assert "42" in left.told, "arguments that were encoded twice are played"
    turn = next(turn for turn in left.record.messages if turn.tool_calls)
    assert (turn.reasoning_field, turn.tool_calls[0].fields) == ("reasoning_content", {"extra_content": SIGNATURE})
    assert turn.tool_calls[0].arguments == CALL["function"]["arguments"], "as the model wrote them"
    said = next(message for message in left.record.conversation() if message.tool_calls)
    assert request_message(said) == {"role": "assistant", **FIRST}
    assert from_atif(json.loads(json.dumps(to_atif(left.record)))) == left.record


@pytest.mark.parametrize("append_only", [False, True])
def test_a_name_that_was_mended_is_on_record(append_only: bool, play: Play) -> None:
    mangled = {**CALL, "function": {**CALL["function"], "name": "functions.run_python"}}
    script = lambda _, number: completion({"content": "I am done."} if number else {"tool_calls": [mangled]})  # noqa: E731
    agent = with_sampling(resolve("react"), append_only=append_only)
    with Scripted(script) as endpoint:
        left = play(agent, ModelSpec("m", base_url=endpoint.base_url))
    (call,) = next(turn.tool_calls for turn in left.record.messages if turn.tool_calls)
    assert (call.name, call.wrote, call.failed) == ("run_python", "functions.run_python", False)
    sent = next(part for part in endpoint.bodies[1]["messages"] if part["role"] == "assistant")["tool_calls"][0]
    assert sent["function"]["name"] == ("functions.run_python" if append_only else "run_python")
    assert sent["id"] == CALL["id"]
    assert left.record.rewritten == (0 if append_only else 1)
    assert from_atif(json.loads(json.dumps(to_atif(left.record)))) == left.record


@pytest.mark.parametrize("usage", [{}, None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
def test_a_limit_on_tokens_holds_where_nobody_counts(usage: Json | None, play: Play) -> None:
    call = {**CALL, "function": {**CALL["function"], "arguments": json.dumps({"code": f"print(1)  # {'x' * 8000}"})}}
    with Scripted(lambda *_: completion({"tool_calls": [call]}) | {"usage": usage}) as endpoint:
        left = play("react", ModelSpec("m", base_url=endpoint.base_url), allowance=Allowance(tokens=9000, useless=99))
    assert (left.result.state, left.result.ended_by) == ("rejected", "tokens")
    assert left.result.cost_usd is None
