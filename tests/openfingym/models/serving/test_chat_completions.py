"""Requests of chat completions: what is read of them, what is refused, and answers that OpenAI's own client reads."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.models import Completion, Message, Tool, ToolCall, Usage
from openfingym.models.serving import RefusedRequestError, ServedAnswer, ServedRequest, chat_completions, messages
from openfingym.models.wire import request_body

HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def read(**fields: object) -> ServedRequest:
    return chat_completions.read(json.dumps(HELLO | fields).encode())


def say(*parts: object, role: str = "user", **more: object) -> ServedRequest:
    return read(messages=[{"role": role, "content": list(parts), **more}])


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "web_search_preview", "search_context_size": "high"}]},
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
        {"tools": [{"type": "mcp", "server_url": "https://evil.example"}]},
        {"tools": [{"type": "custom", "custom": {"name": "x"}}]},
        {"tools": [{"function": {"name": "x"}}]},
        {"store": True},
        {"previous_response_id": "resp_1"},
        {"web_search_options": {}},
        {"file_ids": ["file-1"]},
        {"attachments": []},
        {"audio": {"voice": "x"}},
        {"functions": []},
        {"function_call": "auto"},
        {"prompt": {"id": "pmpt_1"}},
        {"n": 2},
        {"n": 0},
        {"messages": [{"role": "function", "content": "x", "name": "y"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://e.example"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png,"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": ""}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "TEXT", "text": "x"}]}]},
        {"messages": [{"role": "user", "content": [{"type": ["text"], "text": "x"}]}]},
        {"messages": [{"role": "tool", "tool_call_id": "1", "content": [{"type": "image_url", "text": "x"}]}]},
        {"messages": [{"role": "assistant", "audio": {"id": "a"}}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "type": "custom", "custom": {}}]}]},
        {"tools": [{"type": "function", "function": {"name": "x", "parameters": {"$ref": "https://evil.example/s"}}}]},
        {"tools": [{"type": "function", "function": {"name": "x", "parameters": {
            "properties": {"a": {"anyOf": [{"$ref": "file:///etc/passwd"}]}}}}}]},
        {"tools": [{"type": "function", "function": {"name": "x", "parameters": {"$dynamicRef": "//evil.example"}}}]},
    ],
)  # fmt: skip
def test_what_leads_out_of_the_rollout_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(RefusedRequestError) as refused:
        read(**fields)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"null", b"{", b'{"model": "m"}', b"\xff", b"[" * 100_000, b'{"a":' * 100_000,
        json.dumps({"messages": HELLO["messages"]}).encode(),
        json.dumps(HELLO | {"messages": []}).encode(),
        json.dumps(HELLO | {"messages": ["x"]}).encode(),
        json.dumps(HELLO | {"messages": [{"role": ["user"], "content": "x"}]}).encode(),
        json.dumps(HELLO | {"messages": [{"role": "user", "content": 5}]}).encode(),
        json.dumps(HELLO | {"messages": [{"role": "tool", "content": "x"}]}).encode(),
        json.dumps(HELLO | {"model": 5}).encode(),
        json.dumps(HELLO | {"temperature": "1"}).encode(),
        json.dumps(HELLO | {"temperature": True}).encode(),
        json.dumps(HELLO | {"temperature": -0.1}).encode(),
        json.dumps(HELLO | {"temperature": 2.1}).encode(),
        json.dumps(HELLO | {"max_tokens": 0}).encode(),
        json.dumps(HELLO | {"max_tokens": 1.5}).encode(),
        json.dumps(HELLO | {"max_tokens": True}).encode(),
        json.dumps(HELLO | {"max_tokens": 10**9}).encode(),
        json.dumps(HELLO | {"stream": "yes"}).encode(),
        json.dumps(HELLO | {"stop": [5], "stop_sequences": [5]}).encode(),
        json.dumps(HELLO | {"stop": ["x"] * 17, "stop_sequences": ["x"] * 17}).encode(),
        json.dumps(HELLO | {"tools": [TOOL, TOOL]}).encode(),
        json.dumps(HELLO | {"tools": [{"type": "function", "function": {"name": "a b"}}]}).encode(),
        json.dumps(HELLO | {"tools": [{"type": "function", "function": {"name": "x" * 129}}]}).encode(),
        b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
        b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 1' + b"0" * 5000 + b"}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [chat_completions, messages])
def test_what_is_malformed_is_refused(body: bytes, form: Any) -> None:
    with pytest.raises(RefusedRequestError):
        form.read(body)


def test_two_calls_of_one_id_are_refused() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    with pytest.raises(RefusedRequestError, match="same identifier"):
        read(messages=[{"role": "assistant", "content": None, "tool_calls": [call, call]}])


def test_nothing_but_messages_tools_and_options_goes_on() -> None:
    canary = "SMUGGLED"
    said = read(
        metadata={"x": canary}, user=canary, service_tier=canary, extra_headers={"X": canary}, logit_bias={canary: 1},
        safety_identifier=canary, prompt_cache_key=canary, seed=7, top_p=0.5, response_format={"type": canary},
        parallel_tool_calls=False, store=False, reasoning_effort="high", unheard_of={"url": canary},
        messages=[
            {"role": "developer", "content": "Be brief.", "name": canary},
            {"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": {"x": canary}}]},
            {"role": "assistant", "content": None, "annotations": [canary], "id": canary, "tool_calls": [
                {"id": "1", "type": "function", "index": canary,
                 "function": {"name": "look", "arguments": "{}", "x": canary}}]},
            {"role": "tool", "tool_call_id": "1", "content": "seen", "url": canary},
        ],
        tools=[{"type": "function", "server": canary, "function": {"name": "look", "strict": True, "url": canary,
            "description": "Look.", "parameters": {"$schema": f"https://{canary}", "$id": canary, "type": "object",
            "properties": {"id": {"type": "string"}, "part": {"$ref": "#/$defs/part"}}}}}],
        temperature=0.5, max_completion_tokens=9, stop="END",
    )  # fmt: skip
    body = request_body("theirs", said.messages, tools=said.tools, max_tokens=said.max_tokens, stop=said.stop)
    assert canary not in json.dumps(body)
    assert body.keys() == {"model", "messages", "tools", "max_tokens", "stop"}
    assert [message.role for message in said.messages] == ["system", "user", "assistant", "tool"]
    properties = {"id": {"type": "string"}, "part": {"$ref": "#/$defs/part"}}
    assert said.tools == (Tool("look", "Look.", {"type": "object", "properties": properties}),)
    assert (said.temperature, said.max_tokens, said.stop, said.stream) == (0.5, 9, ("END",), False)
    assert {"metadata", "user", "seed", "top_p", "unheard_of", "response_format", "store"} <= set(said.left_out)
    assert not {"model", "messages", "tools", "temperature"} & set(said.left_out)


@pytest.mark.parametrize(("choice", "offered", "left_out"), [
    (None, 1, ()), ("auto", 1, ()), ("none", 0, ()), ("required", 1, ("tool_choice",)),
    ({"type": "function", "function": {"name": "look"}}, 1, ("tool_choice",)),
])  # fmt: skip
def test_a_choice_of_tools(choice: object, offered: int, left_out: tuple[str, ...]) -> None:
    said = read(tools=[TOOL], tool_choice=choice)
    assert (len(said.tools), said.left_out) == (offered, left_out)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(sorted(chat_completions.USED | chat_completions.REFUSED | messages.USED | messages.REFUSED))
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image_url", "tool_use", "tool_result", "thinking", "document"]) | JSON},
    optional=dict.fromkeys(("text", "id", "name", "input", "content", "tool_use_id", "source", "image_url"), JSON),
)
MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["system", "user", "assistant", "tool"]) | JSON,
        "content": st.lists(PART, max_size=3) | JSON,
    },
    optional={"tool_calls": JSON, "tool_call_id": JSON},
)


@given(st.dictionaries(KEYS, JSON, max_size=4), st.lists(MESSAGE, max_size=3) | JSON)
def test_whatever_is_sent_is_read_or_refused(fields: dict[str, object], said: object) -> None:
    for form in (chat_completions, messages):
        try:
            found = form.read(json.dumps(HELLO | fields | {"messages": said}).encode())
        except RefusedRequestError:
            continue
        assert all(isinstance(message.content, str) for message in found.messages)
        json.dumps(request_body("m", found.messages, tools=found.tools), allow_nan=True).encode()


# Answers, as OpenAI's own client reads them.
CALLS = (ToolCall("a", "look", '{"at": 1}'), ToolCall("b", "look", "not JSON"))
ANSWERS = [
    Completion(Message("assistant", "Hello, \u00e9!"), "stop", Usage(7, 5, 3, 1), "exact-name"),
    Completion(Message("assistant", "", CALLS), "tool_calls", Usage(7, 5), "exact-name"),
    Completion(Message("assistant", "Cut", reasoning="Hm."), "length", Usage(), "exact-name"),
    Completion(Message("assistant", "I will not."), "refusal", Usage(), "exact-name"),
]


def client(answer: ServedAnswer) -> openai.OpenAI:
    served = httpx.Response(answer.status, content=answer.body, headers={"content-type": answer.content_type})
    transport = httpx.MockTransport(lambda _request: served)
    return openai.OpenAI(
        base_url="http://x/v1", api_key="none", max_retries=0, http_client=httpx.Client(transport=transport)
    )


@pytest.mark.parametrize("completion", ANSWERS)
def test_its_client_reads_a_whole_answer(completion: Completion) -> None:
    given = chat_completions.write(completion, read(), 3)
    answer = client(given).chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    choice, said = answer.choices[0], completion.message
    assert choice.index == 0
    refused = completion.finish_reason == "refusal"
    assert (answer.id, answer.model) == ("chatcmpl-3", "m")
    assert choice.finish_reason == ("stop" if refused else completion.finish_reason)
    assert (choice.message.refusal if refused else choice.message.content) == said.content
    assert [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()] == [
        (call.id, call.name, call.arguments) for call in said.tool_calls
    ]
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (
        completion.usage.prompt,
        completion.usage.completion,
    )
    assert answer.usage.total_tokens == completion.usage.total
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == completion.usage.cached


@pytest.mark.parametrize("usage", [True, False])
@pytest.mark.parametrize("completion", ANSWERS)
def test_its_client_reads_a_stream(completion: Completion, usage: bool) -> None:
    request = read(stream=True, stream_options={"include_usage": usage})
    stream = client(chat_completions.write(completion, request, 1)).chat.completions.create(
        model="m", messages=[{"role": "user", "content": "x"}], stream=True
    )
    chunks = list(stream)
    deltas = [choice for chunk in chunks for choice in chunk.choices]
    assert {choice.index for choice in deltas} == {0}
    text = "".join(choice.delta.content or choice.delta.refusal or "" for choice in deltas)
    calls = [call for choice in deltas for call in choice.delta.tool_calls or ()]
    assert text == completion.message.content
    assert [call.index for call in calls] == list(range(len(completion.message.tool_calls)))
    assert [call.function.arguments for call in calls if call.function] == [
        call.arguments for call in completion.message.tool_calls
    ]
    assert [choice.finish_reason for choice in deltas] == [
        None,
        "stop" if completion.finish_reason == "refusal" else completion.finish_reason,
    ]
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == ([completion.usage.total] if usage else [])


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (503, openai.InternalServerError),
    ],
)
def test_its_client_reads_an_error(status: int, error: type[openai.APIStatusError]) -> None:
    given = chat_completions.problem("It says so.", status=status, code="some-code", retry_after_s=2)
    assert given.retry_after_s == 2
    with pytest.raises(error, match="It says so") as raised:
        client(given).chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert raised.value.code == "some-code"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (402, "insufficient_quota"), (404, "invalid_request_error"),
     (429, "rate_limit_error"), (500, "server_error"), (503, "server_error")],
)  # fmt: skip
def test_kinds_of_errors(status: int, kind: str) -> None:
    document = json.loads(chat_completions.problem("It says so.", status=status, code="some-code").body)
    assert document == {"error": {"message": "It says so.", "type": kind, "param": None, "code": "some-code"}}


def test_thoughts_are_told_where_there_are_any() -> None:
    for completion, thought in ((ANSWERS[2], "Hm."), (ANSWERS[0], None)):
        document = json.loads(chat_completions.write(completion, read(), 1).body)
        assert document["choices"][0]["message"].get("reasoning_content") == thought


@pytest.mark.parametrize("value", [0, 2, 0.0, 2.0])
def test_the_ends_of_the_range_of_temperatures(value: float) -> None:
    assert read(temperature=value).temperature == value


def test_its_client_lists_the_one_model() -> None:
    assert [model.id for model in client(chat_completions.models("my/model")).models.list()] == ["my/model"]
