"""Answers as servers really send them: why they ended, what they count, the calls in them, and what goes back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import ModelRefusedError, ModelUnavailableError
from openfingym.models import Allowance, Completion, Message, Meter, Tool, ToolCall, Usage
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.finishing import KNOWN, ending_of
from openfingym.models.prices import Price, PriceTable
from openfingym.models.stated_usage import MOST_TOKENS, StatedUsage, read_usage
from openfingym.models.streaming import StreamedAnswer
from openfingym.models.text_tools import ToolModel
from openfingym.models.wire import BrokenAnswer, Json, read_answer, request_message

from .scripted import Script, Scripted, completion, refusal

RUN = Tool("run_python", "Run.", {"type": "object", "properties": {"code": {"type": "string"}}})
READ = Tool("read_file", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}})
TOOLS = (RUN, READ)
ARGUMENTS = '{"code": "print(1)"}'
CALL: Json = {"id": "c", "type": "function", "function": {"name": "run_python", "arguments": ARGUMENTS}}


def talk(script: Script, turns: int = 1, *, stream: bool = False, patience_s: float = 60.0) -> tuple[Any, Scripted]:
    """Ask a scripted endpoint, make every call with the result "ok", and ask again."""

    async def ask(url: str) -> list[Completion]:
        async with ModelEndpoint(url, "none", patience_s=patience_s, loopback=True) as endpoint:
            prices = PriceTable({"m": Price(10.0, 30.0)})
            model = ToolModel(endpoint.model("m", stream=stream, prices=prices))
            messages, found = [Message("user", "Go on.")], []
            for _ in range(turns):
                found.append(await model.complete(messages, tools=TOOLS))
                said = found[-1].message
                messages += [said, *(Message("tool", "ok", tool_call_id=call.id) for call in said.tool_calls)]
            return found

    with Scripted(script) as endpoint:
        return asyncio.run(ask(endpoint.base_url)), endpoint


# Why an answer ended.


@pytest.mark.parametrize(
    "stated",
    [
        "abort",
        "error",
        "insufficient_system_resource",
        "network_error",
        "cancelled",
        "pause_turn",
        "timeout",
        "queued",
        "incomplete",
        "failed",
        "unknown",
        "xyzzy",
        "OTHER",
        "FINISH_REASON_UNSPECIFIED",
        5,
        True,
        ["stop"],
        {"a": "stop"},
    ],
)
@pytest.mark.parametrize("message", [{"content": ""}, {"content": "Half an"}, {"content": None, "tool_calls": [CALL]}])
def test_an_end_that_is_not_the_models_is_a_broken_answer(stated: object, message: Json) -> None:
    with pytest.raises(BrokenAnswer, match="broken off"):
        read_answer(completion(message, stated))  # type: ignore[arg-type]


@pytest.mark.parametrize("stream", [False, True])
def test_a_broken_answer_is_asked_for_again_and_never_an_answer(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def script(_: Json, number: int) -> Any:
        reason = "stop" if number == 2 else "abort"
        if stream:
            return [{"choices": [{"delta": {"content": "Hello."}, "finish_reason": reason}]}]
        return completion({"content": "Hello."}, reason)

    monkeypatch.setattr("openfingym.models.retrying.LONGEST_WAIT_S", 0.01)
    (found,), _ = talk(script, stream=stream)
    assert (found.attempts, found.finish_reason) == (3, "stop")
    monkeypatch.setattr("openfingym.models.retrying.LEAST_S", 1e9)  # one attempt
    with pytest.raises(ModelUnavailableError, match="finish_reason 'abort'"):
        talk(lambda *_: completion({"content": ""}, "abort"))


@pytest.mark.parametrize(
    ("stated", "ending"),
    [
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("eos_token", "stop"),
        ("COMPLETE", "stop"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("function_call", "tool_calls"),
        ("SAFETY", "content_filter"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
        ("sensitive", "content_filter"),
        ("refusal", "refusal"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "bad-call"),
        ("FINISH_REASON_STOP", "stop"),
        (" Stop ", "stop"),
        ("", None),
        ("stopped", None),
        ("stop: abort", None),
        ("content_filter: SOMETHING_NEW", "content_filter"),
        ("nonstop", None),
    ],
)
def test_endings_in_the_words_of_providers(stated: str, ending: str | None) -> None:
    assert ending_of(stated) == ending


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("stop", "stop end_turn end stop_sequence eos eos_token completed COMPLETE finished"),
        ("tool_calls", "tool_calls tool_call function_call tool_use"),
        ("length", "length MAX_TOKENS max_output_tokens model_length max_completion_tokens"),
        ("context", "model_context_window_exceeded context_exceeded context_length_exceeded"),
        (
            "content_filter",
            "content_filter content_filtered guardrail_intervened sensitive SAFETY RECITATION BLOCKLIST",
        ),
        ("content_filter", "PROHIBITED_CONTENT SPII MODEL_ARMOR IMAGE_SAFETY"),
        ("refusal", "refusal"),
        ("bad-call", "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL"),
    ],
)
def test_every_word_for_an_ending(ending: str, words: str) -> None:
    assert {ending_of(word) for word in words.split()} == {ending}
    assert ending_of(f"x{words.split(maxsplit=1)[0]}") is None


@given(st.text(max_size=30) | st.none() | st.integers() | st.booleans())
def test_a_word_that_nobody_knows_is_no_ending(stated: object) -> None:
    words = str(stated).lower().replace("finish_reason_", "").split(":")
    assert (ending_of(stated) is None) or any(word.strip() in KNOWN for word in words)


def test_an_ending_is_read_with_what_was_said() -> None:
    full = "model_context_window_exceeded"
    assert read_answer(completion({"content": "Half an"}, full)).finish_reason == "length"
    assert read_answer(completion({"tool_calls": [CALL]}, full)).finish_reason == "length"
    with pytest.raises(ModelRefusedError) as caught:
        read_answer(completion({"content": ""}, full))
    assert caught.value.reason == "context-too-long"
    with pytest.raises(ModelRefusedError) as caught:
        read_answer(completion({"content": ""}, "MALFORMED_FUNCTION_CALL"))
    assert caught.value.reason == "bad-call"
    # Calls that are missing are the server's loss, unless they stand in a text.
    for message in ({"content": ""}, {"content": "I call it now."}, {"content": None, "reasoning": "Hm."}):
        with pytest.raises(BrokenAnswer, match="calls are missing"):
            read_answer(completion(message, "tool_calls"))
    written = f'<tool_call>{{"name": "run_python", "arguments": {ARGUMENTS}}}</tool_call>'
    for message in ({"content": written}, {"content": None, "reasoning": written}):
        assert read_answer(completion(message, "tool_calls")).finish_reason == "stop"
    # Calls decide over a "stop", and over nothing else.
    for stated, reason in (
        ("stop", "tool_calls"),
        (None, "tool_calls"),
        ("length", "length"),
        ("SAFETY", "content_filter"),
    ):
        assert read_answer(completion({"tool_calls": [CALL]}, stated)).finish_reason == reason
    assert read_answer(completion({"content": "Hello."}, None)).finish_reason == "stop"
    assert read_answer(completion({"refusal": "No."}, None)).finish_reason == "refusal"
    with pytest.raises(BrokenAnswer, match="no reason is stated"):
        read_answer(completion({"content": ""}, None))
    with pytest.raises(BrokenAnswer, match="abort"):
        read_answer(completion({"content": "x"}, None, native_finish_reason="abort"))


# What an answer counts.


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 100_000, "completion_tokens": 5000}, Usage(100_000, 5000)),
        ({"input_tokens": 100_000, "output_tokens": 5000, "total_tokens": 105_000}, Usage(100_000, 5000)),
        ({"prompt_tokens": 100_000.0, "completion_tokens": 5000.0}, Usage(100_000, 5000)),
        ({"prompt_tokens": "100000", "completion_tokens": " 5000 "}, Usage(100_000, 5000)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "input_tokens": 7, "output_tokens": 3}, Usage(7, 3)),
        # Cached tokens that are no part of the prompt, as llama.cpp and Anthropic count them.
        (
            {"prompt_tokens": 8, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 90}},
            Usage(98, 2, 90),
        ),
        ({"input_tokens": 8, "output_tokens": 2, "cache_read_input_tokens": 90}, Usage(98, 2, 90)),
        ({"input_tokens": 8, "output_tokens": 2, "cache_creation_input_tokens": 90}, Usage(98, 2, 0)),
        ({"prompt_tokens": 98, "completion_tokens": 2, "cache_read_input_tokens": 90}, Usage(98, 2, 0)),
        ({"prompt_tokens": 98, "completion_tokens": 2, "prompt_cache_hit_tokens": 90}, Usage(98, 2, 90)),
        # Thoughts that are counted in the total alone, as Gemini and xAI do.
        (
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            Usage(32, 103, 0, 94),
        ),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 3}, Usage(32, 9)),
        (
            {"prompt_tokens": 32, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 94}},
            Usage(32, 9, 0, 9),
        ),
        ({"prompt_tokens": MOST_TOKENS, "completion_tokens": 1}, Usage(MOST_TOKENS, 1)),
        ({}, None),
        (None, None),
        ([], None),
        ("many", None),
        ({"prompt_tokens": None, "completion_tokens": None}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": 0, "completion_tokens": 5000}, None),
        ({"prompt_tokens": 100, "completion_tokens": 0}, None),
        ({"prompt_tokens": 100}, None),
        ({"completion_tokens": 5000}, None),
        ({"total_tokens": 105_000}, None),
        ({"prompt_tokens": -5, "completion_tokens": 5}, None),
        ({"prompt_tokens": True, "completion_tokens": True}, None),
        ({"prompt_tokens": 1.5, "completion_tokens": 5}, None),
        ({"prompt_tokens": float("nan"), "completion_tokens": float("inf")}, None),
        ({"prompt_tokens": "1e5", "completion_tokens": "5,000"}, None),
        ({"prompt_tokens": "٣", "completion_tokens": 5}, None),
        ({"prompt_tokens": MOST_TOKENS + 1, "completion_tokens": 5}, None),
        ({"prompt_tokens": {"value": 5}, "completion_tokens": [5]}, None),
        ({"tokens": 5, "promptTokens": 5}, None),
    ],
)
def test_usage_that_says_nothing_is_unknown(usage: object, counted: Usage | None) -> None:
    assert read_answer(completion({"content": "Hello."}) | {"usage": usage}).usage == counted


def test_an_answer_of_nothing_may_have_taken_nothing() -> None:
    document = completion({"content": ""}) | {"usage": {"prompt_tokens": 9, "completion_tokens": 0}}
    assert read_answer(document).usage == Usage(9, 0)


@pytest.mark.parametrize(
    ("usage", "filled"),
    [
        ({}, Usage(20, 10)),
        ({"prompt_tokens": 500}, Usage(500, 10)),
        ({"prompt_tokens": 500, "total_tokens": 900}, Usage(500, 400)),
        ({"prompt_tokens": 500, "completion_tokens": 0, "total_tokens": 500}, Usage(500, 10)),
        ({"completion_tokens": 700}, Usage(20, 700)),
        ({"completion_tokens": 700, "total_tokens": 1000}, Usage(300, 700)),
        ({"total_tokens": 1000}, Usage(990, 10)),
        ({"total_tokens": 5}, Usage(20, 10)),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(3, 4)),
    ],
)
def test_what_is_not_counted_is_estimated_beside_what_is(usage: Json, filled: Usage) -> None:
    assert read_usage(usage, said=True).filled(Usage(20, 10)) == filled


@given(
    st.dictionaries(
        st.sampled_from(
            ["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "cache_read_input_tokens"]
        ),
        st.none() | st.integers(-5, 10**9) | st.floats() | st.text(max_size=4) | st.booleans(),
    )
)
def test_no_usage_makes_an_answer_free_or_negative(usage: Json) -> None:
    estimate = Usage(20, 10)
    found = read_usage(usage, said=True)
    filled = found.filled(estimate)
    assert filled.prompt > 0
    assert filled.completion > 0
    assert 0 <= filled.cached <= filled.prompt
    assert filled.prompt <= MOST_TOKENS
    assert (found.whole is None) == (found.prompt is None or found.completion is None)
    assert Price(1.0, 1.0, 0.1).of(filled) > 0


@pytest.mark.parametrize("usage", [{}, None, {"prompt_tokens": None}, {"prompt_tokens": 0, "completion_tokens": 0}])
@pytest.mark.parametrize("stream", [False, True])
def test_a_budget_holds_where_nobody_counts(usage: Json | None, stream: bool) -> None:
    text = "x" * 4000
    chunks = [{"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
    whole = completion({"content": text}) | {"usage": usage}
    (found,), _ = talk(lambda *_: chunks if stream else whole, stream=stream)
    assert (found.counted, found.cost_usd) == (False, None)
    assert found.usage.completion == 1000
    meter = Meter(Allowance(tokens=900))
    meter.charge(found)
    assert meter.exhausted == "tokens"


def test_an_estimate_counts_thoughts_and_tools() -> None:
    answer = completion({"content": "Hello.", "reasoning_content": "h" * 400}) | {"usage": {}}
    (first, second), _ = talk(lambda *_: answer, 2)
    assert first.usage.completion == (400 + 6) / 4 + 0.5
    tools = sum(len(tool.name + tool.description + json.dumps(dict(tool.parameters))) for tool in TOOLS)
    assert first.usage.prompt == -(-(tools + len("Go on.")) // 4)
    # The thoughts go back with the answer.
    assert second.usage.prompt == -(-(tools + len("Go on.") + 406) // 4)


def test_the_last_usage_of_a_stream_that_says_something_counts() -> None:
    streamed = StreamedAnswer()
    for usage in (None, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 7, "completion_tokens": 1}):
        streamed.add({"choices": [{"delta": {"content": "x"}}], "usage": usage})
    streamed.add({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    streamed.add({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 9}})
    streamed.add({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}})
    assert read_answer(streamed.body()).usage == Usage(7, 9)


# What goes back.

SIGNATURE = {"google": {"thought_signature": "c2ln"}}


def _then_done(first: Json, check: Any = None) -> Script:
    """A first answer, then a refusal unless the request passes a check, then the end."""

    def script(body: Json, number: int) -> Any:
        if number == 0:
            return completion(first, "tool_calls")
        problem = check(body) if check else None
        return completion({"content": "Done."}) if problem is None else refusal(problem)

    return script


@pytest.mark.parametrize("stream", [False, True])
def test_a_thought_signature_goes_back_with_its_call(stream: bool) -> None:
    call = {**CALL, "extra_content": SIGNATURE}
    call["function"] = {**CALL["function"], "inner_mark": "x"}  # type: ignore[dict-item]

    def check(body: Json) -> str | None:
        (sent,) = body["messages"][1]["tool_calls"]
        if sent.get("extra_content") != SIGNATURE or sent["function"].get("inner_mark") != "x":
            return "Function call is missing a thought_signature in functionCall parts."
        return None if sent["id"] == "c" else "another id"

    def chunks(body: Json, number: int) -> Any:
        said = _then_done({"content": None, "tool_calls": [call]}, check)(body, number)
        if isinstance(said, tuple):
            return said
        choice = said["choices"][0]
        return [{"choices": [{"delta": choice["message"], "finish_reason": choice["finish_reason"]}]}]

    whole = _then_done({"content": None, "tool_calls": [call]}, check)
    (_, second), endpoint = talk(chunks if stream else whole, 2, stream=stream)
    assert second.message.content == "Done."
    assert not endpoint.refused


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_go_back_in_the_field_that_they_came_in(name: str) -> None:
    first = {"content": "", name: "I think.", "tool_calls": [CALL], "reasoning_details": [{"type": "x", "data": "y"}]}
    wanted = {name: "I think.", "reasoning_details": [{"type": "x", "data": "y"}]}
    (_, second), endpoint = talk(_then_done(first | {"annotations": [], "audio": None, "other": None}), 2)
    sent = endpoint.bodies[1]["messages"][1]
    assert {key: sent[key] for key in sent if key not in {"role", "content", "tool_calls"}} == wanted
    assert sent["content"] is None
    assert second.message.content == "Done."


def test_an_empty_thought_goes_back_as_it_came() -> None:
    _, endpoint = talk(_then_done({"content": "", "reasoning_content": "", "tool_calls": [CALL]}), 2)
    assert endpoint.bodies[1]["messages"][1]["reasoning_content"] == ""


def test_thoughts_in_the_text_stay_at_home() -> None:
    _, endpoint = talk(_then_done({"content": "<think>Hm.</think>Hello.", "tool_calls": [CALL]}), 2)
    assert endpoint.bodies[1]["messages"][1] == {"role": "assistant", "content": "Hello.", "tool_calls": [CALL]}


def test_a_field_that_is_refused_is_left_out() -> None:
    def check(body: Json) -> str | None:
        sent = body["messages"][1]
        for name in ("reasoning_details", "extra_content"):
            if name in sent or name in sent["tool_calls"][0]:
                return f"messages.1.{name}: Extra inputs are not permitted"
        return None

    first = {"content": "", "reasoning_details": [{"a": 1}], "tool_calls": [{**CALL, "extra_content": SIGNATURE}]}
    (_, second), endpoint = talk(_then_done(first, check), 2)
    assert (second.message.content, len(endpoint.refused)) == ("Done.", 2)


def test_a_field_that_is_wanted_in_every_answer_is_sent_empty() -> None:
    def check(body: Json) -> str | None:
        if "reasoning_content" in body["messages"][1]:
            return None
        return "The `reasoning_content` in the thinking mode must be passed back to the API."

    (_, second), endpoint = talk(_then_done({"content": "", "tool_calls": [CALL]}, check), 2)
    assert (second.message.content, len(endpoint.refused)) == ("Done.", 1)
    assert "reasoning_content" not in endpoint.bodies[1]["messages"][0]


def test_fields_that_cannot_be_kept_are_left_out() -> None:
    deep: object = "x"
    for _ in range(60):
        deep = [deep]
    for value in (deep, "x" * 1_100_000):
        found = read_answer(completion({"content": "Hello.", "odd": value}))
        assert found.message.fields == {}
    odd = read_answer(completion({"content": "Hello.", "odd": ["a\ud800b", float("nan"), 1, None, True]}))
    assert odd.message.fields == {"odd": ["a?b", None, 1, None, True]}
    assert json.loads(json.dumps(request_message(odd.message), allow_nan=False)) == request_message(odd.message)


def test_details_of_thoughts_that_are_streamed_are_joined() -> None:
    streamed = StreamedAnswer()
    for text in ("I ", "think."):
        details = [{"type": "reasoning.text", "index": 0, "format": "f", "text": text}]
        streamed.add({"choices": [{"delta": {"reasoning": text, "reasoning_details": details}}]})
    last = [{"type": "reasoning.encrypted", "index": 1, "data": "ZGF0YQ=="}]
    streamed.add({"choices": [{"delta": {"reasoning_details": last, "content": "Hello."}, "finish_reason": "stop"}]})
    found = read_answer(streamed.body()).message
    assert found.fields["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "format": "f", "text": "I think."},
        *last,
    ]
    assert request_message(found)["reasoning"] == "I think."


# Calls.


def _streamed(parts: list[Json]) -> tuple[ToolCall, ...]:
    streamed = StreamedAnswer([tool.name for tool in TOOLS])
    for part in parts:
        streamed.add({"choices": [{"delta": {"tool_calls": [part]}}]})
    streamed.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    return read_answer(streamed.body()).message.tool_calls


def _part(name: str | None, arguments: object = None, call_id: str | None = None, index: object = None) -> Json:
    stated = {"id": call_id, "index": index}
    return {key: value for key, value in stated.items() if value is not None} | {
        "function": {"name": name, "arguments": arguments}
    }


ONE = [("run_python", {"code": "print(1)"})]
TWO = [*ONE, ("read_file", {"path": "x"})]
SAME = [*ONE, ("run_python", {"code": "print(2)"})]
HALF, REST, PATH, SECOND = '{"code": ', '"print(1)"}', '{"path": "x"}', '{"code": "print(2)"}'
TAIL = [_part(None, HALF, index=0), _part(None, '"print(2)"}', index=0)]
TURNS = [_part(None, REST, index=0), _part(None, ': "x"}', index=1)]
BY_ID = [_part(None, REST, "a"), _part(None, ': "x"}', "b")]


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        ([_part("run_python", HALF, "c", 0), _part("run_python", REST, "c", 0)], ONE),
        ([_part("run_python", "", "c", 0), _part("run_python", HALF, "c", 0), _part("run_python", REST, "c", 0)], ONE),
        ([_part("run_python", HALF), _part("run_python", REST)], ONE),
        ([_part("run_python", HALF, index=0), _part(None, REST, index=0)], ONE),
        ([_part("run_python", ARGUMENTS), _part("read_file", PATH)], TWO),
        ([_part("run_python", ARGUMENTS, index=0), _part("read_file", PATH, index=0)], TWO),
        ([_part("run_python", ARGUMENTS), _part("run_python", SECOND)], SAME),
        ([_part("run_python", ARGUMENTS, "a"), _part("run_python", SECOND, "b")], SAME),
        ([_part("run_python", ARGUMENTS, "a", 0), _part("run_python", SECOND, "b", 0)], SAME),
        ([_part("run_python", {"code": "print(1)"}, "a", 0)], ONE),
        ([_part("run_python", "", "a", 0), _part(None, {"code": "print(1)"}, "a", 0)], ONE),
        ([_part("run_python", {"code": "print(1)"}), _part("read_file", {"path": "x"})], TWO),
        # Another id in every chunk.
        ([_part("run_python", HALF, "a", 0), _part(None, REST, "b", 0)], ONE),
        ([_part("run_python", HALF, "a", 0), _part("run_python", REST, "b", 0)], ONE),
        ([_part("run_python", HALF, "a"), _part(None, REST, "b")], ONE),
        (
            [_part("run_python", "", "a", 0), _part("run_python", ARGUMENTS, "b", 0), _part("run_python", "", "d", 0)],
            ONE,
        ),
        # A name in pieces.
        ([_part("run_", "", "c", 0), _part("python", ARGUMENTS, index=0)], ONE),
        ([_part("run", HALF, "c", 0), _part("_python", REST, index=0)], ONE),
        ([_part("run_", "", "c", 0), _part("run_python", ARGUMENTS, index=0)], ONE),
        # Two parts of one index at once, and heads without arguments.
        ([_part("run_python", "", "c", 0), _part(None, ARGUMENTS, index=0), _part(None, "", index=0)], ONE),
        ([_part("run_python", ""), _part(None, ARGUMENTS), _part("read_file", ""), _part(None, PATH)], TWO),
        ([_part("run_python", ""), _part(None, ARGUMENTS), _part("run_python", ""), _part(None, SECOND)], SAME),
        (
            [
                _part("run_python", "", "a", 0),
                _part(None, ARGUMENTS, index=0),
                _part("run_python", "", "b", 0),
                _part(None, HALF, index=0),
                _part(None, '"print(2)"}', index=0),
            ],
            SAME,
        ),
        # Said twice.
        ([_part("run_python", ARGUMENTS), _part("run_python", ARGUMENTS)], ONE),
        ([_part("run_python", ARGUMENTS, "a"), _part("run_python", "", "a")], ONE),
        # Calls without arguments.
        ([_part("run_python", "", "a", 0), _part("read_file", PATH, "b", 0)], [("run_python", {}), TWO[1]]),
        ([_part("run_python", ""), _part("read_file", PATH)], [("run_python", {}), TWO[1]]),
        (
            [_part("run_python", None, "a", 0), _part("read_file", None, "b", 1)],
            [("run_python", {}), ("read_file", {})],
        ),
        # In turns.
        (
            [
                _part("run_python", HALF, "a", 0),
                _part("read_file", '{"path"', "b", 1),
                _part(None, REST, index=0),
                _part(None, ': "x"}', index=1),
            ],
            TWO,
        ),
        (
            [
                _part("run_python", HALF, "a"),
                _part("read_file", '{"path"', "b"),
                _part(None, REST, "a"),
                _part(None, ': "x"}', "b"),
            ],
            TWO,
        ),
    ],
)
def test_calls_as_servers_stream_them(parts: list[Json], calls: list[tuple[str, Json]]) -> None:
    found = _streamed(parts)
    assert [(call.name, call.parsed()) for call in found] == calls
    assert len({call.id for call in found}) == len(found)
    assert all(call.id for call in found)


def test_the_first_id_of_a_call_stays() -> None:
    (call,) = _streamed([_part("run_python", HALF, "functions.run_python:0", 0), _part(None, REST, "b", 0)])
    assert call.id == "functions.run_python:0"
    first, second = _streamed(
        [_part("run_python", ARGUMENTS, "a", 0), _part("run_python", "", "b", 0), _part(None, SECOND, index=0)]
    )
    assert (first.id, second.id) == ("a", "b")


@settings(max_examples=60)
@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["run_python", "read_file"]),
            st.dictionaries(st.sampled_from(["code", "path", "n"]), st.text(max_size=12) | st.integers(), min_size=1),
        ),
        min_size=1,
        max_size=3,
        unique_by=str,
    ),
    numbered=st.booleans(),
    named=st.booleans(),
    size=st.integers(1, 9),
)
def test_calls_cut_anywhere_are_put_together(
    calls: list[tuple[str, Json]], numbered: bool, named: bool, size: int
) -> None:
    """Whatever a server repeats and leaves out: names in each piece or in the first, indices or none."""
    parts = []
    for number, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        for start in range(0, len(text), size):
            head = name if named or start == 0 else None
            parts.append(_part(head, text[start : start + size], index=number if numbered else None))
    assert [(call.name, call.parsed()) for call in _streamed(parts)] == calls


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        (json.dumps(ARGUMENTS), {"code": "print(1)"}),
        (json.dumps(json.dumps(ARGUMENTS)), {"code": "print(1)"}),
        (f"\n {ARGUMENTS}\n", {"code": "print(1)"}),
        (f"```json\n{ARGUMENTS}\n```", {"code": "print(1)"}),
        (f"```\n{ARGUMENTS}```", {"code": "print(1)"}),
        ({"code": "print(1)"}, {"code": "print(1)"}),
        ('{"code": "a\nb"}', {"code": "a\nb"}),
        ("null", {}),
        ("", {}),
        (None, {}),
        ('"print(1)"', None),
        ('"[1]"', None),
        ("[1]", None),
        ("5", None),
        ("{", None),
    ],
)
def test_arguments_as_models_and_servers_encode_them(arguments: object, parsed: Json | None) -> None:
    document = completion({"tool_calls": [{"id": "c", "function": {"name": "run_python", "arguments": arguments}}]})
    (call,) = read_answer(document).message.tool_calls
    if parsed is None:
        with pytest.raises(ValueError, match="'run_python'"):
            call.parsed()
        return
    assert call.parsed() == parsed
    # Strict servers take back an object, encoded once.
    assert json.loads(call.sendable().arguments) == parsed


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("run_python", "run_python"),
        ("functions.run_python", "run_python"),
        ("functions.run_python:0", "run_python"),
        ("default_api.run_python", "run_python"),
        ("default_api:run_python", "run_python"),
        ("run_python<|channel|>commentary", "run_python"),
        ("run_python<|constrain|>json", "run_python"),
        ("functions.run_python<|channel|>json", "run_python"),
        (" run_python\n", "run_python"),
        ('"run_python"', "run_python"),
        ("tools.run_python", "run_python"),
        ("functions.nothing", "functions.nothing"),
        ("my_run_python", "my_run_python"),
        ("run_python_2", "run_python_2"),
        ("<|channel|>", "<|channel|>"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("written", [False, True])
def test_marks_of_a_models_own_form_are_no_part_of_a_name(name: str, meant: str, written: bool) -> None:
    call = {"id": "c", "function": {"name": name, "arguments": ARGUMENTS}}
    text = f"<tool_call>{json.dumps({'name': name, 'arguments': json.loads(ARGUMENTS)})}</tool_call>"
    answer = {"content": text} if written else {"tool_calls": [call]}
    (found,), _ = talk(lambda *_: completion(answer))
    (made,) = found.message.tool_calls
    assert made.name == meant
    # What was mended is on record, so that no model looks more able than it is.
    assert made.wrote == (None if name == meant else name)
    assert made.as_written().name == name


def test_old_and_careless_forms_of_calls() -> None:
    single = read_answer(completion({"tool_calls": CALL})).message.tool_calls
    old = read_answer(completion({"function_call": CALL["function"]}, "function_call")).message.tool_calls
    for calls in (single, old):
        assert [(call.name, call.parsed()) for call in calls] == ONE
    assert read_answer(completion({"content": "x", "function_call": {}})).message.tool_calls == ()


THOUGHT_CALLS = [
    f'<tool_call>\n{{"name": "run_python", "arguments": {ARGUMENTS}}}\n</tool_call>',
    '<call tool="run_python">\n<code>\nprint(1)\n</code>\n</call>',
    f'<tool_call>{{"name": "functions.run_python", "arguments": {ARGUMENTS}}}</tool_call>\n',
]


@pytest.mark.parametrize("call", THOUGHT_CALLS)
@pytest.mark.parametrize("content", [None, "", " \n"])
@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_a_call_that_thoughts_end_with_is_made(call: str, content: str | None, reason: str) -> None:
    thoughts = f"I could write <tool_call>. Let me run it.\n{call}"
    (found,), _ = talk(lambda *_: completion({"content": content, "reasoning_content": thoughts}, reason))
    (made,) = found.message.tool_calls
    assert (made.name, made.parsed(), made.written) == ("run_python", {"code": "print(1)"}, True)
    assert (found.finish_reason, found.call_form) == ("tool_calls", "written")
    assert found.message.reasoning == thoughts.strip() or found.message.reasoning == thoughts


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        # It said something, and so came to an end of its thoughts.
        ({"content": "Hello.", "reasoning_content": THOUGHT_CALLS[0]}, "stop"),
        # It was cut off in its thoughts.
        ({"content": "", "reasoning_content": THOUGHT_CALLS[0]}, "length"),
        # It thought about a call, and went on thinking.
        ({"content": "", "reasoning_content": f"{THOUGHT_CALLS[0]} Or should I?"}, "stop"),
        ({"content": "", "reasoning_content": THOUGHT_CALLS[0].replace("run_python", "nothing")}, "stop"),
        ({"content": "", "reasoning_content": json.dumps({"name": "run_python", "arguments": {}})}, "stop"),
    ],
)
def test_a_call_that_is_only_thought_of_is_not_made(message: Json, reason: str) -> None:
    (found,), _ = talk(lambda *_: completion(message, reason))
    assert found.message.tool_calls == ()


def test_of_several_calls_in_thoughts_the_last_ones_are_made() -> None:
    draft, last = THOUGHT_CALLS[0].replace("print(1)", "draft"), THOUGHT_CALLS[0]
    thoughts = f"{draft}\nNo, rather both:\n{last}\n{last.replace('print(1)', 'print(2)')}"
    (found,), _ = talk(lambda *_: completion({"content": "", "reasoning_content": thoughts}))
    assert [(call.name, call.parsed()) for call in found.message.tool_calls] == SAME


def test_what_is_stated_of_a_usage() -> None:
    assert StatedUsage().whole is None
    assert StatedUsage(1, 2).whole == Usage(1, 2)
