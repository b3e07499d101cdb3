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
"""Blocking calls, such as those of the verifier, that are under way for all rollouts together."""
LOOK_S = 0.25
"""How often a caller's wish to cancel is looked for."""


class ConversationRunner:
    """Runs conversations for callers in any thread; a context manager."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        """Start nothing yet; ``patience_s`` is that with models' endpoints."""
        self._loop = asyncio.new_event_loop()
        # Calls to the verifier block a thread each; asyncio's own pool has a few more than there are cores.
        self._loop.set_default_executor(ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="openfingym-calls"))
        self._thread = threading.Thread(target=self._loop.run_forever, name="openfingym-agents", daemon=True)
        self._stack = contextlib.AsyncExitStack()
        self._models = OpenModels(patience_s)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._stack.aclose())
        self.run(self._models.close())
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextlib.contextmanager
    def model(self, spec: ModelSpec, prices: PriceTable, *, priced: bool = False) -> Iterator[ChatModel]:
        """A model during the block, opened once for all who ask, so that the bounds on its endpoint hold for them
        together.

        Args:
            spec: the model that is asked.
            prices: the prices that the first caller brings hold for all.
            priced: whether its price must be known.

        Raises:
            UsageError: there is no key, no price, or no extra ``llm``.
        """
        if priced:
            prices.require(spec.name)
        model = self.run(self._models.take(spec, prices))
        try:
            yield model
        finally:
            self.run(self._models.give_back(spec))

    def run(self, work: Coroutine[Any, Any, T], cancel: threading.Event | None = None) -> T:
        """Run to the end; where ``cancel`` is set or the caller is interrupted, the work is cancelled, and its end
        awaited.

        Raises:
            concurrent.futures.CancelledError: the work was cancelled and returned no result.
            UsageError: the agent's code called ``sys.exit``.
        """
        done: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(_outlived(work)))
            tasks[0].add_done_callback(lambda task: _settle(done, task))

        def stop() -> None:
            tasks[0].cancel()

        self._loop.call_soon_threadsafe(begin)
        try:
            # In short waits, since a threading event and a future cannot be waited for together.
            while not wait([done], None if cancel is None else LOOK_S).done:
                if cancel is not None and cancel.is_set():
                    self._loop.call_soon_threadsafe(stop)
                    cancel = None
        except BaseException:
            self._loop.call_soon_threadsafe(stop)
            wait([done])
            raise
        return done.result()

    def enter(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """Make and enter what belongs to the loop; it is left when this is."""

        async def entered() -> T:
            return await self._stack.enter_async_context(make())

        return self.run(entered())

    def call(self, function: Callable[[], T]) -> T:
        """Call a function on the loop."""

        async def called() -> T:
            return function()

        return self.run(called())


async def _outlived(work: Coroutine[Any, Any, T]) -> T:
    """Work that would end the program ends alone: with the loop, everybody else would wait forever."""
    try:
        return await work
    # It would end the event loop's thread, and with it every conversation.
    except SystemExit as error:
        raise UsageError(
            f"an agent or a listener called sys.exit({error.code!r}); return from it, or raise an error"
        ) from error


def _settle(done: Future[T], task: asyncio.Task[T]) -> None:
    """Pass the result of a task to the caller that waits for it in another thread."""
    if task.cancelled():
        done.cancel()
        done.set_running_or_notify_cancel()
        return
    error = task.exception()
    if error is None:
        done.set_result(task.result())
    else:
        done.set_exception(error)
