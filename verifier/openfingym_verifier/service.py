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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from openfingym.kinds import asks_questions
from openfingym.packages.tapes import choose
from openfingym.verifiers.known_logs import remember
from openfingym_verifier.clock import now_ns
from openfingym_verifier.disclosure.disclosure import disclosed
from openfingym_verifier.disclosure.ladder import Ladders
from openfingym_verifier.disclosure.past_showings import PastShowings
from openfingym_verifier.disclosure.rations import Rations
from openfingym_verifier.disclosure.watch import ParticipantWatch
from openfingym_verifier.episodes.instances import TaskInstances
from openfingym_verifier.episodes.sessions import Sessions
from openfingym_verifier.ledger.health import LedgerHealth
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.ledger.receipts import Receipts, load_signing_key
from openfingym_verifier.ledger.storage import EVENT_BYTES, ROLLOUT_BYTES, SUBMISSION_BYTES, Storage
from openfingym_verifier.ledger.writer import HEAVY_BYTES
from openfingym_verifier.participants.membership import Membership
from openfingym_verifier.participants.tokens import load_key
from openfingym_verifier.policy import LOCAL
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.service import QuestionService
from openfingym_verifier.rollouts.creation import CreationRules, new_row
from openfingym_verifier.rollouts.deferral import Deferrals, order_of
from openfingym_verifier.rollouts.episode_service import EpisodeService
from openfingym_verifier.rollouts.events import AgentsFiled, Created, Extended, HiddenDataKnown, hidden_instruments
from openfingym_verifier.rollouts.finalization_service import FinalizationService
from openfingym_verifier.rollouts.resources import Resources
from openfingym_verifier.rollouts.rollout import Rollout
from openfingym_verifier.rollouts.submission_service import SubmissionService
from openfingym_verifier.rollouts.table import RolloutTable
from openfingym_verifier.rollouts.tapes import Tapes
from openfingym_verifier.scoring.grading import Grading
from openfingym_verifier.scoring.workers import Workers
from openfingym_verifier.seasons.conflict_groups import ConflictGroups
from openfingym_verifier.seasons.seasons import Seasons
from openfingym_verifier.submissions.intake import Submission
from openfingym_verifier.telemetry import Telemetry
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openfingym.results.result import TapePolicy
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.policy import Policy
    from openfingym_verifier.principals import Caller
    from openfingym_verifier.rollouts.creation import CreationRequest
    from openfingym_verifier.scoring.truth import HiddenTask

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)


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
        void_after_s: float | None = None,
        origin: str | None = None,
    ) -> None:
        """Restore the rollouts of the ledger; blocks until every light submission that was accepted has been scored.

        Args:
            tasks: the tasks on their given tapes, by name.
            ledger: ledger of the state directory, which holds the keys of tapes, providers and checkpoints as well.
            workers: worker processes that score heavy submissions; None makes a pool of its own.
            policy: the rules on what is told to whom; see :mod:`openfingym_verifier.policy`.
            tapes: ``fresh`` gives every rollout hidden data of its own, where its task can have any; None leaves it to
                the policy.
            void_after_s: seconds after its evaluation time that a question is void without a truth; None for two weeks.
            origin: name of the log; None for the one it has, or a random one.
        """
        self.tasks = tasks
        self.ledger = ledger
        state = ledger.path.parent
        self.receipts = Receipts(ledger, load_signing_key(state, origin))
        # Whoever runs a verifier here need not be told its key, whoever's rollouts it scores.
        remember(self.receipts.key.public)
        self.policy = policy
        self.members = Membership(ledger, policy)
        self.storage = Storage(policy.stored_bytes, {} if policy.stored_bytes is None else ledger.stored_bytes())
        self._threads = ThreadPoolExecutor(
            max_workers=max(2, min(8, os.cpu_count() or 2)), thread_name_prefix="scoring"
        )
        _tell_hidden_data(ledger, tasks)
        self.seasons = Seasons(ledger, tasks, self.storage, self._threads)
        self._workers = workers or Workers()
        self.grading = Grading(self._threads, self._workers)
        self._tape_policy = tapes or policy.tapes
        key = load_key(state / "tape.key", "end all open rollouts whose hidden data were drawn for them")
        self.sessions = Sessions(state)
        self.instances = TaskInstances(state, self._threads)
        # The scores of an instance go with it; there are more instances than could be remembered.
        self.instances.on_dropped = self.grading.forget
        self.tapes = Tapes(key, self.sessions, self.instances)
        self.tapes.on_dropped = self._drop_progress
        self._choosing = asyncio.Lock()
        self._health = LedgerHealth(ledger)
        self.rations = Rations(self.seasons.by_name, ledger.disclosures(), Ladders(ledger.ladders()))
        self._rollouts = RolloutTable(ledger, tasks, policy, self._threads)
        self.telemetry = Telemetry(queue_depth=lambda: ledger.writer.depth, open_rollouts=self._rollouts.count_open)
        # A key of its own: whoever knows it can compute the truths of simulated providers.
        secret = load_key(state / "provider.key", "change the truths of open questions that are simulated")
        self.questions = QuestionService(ledger, self._threads, secret, self.storage, void_after_s=void_after_s)
        self.deferrals = Deferrals(ledger, self.questions, self.tapes, self._rollouts, self._threads)
        resources = Resources(
            ledger=ledger,
            tapes=self.tapes,
            sessions=self.sessions,
            grading=self.grading,
            rations=self.rations,
            storage=self.storage,
            deferrals=self.deferrals,
            telemetry=self.telemetry,
            threads=self._threads,
        )
        self._submissions = SubmissionService(resources)
        self.episodes = EpisodeService(resources)
        watch = ParticipantWatch(ledger, self._threads)
        self._showings = PastShowings(ledger, self._threads)
        self._finalization = FinalizationService(resources, watch, self._submissions, self.episodes, self._showings)
        self._groups = ConflictGroups(tasks, ledger, policy, self._tape_policy)
        self._creation = CreationRules(policy, self.sessions, self.instances, self.deferrals)
        # A submission that was acknowledged before a crash is scored before any request is answered.
        for rollout in self._rollouts:
            self._submissions.resume(rollout)

    def close(self) -> None:
        """Finish light work, abandon heavy work and break off live sessions; whoever opened the ledger closes it."""
        self.sessions.close()
        self.questions.close()
        self._workers.close()
        self.tapes.close()
        self._threads.shutdown()

    async def require_well(self) -> None:
        """Return if a rollout could be created and written now; cheap, however often it is asked.

        Raises:
            Problem: ``unavailable``: no rollout could be written, as on a full disk.
        """
        await self._health.require_well()

    async def create(self, order: CreationRequest, caller: Caller | None = None) -> Rollout:
        """Begin a rollout.

        Args:
            order: what is asked for: a task, and which hidden data the rollout is to be on.
            caller: the participant whose rollout it is; None for the operator.

        Raises:
            Problem: ``not-found``: this verifier does not hold the task; ``season-closed``; ``fold-retired``: a season
                has told of its hidden data; ``malformed-request`` or ``forbidden``: the caller cannot have what the
                order says; ``conflicting-task``: it has entered another one this season; ``too-many-rollouts``;
                ``storage-exhausted``.
            VerifierError: the hidden data cannot be drawn; no rollout was created.
        """
        # Before anything is awaited: the token's time runs from the request, not from the end of the preparations.
        now, season = now_ns(), self.seasons.require_open()
        task = self.tasks.get(order.task)
        if task is None:
            raise Problem(
                "not-found", f"No task {order.task[:100]!r} here; this verifier holds {', '.join(sorted(self.tasks))}."
            )
        if caller is not None and not caller.operator:
            await self.in_pool(self.seasons.require_untold, task)
        owner = (caller or self.members.operator).name
        hidden = await self._creation.require(order, task, caller)
        row = new_row(order, task, hidden, principal=owner, season=season.name, policy=self.policy.name, now_ns=now)
        # Counted from here on, since drawing a tape and writing the row are awaited: otherwise requests sent together
        # would all find room.
        with self._rollouts.beginning(owner):
            # An agent that works for an hour should not learn at its end that its answer finds no room. The outcomes
            # of episodes are written at the end, whatever else was stored meanwhile.
            answered = SUBMISSION_BYTES + 8 * prod(hidden.shape)
            self.storage.require(owner, ROLLOUT_BYTES + answered)
            with self.storage.taking(owner, ROLLOUT_BYTES + (answered if hidden.sequential else 0)):
                try:
                    row, drawn = await self._begin(row, task, fresh=order.wants_own_tape(self._tape_policy))
                except BaseException:
                    self.tapes.forget(row.id)  # whoever gave up may have had one drawn
                    raise
        rollout = self._rollouts.add(row)
        # Where the outcomes are not known yet, the baseline has no score.
        if order.questions is None:
            self.grading.prepare(drawn)
        return rollout

    async def file_agents(self, digests: Sequence[str], caller: Caller) -> int:
        """Write which agents a caller has, before it runs them; returns how many are new.

        See :mod:`openfingym_verifier.disclosure.past_showings`.

        Args:
            digests: digests of the agents, as their rollouts will state them.
            caller: who has them.

        Raises:
            Problem: ``storage-exhausted``: there is no room for them.
        """
        filed = await self.in_pool(self.ledger.filed, caller.name)
        # What is filed already costs nothing, so that a request may be sent again.
        new = tuple(digest for digest in dict.fromkeys(digests) if digest not in filed)
        if new:
            with self.storage.taking(caller.name, EVENT_BYTES * len(new)):
                await self.ledger.writer.submit(AgentsFiled(caller.name, new, now_ns()).apply)
        return len(new)

    async def extend(self, rollout: Rollout, ttl_s: float) -> None:
        """Keep a rollout whose questions are asked one by one open for longer; one that has its result stays as it is.

        Args:
            rollout: the rollout that somebody goes on with.
            ttl_s: seconds from now for which it is open at least.

        Raises:
            Problem: ``task-unavailable``: the task was rebuilt or removed; ``malformed-request``: it asks no questions,
                so that nobody can go on with what somebody else began.
        """
        async with rollout.turn:
            if not asks_questions(rollout.hidden_task().spec.contract):
                raise Problem("malformed-request", "The task asks no questions one by one; create a new rollout.")
            now = now_ns()
            # Never shorter: the first token, which says the old time, may still be in use.
            expires = max(rollout.row.expires_ns, now + int(ttl_s * 1e9))
            if rollout.result is None:
                await self.ledger.writer.submit(Extended(rollout.id, now, expires).apply)
                rollout.row = replace(rollout.row, expires_ns=expires)

    async def _begin(self, row: RolloutRow, task: HiddenTask, *, fresh: bool) -> tuple[RolloutRow, HiddenTask]:
        """Choose a rollout's tape, draw it, and write the rollout; returns its row, and its task on that tape."""
        twins, bound = fresh and task.renewal == "twin", self._groups.bind(row)
        kind, exposure = choose(task.renewal, wanted=fresh, played_before=False), None
        if kind == "given" and row.split == "test" and row.session is None:
            digest, exposure = await self.in_pool(lambda: (task.hidden_digest, task.given_exposure))
            row = replace(row, hidden_digest=digest, instruments=hidden_instruments(exposure))
        if kind == "fresh":
            if bound:
                await self.in_pool(self._groups.require, row)
            # Outside the turn below, since a world takes seconds, for which other rollouts should not wait.
            row = replace(row, tape=kind, tape_commitment=self.tapes.commitment(row.id))
            await self.tapes.drawn(replace(row, questions=None), task)
        # Two rollouts that begin at once must not both be the first to play a real series, or of one conflict group.
        async with self._choosing if twins or bound else contextlib.nullcontext():
            if bound:
                await self.in_pool(self._groups.require, row)
            if twins and await self._showings.may_know(row, task):
                commitment = self.tapes.commitment(row.id)
                row = replace(row, tape="twin", tape_commitment=commitment, hidden_digest=None, instruments=())
            # Before the rollout exists: what cannot be drawn is an error of ours that leaves nothing behind.
            drawn = await self.tapes.drawn(replace(row, questions=None), task)
            if self.seasons.latest.name != row.season or self.seasons.latest.closed_ns is not None:
                raise Problem("season-closed", f"Season {row.season!r} was closed while its hidden data were drawn.")
            if row.questions is None:
                await self.ledger.writer.submit(Created(row, exposure).apply)
                return row, drawn
            # What was drawn has the outcomes. The rollout itself is on the same task without them, which would not be
            # made while this one is kept.
            self.tapes.forget(row.id)
            # Asked and written in one turn, so that the next rollout of the task finds these questions and is asked
            # the same.
            async with self.deferrals.asker.turn(order_of(row), row):
                write_questions = await self.deferrals.ask(row, drawn)

                def write(transaction: Transaction) -> None:
                    # The rollout first: the rows of its questions refer to it.
                    Created(row, exposure).apply(transaction)
                    write_questions(transaction)

                # Stated as heavy: the statements of many questions run in the writer's thread, not on the event loop.
                await self.ledger.writer.submit(write, size=HEAVY_BYTES + 1)
        await self.deferrals.start_clock(row)
        return row, await self.tapes.drawn(row, task)

    async def data(self, rollout: Rollout) -> bytes:
        """Public arrays of a rollout's tape that take the place of the package's, as ``.npz`` without pickle."""
        task = await self.tapes.of(rollout)

        def packed() -> bytes:
            stream = io.BytesIO()
            np.savez(stream, allow_pickle=False, **task.data)
            return stream.getvalue()

        return await self.in_pool(packed)

    async def find(self, rollout_id: str) -> Rollout:
        """A rollout, whether it is open or finished.

        Raises:
            Problem: ``not-found``: the ledger has no rollout of this id.
        """
        return await self._rollouts.find(rollout_id)

    async def submit(self, rollout: Rollout, submission: Submission) -> dict[str, object]:
        """Check, keep and score a submission; see :meth:`SubmissionService.submit`."""
        return await self._submissions.submit(rollout, submission)

    async def finalize(self, rollout: Rollout) -> dict[str, object]:
        """End a rollout; see :meth:`FinalizationService.finalize`."""
        result = await self._finalization.finalize(rollout)
        # Each result makes a rollout that need not stay in memory: a good moment to drop the oldest of them.
        self._rollouts.forget()
        return result

    async def settle(self, rollout: Rollout) -> dict[str, object]:
        """Have the questions of an ended rollout with a simulated clock resolved; returns its result."""
        await self.deferrals.settle(rollout)
        assert rollout.result is not None, "only a rollout that has ended is settled"
        return rollout.result

    def disclosed_result(self, rollout: Rollout) -> dict[str, object]:
        """The result of a finished rollout as its principal may see it, which is more once the season is closed."""
        assert rollout.result is not None, "only a finished rollout has a result"
        return disclosed(rollout.result, rollout.disclosure)

    async def close_season(self) -> None:
        """End the season, and tell what was entered in it.

        Raises:
            Problem: ``season-closed``: the season is closed already.
        """
        closing = await self.seasons.close()
        self.rations.release(closing.released)
        # The ledger says so already; a rollout in memory mirrors its row and must not go on holding the result back.
        for result in closing.released:
            if (rollout := self._rollouts.known(result.rollout_id)) is not None:
                rollout.disclosure = "rounded"

    def _drop_progress(self, rollout_id: str) -> None:
        """Let go of the episode of a rollout whose tape is not kept, since it holds the data as well; it is made again
        when somebody steps it.
        """
        rollout = self._rollouts.known(rollout_id)
        if rollout is not None and not rollout.turn.locked():
            rollout.progress = None

    async def in_pool(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run something that blocks, off the event loop."""
        return await in_threads(self._threads, function, *arguments, **named)


def _tell_hidden_data(ledger: Ledger, tasks: Mapping[str, HiddenTask]) -> None:
    """Write which hidden data the rollouts of an older version are on, of the tasks that are served."""
    unknown = ledger.of_unknown_data()
    for task in tasks.values():
        if task.manifest.digest in unknown:
            ledger.writer.run(HiddenDataKnown(task.manifest.digest, task.hidden_digest, task.given_exposure).apply)
