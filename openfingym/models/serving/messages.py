"""Anthropic's messages, from the side of the server: requests read, and answers written."""

from __future__ import annotations

import json
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

PATH: Final = "/v1/messages"
USED: Final = frozenset(
    ["model", "system", "messages", "tools", "max_tokens", "temperature", "stop_sequences", "stream", "tool_choice"]
)
"""Fields of a request that are read."""
REFUSED: Final = frozenset(["mcp_servers", "container", "file_ids"])
"""Fields that ask for more than an answer to this conversation. Any other field is left out."""
THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
"""Types of blocks that are left out: thoughts are not sent back."""
_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}
"""Instructions in the midst of a conversation, which Claude Code sends, stand where they are."""
_FINISH: Final = {"tool_calls": "tool_use", "length": "max_tokens", "refusal": "refusal", "content_filter": "refusal"}


def read(body: bytes) -> ServedRequest:
    """Read the body of a request.

    Raises:
        RefusedRequestError: it is malformed, or asks for what is not offered.
    """
    stated = {key: value for key, value in parsed(body).items() if value is not None}
    for name in sorted(REFUSED & stated.keys()):
        # Sent empty by some clients.
        if stated[name] not in ([], {}):
            unsupported(name, "ask for an answer to messages, with tools of your own")
    tools = tuple(_tool(item) for item in as_list(stated.get("tools", []), "tools", MOST_TOOLS))
    require_once([tool.name for tool in tools], "tools")
    choice = as_object(stated.get("tool_choice", {"type": "auto"}), "tool_choice").get("type")
    system = as_texts(stated.get("system"), "system")
    said = [
        message
        for item in as_list(stated.get("messages"), "messages", MOST_MESSAGES)
        for message in _messages(as_object(item, "a message"))
    ]
    if not said:
        raise RefusedRequestError("messages must hold at least one message")
    left_out = {key for key in stated if key not in USED} | (
        {"tool_choice"} if choice not in ("auto", "none") else set()
    )
    return ServedRequest(
        model=as_text(stated.get("model"), "model"),
        messages=(*([Message("system", system)] if system else []), *said),
        tools=() if choice == "none" else tools,
        max_tokens=as_count(stated.get("max_tokens"), "max_tokens"),
        temperature=as_temperature(stated.get("temperature")),
        stop=as_stops(stated.get("stop_sequences"), "stop_sequences"),
        stream=as_flag(stated.get("stream"), "stream"),
        left_out=tuple(sorted(left_out)),
    )


def _messages(message: Json) -> Iterator[Message]:
    """The messages of ours that one of theirs is: the results in it are messages of their own."""
    named, content = message.get("role"), message.get("content")
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        raise RefusedRequestError(f"role must be one of {', '.join(_ROLES)}, found {str(named)[:40]!r}")
    blocks: list[object] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content, "content", MOST_MESSAGES)
    )
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Message] = []
    for item in blocks:
        block = as_object(item, "a block of content")
        kind = block.get("type")
        if kind == "text":
            texts.append(as_text(block.get("text"), "a text"))
        elif kind == "tool_use" and role == "assistant":
            calls.append(_call(block))
        elif kind == "tool_result" and role == "user":
            text = as_texts(block.get("content"), "a tool's result")
            results.append(Message("tool", text, tool_call_id=as_text(block.get("tool_use_id"), "tool_use_id")))
        elif not (isinstance(kind, str) and kind in THOUGHTS and role == "assistant"):
            unsupported(f"a block of type {str(kind)[:40]!r}", "the model reads text, and calls and results of tools")
    require_once([call.id for call in calls], "calls")
    yield from results
    if texts or not results:
        yield Message(role, "\n".join(texts), tuple(calls))


def _call(block: Json) -> ToolCall:
    given = as_object(block.get("input", {}), "a call's input")
    return ToolCall(as_text(block.get("id"), "a call's id"), as_text(block.get("name"), "a name"), json.dumps(given))


def _tool(value: object) -> Tool:
    tool = as_object(value, "a tool")
    # Tools that have a type are the endpoint's own: searches, interpreters, computers.
    if tool.get("type", "custom") != "custom":
        unsupported(f"a tool of type {str(tool.get('type'))[:40]!r}", "offer tools that your own program runs")
    return read_tool(tool.get("name"), tool.get("description"), tool.get("input_schema"))


def write(completion: Completion, request: ServedRequest, number: int) -> ServedAnswer:
    """The answer to a request.

    Args:
        completion: the model's answer.
        request: the request that it is to.
        number: number of the answer in its rollout, by which it is known.
    """
    head: dict[str, object] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "stop_sequence": None,
    }
    blocks, finish = list(_blocks(completion)), _FINISH.get(completion.finish_reason, "end_turn")
    if request.stream:
        return as_events(_events(completion, head, blocks, finish))
    return as_document({**head, "content": blocks, "stop_reason": finish, "usage": _usage(completion)})


def _blocks(completion: Completion) -> Iterator[dict[str, object]]:
    """The blocks of an answer: its text, then its calls."""
    said = completion.message
    if said.content or not said.tool_calls:
        yield {"type": "text", "text": said.content}
    for call in (call.sendable() for call in said.tool_calls):
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": call.parsed()}


def _events(
    completion: Completion, head: Json, blocks: list[dict[str, object]], finish: str
) -> Iterator[tuple[str, str]]:
    """The answer as a stream's events, each block whole in one piece."""
    usage = _usage(completion)
    yield _event("message_start", message={**head, "content": [], "stop_reason": None, "usage": usage})
    for place, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = (
                {**block, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        yield _event("content_block_start", index=place, content_block=empty)
        yield _event("content_block_delta", index=place, delta=delta)
        yield _event("content_block_stop", index=place)
    yield _event("message_delta", delta={"stop_reason": finish, "stop_sequence": None}, usage=usage)
    yield _event("message_stop")


def _event(name: str, **fields: object) -> tuple[str, str]:
    return name, json.dumps({"type": name, **fields})


def _usage(completion: Completion) -> dict[str, object]:
    usage = completion.usage
    return {
        # Theirs counts what was read from a cache apart.
        "input_tokens": usage.prompt - usage.cached,
        "output_tokens": usage.completion,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": 0,
    }


def problem(message: str, *, status: int, code: str, retry_after_s: int | None = None) -> ServedAnswer:
    """An error, in the form that clients of messages show; its code stands in the message."""
    kinds = {429: "rate_limit_error", 402: "billing_error", 404: "not_found_error"}
    kind = kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
    error = {"type": kind, "message": f"{message} ({code})"}
    return as_document({"type": "error", "error": error}, status, retry_after_s=retry_after_s)
