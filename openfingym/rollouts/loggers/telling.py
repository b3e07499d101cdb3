"""Telling loggers of results, beside the run that has them."""

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
"""At the end of a run, loggers together have so long to tell what they have not told yet."""


class LoggingWatcher(RunWatcher):
    """Tells another watcher all that it is told, and loggers of the results."""

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
        for thread in self._threads:
            thread.told.put(result)
        self._watch.ended(spec, result)

    def stopping(self) -> None:
        """See :class:`openfingym.rollouts.engine.RunWatcher`."""
        self._watch.stopping()

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """Let all loggers end, or give them up after some seconds."""
        until = time.monotonic() + patience_s
        for thread in self._threads:
            thread.told.put(None)
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                _log.warning(
                    "logger %s did not end within %g s and is given up; the run is whole", thread.name, patience_s
                )


class _LoggerThread(threading.Thread):
    """Tells one logger of results in the order in which they came; a slow one keeps nobody."""

    def __init__(self, name: str, logger: RunLogger) -> None:
        # A daemon: one that hangs must not keep the process.
        super().__init__(name=name, daemon=True)
        self._logger = logger
        self.told: queue.SimpleQueue[RolloutResult | None] = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        failed = False
        try:
            while (result := self.told.get()) is not None:
                self._logger.ended(result)
        except BaseException as error:  # whatever a logger raises, the run goes on
            failed = True
            self._say(error)
        try:
            self._logger.close()
        except BaseException as error:  # as above
            if not failed:
                self._say(error)

    def _say(self, error: BaseException) -> None:
        _log.warning(
            "logger %s failed and is told nothing more; the run goes on (%s: %s)",
            self.name,
            type(error).__name__,
            error,
        )


@contextlib.contextmanager
def logged(makers: Mapping[str, LoggerMaker], folder: Path, watch: RunWatcher) -> Iterator[RunWatcher]:
    """A watcher that tells loggers of the run in a folder too, for the time of the block.

    Raises:
        UsageError: a logger cannot begin, such as one whose service knows no key.
    """
    if not makers:
        yield watch
        return
    loggers: dict[str, RunLogger] = {}
    try:
        for name, maker in makers.items():
            try:
                loggers[name] = maker(folder)
            except Exception as error:  # whatever a logger's library raises
                raise UsageError(f"logger {name!r} cannot begin ({type(error).__name__}: {error})") from error
    except UsageError:
        for begun in loggers.values():
            with contextlib.suppress(Exception):
                begun.close()
        raise
    telling = LoggingWatcher(watch, loggers)
    try:
        yield telling
    finally:
        telling.close()
