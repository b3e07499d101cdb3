"""The verifier proper: rollouts, submissions and results, without a word of HTTP.

Everything here runs on one event loop, so that rollouts need no locks; parsing, scoring and
reading the ledger happen in a thread pool, writing it in the ledger's own thread.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from openfingym.errors import VerifierError
from openfingym_verifier.bucket import Bucket
from openfingym_verifier.events import Accepted, Created, Finalized, Rejected, Scored
from openfingym_verifier.feedback import feedback
from openfingym_verifier.finalize import final_result
from openfingym_verifier.ledger import Ledger, RolloutRow
from openfingym_verifier.problems import REFUSALS, Problem
from openfingym_verifier.rollout import Rollout
from openfingym_verifier.submission import NPY, read_submission
from openfingym_verifier.telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from numpy.typing import NDArray

    from openfingym_verifier.truth import HiddenTask

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)

LIGHT_BYTES = 256 * 1024
"""Up to this many bytes of float64 are parsed and scored within a millisecond: less than it takes to involve another thread."""
DEFAULT_TTL_S = 24 * 3600.0
MAX_KNOWN_FINISHED = 1024
"""Finished rollouts kept in memory; older ones are read from the ledger when asked for."""


@dataclass(frozen=True)
class Submission:
    """One request to score something, body apart."""

    media_type: str
    """Without parameters, in lower case."""
    idempotency_key: str | None
    read_body: Callable[[int], Awaitable[bytes]]
    """Reads the body, refusing more than the given number of bytes."""


@dataclass(frozen=True)
class Parsed:
    """A submission that passed every check."""

    values: NDArray[np.float64]
    payload: memoryview
    """The bytes of ``values``."""
    payload_digest: str
    body_digest: str | None
    """Digest of the body as it came; only where an idempotency key will need it."""


class Service:
    """One verifier's tasks, rollouts and ledger."""

    def __init__(self, tasks: Mapping[str, HiddenTask], ledger: Ledger) -> None:
        """Take up where the ledger left off; blocks until everything accepted has been scored."""
        self.tasks = tasks
        self.ledger = ledger
        self.telemetry = Telemetry(queue_depth=lambda: ledger.writer.depth, open_rollouts=lambda: self._open)
        self._pool = ThreadPoolExecutor(max_workers=max(2, min(8, os.cpu_count() or 2)), thread_name_prefix="scoring")
        self._rollouts: dict[str, Rollout] = {}
        self._open = 0
        for rollout_id in ledger.open_rollouts():
            rollout = self._load(rollout_id)
            assert rollout is not None
            self._rollouts[rollout_id] = rollout
            self._open += 1
            for operation in self._missing_scores(rollout):
                ledger.writer.run(operation.apply)
                rollout.feedback[operation.n - 1] = operation.feedback

    def close(self) -> None:
        """Finish what is running; the ledger is its opener's to close."""
        self._pool.shutdown()

    async def create(self, task_name: str, *, agent: str | None, seed: int | None, ttl_s: float) -> Rollout:
        """Begin a rollout.

        Raises:
            Problem: ``not-found`` for a task this verifier does not hold.
        """
        task = self.tasks.get(task_name)
        if task is None:
            raise Problem("not-found", f"No task {task_name[:100]!r} here; this verifier holds {', '.join(sorted(self.tasks))}.")
        now = time.time_ns()
        rules = task.spec.verification
        row = RolloutRow(
            id=f"r{secrets.token_hex(10)}", task=task.name, task_digest=task.manifest.digest, agent=agent, seed=seed, budget=rules.budget,
            created_ns=now, expires_ns=now + int(ttl_s * 1e9), accepted=0, rejected=0, last_refusal=None,
            bucket=Bucket(float(rules.burst), now), result=None,
        )  # fmt: skip
        await self._write(Created(row).apply)
        rollout = self._rollouts[row.id] = Rollout.restore(row, [], task)
        self._open += 1
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
        if key not in rollout.by_key:
            # A retry of what was accepted is free; all else pays before a byte of the body is read.
            rollout.take_token(time.time_ns())
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
        start = time.perf_counter()
        plain = submission.media_type == NPY and len(body) <= LIGHT_BYTES
        try:
            parsed = await self._run(plain, _parse, submission, body, task)
        except Problem as problem:
            await self._record_refusal(rollout, problem)
            raise
        n = rollout.accepted + 1
        accepted = Accepted(
            rollout_id=rollout.id,
            n=n,
            received_ns=time.time_ns(),
            idempotency_key=submission.idempotency_key,
            body_digest=parsed.body_digest,
            payload=parsed.payload,
            payload_digest=parsed.payload_digest,
            bucket=rollout.bucket,
        )
        # The commit travels to the disk while the score is computed.
        durable = self.ledger.writer.submit(accepted.apply, overtakes=True, size=parsed.payload.nbytes)
        try:
            found = await self._run(parsed.payload.nbytes <= LIGHT_BYTES, _feedback, task, parsed.values)
        except Exception:
            # The submission stands; a retry, a restart or the end of the rollout will score it.
            logger.exception("scoring failed")
            found = None
        await durable
        self.telemetry.scored(task.name, time.perf_counter() - start)
        rollout.feedback.append(found)
        if parsed.body_digest is not None and submission.idempotency_key is not None:
            rollout.by_key[submission.idempotency_key] = (parsed.body_digest, n)
        if found is None:
            raise VerifierError(f"rollout {rollout.id}: submission {n} was accepted but could not be scored")
        # Nobody waits for this: feedback follows from the payload, and a restart computes it again.
        self.ledger.writer.submit(Scored(rollout.id, n, time.time_ns(), found).apply, awaited=False)
        return _answer(rollout, n)

    async def _replay(self, rollout: Rollout, key: str | None, body: bytes) -> dict[str, object]:
        assert key is not None
        digest, n = rollout.by_key[key]
        if (await self.in_pool(hashlib.sha256, body)).hexdigest() != digest:
            raise Problem("idempotency-conflict", f"This key was used for submission {n} with another body; use a new key.")
        if rollout.feedback[n - 1] is None:
            await self._score_missing(rollout)
        return _answer(rollout, n)

    async def _record_refusal(self, rollout: Rollout, problem: Problem) -> None:
        if problem.slug in REFUSALS:
            rollout.rejected += 1
            rollout.last_refusal = f"{problem.slug}: {problem.detail}"
            await self._write(Rejected(rollout.id, time.time_ns(), problem.slug, problem.detail, rollout.bucket).apply)

    async def finalize(self, rollout: Rollout) -> dict[str, object]:
        """The final result: computed once, from the last accepted submission's private fold, and the same ever after."""
        async with rollout.turn:
            if rollout.result is None:
                await self._score_missing(rollout)
                now = time.time_ns()
                result = await self.in_pool(final_result, rollout, self.ledger, now)
                written = await self._write(Finalized(rollout.id, now, result).apply)
                assert isinstance(written, dict)
                rollout.result = written
                self._open -= 1
                self._forget_finished()
        return rollout.result

    async def _score_missing(self, rollout: Rollout) -> None:
        for operation in await self.in_pool(self._missing_scores, rollout):
            await self.ledger.writer.submit(operation.apply)
            rollout.feedback[operation.n - 1] = operation.feedback

    def _missing_scores(self, rollout: Rollout) -> list[Scored]:
        """Score what was accepted but not scored, because the process ended in between."""
        task, found = rollout.task, []
        for n, known in enumerate(rollout.feedback, 1):
            if known is None and task is not None:
                payload = self.ledger.payload(rollout.id, n)
                assert payload is not None
                values = np.frombuffer(payload, "<f8").reshape(task.shape)
                found.append(Scored(rollout.id, n, time.time_ns(), _feedback(task, values)))
        return found

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


def _parse(submission: Submission, body: bytes, task: HiddenTask) -> Parsed:
    values = read_submission(submission.media_type, body, task)
    payload = values.data.cast("B")
    body_digest = None if submission.idempotency_key is None else hashlib.sha256(body).hexdigest()
    return Parsed(values, payload, hashlib.sha256(payload).hexdigest(), body_digest)


def _feedback(task: HiddenTask, values: NDArray[np.float64]) -> dict[str, object]:
    return feedback(task.public_score(values), task.spec.scoring, task.spec.verification)


def _answer(rollout: Rollout, n: int) -> dict[str, object]:
    return {
        "submission": n,
        "state": "scored",
        "fold": "public",
        "feedback": rollout.feedback[n - 1],
        "remaining": rollout.row.budget - n,
    }
