"""The tape of each rollout: hidden data that follow from a secret key and the rollout's id.

::

    seed = HMAC-SHA256(<state>/tape.key, "openfingym.tape" rollout id)

So nothing but the kind of a tape is stored, and a restart draws the same one again. The ledger and the log hold a
commitment to the seed: with another key, a rollout ends rather than go on over other data.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from collections import OrderedDict, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of
from openfingym.packages.tapes import Tape
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.problems import Problem
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from openfingym.kinds.question_range import QuestionRange
    from openfingym_verifier.episodes.instances import TaskInstances
    from openfingym_verifier.episodes.sessions import Sessions
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.scoring.truth import HiddenTask

MAX_KEPT = 32
"""Drawn tapes in memory; others are drawn again when asked for."""


class Tapes:
    """The tapes of one verifier's rollouts. Belongs to the event loop, but for :meth:`drawn_here`."""

    def __init__(self, key: bytes, sessions: Sessions, instances: TaskInstances, kept: int = MAX_KEPT) -> None:
        """Draw tapes with a secret key.

        Args:
            key: the key of tapes, which must stay the same for as long as rollouts on them are open.
            sessions: the live sessions, whose bars are the tapes of their rollouts.
            instances: the instances of tasks, which rollouts of other splits are on.
            kept: largest number of drawn tapes in memory.
        """
        self._key = key
        self._instances = instances
        self._sessions = sessions
        # Threads of their own: a world takes seconds, for which no score and no step of another rollout should wait.
        self._threads = ThreadPoolExecutor(max(2, min(8, os.cpu_count() or 2)), thread_name_prefix="drawing")
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._most = kept
        self.on_dropped: Callable[[str], object] = lambda _: None
        """Called with the id of a rollout whose tape is no longer kept, though it may be asked for again."""
        self.asked: Callable[[str, HiddenTask], HiddenTask] | None = None
        """Puts the questions that a rollout (by its id) was asked in the place of its task's private rows."""
        self._kept: OrderedDict[str, asyncio.Future[HiddenTask]] = OrderedDict()
        self._parts: OrderedDict[tuple[str, QuestionRange], HiddenTask] = OrderedDict()

    def commitment(self, rollout_id: str) -> str:
        """Hex SHA-256 that commits to the seed of a rollout's tape without revealing it."""
        return sha256_of(b"openfingym.tape.commitment" + self._seed(rollout_id))

    async def of(self, rollout: Rollout) -> HiddenTask:
        """The task of a rollout, on its tape; or its instance.

        Raises:
            Problem: ``task-unavailable``: the task was rebuilt or removed since the rollout began.
            VerifierError: the tape cannot be drawn.
        """
        return await self.drawn(rollout.row, rollout.hidden_task())

    async def form_of(self, rollout: Rollout) -> HiddenTask:
        """The task of a rollout as far as the form of an answer goes, which an instance may change and a tape does not;
        raises what :meth:`of` does.
        """
        return rollout.hidden_task() if rollout.row.split == "test" else await self.of(rollout)

    async def drawn(self, row: RolloutRow, task: HiddenTask) -> HiddenTask:
        """The task of a rollout on its tape; the rollout need not have begun.

        Args:
            row: the rollout's row in the ledger.
            task: the task of the rollout, on the given tape.

        Raises:
            Problem: ``task-unavailable``: the key of tapes was replaced, or the task was rebuilt, since the rollout
                began.
            VerifierError: the tape cannot be drawn.
        """
        if row.split != "test":
            return await self._instances.of(row, task)
        if row.asked is not None:
            return self._part(task, row.asked)
        # Nothing is drawn: the rollout is on the package's own data, or its session goes on.
        if row.tape == "given" and row.questions is None and self._sessions.ended(row.id) is None:
            return task
        # The future is kept, not its result, so that requests that come together wait for one drawing.
        if row.id not in self._kept:
            self._kept[row.id] = asyncio.ensure_future(self._draw(row, task))
        drawing = self._kept[row.id]
        self._kept.move_to_end(row.id)
        try:
            # A caller that gives up must not cancel the drawing that others wait for.
            return await asyncio.shield(drawing)
        except Exception:
            # A failure is not kept: the next caller tries again.
            if self._kept.get(row.id) is drawing:
                del self._kept[row.id]
            raise
        finally:
            self._shrink()

    def drawn_here(self, row: RolloutRow, task: HiddenTask) -> HiddenTask:
        """The task of a rollout on its tape, drawn in this thread and not cached; arguments and errors as for
        :meth:`drawn`.
        """
        if row.split != "test":
            return self._instances.built_here(row, task)
        if row.asked is not None:
            return task.asking(row.asked)
        if row.session is not None:
            return self._sessions.task_on_session(row.id, task)
        if row.questions is not None:
            assert self.asked is not None, "whoever takes orders of questions knows what was asked"
            # First the tape, whose public rows they were asked with; then they take the place of its private rows.
            return self.asked(row.id, self.drawn_here(replace(row, questions=None), task))
        if row.tape == "given":
            return task
        # Another key would draw other data without a word; the commitment shows it.
        if row.tape_commitment != self.commitment(row.id):
            raise Problem(
                "task-unavailable",
                "The key of tapes was replaced since this rollout began; its hidden data is gone. Create a new "
                "rollout.",
            )
        return task.on(Tape(row.tape, int.from_bytes(self._seed(row.id))), f"{task.name}/{row.id}")

    def close(self) -> None:
        """Wait for what is being drawn."""
        self._threads.shutdown()

    async def _draw(self, row: RolloutRow, task: HiddenTask) -> HiddenTask:
        if row.principal in {LOCAL_USER, OPERATOR}:
            return await in_threads(self._threads, self.drawn_here, row, task)
        # One after the other for each participant: many worlds of one hold up nobody else's.
        async with self._turns[row.principal]:
            return await in_threads(self._threads, self.drawn_here, row, task)

    def forget(self, rollout_id: str) -> None:
        """Drop a tape whose rollout is over."""
        self._kept.pop(rollout_id, None)

    def _part(self, task: HiddenTask, asked: QuestionRange) -> HiddenTask:
        """A task with some of its questions alone; rollouts of the same range share what is computed for it."""
        key = (task.manifest.digest, asked)
        if key not in self._parts:
            self._parts[key] = task.asking(asked)
        self._parts.move_to_end(key)
        while len(self._parts) > self._most:
            self._parts.popitem(last=False)
        return self._parts[key]

    def _seed(self, rollout_id: str) -> bytes:
        return hmac.digest(self._key, b"openfingym.tape" + rollout_id.encode(), "sha256")

    def _shrink(self) -> None:
        """Drop the tapes that were used longest ago, but none that is being drawn: somebody waits for it."""
        done = [key for key, drawing in self._kept.items() if drawing.done()]
        for key in done[: max(0, len(self._kept) - self._most)]:
            del self._kept[key]
            self.on_dropped(key)
