"""A rollout that is played from outside: its agent's loop asks, and the caller answers in the model's place.

    rollout = launcher.open(package, resolve("react"))
    request = await rollout.request()
    while request is not None:
        request = await rollout.answer(await policy(request.messages, request.tools))
    result = await rollout.finish()

Prompts, tools, limits, records and scores are those of :meth:`Launcher.run`, which runs it in a thread. Its methods may
be called in any thread and on any event loop; those that end in ``_sync`` block.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING

from openfingym.errors import UsageError, VerifierError
from openfingym.models.driven import DrivenModel, DrivenRequest
from openfingym.models.text_tools import as_said
from openfingym.models.wire import Json, request_message

if TYPE_CHECKING:
    from openfingym.agents.llm.session import Conversation
    from openfingym.models.given import Answer
    from openfingym.results import RolloutResult


class OpenRollout:
    """One rollout that waits for its model's answers from the caller; see :meth:`Launcher.open`.

    One that is forgotten is ended when it is collected, and every one with its launcher.
    """

    def __init__(self, run: Callable[..., RolloutResult], name: str) -> None:
        """Begin it; ``run`` is the launcher's, with everything but the model stated."""
        self._model = DrivenModel(name)
        self._cancel = threading.Event()
        self._conversations: list[Conversation] = []
        self._result: Future[RolloutResult] = Future()
        self._request: DrivenRequest | None = None
        # The thread knows the parts of this object and not the object, so that it can be forgotten.
        self._thread = threading.Thread(
            target=_play,
            args=(run, self._model, self._cancel, self._conversations, self._result),
            name="openfingym-open-rollout",
            daemon=True,
        )
        self._thread.start()
        self._finalizer = weakref.finalize(self, _end, self._model, self._cancel)

    @property
    def conversation(self) -> Conversation | None:
        """The conversation, to be read and not to be acted on; None before it begins."""
        return self._conversations[0] if self._conversations else None

    @property
    def messages(self) -> list[Json]:
        """Everything that was said, as dicts in OpenAI's form; also after the end, with the last results."""
        conversation = self.conversation
        said = [] if conversation is None else as_said(conversation.messages)
        return [request_message(message, reasoning=True) for message in said]

    @property
    def over(self) -> bool:
        """Whether the agent's loop has ended: nothing is asked any more."""
        return self._result.done()

    async def request(self) -> DrivenRequest | None:
        """The conversation as the model is to continue it, once it is; None when the rollout is over.

        Asking again before the answer gives the same request.
        """
        if self._request is None or not self._request.waiting:
            self._request = await self._model.request()
        return self._request

    def request_sync(self, timeout_s: float | None = None) -> DrivenRequest | None:
        """As :meth:`request`.

        Raises:
            TimeoutError: there was none for so long.
        """
        if self._request is None or not self._request.waiting:
            self._request = self._model.request_sync(timeout_s)
        return self._request

    async def answer(self, answer: Answer) -> DrivenRequest | None:
        """Give the model's answer, and wait for what follows from it.

        Args:
            answer: see :meth:`openfingym.models.driven.DrivenRequest.answer`.

        Returns:
            The next request; None when the rollout is over.

        Raises:
            UsageError: nothing was asked, or this is no answer.
        """
        self._asked().answer(answer)
        return await self.request()

    def answer_sync(self, answer: Answer, timeout_s: float | None = None) -> DrivenRequest | None:
        """As :meth:`answer`.

        Raises:
            UsageError: nothing was asked, or this is no answer.
            TimeoutError: nothing followed for so long; the answer is given.
        """
        self._asked().answer(answer)
        return self.request_sync(timeout_s)

    async def finish(self, *, now: bool = False) -> RolloutResult:
        """End the rollout if it is not over, and get its verified result; as often as it is wanted.

        Args:
            now: break off a program that runs; else it is waited for.

        Raises:
            OpenFinGymError: what :meth:`Launcher.run` raises.
        """
        self._close(now=now)
        return await asyncio.shield(asyncio.wrap_future(self._result))

    def finish_sync(self, *, now: bool = False, timeout_s: float | None = None) -> RolloutResult:
        """As :meth:`finish`.

        Raises:
            OpenFinGymError: what :meth:`Launcher.run` raises.
            TimeoutError: there was no result for so long.
        """
        self._close(now=now)
        return self._result.result(timeout_s)

    def abandon(self) -> None:
        """Have it end at once, whatever it is doing; :meth:`finish` has the result all the same."""
        self._finalizer()

    def join(self) -> None:
        """Wait until nothing of it is left."""
        self._thread.join()

    def _close(self, *, now: bool) -> None:
        if now:
            self._finalizer()
        self._model.close()

    def _asked(self) -> DrivenRequest:
        if self._request is None:
            raise UsageError("nothing was asked yet, or the rollout is over; wait for request() first")
        return self._request


def _play(
    run: Callable[..., RolloutResult],
    model: DrivenModel,
    cancel: threading.Event,
    conversations: list[Conversation],
    result: Future[RolloutResult],
) -> None:
    """Run it to its end, and tell all who wait."""
    try:
        found = run(model=model, cancel=cancel, opened=conversations.append)
    except CancelledError:
        result.set_exception(VerifierError("the rollout was ended before it had begun"))
    except BaseException as error:
        result.set_exception(error)
    else:
        result.set_result(found)
    finally:
        model.close()


def _end(model: DrivenModel, cancel: threading.Event) -> None:
    cancel.set()
    model.close()
