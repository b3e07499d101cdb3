"""Counting the requests by which a conversation did not merely grow, as trainers on its tokens want it to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from openfingym.models.messages import Completion, Message, Tool
from openfingym.models.model import CompletionOptions, LanguageModel
from openfingym.models.wire import Json, request_message


class GrowthWatch:
    """A model, and a count of the requests to it that do not begin with the one before and its answer.

    What is compared is what goes over the wire, thoughts included: where a model thinks and its thoughts are not sent
    back, the tokens of the next request are not those that it said.

    Attributes:
        rewritten: requests that did not extend the one before and its answer.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.rewritten = 0
        self._model = model
        self._before: list[Json] | None = None
        """The messages of the latest request that was answered, and its answer."""
        self._offered: Sequence[Tool] = ()
        """The tools of that request."""

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Ask the model; see :class:`openfingym.models.LanguageModel`."""
        completion = await self._model.complete(messages, tools=tools, **options)
        # Asked afterwards: an endpoint that refuses a field has said so by the time of its answer.
        unsent: frozenset[str] = getattr(self._model, "unsent", frozenset())
        reasoning = options.get("reasoning", False)
        sent = [
            {name: part for name, part in request_message(message, reasoning=reasoning).items() if name not in unsent}
            for message in messages
        ]
        # Tools stand at the head of what the model reads, so that others change its tokens from the first on.
        if self._before is not None and (sent[: len(self._before)] != self._before or tuple(tools) != self._offered):
            self.rewritten += 1
        self._before = [*sent, request_message(completion.message.as_said(), reasoning=True)]
        self._offered = tuple(tools)
        return completion
