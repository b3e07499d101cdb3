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

from openfingym.kinds import kind_named
from openfingym_verifier.finalize import stored_values
from openfingym_verifier.foresight import best_recorded
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.pooled import Pool, flags_of_rollout
from openfingym_verifier.probing import looks_like_probing
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    import numpy as np
    from numpy.typing import NDArray

    from openfingym_verifier.ledger import Ledger
    from openfingym_verifier.ledger_rows import RolloutRow
    from openfingym_verifier.truth import HiddenTask

logger = logging.getLogger(__name__)

UNEXAMINED = "unexamined"
"""Flag of a rollout on which the detectors failed."""
MAX_POOLS = 256
"""Pools in memory; others are made again from the ledger when needed."""
REBUILT = 64
"""Latest rollouts from which a pool is made again; its flags are those of all."""


@dataclass
class _Watched:
    """The pool of one participant's rollouts of one task, and its lock."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Rollouts are added one after the other."""
    pool: Pool | None = None
    """None until the ledger was read."""


class ParticipantWatch:
    """The pools of one verifier's participants."""

    def __init__(self, ledger: Ledger, threads: Executor) -> None:
        self._ledger = ledger
        self._threads = threads
        self._watched: OrderedDict[tuple[str, str], _Watched] = OrderedDict()

    async def flags(
        self, row: RolloutRow, task: HiddenTask, values: NDArray[np.float64] | None, relative: float | None
    ) -> list[str]:
        """The flags that a rollout raises when it is finalized, beside the earlier ones of its participant.

        Args:
            row: the rollout's row in the ledger.
            task: its task, on its tape.
            values: what is scored; None where nothing is.
            relative: its private relative total; None where it has none.

        Returns:
            ``foresight`` and ``probing``, sorted; ``unexamined`` where that could not be found out; or nothing.
        """
        if values is None:
            return []
        key = (row.principal, row.task_digest)
        watched = (
            _Watched(pool=Pool())
            if row.principal in {LOCAL_USER, OPERATOR}
            else self._watched.setdefault(key, _Watched())
        )
        async with watched.turn:
            try:
                found = await in_threads(self._threads, self._add, watched, row, task, values, relative)
            except Exception:
                # Values that break the detectors would otherwise end as an error of ours, or unseen.
                logger.exception("rollout %s: it could not be examined", row.id)
                watched.pool, found = None, [UNEXAMINED]
        if key in self._watched:
            self._watched.move_to_end(key)
            self._shrink()
        return found

    def _add(
        self, watched: _Watched, row: RolloutRow, task: HiddenTask, values: NDArray[np.float64], relative: float | None
    ) -> list[str]:
        if watched.pool is None:
            watched.pool = self._rebuilt(row, task)
        submissions = [values] if task.sequential else self._submissions(row.id, task)
        if len(submissions) > 2 and looks_like_probing(_public_folds(task, submissions)):
            watched.pool.remember({"probing"})
        return flags_of_rollout(
            watched.pool, task.grader, submissions, relative, best_recorded(task.name, task.manifest.data_kind)
        )

    def _rebuilt(self, row: RolloutRow, task: HiddenTask) -> Pool:
        """The pool of a participant's earlier rollouts on the task's given tape, with every flag ever raised."""
        pool, flags = Pool(), set(self._ledger.flags_of(row.principal, row.task_digest))
        if row.tape == "given":
            for rollout_id in self._ledger.finished_of(row.principal, row.task_digest, REBUILT):
                flags_of_rollout(pool, task.grader, self._submissions(rollout_id, task))
        pool.remember(flags)
        return pool

    def _submissions(self, rollout_id: str, task: HiddenTask) -> list[NDArray[np.float64]]:
        return [stored_values(payload, task) for payload in self._ledger.payloads(rollout_id)]

    def _shrink(self) -> None:
        idle = [key for key, watched in self._watched.items() if not watched.turn.locked()]
        for key in idle[: max(0, len(self._watched) - MAX_POOLS)]:
            del self._watched[key]


def _public_folds(task: HiddenTask, submissions: Sequence[NDArray[np.float64]]) -> Iterator[NDArray[np.float64]]:
    """The parts of each submission that are compared with those of the other submissions of its rollout."""
    kind = kind_named(task.spec.contract)
    for values in submissions:
        found = kind.compared(values[task.grader.public.rows])
        if found is not None:
            yield found
