"""What an agent needs of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypedDict, Unpack

from openfingym.models.messages import Completion, Message, Tool


class CompletionOptions(TypedDict, total=False):
    """How a conversation is to be continued; None, or nothing, leaves it to the endpoint."""

    max_tokens: int | None
    """Most output tokens."""
    temperature: float | None
    """Randomness."""
    seed: int | None
    """For endpoints that can repeat themselves."""
    stop: Sequence[str]
    """Texts at which the answer ends."""


class LanguageModel(Protocol):
    """Something that continues a conversation."""

    @property
    def name(self) -> str:
        """The model's name, as results record it."""

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Continue a conversation by one message.

        Args:
            messages: the conversation so far.
            tools: functions the model may call in its answer.
            options: what is not stated is left to the endpoint.

        Raises:
            ModelUnavailableError: no answer could be had, for no fault of the request.
            ModelRefusedError: this request is refused, whoever asks and whenever.
        """
