"""The verifier proper: rollouts, submissions and results, without a word of HTTP.

Everything here runs on one event loop, so that rollouts need no locks; parsing, light scoring and
reading the ledger happen in a thread pool, writing it in the ledger's own thread, and heavy
scoring in processes of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from openfingym.errors import OpenFinGymError, SubmissionError, VerifierError
from openfingym_verifier.bucket import Bucket
from openfingym_verifier.clock import now_ns
from openfingym_verifier.events import Accepted, Created, Finalized, Played, Scored
from openfingym_verifier.feedback import feedback
from openfingym_verifier.finalize import final_result, flags_of, nothing_accepted, stored_values
from openfingym_verifier.grading import Grading
from openfingym_verifier.intake import LIGHT_BYTES, Parsed, Submission, parse, refusal
from openfingym_verifier.ledger import Ledger, RolloutRow
from openfingym_verifier.problems import REFUSALS, Problem
from openfingym_verifier.rollout import Rollout
from openfingym_verifier.stage import Stage
from openfingym_verifier.submission import NPY
from openfingym_verifier.telemetry import Telemetry
from openfingym_verifier.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym_verifier.truth import HiddenTask
    from openfingym_verifier.writer import Transaction

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)

DEFAULT_TTL_S = 24 * 3600.0
MAX_KNOWN_FINISHED = 1024
"""Finished rollouts kept in memory; older ones are read from the ledger when asked for."""


class Service:
    """One verifier's tasks, rollouts and ledger."""

    def __init__(self, tasks: Mapping[str, HiddenTask], ledger: Ledger, workers: Workers | None = None) -> None:
        """Take up where the ledger left off; blocks until everything light that was accepted has been scored."""
        self.tasks = tasks
        self.ledger = ledger
        self.telemetry = Telemetry(queue_depth=lambda: ledger.writer.depth, open_rollouts=lambda: self._open)
        self._pool = ThreadPoolExecutor(max_workers=max(2, min(8, os.cpu_count() or 2)), thread_name_prefix="scoring")
        self._workers = workers or Workers()
        self.grading = Grading(tasks, self._pool, self._workers)
        self.stage = Stage(ledger, self.telemetry, self._pool)
        self._rollouts: dict[str, Rollout] = {}
        self._open = 0
        for rollout_id in ledger.open_rollouts():
            rollout = self._load(rollout_id)
            assert rollout is not None
            self._rollouts[rollout_id] = rollout
            self._open += 1
            self._resume(rollout)

    def close(self) -> None:
        """Finish what is light, abandon what is heavy; the ledger is its opener's to close."""
        self._workers.close()
        self._pool.shutdown()

    async def create(self, task_name: str, *, agent: str | None, seed: int | None, ttl_s: float) -> Rollout:
        """Begin a rollout.

        Raises:
            Problem: ``not-found`` for a task this verifier does not hold.
        """
        task = self.tasks.get(task_name)
        if task is None:
            raise Problem("not-found", f"No task {task_name[:100]!r} here; this verifier holds {', '.join(sorted(self.tasks))}.")
        now = now_ns()
        rules = task.spec.verification
        row = RolloutRow(
            id=f"r{secrets.token_hex(10)}", task=task.name, task_digest=task.manifest.digest, agent=agent, seed=seed, budget=task.budget,
            created_ns=now, expires_ns=now + int(ttl_s * 1e9), accepted=0, rejected=0, last_refusal=None,
            bucket=Bucket(float(rules.burst), now), result=None,
        )  # fmt: skip
        await self._write(Created(row).apply)
        rollout = self._rollouts[row.id] = Rollout.restore(row, [], task)
        self._open += 1
        self.grading.prepare(task)
        return rollout

    async def find(self, rollout_id: str) -> Rollout:
        """A rollout, finished ones included.

        Raises:
            Problem: ``not-found``.
        """
        rollout = self._rollouts.get(rollout_id)
        if rollout is None:
            loaded = await self.in_pool(self._load, rollout_id)
            if loaded is None:
                raise Problem("not-found", "There is no such rollout.")
            # Another request may have loaded it meanwhile; there must be one object a rollout.
            rollout = self._rollouts.setdefault(rollout_id, loaded)
        return rollout

    async def submit(self, rollout: Rollout, submission: Submission) -> dict[str, object]:
        """Check, keep and score a submission; the answer is for the agent.

        Raises:
            Problem: as the HTTP interface documents.
        """
        try:
            answer, outcome = await self._submit(rollout, submission)
        except Problem as problem:
            self.telemetry.submission(rollout.row.task, problem.slug)
            raise
        except Exception:
            self.telemetry.submission(rollout.row.task, "failed")
            raise
        self.telemetry.submission(rollout.row.task, outcome)
        return answer

    async def _submit(self, rollout: Rollout, submission: Submission) -> tuple[dict[str, object], str]:
        rollout.require_open()
        task, key = rollout.hidden_task(), submission.idempotency_key
        if task.sequential:
            raise Problem(
                "wrong-interface", "This task is stepped through; use interface.make(), or /v1/episodes and /v1/steps.", close=True
            )
        if key not in rollout.by_key:
            # A retry of what was accepted is free; all else pays before a byte of the body is read.
            rollout.take_token(now_ns())
            rollout.require_budget()
        try:
            body = await submission.read_body(task.max_body_bytes)
        except Problem as problem:
            await self._record_refusal(rollout, problem)
            raise
        async with rollout.turn:
            rollout.require_open()
            if key in rollout.by_key:
                return await self._replay(rollout, key, body), "replayed"
            rollout.require_budget()
            return await self._judge(rollout, task, submission, body), "accepted"

    async def _judge(self, rollout: Rollout, task: HiddenTask, submission: Submission, body: bytes) -> dict[str, object]:
        start, received_ns = time.perf_counter(), now_ns()
        plain = submission.media_type == NPY and len(body) <= LIGHT_BYTES
        try:
            parsed = await self._run(plain, parse, submission, body, task)
            early = await self._first_score(task, parsed) if task.scored_first else None
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
        found = await (self._accept(task, accepted, parsed) if early is None else self._accept_scored(accepted, early))
        self.telemetry.scored(task.name, time.perf_counter() - start)
        rollout.feedback.append(found)
        rollout.accepted = n
        if parsed.body_digest is not None and submission.idempotency_key is not None:
            rollout.by_key[submission.idempotency_key] = (parsed.body_digest, n)
        if found is None:
            raise VerifierError(f"rollout {rollout.id}: submission {n} was accepted but could not be scored")
        if early is None:
            # Nobody waits for this: feedback follows from the payload, and a restart computes it again.
            self.ledger.writer.submit(Scored(rollout.id, n, now_ns(), found).apply, awaited=False)
        return _answer(rollout, n)

    async def _first_score(self, task: HiddenTask, parsed: Parsed) -> dict[str, object]:
        try:
            return _feedback(task, await self.grading.public(task, parsed.values, parsed.payload_digest))
        except SubmissionError as error:
            raise refusal(error) from None

    async def _accept(self, task: HiddenTask, accepted: Accepted, parsed: Parsed) -> dict[str, object] | None:
        """Keep a submission, and score it while the commit travels to the disk; None if that failed."""
        durable = self.ledger.writer.submit(accepted.apply, overtakes=True, size=parsed.payload.nbytes)
        try:
            score = await self._run(parsed.payload.nbytes <= LIGHT_BYTES, task.grader.public_score, parsed.values)
            found = _feedback(task, score)
        except Exception:
            # The submission stands; a retry, a restart or the end of the rollout will score it.
            logger.exception("scoring failed")
            found = None
        await durable
        return found

    async def _accept_scored(self, accepted: Accepted, found: dict[str, object]) -> dict[str, object]:
        """Keep a submission and its score, both or neither."""
        scored = Scored(accepted.rollout_id, accepted.n, now_ns(), found)

        def write(transaction: Transaction) -> None:
            accepted.apply(transaction)
            scored.apply(transaction)

        await self.ledger.writer.submit(write, overtakes=True, size=accepted.payload.nbytes)
        return found

    async def _replay(self, rollout: Rollout, key: str | None, body: bytes) -> dict[str, object]:
        assert key is not None
        digest, n = rollout.by_key[key]
        if (await self.in_pool(hashlib.sha256, body)).hexdigest() != digest:
            raise Problem("idempotency-conflict", f"This key was used for submission {n} with another body; use a new key.")
        if rollout.feedback[n - 1] is None:
            try:
                await self._score_missing(rollout, n)
            except SubmissionError as error:
                raise refusal(error) from None
        return _answer(rollout, n)

    async def _record_refusal(self, rollout: Rollout, problem: Problem) -> None:
        if problem.slug in REFUSALS:
            await self._write(rollout.refused(problem, now_ns()).apply)

    async def finalize(self, rollout: Rollout) -> dict[str, object]:
        """The final result: computed once, from the private fold of what was submitted last or played, and the same ever after."""
        async with rollout.turn:
            if rollout.result is None:
                task = rollout.hidden_task()
                for n, known in enumerate(rollout.feedback, 1):
                    if known is None:
                        with contextlib.suppress(SubmissionError):  # it has no score, and its rollout's result says so
                            await self._score_missing(rollout, n)
                values = await self._values(rollout, task)
                outcome, baseline = await asyncio.gather(self._private_score(rollout, task, values), self.grading.baseline(task))
                flags = await self.in_pool(flags_of, rollout, self.ledger)
                now = now_ns()
                finalized = Finalized(rollout.id, now, await self.in_pool(final_result, rollout, outcome, baseline, flags, now))
                if task.sequential and values is not None:
                    written = await self._write(Played(rollout.id, now, values.data.cast("B"), finalized).apply)
                    rollout.feedback, rollout.progress = [None], None
                else:
                    written = await self._write(finalized.apply)
                assert isinstance(written, dict)
                rollout.result = written
                self._open -= 1
                self._forget_finished()
        return rollout.result

    async def _values(self, rollout: Rollout, task: HiddenTask) -> NDArray[np.float64] | None:
        """What is scored: the last accepted submission, or what the episodes came to."""
        if rollout.accepted == 0:
            return None
        if task.sequential:
            return await self.stage.outcomes(rollout, task)
        return stored_values(await self.in_pool(self._payload, rollout, rollout.accepted), task)

    async def _private_score(self, rollout: Rollout, task: HiddenTask, values: NDArray[np.float64] | None) -> Score | str:
        """Score of what is scored, or why there is none."""
        if values is None:
            return nothing_accepted(rollout)
        try:
            return await self.grading.private(task, values, hashlib.sha256(values.data.cast("B")).hexdigest())
        except SubmissionError as error:
            return str(error)

    async def _score_missing(self, rollout: Rollout, n: int) -> None:
        """Score what was accepted but not scored, because we failed or the process ended in between."""
        task = rollout.hidden_task()
        payload = await self.in_pool(self._payload, rollout, n)
        score = await self.grading.public(task, stored_values(payload, task), hashlib.sha256(payload).hexdigest())
        found = _feedback(task, score)
        await self._write(Scored(rollout.id, n, now_ns(), found).apply)
        rollout.feedback[n - 1] = found

    def _resume(self, rollout: Rollout) -> None:
        """Before the event loop runs: score what is light. The rest waits until somebody asks for it."""
        task = rollout.task
        if task is None or task.heavy:
            return
        for n, known in enumerate(rollout.feedback, 1):
            if known is None:
                try:
                    found = _feedback(task, task.grader.public_score(stored_values(self._payload(rollout, n), task)))
                except OpenFinGymError:
                    logger.exception("rollout %s: submission %d cannot be scored", rollout.id, n)
                    continue
                self.ledger.writer.run(Scored(rollout.id, n, now_ns(), found).apply)
                rollout.feedback[n - 1] = found

    def _payload(self, rollout: Rollout, n: int) -> bytes:
        payload = self.ledger.payload(rollout.id, n)
        if payload is None:
            raise VerifierError(f"rollout {rollout.id}: submission {n} is missing from the ledger")
        return payload

    def _load(self, rollout_id: str) -> Rollout | None:
        found = self.ledger.rollout(rollout_id)
        return None if found is None else Rollout.restore(*found, self.tasks.get(found[0].task))

    def _forget_finished(self) -> None:
        finished = [key for key, rollout in self._rollouts.items() if rollout.result is not None]
        for key in finished[:-MAX_KNOWN_FINISHED]:
            del self._rollouts[key]

    async def _write(self, operation: Callable[..., object]) -> object:
        return await self.ledger.writer.submit(operation)

    async def _run(self, light: bool, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run ``function`` here if it is a matter of microseconds, and off the event loop otherwise."""
        if light:
            return function(*arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *arguments, **named))

    async def in_pool(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run something that blocks, off the event loop."""
        return await self._run(False, function, *arguments, **named)


def _feedback(task: HiddenTask, score: Score) -> dict[str, object]:
    return feedback(score, task.spec.scoring, task.spec.verification)


def _answer(rollout: Rollout, n: int) -> dict[str, object]:
    return {
        "submission": n,
        "state": "scored",
        "fold": "public",
        "feedback": rollout.feedback[n - 1],
        "remaining": rollout.row.budget - n,
    }
