"""The core of batch rollouts: it runs every rollout once, keeps its result, and tries failures of ours again.

    async with RolloutEngine(runner, folder) as engine:
        result = await engine.submit(spec)

Anything that runs on asyncio can drive it. The :class:`Runner` decides where rollouts run.
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
"""Failures of ours with one agent, and no other result between them, after which no further rollout of it is run: so
many are no accident."""


@dataclass(frozen=True)
class Patience:
    """Retries of a rollout that failed for a reason of ours: how many, and how long apart."""

    tries: int = 3
    """How often a rollout is run at most, the first time included."""
    pause_s: float = 2.0
    """Seconds before the second try; the pause is four times as long before each further one."""


class StoppedError(RuntimeFailureError):
    """Raised when rollouts of one agent keep failing for a reason of ours: no further one of that agent is run."""


class BudgetReachedError(StoppedError):
    """Raised when a rollout may not begin, because the run has spent its budget."""


class RunWatcher:
    """Is told how a run goes, in the thread that runs it; subclasses override what they want to hear of."""

    def preparing(self, step: str) -> None:
        """Tasks are built, or finished results are read; ``step`` says which, for people."""

    def prepared(self, selection: Selection, work: Work) -> None:
        """It is known which rollouts there are to run."""

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
        """Start nothing yet.

        Args:
            runner: what runs rollouts, on this machine or on a cluster; it is closed with the engine.
            folder: folder in which results are kept.
            heavy: names of tasks whose scoring keeps a core of the verifier busy.
            scoring: the most rollouts of heavy tasks that run at once.
            patience: how often failures of ours are tried again; None for three tries.
            watch: watcher that is told how the run goes; None for none.
            budget: what all rollouts together may spend on models; once it is reached, no rollout begins that could
                spend anything. None for no limit.
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
        """Rollouts that were submitted, by identity."""
        self._errors: Counter[tuple[str, str | None]] = Counter()
        """Failures of ours since the last other result, by agent and model."""
        self._stopped: dict[tuple[str, str | None], str] = {}
        """Why no more rollouts are run, by agent and model."""

    def submit(self, spec: RolloutSpec) -> asyncio.Task[RolloutResult]:
        """Run a rollout, unless its result is there already or on its way.

        Args:
            spec: the rollout; submitting it again gives the same task.

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

        An agent whose rollouts keep failing is given up; the rollouts of others run to their end before the error is
        raised.

        Args:
            specs: the rollouts to run.

        Returns:
            The results in the order of ``specs``, without those of rollouts that the budget kept from beginning, which
            are in :attr:`left`.

        Raises:
            OpenFinGymError: an error of :meth:`submit`; the rollouts that were finished by then are kept.
        """
        tasks = [self.submit(spec) for spec in specs]
        try:
            results = await asyncio.gather(*map(_unless_stopped, tasks))
        finally:
            # gather() returns at the first error and leaves the other tasks running.
            await self._end(tasks)
        # Only now, so that an agent with which nothing works has not kept the others from their results.
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
        """Cancel what still runs, and wait until nothing of it is left."""
        tasks = list(tasks)
        for task in tasks:
            # Cancelling a task a second time would interrupt its cleaning up.
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _once(self, spec: RolloutSpec) -> RolloutResult:
        """The result of a rollout: the one that is kept, or that of as many tries as it takes."""
        kept = self._folder.find(spec)
        if kept is not None:
            return read_run(kept)
        pause_s = self._patience.pause_s
        for _ in range(self._patience.tries - 1):
            result = await self._try(spec, last=False)
            if result is not None:
                return result
            await asyncio.sleep(pause_s)
            pause_s *= 4
        final = await self._try(spec, last=True)
        assert final is not None
        return final

    async def _try(self, spec: RolloutSpec, *, last: bool) -> RolloutResult | None:
        """Run a rollout once; None where it failed for a reason of ours and is to be tried again."""
        with contextlib.ExitStack() as stack:

            def started() -> None:
                # Asked when a place is free and not at submission: all rollouts of a run are submitted at once.
                if (reason := self._stopped.get(_agent_and_model(spec))) is not None:
                    raise StoppedError(reason)
                # Agents that are one program spend nothing on models.
                if spec.agent.acts is not None and (reason := self._budget.reached) is not None:
                    if not self.left:
                        _log.warning("%s; no further rollout that asks a model begins", reason)
                    self.left.append(spec)
                    raise BudgetReachedError(reason)
                # Not before: of thousands of rollouts that are queued, only those that run have a folder.
                stack.enter_context(self._folder.staged(spec))
                self._watch.started(spec)

            try:
                # Rollouts whose scoring fills the verifier's cores would only wait for each other there, with their
                # time running.
                async with self._scoring if spec.task in self._heavy else contextlib.nullcontext():
                    result = await self._runner.run(spec, self._folder.staging(spec), started)
            except (RuntimeFailureError, VerifierError) as error:
                # A verifier that was waited for with all patience will not be back for the next try.
                if last or isinstance(error, VerifierAwayError | StoppedError):
                    raise
                self._watch.again(spec, str(error))
                return None
            assert result.path is not None
            # Counted before it is decided whether to try again: a try that failed has cost money too.
            self._budget.count(result)
            # An agent that was told something of hidden data would have a second look at it; but a rollout that is gone
            # on with has none, since the questions that it was shown are over.
            may_try_again = not result.told or self._folder.is_open(spec)
            # A model's endpoint was waited for with all patience already, and what was asked of it may have cost money.
            if result.state == "error" and result.boundary != "model" and may_try_again and not last:
                self._folder.keep_evidence(spec, result, result.path)
                self._watch.again(spec, result.reason or "no reason was given")
                return None
            result = self._folder.keep(spec, result, result.path)
        self._watch.ended(spec, result)
        self._count(spec, result)
        return result

    def _count(self, spec: RolloutSpec, result: RolloutResult) -> None:
        """Stop the agent and model of a rollout after too many failures in a row; other agents go on."""
        who = _agent_and_model(spec)
        self._errors[who] = self._errors[who] + 1 if result.state == "error" else 0
        if self._errors[who] >= ERRORS_IN_A_ROW:
            self._stopped[who] = (
                f"{self._errors[who]} rollouts of {' with '.join(filter(None, who))} in a row failed for a reason of "
                "ours, the last one "
                f"because {result.reason}; mend that, then run the same command again with --retry error"
            )
            raise StoppedError(self._stopped[who])


def _agent_and_model(spec: RolloutSpec) -> tuple[str, str | None]:
    return spec.agent.name, spec.model


async def _unless_stopped(task: asyncio.Task[RolloutResult]) -> RolloutResult | None:
    """The result of a rollout; None where its agent was stopped or the budget kept it from beginning."""
    try:
        return await task
    except StoppedError:
        return None
