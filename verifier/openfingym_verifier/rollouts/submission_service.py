"""The service that takes submissions: checked, kept and scored, with an answer for the agent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from openfingym.digests import sha256_of
from openfingym.errors import OpenFinGymError, SubmissionError, VerifierError
from openfingym.verifiers.routes import NPY
from openfingym_verifier.clock import now_ns
from openfingym_verifier.disclosure.feedback import told
from openfingym_verifier.episodes.play import stored_values
from openfingym_verifier.ledger.storage import EVENT_BYTES, SUBMISSION_BYTES
from openfingym_verifier.problems import REFUSALS, Problem
from openfingym_verifier.rollouts.events import Accepted, Scored
from openfingym_verifier.submissions.intake import LIGHT_BYTES, Parsed, Submission, parse, refusal
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from openfingym.metrics import Score
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.rollouts.resources import Resources
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.scoring.truth import HiddenTask

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)


class SubmissionService:
    """Takes the submissions of one verifier's rollouts. Belongs to the event loop."""

    def __init__(self, resources: Resources) -> None:
        self._ledger = resources.ledger
        self._tapes = resources.tapes
        self._grading = resources.grading
        self._rations = resources.rations
        self._storage = resources.storage
        self._telemetry = resources.telemetry
        self._threads = resources.threads

    async def submit(self, rollout: Rollout, submission: Submission) -> dict[str, object]:
        """Check, keep and score a submission; the agent gets the return value.

        Args:
            rollout: the rollout that the submission is for.
            submission: the request, whose body has not been read yet.

        Raises:
            Problem: the submission is refused; its slug is one of :data:`~openfingym_verifier.problems.KINDS`.
        """
        try:
            answer, outcome = await self._submit(rollout, submission)
        except Problem as problem:
            self._telemetry.submission(rollout.row.task, problem.slug)
            raise
        except Exception:
            self._telemetry.submission(rollout.row.task, "failed")
            raise
        self._telemetry.submission(rollout.row.task, outcome)
        return answer

    async def _submit(self, rollout: Rollout, submission: Submission) -> tuple[dict[str, object], str]:
        """The answer to a submission, and what became of it for the metrics: ``accepted`` or ``replayed``."""
        rollout.require_open()
        task, key = rollout.hidden_task(), submission.idempotency_key
        if task.sequential:
            raise Problem(
                "wrong-interface",
                "What is hidden is shown step by step; use interface.iter_test() or interface.make(), or /v1/episodes "
                "and /v1/steps.",
                close=True,
            )
        if key not in rollout.by_key:
            # A retry of what was accepted is free; all else pays before a byte of the body is read.
            rollout.take_token(now_ns())
            rollout.require_budget()
        try:
            body = await submission.read_body((await self._tapes.form_of(rollout)).max_body_bytes)
        except Problem as problem:
            await self._record_refusal(rollout, problem)
            raise
        async with rollout.turn:
            # Checked once more: while the body or the turn was waited for, another submission may have been accepted,
            # the rollout finalized, or the token expired.
            rollout.require_open()
            rollout.require_unexpired(now_ns())
            if key in rollout.by_key:
                return await self._replay(rollout, key, body), "replayed"
            rollout.require_budget()
            return await self._check_and_score(rollout, await self._tapes.of(rollout), submission, body), "accepted"

    async def _check_and_score(
        self, rollout: Rollout, task: HiddenTask, submission: Submission, body: bytes
    ) -> dict[str, object]:
        """Parse a new submission, write it to the ledger with or before its score, and answer it."""
        start, received_ns = time.perf_counter(), now_ns()
        # A small .npy is parsed in microseconds, less than a trip to the thread pool takes.
        plain = submission.media_type == NPY and len(body) <= LIGHT_BYTES
        try:
            parsed = await self._run(plain, parse, submission, body, task)
            score = await self._first_score(task, parsed) if task.scored_first else None
        except Problem as problem:
            await self._record_refusal(rollout, problem)
            raise
        n = rollout.accepted + 1
        accepted = Accepted(
            rollout_id=rollout.id,
            n=n,
            received_ns=received_ns,
            idempotency_key=submission.idempotency_key,
            body_digest=parsed.body_digest,
            payload=parsed.payload,
            payload_digest=parsed.payload_digest,
            bucket=rollout.bucket,
        )
        # Decided before anything is awaited: two submissions of a participant cannot both be its last with feedback.
        with self._storage.taking(rollout.row.principal, SUBMISSION_BYTES + parsed.payload.nbytes):
            disclosed = self._rations.take_public(rollout.row)
            if score is None:
                document = await self._write_then_score(task, accepted, parsed, disclosed=disclosed)
            else:
                document = await self._write_scored(accepted, told(score, task.spec, disclosed=disclosed))
        self._telemetry.scored(task.name, time.perf_counter() - start)
        # Memory follows the ledger, never the other way round: from here on the submission is on the disk.
        rollout.feedback.append(document)
        rollout.accepted = n
        if parsed.body_digest is not None and submission.idempotency_key is not None:
            rollout.by_key[submission.idempotency_key] = (parsed.body_digest, n)
        if document is None:
            await self._score_or_refuse(rollout, n, disclosed=disclosed)
        elif score is None:
            # Nobody waits for this: feedback follows from the payload, and a restart computes it again.
            self._ledger.writer.submit(Scored(rollout.id, n, now_ns(), document).apply, awaited=False)
        return _answer(rollout, n)

    async def _first_score(self, task: HiddenTask, parsed: Parsed) -> Score:
        """The public score of a submission that is accepted only if it has one."""
        try:
            return await self._grading.public(task, parsed.values, parsed.payload_digest)
        except SubmissionError as error:
            raise refusal(error) from None

    async def _write_then_score(
        self, task: HiddenTask, accepted: Accepted, parsed: Parsed, *, disclosed: bool
    ) -> dict[str, object] | None:
        """Write a submission, and score it while the commit is being written; returns its feedback, or None if scoring
        failed.
        """
        # The score is computed while the disk works; neither needs the other, and the answer waits for both.
        durable = self._ledger.writer.submit(accepted.apply, overtakes=True, size=parsed.payload.nbytes)
        try:
            score = await self._run(parsed.payload.nbytes <= LIGHT_BYTES, task.grader.public_score, parsed.values)
            document = told(score, task.spec, disclosed=disclosed)
        except Exception:
            # The submission stands, since its write is under way; whose fault this is, is found out afterwards.
            logger.exception("scoring failed")
            document = None
        await durable
        return document

    async def _write_scored(self, accepted: Accepted, document: dict[str, object]) -> dict[str, object]:
        """Write a submission and its feedback in one operation; returns the feedback."""
        scored = Scored(accepted.rollout_id, accepted.n, now_ns(), document)

        def write(transaction: Transaction) -> None:
            accepted.apply(transaction)
            scored.apply(transaction)

        await self._ledger.writer.submit(write, overtakes=True, size=accepted.payload.nbytes)
        return document

    async def _replay(self, rollout: Rollout, key: str | None, body: bytes) -> dict[str, object]:
        """The answer to a submission that was accepted before under the same idempotency key."""
        assert key is not None
        digest, n = rollout.by_key[key]
        # The key alone must not be enough: with another body it is a mistake, and the answer to the first would
        # mislead.
        if await in_threads(self._threads, sha256_of, body) != digest:
            raise Problem(
                "idempotency-conflict", f"This key was used for submission {n} with another body; use a new key."
            )
        if rollout.feedback[n - 1] is None:
            await self._score_or_refuse(rollout, n)
        return _answer(rollout, n)

    async def _score_or_refuse(self, rollout: Rollout, n: int, *, disclosed: bool | None = None) -> None:
        """Score an accepted submission that has no score yet; see :meth:`score_missing`.

        Raises:
            Problem: the submission cannot have a score.
            VerifierError: our machinery failed; a repetition, a restart or the end of the rollout tries again.
        """
        try:
            await self.score_missing(rollout, n, disclosed=disclosed)
        except SubmissionError as error:
            raise refusal(error) from None

    async def _record_refusal(self, rollout: Rollout, problem: Problem) -> None:
        """Count a refusal of what was sent; a failure of ours, or a rate limit, is no mark against the rollout."""
        if problem.slug in REFUSALS:
            self._storage.take(rollout.row.principal, EVENT_BYTES)
            await self._ledger.writer.submit(rollout.refused(problem, now_ns()).apply)

    async def score_missing(self, rollout: Rollout, n: int, *, disclosed: bool | None = None) -> None:
        """Score a submission that was accepted but not scored, after a failure of ours or the end of the process.

        Args:
            rollout: the rollout that the submission belongs to.
            n: number of the submission within the rollout, from 1.
            disclosed: whether the rollout's principal is told the feedback; None where this was not decided yet.

        Raises:
            SubmissionError: the submission cannot have a score.
            VerifierError: our machinery failed; trying again makes sense.
        """
        task = await self._tapes.of(rollout)
        payload = await self.payload(rollout, n)
        score = await self._grading.public(task, stored_values(payload, task), sha256_of(payload))
        if disclosed is None:
            disclosed = self._rations.take_public(rollout.row)
        document = told(score, task.spec, disclosed=disclosed)
        await self._ledger.writer.submit(Scored(rollout.id, n, now_ns(), document).apply)
        rollout.feedback[n - 1] = document

    def resume(self, rollout: Rollout) -> None:
        """Restore an open rollout before the event loop runs: score light submissions, leave heavy ones for later."""
        task = rollout.task
        # A restart must not wait for heavy scores; they are made when somebody asks, or at the end of the rollout.
        if task is None or task.heavy or None not in rollout.feedback:
            return
        try:
            task = self._tapes.drawn_here(rollout.row, task)
        except (OpenFinGymError, Problem):
            logger.exception("rollout %s: its hidden data cannot be drawn again", rollout.id)
            return
        for n, known in enumerate(rollout.feedback, 1):
            if known is None:
                try:
                    score = task.grader.public_score(stored_values(self._payload(rollout, n), task))
                except OpenFinGymError:
                    # Nobody waits for it now; whoever asks, or the end of the rollout, tries again and says why.
                    logger.exception("rollout %s: submission %d cannot be scored", rollout.id, n)
                    continue
                document = told(score, task.spec, disclosed=self._rations.take_public(rollout.row))
                self._ledger.writer.run(Scored(rollout.id, n, now_ns(), document).apply)
                rollout.feedback[n - 1] = document

    async def payload(self, rollout: Rollout, n: int) -> bytes:
        """The values of the n-th accepted submission, from 1: little-endian float64, C order."""
        return await in_threads(self._threads, self._payload, rollout, n)

    def _payload(self, rollout: Rollout, n: int) -> bytes:
        payload = self._ledger.payload(rollout.id, n)
        if payload is None:
            raise VerifierError(f"rollout {rollout.id}: submission {n} is missing from the ledger")
        return payload

    async def _run(self, light: bool, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run ``function`` here if it is a matter of microseconds, and off the event loop otherwise."""
        if light:
            return function(*arguments, **named)
        return await in_threads(self._threads, function, *arguments, **named)


def _answer(rollout: Rollout, n: int) -> dict[str, object]:
    """The body of the answer to a rollout's n-th submission."""
    return {
        "submission": n,
        "state": "scored",
        "fold": "public",
        "feedback": rollout.feedback[n - 1],
        "remaining": rollout.row.budget - n,
    }
