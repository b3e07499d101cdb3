"""OpenAI's chat completions, from the side of the server: requests read, and answers written."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Final

from openfingym.models.messages import Completion, Message, Role, Tool, ToolCall
from openfingym.models.serving.fields import (
    MOST_MESSAGES,
    MOST_TOOLS,
    Json,
    RefusedRequestError,
    as_count,
    as_flag,
    as_list,
    as_object,
    as_stops,
    as_temperature,
    as_text,
    as_texts,
    parsed,
    read_tool,
    require_once,
    unsupported,
)
from openfingym.models.serving.request import ServedAnswer, ServedRequest, as_document, as_events

PATH: Final = "/v1/chat/completions"
USED: Final = frozenset(
    [
        "model",
        "messages",
        "tools",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "stop",
        "stream",
        "stream_options",
        "tool_choice",
        "n",
    ]
)
"""Fields of a request that are read."""
REFUSED: Final = frozenset(
    [
        "previous_response_id",
        "conversation",
        "background",
        "web_search_options",
        "file_ids",
        "attachments",
        "tool_resources",
        "audio",
        "functions",
        "function_call",
        "container",
        "mcp_servers",
        "prompt",
        "plugins",
        "extra_body",
    ]
)
"""Fields that ask for more than an answer to this conversation. Any other field is left out."""
_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def read(body: bytes) -> ServedRequest:
    """Read the body of a request.

    Raises:
        RefusedRequestError: it is malformed, or asks for what is not offered.
    """
    stated = {key: value for key, value in parsed(body).items() if value is not None}
    for name in sorted(REFUSED & stated.keys()):
        unsupported(name, "ask for an answer to messages, with functions of your own")
    if as_flag(stated.get("store"), "store"):
        unsupported("store", "nothing is kept at the endpoint")
    if stated.get("n", 1) != 1:
        unsupported("n", "one answer is given to a request")
    options = as_object(stated.get("stream_options", {}), "stream_options")
    tools = tuple(_tool(item) for item in as_list(stated.get("tools", []), "tools", MOST_TOOLS))
    require_once([tool.name for tool in tools], "tools")
    choice = stated.get("tool_choice", "auto")
    messages = tuple(_message(item) for item in as_list(stated.get("messages"), "messages", MOST_MESSAGES))
    if not messages:
        raise RefusedRequestError("messages must hold at least one message")
    # What a model must call cannot be passed on, since not every endpoint takes it.
    left_out = {key for key in stated if key not in USED} | (
        {"tool_choice"} if choice not in ("auto", "none") else set()
    )
    return ServedRequest(
        model=as_text(stated.get("model"), "model"),
        messages=messages,
        tools=() if choice == "none" else tools,
        max_tokens=as_count(stated.get("max_completion_tokens", stated.get("max_tokens")), "max_tokens"),
        temperature=as_temperature(stated.get("temperature")),
        stop=as_stops(stated.get("stop"), "stop"),
        stream=as_flag(stated.get("stream"), "stream"),
        stream_usage=as_flag(options.get("include_usage"), "include_usage"),
        left_out=tuple(sorted(left_out)),
    )


def _message(value: object) -> Message:
    message = as_object(value, "a message")
    named = message.get("role")
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        raise RefusedRequestError(f"role must be one of {', '.join(_ROLES)}, found {str(named)[:40]!r}")
    content = as_texts(message.get("content"), f"a message of role {role}", ("text", "refusal"))
    if role == "tool":
        return Message("tool", content, tool_call_id=as_text(message.get("tool_call_id"), "tool_call_id"))
    if role != "assistant":
        return Message(role, content)
    if message.get("audio") is not None or message.get("function_call") is not None:
        unsupported("an answer with audio or function_call", "state calls as tool_calls")
    calls = [_call(item) for item in as_list(message.get("tool_calls") or [], "tool_calls", MOST_TOOLS)]
    require_once([call.id for call in calls], "tool_calls")
    return Message("assistant", content, tuple(calls))


def _call(value: object) -> ToolCall:
    call = as_object(value, "a tool call")
    if call.get("type", "function") != "function":
        unsupported(f"a call of type {str(call.get('type'))[:40]!r}", "calls are of functions")
    function = as_object(call.get("function"), "a call's function")
    return ToolCall(
        as_text(call.get("id"), "a call's id"),
        as_text(function.get("name"), "a call's name"),
        as_text(function.get("arguments"), "a call's arguments"),
    )


def _tool(value: object) -> Tool:
    tool = as_object(value, "a tool")
    if tool.get("type") != "function":
        unsupported(f"a tool of type {str(tool.get('type'))[:40]!r}", "offer functions, which your own program runs")
    function = as_object(tool.get("function"), "a tool's function")
    return read_tool(function.get("name"), function.get("description"), function.get("parameters"))


def write(completion: Completion, request: ServedRequest, number: int) -> ServedAnswer:
    """The answer to a request.

    Args:
        completion: the model's answer.
        request: the request that it is to.
        number: number of the answer in its rollout, by which it is known.
    """
    head = {"id": f"chatcmpl-{number}", "created": int(time.time()), "model": request.model}
    if request.stream:
        return as_events((None, data) for data in _chunks(completion, request, head))
    choice = {"index": 0, "message": _answer(completion), "logprobs": None, "finish_reason": _finish(completion)}
    return as_document({**head, "object": "chat.completion", "choices": [choice], "usage": _usage(completion)})


def _chunks(completion: Completion, request: ServedRequest, head: Json) -> Iterator[str]:
    """The answer as the data of a stream's events."""
    answer = _answer(completion)
    calls = answer.get("tool_calls")
    if isinstance(calls, list):
        answer["tool_calls"] = [{"index": place, **call} for place, call in enumerate(calls)]
    common = {**head, "object": "chat.completion.chunk"}
    for delta, finish in ((answer, None), ({}, _finish(completion))):
        yield json.dumps({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    if request.stream_usage:
        yield json.dumps({**common, "choices": [], "usage": _usage(completion)})
    yield "[DONE]"


def _answer(completion: Completion) -> dict[str, object]:
    said = completion.message
    refused = completion.finish_reason == "refusal"
    answer: dict[str, object] = {"role": "assistant", "content": None if refused else said.content}
    if refused:
        answer["refusal"] = said.content
    if said.reasoning:
        answer["reasoning_content"] = said.reasoning
    if said.tool_calls:
        answer["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in said.tool_calls
        ]
    return answer


def _finish(completion: Completion) -> str:
    return "stop" if completion.finish_reason == "refusal" else completion.finish_reason


def _usage(completion: Completion) -> dict[str, object]:
    usage = completion.usage
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def models(name: str) -> ServedAnswer:
    """The list of models, which holds the one that there is."""
    model = {"id": name, "object": "model", "created": 0, "owned_by": "openfingym"}
    # With the fields of Anthropic's list beside those of OpenAI's, since both are asked for at the same path.
    both = {**model, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    return as_document({"object": "list", "data": [both], "has_more": False, "first_id": name, "last_id": name})


def problem(message: str, *, status: int, code: str, retry_after_s: int | None = None) -> ServedAnswer:
    """An error, in the form that clients of chat completions show."""
    kinds = {429: "rate_limit_error", 402: "insufficient_quota"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": None, "code": code}
    return as_document({"error": error}, status, retry_after_s=retry_after_s)
