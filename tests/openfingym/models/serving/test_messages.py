"""Requests of Anthropic's messages, and answers in the form that its documentation states."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openfingym.models import Completion, Message, Tool, ToolCall, Usage
from openfingym.models.serving import RefusedRequestError, ServedRequest, messages
from openfingym.models.wire import request_body

HELLO = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}]}


def read(**fields: object) -> ServedRequest:
    return messages.read(json.dumps(HELLO | fields).encode())


def said(role: str, *blocks: object) -> dict[str, object]:
    return {"messages": [{"role": role, "content": list(blocks)}]}


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
        {"tools": [{"type": "bash_20250124", "name": "bash"}]},
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
        {"tools": [{"name": "x", "input_schema": {"$ref": "http://evil.example"}}]},
        {"mcp_servers": [{"type": "url", "url": "https://evil.example"}]},
        {"container": "c1"},
        {"file_ids": ["f"]},
        said("user", {"type": "image", "source": {"type": "url", "url": "https://evil.example"}}),
        said("user", {"type": "image", "source": {"type": "base64", "data": ""}}),
        said("user", {"type": "image", "source": {"type": "file", "file_id": "f"}}),
        said("user", {"type": "document", "source": {"type": "url", "url": "https://evil.example"}}),
        said("user", {"type": "container_upload", "file_id": "f"}),
        said("user", {"type": "search_result", "source": "https://evil.example"}),
        said("user", {"type": "tool_result", "tool_use_id": "1", "content": [
            {"type": "image", "source": {"type": "url", "url": "https://evil.example"}}]}),
        said("user", {"type": "tool_use", "id": "1", "name": "x", "input": {}}),
        said("user", {"type": "thinking", "thinking": "x"}),
        said("assistant", {"type": "tool_result", "tool_use_id": "1", "content": "x"}),
        said("assistant", {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}}),
        said("assistant", {"type": "tool_use", "id": "1", "name": "x", "input": "text"}),
        said("assistant", {"type": "tool_use", "id": "1", "name": "x"}, {"type": "tool_use", "id": "1", "name": "x"}),
        {"system": [{"type": "image", "source": {"type": "url", "url": "https://evil.example"}}]},
        said("system", {"type": "image", "source": {"type": "url", "url": "https://evil.example"}}),
        said("system", {"type": "tool_result", "tool_use_id": "1", "content": "x"}),
        said("system", {"type": "thinking", "thinking": "x"}),
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": {"user": 1}, "content": "x"}]},
    ],
)  # fmt: skip
def test_what_leads_out_of_the_rollout_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(RefusedRequestError) as refused:
        read(**fields)
    assert refused.value.status == 400


def test_a_conversation_is_read_and_nothing_else_goes_on() -> None:
    canary = "SMUGGLED"
    found = read(
        system=[{"type": "text", "text": "Be brief. "}, {"type": "text", "text": "Be kind.", "cache_control": canary}],
        metadata={"user_id": canary}, thinking={"type": canary}, betas=[canary], context_management={"edits": [canary]},
        service_tier=canary, top_k=3, mcp_servers=[],
        messages=[
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": canary, "signature": canary},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "1", "name": "look", "input": {"at": 1}, "cache_control": canary},
                {"type": "tool_use", "id": "2", "name": "look", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "seen", "is_error": False},
                {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "seen too"}]},
                {"type": "text", "text": "Go on."}]},
        ],
        tools=[{"name": "look", "description": "Look.", "input_schema": {"type": "object"}, "cache_control": canary}],
        stop_sequences=["END"], temperature=1, stream=True,
    )  # fmt: skip
    assert found.messages == (
        Message("system", "Be brief. Be kind."),
        Message("user", "Look."),
        Message("assistant", "I look.", (ToolCall("1", "look", '{"at": 1}'), ToolCall("2", "look", "{}"))),
        Message("tool", "seen", tool_call_id="1"),
        Message("tool", "seen too", tool_call_id="2"),
        Message("user", "Go on."),
    )
    assert found.tools == (Tool("look", "Look.", {"type": "object"}),)
    assert (found.max_tokens, found.stop, found.temperature, found.stream) == (100, ("END",), 1.0, True)
    assert canary not in json.dumps(request_body("theirs", found.messages, tools=found.tools))
    assert {"metadata", "thinking", "betas", "context_management", "top_k"} <= set(found.left_out)


@pytest.mark.parametrize(("choice", "offered", "left_out"), [
    ({"type": "auto"}, 1, ()), ({"type": "none"}, 0, ()), ({"type": "any"}, 1, ("tool_choice",)),
    ({"type": "tool", "name": "look"}, 1, ("tool_choice",)), ({"type": ["auto"]}, 1, ("tool_choice",)),
])  # fmt: skip
def test_a_choice_of_tools(choice: object, offered: int, left_out: tuple[str, ...]) -> None:
    found = read(tools=[{"type": "custom", "name": "look", "input_schema": {"type": "object"}}], tool_choice=choice)
    assert (len(found.tools), found.left_out) == (offered, left_out)


def test_an_empty_message_of_results_is_no_message_of_the_users() -> None:
    assert [message.role for message in read(**said("user")).messages] == ["user"]
    results = said("user", {"type": "tool_result", "tool_use_id": "1"})
    assert [(message.role, message.content) for message in read(**results).messages] == [("tool", "")]


def test_instructions_in_the_midst_of_a_conversation_stand_where_they_are() -> None:
    said = [
        {"role": "user", "content": "Hello"},
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "assistant", "content": "Hi."},
        {"role": "system", "content": "Be kind."},
    ]
    assert read(messages=said, system="You act.").messages == (
        Message("system", "You act."),
        Message("user", "Hello"),
        Message("system", "Be brief."),
        Message("assistant", "Hi."),
        Message("system", "Be kind."),
    )


ANSWER = Completion(
    Message("assistant", "I look.", (ToolCall("1", "look", '{"at": 1}'), ToolCall("2", "look", "no JSON"))),
    "tool_calls",
    Usage(prompt=10, completion=4, cached=3),
    "exact-name",
)
BLOCKS = [
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "1", "name": "look", "input": {"at": 1}},
    {"type": "tool_use", "id": "2", "name": "look", "input": {"unreadable": "no JSON"}},
]
USAGE = {"input_tokens": 7, "output_tokens": 4, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0}


def test_a_whole_answer() -> None:
    answer = messages.write(ANSWER, read(), 4)
    assert (answer.status, answer.content_type) == (200, "application/json")
    assert json.loads(answer.body) == {
        "id": "msg_4", "type": "message", "role": "assistant", "model": "m", "content": BLOCKS,
        "stop_reason": "tool_use", "stop_sequence": None, "usage": USAGE,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("refusal", "refusal"), ("content_filter", "refusal")],
)
def test_why_an_answer_ended(finish: Any, reason: str) -> None:
    document = json.loads(messages.write(Completion(Message("assistant"), finish, Usage(), "m"), read(), 1).body)
    assert (document["stop_reason"], document["content"]) == (reason, [{"type": "text", "text": ""}])


def test_a_stream_builds_up_to_the_same_answer() -> None:
    answer = messages.write(ANSWER, read(stream=True), 4)
    assert answer.content_type == "text/event-stream"
    built: dict[str, Any] = {}
    for event in answer.body.decode().split("\n\n")[:-1]:
        name, _, data = event.partition("\n")
        document = json.loads(data.removeprefix("data: "))
        assert name == f"event: {document['type']}"
        if document["type"] == "message_start":
            built = document["message"]
        elif document["type"] == "content_block_start":
            assert document["index"] == len(built["content"])
            built["content"].append(document["content_block"])
        elif document["type"] == "content_block_delta":
            block, delta = built["content"][document["index"]], document["delta"]
            if delta["type"] == "text_delta":
                block["text"] += delta["text"]
            else:
                assert block["input"] == {}
                block["input"] = json.loads(delta["partial_json"])
        elif document["type"] == "message_delta":
            built |= document["delta"]
            built["usage"] = document["usage"]
    assert built == json.loads(messages.write(ANSWER, read(), 4).body)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (402, "billing_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (503, "api_error"),
    ],
)
def test_an_error(status: int, kind: str) -> None:
    document = json.loads(messages.problem("It says so.", status=status, code="some-code").body)
    assert document == {"type": "error", "error": {"type": kind, "message": "It says so. (some-code)"}}
