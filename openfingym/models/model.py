"""The protocol of a language model, as agents use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypedDict, Unpack

from openfingym.models.messages import Completion, Message, Tool


class CompletionOptions(TypedDict, total=False):
    """How a conversation is to be continued; None, or nothing, leaves it to the endpoint."""

    max_tokens: int | None
    """Most output tokens of the answer."""
    temperature: float | None
    """Sampling temperature."""
    seed: int | None
    """Seed of the sampling, for endpoints that can repeat themselves."""
    stop: Sequence[str]
    """Texts at which the answer ends."""
    reasoning: bool
    """Whether what the model thought with its earlier answers is sent back; stated only where a conversation may only
    ever grow."""


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
            messages: the conversation so far, oldest first.
            tools: functions that the model may call in its answer.
            options: any of :class:`CompletionOptions`; what is not stated is left to the endpoint.

        Raises:
            ModelUnavailableError: no answer could be had, through no fault of the request.
            ModelRefusedError: the endpoint refuses this request, and would refuse it again.
        """
