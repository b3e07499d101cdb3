"""Chat completions on the wire: requests from messages, messages from answers.

Endpoints that call themselves compatible differ in what they leave out, so answers are read with
care; what is no answer at all raises :class:`MalformedAnswer`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack, get_args

from openfingym.models.messages import CompletionTokens, FinishReason, Message, Tool, ToolCall, Usage, well_formed
from openfingym.models.model import CompletionOptions

MAX_CONTENT = 1_000_000
"""Characters kept of one answer; one that goes on for longer counts as cut off (``length``)."""

Json = dict[str, object]
REASONING = "reasoning_content"
"""Field of a message that holds what the model thought, under the name that most endpoints have for it."""
ASKING_FOR_TOKENS: Json = {"logprobs": True, "return_token_ids": True}
"""What asks for token ids and log probabilities; the second is vLLM's own."""


class MalformedAnswer(ValueError):  # noqa: N818  # the name says what was found
    """The endpoint's answer is no chat completion."""


@dataclass(frozen=True)
class ParsedCompletion:
    """One answer as it was read."""

    message: Message
    finish_reason: FinishReason
    usage: Usage | None
    """None where the endpoint did not count."""
    model: str
    tokens: CompletionTokens


def request_message(message: Message, *, reasoning: bool = False) -> Json:
    """A message as the endpoint wants it; with ``reasoning``, what the model thought is in it."""
    if message.role == "tool":
        return {"role": "tool", "content": message.content, "tool_call_id": message.tool_call_id or ""}
    body: Json = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["content"] = message.content or None
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if reasoning and message.reasoning:
        body[REASONING] = message.reasoning
    return body


def request_tool(tool: Tool) -> Json:
    """A tool as the endpoint wants it."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
    }


def request_body(
    model: str, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
) -> Json:
    """The body of a chat completion, without what is left to the endpoint."""
    reasoning = options.pop("reasoning", False)
    body: Json = {"model": model, "messages": [request_message(message, reasoning=reasoning) for message in messages]}
    if tools:
        body["tools"] = [request_tool(tool) for tool in tools]
    stated = {**options, "stop": list(options.get("stop", ())) or None}
    return body | {key: value for key, value in stated.items() if value is not None}


def _renamed(body: Json) -> Json:
    """With the newer name of ``max_tokens``."""
    return {"max_completion_tokens" if key == "max_tokens" else key: value for key, value in body.items()}


def _seedless(body: Json) -> Json:
    return {key: value for key, value in body.items() if key != "seed"}


def _folded(body: Json) -> Json:
    """With the system's message at the head of the user's first."""
    first, *rest = [_object(message, "a message") for message in _list(body["messages"])]
    if first["role"] != "system":
        return body
    following = _text(rest.pop(0)["content"]) if rest and rest[0]["role"] == "user" else ""
    return body | {"messages": [{"role": "user", "content": f"{first['content']}\n\n{following}".strip()}, *rest]}


def _uncounted(body: Json) -> Json:
    return {key: value for key, value in body.items() if key != "stream_options"}


def _without_ids(body: Json) -> Json:
    return {key: value for key, value in body.items() if key != "return_token_ids"}


def _without_logprobs(body: Json) -> Json:
    return {key: value for key, value in body.items() if key != "logprobs"}


def _thoughtless(body: Json) -> Json:
    messages = [_object(message, "a message") for message in _list(body["messages"])]
    return body | {"messages": [{key: part[key] for key in part if key != REASONING} for part in messages]}


ADAPTATIONS: Mapping[str, Callable[[Json], Json]] = {
    "max_tokens": _renamed,
    "seed": _seedless,
    "system": _folded,
    "stream_options": _uncounted,
    "return_token_ids": _without_ids,
    "logprobs": _without_logprobs,
    REASONING: _thoughtless,
}
"""What some models refuse, by the word that they say, and how a request does without."""


def read_answer(document: object) -> ParsedCompletion:
    """Read the body of an answer.

    Raises:
        MalformedAnswer: it is no chat completion.
    """
    body = _object(document, "the answer")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise MalformedAnswer("the answer holds no choices")
    choice = _object(choices[0], "the first choice")
    said = _object(choice.get("message"), "its message")
    calls = _read_calls(_list(said.get("tool_calls")))
    content, refusal = _text(said.get("content")), _text(said.get("refusal"))
    reason = _finish_reason(choice.get("finish_reason"), calls=bool(calls), refused=bool(refusal) and not content)
    if len(content) > MAX_CONTENT:
        content, reason = content[:MAX_CONTENT], "length"
    thought, whole = _text(said.get(REASONING)) or _text(said.get("reasoning")), None
    if not thought:
        whole, (thought, content) = content, _thought(content)
    message = Message("assistant", content or refusal, calls, reasoning=thought or None)
    return ParsedCompletion(
        message=message if whole is None or whole == content else replace(message, said=whole, thought_aloud=True),
        finish_reason=reason,
        usage=_read_usage(body.get("usage")),
        model=_text(body.get("model")),
        tokens=_read_tokens(body, choice),
    )


def _thought(content: str) -> tuple[str, str]:
    """What a model thought and what it said, where the endpoint tells them apart by marks alone, the first of which may
    be missing.
    """
    thought, mark, said = content.partition("</think>")
    if mark:
        return thought.strip().removeprefix("<think>").strip(), said.lstrip()
    return (
        (content.strip().removeprefix("<think>").strip(), "")
        if content.lstrip().startswith("<think>")
        else ("", content)
    )


class StreamedAnswer:
    """Puts the chunks of a streamed answer together to the body of one that was not."""

    def __init__(self) -> None:
        self._body: Json = {}
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[dict[str, str]] = []
        self._logprobs: list[object] = []
        self._ids: list[object] = []
        self._places: dict[int, int] = {}
        """Position of the latest call of each index that the endpoint numbers calls by."""
        self._finish: object = None
        self._length = 0

    @property
    def too_long(self) -> bool:
        """Whether more was said than is kept."""
        return self._length > MAX_CONTENT

    @property
    def finished(self) -> bool:
        """Whether the endpoint said that the answer is complete."""
        return self._finish is not None

    def add(self, chunk: object) -> None:
        """Take the next chunk.

        Raises:
            MalformedAnswer: the chunk is not one of a chat completion.
        """
        body = _object(chunk, "a chunk")
        self._body |= {key: body[key] for key in ("model", "usage", "prompt_token_ids") if body.get(key)}
        for item in _list(body.get("choices")):
            choice = _object(item, "a choice")
            self._finish = choice.get("finish_reason") or self._finish
            self._logprobs += _entries(choice.get("logprobs"))
            self._ids += _list(choice.get("token_ids"))
            delta = _object(choice.get("delta") or {}, "a delta")
            thought = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
            for parts, part in (
                (self._content, _text(delta.get("content"))),
                (self._reasoning, thought),
                (self._refusal, _text(delta.get("refusal"))),
            ):
                parts.append(part)
                self._length += len(part)
            for call in _list(delta.get("tool_calls")):
                self._add_call(_object(call, "a tool call"))

    def body(self) -> Json:
        """The whole answer."""
        calls = [{"id": call.pop("id"), "function": call} for call in self._calls]
        message = {
            "content": "".join(self._content),
            "reasoning_content": "".join(self._reasoning),
            "refusal": "".join(self._refusal),
            "tool_calls": calls,
        }
        choice: Json = {"message": message, "finish_reason": self._finish}
        if self._logprobs:
            choice["logprobs"] = {"content": self._logprobs}
        if self._ids:
            choice["token_ids"] = self._ids
        return self._body | {"choices": [choice]}

    def _add_call(self, part: Mapping[str, object]) -> None:
        index, name = part.get("index"), _text(part.get("id"))
        place = index if isinstance(index, int) else 0
        position = self._places.get(place)
        # Some endpoints number no calls, or all of them 0: then a new id begins a new call.
        if position is None or (name and self._calls[position]["id"] not in {"", name}):
            position = self._places[place] = len(self._calls)
            self._calls.append({"id": "", "name": "", "arguments": ""})
        call = self._calls[position]
        function = _object(part.get("function") or {}, "a tool call's function")
        call["id"] = call["id"] or name
        call["name"] += _text(function.get("name"))
        call["arguments"] += _text(function.get("arguments"))
        self._length += len(_text(function.get("arguments")))


def _read_calls(values: list[object]) -> tuple[ToolCall, ...]:
    calls: dict[str, ToolCall] = {}
    for number, value in enumerate(values):
        call = _object(value, "a tool call")
        function = _object(call.get("function"), "a tool call's function")
        arguments = function.get("arguments")
        # Some endpoints decode the arguments that the model wrote, and some name no call, or two alike.
        text = json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)
        name = _text(call.get("id"))
        name = name if name and name not in calls else f"{name or 'call'}_{number}"
        calls[name] = ToolCall(name, _text(function.get("name")), text)
    return tuple(calls.values())


def _finish_reason(stated: object, *, calls: bool, refused: bool) -> FinishReason:
    if refused:
        return "refusal"
    if calls and stated != "length":
        return "tool_calls"
    known: Iterable[FinishReason] = get_args(FinishReason)
    return next((reason for reason in known if reason == stated), "stop")


def _read_usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    details = (value.get("prompt_tokens_details"), value.get("completion_tokens_details"))
    prompt_details, completion_details = (item if isinstance(item, Mapping) else {} for item in details)
    prompt, completion = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    return Usage(
        prompt=prompt,
        completion=completion,
        cached=min(prompt, _count(prompt_details.get("cached_tokens"))),
        reasoning=min(completion, _count(completion_details.get("reasoning_tokens"))),
    )


def _read_tokens(body: Mapping[str, object], choice: Mapping[str, object]) -> CompletionTokens:
    """Token ids where vLLM's ``return_token_ids`` gave them, log probabilities where ``logprobs`` did."""
    entries = _entries(choice.get("logprobs"))
    found = [entry.get("logprob") for entry in entries if isinstance(entry, Mapping)]
    logprobs = tuple(float(item) for item in found if isinstance(item, int | float) and math.isfinite(item))
    completion_ids = tuple(_count(item) for item in _list(choice.get("token_ids")))
    return CompletionTokens(
        prompt_ids=tuple(_count(item) for item in _list(body.get("prompt_token_ids"))),
        completion_ids=completion_ids,
        # Some endpoints leave out those of tool calls; which token a probability belongs to is then unknown.
        logprobs=logprobs
        if len(logprobs) == len(entries) and (not completion_ids or len(logprobs) == len(completion_ids))
        else (),
    )


def _entries(value: object) -> list[object]:
    """What is told of each token of an answer."""
    return _list(value.get("content")) if isinstance(value, Mapping) else []


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise MalformedAnswer(f"{what} is no JSON object")
    return value


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """A text, also where it comes in parts."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return well_formed(value) if isinstance(value, str) else ""


def _count(value: object) -> int:
    return max(0, value) if isinstance(value, int) else 0
