"""Asking the model of one rollout for its next message, within what may still be spent."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from openfingym.agents.llm.ending import Ended, EndName
from openfingym.errors import ModelRefusedError, ModelUnavailableError
from openfingym.models.growth import GrowthWatch
from openfingym.models.messages import Completion, Message, Tool
from openfingym.models.meter import Allowance, Meter
from openfingym.models.model import LanguageModel
from openfingym.models.text_tools import ToolModel


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters of requests to a model."""

    temperature: float | None = None
    """Randomness; None leaves it to the endpoint."""
    reply_tokens: int = 16_384
    """Longest answer, its reasoning included."""
    text_tools: bool | None = None
    """Have calls of tools written as text. None: only where the endpoint takes no tools; False: never."""
    append_only: bool = field(default=False, metadata={"added_later": True})
    """Let the conversation only ever grow, as trainers on its tokens want it: every request begins with the one before
    and the model's answer as it wrote it. No message is left out or rewritten, also where an endpoint may not take it
    back, such as an empty one."""


class ModelAsker:
    """A model that continues one conversation.

    Attributes:
        waiting_since: since when the model is being waited for, by the monotonic clock; None where it is not.
    """

    def __init__(self, model: LanguageModel | None, meter: Meter, *, seed: int) -> None:
        self.waiting_since: float | None = None
        self._watch = None if model is None else GrowthWatch(model)
        self._meter = meter
        self._seed = seed

    @property
    def rewritten(self) -> int | None:
        """Requests that did not extend the one before and its answer; None where no model is asked."""
        return None if self._watch is None else self._watch.rewritten

    async def ask(self, messages: Sequence[Message], offered: Sequence[Tool], sampling: Sampling) -> Completion | None:
        """The model's answer; None where its endpoint cannot read the call that the model wrote.

        Raises:
            Ended: a limit is reached, or the model's endpoint refuses the conversation.
            ModelUnavailableError: no answer can be had.
        """
        assert self._watch is not None, "who asks a model is run with one"
        self.check_limits()
        left = self._meter.left
        # An answer may not take more than is left, since it is paid for before it is counted.
        most = sampling.reply_tokens if left.tokens is None else max(1, min(sampling.reply_tokens, left.tokens))
        asked = ToolModel(self._watch, text=sampling.text_tools, append_only=sampling.append_only)
        self.waiting_since = time.monotonic()
        try:
            completion = await asked.complete(
                messages,
                tools=offered,
                max_tokens=most,
                temperature=sampling.temperature,
                seed=self._seed,
            )
        except ModelRefusedError as error:
            self.waiting_since = None
            if error.reason == "bad-call":
                return None
            if error.reason == "bad-request" and sampling.append_only and (how := _unsendable(messages)):
                raise Ended(
                    how, f"its endpoint does not take back what it answered, and nothing is rewritten: {error}"
                ) from None
            raise _judged(error, tools=bool(offered)) from error
        self.waiting_since = None
        return completion

    def check_limits(self) -> None:
        """Raise :class:`Ended` where a limit is reached."""
        limit = self._meter.exhausted
        if limit is not None:
            raise Ended(limit, over(limit, self._meter.allowance))


def _judged(error: ModelRefusedError, *, tools: bool) -> Ended | ModelUnavailableError:
    """What it means that an endpoint refuses a request."""
    # What is wrong with the request is of our making, or of the endpoint's settings: no score can come of it.
    if error.reason == "no-tools":
        return ModelUnavailableError(f"{error}; leave out --native-tools, and its calls are text")
    if error.reason == "bad-request":
        hint = "; where it takes no tools, --text-tools does without" if tools else ""
        return ModelUnavailableError(f"{error}; check the model's name, its limits and --reply-tokens{hint}")
    return Ended("refused", str(error))


def _unsendable(messages: Sequence[Message]) -> EndName | None:
    """How the conversation ends where the model's own answers are what its endpoint refuses; None where it is not
    known to be so.
    """
    for message in messages:
        if message.role != "assistant":
            continue
        if not (message.content or message.said or message.tool_calls):
            return "silent"
        if any(call.sendable() != call for call in message.tool_calls if not call.written):
            return "bad-calls"
    return None


def over(limit: EndName, allowance: Allowance) -> str:
    """One clause on a limit that is reached."""
    return {
        "turns": f"its {allowance.turns} turns were used up",
        "tokens": f"its {allowance.tokens} tokens were used up",
        "cost": f"its {allowance.cost_usd} US dollars were used up",
        "wall": f"its {allowance.wall_s:g} seconds were over" if allowance.wall_s else "its time was over",
    }[limit]
