"""Requests to the stand-in as its policies see them, and what policies answer, in every form of conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from openfingym.errors import UsageError
from openfingym.models.messages import Message, Tool, ToolCall
from openfingym.models.text_tools import MARKER, read_calls

Form = Literal["tools", "text", "blocks", "single"]
"""Native tool calls; calls as text; one code block a turn; one answer."""

ANSWER_TOOL = "answer"
"""Name of the tool by which a question is answered."""
BLOCKS_MARKER = "one code block a turn"
"""Words of the system message by which a conversation in code blocks is known."""
_RESULT = re.compile(r'<result tool="([^"\n]*)">\n?(.*?)\n?</result>', re.DOTALL)
"""The result of a call, where calls are text."""
_EXPLAINED = re.compile(r"^- (\w+): .* Arguments: (\{.*\})$", re.MULTILINE)
"""A tool in the system message, where calls are text: its name, and the schemas of its arguments as JSON."""


@dataclass(frozen=True)
class Call:
    """A tool call that a policy wants to make."""

    name: str
    arguments: Mapping[str, object] | str
    """An object, or a text that is meant not to be JSON."""

    @property
    def text(self) -> str:
        """The arguments as they go over the wire."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Reply:
    """What a policy answers."""

    content: str = ""
    calls: tuple[Call, ...] = ()
    refusal: str | None = None
    """What is said in the field for refusals; None where nothing is refused."""
    endless: bool = False
    """Whether ``content`` is said again and again until somebody stops it."""

    def written(self, form: Callable[[str, str], str]) -> Reply:
        """The reply with its calls in the text.

        Args:
            form: writes a call from its name and its arguments.
        """
        return replace(
            self, content="\n".join((self.content, *(form(call.name, call.text) for call in self.calls))), calls=()
        )


@dataclass(frozen=True)
class CompletionRequest:
    """A request for one chat completion, in which calls that are text have been read."""

    form: Form
    messages: tuple[Message, ...]
    tools: Mapping[str, frozenset[str]]
    """Names of the arguments of each tool on offer, by the tool's name."""
    seed: int = 0
    """Seed of the request; 0 where it states none."""

    @classmethod
    def read(cls, body: Mapping[str, object]) -> CompletionRequest:
        """Read the body of a chat completion.

        Raises:
            UsageError: the body is no request for a chat completion.
        """
        items = body.get("messages")
        if not isinstance(items, list) or not items:
            raise UsageError("messages must be a list of one message or more")
        messages = tuple(_message(item) for item in items)
        seed = body.get("seed")
        tools = body.get("tools")
        form: Form = "single"
        names: dict[str, frozenset[str]] = {}
        system = messages[0].content if messages[0].role == "system" else ""
        if isinstance(tools, list) and tools:
            functions = [_mapping(_mapping(tool).get("function")) for tool in tools]
            form = "tools"
            names = {
                str(tool.get("name")): frozenset(_mapping(_mapping(tool.get("parameters")).get("properties")))
                for tool in functions
            }
        elif MARKER in system:
            explained = tuple(
                Tool(name, "", {"properties": json.loads(properties)})
                for name, properties in _EXPLAINED.findall(system.partition(MARKER)[2])
            )
            form, names = "text", {tool.name: frozenset(_mapping(tool.parameters["properties"])) for tool in explained}
            messages = _with_calls(messages, explained)
        elif BLOCKS_MARKER in system:
            form = "blocks"
        return cls(form, messages, names, seed if isinstance(seed, int) else 0)

    @property
    def turn(self) -> int:
        """How many answers were given so far."""
        return sum(message.role == "assistant" for message in self.messages)

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls that were made so far."""
        return tuple(call for message in self.messages for call in message.tool_calls)

    @property
    def text(self) -> str:
        """Everything that was told to the model, as one text."""
        return "\n".join(message.content for message in self.messages if message.role != "assistant")

    @property
    def last(self) -> str:
        """The latest message."""
        return self.messages[-1].content

    def called(self, name: str) -> int:
        """How often a tool was called so far."""
        return sum(call.name == name for call in self.calls)


def _message(value: object) -> Message:
    item = _mapping(value)
    role, content = item.get("role"), item.get("content")
    if role == "developer":
        role = "system"
    if role not in {"system", "user", "assistant", "tool"}:
        raise UsageError(f"role must be system, user, assistant or tool, found {role!r}")
    if isinstance(content, list):
        content = "".join(str(_mapping(part).get("text", "")) for part in content)
    functions = [
        (_mapping(call), _mapping(_mapping(call).get("function"))) for call in _sequence(item.get("tool_calls"))
    ]
    calls = tuple(
        ToolCall(str(call.get("id")), str(function.get("name")), str(function.get("arguments")))
        for call, function in functions
    )
    return Message(role, str(content or ""), calls, str(item["tool_call_id"]) if "tool_call_id" in item else None)


def _with_calls(messages: tuple[Message, ...], tools: tuple[Tool, ...]) -> tuple[Message, ...]:
    """A conversation whose calls and results are text, with messages as if they were native."""
    out: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            out.append(read_calls(message, tools, first=len(out)))
            continue
        results = _RESULT.findall(message.content) if message.role == "user" else []
        out += [replace(message, role="tool", content=content) for _, content in results]
        rest = _RESULT.sub("", message.content).strip()
        if rest or not results:
            out.append(replace(message, content=rest) if results else message)
    return tuple(out)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def asks_in_words(request: CompletionRequest) -> bool:
    """Whether a request is a question that is answered in the text of a message."""
    return (
        not request.tools
        and BLOCKS_MARKER not in request.text
        and ("Final Answer:" in request.text or "<answer>" in request.text)
    )
