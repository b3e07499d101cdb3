"""Scoring submissions: light ones in this process, heavy ones in worker processes, and no heavy one twice."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, defaultdict
from functools import partial
from typing import TYPE_CHECKING

from openfingym.errors import SubmissionError, VerifierError
from openfingym_verifier.scoring.fault import find_fault
from openfingym_verifier.scoring.kept_scores import store_score, stored_score
from openfingym_verifier.scoring.worker import score as score_values
from openfingym_verifier.scoring.workers import Workers
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np
    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym_verifier.scoring.truth import Action, HiddenTask

    Key = tuple[Action, str]

logger = logging.getLogger(__name__)

MAX_KNOWN = 512
"""Largest number of scores that are kept of one task on one tape."""


class Grading:
    """Scores of one verifier's tasks. Belongs to the event loop."""

    def __init__(self, threads: Executor, workers: Workers) -> None:
        self._threads = threads
        self._workers = workers
        self._known: defaultdict[str, OrderedDict[Key, asyncio.Future[Score]]] = defaultdict(OrderedDict)
        """Scores, computed or being computed, by the identity of a task on its tape."""

    async def public(self, task: HiddenTask, values: NDArray[np.float64], digest: str) -> Score:
        """Check a whole submission beyond shape and range, and score it on the public fold.

        Args:
            task: the task that the submission answers.
            values: the submission, float64 of the task's shape.
            digest: SHA-256 of the values, by which a repeated submission is recognised.

        Raises:
            SubmissionError: the submission is refused, or cannot be scored.
            VerifierError: our machinery failed; trying again makes sense.
        """
        if task.heavy:
            return await self._once(task, ("public", digest), values)
        return await self._compute(task, "public", values)

    async def private(self, task: HiddenTask, values: NDArray[np.float64], digest: str) -> Score:
        """Score a whole submission on the private fold; see :meth:`public`."""
        if task.heavy:
            return await self._once(task, ("private", digest), values)
        return await self._compute(task, "private", values)

    async def baseline(self, task: HiddenTask) -> Score:
        """Score of the task's baseline on the private fold; computed once.

        Raises:
            VerifierError: our machinery failed; trying again makes sense.
        """
        return await self._once(task, ("baseline", ""), None)

    def prepare(self, task: HiddenTask) -> None:
        """Start computing what the end of every rollout of this task needs, without waiting for it."""
        self._begin(task, ("baseline", ""), None)

    def known_baseline(self, task: HiddenTask) -> Score | None:
        """Score of the baseline if it has been computed; None otherwise."""
        score = self._known[task.identity].get(("baseline", ""))
        return score.result() if score is not None and score.done() and score.exception() is None else None

    def forget(self, task: HiddenTask) -> None:
        """Drop the scores on a tape whose rollout is over."""
        self._known.pop(task.identity, None)

    async def _once(self, task: HiddenTask, key: Key, values: NDArray[np.float64] | None) -> Score:
        """A score that is computed once, however many rollouts ask for it."""
        # A caller that gives up must not cancel the score that others wait for.
        return await asyncio.shield(self._begin(task, key, values))

    def _begin(self, task: HiddenTask, key: Key, values: NDArray[np.float64] | None) -> asyncio.Future[Score]:
        """The future of a score, which is begun to be computed if it is not known."""
        known = self._known[task.identity]
        if key not in known:
            known[key] = asyncio.ensure_future(self._compute(task, key[0], values))
            known[key].add_done_callback(partial(self._clean_up, task.identity, key))
        known.move_to_end(key)
        return known[key]

    async def _compute(self, task: HiddenTask, action: Action, values: NDArray[np.float64] | None) -> Score:
        """A score of a submission, or without ``values`` of the baseline; decides whose fault a failure is."""
        if values is not None:
            compute = partial(self._score, task, action, values)
            control = partial(self._score, task, action, task.grader.baseline)
            afresh = partial(self._score, task, action, values, afresh=True)
            return await find_fault(compute, control, f"the {action} score of {task.name}", afresh=afresh)
        known = await in_threads(self._threads, stored_score, task)
        if known is not None:
            return known
        try:
            score = await self._score(task, action, None)
        except SubmissionError as error:
            raise VerifierError(f"{task.name}: the task is at fault, its baseline has no score: {error}") from None
        except VerifierError:
            raise
        except Exception as error:
            raise VerifierError(f"{task.name}: its baseline cannot be scored ({type(error).__name__})") from error
        await in_threads(self._threads, store_score, task, score)
        return score

    async def _score(
        self, task: HiddenTask, action: Action, values: NDArray[np.float64] | None, *, afresh: bool = False
    ) -> Score:
        """Score a submission once, in this process or in a worker."""
        if task.heavy:
            return await self._workers.score(task, action, values, afresh=afresh)
        return await in_threads(self._threads, score_values, task.grader, action, values)

    def _clean_up(self, task: str, key: Key, computed: asyncio.Future[Score]) -> None:
        """Drop a failure of ours, so that it is tried again, and the oldest of many scores.

        Args:
            task: identity of the task on its tape.
            key: what was computed: the action, and the digest of the values.
            computed: the future, which is done.
        """
        known = self._known.get(task, OrderedDict())
        error = None if computed.cancelled() else computed.exception()
        # A refusal is kept like a score: the same values would be refused again.
        if computed.cancelled() or (error is not None and not isinstance(error, SubmissionError)):
            known.pop(key, None)
            if error is not None:
                # Those who wait are told too; a baseline computed ahead has nobody who waits.
                logger.error("%s: no %s score: %s", task, key[0], error)
        # The baseline stays, since every rollout of the task needs it.
        done = [old for old, score in known.items() if score.done() and old[0] != "baseline"]
        for old in done[: max(0, len(known) - MAX_KNOWN)]:
            del known[old]
