"""Recording conversations that somebody else keeps: an agent's own program, which sends all of one with each request.

Requests of one program may belong to several conversations, such as those of its helpers, or of a summary. Each request
that goes on with a conversation that was there before adds what is new in it to the record; any other one begins
another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from openfingym.agents.llm.transcript import Transcript
from openfingym.models.messages import Message, ToolCall
from openfingym.trajectory.record import ToolUse, Turn

MOST_CONVERSATIONS = 64
"""Conversations that are looked through for the one that a request goes on with; those that went on last are kept."""
Key = tuple[object, ...]


@dataclass
class _Conversation:
    """One conversation, as far as it was recorded."""

    keys: list[Key] = field(default_factory=list)
    """What each message is known by."""
    calls: dict[str, int] = field(default_factory=dict)
    """Position in the record of the message of each call that has no result yet."""
    answers: dict[int, Message] = field(default_factory=dict)
    """The model's own answers, by their position in the conversation."""


class AdoptedConversations:
    """The conversations of one rollout that its agent's program keeps."""

    def __init__(self, transcript: Transcript) -> None:
        """Record in ``transcript``."""
        self._transcript = transcript
        self._known: list[_Conversation] = []
        self._latest = _Conversation()

    def adopt(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Record what is new in a conversation.

        Returns:
            The messages, with the model's own answers as it gave them: what their client leaves out is put back.
        """
        keys = [_key(message) for message in messages]
        found = max(
            (known for known in self._known if known.keys == keys[: len(known.keys)]),
            key=lambda known: len(known.keys),
            default=None,
        )
        # The one that goes on, or a new one, is the last that is given up.
        self._latest = found or _Conversation()
        self._known = [known for known in self._known if known is not self._latest][1 - MOST_CONVERSATIONS :]
        self._known.append(self._latest)
        for message, key in zip(messages[len(self._latest.keys) :], keys[len(self._latest.keys) :], strict=True):
            self._record(message)
            self._latest.keys.append(key)
        return tuple(_sendable(self._latest.answers.get(place, message)) for place, message in enumerate(messages))

    def answered(self, message: Message) -> None:
        """Take in the model's answer to the conversation that was adopted last, which stands last in the record."""
        self._note_calls(message.tool_calls)
        self._latest.answers[len(self._latest.keys)] = message
        self._latest.keys.append(_key(message))

    def _record(self, message: Message) -> None:
        if message.role == "tool":
            position = self._latest.calls.pop(message.tool_call_id or "", None)
            if position is not None:
                self._transcript.attach(position, message.tool_call_id or "", message.content)
                return
            # A result of a call that nobody made is still part of what the model reads.
            message = replace(message, role="user")
        calls = tuple(ToolUse(id=call.id, name=call.name, arguments=call.arguments) for call in message.tool_calls)
        role = "assistant" if message.role == "assistant" else "system" if message.role == "system" else "user"
        self._transcript.note(
            Turn(role=role, content=message.content, tool_calls=calls, at=datetime.now(UTC))  # type: ignore[arg-type]
        )
        self._note_calls(message.tool_calls)

    def _note_calls(self, calls: Sequence[ToolCall]) -> None:
        position = len(self._transcript.turns) - 1
        self._latest.calls |= {call.id: position for call in calls}


def _sendable(message: Message) -> Message:
    """A message in a form that every endpoint takes: an answer is not empty, and its calls are well-formed."""
    if message.role != "assistant":
        return message
    if not (message.content or message.tool_calls):
        return Message("assistant", "(nothing)")
    return replace(message, tool_calls=tuple(call.sendable() for call in message.tool_calls))


def _key(message: Message) -> Key:
    """What a message is known by, however its client writes it."""
    calls = tuple((call.id, call.name, _canonical(call)) for call in message.tool_calls)
    return message.role, message.content.strip(), calls, message.tool_call_id


def _canonical(call: ToolCall) -> str:
    try:
        return json.dumps(call.sendable().parsed(), sort_keys=True)
    except (ValueError, RecursionError):
        return call.arguments
