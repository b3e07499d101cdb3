"""Tools for models whose endpoints take none: calls that are written as text.

The system message explains the tools. A call is an element in the text of the answer; its parts are the arguments, and
nothing in them is escaped::

    <call tool="write_file">
    <path>notes.txt</path>
    <content>
    <b>anything</b>, "quoted" or not
    </content>
    </call>

A text argument is what stands between its marks, without the line breaks next to them; any other argument is JSON. No
argument can hold the end of a call, and only the last may hold its own end mark.
The result comes back as a user's message, ``<result tool="write_file">…</result>``.

:class:`ToolModel` makes any model look like one that calls tools natively.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

from openfingym.errors import ModelRefusedError
from openfingym.models.messages import CallForm, Completion, Message, Tool, ToolCall
from openfingym.models.model import CompletionOptions, LanguageModel
from openfingym.models.written_calls import ending_calls, known_name, read_written_calls

MARKER = "You call tools by writing them as text."
"""First line of the explanation in the system message."""
END_OF_CALL = "</call>"
_CALL = re.compile(r'<call tool="([^"\n]*)">(.*?)</call>', re.DOTALL)
_FORM = """<call tool="NAME">
<ARGUMENT>
value
</ARGUMENT>
</call>"""
_EXPLANATION = f"""{{marker}}
A call is written exactly like this, at the end of your answer, and only what it asks for happens:

{_FORM}

Texts stand as they are, without quotes or escapes; other values are JSON. \
Write one call, then stop and wait: its result comes with the
next message. The tools:

{{tools}}"""
HOW_TO_CALL = f"""Your message called no tool. Call one; where nothing else works, end your message with exactly this:

{_FORM}"""
"""Told to a model that called no tool, or whose call could not be read."""


class ToolModel:
    """A model that can call tools, as text where its endpoint takes none; see :class:`openfingym.models.LanguageModel`.

    Args:
        model: the model to wrap, which need not take tools.
        text: whether calls are written as text; None for only where the endpoint takes no tools.
        append_only: whether the model's answers are sent back as it wrote them, thoughts included, so that each request
            begins with the one before. The results of calls that stood in the text are a user's message then.
    """

    def __init__(self, model: LanguageModel, *, text: bool | None = None, append_only: bool = False) -> None:
        self._model = model
        self._text = text
        self._append_only = append_only

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Continue a conversation; calls in the text of the answer are taken out of it."""
        # How many calls the conversation has, from which those in the text of its answer are numbered on.
        made = sum(len(message.tool_calls) for message in messages)
        if self._append_only:
            messages = as_said(messages)
            if any(message.reasoning for message in messages):
                options["reasoning"] = True
        complete = partial(self._model.complete, **options)
        if not tools:
            return await complete(messages)
        # Offered natively first: only a refusal says that an endpoint takes no tools.
        if self._text is not True:
            try:
                answer = await complete(messages, tools=tools)
            except ModelRefusedError as refused:
                if refused.reason != "no-tools" or self._text is False:
                    raise
            else:
                if answer.message.tool_calls:
                    return replace(answer, message=mended(answer.message, tools), call_form="native")
                # A model may write calls in the form it was trained on, and its endpoint leave them in the text.
                return _with_calls_read(answer, made, tools, "native", "written")
        told = with_tools_told(messages, tools) if self._append_only else as_text(messages, tools)
        answer = await complete(told)
        # Tools were not offered natively, and yet called so. Reading the text would replace these calls.
        if self._append_only and answer.message.tool_calls:
            return replace(answer, message=mended(answer.message, tools), call_form="native")
        return _with_calls_read(answer, made, tools, "text", "text")


def _with_calls_read(
    answer: Completion, made: int, tools: Sequence[Tool], without: CallForm, with_calls: CallForm
) -> Completion:
    """An answer with the calls that stand in its text.

    Args:
        answer: the answer of a model.
        made: how many calls the conversation had before.
        tools: the tools that the model was told of.
        without: form of the answer where there are no calls in its text.
        with_calls: form of the answer where there are.
    """
    # Numbered on from the conversation's calls, so that no two of them have the same identifier.
    message = read_calls(answer.message, tools, first=made)
    if not message.tool_calls and not message.content.strip() and answer.finish_reason != "length":
        message = read_thought_calls(message, tools, first=made)
    if not message.tool_calls:
        return replace(answer, call_form=without)
    calls = tuple(replace(call, written=call not in answer.message.tool_calls) for call in message.tool_calls)
    said = answer.message.said or answer.message.content
    message = mended(replace(message, tool_calls=calls, said=said), tools)
    # An answer that was cut off stays one: its last call may lack a part.
    reason = answer.finish_reason if answer.finish_reason == "length" else "tool_calls"
    return replace(answer, message=message, finish_reason=reason, call_form=with_calls)


def as_said(messages: Sequence[Message]) -> list[Message]:
    """A conversation with the model's answers as it wrote them; results of calls in their text are the user's words."""
    out: list[Message] = []
    written: dict[str, str] = {}
    for message in messages:
        written |= {call.id: call.name for call in message.tool_calls if call.written}
        if message.role != "tool" or message.tool_call_id not in written:
            # Many endpoints want the user's messages and the model's by turns, so a message behind results joins them.
            # No request before held either, so that the conversation still only grows.
            if message.role == "user" and out and out[-1].content.startswith("<result ") and out[-1].role == "user":
                out[-1] = replace(message, content=f"{out[-1].content}\n{message.content}")
            else:
                out.append(message.as_said())
            continue
        result = _result(written[message.tool_call_id or ""], message.content)
        if out[-1].role == "user":
            result = replace(result, content=f"{out.pop().content}\n{result.content}")
        out.append(result)
    return out


def _result(name: str, text: str) -> Message:
    return Message("user", f'<result tool="{name}">\n{text}\n</result>')


def as_text(messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Message, ...]:
    """A conversation with tools as one without: tools, calls and results are texts of messages."""
    if not tools:
        return tuple(messages)
    system, *rest = with_tools_told(messages, tools)
    known = {tool.name: tool for tool in tools}
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    out = [system]
    for message in rest:
        if message.role == "tool":
            plain = _result(names.get(message.tool_call_id or "", ""), message.content)
        elif message.tool_calls:
            calls = "\n".join(write_call(call, known.get(call.name)) for call in message.tool_calls)
            plain = replace(message, content=f"{message.content}\n{calls}".strip(), tool_calls=())
        else:
            plain = message
        # Many endpoints want the user's messages and the model's by turns.
        if plain.role == "user" == out[-1].role:
            plain = replace(plain, content=f"{out.pop().content}\n{plain.content}")
        out.append(plain)
    return tuple(out)


def with_tools_told(messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Message, ...]:
    """A conversation whose system message says which tools there are, and how to call them in text."""
    told = _EXPLANATION.format(marker=MARKER, tools="\n".join(_describe(tool) for tool in tools))
    head, rest = (messages[0].content, messages[1:]) if messages and messages[0].role == "system" else ("", messages)
    return (Message("system", f"{head}\n\n{told}".strip()), *rest)


def write_call(call: ToolCall, tool: Tool | None = None) -> str:
    """A call as text.

    Args:
        call: the call to write.
        tool: the tool, whose parameters say which arguments are texts; None where it is not known, so that every
            argument with a text for its value is taken for one.
    """
    try:
        arguments = call.parsed()
    except ValueError:
        # As the model wrote it, so that it sees its own mistake.
        return f'<call tool="{call.name}">\n{call.arguments}\n</call>'
    plain = {key: isinstance(value, str) and (tool is None or key in tool.texts) for key, value in arguments.items()}
    parts = (f"<{key}>\n{value if plain[key] else json.dumps(value)}\n</{key}>" for key, value in arguments.items())
    return "\n".join((f'<call tool="{call.name}">', *parts, END_OF_CALL))


def read_calls(message: Message, tools: Sequence[Tool], *, first: int = 0) -> Message:
    """A message with the calls in its text as tool calls: in our form, or where there is none, in those of
    :mod:`.written_calls`.

    A call that cannot be read keeps its text as arguments, so that whoever makes it says what is wrong with it.

    Args:
        message: an answer; where it was cut off at its end, a last call without its end mark counts.
        tools: the tools, whose parameters say which arguments are texts.
        first: number of the first call.
    """
    text = message.content
    # The mark is missing where generation was cut off, or stopped at it.
    if text.rfind('<call tool="') > text.rfind(END_OF_CALL):
        text += END_OF_CALL
    known = {tool.name: tool for tool in tools}
    calls = tuple(
        ToolCall(f"text_{number}", name, _arguments(inner, known.get(name)))
        for number, (name, inner) in enumerate(_CALL.findall(text), first)
    )
    if not calls:
        return read_written_calls(message, tools, first=first)
    return replace(message, content=_CALL.sub("", text).strip(), tool_calls=calls)


def read_thought_calls(message: Message, tools: Sequence[Tool], *, first: int = 0) -> Message:
    """A message that says nothing, with the calls that its thoughts end with: where a model does not close its thoughts
    before it calls, a server takes the call for a part of them.

    Args:
        message: an answer without a text and without calls.
        tools: the tools; only calls of these are read.
        first: number of the first call.
    """
    tail = ending_calls(message.reasoning or "", _CALL)
    found = read_calls(replace(message, content=tail), tools, first=first).tool_calls if tail else ()
    known = [tool.name for tool in tools]
    calls = tuple(call for call in found if known_name(call.name, known) in known)
    # Anything but calls alone would be a thought about calls.
    return replace(message, tool_calls=calls) if calls and len(calls) == len(found) else message


def mended(message: Message, tools: Sequence[Tool]) -> Message:
    """A message with the names of its calls as the tools have them, where an endpoint left marks of a model's own form
    in them.
    """
    known = [tool.name for tool in tools]
    calls = []
    for call in message.tool_calls:
        name = known_name(call.name, known)
        calls.append(call if name == call.name else replace(call, name=name, wrote=call.name))
    return replace(message, tool_calls=tuple(calls))


def _arguments(inner: str, tool: Tool | None) -> str:
    """The arguments of a call as JSON text; the text as it is, where it cannot be read."""
    if tool is None:
        return inner.strip()
    values: dict[str, object] = {}
    for name, part in _parts(inner, list(tool.properties)):
        raw = part.removeprefix("\n").removesuffix("\n")
        if name in tool.texts:
            values[name] = raw
            continue
        try:
            values[name] = json.loads(raw)
        except (ValueError, RecursionError):
            return inner.strip()
    return json.dumps(values) if values or not inner.strip() else inner.strip()


def _parts(inner: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and text of each argument, as it stands between its marks; the last may hold any marks, even its own."""
    opened = sorted((inner.find(f"<{name}>"), name) for name in names if f"<{name}>" in inner)
    end = 0
    for number, (_, name) in enumerate(opened, 1):
        # Looked for behind the argument before, whose text may hold this one's mark too.
        start = inner.find(f"<{name}>", end)
        # The last argument ends at its last end mark, and so can be a program or a document of any content.
        find = inner.rfind if number == len(opened) else inner.find
        stop = find(f"</{name}>", start) if start >= 0 else -1
        if stop >= 0:
            yield name, inner[start + len(name) + 2 : stop]
            end = stop


def _describe(tool: Tool) -> str:
    return f"- {tool.name}: {tool.description} Arguments: {json.dumps(tool.properties, sort_keys=True)}"
