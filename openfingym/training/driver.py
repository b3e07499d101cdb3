"""A model's answers from outside, for the agent's own loop: the loop asks, and whoever drives the rollout answers.

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
"""Name of the model, in results."""
WAITS_S = 4 * 3600.0
"""Seconds for which a rollout's policy may be waited for in all, beyond the rollout's own time."""


@dataclass(eq=False)
class AnswerExchange:
    """An answer of the policy's, or the wish to end, and whether what follows from it is done."""

    completion: Completion | None
    """None: the rollout is to be ended with what it has."""
    done: Future[int | None] = field(default_factory=Future)
    """Resolved when the loop asks for the next answer or is over, with the position of the message in the conversation;
    None where the loop was over before it."""
    end: int | None = None
    """Length of the conversation then, known before that."""


class Driver(DrivenModel):
    """The model of one rollout, which takes its answers from a queue, in time that is not the rollout's.

    Attributes:
        ready: resolved when the task was put and the first answer is waited for, or the rollout is over.
        waited_s: seconds for which the policy was waited for.
        session: the conversation; None before it begins.
        offers_tools: whether the loop offers tools.
        over: whether no answer will be asked for any more.
    """

    waits_s = WAITS_S

    def __init__(self, *, patience_s: float) -> None:
        """Wait for each answer for ``patience_s`` seconds at most."""
        super().__init__(POLICY)
        self.ready: Future[None] = Future()
        self.waited_s = 0.0
        self.session: Conversation | None = None
        self.offers_tools = False
        self.over = False
        self._patience_s = patience_s
        self._current: tuple[AnswerExchange, int] | None = None
        self._settling = threading.Lock()

    @property
    def asking(self) -> bool:
        """Whether an answer is waited for, so that the rollout does nothing."""
        return self.pending > 0

    def submit(self, exchange: AnswerExchange) -> AnswerExchange:
        """Hand over an answer; several are taken one after the other."""
        self._take().add_done_callback(partial(self._give, exchange))
        return exchange

    def begin(self, session: Conversation) -> None:
        """Take part in a conversation."""
        self.session = session

    def end(self) -> None:
        """No answer is asked for any more; who waits is told so. Doing it twice does no harm."""
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
        # The first to wait is who opened it, who finds an answer asked for.
        asyncio.get_running_loop().call_soon(_resolve, self.ready, None)
        with self.session.tools.programs.our_time():
            try:
                async with asyncio.timeout(patience_s):
                    found = await super().complete(messages, tools=tools, **options)
            except TimeoutError:
                raise ModelUnavailableError(
                    f"the policy gave no answer for {patience_s:.0f} s, and was waited for during "
                    f"{self.waited_s + patience_s:.0f} s in all"
                ) from None
        took = time.monotonic() - started
        self.waited_s += took
        usage = found.usage if found.counted else estimated_usage(messages, found.message)
        # Whoever trains a model pays for it elsewhere.
        return replace(found, usage=usage, cost_usd=found.cost_usd or 0.0, latency_s=took)

    def _give(self, exchange: AnswerExchange, taker: Future[DrivenRequest | None]) -> None:
        """Give an answer to the request that was waiting, or came."""
        request = taker.result()
        if request is None:
            _resolve(exchange.done, None)
            return
        assert self.session is not None
        with self._settling:
            self._current = exchange, len(self.session.messages)
        request.settle(Stopped("its rollout was finished") if exchange.completion is None else exchange.completion)

    def _settle(self) -> None:
        """Tell who gave the latest answer that what follows from it is done."""
        with self._settling:
            current, self._current = self._current, None
        if current is not None and self.session is not None:
            current[0].end = len(self.session.messages)
            _resolve(current[0].done, current[1])


@dataclass(frozen=True)
class DrivenAgent:
    """An agent whose loop is told of to a driver, which gives the answers it asks for; see
    :class:`openfingym.agents.llm.ModelAgent`.
    """

    agent: ModelAgent
    driver: Driver

    @property
    def takes_steps(self) -> bool:
        """As of the agent."""
        return self.agent.takes_steps

    @property
    def sampling(self) -> object:
        """As of the agent, for the record."""
        return getattr(self.agent, "sampling", None)

    async def act(self, session: Conversation) -> None:
        """Run the agent's own loop."""
        self.driver.begin(session)
        try:
            await self.agent.act(session)
        except Exception as error:
            # An error in a loop of the user's own is the user's; a failure of ours is a result.
            if isinstance(error, Ended | OpenFinGymError):
                raise
            raise OpenFinGymError(f"the agent's loop failed: {type(error).__name__}: {error}") from error
        finally:
            self.driver.end()


def _resolve(future: Future[None] | Future[int | None], value: int | None) -> None:
    """Resolve a future that may be resolved already, or given up by who waited."""
    with contextlib.suppress(InvalidStateError):
        future.set_result(value)  # type: ignore[arg-type]  # each future gets its own kind of value
