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
from openfingym.models.model import CompletionOptions, LanguageModel
from openfingym.models.text_tools import ToolModel

OUTAGE_S = 300.0
"""Longest wait for one answer, in seconds, that is taken for a model that thinks; a longer one is taken for an endpoint
that is away, and is not the agent's time."""


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters of requests to a model."""

    temperature: float | None = None
    """Sampling temperature; None leaves it to the endpoint."""
    reply_tokens: int = 16_384
    """Most output tokens of one answer, its reasoning included."""
    text_tools: bool | None = None
    """Whether calls of tools are written as text; None for only where the endpoint takes no tools."""
    append_only: bool = field(default=False, metadata={"added_later": True})
    """Whether the conversation may only ever grow, as trainers on its tokens want it: every request begins with the one
    before and the model's answer as it wrote it. No message is left out or rewritten, even one that an endpoint may not
    take back, such as an empty answer."""


class ModelAsker:
    """A model that continues one conversation."""

    def __init__(self, model: LanguageModel | None, meter: Meter, *, seed: int) -> None:
        """Ask nothing yet.

        Args:
            model: the model to ask; None for an agent that asks none.
            meter: what may still be spent.
            seed: seed that every request states, for endpoints that can repeat themselves.
        """
        self._watch = None if model is None else GrowthWatch(model)
        self._meter = meter
        self._seed = seed
        self._waiting_since: float | None = None

    @property
    def name(self) -> str:
        """The model's own name."""
        assert self._watch is not None, "who asks a model is run with one"
        return self._watch.name

    @property
    def rewritten(self) -> int | None:
        """Requests that did not extend the one before and its answer; None where no model is asked."""
        return None if self._watch is None else self._watch.rewritten

    @property
    def waited_s(self) -> float | None:
        """Seconds for which an answer is being waited for; None where none is."""
        return None if self._waiting_since is None else time.monotonic() - self._waiting_since

    async def ask(self, messages: Sequence[Message], offered: Sequence[Tool], sampling: Sampling) -> Completion | None:
        """The model's answer; None where its endpoint cannot read the call that the model wrote.

        Raises:
            Ended: a limit is reached, or the model's endpoint refuses the conversation.
            ModelUnavailableError: no answer can be had.
        """
        self.check_limits()
        try:
            return await self.complete(messages, offered, sampling)
        except ModelRefusedError as error:
            if error.reason == "bad-call":
                return None
            # With append_only the model's own answers went back as they were, and may be what is refused: then the
            # model has ended its conversation, and no machinery has failed.
            if error.reason == "bad-request" and sampling.append_only and (how := _unsendable(messages)):
                raise Ended(
                    how, f"its endpoint does not take back what it answered, and nothing is rewritten: {error}"
                ) from None
            raise _meaning(error, tools=bool(offered)) from error

    async def complete(
        self, messages: Sequence[Message], offered: Sequence[Tool], sampling: Sampling, *, stop: Sequence[str] = ()
    ) -> Completion:
        """The model's answer, within the tokens that are left; other limits are not looked at.

        Args:
            messages: the conversation so far.
            offered: tools that the model may call.
            sampling: sampling parameters of the request.
            stop: texts at which the answer ends.

        Raises:
            ModelRefusedError: the model's endpoint refuses the request.
            ModelUnavailableError: no answer can be had.
        """
        assert self._watch is not None, "who asks a model is run with one"
        left = self._meter.left
        # An answer is paid for before it is counted, so it may not take more than is left.
        most = sampling.reply_tokens if left.tokens is None else max(1, min(sampling.reply_tokens, left.tokens))
        # The watch is inside, so that it compares what goes over the wire.
        asked = ToolModel(self._watch, text=sampling.text_tools, append_only=sampling.append_only)
        # Not reset where the request is cancelled: by waited_s, a timeout tells whether an endpoint was away.
        self._waiting_since = time.monotonic()
        options: CompletionOptions = {"max_tokens": most, "temperature": sampling.temperature, "seed": self._seed}
        if stop:
            options["stop"] = stop
        try:
            completion = await asked.complete(messages, tools=offered, **options)
        except ModelRefusedError:
            self._waiting_since = None
            raise
        self._waiting_since = None
        return completion

    def forgive_short_wait(self, longest_s: float) -> None:
        """Do not take an answer that has been waited for less than so many seconds for a sign that its endpoint is
        away, where whoever asks chooses when to ask.
        """
        if self.waited_s is not None and self.waited_s < longest_s:
            self._waiting_since = None

    def check_limits(self) -> None:
        """Raise :class:`Ended` where a limit is reached."""
        limit = self._meter.exhausted
        if limit is not None:
            raise Ended(limit, over(limit, self._meter.allowance))

    def require_endpoint(self) -> None:
        """Called when a question's time is over: time that ran out while an endpoint was away is not the model's.

        Raises:
            ModelUnavailableError: the endpoint has not answered for longer than a model thinks.
        """
        waited_s = self.waited_s
        if waited_s is not None and waited_s > OUTAGE_S:
            raise ModelUnavailableError(
                f"the endpoint gave no answer in the last {waited_s:.0f} s of a question's time"
            )


def _meaning(error: ModelRefusedError, *, tools: bool) -> Ended | ModelUnavailableError:
    """What it means that an endpoint refuses a request: the end of the rollout, or a failure of the setup.

    Args:
        error: the refusal, with its reason.
        tools: whether tools were offered natively.
    """
    # What is wrong with the request is of our making, or of the endpoint's settings: no score can come of it.
    if error.reason == "no-tools":
        return ModelUnavailableError(f"{error}; leave out --native-tools, and its calls are text")
    if error.reason == "settings":
        return ModelUnavailableError(str(error))
    if error.reason == "bad-request":
        hint = "; where it takes no tools, --text-tools does without" if tools else ""
        return ModelUnavailableError(f"{error}; check the model's name, its limits and --reply-tokens{hint}")
    return Ended("refused", str(error))


def _unsendable(messages: Sequence[Message]) -> EndName | None:
    """How the conversation ends where an answer of the model's own may be what its endpoint refuses: an empty one, or
    one with a call that is not well-formed; None where there is no such answer.
    """
    for message in messages:
        if message.role != "assistant":
            continue
        if not (message.content or message.said or message.tool_calls):
            return "silent"
        # Calls that were written as text go back as text, which every endpoint takes.
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
