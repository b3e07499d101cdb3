"""Answers as endpoints really word them."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from openfingym.models import Message, Tool, ToolCall, Usage
from openfingym.models.streaming import StreamedAnswer
from openfingym.models.testing.answers import answer
from openfingym.models.testing.conversation import Call, CompletionRequest, Reply
from openfingym.models.wire import (
    ASKING_FOR_TOKENS,
    BlockedAnswer,
    MalformedAnswer,
    read_answer,
    request_body,
    request_message,
)


def _answer(message: dict[str, object], **more: object) -> dict[str, object]:
    return {
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}],
        **more,
    }


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "text",
        {},
        {"choices": []},
        {"choices": None},
        {"error": "overloaded"},
        {"choices": ["x"]},
        {"choices": [{"message": None}]},
    ],
)
def test_what_is_no_answer(document: object) -> None:
    with pytest.raises(MalformedAnswer):
        read_answer(document)


def test_contents_in_parts_and_reasoning() -> None:
    found = read_answer(
        _answer({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "reasoning_content": "hm"})
    )
    assert (found.message.content, found.message.reasoning, found.usage) == ("ab", "hm", None)
    assert read_answer(_answer({"content": None, "reasoning": "hm"})).message == Message(
        "assistant", "", reasoning="hm"
    )


@pytest.mark.parametrize(
    ("content", "reasoning", "said"),
    [
        ("<think>\nHm.\n```python\nno\n```\n</think>\n\nYes.", "Hm.\n```python\nno\n```", "Yes."),
        # A template may begin the answer with the first mark, which then is no part of it.
        ("Hm.\n</think>\n\nYes.", "Hm.", "Yes."),
        ("<think>Hm. It goes on and", "Hm. It goes on and", ""),
        ("I think so.", None, "I think so."),
    ],
)
def test_thoughts_that_stand_in_the_answer(content: str, reasoning: str | None, said: str) -> None:
    found = read_answer(_answer({"content": content})).message
    assert (found.reasoning, found.content) == (reasoning, said)
    # What was taken apart can go back as it was said.
    assert (found.said, found.thought_aloud) == ((None, False) if reasoning is None else (content, True))
    assert found.as_said().content == content
    told_apart = read_answer(_answer({"content": content, "reasoning_content": "Hm."})).message
    assert (told_apart.reasoning, told_apart.content) == ("Hm.", content)
    assert (told_apart.said, told_apart.thought_aloud) == (None, False)


def test_the_result_of_a_call_says_of_which() -> None:
    told = {"role": "tool", "content": "ok", "tool_call_id": "c"}
    assert request_message(Message("tool", "ok", tool_call_id="c")) == told
    assert request_message(Message("tool", "ok")) == told | {"tool_call_id": ""}


def test_thoughts_go_back_in_the_field_that_they_came_in_or_where_they_are_wanted() -> None:
    said = {"role": "assistant", "content": "Yes."}
    thought = Message("assistant", "Yes.", reasoning="Hm.")
    assert request_message(thought) == said
    assert request_message(thought, reasoning=True) == said | {"reasoning_content": "Hm."}
    assert request_message(replace(thought, reasoning_field="reasoning")) == said | {"reasoning": "Hm."}
    # One that came with the message, and is not read here, is not sent twice.
    kept = replace(thought, fields={"reasoning": [{"text": "Hm."}]})
    assert request_message(kept, reasoning=True) == said | {"reasoning": [{"text": "Hm."}]}


def test_an_answer_of_nothing_with_a_prompt_that_was_counted_is_a_block() -> None:
    for counts, blocked in (((5, 0), True), ((5, 3), False), ((0, 0), False), ((5, None), False)):
        usage = dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=True))
        with pytest.raises(MalformedAnswer) as caught:
            read_answer({"choices": [], "usage": usage})
        assert isinstance(caught.value, BlockedAnswer) is blocked, counts


def test_a_probability_that_is_none_drops_them_all() -> None:
    assert ASKING_FOR_TOKENS == {"logprobs": True, "return_token_ids": True}
    for second, kept in ((-2.0, (-1.0, -2.0)), ("x", ()), (None, ()), (1e12, ()), (-1e12, ())):
        choice = {"message": {"content": "ab"}, "finish_reason": "stop"}
        choice["logprobs"] = {"content": [{"logprob": -1.0}, {"logprob": second}]}
        assert read_answer({"choices": [choice]}).tokens.logprobs == kept, second


def test_usage_in_detail() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    assert read_answer(_answer({"content": "x"}, usage=usage)).usage == Usage(100, 20, 64, 15)
    assert read_answer(_answer({"content": "x"}, usage={"prompt_tokens": "many"})).usage is None


def test_careless_tool_calls() -> None:
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}},
        {"id": "a", "function": {"name": "g", "arguments": "{}"}},
        {"function": {"name": "h", "arguments": None}},
    ]
    found = read_answer(_answer({"content": "", "tool_calls": calls}))
    assert [call.id for call in found.message.tool_calls] == ["a", "a_1", "call_2"]
    assert [call.parsed() for call in found.message.tool_calls] == [{"x": 1}, {}, {}]
    assert found.finish_reason == "tool_calls"


def test_half_a_surrogate_pair_is_replaced() -> None:
    found = read_answer(json.loads('{"choices": [{"message": {"content": "a\\ud800b"}}]}'))
    assert found.message.content == "a?b"


def test_log_probabilities_that_do_not_match_are_left_out() -> None:
    document = _answer({"content": "x"})
    choice = document["choices"][0]  # type: ignore[index]
    choice["logprobs"] = {"content": [{"logprob": -0.5}]}
    choice["token_ids"] = [1, 2]
    assert read_answer(document).tokens.logprobs == ()
    choice["token_ids"] = [1]
    assert read_answer(document).tokens.logprobs == (-0.5,)


def test_request_says_no_more_than_it_must() -> None:
    body = request_body("m", [Message("user", "hi")])
    assert body == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    tool = Tool("f", "does", {"type": "object"})
    body = request_body("m", [Message("user", "hi")], tools=[tool], max_tokens=3, temperature=0.0, seed=0, stop=["x"])
    assert (body["max_tokens"], body["temperature"], body["seed"], body["stop"]) == (3, 0.0, 0, ["x"])
    assert body["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "does", "parameters": {"type": "object"}}}
    ]


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@given(
    content=_texts,
    calls=st.lists(st.tuples(st.sampled_from(["f", "g"]), st.dictionaries(_texts, st.integers())), max_size=3),
)
def test_streamed_and_whole_are_the_same(content: str, calls: list[tuple[str, dict[str, int]]]) -> None:
    """Both forms pass the client's own models on their way, and are read to the same answer."""
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{"function": {"name": "f"}}]}
    sent = answer(
        body, CompletionRequest.read(body), Reply(content, tuple(Call(name, arguments) for name, arguments in calls))
    )
    whole = read_answer(ChatCompletion.model_validate(sent.whole()).model_dump())
    streamed = StreamedAnswer()
    for chunk in sent.chunks(usage=True):
        streamed.add(ChatCompletionChunk.model_validate(chunk).model_dump())
    assert streamed.finished
    assert read_answer(streamed.body()) == whole
    assert whole.message.content == content
    assert [(call.name, call.parsed()) for call in whole.message.tool_calls] == calls


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_an_answer_or_malformed(document: object) -> None:
    for wrapped in (
        document,
        {"choices": [document]},
        {"choices": [{"message": document}]},
        _answer({"tool_calls": document}, usage=document),
    ):
        with contextlib.suppress(MalformedAnswer):
            assert read_answer(wrapped).message.role == "assistant"


def test_arguments_must_be_an_object() -> None:
    assert ToolCall("1", "f", "").parsed() == {}
    for text in ("[1]", "{", "nul", "[" * 100_000):
        with pytest.raises(ValueError, match="'f'"):
            ToolCall("1", "f", text).parsed()
