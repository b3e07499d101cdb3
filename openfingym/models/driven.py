"""A model that is driven from outside: whoever trains it gives its answers, and the agent's loop goes on.

    driven = DrivenModel("my-policy")
    running = asyncio.create_task(asyncio.to_thread(launcher.run, package, agent, model=driven))
    running.add_done_callback(lambda _: driven.close())
    while (request := await driven.request()) is not None:
        request.answer(await policy(request.messages, request.tools))
    result = await running

It may be asked and answered in any thread and on any event loop, by many rollouts at once. Nothing here has a time
limit of its own: an answer that never comes ends the rollout by the rollout's time, as an error.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Unpack

from openfingym.errors import ModelUnavailableError, OpenFinGymError, UsageError
from openfingym.models.messages import Completion, Message, Tool
from openfingym.models.model import CompletionOptions
from openfingym.models.wire import Json, request_message, request_tool

if TYPE_CHECKING:
    from openfingym.models.given import Answer


class Stopped(Exception):  # noqa: N818  # no failure: whoever answers has had enough
    """Whoever answers for the model has ended the conversation."""


class DrivenRequest:
    """A conversation that waits for its next message.

    Attributes:
        messages: the conversation, as dicts in OpenAI's form.
        tools: the tools on offer, in the same form.
        options: what else was asked for: ``max_tokens``, ``temperature``, ``seed``.
    """

    def __init__(
        self, name: str, messages: Sequence[Message], tools: Sequence[Tool], options: CompletionOptions
    ) -> None:
        """Made by :class:`DrivenModel`."""
        reasoning = options.pop("reasoning", False)
        self.messages: list[Json] = [request_message(message, reasoning=reasoning) for message in messages]
        self.tools: list[Json] = [request_tool(tool) for tool in tools]
        self.options: Json = {key: value for key, value in options.items() if value is not None}
        self._name = name
        self._said = messages
        self._since = time.monotonic()
        self._answered: Future[Completion] = Future()

    @property
    def waiting(self) -> bool:
        """Whether an answer is still waited for: neither given, nor is the rollout over."""
        return not self._answered.done()

    def answer(self, answer: Answer) -> bool:
        """Give the model's answer.

        Args:
            answer: its text, an assistant's message as a dict in OpenAI's form, the whole body of a chat completion, or
                a :class:`~openfingym.models.Message` or :class:`~openfingym.models.Completion`, which alone can
                carry token ids, log probabilities and a loss mask.

        Returns:
            Whether it was still waited for.

        Raises:
            UsageError: it is no answer; another one may be given.
        """
        from openfingym.models.given import read_completion

        took = time.monotonic() - self._since
        return self.settle(read_completion(answer, name=self._name, messages=self._said, latency_s=took))

    def fail(self, error: BaseException | str) -> bool:
        """Say that there is no answer: the rollout is an ``error``, with this as its reason.

        Returns:
            Whether it was still waited for.
        """
        if not isinstance(error, OpenFinGymError):
            said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
            error = ModelUnavailableError(f"model {self._name!r} gave no answer: {said}")
        return self.settle(error)

    def settle(self, found: Completion | BaseException) -> bool:
        """Give a completion, or end the request with an error; returns whether it was still waited for."""
        try:
            if isinstance(found, BaseException):
                self._answered.set_exception(found)
            else:
                self._answered.set_result(found)
        except InvalidStateError:
            return False
        return True


class DrivenModel:
    """A model whose answers come from outside; see :class:`openfingym.models.LanguageModel`.

    Attributes:
        name: the model's name, as results record it.
        waits_s: seconds that a rollout may take for it beyond its own time, where it excuses its waiting.
    """

    waits_s = 0.0

    def __init__(self, name: str = "driven") -> None:
        self.name = name
        self._lock = threading.Lock()
        self._waiting: deque[DrivenRequest] = deque()
        """Requests that nobody has taken yet."""
        self._taken: list[DrivenRequest] = []
        """Requests that were taken and not answered."""
        self._takers: deque[Future[DrivenRequest | None]] = deque()
        self._closed = False

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Wait for the answer from outside.

        Raises:
            Stopped: whoever answers has ended the conversation.
            ModelUnavailableError: whoever answers says that there is no answer.
        """
        request = DrivenRequest(self.name, messages, tools, options)
        with self._lock:
            if self._closed:
                raise Stopped(f"model {self.name!r} is closed")
            self._offer(request)
        try:
            return await asyncio.wrap_future(request._answered)
        finally:
            with self._lock:
                request._answered.cancel()
                for requests in (self._waiting, self._taken):
                    if request in requests:
                        requests.remove(request)

    async def request(self) -> DrivenRequest | None:
        """The next conversation that waits for an answer, once there is one; None when the model is closed.

        Cancelling the call loses nothing: the next one gets the request.
        """
        taker = self._take()
        try:
            return await asyncio.wrap_future(taker)
        except BaseException:
            self._untake(taker)
            raise

    def request_sync(self, timeout_s: float | None = None) -> DrivenRequest | None:
        """As :meth:`request`, for threads without an event loop.

        Raises:
            TimeoutError: there was none for so long.
        """
        taker = self._take()
        try:
            return taker.result(timeout_s)
        except BaseException:
            self._untake(taker)
            raise

    @property
    def pending(self) -> int:
        """How many conversations wait for an answer."""
        with self._lock:
            return len(self._waiting) + len(self._taken)

    def answer(self, answer: Answer) -> bool:
        """Answer the one request that was taken; where there are several, answer each by its own method.

        Returns:
            Whether it was still waited for.

        Raises:
            UsageError: none was taken, or several were; or it is no answer.
        """
        return self._only().answer(answer)

    def fail(self, error: BaseException | str) -> bool:
        """Say that the one request that was taken gets no answer; see :meth:`DrivenRequest.fail`.

        Raises:
            UsageError: none was taken, or several were.
        """
        return self._only().fail(error)

    def close(self) -> None:
        """Answer nobody any more: every conversation ends here as one whose model has stopped, and is scored by what
        was submitted until then. Whoever waits for a request gets None. Doing it twice does no harm.
        """
        with self._lock:
            self._closed = True
            asking = [*self._waiting, *self._taken]
            takers, self._takers = self._takers, deque()
        for request in asking:
            request.settle(Stopped(f"model {self.name!r} was closed"))
        for taker in takers:
            if taker.set_running_or_notify_cancel():
                taker.set_result(None)

    def _only(self) -> DrivenRequest:
        with self._lock:
            if len(self._taken) == 1:
                return self._taken[0]
            raise UsageError(
                f"{len(self._taken)} requests were taken and not answered; take one with request(), and where several "
                "wait answer each by its own answer()"
            )

    def _take(self) -> Future[DrivenRequest | None]:
        taker: Future[DrivenRequest | None] = Future()
        with self._lock:
            if self._waiting:
                self._hand(self._waiting.popleft(), taker)
            elif self._closed:
                taker.set_result(None)
            else:
                self._takers.append(taker)
        return taker

    def _untake(self, taker: Future[DrivenRequest | None]) -> None:
        """Give back what a taker got and did not look at."""
        with self._lock:
            if taker in self._takers:
                self._takers.remove(taker)
            if taker.cancel() or taker.cancelled():
                return
            request = taker.result()
            if request is not None and request in self._taken:
                self._taken.remove(request)
                self._offer(request, first=True)

    def _offer(self, request: DrivenRequest, *, first: bool = False) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if taker.set_running_or_notify_cancel():
                self._taken.append(request)
                taker.set_result(request)
                return
        if first:
            self._waiting.appendleft(request)
        else:
            self._waiting.append(request)

    def _hand(self, request: DrivenRequest, taker: Future[DrivenRequest | None]) -> None:
        self._taken.append(request)
        taker.set_result(request)
