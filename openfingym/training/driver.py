"""The model of a rollout that is played from outside: the agent's loop asks, and a trainer's policy answers.

The loop of a built-in agent runs as it does in an evaluation. Where it asks its model, the :class:`Driver` waits for
the next :class:`AnswerExchange`; an exchange is done when the loop asks again, or is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

from openfingym.agents.llm.ending import Ended
from openfingym.errors import ModelUnavailableError, OpenFinGymError
from openfingym.models.driven import DrivenModel, DrivenRequest, Stopped
from openfingym.models.messages import Completion, Message, Tool, estimated_usage

if TYPE_CHECKING:
    from openfingym.agents.llm.session import Conversation, ModelAgent
    from openfingym.models.model import CompletionOptions

POLICY = "policy"
"""Name of the model that results record."""
WAITS_S = 4 * 3600.0
"""Seconds for which a rollout's policy may be waited for in all, beyond the rollout's own time."""


@dataclass(eq=False)
class AnswerExchange:
    """An answer of the policy's, or the wish to end the rollout, and when all that follows from it was done."""

    completion: Completion | None
    """The answer; None to end the rollout with what was accepted by then."""
    done: Future[int | None] = field(default_factory=Future)
    """Resolved when the loop asks for the next answer or is over, with the position of the answer in the conversation;
    None where the loop was over before it could be given."""
    end: int | None = None
    """Length of the conversation when :attr:`done` is resolved; set before it is."""


class Driver(DrivenModel):
    """The model of one rollout, whose answers are handed over by a trainer while the rollout's time stands still.

    Attributes:
        ready: resolved when the task was put and the first answer is waited for, or the rollout is over.
        waited_s: seconds for which the policy was waited for, in all.
        session: the conversation; None before it begins.
        offers_tools: whether the loop offers tools.
        over: whether no answer will be asked for any more.
    """

    waits_s = WAITS_S

    def __init__(self, *, patience_s: float) -> None:
        """Ask nothing yet.

        Args:
            patience_s: seconds for which each answer is waited for.
        """
        super().__init__(POLICY)
        self.ready: Future[None] = Future()
        self.waited_s = 0.0
        self.session: Conversation | None = None
        self.offers_tools = False
        self.over = False
        self._patience_s = patience_s
        self._current: tuple[AnswerExchange, int] | None = None
        """The exchange whose answer was given last and which is not done, and the answer's position."""
        self._settling = threading.Lock()
        """Held where the current exchange is set or taken."""

    @property
    def asking(self) -> bool:
        """Whether an answer is waited for, so that the rollout does nothing."""
        return self.pending > 0

    def submit(self, exchange: AnswerExchange) -> AnswerExchange:
        """Hand over an answer; several are given to the loop one after the other."""
        # Called at once where a request waits, or else when the loop asks, in its thread.
        self._take().add_done_callback(partial(self._give, exchange))
        return exchange

    def begin(self, session: Conversation) -> None:
        """Take part in a conversation, which begins."""
        self.session = session

    def end(self) -> None:
        """Note that no answer will be asked for any more, and tell all who wait. Doing it twice does no harm."""
        # In this order: whoever is told that the exchange is done finds that the rollout is over.
        self.over = True
        self._settle()
        self.close()
        _resolve(self.ready, None)

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Wait for the next answer.

        Raises:
            Stopped: the rollout is to end with what it has.
            ModelUnavailableError: no answer came.
        """
        assert self.session is not None, "the loop begins before it asks"
        self.offers_tools = bool(tools)
        self._settle()
        started, patience_s = time.monotonic(), min(self._patience_s, max(0.0, self.waits_s - self.waited_s))
        # Soon and not now: by then the request waits below, so that the caller that opened the episode finds it.
        asyncio.get_running_loop().call_soon(_resolve, self.ready, None)
        with self.session.tools.programs.our_time():
            try:
                async with asyncio.timeout(patience_s):
                    completion = await super().complete(messages, tools=tools, **options)
            except TimeoutError:
                raise ModelUnavailableError(
                    f"the policy gave no answer for {patience_s:.0f} s, and was waited for during "
                    f"{self.waited_s + patience_s:.0f} s in all"
                ) from None
        took = time.monotonic() - started
        self.waited_s += took
        usage = completion.usage if completion.counted else estimated_usage(messages, completion.message)
        # Whoever trains a model pays for it elsewhere, and a limit on cost must not refuse an answer without a price.
        return replace(completion, usage=usage, cost_usd=completion.cost_usd or 0.0, latency_s=took)

    def _give(self, exchange: AnswerExchange, taker: Future[DrivenRequest | None]) -> None:
        """Give an answer to a request that waited, or came just now."""
        request = taker.result()
        if request is None:
            _resolve(exchange.done, None)
            return
        assert self.session is not None
        # Before the loop has the answer: it may come to its next question at once, in its own thread.
        with self._settling:
            self._current = exchange, len(self.session.messages)
        request.settle(Stopped("its rollout was finished") if exchange.completion is None else exchange.completion)

    def _settle(self) -> None:
        """Tell the caller that gave the latest answer that all that follows from it is done."""
        with self._settling:
            current, self._current = self._current, None
        if current is not None and self.session is not None:
            current[0].end = len(self.session.messages)
            _resolve(current[0].done, current[1])


@dataclass(frozen=True)
class DrivenAgent:
    """An agent that tells a driver when its conversation begins and ends; see
    :class:`openfingym.agents.llm.ModelAgent`.
    """

    agent: ModelAgent
    """The agent whose loop runs."""
    driver: Driver

    @property
    def takes_steps(self) -> bool:
        """Whether the agent takes the steps of a sequential task by the tool ``step``."""
        return self.agent.takes_steps

    @property
    def sampling(self) -> object:
        """How the agent asks its model, which goes on record; None where it has no such settings."""
        return getattr(self.agent, "sampling", None)

    async def act(self, session: Conversation) -> None:
        """Run the agent's own loop."""
        self.driver.begin(session)
        try:
            await self.agent.act(session)
        except Exception as error:
            # A bug in a loop of the user's own ends this rollout as an error, and not the training.
            if isinstance(error, Ended | OpenFinGymError):
                raise
            raise OpenFinGymError(f"the agent's loop failed: {type(error).__name__}: {error}") from error
        finally:
            self.driver.end()


def _resolve(future: Future[None] | Future[int | None], value: int | None) -> None:
    """Resolve a future that may have been resolved already, or cancelled by the caller that waited."""
    with contextlib.suppress(InvalidStateError):
        future.set_result(value)  # type: ignore[arg-type]  # each future gets its own kind of value
