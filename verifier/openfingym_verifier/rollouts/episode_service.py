"""The service that plays sequential tasks: one episode at a time, each step on the disk before it is answered.

Steps through an instance to train on, whose score ranks nobody, are answered at once: all of them are on the disk when
the last one is answered.

Memory only mirrors the ledger. Whatever goes wrong, it is dropped, and made again from the recorded
actions when next needed, which is also how a restart takes up open rollouts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from openfingym.digests import sha256_of
from openfingym.errors import SubmissionError, VerifierError
from openfingym.task.episodes import MAX_KEPT_BYTES
from openfingym_verifier.clock import now_ns
from openfingym_verifier.disclosure.feedback import WITHHELD, told
from openfingym_verifier.episodes.play import (
    MAX_DETAIL,
    EpisodeProgress,
    Play,
    answer,
    complete,
    is_repetition,
    outcomes,
    play_idly,
    read_move,
    read_start,
    take,
    walked,
)
from openfingym_verifier.episodes.sessions import INTERRUPTED
from openfingym_verifier.ledger.rows import EpisodeRow
from openfingym_verifier.ledger.storage import EVENT_BYTES, SUBMISSION_BYTES
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.events import EpisodeStarted, Practised, Stepped
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from numpy.typing import NDArray

    from openfingym.task.episodes import FoldName, Step
    from openfingym_verifier.episodes.play import Move
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.rollouts.resources import Resources
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.scoring.truth import HiddenTask

T = TypeVar("T")

logger = logging.getLogger(__name__)


def practised(rows: Sequence[EpisodeRow]) -> int:
    """Number of episodes for practice among some."""
    return sum(row.fold == "public" for row in rows)


class EpisodeService:
    """Starts and steps the episodes of one verifier's rollouts. Belongs to the event loop."""

    def __init__(self, resources: Resources) -> None:
        self._ledger = resources.ledger
        self._grading = resources.grading
        self._rations = resources.rations
        self._tapes = resources.tapes
        self._sessions = resources.sessions
        self._storage = resources.storage
        self._deferrals = resources.deferrals
        self._telemetry = resources.telemetry
        self._threads = resources.threads

    async def start(self, rollout: Rollout, document: Mapping[str, object], key: str | None) -> bytes:
        """Begin the next episode of a fold, and end the one at hand.

        Args:
            rollout: the rollout that the episode belongs to.
            document: the parsed body of the request.
            key: idempotency key of the request; the key of the latest episode gives its start again.

        Raises:
            Problem: the request is refused; its slug is one of :data:`~openfingym_verifier.problems.KINDS`.
        """
        with self._counted(rollout):
            _require_sequential(rollout)
            fold = read_start(document)
            async with rollout.turn:
                rollout.require_open()
                rollout.require_unexpired(now_ns())
                async with self._forgetting(rollout):
                    return await self._start(rollout, await self._tapes.of(rollout), fold, key)

    async def step(self, rollout: Rollout, document: Mapping[str, object]) -> bytes:
        """Take an action in the latest episode; the same action again is answered the same, and not taken again.

        Args:
            rollout: the rollout that the episode belongs to.
            document: the parsed body of the request.

        Raises:
            Problem: the action is refused; its slug is one of :data:`~openfingym_verifier.problems.KINDS`.
        """
        with self._counted(rollout):
            _require_sequential(rollout)
            async with rollout.turn:
                rollout.require_open()
                rollout.require_unexpired(now_ns())
                try:
                    move = read_move(document)
                    async with self._forgetting(rollout):
                        return await self._step(rollout, move)
                except Problem as problem:
                    if problem.slug == "malformed-action":
                        # What is refused is recorded too, at the pace of submissions at most.
                        rollout.take_token(now_ns(), "refused actions")
                        self._storage.take(rollout.row.principal, EVENT_BYTES)
                        await self._ledger.writer.submit(rollout.refused(problem, now_ns()).apply)
                    raise

    async def place(self, rollout: Rollout) -> dict[str, int | None]:
        """The number of the latest ``episode``, and the ``step`` that it is at; both None before the first. Of a task
        that is walked through, also how many walks for practice, and while the rollout is open how many private windows
        are left.
        """
        progress, walk = rollout.progress, rollout.task is not None and rollout.task.walk is not None

        def recorded() -> tuple[list[EpisodeRow], int]:
            rows = self._ledger.episodes(rollout.id)
            return rows, len(self._ledger.actions(rollout.id, rows[-1].n)) if rows else 0

        rows, step = (
            (progress.rows, progress.play.step)
            if progress is not None and progress.play is not None
            else await in_threads(self._threads, recorded)
        )
        place: dict[str, int | None] = (
            {"episode": rows[-1].n, "step": step} if rows else {"episode": None, "step": None}
        )
        if not walk:
            return place
        place["practice_left"] = self._practice_left(rollout, rows)
        if rollout.result is None:
            # On the rollout's own tape, which may have other windows than the package: all are asked at one time.
            windows = (await self._tapes.of(rollout)).walk
            assert windows is not None, "the tape of a walk is a walk"
            place["windows_left"] = windows.n_private - (step if rows and rows[-1].fold == "private" else 0)
        return place

    async def outcomes(self, rollout: Rollout, task: HiddenTask) -> NDArray[np.float64]:
        """The submission that a rollout's episodes amount to, computed from the recorded actions alone; NaN where a
        window was left unanswered.
        """
        await self._written(rollout)

        def played() -> NDArray[np.float64]:
            ended = self._sessions.ended(rollout.id)
            recorded = self._ledger.episodes(rollout.id), partial(self._ledger.actions, rollout.id)
            if task.walk is not None:
                return walked(task, *recorded)
            return outcomes(task, *recorded, None if ended is None else ended.record)

        return await in_threads(self._threads, played)

    async def end_session(self, rollout: Rollout) -> None:
        """End the live session of a rollout, if it has begun one.

        Raises:
            VerifierError: the session was interrupted.
        """
        if rollout.row.session is not None:
            await in_threads(self._sessions.threads, self._sessions.finish, rollout.row)
            # The ledger says that the episode was begun, the tape what happened in it. Where one of the two was lost,
            # the other would be scored as if it were all.
            if (rollout.accepted > 0) != (self._sessions.ended(rollout.id) is not None):
                raise VerifierError(INTERRUPTED)

    def forget_session(self, rollout: Rollout) -> None:
        """Drop what is in memory of a session whose result is written."""
        self._sessions.forget(rollout.id)

    def session_summary(self, rollout: Rollout) -> dict[str, object] | None:
        """What a result says of the rollout's session; None where it had none."""
        ended = self._sessions.ended(rollout.id)
        return None if ended is None else ended.summary

    def _begin_session(self, rollout: Rollout, task: HiddenTask, row: EpisodeRow) -> Play:
        return Play.of(row, self._sessions.begin(rollout.row, task))

    @staticmethod
    def _in_session(rollout: Rollout, play: Play) -> bool:
        return rollout.row.session is not None and play.row.fold == "private"

    async def _start(self, rollout: Rollout, task: HiddenTask, fold: FoldName, key: str | None) -> bytes:
        """Begin an episode in the rollout's turn, or repeat the answer to the start with the same key."""
        progress = await self._progress(rollout, task)
        known = next((row for row in progress.rows if key is not None and row.idempotency_key == key), None)
        if known is not None:
            play = progress.play
            assert play is not None
            if known.fold != fold:
                raise Problem(
                    "idempotency-conflict", f"This key was used to start a {known.fold} episode; use a new key."
                )
            if known is not play.row:
                raise Problem(
                    "episode-over",
                    f"The episode started with this key is not open; the latest is episode {play.row.n}.",
                )
            # A walk goes on where it is; an episode is only begun again with the key of its start.
            if task.walk is None:
                return answer(play.row, rollout.remaining, 0, play.first)
            return self._shown(rollout, progress)
        if task.walk and progress.play is not None and progress.play.goes_on(fold):
            return self._shown(rollout, progress)
        row = EpisodeRow(len(progress.rows) + 1, fold, _next(rollout, task, progress, fold), key)
        with self._storage.taking(rollout.row.principal, EVENT_BYTES):
            if rollout.row.session is None or fold == "public":
                await self.end_session(rollout)  # whoever practises has left it
                play = await in_threads(self._threads, Play.begin, task, row)
            else:
                play = await in_threads(self._sessions.threads, self._begin_session, rollout, task, row)
            # On the disk before the first observation is shown: a private episode that was seen counts as begun.
            refused = await self._ledger.writer.submit(
                EpisodeStarted(rollout.id, row, rollout.accepted, now_ns()).apply
            )
            if isinstance(refused, Problem):
                raise refused
        rollout.accepted += fold == "private"
        progress.rows.append(row)
        progress.play = play
        return self._shown(rollout, progress)

    @staticmethod
    def _practice_left(rollout: Rollout, rows: Sequence[EpisodeRow]) -> int:
        """Walks through the public fold that a rollout may still begin."""
        if rollout.accepted:
            return 0
        return max(rollout.hidden_task().spec.verification.budget - practised(rows), 0)

    def _shown(self, rollout: Rollout, progress: EpisodeProgress) -> bytes:
        """The answer about the latest episode, as far as it is; with the feedback on a walk for practice that ended."""
        play, task = progress.play, rollout.hidden_task()
        assert play is not None
        more: dict[str, object] = {}
        if task.walk is not None:
            more["practice_left"] = self._practice_left(rollout, progress.rows)
            if play.row.fold == "public" and play.last.done:
                more |= {"submission": len(rollout.feedback), "feedback": rollout.feedback[-1]}
        return answer(play.row, rollout.remaining, play.step, play.last, more)

    async def _step(self, rollout: Rollout, move: Move) -> bytes:
        """Take an action in the rollout's turn, or repeat the answer to the latest one."""
        # The tape is only needed to rebuild the episode; in the midst of one it would be drawn for nothing.
        progress = rollout.progress or await self._progress(rollout, await self._tapes.of(rollout))
        play = progress.play
        repeated = is_repetition(play, move)
        assert play is not None
        if not repeated:
            size = progress.action_bytes + len(move.text.encode())
            if size > MAX_KEPT_BYTES:
                raise Problem(
                    "payload-too-large", f"All actions of a rollout together may take {MAX_KEPT_BYTES} bytes."
                )
            with self._storage.taking(rollout.row.principal, EVENT_BYTES + size - progress.action_bytes):
                led_to = await self._take(rollout, play, move)
                # Written before it is answered. If the write fails, the episode in memory is a step ahead of the
                # ledger; the caller drops it then.
                stepped = Stepped(rollout.id, move.episode, move.step, move.text, now_ns())
                task, unscored = rollout.hidden_task(), None
                if led_to.done and play.row.fold == "public" and task.walk is not None:
                    unscored = await self._end_practice(rollout, play, stepped)
                elif rollout.row.questions is not None and play.row.fold == "private":
                    await self._forecast(rollout, play, stepped)
                elif led_to.done or task.walk is None or task.split == "test":
                    # It takes along what is held back, in its order.
                    rollout.writing.append(self._ledger.writer.submit(stepped.apply))
                    await self._written(rollout)
                else:
                    rollout.writing.append(self._ledger.writer.submit(stepped.apply, awaited=False))
            play.took(move.text, led_to)
            progress.action_bytes = size
            if unscored is not None:
                raise Problem("malformed-action", f"This walk for practice has ended without a score: {unscored}")
        return self._shown(rollout, progress)

    async def _end_practice(self, rollout: Rollout, play: Play, last: Stepped) -> str | None:
        """Score a walk through the public fold, and write its last step and its feedback, or neither; returns why it
        cannot be scored, or None. It has ended then too: no other answer to its last window would make up for that.
        """
        task = await self._tapes.of(rollout)
        assert task.walk is not None
        answers = np.full(task.shape, np.nan)
        answers[task.walk.items_of("public")] = play.episode.outcome()
        # Kept as it was answered: its principal may read it, and the baseline's answers follow from hidden outcomes.
        payload, document, unscored = answers.data.cast("B"), dict(WITHHELD), None
        try:
            score = await self._grading.public(task, complete(task, answers), sha256_of(payload))
        except SubmissionError as error:
            score, unscored = None, str(error)[:MAX_DETAIL]
        try:
            self._storage.require(rollout.row.principal, SUBMISSION_BYTES + payload.nbytes)
        except Problem:
            rollout.progress = None  # the walk in memory is a step ahead of the ledger
            raise
        with self._storage.taking(rollout.row.principal, SUBMISSION_BYTES + payload.nbytes):
            if score is not None:
                document = told(score, task.spec, disclosed=self._rations.take_public(rollout.row))
            ended = Practised(rollout.id, len(rollout.feedback) + 1, now_ns(), payload, document)

            def write(transaction: Transaction) -> None:
                last.apply(transaction)
                ended.apply(transaction)

            await self._ledger.writer.submit(write)
        rollout.feedback.append(document)
        return unscored

    async def _forecast(self, rollout: Rollout, play: Play, answered: Stepped) -> None:
        """Write the answer to a window of questions together with the forecasts that it makes, or neither.

        Raises:
            Problem: the deadlines of all of its questions have passed, or an answer is refused as a forecast.
        """
        walk = (await self._tapes.of(rollout)).walk
        assert walk is not None, "questions are shown in the order in which they are asked"
        items, first = walk.items(walk.windows("private")[play.step]), walk.items_of("private").start
        window = slice(items.start - first, items.stop - first)
        try:
            forecasts = await self._deferrals.forecasts(rollout, play.episode.outcome()[window], window.start)
            await self._deferrals.write(forecasts, answered.apply)
        except Problem:
            rollout.progress = None  # the walk in memory is a step ahead of the ledger
            raise

    async def _take(self, rollout: Rollout, play: Play, move: Move) -> Step:
        """The step that a new action leads to.

        Raises:
            Problem: ``malformed-action``: the action is refused, or the episode fails on it and not without it.
            VerifierError: the episode fails without any action as well.
        """
        try:
            # A live session waits for its market's next bar, in threads of its own; most simulated steps take
            # microseconds, less than a trip to a thread.
            if self._in_session(rollout, play):
                return await in_threads(self._sessions.threads, take, play, move)
            if rollout.hidden_task().slow_steps:
                return await in_threads(self._threads, take, play, move)
            return take(play, move)
        except (Problem, VerifierError):
            raise  # what the episode calls a failure of its own is none of the action's
        except Exception as error:
            # A market goes on, and cannot be played once more without the action to find out whose fault it is.
            if self._in_session(rollout, play):
                raise
            rollout.progress = None  # the episode may be half a step on
            await in_threads(self._threads, play_idly, await self._tapes.of(rollout), play.row, move.step)
            logger.warning("rollout %s: an action was refused that the episode failed on", rollout.id, exc_info=True)
            raise Problem(
                "malformed-action", f"The episode cannot go on with this action ({type(error).__name__})."
            ) from None

    @staticmethod
    async def _written(rollout: Rollout) -> None:
        """Wait until all steps are on the disk; one that cannot be written fails here."""
        writing, rollout.writing = rollout.writing, []
        await asyncio.gather(*writing)

    async def _progress(self, rollout: Rollout, task: HiddenTask) -> EpisodeProgress:
        """The episodes of a rollout, read from the ledger if they are not in memory."""
        if rollout.progress is None:
            await self._written(rollout)
            rollout.progress = await in_threads(
                self._threads, self._restore, rollout.id, task, session=rollout.row.session is not None
            )
            rollout.accepted = len(rollout.progress.rows) - practised(rollout.progress.rows)
        return rollout.progress

    def _restore(self, rollout_id: str, task: HiddenTask, *, session: bool) -> EpisodeProgress:
        rows = self._ledger.episodes(rollout_id)
        # What happened on a market cannot be rebuilt from actions.
        if session and rows and rows[-1].fold == "private":
            raise VerifierError(INTERRUPTED)
        play = Play.begin(task, rows[-1], self._ledger.actions(rollout_id, rows[-1].n)) if rows else None
        return EpisodeProgress(rows, play, self._ledger.action_bytes(rollout_id))

    @asynccontextmanager
    async def _forgetting(self, rollout: Rollout) -> AsyncIterator[None]:
        """Drop a rollout's state in memory if the block fails, since it may no longer agree with the ledger; a live
        session, which cannot be made again, ends with it.
        """
        try:
            yield
        # A refusal changed nothing, so that memory still agrees with the ledger.
        except Problem:
            raise
        # Cancellation included: a request may be given up between the step and its write.
        except BaseException as error:
            rollout.progress = None
            if isinstance(error, Exception) and self._sessions.is_open(rollout.id):
                raise await in_threads(self._sessions.threads, self._sessions.break_off, rollout.row, error) from error
            raise

    @contextmanager
    def _counted(self, rollout: Rollout) -> Iterator[None]:
        """Count a start or a step for the metrics, by what became of it."""
        outcome = "failed"
        try:
            yield
            outcome = "answered"
        except Problem as problem:
            outcome = problem.slug
            raise
        finally:
            self._telemetry.episode_call(rollout.row.task, outcome)


def _next(rollout: Rollout, task: HiddenTask, progress: EpisodeProgress, fold: FoldName) -> int:
    """Position, in its fold, of the episode that comes next."""
    if fold == "private":
        if rollout.remaining <= 0:
            raise Problem(
                "episodes-exhausted",
                "The walk through the private fold has ended; it is made once."
                if task.walk is not None
                else f"All {rollout.row.budget} private episodes of this rollout have been begun.",
            )
        # A slice begins in the midst of the fold; its questions are counted from 1.
        asked = rollout.row.asked
        return rollout.accepted + (0 if asked is None else asked.first - 1)
    if task.walk is not None and rollout.accepted:
        raise Problem("budget-exhausted", "The walk through the private fold was begun; practice is over.")
    begun, allowed = practised(progress.rows), task.spec.verification.budget
    if begun >= allowed:
        raise Problem("budget-exhausted", f"All {allowed} practice episodes of this rollout have been begun.")
    # A budget may be larger than the fold: then its episodes come round again.
    return begun % task.episodes[0]


def _require_sequential(rollout: Rollout) -> None:
    rollout.require_open()
    if not rollout.hidden_task().sequential:
        raise Problem("wrong-interface", "This task has no episodes; submit an array to /v1/submissions.")
