"""The protocol of a language model, as agents use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from openfingym.models.messages import Completion, Message, Tool


class LanguageModel(Protocol):
    """Something that continues a conversation."""

    @property
    def name(self) -> str:
        """The model's name, as results record it."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
    ) -> Completion:
        """Continue a conversation by one message.

        Args:
            messages: the conversation so far, oldest first.
            tools: functions the model may call in its answer.
            max_tokens: largest number of output tokens; None leaves it to the endpoint.
            temperature: sampling temperature; None leaves it to the endpoint.
            seed: seed of the sampling, for endpoints that can repeat themselves.
            stop: texts at which the answer ends.

        Raises:
            ModelUnavailableError: no answer could be had, for no fault of the request.
            ModelRefusedError: the endpoint refuses this request, and would refuse it again.
        """
