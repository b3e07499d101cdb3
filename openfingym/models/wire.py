"""Chat completions on the wire: bodies of requests from messages, and messages from bodies of answers.

Endpoints that call themselves compatible differ in what they leave out, so reading is lenient; a body that is no chat
completion at all raises :class:`MalformedAnswer`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from openfingym.errors import ModelRefusedError
from openfingym.models.echoing import OF_A_CALL, OF_A_FUNCTION, OF_A_MESSAGE, Fields, unread
from openfingym.models.finishing import ending_of
from openfingym.models.messages import CompletionTokens, FinishReason, Message, Tool, ToolCall, Usage, well_formed
from openfingym.models.model import CompletionOptions
from openfingym.models.stated_usage import MOST_TOKENS, StatedUsage, read_usage
from openfingym.models.written_calls import may_hold_calls

MAX_CONTENT = 1_000_000
"""Most characters that are kept of one answer; a longer one counts as cut off (``length``)."""
MOST_NATS = 1e9
"""Largest magnitude that is read of a logarithm of a probability."""

Json = dict[str, object]
REASONING = "reasoning_content"
"""Field of a message that holds what the model thought, under the name that most endpoints give it."""
THOUGHTS = (REASONING, "reasoning")
"""The names that endpoints give to that field."""
ASKING_FOR_TOKENS: Json = {"logprobs": True, "return_token_ids": True}
"""Parameters of a request that ask for log probabilities and for token ids; the second is vLLM's own."""


class MalformedAnswer(ValueError):  # noqa: N818  # the name says what was found
    """The endpoint's answer is no chat completion."""


class BrokenAnswer(MalformedAnswer):
    """The endpoint's answer is a chat completion that did not come to an end of the model's."""


class BlockedAnswer(MalformedAnswer):
    """The endpoint took the conversation, and answered nothing at all, as Gemini does to one that it blocks."""


@dataclass(frozen=True)
class ParsedCompletion:
    """One answer as it was read."""

    message: Message
    finish_reason: FinishReason
    stated: StatedUsage
    """Tokens as far as the endpoint counted them."""
    model: str
    """The model's name as the endpoint states it; empty where it does not."""
    tokens: CompletionTokens
    """Token ids and log probabilities; empty where the endpoint does not tell them."""

    @property
    def usage(self) -> Usage | None:
        """Tokens as the endpoint counted them; None where it did not count."""
        return self.stated.whole


def request_message(message: Message, *, reasoning: bool = False) -> Json:
    """A message in OpenAI's form, with the fields that came with it and are not read here.

    Args:
        message: the message.
        reasoning: whether what the model thought is in it even if it came in no field of its own.
    """
    if message.role == "tool":
        return {"role": "tool", "content": message.content, "tool_call_id": message.tool_call_id or ""}
    body: Json = {"role": message.role, "content": message.content}
    if message.tool_calls:
        # Null and not empty: some endpoints refuse an empty content beside calls.
        body["content"] = message.content or None
        body["tool_calls"] = [_request_call(call) for call in message.tool_calls]
    body |= {name: value for name, value in message.fields.items() if name not in body}
    field = message.reasoning_field or (REASONING if reasoning and not body.keys() & {*THOUGHTS} else None)
    if message.reasoning and field:
        body[field] = message.reasoning
    return body


def _request_call(call: ToolCall) -> Json:
    inner = call.fields.get("function")
    function = {**(inner if isinstance(inner, Mapping) else {}), "name": call.name, "arguments": call.arguments}
    return {**call.fields, "id": call.id, "type": "function", "function": function}


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


def read_answer(document: object) -> ParsedCompletion:
    """Read the body of an answer.

    Raises:
        MalformedAnswer: the document is no chat completion, or one that was broken off.
        ModelRefusedError: the answer ended since the conversation leaves no room for one, or since the server could not
            read the call that the model wrote.
    """
    body = as_object(document, "the answer")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        stated = read_usage(body.get("usage"), said=False)
        if choices == [] and stated.prompt and stated.completion == 0:
            raise BlockedAnswer("the endpoint took the conversation and answered nothing, as one does that blocks it")
        raise MalformedAnswer("the answer holds no choices")
    choice = as_object(choices[0], "the first choice")
    answer = as_object(choice.get("message"), "its message")
    calls = _read_calls(answer)
    content, refusal = as_text(answer.get("content")), as_text(answer.get("refusal"))
    field = next((name for name in THOUGHTS if as_text(answer.get(name))), None)
    # Thoughts come in a field of their own, under one of two names, or as a marked part of the content.
    thought, whole = as_text(answer.get(field)) if field else "", None
    reason = _finish_reason(choice, calls=bool(calls), text=content or refusal, thought=thought)
    if refusal and not content:
        reason = "refusal"
    if len(content) > MAX_CONTENT:
        content, reason = content[:MAX_CONTENT], "length"
    if not thought:
        whole, (thought, content) = content, _split_thought(content)
    plain = field if field and isinstance(answer.get(field), str) else None
    message = Message(
        "assistant",
        content or refusal,
        calls,
        reasoning=thought or None,
        reasoning_field=plain,
        fields=unread(answer, OF_A_MESSAGE | ({plain} if plain else set())),
    )
    return ParsedCompletion(
        message=message if whole is None or whole == content else replace(message, said=whole, thought_aloud=True),
        finish_reason=reason,
        stated=read_usage(body.get("usage"), said=bool(content or refusal or calls or thought)),
        model=as_text(body.get("model")),
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


def _read_calls(answer: Mapping[str, object]) -> tuple[ToolCall, ...]:
    values = answer.get("tool_calls")
    if not values and isinstance(old := answer.get("function_call"), Mapping) and old.get("name"):
        values = [{"function": old}]
    calls: dict[str, ToolCall] = {}
    for number, value in enumerate([values] if isinstance(values, Mapping) else as_list(values)):
        call = as_object(value, "a tool call")
        function = as_object(call.get("function"), "a tool call's function")
        arguments = function.get("arguments")
        # Some endpoints decode the arguments that the model wrote; some give calls no id, or two of them the same.
        text = json.dumps(arguments) if isinstance(arguments, dict) else as_text(arguments)
        call_id = as_text(call.get("id"))
        call_id = call_id if call_id and call_id not in calls else f"{call_id or 'call'}_{number}"
        inner = unread(function, OF_A_FUNCTION)
        fields: Fields = unread(call, OF_A_CALL) | ({"function": inner} if inner else {})
        calls[call_id] = ToolCall(call_id, as_text(function.get("name")), text, fields=fields)
    return tuple(calls.values())


def _finish_reason(choice: Mapping[str, object], *, calls: bool, text: str, thought: str) -> FinishReason:
    """Why an answer ended.

    Raises:
        BrokenAnswer: for no reason of the model's, or for one that nobody knows.
        ModelRefusedError: the conversation leaves no room for an answer, or the server could not read a call.
    """
    stated = choice.get("finish_reason") or choice.get("native_finish_reason")
    if stated is None:
        # Some servers never state one. An answer that holds nothing may as well have been broken off.
        if not (calls or text):
            raise BrokenAnswer("the answer is empty, and no reason is stated why it ended")
        return "tool_calls" if calls else "stop"
    ending = ending_of(stated)
    if ending is None:
        raise BrokenAnswer(f"the answer was broken off (finish_reason {str(stated)[:60]!r})")
    if ending == "bad-call":
        raise ModelRefusedError(f"the endpoint could not read the model's call ({stated})", reason="bad-call")
    if ending == "context":
        if not (calls or text):
            raise ModelRefusedError(f"the conversation is too long for the model ({stated})", reason="context-too-long")
        return "length"
    if ending == "tool_calls" and not calls:
        if not may_hold_calls(text) and not may_hold_calls(thought):
            raise BrokenAnswer("the endpoint says that the answer calls tools, and its calls are missing")
        return "stop"
    # Many endpoints say "stop" of an answer that calls tools.
    return "tool_calls" if calls and ending == "stop" else ending


def _read_tokens(body: Mapping[str, object], choice: Mapping[str, object]) -> CompletionTokens:
    """Token ids where vLLM's ``return_token_ids`` gave them, log probabilities where ``logprobs`` did."""
    entries = entries_of(choice.get("logprobs"))
    stated = [entry.get("logprob") for entry in entries if isinstance(entry, Mapping)]
    logprobs = tuple(float(item) for item in stated if isinstance(item, int | float) and abs(item) < MOST_NATS)
    completion_ids = tuple(_count(item) for item in as_list(choice.get("token_ids")))
    return CompletionTokens(
        prompt_ids=tuple(_count(item) for item in as_list(body.get("prompt_token_ids"))),
        completion_ids=completion_ids,
        # Some endpoints leave out those of tool calls; which token a probability belongs to is then unknown.
        logprobs=logprobs
        if len(logprobs) == len(entries) and (not completion_ids or len(logprobs) == len(completion_ids))
        else (),
    )


def entries_of(value: object) -> list[object]:
    """The entries of ``logprobs``, one for each token of an answer."""
    return as_list(value.get("content")) if isinstance(value, Mapping) else []


def as_object(value: object, what: str) -> Mapping[str, object]:
    """A JSON object, called ``what`` where it is none.

    Raises:
        MalformedAnswer: it is none.
    """
    if not isinstance(value, Mapping):
        raise MalformedAnswer(f"{what} is no JSON object")
    return value


def as_list(value: object) -> list[object]:
    """A list; empty where the value is none."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """A text, whole or in parts; empty where the value is neither."""
    if isinstance(value, list):
        return "".join(as_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return well_formed(value) if isinstance(value, str) else ""


def _count(value: object) -> int:
    return min(max(0, value), MOST_TOKENS) if isinstance(value, int) else 0
