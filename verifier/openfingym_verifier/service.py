"""The verifier itself, apart from HTTP: rollouts, submissions and results.

Everything here runs on one event loop, so that rollouts need no locks; parsing, light scoring and
reading the ledger happen in a thread pool, writing it in the ledger's own thread, and heavy
scoring in processes of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import secrets
import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from openfingym.digests import sha256_of
from openfingym.errors import OpenFinGymError, SubmissionError, VerifierError
from openfingym.packages.tapes import choose
from openfingym.verifiers.routes import NPY
from openfingym_verifier.bucket import Bucket
from openfingym_verifier.clock import now_ns
from openfingym_verifier.disclosure import disclosed
from openfingym_verifier.episode_service import EpisodeService
from openfingym_verifier.events import Accepted, Created, Finalized, Played, Scored
from openfingym_verifier.fault import find_fault
from openfingym_verifier.feedback import WITHHELD, feedback
from openfingym_verifier.finalize import Judged, final_result, judge, nothing_accepted, stored_values
from openfingym_verifier.grading import Grading
from openfingym_verifier.intake import LIGHT_BYTES, Parsed, Submission, parse, refusal
from openfingym_verifier.ledger import Ledger, RolloutRow
from openfingym_verifier.membership import Membership
from openfingym_verifier.policy import LOCAL, LOCAL_USER, OPERATOR
from openfingym_verifier.problems import REFUSALS, Problem
from openfingym_verifier.ration import Rations
from openfingym_verifier.rollout import Rollout
from openfingym_verifier.tapes import Tapes
from openfingym_verifier.telemetry import Telemetry
from openfingym_verifier.tokens import load_key
from openfingym_verifier.watch import ParticipantWatch
from openfingym_verifier.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym.results import Disclosure, TapePolicy
    from openfingym_verifier.ledger import SeasonRecord
    from openfingym_verifier.policy import Policy
    from openfingym_verifier.principals import Caller
    from openfingym_verifier.truth import HiddenTask
    from openfingym_verifier.writer import Transaction

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)

DEFAULT_TTL_S = 24 * 3600.0
MAX_KNOWN_FINISHED = 1024
"""Finished rollouts kept in memory; older ones are read from the ledger when asked for."""
MAX_KNOWN = 4 * MAX_KNOWN_FINISHED
"""Rollouts in memory beyond which those that nobody needs are let go."""
LOOK_S = 2.0
"""How long what was found out about the disk holds."""
PROBE_S = 10.0
"""A disk that takes longer is as good as none."""
RETRY_S = 60.0
"""After which somebody with too many open rollouts may ask again."""


class Service:
    """One verifier's tasks, rollouts and ledger."""

    def __init__(
        self,
        tasks: Mapping[str, HiddenTask],
        ledger: Ledger,
        workers: Workers | None = None,
        *,
        policy: Policy = LOCAL,
        tapes: TapePolicy | None = None,
    ) -> None:
        """Restore the rollouts of the ledger; blocks until every light submission that was accepted has been scored.

        Args:
            tasks: the tasks on their given tapes, by name.
            ledger: ledger of the state directory, which holds the key of tapes as well.
            workers: worker processes that score heavy submissions; None starts them.
            policy: what is told to whom; see :mod:`openfingym_verifier.policy`.
            tapes: ``fresh`` gives every rollout hidden data of its own, where its task can have any; None leaves it to
                the policy.
        """
        self.tasks = tasks
        self.ledger = ledger
        self.policy = policy
        self.members = Membership(ledger, policy)
        self._rations = Rations(ledger.told())
        self.telemetry = Telemetry(queue_depth=lambda: ledger.writer.depth, open_rollouts=self._count_open)
        self._pool = ThreadPoolExecutor(max_workers=max(2, min(8, os.cpu_count() or 2)), thread_name_prefix="scoring")
        self._workers = workers or Workers()
        self.grading = Grading(self._pool, self._workers)
        self._tape_policy = tapes or policy.tapes
        key = load_key(ledger.path.parent / "tape.key", "end all open rollouts whose hidden data were drawn for them")
        self.tapes = Tapes(key, self._pool)
        self._watch = ParticipantWatch(ledger, self._pool)
        # Guards the choice between a real series and its twin, see _begin.
        self._choosing = asyncio.Lock()
        self._looked: asyncio.Future[str | None] | None = None
        self._look_again = 0.0
        self.episodes = EpisodeService(ledger, self.tapes, self.telemetry, self._pool)
        self._rollouts: dict[str, Rollout] = {}
        self._beginning: Counter[str] = Counter()
        for rollout_id in ledger.open_rollouts(now_ns()):
            rollout = self._load(rollout_id)
            assert rollout is not None
            self._rollouts[rollout_id] = rollout
            self._resume(rollout)

    def close(self) -> None:
        """Finish light work and abandon heavy work; whoever opened the ledger closes it."""
        self._workers.close()
        self._pool.shutdown()

    async def require_well(self) -> None:
        """Check that a rollout could be created and written now; the check is repeated every few seconds at most.

        Raises:
            Problem: ``unavailable``: no rollout could be written; the message says why.
        """
        if self._looked is None or (self._looked.done() and time.monotonic() > self._look_again):
            self._look_again = time.monotonic() + LOOK_S
            self._looked = asyncio.ensure_future(self._unwell())
        # The probe is shared by all who ask, so one caller that goes away must not cancel it for the others.
        reason = await asyncio.shield(self._looked)
        if reason is not None:
            raise Problem("unavailable", reason, retry_after_s=LOOK_S)

    async def _unwell(self) -> str | None:
        """The reason why no rollout could be written now; None where one could."""
        if not self.ledger.writer.alive:
            return "The ledger's writer has stopped."
        try:
            async with asyncio.timeout(PROBE_S):
                await self.ledger.probe()
        except (sqlite3.Error, TimeoutError):
            logger.exception("the ledger cannot be written")
            return "The ledger cannot be written; is the disk full?"
        return None

    async def create(
        self,
        task_name: str,
        *,
        agent: str | None,
        seed: int | None,
        ttl_s: float,
        fresh: bool = False,
        caller: Caller | None = None,
    ) -> Rollout:
        """Begin a rollout.

        Args:
            task_name: name of the task, which this verifier must hold.
            agent: name of the agent, which is recorded with the result.
            seed: seed, which is recorded with the result.
            ttl_s: seconds until its token expires.
            fresh: give the rollout hidden data of its own, where the task can have any; some policies always do.
            caller: the participant whose rollout it is; None for the operator.

        Raises:
            Problem: ``not-found`` for a task that this verifier does not hold; ``season-closed``.
            VerifierError: the hidden data cannot be drawn; no rollout was created.
        """
        season = self.members.require_open_season()
        task = self.tasks.get(task_name)
        if task is None:
            raise Problem(
                "not-found", f"No task {task_name[:100]!r} here; this verifier holds {', '.join(sorted(self.tasks))}."
            )
        now, owner = now_ns(), (caller or self.members.operator).name
        self._require_room(owner)
        rules = task.spec.verification
        wanted = fresh or self._tape_policy == "fresh"
        row = RolloutRow(
            # 80 random bits, so that no id is met twice: a rollout's token and its tape follow from it.
            id=f"r{secrets.token_hex(10)}",
            task=task.name,
            task_digest=task.manifest.digest,
            agent=agent,
            seed=seed,
            budget=task.budget,
            created_ns=now,
            expires_ns=now + int(ttl_s * 1e9),
            accepted=0,
            rejected=0,
            last_refusal=None,
            bucket=Bucket(float(rules.burst), now),
            result=None,
            principal=owner,
            season=season.name,
            policy=self.policy.name,
        )
        # Counted from here on, since drawing a tape and writing the row are awaited: otherwise requests sent together
        # would all find room.
        self._beginning[owner] += 1
        try:
            row, drawn = await self._begin(row, task, fresh=wanted)
        finally:
            self._beginning[owner] -= 1
        rollout = self._rollouts[row.id] = Rollout.restore(row, [], task)
        self.grading.prepare(drawn)
        return rollout

    async def _begin(self, row: RolloutRow, task: HiddenTask, *, fresh: bool) -> tuple[RolloutRow, HiddenTask]:
        """Choose a rollout's tape, draw it, and write the rollout; returns its row, and its task on that tape."""
        twins = fresh and task.renewal == "twin"
        # Two rollouts that begin at once must not both be the first to play a real series.
        async with self._choosing if twins else contextlib.nullcontext():
            played = twins and await self.in_pool(
                self.ledger.played, row.principal, self._same_bars(task), row.created_ns
            )
            kind = choose(task.renewal, wanted=fresh, played_before=played)
            if kind != "given":
                row = replace(row, tape=kind, tape_commitment=self.tapes.commitment(row.id))
            # Before the rollout exists: what cannot be drawn is an error of ours that leaves nothing behind.
            drawn = await self.tapes.drawn(row, task)
            await self._write(Created(row).apply)
        return row, drawn

    def _require_room(self, owner: str) -> None:
        """Check that a principal may begin another rollout.

        Raises:
            Problem: ``too-many-rollouts``: the principal has as many open as the policy allows.
        """
        if len(self._rollouts) > MAX_KNOWN:
            self._forget()
        most = self.policy.open_rollouts
        if most is None or owner in {LOCAL_USER, OPERATOR}:
            return
        now = now_ns()
        open_now = self._beginning[owner] + sum(
            one.row.principal == owner and one.result is None and one.row.expires_ns > now
            for one in self._rollouts.values()
        )
        if open_now >= most:
            detail = (
                f"{owner} has {open_now} open rollouts; finalize some, or let them expire. At most {most} may be open."
            )
            raise Problem("too-many-rollouts", detail, retry_after_s=RETRY_S)

    def _count_open(self) -> int:
        """Number of rollouts in memory without a result."""
        return sum(rollout.result is None for rollout in self._rollouts.values())

    def _same_bars(self, task: HiddenTask) -> list[str]:
        """Names of the tasks with real bars of the same series, which whoever played one of them has seen."""
        return [one.name for one in self.tasks.values() if one.renewal == "twin" and one.series == task.series]

    async def data(self, rollout: Rollout) -> bytes:
        """Public arrays of a rollout's tape that take the place of the package's, as ``.npz`` without pickle."""
        task = await self.tapes.of(rollout)

        def packed() -> bytes:
            stream = io.BytesIO()
            np.savez(stream, allow_pickle=False, **task.data)
            return stream.getvalue()

        return await self.in_pool(packed)

    async def find(self, rollout_id: str) -> Rollout:
        """A rollout, finished ones included.

        Raises:
            Problem: ``not-found``: there is no rollout of this id.
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
        """Check, keep and score a submission; the agent gets the return value.

        Raises:
            Problem: the submission is refused; its slug is one of :data:`~openfingym_verifier.problems.KINDS`.
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
                "wrong-interface",
                "This task is stepped through; use interface.make(), or /v1/episodes and /v1/steps.",
                close=True,
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
            rollout.require_unexpired(now_ns())
            if key in rollout.by_key:
                return await self._replay(rollout, key, body), "replayed"
            rollout.require_budget()
            return await self._judge(rollout, await self.tapes.of(rollout), submission, body), "accepted"

    async def _judge(
        self, rollout: Rollout, task: HiddenTask, submission: Submission, body: bytes
    ) -> dict[str, object]:
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
        told = self._rations.take_public(rollout.row)
        if score is None:
            found = await self._accept(task, accepted, parsed, told=told)
        else:
            found = await self._accept_scored(accepted, _feedback(task, score, told=told))
        self.telemetry.scored(task.name, time.perf_counter() - start)
        rollout.feedback.append(found)
        rollout.accepted = n
        if parsed.body_digest is not None and submission.idempotency_key is not None:
            rollout.by_key[submission.idempotency_key] = (parsed.body_digest, n)
        if found is None:
            await self._settle(rollout, n, told=told)
        elif score is None:
            # Nobody waits for this: feedback follows from the payload, and a restart computes it again.
            self.ledger.writer.submit(Scored(rollout.id, n, now_ns(), found).apply, awaited=False)
        return _answer(rollout, n)

    async def _first_score(self, task: HiddenTask, parsed: Parsed) -> Score:
        try:
            return await self.grading.public(task, parsed.values, parsed.payload_digest)
        except SubmissionError as error:
            raise refusal(error) from None

    async def _accept(
        self, task: HiddenTask, accepted: Accepted, parsed: Parsed, *, told: bool
    ) -> dict[str, object] | None:
        """Keep a submission, and score it while the commit is being written; None if scoring failed."""
        # The score is computed while the disk works; neither needs the other, and the answer waits for both.
        durable = self.ledger.writer.submit(accepted.apply, overtakes=True, size=parsed.payload.nbytes)
        try:
            score = await self._run(parsed.payload.nbytes <= LIGHT_BYTES, task.grader.public_score, parsed.values)
            found = _feedback(task, score, told=told)
        except Exception:
            # The submission stands, and it is found out whose fault this is.
            logger.exception("scoring failed")
            found = None
        await durable
        return found

    async def _accept_scored(self, accepted: Accepted, found: dict[str, object]) -> dict[str, object]:
        """Keep a submission and its score in one operation."""
        scored = Scored(accepted.rollout_id, accepted.n, now_ns(), found)

        def write(transaction: Transaction) -> None:
            accepted.apply(transaction)
            scored.apply(transaction)

        await self.ledger.writer.submit(write, overtakes=True, size=accepted.payload.nbytes)
        return found

    async def _replay(self, rollout: Rollout, key: str | None, body: bytes) -> dict[str, object]:
        assert key is not None
        digest, n = rollout.by_key[key]
        # The key alone must not be enough: with another body it is a mistake, and the answer to the first would
        # mislead.
        if await self.in_pool(sha256_of, body) != digest:
            raise Problem(
                "idempotency-conflict", f"This key was used for submission {n} with another body; use a new key."
            )
        if rollout.feedback[n - 1] is None:
            await self._settle(rollout, n)
        return _answer(rollout, n)

    async def _settle(self, rollout: Rollout, n: int, *, told: bool | None = None) -> None:
        """Score an accepted submission that has no score yet.

        Raises:
            Problem: the submission cannot have a score.
            VerifierError: our machinery failed; a repetition, a restart or the end of the rollout tries again.
        """
        try:
            await self._score_missing(rollout, n, told=told)
        except SubmissionError as error:
            raise refusal(error) from None

    async def _record_refusal(self, rollout: Rollout, problem: Problem) -> None:
        if problem.slug in REFUSALS:
            await self._write(rollout.refused(problem, now_ns()).apply)

    async def finalize(self, rollout: Rollout) -> dict[str, object]:
        """The final result as it was computed, once: from the private fold of the last submission or the episodes.

        Its principal may be told less; see :meth:`told`.
        """
        async with rollout.turn:
            if rollout.result is None:
                task = await self.tapes.of(rollout)
                for n, known in enumerate(rollout.feedback, 1):
                    if known is None:
                        with contextlib.suppress(SubmissionError):  # it has no score, and its rollout's result says so
                            await self._score_missing(rollout, n)
                values = await self._values(rollout, task)
                score, baseline = await asyncio.gather(
                    self._private_score(rollout, task, values), self.grading.baseline(task)
                )
                outcome = score if isinstance(score, str) else await self._judged(task, score, baseline)
                flags = await self._watch.flags(
                    rollout.row, task, values, None if isinstance(outcome, str) else outcome.relative
                )
                now = now_ns()
                result = final_result(rollout, outcome, baseline, flags, now)
                finalized = Finalized(rollout.id, now, result, self._disclosure(rollout, task, result))
                if task.sequential and values is not None:
                    written = await self._write(Played(rollout.id, now, values.data.cast("B"), finalized).apply)
                    rollout.feedback, rollout.progress = [None], None
                else:
                    written = await self._write(finalized.apply)
                assert isinstance(written, dict)
                rollout.result, rollout.disclosure = written, finalized.disclosure
                self.tapes.forget(rollout.id)
                if task.tape_of_its_own:
                    self.grading.forget(task)
                self._forget()
        return rollout.result

    def told(self, rollout: Rollout) -> dict[str, object]:
        """The result of a finished rollout as its principal may see it, which is more once the season is closed."""
        assert rollout.result is not None, "only a finished rollout has a result"
        return disclosed(rollout.result, rollout.disclosure)

    async def close_season(self) -> SeasonRecord:
        """End the season, and release the latest of the results that are held.

        Raises:
            Problem: ``season-closed`` where it is closed already.
        """
        released = await self.members.close_season()
        self._rations.release(released)
        for one in released:
            if (rollout := self._rollouts.get(one.rollout_id)) is not None:
                rollout.disclosure = "rounded"
        return self.members.season

    def _disclosure(self, rollout: Rollout, task: HiddenTask, result: dict[str, object]) -> Disclosure:
        """How much of a result its principal may be told."""
        if task.sequential:
            # What the result of episodes says, their agent was shown while it played them.
            return "full"
        return self._rations.take_private(rollout.row, scored=result["state"] == "scored")

    async def _values(self, rollout: Rollout, task: HiddenTask) -> NDArray[np.float64] | None:
        """The array to score: the last accepted submission, or the outcome of the episodes."""
        if rollout.accepted == 0:
            return None
        if task.sequential:
            return await self.episodes.outcomes(rollout, task)
        return stored_values(await self.in_pool(self._payload, rollout, rollout.accepted), task)

    async def _private_score(
        self, rollout: Rollout, task: HiddenTask, values: NDArray[np.float64] | None
    ) -> Score | str:
        """The private score of that array, or the reason why there is none."""
        if values is None:
            return nothing_accepted(rollout)
        try:
            return await self.grading.private(task, values, sha256_of(values.data.cast("B")))
        except SubmissionError as error:
            return str(error)

    async def _judged(self, task: HiddenTask, score: Score, baseline: Score) -> Judged | str:
        """A score beside the baseline's, or the reason why the two cannot be compared."""
        judged, control = (partial(self.in_pool, judge, task, one, baseline) for one in (score, baseline))
        try:
            return await find_fault(judged, control, f"the relative total on {task.name}")
        except SubmissionError as error:
            return str(error)

    async def _score_missing(self, rollout: Rollout, n: int, *, told: bool | None = None) -> None:
        """Score a submission that was accepted but not scored, after a failure of ours or the end of the process.

        Args:
            rollout: the rollout that it belongs to.
            n: number of the submission within the rollout.
            told: whether its principal is told the feedback; None where this was not decided yet.
        """
        task = await self.tapes.of(rollout)
        payload = await self.in_pool(self._payload, rollout, n)
        score = await self.grading.public(task, stored_values(payload, task), sha256_of(payload))
        found = _feedback(task, score, told=self._rations.take_public(rollout.row) if told is None else told)
        await self._write(Scored(rollout.id, n, now_ns(), found).apply)
        rollout.feedback[n - 1] = found

    def _resume(self, rollout: Rollout) -> None:
        """Restore an open rollout before the event loop runs: score light submissions, leave heavy ones for later."""
        task = rollout.task
        # A restart must not wait for heavy scores; they are made when somebody asks, or at the end of the rollout.
        if task is None or task.heavy or None not in rollout.feedback:
            return
        try:
            task = self.tapes.drawn_here(rollout.row, task)
        except (OpenFinGymError, Problem):
            logger.exception("rollout %s: its hidden data cannot be drawn again", rollout.id)
            return
        for n, known in enumerate(rollout.feedback, 1):
            if known is None:
                try:
                    score = task.grader.public_score(stored_values(self._payload(rollout, n), task))
                except OpenFinGymError:
                    logger.exception("rollout %s: submission %d cannot be scored", rollout.id, n)
                    continue
                found = _feedback(task, score, told=self._rations.take_public(rollout.row))
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

    def _forget(self) -> None:
        """Drop old finished rollouts and expired ones from memory; the ledger has them all."""
        now = now_ns()
        finished = [key for key, rollout in self._rollouts.items() if rollout.result is not None][:-MAX_KNOWN_FINISHED]
        expired = [
            key
            for key, one in self._rollouts.items()
            if one.result is None and one.row.expires_ns <= now and not one.turn.locked()
        ]
        for key in (*finished, *expired):
            del self._rollouts[key]

    async def _write(self, operation: Callable[..., object]) -> object:
        return await self.ledger.writer.submit(operation)

    async def _run(self, light: bool, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run ``function`` in this thread if it takes microseconds, and off the event loop otherwise."""
        if light:
            return function(*arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *arguments, **named))

    async def in_pool(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run something that blocks, off the event loop."""
        return await self._run(False, function, *arguments, **named)


def _feedback(task: HiddenTask, score: Score, *, told: bool) -> dict[str, object]:
    return feedback(score, task.spec.scoring, task.spec.verification) if told else dict(WITHHELD)


def _answer(rollout: Rollout, n: int) -> dict[str, object]:
    return {
        "submission": n,
        "state": "scored",
        "fold": "public",
        "feedback": rollout.feedback[n - 1],
        "remaining": rollout.row.budget - n,
    }
