"""A model that is driven from outside: its trainer takes each request of an agent's loop and gives the answer.

    driven = DrivenModel("my-policy")
    running = asyncio.create_task(asyncio.to_thread(launcher.run, package, agent, model=driven))
    running.add_done_callback(lambda _: driven.close())
    while (request := await driven.request()) is not None:
        request.answer(await policy(request.messages, request.tools))
    result = await running

It may be asked and answered in any thread and on any event loop, by many rollouts at once. Nothing here has a time
limit of its own: where an answer never comes, the rollout's own time ends it as an error.
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
        options: sampling parameters that were asked for: ``max_tokens``, ``temperature``, ``seed``.
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
        self._conversation = messages
        self._since = time.monotonic()
        self._answered: Future[Completion] = Future()

    @property
    def waiting(self) -> bool:
        """Whether an answer is still waited for: none was given, and the rollout is not over."""
        return not self._answered.done()

    def answer(self, answer: Answer) -> bool:
        """Give the model's answer.

        Args:
            answer: the answer's text, an assistant's message as a dict in OpenAI's form, the whole body of a chat
                completion, a :class:`~openfingym.models.Message`, or a :class:`~openfingym.models.Completion`, which
                alone can carry a loss mask.

        Returns:
            Whether the answer was still waited for.

        Raises:
            UsageError: what was given is no answer; another one may be given.
        """
        from openfingym.models.given import read_completion

        took = time.monotonic() - self._since
        return self.settle(read_completion(answer, name=self._name, messages=self._conversation, latency_s=took))

    def fail(self, error: BaseException | str) -> bool:
        """Say that there is no answer: the rollout is an ``error``, with this as its reason.

        Args:
            error: the failure, or a text that says what failed.

        Returns:
            Whether an answer was still waited for.
        """
        if not isinstance(error, OpenFinGymError):
            said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
            error = ModelUnavailableError(f"model {self._name!r} gave no answer: {said}")
        return self.settle(error)

    def settle(self, end: Completion | BaseException) -> bool:
        """Give a completion, or end the request with an error; returns whether an answer was still waited for."""
        try:
            if isinstance(end, BaseException):
                self._answered.set_exception(end)
            else:
                self._answered.set_result(end)
        # Answered in another thread meanwhile, or the rollout is over: a look before would be too early to tell.
        except InvalidStateError:
            return False
        return True


class DrivenModel:
    """A model whose answers come from outside; see :class:`openfingym.models.LanguageModel`.

    Attributes:
        name: the model's name, as results record it.
        waits_s: seconds that a rollout may wait for answers beyond its own time; more than 0 for a subclass that
            excuses the waiting.
    """

    waits_s = 0.0

    def __init__(self, name: str = "driven") -> None:
        self.name = name
        self._lock = threading.Lock()
        """Held for all that follows."""
        self._waiting: deque[DrivenRequest] = deque()
        """Requests that nobody has taken yet, in the order in which they came."""
        self._taken: list[DrivenRequest] = []
        """Requests that were taken and not answered."""
        self._takers: deque[Future[DrivenRequest | None]] = deque()
        """Callers that wait for a request; there are none while requests wait."""
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
                # Where the rollout is over, an answer that comes now must learn that nobody waits for it.
                request._answered.cancel()
                for requests in (self._waiting, self._taken):
                    if request in requests:
                        requests.remove(request)

    async def request(self) -> DrivenRequest | None:
        """The next conversation that waits for an answer, once there is one; None when the model is closed.

        Cancelling this call loses nothing: the next call gets the request.
        """
        taker = self._take()
        try:
            return await asyncio.wrap_future(taker)
        except BaseException:
            self._untake(taker)
            raise

    def request_sync(self, timeout_s: float | None = None) -> DrivenRequest | None:
        """The next conversation that waits for an answer, for callers without an event loop; see :meth:`request`.

        Args:
            timeout_s: longest wait in seconds; None to wait forever.

        Raises:
            TimeoutError: no conversation asked for an answer in that time.
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

        Args:
            answer: the answer, as :meth:`DrivenRequest.answer` takes it.

        Returns:
            Whether the answer was still waited for.

        Raises:
            UsageError: no request was taken, several were, or what was given is no answer.
        """
        return self._only_taken().answer(answer)

    def fail(self, error: BaseException | str) -> bool:
        """Say that the one request that was taken gets no answer; see :meth:`DrivenRequest.fail`.

        Raises:
            UsageError: no request was taken, or several were.
        """
        return self._only_taken().fail(error)

    def close(self) -> None:
        """Answer nobody any more: every conversation ends as one whose model has stopped, and is scored by what was
        submitted until then. Callers that wait for a request get None. Closing twice does no harm.
        """
        with self._lock:
            self._closed = True
            asking = [*self._waiting, *self._taken]
            takers, self._takers = self._takers, deque()
        # Outside the lock: what is called back when a request is settled may ask this model again.
        for request in asking:
            request.settle(Stopped(f"model {self.name!r} was closed"))
        for taker in takers:
            if taker.set_running_or_notify_cancel():
                taker.set_result(None)

    def _only_taken(self) -> DrivenRequest:
        with self._lock:
            if len(self._taken) == 1:
                return self._taken[0]
            raise UsageError(
                f"{len(self._taken)} requests were taken and not answered; take one with request(), and where several "
                "wait answer each by its own answer()"
            )

    def _take(self) -> Future[DrivenRequest | None]:
        """A future of the next request, or of None where the model is closed."""
        taker: Future[DrivenRequest | None] = Future()
        with self._lock:
            if self._waiting:
                self._hand_over(self._waiting.popleft(), taker)
            elif self._closed:
                taker.set_result(None)
            else:
                self._takers.append(taker)
        return taker

    def _untake(self, taker: Future[DrivenRequest | None]) -> None:
        """Withdraw a taker that was cancelled or timed out, and give back the request that it got meanwhile."""
        with self._lock:
            if taker in self._takers:
                self._takers.remove(taker)
            if taker.cancel() or taker.cancelled():
                return
            # Too late to cancel: a request was handed over between the cancellation and the lock.
            request = taker.result()
            if request is not None and request in self._taken:
                self._taken.remove(request)
                self._offer(request, first=True)

    def _offer(self, request: DrivenRequest, *, first: bool = False) -> None:
        """Give a request to a caller that waits for one, or put it into the queue, as the ``first`` or the last; called
        with the lock held.
        """
        while self._takers:
            taker = self._takers.popleft()
            # False for a caller that has cancelled; from here on it no longer can.
            if taker.set_running_or_notify_cancel():
                self._hand_over(request, taker)
                return
        if first:
            self._waiting.appendleft(request)
        else:
            self._waiting.append(request)

    def _hand_over(self, request: DrivenRequest, taker: Future[DrivenRequest | None]) -> None:
        self._taken.append(request)
        taker.set_result(request)
