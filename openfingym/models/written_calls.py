r"""Calls of tools in the text of an answer, in the form that the model was trained on, where its endpoint left them.

==============  =========================================================================================
Hermes, Qwen    ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``
Qwen coder      ``<tool_call><function=NAME><parameter=KEY>…</parameter></function></tool_call>``
Llama           ``<|python_tag|>{"name": …, "parameters": {…}}``, ``<function=NAME>{…}</function>``
Mistral         ``[TOOL_CALLS][{"name": …, "arguments": {…}}]``, ``[TOOL_CALLS]NAME[ARGS]{…}``
DeepSeek        ``<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME``, and a block of JSON
gpt-oss         ``<|channel|>commentary to=functions.NAME <|message|>{…}``
anybody         an answer, or a block in it, that is ``{"name": …, "arguments": {…}}`` and nothing else
==============  =========================================================================================

An answer is read as calls only where nothing else can be meant: behind such a mark, or where the JSON names a tool that
exists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from openfingym.models.messages import Message, Tool, ToolCall, well_formed

_MARK = re.compile(
    # In the order in which a mark is tried: one that says the name before one that leaves that to the JSON behind it.
    # The blanks behind a Mistral name are possessive (``*+``), and what stands between a channel and its message is
    # bounded, so that no answer makes the search take long.
    r"""(?:<tool_call>\s*)?<function=(?P<function>[\w-]+)>\s*
    | (?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>function<｜tool▁sep｜>(?P<deepseek>[\w-]+)\s*
      (?:```(?:json)?\s*)?
    | (?:<\|start\|>assistant)?(?:<\|channel\|>\w+\s+)?\bto=functions\.(?P<harmony>[\w-]+)[^{]{0,80}?<\|message\|>\s*
    | \[TOOL_CALLS\]\s*(?P<mistral>[\w-]+)\s*+(?:\[CALL_ID\]\w+\s*)?\[ARGS\]\s*
    | (?:<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>)\s*(?=[\[{])""",
    re.VERBOSE,
)
"""What stands before the arguments and says the name, or before JSON that says it."""
_CLOSE = re.compile(r"</tool_call>|</function>|```|<\|call\|>|<\|eom_id\|>|<\|eot_id\|>|<｜tool▁calls?▁end｜>")
"""A mark that closes a call."""
_SPACE = re.compile(r"\s*")
_NEXT = re.compile(r"\s*(?:[;,]\s*)?(?=\{)")
"""What stands between two calls in JSON that are not in a list."""
_FENCE = re.compile(r"```(?:json|tool_calls?)?\s*(?=[\[{])")
"""The beginning of a fenced block of JSON."""
_NAME = re.compile(r'"name"\s*:\s*"([\w-]+)"')
_PARAMETER = re.compile(r"<parameter=([\w-]+)>")
_PREFIX = re.compile(r"^(?:(?:functions?|default_api|tools?|namespace)[.:])+")
"""What models put before the name of a tool, as they were trained to."""
_NUMBER = re.compile(r":\d+$")
"""The number of a call within the conversation, which Kimi's models write behind the name."""
MOST_MARKS = 64
"""Most places of an answer that are looked at: one that goes on and on must not keep everybody waiting."""
# Not strict: models write line breaks into the texts of their JSON.
_JSON = json.JSONDecoder(strict=False)

Call = tuple[str, str]
"""Name of the tool, and JSON text of the arguments."""
CallsAndEnd = tuple[tuple[Call, ...], int]
"""Calls that were read, and where the text goes on behind them."""


@dataclass(frozen=True)
class _Part:
    """Calls, and the part of the text that they were read from."""

    calls: tuple[Call, ...]
    start: int
    end: int


def read_written_calls(message: Message, tools: Sequence[Tool], *, first: int = 0) -> Message:
    """A message with the calls in its text as tool calls; as it was, where there are none.

    A marked call that cannot be read keeps its text as arguments, so that whoever makes it says what is wrong with it.

    Args:
        message: the answer of a model.
        tools: the tools that the model was offered.
        first: number of the first call.
    """
    text = message.content
    parts = [*_marked(text, tools)] or [*_unmarked(text, {tool.name for tool in tools})]
    if not parts:
        return message
    calls = (call for part in parts for call in part.calls)
    made = tuple(ToolCall(f"text_{number}", name, arguments) for number, (name, arguments) in enumerate(calls, first))
    # The text between the parts is what the model said beside its calls.
    between = zip([0, *(part.end for part in parts)], [*(part.start for part in parts), len(text)], strict=True)
    return replace(message, content="".join(text[start:end] for start, end in between).strip(), tool_calls=made)


def known_name(name: str, known: Collection[str]) -> str:
    """The name of a tool, without what models and endpoints put before or behind it; as it is where that is no tool.

    Args:
        name: the name as it came, such as ``functions.NAME:0``, ``default_api.NAME`` or ``NAME<|channel|>commentary``.
        known: names of the tools that there are.
    """
    if name in known:
        return name
    bare = name.partition("<|")[0].strip().strip("\"'`")
    bare = _PREFIX.sub("", bare)
    return next((found for found in (bare, _NUMBER.sub("", bare)) if found in known), name)


def ending_calls(text: str, written: re.Pattern[str]) -> str:
    """The part of a text with the calls that it ends with, directly behind each other; empty where it ends otherwise.

    Args:
        text: what a model thought.
        written: a call in the form of calls as text.
    """
    parts = [mark.span() for mark in islice(written.finditer(text), MOST_MARKS)]
    parts = parts or [(part.start, part.end) for part in _marked(text, ())]
    start = len(text)
    for begin, end in reversed(parts):
        if text[end:start].strip():
            break
        start = begin
    return text[start:]


def may_hold_calls(text: str) -> bool:
    """Whether a text may hold a call in any form, whatever the tools are."""
    return bool(_MARK.search(text) or _NAME.search(text) or "<call tool=" in text)


def _marked(text: str, tools: Sequence[Tool]) -> Iterator[_Part]:
    """The calls that stand behind marks."""
    end = 0
    for _ in range(MOST_MARKS):
        mark = _MARK.search(text, end)
        if mark is None:
            return
        # The name is in the mark, or in the JSON behind it, or at least in what should have been JSON.
        name = next((value for value in mark.groupdict().values() if value), None)
        calls, end = (
            _call_of(text, mark.end(), name, tools)
            if name
            else _calls_in_json(text, mark.end()) or _broken_call(text, mark.end())
        )
        end = _past_its_end(text, end)
        if calls:
            yield _Part(calls, mark.start(), end)


def _unmarked(text: str, known: set[str]) -> Iterator[_Part]:
    """Calls of tools that exist, in an answer that is nothing but JSON, or in its first fenced block that is."""
    body = len(text) - len(text.lstrip())
    for start, inner in (
        [(body, body)]
        if text[body : body + 1] in {"{", "["}
        else [mark.span() for mark in islice(_FENCE.finditer(text), MOST_MARKS)]
    ):
        calls, end = _calls_in_json(text, inner) or ((), inner)
        end = _past_its_end(text, end)
        # Without a mark, JSON may be an example or data: only names that are all known make it a call, and outside of a
        # block nothing may follow it.
        named = known.issuperset(known_name(name, known) for name, _ in calls)
        if calls and named and (inner > start or not text[end:].strip()):
            yield _Part(calls, start, end)
            return


def _calls_in_json(text: str, start: int) -> CallsAndEnd | None:
    """Calls in JSON that says their names, in a list or one after the other; None where there are none."""
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


def _broken_call(text: str, start: int) -> CallsAndEnd:
    """A call in a text that is no JSON, if it says a name."""
    close = _CLOSE.search(text, start)
    end = close.start() if close else len(text)
    name = _NAME.search(text, start, end)
    return ((name.group(1), text[start:end].strip()),) if name else (), end


def _call_of(text: str, start: int, name: str, tools: Sequence[Tool]) -> CallsAndEnd:
    """The call of a tool whose name the mark has said; its arguments are JSON, or have a mark each."""
    try:
        value, end = _JSON.raw_decode(text, start)
        return ((name, json.dumps(value)),), end
    except (ValueError, RecursionError):
        close = text.find("</function>", start)
    end = len(text) if close < 0 else close
    inner = text[start:end].strip()
    texts = {key for tool in tools if tool.name == name for key in tool.texts}
    # Split at its group, the text is: what is before the first mark, then name and value by turns.
    _, *marked = _PARAMETER.split(inner)
    raw = {
        key: (part.rpartition("</parameter>")[0] or part).removeprefix("\n").removesuffix("\n")
        for key, part in zip(marked[::2], marked[1::2], strict=True)
    }
    values = {key: value if key in texts else _value(value) for key, value in raw.items()}
    return ((name, json.dumps(values) if values or not inner else inner),), end


def _call(value: object) -> Call | None:
    """The call that a JSON value is; None where it is none."""
    # Some models write the call as OpenAI's API has it, within "function".
    inner = value.get("function", value) if isinstance(value, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        return None
    arguments = next((inner[key] for key in ("arguments", "parameters") if key in inner), None)
    # An object with a name and other fields is data, and no call without arguments.
    if arguments is None and len(inner) > 1:
        return None
    written = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return well_formed(inner["name"]), well_formed(written)


def _value(text: str) -> object:
    """The value of a text as JSON; the text itself, where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _past_its_end(text: str, end: int) -> int:
    """Where a call ends, with the marks that close it."""
    while close := _CLOSE.match(text, _SPACE.match(text, end).end()):  # type: ignore[union-attr]  # it always matches
        end = close.end()
    return end
