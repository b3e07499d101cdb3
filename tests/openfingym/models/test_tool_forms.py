"""Models that have no tools, endpoints that take none, and calls left in the text of an answer."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import ModelRefusedError
from openfingym.models import Completion, Message, Tool, ToolCall, Usage
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.refusals import Refusal
from openfingym.models.retrying import Transient, judge
from openfingym.models.testing import StandIn
from openfingym.models.testing.faults import REFUSALS, WRITTEN
from openfingym.models.text_tools import MARKER, ToolModel, as_text
from openfingym.models.written_calls import read_written_calls
from openfingym.trajectory.record import Turn

from .conftest import HELLO, RUN

STEP = Tool("step", "Take a step.", {"type": "object", "properties": {"action": {}}})
TOOLS = (RUN, STEP)
TOOLLESS = [name for name in REFUSALS if name.startswith("no-tools")]
READABLE = [name for name in WRITTEN if name != "written-unreadably"]


def _calls(text: str) -> list[tuple[str, object]]:
    found = read_written_calls(Message("assistant", text), TOOLS)
    return [(call.name, call.parsed()) for call in found.tool_calls]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "run_python", "arguments": {"code": "print(1)\\n"}}\n</tool_call>',
        '<tool_call>{"name": "run_python", "arguments": {"code": "print(1)\n"}}',
        '<tool_call>\n{"name": "run_python", "arguments": "{\\"code\\": \\"print(1)\\\\n\\"}"}\n</tool_call>',
        "<tool_call>\n<function=run_python>\n<parameter=code>\nprint(1)\n\n</parameter>\n</function>\n</tool_call>",
        '<|python_tag|>{"name": "run_python", "parameters": {"code": "print(1)\\n"}}<|eom_id|>',
        '<function=run_python>{"code": "print(1)\\n"}</function>',
        '[TOOL_CALLS] [{"name": "run_python", "arguments": {"code": "print(1)\\n"}}]',
        '[TOOL_CALLS]run_python[ARGS]{"code": "print(1)\\n"}',
        '[TOOL_CALLS]run_python[CALL_ID]a1b2[ARGS]{"code": "print(1)\\n"}',
        (
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>run_python\n"
            '```json\n{"code": "print(1)\\n"}\n```<｜tool▁call▁end｜>'
        ),
        '<|channel|>commentary to=functions.run_python <|constrain|>json<|message|>{"code": "print(1)\\n"}<|call|>',
        '{"name": "run_python", "parameters": {"code": "print(1)\\n"}}',
        '[{"type": "function", "function": {"name": "run_python", "arguments": {"code": "print(1)\\n"}}}]',
        '```json\n{"name": "run_python", "arguments": {"code": "print(1)\\n"}}\n```',
    ],
)
def test_calls_as_models_write_them(text: str) -> None:
    assert _calls(text) == [("run_python", {"code": "print(1)\n"})]
    assert read_written_calls(Message("assistant", text), TOOLS).content == ""
    if not text.startswith(("{", "[{")):
        around = read_written_calls(Message("assistant", f"First, a look.\n{text}"), TOOLS)
        assert (around.content, len(around.tool_calls)) == ("First, a look.", 1)


@pytest.mark.parametrize("form", READABLE)
@given(code=st.text(st.characters(exclude_categories=["Cs"])), number=st.integers())
def test_whatever_a_call_holds_is_read(form: str, code: str, number: int) -> None:
    arguments = {"code": code, "action": {"weights": [number]}}
    assert _calls(f"So:\n{WRITTEN[form]('run_python', json.dumps(arguments))}") == [("run_python", arguments)]


def test_several_calls_in_one_answer() -> None:
    one, other = ('{"name": "step", "arguments": {"action": 1}}', '{"name": "step", "arguments": {"action": null}}')
    expected = [("step", {"action": 1}), ("step", {"action": None})]
    for text in (
        f"<tool_call>{one}</tool_call>\n<tool_call>\n{other}\n</tool_call>",
        f"[TOOL_CALLS][{one}, {other}]",
        f"<|python_tag|>{one}; {other}",
        f"{one}\n{other}",
        (
            "<function=step><parameter=action>1</parameter></function>\n"
            "<function=step><parameter=action>null</parameter></function>"
        ),
    ):
        assert _calls(text) == expected, text
    found = read_written_calls(Message("assistant", f"{one}\n{other}"), TOOLS, first=5)
    assert [call.id for call in found.tool_calls] == ["text_5", "text_6"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would call run_python(code=...) next.",
        "The tool_call is <tool_call> and nothing else.",
        '{"name": "a_dog", "arguments": {"age": 3}}',
        '{"loss": 0.3, "name": "run_python"}',
        'The result was {"name": "run_python", "arguments": {}} as I said.',
        "```python\nrun = {'name': 'run_python'}\n```",
        "[1, 2, 3]",
        "{" * 5000,
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    message = Message("assistant", text)
    assert read_written_calls(message, TOOLS) is message


@pytest.mark.parametrize(
    "piece",
    [
        " ",
        "<tool_call>{",
        '<tool_call>{"name": ',
        "<tool_call>{</tool_call>",
        "to=functions.x ",
        "<parameter=code>",
        "<function=step>[",
        "```json\n{",
    ],
)
def test_an_answer_without_end_is_read_in_time(piece: str) -> None:
    for start in ("", "<function=step>", "[TOOL_CALLS]step"):
        text = start + piece * (500_000 // len(piece))
        before = time.process_time()
        read_written_calls(Message("assistant", text), TOOLS)
        assert time.process_time() - before < 5.0


def test_half_a_character_in_a_call_can_be_kept_and_sent() -> None:
    for text in ('{"name": "a\\ud83d", "arguments": {}}', '{"name": "run_python", "arguments": "\\ud83d"}'):
        message = read_written_calls(Message("assistant", f"<tool_call>{text}</tool_call>"), TOOLS)
        turn = Turn.from_completion(Completion(message, "tool_calls", Usage(), "m"))
        assert Turn.model_validate_json(turn.model_dump_json()).tool_calls == turn.tool_calls


def test_a_marked_call_that_is_broken_is_told_from_none() -> None:
    for text in (
        '<tool_call>{"name": "run_python", "arguments": {"code": "a " b"}}</tool_call>',
        '<tool_call>{"name": "run_python", "arg',
    ):
        (call,) = read_written_calls(Message("assistant", text), TOOLS).tool_calls
        assert call.name == "run_python"
        with pytest.raises(ValueError, match="not valid JSON"):
            call.parsed()
    assert _calls('<tool_call>{"name": "fly", "arguments": {}}</tool_call>') == [("fly", {})]


@pytest.mark.parametrize(
    ("arguments", "sent"), [('{"a": 1}', '{"a": 1}'), ("", "{}"), ("  ", "{}"), ("[1]", None), ('{"a', None)]
)
def test_a_call_goes_back_as_endpoints_take_it(arguments: str, sent: str | None) -> None:
    call = ToolCall("c", "buy everything!", arguments).sendable()
    assert call.name == "buy_everything_"
    assert call.arguments == (sent if sent is not None else json.dumps({"unreadable": arguments}))
    assert ToolCall("c", "", "").sendable().name == "unknown"


def _judged(status: int, body: object, *, tools: bool = True) -> object:
    return judge(Refusal(status, body), tools=tools)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": "registry.ollama.ai/library/deepseek-r1:14b does not support tools"}),
        (
            400,
            {
                "error": {
                    "message": "gemma3:4b does not support tools",
                    "type": "api_error",
                    "param": None,
                    "code": None,
                }
            },
        ),
        (
            400,
            {
                "object": "error",
                "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
                "code": 400,
            },
        ),
        (404, {"error": {"message": 'No endpoints found that support tool use. Try disabling "step".', "code": 404}}),
        (500, {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}),
        (500, {"error": {"code": 500, "message": "Unsupported param: tools", "type": "server_error"}}),
        (
            400,
            {
                "error": {
                    "message": "tools is not supported in this model. For a list of supported models, refer to the "
                    "docs."
                }
            },
        ),
        (
            400,
            {
                "error": {
                    "code": "invalid_parameter_error",
                    "message": "InternalError.Algo.InvalidParameter: The tool call is not supported.",
                }
            },
        ),
        (400, {"error": {"message": "model features function calling not support", "code": 400}}),
        (400, {"error": {"message": "This model doesn't support tool use."}}),
        (400, {"error": {"message": "Function calling is not enabled for models/gemma-3-27b-it"}}),
        (422, {"detail": "body.tools: Extra inputs are not permitted"}),
        (400, {"error": {"message": "This model only supports single tool-calls at once!"}}),
    ],
)
def test_endpoints_that_take_no_tools(status: int, body: object) -> None:
    found = _judged(status, body)
    assert isinstance(found, ModelRefusedError)
    assert found.reason == "no-tools"
    other = _judged(status, body, tools=False)
    assert not isinstance(other, ModelRefusedError) or other.reason == "bad-request"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Unsupported value: 'temperature' does not support 0.2 with this model."),
        (404, "The model `gpt-9` does not exist or you do not have access to it."),
        (500, "The server had an error while processing your request."),
        (400, "This model's maximum context length is 8192 tokens; your messages and tools have 9000."),
        (400, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
    ],
)
def test_other_troubles_are_not_taken_for_that(status: int, message: str) -> None:
    found = _judged(status, {"error": {"message": message}})
    assert isinstance(found, Transient) or getattr(found, "reason", None) != "no-tools"


async def _twice(url: str, model: str, text: bool | None) -> list[Completion]:
    async with ModelEndpoint(url, "none", patience_s=2.0, loopback=True) as endpoint:
        asked = ToolModel(endpoint.model(model), text=text)
        return [await asked.complete(HELLO, tools=TOOLS) for _ in range(2)]


@pytest.mark.parametrize("fault", TOOLLESS)
def test_an_endpoint_is_offered_tools_once(fault: str) -> None:
    with StandIn() as stand_in:
        model = f"stand-in/competent+{fault}"
        found = asyncio.run(_twice(stand_in.base_url, model, None))
        assert stand_in.served[model] == 3
        assert {(one.call_form, one.finish_reason, one.message.tool_calls[0].name) for one in found} == {
            ("text", "tool_calls", "run_python")
        }
        with pytest.raises(ModelRefusedError, match="takes no tools"):
            asyncio.run(_twice(stand_in.base_url, model, False))
        asyncio.run(_twice(stand_in.base_url, model, True))
        assert stand_in.served[model] == 6


@pytest.mark.parametrize(("fault", "form"), [("", "native"), *((f"+{name}", "written") for name in READABLE)])
def test_calls_are_found_wherever_they_are(fault: str, form: str, stand_in: StandIn) -> None:
    for found in asyncio.run(_twice(stand_in.base_url, f"stand-in/competent{fault}", None)):
        assert (found.call_form, found.finish_reason) == (form, "tool_calls")
        assert "interface.contract" in str(found.message.tool_calls[0].parsed()["code"])
        assert found.message.content == "First a look at what there is."


def test_as_text_the_roles_take_turns() -> None:
    calls = tuple(ToolCall(f"c{number}", "step", '{"action": null}') for number in range(2))
    said = as_text(
        [*HELLO, Message("assistant", "", calls), *(Message("tool", "fine", tool_call_id=call.id) for call in calls)],
        TOOLS,
    )
    assert [message.role for message in said] == ["system", "user", "assistant", "user"]
    assert MARKER in said[0].content
    assert said[-1].content.count('<result tool="step">\nfine\n</result>') == 2
