"""A model's answers from outside, for the agent's own loop: the loop asks, and whoever drives the rollout answers.

The loop of a built-in agent runs as it does in an evaluation. Where it asks its model, the :class:`Driver` waits for
the next :class:`Exchange`; an exchange is done when the loop asks again, or is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

from openfingym.agents.llm.ending import Ended
from openfingym.errors import ModelUnavailableError, OpenFinGymError
from openfingym.models.messages import Completion, CompletionTokens, FinishReason, Message, Tool, Usage

if TYPE_CHECKING:
    from openfingym.agents.llm.session import Conversation, ModelAgent
    from openfingym.models.model import CompletionOptions

POLICY = "policy"
"""Name of the model, in results."""
CHARACTERS_A_TOKEN = 4
"""Where nobody counts tokens."""


@dataclass(eq=False)
class Exchange:
    """An answer of the policy's, or the wish to end, and whether what follows from it is done."""

    message: Message | None
    """None: the rollout is to be ended with what it has."""
    cut: bool = False
    """Whether the answer was cut off for its length."""
    tokens: CompletionTokens | None = None
    done: Future[int | None] = field(default_factory=Future)
    """Resolved when the loop asks for the next answer or is over, with the position of the message in the conversation;
    None where the loop was over before it."""
    end: int | None = None
    """Length of the conversation then, known before that."""


class Driver:
    """Answers for one rollout; a :class:`~openfingym.models.model.LanguageModel` that waits for them.

    Attributes:
        ready: resolved when the task was put and the first answer is waited for, or the rollout is over.
        waited_s: seconds for which the policy was waited for.
        session: the conversation; None before it begins.
        offers_tools: whether the loop offers tools.
    """

    name = POLICY

    def __init__(self, *, patience_s: float, waits_s: float) -> None:
        """Wait for each answer for ``patience_s`` seconds at most, and for all together for ``waits_s``."""
        self.ready: Future[None] = Future()
        self.waited_s = 0.0
        self.session: Conversation | None = None
        self._patience_s = patience_s
        self._waits_s = waits_s
        self._lock = threading.Lock()
        self._queue: deque[Exchange] = deque()
        self._current: tuple[Exchange, int] | None = None
        self._asking: tuple[asyncio.AbstractEventLoop, asyncio.Future[Exchange]] | None = None
        self._over = False
        self.offers_tools = False

    @property
    def over(self) -> bool:
        """Whether no answer will be asked for any more."""
        return self._over

    @property
    def asking(self) -> bool:
        """Whether an answer is waited for, so that the rollout does nothing."""
        return self._asking is not None

    def submit(self, exchange: Exchange) -> Exchange:
        """Hand over an answer; several are taken one after the other."""
        with self._lock:
            if self._over:
                _resolve(exchange.done, None)
            elif self._asking is None or self._queue:
                self._queue.append(exchange)
            else:
                loop, waiting = self._asking
                self._asking = None
                loop.call_soon_threadsafe(_hand, waiting, exchange)
        return exchange

    def begin(self, session: Conversation) -> None:
        """Take part in a conversation."""
        self.session = session

    def end(self) -> None:
        """No answer is asked for any more; who waits is told so. Doing it twice does no harm."""
        with self._lock:
            self._over, self._asking = True, None
            current, self._current = self._current, None
            left = list(self._queue)
            self._queue.clear()
        self._settle(current)
        for exchange in left:
            _resolve(exchange.done, None)
        _resolve(self.ready, None)

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **_: Unpack[CompletionOptions]
    ) -> Completion:
        """Wait for the next answer, in time that is not the rollout's; who gives it has seen the conversation.

        Raises:
            Ended: the rollout is to end with what it has.
            ModelUnavailableError: no answer came.
        """
        assert self.session is not None, "the loop begins before it asks"
        self.offers_tools = bool(tools)
        started = time.monotonic()
        with self.session.tools.programs.our_time():
            exchange = await self._next()
        took = time.monotonic() - started
        self.waited_s += took
        if exchange.message is None:
            if await self.session.tools.answered():
                raise Ended("finished", "it answered the task")
            raise Ended("stopped", "its rollout was finished before the task was answered")
        reason: FinishReason = "length" if exchange.cut else "tool_calls" if exchange.message.tool_calls else "stop"
        return Completion(
            exchange.message,
            reason,
            _usage(messages, exchange),
            POLICY,
            cost_usd=0.0,
            latency_s=took,
            counted=exchange.tokens is not None,
            tokens=exchange.tokens,
        )

    async def _next(self) -> Exchange:
        assert self.session is not None
        with self._lock:
            current, self._current = self._current, None
            exchange = self._queue.popleft() if self._queue else None
            loop = asyncio.get_running_loop()
            waiting: asyncio.Future[Exchange] = loop.create_future()
            if exchange is None:
                self._asking = loop, waiting
        self._settle(current)
        _resolve(self.ready, None)
        if exchange is None:
            exchange = await self._awaited(waiting)
        self._current = exchange, len(self.session.messages)
        return exchange

    def _settle(self, current: tuple[Exchange, int] | None) -> None:
        """Tell who gave an answer that what follows from it is done."""
        if current is not None:
            assert self.session is not None
            current[0].end = len(self.session.messages)
            _resolve(current[0].done, current[1])

    async def _awaited(self, waiting: asyncio.Future[Exchange]) -> Exchange:
        patience_s = min(self._patience_s, max(0.0, self._waits_s - self.waited_s))
        try:
            async with asyncio.timeout(patience_s):
                return await waiting
        except TimeoutError:
            raise ModelUnavailableError(
                f"the policy gave no answer for {patience_s:.0f} s, and was waited for during "
                f"{self.waited_s + patience_s:.0f} s in all"
            ) from None


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


def _usage(messages: Sequence[Message], exchange: Exchange) -> Usage:
    """Tokens of an answer and what it follows: those that are known, or a quarter of the characters."""
    assert exchange.message is not None
    if exchange.tokens is not None and exchange.tokens.prompt_ids:
        return Usage(len(exchange.tokens.prompt_ids), len(exchange.tokens.completion_ids))
    return Usage(_counted(messages), _counted((exchange.message,)))


def _counted(messages: Sequence[Message]) -> int:
    said = sum(len(message.content) + sum(len(call.arguments) for call in message.tool_calls) for message in messages)
    return -(-said // CHARACTERS_A_TOKEN)


def _hand(waiting: asyncio.Future[Exchange], exchange: Exchange) -> None:
    if waiting.done():
        # It was cancelled, or its patience had just ended: the loop is about to be over.
        _resolve(exchange.done, None)
    else:
        waiting.set_result(exchange)


def _resolve(future: Future[object] | Future[None] | Future[int | None], value: object) -> None:
    """Resolve a future that may be resolved already, or given up by who waited."""
    with contextlib.suppress(InvalidStateError):
        future.set_result(value)  # type: ignore[arg-type]  # each future gets its own kind of value
