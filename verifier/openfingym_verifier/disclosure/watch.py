"""Looks at finished rollouts, alone and, of a participant, all of its rollouts of a task together. Belongs to the event
loop.

Whoever could read the labels anyway, the local user and the operator, is looked at rollout by rollout.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds import kind_named
from openfingym_verifier.disclosure.foresight import best_recorded
from openfingym_verifier.disclosure.pools import Pool, flags_of_rollout
from openfingym_verifier.disclosure.probing import looks_like_probing
from openfingym_verifier.episodes.play import stored_values
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.scoring.truth import HiddenTask

logger = logging.getLogger(__name__)

UNEXAMINED = "unexamined"
"""Flag of a rollout on which the detectors failed."""
MAX_POOLS = 256
"""Pools in memory; others are made again from the ledger when needed."""
REBUILT = 64
"""Latest rollouts from which a pool is made again; its flags are those of all."""


@dataclass
class _LockedPool:
    """The pool of one participant's rollouts of one task, and its lock."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a rollout is added, since rollouts are added one after the other."""
    pool: Pool | None = None
    """The pool; None until it was made from the ledger."""


class ParticipantWatch:
    """The pools of one verifier's participants."""

    def __init__(self, ledger: Ledger, threads: Executor) -> None:
        self._ledger = ledger
        self._threads = threads
        self._pools: OrderedDict[tuple[str, str], _LockedPool] = OrderedDict()
        """By principal and digest of the task, the one used last at the end."""

    async def flags(
        self, row: RolloutRow, task: HiddenTask, values: NDArray[np.float64] | None, relative: float | None
    ) -> list[str]:
        """The flags that a rollout raises when it is finalized, beside the earlier ones of its participant.

        Args:
            row: the rollout's row in the ledger.
            task: the task of the rollout, on the rollout's tape.
            values: float64 of the task's submission shape, what is scored; None where nothing is.
            relative: the rollout's private relative total; None where it has none.

        Returns:
            ``foresight`` and ``probing``, sorted; ``unexamined`` where that could not be found out; or nothing.
        """
        if values is None:
            return []
        key = (row.principal, row.task_digest)
        locked = (
            _LockedPool(pool=Pool())
            if row.principal in {LOCAL_USER, OPERATOR}
            else self._pools.setdefault(key, _LockedPool())
        )
        async with locked.turn:
            try:
                flags = await in_threads(self._threads, self._add, locked, row, task, values, relative)
            except Exception:
                # Values that break the detectors would otherwise end as an error of ours, or unseen. The pool may have
                # got half of the rollout, and is made again from the ledger.
                logger.exception("rollout %s: it could not be examined", row.id)
                locked.pool, flags = None, [UNEXAMINED]
        if key in self._pools:
            self._pools.move_to_end(key)
            self._shrink()
        return flags

    def _add(
        self,
        locked: _LockedPool,
        row: RolloutRow,
        task: HiddenTask,
        values: NDArray[np.float64],
        relative: float | None,
    ) -> list[str]:
        """In a thread: look at a rollout by itself, and with the others of its pool."""
        if locked.pool is None:
            locked.pool = self._rebuilt(row, task)
        # What was played is written with its result; walks for practice are on record before.
        practised = task.walk is not None
        submissions = self._submissions(row.id, task) if practised or not task.sequential else []
        submissions += [values] if task.sequential else []
        # Two submissions make one move, and one concentrated move is no probing.
        if len(submissions) > 2 and looks_like_probing(_public_folds(task, submissions)):
            locked.pool.remember({"probing"})
        return flags_of_rollout(
            locked.pool, task.grader, submissions, relative, best_recorded(task.name, task.manifest.data_kind)
        )

    def _rebuilt(self, row: RolloutRow, task: HiddenTask) -> Pool:
        """The pool of a participant's earlier rollouts on the task's given tape, with every flag ever raised."""
        pool, flags = Pool(), set(self._ledger.flags_of(row.principal, row.task_digest))
        if row.tape == "given":
            for rollout_id in self._ledger.finished_of(row.principal, row.task_digest, REBUILT):
                if _is_whole(task, list(self._ledger.payloads(rollout_id))[-1:]):
                    flags_of_rollout(pool, task.grader, self._submissions(rollout_id, task))
        pool.remember(flags)
        return pool

    def _submissions(self, rollout_id: str, task: HiddenTask) -> list[NDArray[np.float64]]:
        return [stored_values(payload, task) for payload in self._ledger.payloads(rollout_id)]

    def _shrink(self) -> None:
        """Drop the pools that were used longest ago, but none to which a rollout is being added."""
        idle = [key for key, locked in self._pools.items() if not locked.turn.locked()]
        for key in idle[: max(0, len(self._pools) - MAX_POOLS)]:
            del self._pools[key]


def _is_whole(task: HiddenTask, last: Sequence[bytes]) -> bool:
    """Whether the last submission of a rollout answers every private window; a walk that was broken off was not
    examined when it ended either.
    """
    if task.walk is None:
        return True
    items = task.walk.items_of("private")
    return any(not np.isnan(np.frombuffer(payload, "<f8").reshape(task.shape)[items]).any() for payload in last)


def _public_folds(task: HiddenTask, submissions: Sequence[NDArray[np.float64]]) -> Iterator[NDArray[np.float64]]:
    """The parts of each submission that are compared with those of the other submissions of its rollout."""
    kind = kind_named(task.spec.contract)
    for values in submissions:
        compared = kind.compared(values[task.grader.public.rows])
        if compared is not None:
            yield compared
