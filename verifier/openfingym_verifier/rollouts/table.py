"""The rollouts that a verifier has in memory: those that are open, and the latest that are finished."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from openfingym_verifier.clock import now_ns
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.rollout import Rollout
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.policy import Policy
    from openfingym_verifier.scoring.truth import HiddenTask

MAX_KNOWN_FINISHED = 1024
"""Finished rollouts kept in memory; older ones are read from the ledger when asked for."""
MAX_KNOWN = 4 * MAX_KNOWN_FINISHED
"""Rollouts in memory beyond which those that nobody needs are let go."""
RETRY_S = 60.0
"""Seconds after which a principal with too many open rollouts may ask again."""


class RolloutTable:
    """Rollouts by id, one object each; the ledger has every one. Belongs to the event loop."""

    def __init__(self, ledger: Ledger, tasks: Mapping[str, HiddenTask], policy: Policy, threads: Executor) -> None:
        """Read the open rollouts from the ledger.

        Args:
            ledger: the ledger of the verifier.
            tasks: the tasks that the verifier holds, by name.
            policy: the verifier's policy, which bounds the open rollouts of a participant.
            threads: where the ledger is read.
        """
        self._ledger = ledger
        self._tasks = tasks
        self._policy = policy
        self._threads = threads
        self._rollouts: dict[str, Rollout] = {}
        self._beginning: Counter[str] = Counter()
        """Rollouts of each principal that are being created, and not in the table yet."""
        for rollout_id in ledger.open_rollouts(now_ns()):
            rollout = self._load(rollout_id)
            assert rollout is not None
            self._rollouts[rollout_id] = rollout

    def __iter__(self) -> Iterator[Rollout]:
        return iter(tuple(self._rollouts.values()))

    def known(self, rollout_id: str) -> Rollout | None:
        """A rollout that is in memory; None for any other."""
        return self._rollouts.get(rollout_id)

    async def find(self, rollout_id: str) -> Rollout:
        """A rollout, whether it is open or finished.

        Raises:
            Problem: ``not-found``: the ledger has no rollout of this id.
        """
        rollout = self._rollouts.get(rollout_id)
        if rollout is None:
            loaded = await in_threads(self._threads, self._load, rollout_id)
            if loaded is None:
                raise Problem("not-found", "There is no such rollout.")
            # Another request may have loaded it meanwhile; there must be one object a rollout.
            rollout = self._rollouts.setdefault(rollout_id, loaded)
        return rollout

    @contextlib.contextmanager
    def beginning(self, owner: str) -> Iterator[None]:
        """Count a rollout as open from before it exists: two that begin at once cannot both be the last.

        Raises:
            Problem: ``too-many-rollouts``: the principal has as many open as the policy allows.
        """
        self._require_room(owner)
        self._beginning[owner] += 1
        try:
            yield
        finally:
            self._beginning[owner] -= 1

    def add(self, row: RolloutRow) -> Rollout:
        """Take in a rollout that has just been written to the ledger."""
        rollout = self._rollouts[row.id] = Rollout.restore(row, [], self._tasks.get(row.task))
        return rollout

    def count_open(self) -> int:
        """Number of rollouts in memory without a result."""
        return sum(rollout.result is None for rollout in self._rollouts.values())

    def forget(self) -> None:
        """Drop old finished rollouts and expired ones from memory; the ledger has them all."""
        now = now_ns()
        finished = [key for key, rollout in self._rollouts.items() if rollout.result is not None][:-MAX_KNOWN_FINISHED]
        # Not one that somebody is using: a second object of the same rollout would have a budget of its own.
        expired = [
            key
            for key, rollout in self._rollouts.items()
            if rollout.result is None and rollout.row.expires_ns <= now and not rollout.turn.locked()
        ]
        for key in (*finished, *expired):
            del self._rollouts[key]

    def _require_room(self, owner: str) -> None:
        """Check that a principal may begin another rollout.

        Raises:
            Problem: ``too-many-rollouts``: the principal has as many open as the policy allows.
        """
        if len(self._rollouts) > MAX_KNOWN:
            self.forget()
        most = self._policy.open_rollouts
        if most is None or owner in {LOCAL_USER, OPERATOR}:
            return
        now = now_ns()
        # Open rollouts are all in memory, from the start of the verifier on, so that none is missed here.
        open_now = self._beginning[owner] + sum(
            rollout.row.principal == owner and rollout.result is None and rollout.row.expires_ns > now
            for rollout in self._rollouts.values()
        )
        if open_now >= most:
            detail = (
                f"{owner} has {open_now} open rollouts; finalize some, or let them expire. At most {most} may be open."
            )
            raise Problem("too-many-rollouts", detail, retry_after_s=RETRY_S)

    def _load(self, rollout_id: str) -> Rollout | None:
        stored = self._ledger.rollout(rollout_id)
        return None if stored is None else Rollout.restore(*stored, self._tasks.get(stored[0].task))
