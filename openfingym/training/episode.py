"""One rollout played from outside."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Self, TypeVar

from openfingym.errors import UsageError
from openfingym.models.messages import CompletionTokens, Message, ToolCall, well_formed
from openfingym.models.wire import request_message, request_tool
from openfingym.training.driver import Exchange
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
    place one after the other. Whatever fails for a reason of ours ends the episode; it raises nothing.

    Attributes:
        task: name of the task.
        split: ``test``, ``train`` or ``validation``.
        index: the instance of the task.
        seed: seed that programs are given.
        messages: the conversation in the form of OpenAI's chat completions, which only ever grows.
        tools: the tools that are offered, as JSON schemas in the same form; none for agents that run code blocks.
        result: the verified result, after :meth:`finish`; None where there is none for a reason of ours.
        reward: the reward, after :meth:`finish`; None for a failure of ours.
        failure: why there is no reward.
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

    async def answer(
        self, message: Mapping[str, Any], *, tokens: CompletionTokens | None = None, cut: bool = False
    ) -> list[ChatMessage]:
        """Give the model's next message, with any calls it makes, and get what the model is told next.

        Args:
            message: the assistant's message: ``content``, and ``tool_calls`` in the form of chat completions, whose
                arguments may be JSON text or objects.
            tokens: its tokens, for the record.
            cut: whether it was cut off for its length.

        Returns:
            The messages that follow it: results of its calls in order, and what else the model is told; nothing where
            the rollout is over without a word.

        Raises:
            UsageError: the message is none of an assistant's.
        """
        exchange = self._submit(self._read(message), tokens, cut)
        await settled(exchange.done)
        return self._after(exchange, message)

    def answer_sync(
        self, message: Mapping[str, Any], *, tokens: CompletionTokens | None = None, cut: bool = False
    ) -> list[ChatMessage]:
        """As :meth:`answer`, for callers without an event loop."""
        exchange = self._submit(self._read(message), tokens, cut)
        exchange.done.result()
        return self._after(exchange, message)

    async def call(self, name: str, arguments: Mapping[str, Any] | str = "", call_id: str | None = None) -> str:
        """Call a tool, as a message of the model's that calls nothing else, and get the text of its result.

        A mistake of the model's is such a text as well: a tool that does not exist, arguments of the wrong type.

        Args:
            name: name of the tool.
            arguments: its arguments, as an object or as JSON text; an optional one may be None.
            call_id: the model's name for the call.
        """
        refusal, message = self._refusal(), self._calling(name, arguments, call_id)
        return refusal if refusal is not None else _text(await self.answer(message))

    def call_sync(self, name: str, arguments: Mapping[str, Any] | str = "", call_id: str | None = None) -> str:
        """As :meth:`call`, for callers without an event loop."""
        refusal, message = self._refusal(), self._calling(name, arguments, call_id)
        return refusal if refusal is not None else _text(self.answer_sync(message))

    async def say(self, text: str) -> str | None:
        """Give an answer in text: a code block in it is run where the agent's loop runs them, else the model is done.

        Returns:
            What the model is told next; None where the rollout is over.
        """
        told = await self.answer({"role": "assistant", "content": text})
        return None if self.over else _text(told)

    def say_sync(self, text: str) -> str | None:
        """As :meth:`say`, for callers without an event loop."""
        told = self.answer_sync({"role": "assistant", "content": text})
        return None if self.over else _text(told)

    async def finish(self) -> RolloutResult | None:
        """End the rollout, whose result is what was submitted by then; doing it twice does no harm.

        Returns:
            The verified result; None where there is none for a reason of ours. See also :attr:`reward`.
        """
        if (running := self._finishing()) is not None:
            self._close(await settled(running.ending))
        return self.result

    def finish_sync(self) -> RolloutResult | None:
        """As :meth:`finish`, for callers without an event loop."""
        if (running := self._finishing()) is not None:
            self._close(running.ending.result())
        return self.result

    def cut(self, why: str = "it was cut off") -> None:
        """End it now, even in the middle of a call: it has a reward if something was accepted by then."""
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
        """What a call is answered at once, without the loop."""
        if self.over:
            return CLOSED
        return None if self.tools else NO_TOOLS

    def _submit(self, message: Message, tokens: CompletionTokens | None, cut: bool) -> Exchange:
        self._running.used_at = time.monotonic()
        return self._drive(Exchange(message, cut, tokens))

    def _drive(self, exchange: Exchange) -> Exchange:
        if os.getpid() != self._pid:  # its rollout is the parent's
            exchange.done.set_result(None)
            return exchange
        return self._running.driver.submit(exchange)

    def _after(self, exchange: Exchange, message: Mapping[str, Any]) -> list[ChatMessage]:
        """What follows an answer, which is now part of the conversation."""
        self._running.used_at = time.monotonic()
        position = exchange.done.result()
        if position is None:
            return []
        session = self._running.driver.session
        assert session is not None
        end = exchange.end if exchange.end is not None else len(session.messages)
        told = [request_message(follows) for follows in session.messages[position + 1 : end]]
        said = {"role": "assistant", "content": message.get("content")}
        if message.get("tool_calls"):
            said["tool_calls"] = message["tool_calls"]
        self.messages.extend([said, *told])
        return told

    def _calling(self, name: str, arguments: Mapping[str, Any] | str, call_id: str | None) -> ChatMessage:
        called = {"name": str(name), "arguments": _json(arguments)}
        identity = call_id or f"call_{next(self._names)}"
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": identity, "type": "function", "function": called}],
        }

    def _read(self, message: Mapping[str, Any]) -> Message:
        """A message in the form of chat completions.

        Raises:
            UsageError: it is none.
        """
        if not isinstance(message, Mapping) or message.get("role", "assistant") != "assistant":
            raise UsageError(f"an answer is a message of the assistant's, a mapping; found {str(message)[:200]!r}")
        content = message.get("content")
        if isinstance(content, Sequence) and not isinstance(content, str):
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
        calls: list[ToolCall] = []
        for call in message.get("tool_calls") or ():
            function = call.get("function", call) if isinstance(call, Mapping) else None
            if not isinstance(function, Mapping):
                raise UsageError(f"a call is a mapping with 'function' in it, found {str(call)[:200]!r}")
            identity = str(call.get("id") or f"call_{next(self._names)}")
            while any(identity == other.id for other in calls):
                identity = f"call_{next(self._names)}"
            calls.append(ToolCall(identity, str(function.get("name") or ""), _json(function.get("arguments"))))
        return Message("assistant", well_formed(str(content or "")), tuple(calls))

    def _finishing(self) -> Running | None:
        """The rollout, told to end after what was given it; None where its result is known."""
        if self._running.ending.done() and (self.result is not None or self.failure is not None):
            return None
        if os.getpid() != self._pid:
            self.failure = "it was opened by another process, before a fork"
            return None
        self._drive(Exchange(None))
        return self._running

    def _close(self, ending: Ending) -> None:
        self.result, self.failure = ending.result, ending.failure
        if ending.result is not None and ending.failure is None:
            self.reward = reward_of(self._reward, ending.result, ending.executed)


def _json(arguments: object) -> str:
    """Arguments as JSON text; what is no JSON is a text that is none, which the model is told."""
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
    """Wait for a future of another thread; who gives up waiting does not break it off."""
    return await asyncio.shield(asyncio.wrap_future(future))
