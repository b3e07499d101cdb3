r"""Calls of tools that a model wrote into its answer in the form it was trained on, and that its endpoint left there.

==============  =========================================================================================
Hermes, Qwen    ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``
Qwen coder      ``<tool_call><function=NAME><parameter=KEY>…</parameter></function></tool_call>``
Llama           ``<|python_tag|>{"name": …, "parameters": {…}}``, ``<function=NAME>{…}</function>``
Mistral         ``[TOOL_CALLS][{"name": …, "arguments": {…}}]``, ``[TOOL_CALLS]NAME[ARGS]{…}``
DeepSeek        ``<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME``, and a block of JSON
gpt-oss         ``<|channel|>commentary to=functions.NAME <|message|>{…}``
anybody         an answer, or a block in it, that is ``{"name": …, "arguments": {…}}`` and nothing else
==============  =========================================================================================

An answer is read as calls where nothing else can be meant: behind such a mark, or where the JSON names a tool that
there is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from openfingym.models.messages import Message, Tool, ToolCall, well_formed

_MARK = re.compile(
    r"""(?:<tool_call>\s*)?<function=(?P<function>[\w-]+)>\s*
    | (?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>function<｜tool▁sep｜>(?P<deepseek>[\w-]+)\s*(?:```(?:json)?\s*)?
    | (?:<\|start\|>assistant)?(?:<\|channel\|>\w+\s+)?\bto=functions\.(?P<harmony>[\w-]+)[^{]{0,80}?<\|message\|>\s*
    | \[TOOL_CALLS\]\s*(?P<mistral>[\w-]+)\s*+(?:\[CALL_ID\]\w+\s*)?\[ARGS\]\s*
    | (?:<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>)\s*(?=[\[{])""",  # noqa: E501
    re.VERBOSE,
)
"""What stands before the arguments and says the name, or before JSON that does."""
_CLOSE = re.compile(r"</tool_call>|</function>|```|<\|call\|>|<\|eom_id\|>|<\|eot_id\|>|<｜tool▁calls?▁end｜>")
_SPACE = re.compile(r"\s*")
_NEXT = re.compile(r"\s*(?:[;,]\s*)?(?=\{)")
_FENCE = re.compile(r"```(?:json|tool_calls?)?\s*(?=[\[{])")
_NAME = re.compile(r'"name"\s*:\s*"([\w-]+)"')
_PARAMETER = re.compile(r"<parameter=([\w-]+)>")
MOST_MARKS = 64
"""Places of an answer that are looked at: one that goes on and on must not keep everybody waiting."""
# Models write line breaks into the texts of their JSON.
_JSON = json.JSONDecoder(strict=False)

Call = tuple[str, str]
"""Name and arguments."""
Found = tuple[tuple[Call, ...], int]
"""Calls, and where the text goes on behind them."""


@dataclass(frozen=True)
class _Part:
    """Calls, and where in the text they stand."""

    calls: tuple[Call, ...]
    start: int
    end: int


def read_written_calls(message: Message, tools: Sequence[Tool], *, first: int = 0) -> Message:
    """A message with the calls in its text as tool calls; as it was, where there are none.

    What is marked as a call and is none keeps its text as arguments, so that whoever runs it says what is wrong with
    it.

    Args:
        message: the answer of a model.
        tools: the tools that the model was offered.
        first: number from which calls without an id are numbered.
    """
    text = message.content
    parts = [*_marked(text, tools)] or [*_unmarked(text, {tool.name for tool in tools})]
    if not parts:
        return message
    calls = (call for part in parts for call in part.calls)
    made = tuple(ToolCall(f"text_{number}", name, arguments) for number, (name, arguments) in enumerate(calls, first))
    between = zip([0, *(part.end for part in parts)], [*(part.start for part in parts), len(text)], strict=True)
    return replace(message, content="".join(text[start:end] for start, end in between).strip(), tool_calls=made)


def _marked(text: str, tools: Sequence[Tool]) -> Iterator[_Part]:
    """Calls behind marks."""
    end = 0
    for _ in range(MOST_MARKS):
        mark = _MARK.search(text, end)
        if mark is None:
            return
        name = next((value for value in mark.groupdict().values() if value), None)
        calls, end = (
            _named(text, mark.end(), name, tools) if name else _naming(text, mark.end()) or _broken(text, mark.end())
        )
        end = _past_its_end(text, end)
        if calls:
            yield _Part(calls, mark.start(), end)


def _unmarked(text: str, known: set[str]) -> Iterator[_Part]:
    """Calls of tools that there are, in an answer that is nothing but JSON, or in the first block of it that is."""
    body = len(text) - len(text.lstrip())
    for start, inner in (
        [(body, body)]
        if text[body : body + 1] in {"{", "["}
        else [mark.span() for mark in islice(_FENCE.finditer(text), MOST_MARKS)]
    ):
        calls, end = _naming(text, inner) or ((), inner)
        end = _past_its_end(text, end)
        if calls and known.issuperset(name for name, _ in calls) and (inner > start or not text[end:].strip()):
            yield _Part(calls, start, end)
            return


def _naming(text: str, start: int) -> Found | None:
    """Calls in JSON that says their names: in a list, or one after the other."""
    found: list[Call] = []
    end, following = start, _SPACE.match(text, start)
    while following is not None:
        try:
            value, stop = _JSON.raw_decode(text, following.end())
        except (ValueError, RecursionError):
            break
        calls = [_call(item) for item in (value if isinstance(value, list) else [value])]
        if None in calls:
            break
        found += [call for call in calls if call is not None]
        end, following = stop, _NEXT.match(text, stop)
    return (tuple(found), end) if found else None


def _broken(text: str, start: int) -> Found:
    """A call in what is no JSON, if it says a name."""
    close = _CLOSE.search(text, start)
    end = close.start() if close else len(text)
    name = _NAME.search(text, start, end)
    return ((name.group(1), text[start:end].strip()),) if name else (), end


def _named(text: str, start: int, name: str, tools: Sequence[Tool]) -> Found:
    """A call whose name is known, by its arguments: JSON, or marked one by one."""
    try:
        value, end = _JSON.raw_decode(text, start)
        return ((name, json.dumps(value)),), end
    except (ValueError, RecursionError):
        close = text.find("</function>", start)
    end = len(text) if close < 0 else close
    inner = text[start:end].strip()
    texts = {key for tool in tools if tool.name == name for key in tool.texts}
    _, *marked = _PARAMETER.split(inner)
    raw = {
        key: (part.rpartition("</parameter>")[0] or part).removeprefix("\n").removesuffix("\n")
        for key, part in zip(marked[::2], marked[1::2], strict=True)
    }
    values = {key: value if key in texts else _value(value) for key, value in raw.items()}
    return ((name, json.dumps(values) if values or not inner else inner),), end


def _call(value: object) -> Call | None:
    """A call that says its name."""
    inner = value.get("function", value) if isinstance(value, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        return None
    arguments = next((inner[key] for key in ("arguments", "parameters") if key in inner), None)
    if arguments is None and len(inner) > 1:
        return None
    written = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return well_formed(inner["name"]), well_formed(written)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _past_its_end(text: str, end: int) -> int:
    """Where a call ends with the marks that close it."""
    while close := _CLOSE.match(text, _SPACE.match(text, end).end()):  # type: ignore[union-attr]  # it always matches
        end = close.end()
    return end
