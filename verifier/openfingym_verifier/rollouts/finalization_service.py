"""The service that ends rollouts: the final result, computed once, from the private fold."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from openfingym.digests import sha256_of
from openfingym.errors import SubmissionError
from openfingym_verifier.clock import now_ns
from openfingym_verifier.disclosure.ladder import surely_reached
from openfingym_verifier.episodes.play import complete, stored_values
from openfingym_verifier.rollouts.events import EpisodePlayed, Finalized
from openfingym_verifier.rollouts.results import (
    ComparedScore,
    compare_with_baseline,
    final_result,
    nothing_accepted,
)
from openfingym_verifier.scoring.fault import find_fault
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym_verifier.disclosure.past_showings import PastShowings
    from openfingym_verifier.disclosure.watch import ParticipantWatch
    from openfingym_verifier.rollouts.episode_service import EpisodeService
    from openfingym_verifier.rollouts.resources import Resources
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.rollouts.submission_service import SubmissionService
    from openfingym_verifier.scoring.truth import HiddenTask


class FinalizationService:
    """Ends the rollouts of one verifier. Belongs to the event loop."""

    def __init__(
        self,
        resources: Resources,
        watch: ParticipantWatch,
        submissions: SubmissionService,
        episodes: EpisodeService,
        showings: PastShowings,
    ) -> None:
        self._ledger = resources.ledger
        self._tapes = resources.tapes
        self._grading = resources.grading
        self._rations = resources.rations
        self._deferrals = resources.deferrals
        self._threads = resources.threads
        self._watch = watch
        self._submissions = submissions
        self._episodes = episodes
        self._showings = showings

    async def finalize(self, rollout: Rollout) -> dict[str, object]:
        """The final result as it was computed, once: from the private fold of the last submission or the episodes.

        Its principal may be told less; see :func:`openfingym_verifier.disclosure.disclosure.disclosed`.
        """
        # In the rollout's turn, so that no submission or step comes between the score and the result, and of two
        # requests that come together the second gets the result of the first.
        async with rollout.turn:
            if rollout.result is not None:
                return rollout.result
            # First, since the hidden data of a rollout with a session are what happened in it.
            await self._episodes.end_session(rollout)
            return await self._finalize(rollout)

    async def _finalize(self, rollout: Rollout) -> dict[str, object]:
        """Compute the result of a rollout, and write it; returns it as written.

        It is deferred where every question is answered, and nobody knows yet what came of them.
        """
        task = await self._tapes.of(rollout)
        # What was accepted and never scored, after a failure of ours, is tried a last time, so that its owner is told.
        for n, known in enumerate(rollout.feedback, 1):
            if known is None:
                with contextlib.suppress(SubmissionError):  # it has no score, and its rollout's result says so
                    await self._submissions.score_missing(rollout, n)
        values = answers = await self._values(rollout, task)
        unanswered = _unanswered(task, values)
        if values is not None:
            # Its principal may read what is kept, in which the baseline must not tell of private windows.
            answers, values = complete(task, values, "public"), complete(task, values)
        if rollout.row.questions is not None and values is not None and not unanswered:
            now = now_ns()
            result = self._deferrals.result(rollout, now, await self._deferrals.outcomes(rollout))
            # In full, since nothing hidden is in it: there is no score yet.
            finalized = Finalized(rollout.id, now, result, "full")
        else:
            finalized = await self._finalized(rollout, task, values, unanswered)
        if task.sequential and answers is not None:
            written = await self._ledger.writer.submit(
                EpisodePlayed(
                    rollout.id, len(rollout.feedback) + 1, finalized.at_ns, answers.data.cast("B"), finalized
                ).apply
            )
            # The outcomes of all episodes are its last submission, which has no feedback; the last episode is over.
            rollout.feedback, rollout.progress = [*rollout.feedback, None], None
        else:
            written = await self._ledger.writer.submit(finalized.apply)
        assert isinstance(written, dict)
        rollout.result, rollout.disclosure = written, finalized.disclosure
        # Only once the result is on the disk: until then a repetition needs the same tape and session.
        self._tapes.forget(rollout.id)
        self._episodes.forget_session(rollout)
        if task.tape_of_its_own:
            self._grading.forget(task)
        return written

    async def _finalized(
        self, rollout: Rollout, task: HiddenTask, values: NDArray[np.float64] | None, unanswered: int
    ) -> Finalized:
        """The event by which a rollout gets a result that is not deferred."""
        score, baseline = await asyncio.gather(
            self._private_score(rollout, task, values, unanswered), self._baseline(rollout, task)
        )
        if isinstance(score, str):
            outcome: ComparedScore | str = score
        else:
            assert baseline is not None, "where nothing is known, nothing was scored"
            outcome = await self._compared(task, score, baseline)
        answered = values is not None and not unanswered
        # A walk that was broken off has no result, and so no flags either, which may follow from labels.
        flags = await self._flags(rollout, task, values if answered else None, outcome)
        shown = await self._showings.of(rollout.row, task)
        now = now_ns()
        session = self._episodes.session_summary(rollout)
        result = final_result(rollout, outcome, baseline, flags, now, session, shown=shown)
        # The ration is taken last, just before the write: a failure above must not use up a result of the participant.
        # What its party had seen before, or what looks like labels, raises no ladder.
        surely = (
            None
            if isinstance(outcome, str) or shown.replayed or flags
            else surely_reached(outcome.relative, outcome.error)
        )
        told = self._rations.take_private(rollout.row, surely, read=answered)
        result |= {} if told.ladder is None else {"ladder": told.ladder.to_dict()}
        return Finalized(rollout.id, now, result, told.disclosure)

    async def _flags(
        self, rollout: Rollout, task: HiddenTask, values: NDArray[np.float64] | None, outcome: ComparedScore | str
    ) -> list[str]:
        """What the rollout's submissions look like; nothing of an instance, whose labels are training data, and of
        questions whose outcome nobody knows.
        """
        if task.split != "test" or rollout.row.questions is not None:
            return []
        return await self._watch.flags(
            rollout.row, task, values, None if isinstance(outcome, str) else outcome.relative
        )

    async def _values(self, rollout: Rollout, task: HiddenTask) -> NDArray[np.float64] | None:
        """The array to score: the last accepted submission, or the outcome of the episodes."""
        if rollout.accepted == 0:
            return None
        if task.sequential:
            return await self._episodes.outcomes(rollout, task)
        return stored_values(await self._submissions.payload(rollout, rollout.accepted), task)

    async def _private_score(
        self, rollout: Rollout, task: HiddenTask, values: NDArray[np.float64] | None, unanswered: int
    ) -> Score | str:
        """The private score of the array to score, or the reason why there is none."""
        if unanswered:
            assert task.walk is not None
            return f"{unanswered} of {task.walk.n_private} windows of the private fold were left unanswered"
        if values is None:
            return nothing_accepted(rollout)
        try:
            return await self._grading.private(task, values, sha256_of(values.data.cast("B")))
        except SubmissionError as error:
            return str(error)

    async def _baseline(self, rollout: Rollout, task: HiddenTask) -> Score | None:
        """The baseline's private score; None where the outcomes are not known."""
        return None if rollout.row.questions is not None else await self._grading.baseline(task)

    async def _compared(self, task: HiddenTask, score: Score, baseline: Score) -> ComparedScore | str:
        """A score beside the baseline's, or the reason why the two cannot be compared."""
        compute = partial(in_threads, self._threads, compare_with_baseline, task, score, baseline)
        control = partial(in_threads, self._threads, compare_with_baseline, task, baseline, baseline)
        try:
            return await find_fault(compute, control, f"the relative total on {task.name}")
        except SubmissionError as error:
            return str(error)


def _unanswered(task: HiddenTask, values: NDArray[np.float64] | None) -> int:
    """Windows of the private fold that a walk left unanswered; 0 where nothing was walked through."""
    if task.walk is None or values is None:
        return 0
    return sum(bool(np.isnan(values[task.walk.items(window)]).any()) for window in task.walk.windows("private"))
