"""The core of batch rollouts: every rollout once, its result kept, failures of ours tried again.

    async with RolloutEngine(runner, folder) as engine:
        result = await engine.submit(spec)

Anything that runs on asyncio can drive it; where rollouts run is the :class:`Runner`'s matter.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from openfingym.errors import RuntimeFailureError, VerifierAwayError, VerifierError
from openfingym.results import RolloutResult, read_run
from openfingym.rollouts.budget import RunBudget
from openfingym.rollouts.folders import RunFolder
from openfingym.rollouts.local import Runner
from openfingym.rollouts.spec import RolloutSpec

if TYPE_CHECKING:
    from openfingym.rollouts.preparation import Work
    from openfingym.rollouts.selection import Selection

_log = logging.getLogger(__name__)

ERRORS_IN_A_ROW = 10
"""So many failures of ours with one agent, and no other result between them, are no accident."""


@dataclass(frozen=True)
class Patience:
    """Retries of a rollout that failed for a reason of ours: how many, and how long apart."""

    tries: int = 3
    pause_s: float = 2.0
    """Before the second try; four times as long before each further one."""


class StoppedError(RuntimeFailureError):
    """Raised when rollouts of one agent keep failing for a reason of ours: no further one of that agent is run."""


class BudgetReachedError(StoppedError):
    """Raised when a rollout may not begin, because the run has spent its budget."""


class RunWatcher:
    """Is told how a run is doing, in the thread that runs it; this one does nothing with it."""

    def preparing(self, step: str) -> None:
        """Tasks are built, or what is finished is read; ``step`` says which, for people."""

    def prepared(self, selection: Selection, work: Work) -> None:
        """It is known what there is to run."""

    def started(self, spec: RolloutSpec) -> None:
        """A rollout has a place and begins."""

    def again(self, spec: RolloutSpec, reason: str) -> None:
        """A rollout failed for a reason of ours, and will be tried again."""

    def ended(self, spec: RolloutSpec, result: RolloutResult) -> None:
        """A rollout's result is kept."""

    def stopping(self) -> None:
        """The run was interrupted, perhaps not for the first time; it ends once what it started is gone."""


class RolloutEngine:
    """Runs rollouts and keeps their results; an async context manager, used on one event loop."""

    def __init__(
        self,
        runner: Runner,
        folder: RunFolder,
        *,
        heavy: Collection[str] = (),
        scoring: int = 1,
        patience: Patience | None = None,
        watch: RunWatcher | None = None,
        budget: RunBudget | None = None,
    ) -> None:
        """Run with ``runner``, which is closed with this, into ``folder``.

        Args:
            runner: what runs rollouts: on this machine, or on a cluster.
            folder: folder in which results are kept.
            heavy: names of tasks whose scoring keeps a core of the verifier busy.
            scoring: rollouts of those that may run at once.
            patience: how often failures of ours are tried again.
            watch: who is told how the run is doing.
            budget: what all rollouts together may spend on models; once it is reached, none that could spend begins.
        """
        self._runner = runner
        self._folder = folder
        self._heavy = frozenset(heavy)
        self._scoring = asyncio.Semaphore(scoring)
        self._patience = patience or Patience()
        self._watch = watch or RunWatcher()
        self._budget = budget or RunBudget()
        self.left: list[RolloutSpec] = []
        """Rollouts that did not begin, because the budget was reached."""
        self._tasks: dict[str, asyncio.Task[RolloutResult]] = {}
        self._errors: Counter[tuple[str, str | None]] = Counter()
        self._stopped: dict[tuple[str, str | None], str] = {}
        """Why no more rollouts of an agent with a model are run."""

    def submit(self, spec: RolloutSpec) -> asyncio.Task[RolloutResult]:
        """Run a rollout, unless its result is there or on its way.

        Returns:
            A task that ends with the result as it is kept; ``state`` is ``error`` where our machinery
            failed every time. Cancelling it ends the rollout without a trace.

            It raises a ``StoreError`` where the result cannot be written; a ``VerifierError`` or a
            ``RuntimeFailureError`` where there is no result at all, or one failure of ours follows another;
            and a ``BackendUnavailableError`` where nothing here can isolate a program.
        """
        known = self._tasks.get(spec.identity)
        # A rollout may be submitted more than once; it is run once, and whoever submitted it gets its result.
        if known is not None and not known.cancelled():
            return known
        task = asyncio.get_running_loop().create_task(self._once(spec), name=spec.title)
        self._tasks[spec.identity] = task
        return task

    async def run(self, specs: Iterable[RolloutSpec]) -> list[RolloutResult]:
        """Run rollouts to their end; the first failure that leaves one without a result ends them all.

        An agent with which nothing works is given up, and the others run to their end before that is said. What the
        budget keeps from beginning has no result here, and is in :attr:`left`.

        Raises:
            OpenFinGymError: an error of :meth:`submit`; the rollouts that were finished by then are kept.
        """
        tasks = [self.submit(spec) for spec in specs]
        try:
            results = await asyncio.gather(*map(_unless_stopped, tasks))
        finally:
            await self._end(tasks)
        if self._stopped:
            raise RuntimeFailureError("\n".join(self._stopped.values()))
        return [result for result in results if result is not None]

    async def close(self) -> None:
        """End what is still running, and the runner."""
        await self._end(self._tasks.values())
        await self._runner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _end(self, tasks: Iterable[asyncio.Task[RolloutResult]]) -> None:
        tasks = list(tasks)
        for task in tasks:
            # A second time would break off its cleaning up.
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _once(self, spec: RolloutSpec) -> RolloutResult:
        found = self._folder.find(spec)
        if found is not None:
            return read_run(found)
        pause = self._patience.pause_s
        for _ in range(self._patience.tries - 1):
            result = await self._try(spec, last=False)
            if result is not None:
                return result
            await asyncio.sleep(pause)
            pause *= 4
        final = await self._try(spec, last=True)
        assert final is not None
        return final

    async def _try(self, spec: RolloutSpec, *, last: bool) -> RolloutResult | None:
        """Run a rollout once; None where it failed for a reason of ours and is to be tried again."""
        with contextlib.ExitStack() as stack:

            def started() -> None:
                if (reason := self._stopped.get(_who(spec))) is not None:
                    raise StoppedError(reason)
                # Programs spend nothing.
                if spec.agent.acts is not None and (reason := self._budget.reached) is not None:
                    if not self.left:
                        _log.warning("%s; no further rollout that asks a model begins", reason)
                    self.left.append(spec)
                    raise BudgetReachedError(reason)
                # Not before: of thousands that are queued, a few have a folder.
                stack.enter_context(self._folder.staged(spec))
                self._watch.started(spec)

            try:
                # Rollouts whose scoring fills the verifier's cores would only wait for each other there, with their
                # time running.
                async with self._scoring if spec.task in self._heavy else contextlib.nullcontext():
                    result = await self._runner.run(spec, self._folder.staging(spec), started)
            except (RuntimeFailureError, VerifierError) as error:
                # What was waited for already will not come back for the next one.
                if last or isinstance(error, VerifierAwayError | StoppedError):
                    raise
                self._watch.again(spec, str(error))
                return None
            assert result.path is not None
            self._budget.count(result)
            # A model's client has been patient already, for ten minutes; and what was asked of it may have cost money.
            # An agent that was told something of hidden data would have a second try at it.
            # Who goes on with a rollout has no second try: the questions that it was shown are over.
            new_or_open = not result.told or self._folder.is_open(spec)
            if result.state == "error" and result.boundary != "model" and new_or_open and not last:
                self._folder.keep_evidence(spec, result, result.path)
                self._watch.again(spec, result.reason or "no reason was given")
                return None
            result = self._folder.keep(spec, result, result.path)
        self._watch.ended(spec, result)
        self._count(spec, result)
        return result

    def _count(self, spec: RolloutSpec, result: RolloutResult) -> None:
        """Stop an agent with which nothing works; the others are not to suffer for it."""
        who = _who(spec)
        self._errors[who] = self._errors[who] + 1 if result.state == "error" else 0
        if self._errors[who] >= ERRORS_IN_A_ROW:
            self._stopped[who] = (
                f"{self._errors[who]} rollouts of {' with '.join(filter(None, who))} in a row failed for a reason of "
                "ours, the last one "
                f"because {result.reason}; mend that, then run the same command again with --retry error"
            )
            raise StoppedError(self._stopped[who])


def _who(spec: RolloutSpec) -> tuple[str, str | None]:
    return spec.agent.name, spec.model


async def _unless_stopped(task: asyncio.Task[RolloutResult]) -> RolloutResult | None:
    try:
        return await task
    except StoppedError:
        return None
