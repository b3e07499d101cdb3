"""A job that runs in a thread of its own while the event loop goes on, and that no exit of the process leaves
behind.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym_runtime.job import Backend, Job, Outcome

EXIT_PATIENCE_S = 20.0

_running: set[JobThread] = set()


class JobThread:
    """``backend.run(job)``, begun. Not a pool's thread: a workspace holds one as long as it lives."""

    def __init__(self, backend: Backend, job: Job) -> None:
        self.backend = backend
        self._begun: Future[None] = Future()
        self._future: Future[Outcome] = Future()
        for future in (self._begun, self._future):
            future.set_running_or_notify_cancel()  # from here on nobody who waits can cancel it
        self.job = replace(job, started=partial(self._begun.set_result, None))
        # A daemon, because the interpreter would otherwise wait for it before the function below could cancel it.
        self._thread = threading.Thread(target=self._run, name=f"openfingym-{job.rollout_id}", daemon=True)
        _running.add(self)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._future.done()

    @property
    def outcome(self) -> Outcome | None:
        """How the program ended; None while it runs, and where the machinery failed."""
        return self._future.result() if self.done and self._future.exception() is None else None

    def cancel(self) -> None:
        """Have the program ended soon."""
        self.job.cancel.set()

    def when_done(self, call: Callable[[], object]) -> None:
        """Have ``call`` called, in another thread, when it has ended."""
        self._future.add_done_callback(lambda _future: call())

    async def begun(self) -> None:
        """Wait until the program runs, or nothing will come of it."""
        await asyncio.wrap_future(self._begun)

    async def finished(self, patience_s: float | None = None) -> Outcome:
        """Wait for the end, and cancel the job where that takes longer than ``patience_s``.

        Raises:
            RuntimeFailureError: our machinery failed, not the program.
        """
        end = asyncio.wrap_future(self._future)
        end.add_done_callback(
            lambda future: future.cancelled() or future.exception()
        )  # who is cancelled here does not look at it
        try:
            return await asyncio.wait_for(asyncio.shield(end), patience_s)
        except TimeoutError:
            self.cancel()
            return await asyncio.shield(end)

    def _run(self) -> None:
        try:
            self._future.set_result(self.backend.run(self.job))
        except BaseException as error:
            self._future.set_exception(error)
        finally:
            if not self._begun.done():
                self._begun.set_result(None)
            _running.discard(self)

    def join(self) -> None:
        """Wait for the thread, at most :data:`EXIT_PATIENCE_S`."""
        self._thread.join(EXIT_PATIENCE_S)


@atexit.register
def _end_all() -> None:
    running = list(_running)
    for thread in running:
        thread.cancel()
    for thread in running:
        thread.join()
