"""One rollout that is played from outside: its conversation, its tools, and its verified result."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from openfingym.models.given import Answer, read_completion
from openfingym.models.messages import Completion, well_formed
from openfingym.models.text_tools import as_said
from openfingym.models.wire import request_message, request_tool
from openfingym.training.driver import POLICY, AnswerExchange
from openfingym.training.rewards import Executed, reward_of

if TYPE_CHECKING:
    from types import TracebackType

    from openfingym.results import RolloutResult
    from openfingym.training.running import Ending, Running
    from openfingym.trajectory.record import Turn

T = TypeVar("T")
ChatMessage = dict[str, Any]
"""A message in the form of OpenAI's chat completions."""
CLOSED = "The rollout is over; nothing more can be done in it."
NO_TOOLS = "There are no tools here: answer with a program in a code block."


class Episode:
    """A rollout whose model is you: a task, tools to call, limits that hold, and a verified reward at the end.

    The agent's own loop runs on the other side, as in an evaluation; each method gives it one answer of its model and
    waits until it asks for the next. Methods may be called from any thread and event loop; those of one episode take
    place one after the other. A failure of ours ends the episode and is stated in it; no method raises it.

    Attributes:
        task: name of the task.
        split: ``test``, ``train`` or ``validation``.
        index: number of the instance of the task.
        seed: seed that programs are given.
        messages: the conversation in the form of OpenAI's chat completions, which only ever grows.
        tools: the tools that are offered, as JSON schemas in the same form; none for agents that run code blocks.
        result: the verified result, after :meth:`finish`; None where there is none for a reason of ours.
        reward: the reward, after :meth:`finish`; None for a failure of ours.
        failure: why there is no reward; None where there is one, or the episode is not finished.
    """

    def __init__(self, running: Running, *, task: str, split: str, index: int, seed: int, reward: str) -> None:
        """Take part in a rollout that has begun; see :meth:`openfingym.training.Desk.open`."""
        self.task, self.split, self.index, self.seed = task, split, index, seed
        self.messages: list[ChatMessage] = []
        self.tools: list[ChatMessage] = []
        self.result: RolloutResult | None = None
        self.reward: float | None = None
        self.failure: str | None = None
        self._running = running
        self._reward = reward
        self._names = itertools.count(1)
        self._pid = os.getpid()
        session = running.driver.session
        if session is not None:
            self.messages.extend(request_message(message) for message in session.messages)
            if running.driver.offers_tools:
                self.tools.extend(request_tool(tool) for tool in session.tools.offered)

    @property
    def over(self) -> bool:
        """Whether nothing more can be done; :meth:`finish` then gives the result."""
        return self._running.driver.over or os.getpid() != self._pid

    @property
    def transcript(self) -> tuple[Turn, ...]:
        """What was said and done so far, as the record of an evaluation has it."""
        session = self._running.driver.session
        return () if session is None else tuple(session.turns)

    @property
    def executed(self) -> Executed:
        """How far programs and submissions got so far."""
        ending = self._running.ending
        return ending.result().executed if ending.done() else Executed()

    async def answer(self, answer: Answer, *, cut: bool = False) -> list[ChatMessage]:
        """Give the model's next message, with the calls that it makes, and get what the model is told next.

        Args:
            answer: the assistant's message in the form of chat completions, whose arguments may be JSON text or
                objects; or its text; or a :class:`~openfingym.models.Completion`, which may carry its tokens.
            cut: whether the message was cut off for its length.

        Returns:
            The messages that follow it: results of its calls in order, and what else the model is told; none where the
            rollout ends without another word.

        Raises:
            UsageError: what was given is no answer; another one may be given.
        """
        exchange = self._submit(answer, cut)
        await settled(exchange.done)
        return self._after(exchange)

    def answer_sync(self, answer: Answer, *, cut: bool = False) -> list[ChatMessage]:
        """Give the model's next message, and wait for what the model is told next; see :meth:`answer`."""
        exchange = self._submit(answer, cut)
        exchange.done.result()
        return self._after(exchange)

    async def call(self, name: str, arguments: Mapping[str, Any] | str = "", call_id: str | None = None) -> str:
        """Call a tool, as a message of the model's that calls nothing else, and get the text of its result.

        A mistake of the model's, such as a tool that does not exist, is told as such a text too.

        Args:
            name: name of the tool.
            arguments: arguments of the call, as an object or as JSON text; an optional one may be None.
            call_id: identifier of the call; None to have one made.
        """
        refusal, message = self._refusal(), self._calling(name, arguments, call_id)
        return refusal if refusal is not None else _text(await self.answer(message))

    def call_sync(self, name: str, arguments: Mapping[str, Any] | str = "", call_id: str | None = None) -> str:
        """Call a tool, and wait for the text of its result; see :meth:`call`."""
        refusal, message = self._refusal(), self._calling(name, arguments, call_id)
        return refusal if refusal is not None else _text(self.answer_sync(message))

    async def say(self, text: str) -> str | None:
        """Give an answer in text. A code block in it is run where the agent's loop runs such blocks; else the text says
        that the model is done.

        Returns:
            What the model is told next; None where the rollout is over.
        """
        following = await self.answer(text)
        return None if self.over else _text(following)

    def say_sync(self, text: str) -> str | None:
        """Give an answer in text, and wait for what the model is told next; see :meth:`say`."""
        following = self.answer_sync(text)
        return None if self.over else _text(following)

    async def finish(self) -> RolloutResult | None:
        """End the rollout, which is scored by what was submitted until now; doing it twice does no harm.

        Returns:
            The verified result; None where there is none for a reason of ours. See also :attr:`reward`.
        """
        if (running := self._finishing()) is not None:
            self._close(await settled(running.ending))
        return self.result

    def finish_sync(self) -> RolloutResult | None:
        """End the rollout, and wait for its result; see :meth:`finish`."""
        if (running := self._finishing()) is not None:
            self._close(running.ending.result())
        return self.result

    def cut(self, why: str = "it was cut off") -> None:
        """End the rollout now, even in the middle of a call: it has a reward if something was accepted by then.

        Args:
            why: the failure, where the rollout has no reward.
        """
        self._running.cut(why)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.cut("its caller failed")
        await self.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.cut("its caller failed")
        self.finish_sync()

    def __repr__(self) -> str:
        state = "over" if self.over else "open"
        return f"<Episode {self.task} {self.split}[{self.index}], {state}, reward {self.reward}>"

    def _refusal(self) -> str | None:
        """The text with which a call is answered without asking the loop; None where the loop is asked."""
        if self.over:
            return CLOSED
        return None if self.tools else NO_TOOLS

    def _submit(self, answer: Answer, cut: bool) -> AnswerExchange:
        self._running.used_at = time.monotonic()
        return self._drive(AnswerExchange(self._read(answer, cut)))

    def _drive(self, exchange: AnswerExchange) -> AnswerExchange:
        # In the child of a fork, the rollout is the parent's, and its thread does not run: nothing would ever answer.
        if os.getpid() != self._pid:
            exchange.done.set_result(None)
            return exchange
        return self._running.driver.submit(exchange)

    def _after(self, exchange: AnswerExchange) -> list[ChatMessage]:
        """The messages that follow an answer; both are added to the conversation."""
        self._running.used_at = time.monotonic()
        position = exchange.done.result()
        if position is None:
            return []
        session = self._running.driver.session
        assert session is not None
        # As the model wrote them, since a trainer has the tokens of these texts.
        messages = as_said(session.messages[position : exchange.end])
        new = [request_message(message, reasoning=True) for message in messages]
        self.messages.extend(new)
        return new[1:]

    def _calling(self, name: str, arguments: Mapping[str, Any] | str, call_id: str | None) -> ChatMessage:
        """A message of the model's that makes one call."""
        function = {"name": str(name), "arguments": _json(arguments)}
        identifier = str(call_id or f"call_{next(self._names)}")
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": identifier, "type": "function", "function": function}],
        }

    def _read(self, answer: Answer, cut: bool) -> Completion:
        """An answer as a completion, each of its calls with an identifier and JSON text for arguments.

        Raises:
            UsageError: what was given is no answer.
        """
        if isinstance(answer, Mapping) and isinstance(calls := answer.get("tool_calls"), Sequence):
            answer = {**answer, "tool_calls": [self._call(call) for call in calls]}
        completion = read_completion(answer, name=POLICY)
        return replace(completion, finish_reason="length") if cut else completion

    def _call(self, call: object) -> object:
        """A call in the form of chat completions; what is none is left for the reader to refuse."""
        if not isinstance(call, Mapping) or not isinstance(function := call.get("function", call), Mapping):
            return call
        # Counted for calls with an identifier too: policies often number theirs in the same way.
        number = next(self._names)
        named = {**function, "arguments": _json(function.get("arguments"))}
        return {"type": "function", "id": str(call.get("id") or f"call_{number}"), "function": named}

    def _finishing(self) -> Running | None:
        """The rollout, which is told to end after the answers that it was given; None where its result is known."""
        if self._running.ending.done() and (self.result is not None or self.failure is not None):
            return None
        if os.getpid() != self._pid:
            self.failure = "it was opened by another process, before a fork"
            return None
        self._drive(AnswerExchange(None))
        return self._running

    def _close(self, ending: Ending) -> None:
        """Take over how the rollout ended; a failure has no reward, even where there is a result."""
        self.result, self.failure = ending.result, ending.failure
        if ending.result is not None and ending.failure is None:
            self.reward = reward_of(self._reward, ending.result, ending.executed)


def _json(arguments: object) -> str:
    """Arguments as JSON text; a value that JSON cannot hold becomes a text that is no JSON, which the model is told."""
    if isinstance(arguments, str):
        return well_formed(arguments)
    if arguments is None:
        return "{}"
    try:
        return well_formed(json.dumps(arguments))
    except (TypeError, ValueError, RecursionError):
        return well_formed(repr(arguments))


def _text(messages: Sequence[ChatMessage]) -> str:
    return "\n\n".join(str(message["content"]) for message in messages) or CLOSED


async def settled(future: Future[T]) -> T:
    """Wait for a future of another thread; cancelling this call does not cancel the future."""
    return await asyncio.shield(asyncio.wrap_future(future))
