"""Calls as text: what is written is read, whatever it holds."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.models import Message, Tool, ToolCall
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.testing import StandIn
from openfingym.models.text_tools import MARKER, ToolModel, as_text, read_calls, write_call

STRING = {"type": "string"}
TOOLS = (
    Tool("run_python", "Run a program.", {"type": "object", "properties": {"code": STRING}}),
    Tool("write_file", "Write a file.", {"type": "object", "properties": {"path": STRING, "content": STRING}}),
    Tool("submit", "Submit a file.", {"type": "object", "properties": {"path": STRING}}),
    Tool("step", "Take a step.", {"type": "object", "properties": {"action": {}}}),
)
_words = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["<path>", "</path>", "<content>", "</content>", "\n", "<call "]
)
_texts = st.lists(_words, max_size=5).map("".join).filter(lambda text: "</call>" not in text)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="<", exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_characters="<", exclude_categories=["Cs"])), inner, max_size=3)
    ),
)


@given(
    path=_texts.filter(lambda text: "</path>" not in text),
    content=_texts,
    before=st.sampled_from(["", "I think so.\n", "a < b and <i>more</i>\n"]),
)
def test_texts_stand_as_they_are(path: str, content: str, before: str) -> None:
    written = write_call(ToolCall("1", "write_file", json.dumps({"path": path, "content": content})))
    (call,) = read_calls(Message("assistant", before + written), TOOLS).tool_calls
    assert (call.name, call.parsed()) == ("write_file", {"path": path, "content": content})


@given(_json)
def test_other_values_are_json(action: object) -> None:
    written = write_call(ToolCall("1", "step", json.dumps({"action": action})), TOOLS[-1])
    (call,) = read_calls(Message("assistant", written), TOOLS).tool_calls
    assert call.parsed() == {"action": action}


def test_what_is_no_call_stays_text() -> None:
    message = Message("assistant", "I would <call> it a day.")
    assert read_calls(message, TOOLS) is message


def test_an_answer_cut_at_the_end_of_its_call() -> None:
    # A stop at </call> takes the mark away.
    (call,) = read_calls(Message("assistant", 'So:\n<call tool="submit">\n<path>\nx.npy\n</path>\n'), TOOLS).tool_calls
    assert call.parsed() == {"path": "x.npy"}


@pytest.mark.parametrize("inner", ["nonsense", "<action>\n{not json\n</action>", "<other>\n1\n</other>"])
def test_wrong_arguments_are_told_from_none(inner: str) -> None:
    (call,) = read_calls(Message("assistant", f'<call tool="step">\n{inner}\n</call>'), TOOLS).tool_calls
    with pytest.raises(ValueError, match="not valid JSON"):
        call.parsed()


def test_a_conversation_without_tools_is_left_alone() -> None:
    messages = (Message("system", "s"), Message("user", "u"))
    assert as_text(messages, ()) == messages


def test_results_name_their_tool() -> None:
    messages = (
        Message("user", "go"),
        Message("assistant", "so", (ToolCall("a", "submit", '{"path": "x.npy"}'),)),
        Message("tool", "accepted", tool_call_id="a"),
    )
    system, user, said, result = as_text(messages, TOOLS)
    assert MARKER in system.content
    assert all(tool.name in system.content for tool in TOOLS)
    assert user == messages[0]
    assert said.content.startswith('so\n<call tool="submit">')
    assert result == Message("user", '<result tool="submit">\naccepted\n</result>')


@pytest.mark.parametrize("policy", ["competent", "careless"])
def test_the_same_conversation_in_both_forms(policy: str) -> None:
    """The stand-in knows both forms; what it does must not depend on which is spoken."""
    brief = "inputs, targets = interface.load_train()\nfor window in interface.iter_test():"
    start = (Message("system", "You forecast."), Message("user", brief))

    async def conversation(text: bool) -> list[tuple[str, dict[str, object]]]:
        async with ModelEndpoint(stand_in.base_url, "none", loopback=True) as endpoint:
            chat = endpoint.model(f"stand-in/{policy}")
            model = ToolModel(chat, text=text)
            messages, done = list(start), []
            for _ in range(8):
                found = (await model.complete(messages, tools=TOOLS)).message
                messages.append(found)
                if not found.tool_calls:
                    return done
                for call in found.tool_calls:
                    done.append((call.name, call.parsed()))
                    messages.append(Message("tool", "wrong-shape" if len(done) == 2 else "fine", tool_call_id=call.id))
        raise AssertionError("it never ends")

    with StandIn() as stand_in:
        native, written = asyncio.run(conversation(False)), asyncio.run(conversation(True))
    # The line breaks around a text argument are not part of it.
    assert [(name, {key: str(value).strip() for key, value in values.items()}) for name, values in native] == [
        (name, {key: str(value).strip() for key, value in values.items()}) for name, values in written
    ]
    assert [name for name, _ in native][-1] == "run_python"
