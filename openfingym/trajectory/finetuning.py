"""Conversations in the form of OpenAI's fine-tuning: one JSON object a line, with ``messages`` and ``tools``.

Such a line holds the conversation alone: messages, calls, results, and the tools. Reasoning, tokens, times, rewards and
the score are lost, and so is the difference between an empty result and none. Messages after the model's last one teach
nothing and are left out. A message of the model that is empty, or whose loss mask holds no 1, has weight 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from openfingym.errors import DataError
from openfingym.models.messages import Message, Tool, ToolCall
from openfingym.models.wire import request_message, request_tool
from openfingym.trajectory.record import RolloutRecord, Turn

Json = dict[str, object]


@dataclass(frozen=True)
class TrainingConversation:
    """A conversation as it is read from a line: messages with the results of calls, and the tools."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    """Tools that the model was offered."""


def to_openai(rollout: RolloutRecord) -> Json:
    """A rollout as one line of a fine-tuning file, as an object.

    Raises:
        DataError: the rollout holds no message of a model.
    """
    answers = [index for index, turn in enumerate(rollout.messages) if turn.role == "assistant"]
    if not answers:
        raise DataError(f"rollout {rollout.id} holds no message of a model, so there is nothing to learn from it")
    messages: list[Json] = []
    for index, turn in enumerate(rollout.messages[: answers[-1] + 1]):
        message = request_message(
            Message(
                turn.role, turn.content, tuple(ToolCall(call.id, call.name, call.arguments) for call in turn.tool_calls)
            )
        )
        messages.append(message | {"weight": 0} if _masked(turn) else message)
        if index < answers[-1]:
            # A call without a result gets an empty one: the format wants one for each before the next message.
            messages += [
                request_message(Message("tool", call.result or "", tool_call_id=call.id)) for call in turn.tool_calls
            ]
    line: Json = {"messages": messages}
    return line | {"tools": [request_tool(tool) for tool in rollout.tools]} if rollout.tools else line


def from_openai(line: Mapping[str, object]) -> TrainingConversation:
    """Read one line of a fine-tuning file.

    Raises:
        DataError: the line holds no conversation.
    """
    try:
        messages, tools = line["messages"], line.get("tools", [])
        if not isinstance(messages, list) or not isinstance(tools, list):
            raise TypeError("messages and tools are lists")
        return TrainingConversation(
            tuple(_message(item) for item in messages), tuple(Tool(**item["function"]) for item in tools)
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"not a line of a fine-tuning file ({type(error).__name__}: {error})") from error


def _message(item: Mapping[str, object]) -> Message:
    """A message of a line.

    Raises:
        TypeError: a part of the message is of another type than the format has.
        KeyError: a part of the message is missing.
    """
    role, content, calls = item["role"], item.get("content"), item.get("tool_calls") or []
    if role not in {"system", "user", "assistant", "tool"} or not isinstance(calls, list):
        raise TypeError(f"a message of role {role!r}")
    return Message(
        role=role,
        content=content if isinstance(content, str) else "",
        tool_calls=tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls
        ),
        tool_call_id=str(item["tool_call_id"]) if role == "tool" else None,
    )


def _masked(turn: Turn) -> bool:
    """Whether a turn is a message of the model that is not to be learnt."""
    if turn.role == "assistant" and not turn.content and not turn.tool_calls:
        return True
    tokens = turn.generation.tokens if turn.generation else None
    return tokens is not None and bool(tokens.loss_mask) and not any(tokens.loss_mask)
