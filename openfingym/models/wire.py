"""Chat completions on the wire: bodies of requests from messages, and messages from bodies of answers.

Endpoints that call themselves compatible differ in what they leave out, so reading is lenient; a body that is no chat
completion at all raises :class:`MalformedAnswer`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack, get_args

from openfingym.models.messages import CompletionTokens, FinishReason, Message, Tool, ToolCall, Usage, well_formed
from openfingym.models.model import CompletionOptions

MAX_CONTENT = 1_000_000
"""Most characters that are kept of one answer; a longer one counts as cut off (``length``)."""
MOST_TOKENS = 10_000_000
"""Most tokens that are believed of one answer: several times what any model takes. Of what an endpoint states, a run
would otherwise be held to have used up its budget, or no figure could hold it."""
MOST_NATS = 1e9
"""Largest magnitude that is read of a logarithm of a probability."""

Json = dict[str, object]
REASONING = "reasoning_content"
"""Field of a message that holds what the model thought, under the name that most endpoints give it."""
ASKING_FOR_TOKENS: Json = {"logprobs": True, "return_token_ids": True}
"""Parameters of a request that ask for log probabilities and for token ids; the second is vLLM's own."""


class MalformedAnswer(ValueError):  # noqa: N818  # the name says what was found
    """The endpoint's answer is no chat completion."""


@dataclass(frozen=True)
class ParsedCompletion:
    """One answer as it was read."""

    message: Message
    finish_reason: FinishReason
    usage: Usage | None
    """Tokens as the endpoint counted them; None where it did not count."""
    model: str
    """The model's name as the endpoint states it; empty where it does not."""
    tokens: CompletionTokens
    """Token ids and log probabilities; empty where the endpoint does not tell them."""


def request_message(message: Message, *, reasoning: bool = False) -> Json:
    """A message in OpenAI's form; with ``reasoning``, what the model thought is in it."""
    if message.role == "tool":
        return {"role": "tool", "content": message.content, "tool_call_id": message.tool_call_id or ""}
    body: Json = {"role": message.role, "content": message.content}
    if message.tool_calls:
        # Null and not empty: some endpoints refuse an empty content beside calls.
        body["content"] = message.content or None
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if reasoning and message.reasoning:
        body[REASONING] = message.reasoning
    return body


def request_tool(tool: Tool) -> Json:
    """A tool in OpenAI's form."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
    }


def request_body(
    model: str, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
) -> Json:
    """The body of a request for a chat completion, without the options that are left to the endpoint."""
    reasoning = options.pop("reasoning", False)
    body: Json = {"model": model, "messages": [request_message(message, reasoning=reasoning) for message in messages]}
    if tools:
        body["tools"] = [request_tool(tool) for tool in tools]
    stated = {**options, "stop": list(options.get("stop", ())) or None}
    return body | {key: value for key, value in stated.items() if value is not None}


def _with_new_name_of_max_tokens(body: Json) -> Json:
    return {"max_completion_tokens" if key == "max_tokens" else key: value for key, value in body.items()}


def _with_system_in_user(body: Json) -> Json:
    """The request with the system message at the head of the user's first message."""
    first, *rest = [_object(message, "a message") for message in _list(body["messages"])]
    if first["role"] != "system":
        return body
    following = _text(rest.pop(0)["content"]) if rest and rest[0]["role"] == "user" else ""
    return body | {"messages": [{"role": "user", "content": f"{first['content']}\n\n{following}".strip()}, *rest]}


def _without(parameter: str) -> Callable[[Json], Json]:
    return lambda body: {key: value for key, value in body.items() if key != parameter}


def _without_reasoning(body: Json) -> Json:
    messages = [_object(message, "a message") for message in _list(body["messages"])]
    return body | {"messages": [{key: part[key] for key in part if key != REASONING} for part in messages]}


ADAPTATIONS: Mapping[str, Callable[[Json], Json]] = {
    "max_tokens": _with_new_name_of_max_tokens,
    "seed": _without("seed"),
    "system": _with_system_in_user,
    "stream_options": _without("stream_options"),
    "return_token_ids": _without("return_token_ids"),
    "logprobs": _without("logprobs"),
    REASONING: _without_reasoning,
}
"""What some models do not take, by the word that their refusal has for it, and how a request does without it."""


def read_answer(document: object) -> ParsedCompletion:
    """Read the body of an answer.

    Raises:
        MalformedAnswer: the document is no chat completion.
    """
    body = _object(document, "the answer")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise MalformedAnswer("the answer holds no choices")
    choice = _object(choices[0], "the first choice")
    answer = _object(choice.get("message"), "its message")
    calls = _read_calls(_list(answer.get("tool_calls")))
    content, refusal = _text(answer.get("content")), _text(answer.get("refusal"))
    reason = _finish_reason(choice.get("finish_reason"), calls=bool(calls), refused=bool(refusal) and not content)
    if len(content) > MAX_CONTENT:
        content, reason = content[:MAX_CONTENT], "length"
    # Thoughts come in a field of their own, under one of two names, or as a marked part of the content.
    thought, whole = _text(answer.get(REASONING)) or _text(answer.get("reasoning")), None
    if not thought:
        whole, (thought, content) = content, _split_thought(content)
    message = Message("assistant", content or refusal, calls, reasoning=thought or None)
    return ParsedCompletion(
        message=message if whole is None or whole == content else replace(message, said=whole, thought_aloud=True),
        finish_reason=reason,
        usage=_read_usage(body.get("usage")),
        model=_text(body.get("model")),
        tokens=_read_tokens(body, choice),
    )


def _split_thought(content: str) -> tuple[str, str]:
    """What a model thought and what it said, where marks in the content alone tell them apart; the first mark may be
    missing.
    """
    thought, mark, said = content.partition("</think>")
    if mark:
        return thought.strip().removeprefix("<think>").strip(), said.lstrip()
    # Opened and never closed: the answer was cut off within the thought, and nothing was said.
    return (
        (content.strip().removeprefix("<think>").strip(), "")
        if content.lstrip().startswith("<think>")
        else ("", content)
    )


class StreamedAnswer:
    """Puts the chunks of a streamed answer together to the body of one that was sent as a whole."""

    def __init__(self) -> None:
        self._body: Json = {}
        """Fields beside the choices, as the latest chunk states them."""
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[dict[str, str]] = []
        """``id``, ``name`` and ``arguments`` of each call, as far as they came."""
        self._logprobs: list[object] = []
        self._ids: list[object] = []
        self._positions: dict[int, int] = {}
        """Position in the list of the latest call of each index by which the endpoint numbers calls."""
        self._finish: object = None
        self._length = 0
        """Characters of text and arguments that came."""

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
        # The last chunk holds the usage, and no choices.
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
        """Add a piece of a call: the first has its identifier and its name, the others parts of its arguments."""
        index, call_id = part.get("index"), _text(part.get("id"))
        number = index if isinstance(index, int) else 0
        position = self._positions.get(number)
        # Some endpoints number no calls, or all of them 0: then a new id begins a new call.
        if position is None or (call_id and self._calls[position]["id"] not in {"", call_id}):
            position = self._positions[number] = len(self._calls)
            self._calls.append({"id": "", "name": "", "arguments": ""})
        call = self._calls[position]
        function = _object(part.get("function") or {}, "a tool call's function")
        call["id"] = call["id"] or call_id
        call["name"] += _text(function.get("name"))
        call["arguments"] += _text(function.get("arguments"))
        self._length += len(_text(function.get("arguments")))


def _read_calls(values: list[object]) -> tuple[ToolCall, ...]:
    calls: dict[str, ToolCall] = {}
    for number, value in enumerate(values):
        call = _object(value, "a tool call")
        function = _object(call.get("function"), "a tool call's function")
        arguments = function.get("arguments")
        # Some endpoints decode the arguments that the model wrote; some give calls no id, or two of them the same.
        text = json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)
        call_id = _text(call.get("id"))
        call_id = call_id if call_id and call_id not in calls else f"{call_id or 'call'}_{number}"
        calls[call_id] = ToolCall(call_id, _text(function.get("name")), text)
    return tuple(calls.values())


def _finish_reason(stated: object, *, calls: bool, refused: bool) -> FinishReason:
    if refused:
        return "refusal"
    # Many endpoints say "stop" of an answer that calls tools.
    if calls and stated != "length":
        return "tool_calls"
    known: Iterable[FinishReason] = get_args(FinishReason)
    return next((reason for reason in known if reason == stated), "stop")


def _read_usage(value: object) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    details = (value.get("prompt_tokens_details"), value.get("completion_tokens_details"))
    prompt_details, completion_details = (item if isinstance(item, Mapping) else {} for item in details)
    stated = [value.get("prompt_tokens"), value.get("completion_tokens")]
    if any(isinstance(item, int) and item > MOST_TOKENS for item in stated):
        return None  # it says nothing of the answer, and is estimated, as where nothing is stated
    prompt, completion = map(_count, stated)
    # A part is never more than its whole, or a price could be less than 0.
    return Usage(
        prompt=prompt,
        completion=completion,
        cached=min(prompt, _count(prompt_details.get("cached_tokens"))),
        reasoning=min(completion, _count(completion_details.get("reasoning_tokens"))),
    )


def _read_tokens(body: Mapping[str, object], choice: Mapping[str, object]) -> CompletionTokens:
    """Token ids where vLLM's ``return_token_ids`` gave them, log probabilities where ``logprobs`` did."""
    entries = _entries(choice.get("logprobs"))
    stated = [entry.get("logprob") for entry in entries if isinstance(entry, Mapping)]
    logprobs = tuple(float(item) for item in stated if isinstance(item, int | float) and abs(item) < MOST_NATS)
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
    """The entries of ``logprobs``, one for each token of an answer."""
    return _list(value.get("content")) if isinstance(value, Mapping) else []


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise MalformedAnswer(f"{what} is no JSON object")
    return value


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """A text, whole or in parts; empty where the value is neither."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return well_formed(value) if isinstance(value, str) else ""


def _count(value: object) -> int:
    return min(max(0, value), MOST_TOKENS) if isinstance(value, int) else 0
