"""The two views of one conversation: the record of all that was said, and the messages that the model is shown next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from openfingym.digests import sha256_of_text
from openfingym.models.messages import Completion, Message
from openfingym.trajectory.record import Turn


class Transcript:
    """One conversation, as it is recorded and as its model sees it.

    The record keeps everything. What the model is shown may forget old answers, begin anew with another question, or
    have an answer rewritten into a form that its endpoint takes back.

    Attributes:
        turns: the record: every message, the results of its calls within it.
    """

    def __init__(self, heard: Callable[[int, Turn], None] | None = None) -> None:
        """Begin with nothing said.

        Args:
            heard: called with the number of a message, from 0, and the message: when it is there, and again with each
                result of its calls.
        """
        self.turns: list[Turn] = []
        self._heard = heard
        self._messages: list[Message] = []
        self._answers: list[int] = []
        """Positions of the model's answers in the messages that it is shown."""

    @property
    def messages(self) -> list[Message]:
        """Every message that the model could be shown next."""
        return list(self._messages)

    @property
    def prompt_sha256(self) -> str | None:
        """Digest of the first system message; None where the conversation did not begin with one."""
        first = self.turns[0] if self.turns else None
        return sha256_of_text(first.content) if first and first.role == "system" else None

    def say(self, role: Literal["system", "user"], text: str) -> None:
        """Add a message to the model."""
        self.note(Turn(role=role, content=text, at=datetime.now(UTC)))
        self._messages.append(Message(role, text))

    def note(self, turn: Turn) -> None:
        """Add a message to the record alone."""
        self.turns.append(turn)
        self._listen(len(self.turns) - 1)

    def answer(self, completion: Completion, *, append_only: bool) -> None:
        """Add the model's answer; where ``append_only``, the model is shown it again exactly as it is."""
        self.note(Turn.from_completion(completion, at=datetime.now(UTC)))
        message = completion.message
        self._answers.append(len(self._messages))
        # Some endpoints take no empty message back, and no call whose arguments are not a JSON object.
        self._messages.append(
            message
            if append_only
            else replace(message, tool_calls=tuple(call.sendable() for call in message.tool_calls))
            if message.content or message.tool_calls
            else replace(message, content="(nothing)")
        )

    def result(self, call_id: str, text: str, *, failed: bool, wall_s: float) -> None:
        """Add the result of a call of the latest answer, which took ``wall_s`` seconds."""
        index = self._latest_answer()
        self.turns[index] = self.turns[index].with_result(call_id, text, failed=failed, wall_s=wall_s)
        self._listen(index)
        self._messages.append(Message("tool", text, tool_call_id=call_id))

    def attach(self, position: int, call_id: str, text: str) -> None:
        """Record the result of a call of the message at ``position`` of the record, which was made elsewhere."""
        self.turns[position] = self.turns[position].with_result(call_id, text)
        self._listen(position)

    def close_calls(self) -> None:
        """Give every call of the latest answer that has no result the result that it was not done."""
        # Endpoints refuse a conversation in which a call has no result.
        if self._answers:
            answered = {message.tool_call_id for message in self._messages[self._answers[-1] + 1 :]}
            for call in self._messages[self._answers[-1]].tool_calls:
                if call.id not in answered:
                    self.result(call.id, "This was not done.", failed=True, wall_s=0.0)

    def show_again(self, text: str) -> None:
        """Have the model shown this text in the place of its latest answer; the record keeps what it wrote."""
        before = self._messages[self._answers[-1]]
        self._messages[self._answers[-1]] = replace(before, content=text or "(nothing)", tool_calls=(), said=None)

    def mark_block(self) -> None:
        """Record that of the latest answer, which calls no tool, a block of code was run."""
        index = self._latest_answer()
        self.turns[index] = self.turns[index].called_by_block()

    def restart(self, system: str) -> None:
        """Show the model nothing of what came before, and this system message first; an empty text for none."""
        self._messages.clear()
        self._answers.clear()
        if system:
            recorded = next((turn.content for turn in reversed(self.turns) if turn.role == "system"), None)
            self._messages.append(Message("system", system))
            # Once in the record is enough: with every question it would be most of what a reader has to skip.
            if system != recorded:
                self.note(Turn(role="system", content=system, at=datetime.now(UTC)))

    def shown(self, last: int | None) -> list[Message]:
        """The messages that the model is sent.

        Args:
            last: how many of its latest answers it is shown, with what followed them; None for all. What came before
                the first answer, such as the task, is always shown.
        """
        if last is None or len(self._answers) <= last:
            return list(self._messages)
        return [*self._messages[: self._answers[0]], *self._messages[self._answers[-last] :]]

    def _latest_answer(self) -> int:
        """Position in the record of the model's latest message."""
        return next(index for index in range(len(self.turns) - 1, -1, -1) if self.turns[index].role == "assistant")

    def _listen(self, index: int) -> None:
        if self._heard is not None:
            self._heard(index, self.turns[index])
