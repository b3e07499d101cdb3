"""Running the conversations of a launcher: one event loop in a thread of its own, and the models they share."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractAsyncContextManager
from typing import Any, Self, TypeVar

from openfingym.agents.llm.open_models import OpenModels
from openfingym.errors import UsageError
from openfingym.models.endpoint import PATIENCE_S, ChatModel
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec

T = TypeVar("T")
CALLS_AT_ONCE = 64
"""Most blocking calls, such as those to the verifier, that are under way for all rollouts together."""
CANCEL_CHECK_S = 0.25
"""Seconds between two looks at whether a caller wants to cancel."""


class ConversationRunner:
    """Runs conversations for callers in any thread; a context manager."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        """Start nothing yet.

        Args:
            patience_s: seconds for which a model's endpoint that does not answer is asked again.
        """
        self._loop = asyncio.new_event_loop()
        # Calls to the verifier block a thread each; asyncio's own pool has only a few more threads than cores.
        self._loop.set_default_executor(ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="openfingym-calls"))
        self._thread = threading.Thread(target=self._loop.run_forever, name="openfingym-agents", daemon=True)
        self._stack = contextlib.AsyncExitStack()
        self._models = OpenModels(patience_s)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Pools and models close on the loop and in its threads, so those go last.
        self.run(self._stack.aclose())
        self.run(self._models.close())
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextlib.contextmanager
    def model(self, spec: ModelSpec, prices: PriceTable, *, priced: bool = False) -> Iterator[ChatModel]:
        """A model that is open during the block. It is opened once for all who ask it, so that the bounds on its
        endpoint hold for all of them together.

        Args:
            spec: the model that is asked.
            prices: the table by which the model's costs are counted; that of the first caller holds for all.
            priced: whether the model's price must be known.

        Raises:
            UsageError: there is no key, no price where one must be known, or the extra ``llm`` is missing.
        """
        if priced:
            prices.require(spec.name)
        model = self.run(self._models.take(spec, prices))
        try:
            yield model
        finally:
            self.run(self._models.give_back(spec))

    def run(self, work: Coroutine[Any, Any, T], cancel: threading.Event | None = None) -> T:
        """Run a coroutine on the loop, and wait for its end.

        Args:
            work: the coroutine to run.
            cancel: where this is set, or the caller is interrupted, the work is cancelled; its end is waited for.

        Returns:
            The result of the work, which a cancelled one may have too.

        Raises:
            concurrent.futures.CancelledError: the work was cancelled and returned no result.
            UsageError: the agent's code called ``sys.exit``.
        """
        done: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(_without_exit(work)))
            tasks[0].add_done_callback(lambda task: _settle(done, task))

        # The loop calls in the order in which it is asked to, so that the task is there when this is called.
        def stop() -> None:
            tasks[0].cancel()

        self._loop.call_soon_threadsafe(begin)
        try:
            # In short waits, since a threading event and a future cannot be waited for together.
            while not wait([done], None if cancel is None else CANCEL_CHECK_S).done:
                if cancel is not None and cancel.is_set():
                    self._loop.call_soon_threadsafe(stop)
                    cancel = None
        except BaseException:
            self._loop.call_soon_threadsafe(stop)
            wait([done])
            raise
        return done.result()

    def enter(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """Enter an asynchronous context manager on the loop; it is left when the runner is closed.

        Args:
            make: makes the context manager, on the loop.
        """

        async def entered() -> T:
            return await self._stack.enter_async_context(make())

        return self.run(entered())

    def call(self, function: Callable[[], T]) -> T:
        """Call a function in the loop's thread, and wait for its result."""

        async def called() -> T:
            return function()

        return self.run(called())


async def _without_exit(work: Coroutine[Any, Any, T]) -> T:
    """Work in which ``sys.exit`` is an error of the caller's.

    Raises:
        UsageError: the work called ``sys.exit``.
    """
    try:
        return await work
    # It would end the event loop's thread, and everybody else's conversation would be waited for forever.
    except SystemExit as error:
        raise UsageError(
            f"an agent or a listener called sys.exit({error.code!r}); return from it, or raise an error"
        ) from error


def _settle(done: Future[T], task: asyncio.Task[T]) -> None:
    """Pass the result of a task to the caller that waits for it in another thread."""
    if task.cancelled():
        # cancel() alone wakes nobody in concurrent.futures.wait: it takes the second call to say that it is over.
        done.cancel()
        done.set_running_or_notify_cancel()
        return
    error = task.exception()
    if error is None:
        done.set_result(task.result())
    else:
        done.set_exception(error)
