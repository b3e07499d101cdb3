"""Tools for models that have none: calls written as text.

The tools are told in the system message; a call is an element of the answer, whose parts are the
arguments, and which needs no escaping::

    <call tool="write_file">
    <path>notes.txt</path>
    <content>
    <b>anything</b>, "quoted" or not
    </content>
    </call>

A text argument is what stands between its marks, without the line breaks next to them; any other is JSON. What no argument
can hold is the end of a call, and only the last may hold its own end.
The result comes back as a user's message, ``<result tool="write_file">…</result>``.

:class:`TextToolModel` makes a model that speaks so look like one that calls tools natively.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from openfingym.models.messages import Completion, Message, Tool, ToolCall
from openfingym.models.model import Model

MARKER = "You call tools by writing them as text."
"""First line of what the system message is given."""
END_OF_CALL = "</call>"
_CALL = re.compile(r'<call tool="([^"\n]*)">(.*?)</call>', re.DOTALL)
_EXPLANATION = """{marker}
A call is written exactly like this, at the end of your answer, and only what it asks for happens:

<call tool="NAME">
<ARGUMENT>
value
</ARGUMENT>
</call>

Texts stand as they are, without quotes or escapes; other values are JSON. Write one call, then stop and wait: its result comes with the
next message. The tools:

{tools}"""


class TextToolModel:
    """A model whose tool calls are text, as one that calls tools natively; see :class:`openfingym.models.Model`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
    ) -> Completion:
        """Continue a conversation; the calls found in the answer are taken out of its text."""
        found = await self._model.complete(as_text(messages, tools), max_tokens=max_tokens, temperature=temperature, seed=seed, stop=stop)
        if not tools:
            return found
        # Calls of one conversation need names of their own.
        message = read_calls(found.message, tools, first=sum(len(message.tool_calls) for message in messages))
        return replace(found, message=message, finish_reason="tool_calls" if message.tool_calls else found.finish_reason)


def as_text(messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Message, ...]:
    """A conversation with tools as one without."""
    if not tools:
        return tuple(messages)
    told = _EXPLANATION.format(marker=MARKER, tools="\n".join(_describe(tool) for tool in tools))
    head, rest = (messages[0].content, messages[1:]) if messages and messages[0].role == "system" else ("", messages)
    known = {tool.name: tool for tool in tools}
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    out = [Message("system", f"{head}\n\n{told}".strip())]
    for message in rest:
        if message.role == "tool":
            out.append(Message("user", f'<result tool="{names.get(message.tool_call_id or "", "")}">\n{message.content}\n</result>'))
        elif message.tool_calls:
            calls = "\n".join(write_call(call, known.get(call.name)) for call in message.tool_calls)
            out.append(Message(message.role, f"{message.content}\n{calls}".strip()))
        else:
            out.append(message)
    return tuple(out)


def write_call(call: ToolCall, tool: Tool | None = None) -> str:
    """A call as text.

    Args:
        call: what is called.
        tool: its parameters say which arguments are texts; without it, all that are text are.
    """
    try:
        arguments = call.parsed()
    except ValueError:
        return f'<call tool="{call.name}">\n{call.arguments}\n</call>'
    plain = {key: isinstance(value, str) and (tool is None or _is_text(tool, key)) for key, value in arguments.items()}
    parts = (f"<{key}>\n{value if plain[key] else json.dumps(value)}\n</{key}>" for key, value in arguments.items())
    return "\n".join((f'<call tool="{call.name}">', *parts, END_OF_CALL))


def read_calls(message: Message, tools: Sequence[Tool], *, first: int = 0) -> Message:
    """A message with the calls in its text as tool calls.

    What is no proper call keeps its text as arguments, so that whoever runs it says what is wrong with it.

    Args:
        message: an answer; where it was cut at its end, a last call without its end counts.
        tools: their parameters say which arguments are texts.
        first: number of the first call.
    """
    text = message.content
    if text.rfind('<call tool="') > text.rfind(END_OF_CALL):
        text += END_OF_CALL
    known = {tool.name: tool for tool in tools}
    calls = tuple(
        ToolCall(f"text_{number}", name, _arguments(inner, known.get(name)))
        for number, (name, inner) in enumerate(_CALL.findall(text), first)
    )
    return replace(message, content=_CALL.sub("", text).strip(), tool_calls=calls) if calls else message


def _arguments(inner: str, tool: Tool | None) -> str:
    """The arguments of a call as JSON text."""
    if tool is None:
        return inner.strip()
    values: dict[str, object] = {}
    for name, part in _parts(inner, list(_properties(tool))):
        raw = part.removeprefix("\n").removesuffix("\n")
        if _is_text(tool, name):
            values[name] = raw
            continue
        try:
            values[name] = json.loads(raw)
        except (ValueError, RecursionError):
            return inner.strip()
    return json.dumps(values) if values or not inner.strip() else inner.strip()


def _parts(inner: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What stands between the marks of each argument; the last may hold any marks, its own included."""
    found = sorted((inner.find(f"<{name}>"), name) for name in names if f"<{name}>" in inner)
    end = 0
    for number, (_, name) in enumerate(found, 1):
        start = inner.find(f"<{name}>", end)
        find = inner.rfind if number == len(found) else inner.find
        stop = find(f"</{name}>", start) if start >= 0 else -1
        if stop >= 0:
            yield name, inner[start + len(name) + 2 : stop]
            end = stop


def _describe(tool: Tool) -> str:
    return f"- {tool.name}: {tool.description} Arguments: {json.dumps(_properties(tool), sort_keys=True)}"


def _properties(tool: Tool) -> Mapping[str, object]:
    found = tool.parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def _is_text(tool: Tool, argument: str) -> bool:
    schema = _properties(tool).get(argument)
    return isinstance(schema, Mapping) and schema.get("type") == "string"
