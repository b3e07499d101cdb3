"""A policy that always answers one text, to see what becomes of that answer."""

from __future__ import annotations

from dataclasses import dataclass

from openfingym.models.testing.conversation import CompletionRequest, Reply


@dataclass(frozen=True)
class Fixed:
    """Answers the same text to every request, in every form of conversation, and calls no tool."""

    text: str
    """The answer, to the letter."""

    def respond(self, _: CompletionRequest) -> Reply:
        """Continue the conversation."""
        return Reply(self.text)
