"""A job that runs in a thread of its own while the event loop goes on, and that ends at the latest with the process."""

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
"""How long the end of the process waits for a job that it has cancelled."""

_running: set[JobThread] = set()


class JobThread:
    """A thread in which ``backend.run(job)`` runs. It is not from a pool: a workspace needs one as long as it lives."""

    def __init__(self, backend: Backend, job: Job) -> None:
        self.backend = backend
        self._begun: Future[None] = Future()
        self._future: Future[Outcome] = Future()
        # From here on these cannot be cancelled, so that a caller who gives up does not take the result from others.
        for future in (self._begun, self._future):
            future.set_running_or_notify_cancel()
        self.job = replace(job, started=partial(self._begun.set_result, None))
        # A daemon, because otherwise the interpreter would wait for it before `_end_all` could cancel the job.
        self._thread = threading.Thread(target=self._run, name=f"openfingym-{job.rollout_id}", daemon=True)
        _running.add(self)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether the job has ended, in whatever way."""
        return self._future.done()

    @property
    def outcome(self) -> Outcome | None:
        """How the program ended; None while it runs, and if the machinery failed."""
        return self._future.result() if self.done and self._future.exception() is None else None

    def cancel(self) -> None:
        """Ask for the program to be ended soon."""
        self.job.cancel.set()

    def when_done(self, call: Callable[[], object]) -> None:
        """Have ``call`` called when the job has ended, in another thread than this one."""
        self._future.add_done_callback(lambda _future: call())

    async def begun(self) -> None:
        """Wait until the program runs, or the job has ended without that."""
        await asyncio.wrap_future(self._begun)

    async def finished(self, patience_s: float | None = None) -> Outcome:
        """Wait for the end of the job, and cancel it if that takes longer than ``patience_s`` seconds.

        Raises:
            RuntimeFailureError: the machinery failed, not the program.
        """
        end = asyncio.wrap_future(self._future)
        # Looks at the error, which a cancelled caller does not; asyncio would complain that nobody did.
        end.add_done_callback(lambda future: future.cancelled() or future.exception())
        try:
            async with asyncio.timeout(patience_s):  # wait_for() of Python 3.11 may swallow a cancellation
                return await asyncio.shield(end)
        except TimeoutError:
            self.cancel()
            return await asyncio.shield(end)

    def _run(self) -> None:
        try:
            self._future.set_result(self.backend.run(self.job))
        except BaseException as error:
            self._future.set_exception(error)
        finally:
            # Whoever waits for the beginning of a program that never ran must not wait for ever.
            if not self._begun.done():
                self._begun.set_result(None)
            _running.discard(self)

    def join(self) -> None:
        """Wait for the thread, at most :data:`EXIT_PATIENCE_S`."""
        self._thread.join(EXIT_PATIENCE_S)


@atexit.register
def _end_all() -> None:
    running = list(_running)
    # All are cancelled before one is waited for, so that they end at the same time.
    for thread in running:
        thread.cancel()
    for thread in running:
        thread.join()
