"""Telling loggers of the results of a run, in threads beside it."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.results import RolloutResult
from openfingym.rollouts.engine import RunWatcher
from openfingym.rollouts.loggers import LoggerMaker, RunLogger
from openfingym.rollouts.spec import RolloutSpec

if TYPE_CHECKING:
    from openfingym.rollouts.preparation import Work
    from openfingym.rollouts.selection import Selection

_log = logging.getLogger(__name__)

PATIENCE_S = 60.0
"""Seconds that all loggers together have at the end of a run to pass on what is still in their queues."""


class LoggingWatcher(RunWatcher):
    """Passes everything on to another watcher, and results to loggers too.

    Args:
        watch: the other watcher.
        loggers: the loggers by name; a thread is started for each.
    """

    def __init__(self, watch: RunWatcher, loggers: Mapping[str, RunLogger]) -> None:
        self._watch = watch
        self._threads = [_LoggerThread(name, logger) for name, logger in loggers.items()]

    def preparing(self, step: str) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        self._watch.preparing(step)

    def prepared(self, selection: Selection, work: Work) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        self._watch.prepared(selection, work)

    def started(self, spec: RolloutSpec) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        self._watch.started(spec)

    def again(self, spec: RolloutSpec, reason: str) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        self._watch.again(spec, reason)

    def ended(self, spec: RolloutSpec, result: RolloutResult) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        # Only put into a queue: this is the thread of the run, which must not wait for a service.
        for thread in self._threads:
            thread.results.put(result)
        self._watch.ended(spec, result)

    def stopping(self) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        self._watch.stopping()

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """End all loggers, or give them up after some seconds.

        Args:
            patience_s: seconds to wait for all of them together.
        """
        until = time.monotonic() + patience_s
        # All are told before the first is waited for, so that they end side by side.
        for thread in self._threads:
            thread.results.put(None)
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                _log.warning(
                    "logger %s did not end within %g s and is given up; the run is whole", thread.name, patience_s
                )


class _LoggerThread(threading.Thread):
    """Tells one logger of results in the order in which they came; a slow one delays nobody else."""

    def __init__(self, name: str, logger: RunLogger) -> None:
        # A daemon: a logger that hangs must not keep the process from ending.
        super().__init__(name=name, daemon=True)
        self._logger = logger
        self.results: queue.SimpleQueue[RolloutResult | None] = queue.SimpleQueue()
        """Results that the logger has not been told of yet; None after the last."""
        self.start()

    def run(self) -> None:
        failed = False
        try:
            while (result := self.results.get()) is not None:
                self._logger.ended(result)
        except BaseException as error:  # whatever a logger raises, the run goes on
            failed = True
            self._warn(error)
        # A logger that failed is closed too, so that it can release what it holds.
        try:
            self._logger.close()
        except BaseException as error:  # the first failure was named, and this one may follow from it
            if not failed:
                self._warn(error)

    def _warn(self, error: BaseException) -> None:
        _log.warning(
            "logger %s failed and is told nothing more; the run goes on (%s: %s)",
            self.name,
            type(error).__name__,
            error,
        )


@contextlib.contextmanager
def logged(makers: Mapping[str, LoggerMaker], folder: Path, watch: RunWatcher) -> Iterator[RunWatcher]:
    """A watcher that tells loggers of a run's results too, for the time of the block.

    Args:
        makers: what makes each logger, by name.
        folder: the folder of the run.
        watch: the watcher of the run.

    Raises:
        UsageError: a logger cannot begin, such as one whose service accepts no key.
    """
    if not makers:
        yield watch
        return
    loggers: dict[str, RunLogger] = {}
    try:
        for name, maker in makers.items():
            try:
                loggers[name] = maker(folder)
            except Exception as error:  # a logger's library may raise anything
                raise UsageError(f"logger {name!r} cannot begin ({type(error).__name__}: {error})") from error
    except UsageError:
        # The run does not begin: those that have begun must leave nothing open.
        for begun in loggers.values():
            with contextlib.suppress(Exception):
                begun.close()
        raise
    telling = LoggingWatcher(watch, loggers)
    try:
        yield telling
    finally:
        telling.close()
