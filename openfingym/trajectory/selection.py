"""Which rollouts are exported: filters, repeats, the best of each task, and tasks that are held out."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openfingym.errors import DataError, UsageError
from openfingym.held_out import HELD_OUT, kept_apart
from openfingym.trajectory.files import read_rollout
from openfingym.trajectory.record import RolloutRecord
from openfingym.trajectory.sft import to_messages

HELD_OUT_SETS = {"paper": HELD_OUT}
"""Names that stand for several tasks that are held out."""


@dataclass(frozen=True)
class ExportSelection:
    """Which rollouts are wanted; an empty filter lets all of them through."""

    states: tuple[str, ...] = ()
    """States in which a rollout ended, such as ``scored``."""
    tasks: tuple[str, ...] = ()
    """Names of tasks."""
    agents: tuple[str, ...] = ()
    """Names of agents, with their settings."""
    splits: tuple[str, ...] = ()
    """Splits: ``test``, ``train`` or ``validation``."""
    min_reward: float | None = None
    """Least reward of a rollout; one without a reward is left out. None for no such filter."""
    top_quantile: float | None = None
    """Share of each task's scored rollouts, the best ones, that is kept, and at least one; None for all."""
    distinct: bool = False
    """Whether only the first of equal conversations is kept."""

    def __post_init__(self) -> None:
        if self.top_quantile is not None and not 0.0 < self.top_quantile <= 1.0:
            raise UsageError(f"the top quantile is a share above 0 and up to 1, found {self.top_quantile}")

    def reason_against(self, rollout: RolloutRecord) -> str | None:
        """Why a rollout is not wanted, whatever others there are; None where it is wanted."""
        reward = rollout.score.reward
        for reason, wanted, value in (
            ("other state", self.states, rollout.score.state),
            ("other task", self.tasks, rollout.task),
            ("other agent", self.agents, rollout.agent),
            ("other split", self.splits, rollout.split),
        ):
            if wanted and value not in wanted:
                return reason
        if self.min_reward is not None and (reward is None or reward < self.min_reward):
            return "lower reward"
        if self.top_quantile is not None and rollout.score.state != "scored":
            return "not scored"
        return None


@dataclass
class Selected:
    """The rollouts of some files that a selection wants, one at a time, and counts of those that were left out.

    Attributes:
        paths: paths of the records.
        selection: which of the rollouts are wanted.
        believes: says of the path of a record and the record whether it may be taken for true.
        left_out: how many rollouts were left out, by reason; complete once the iteration is over.
        splits: how many rollouts were given, by split.
    """

    paths: Iterable[Path]
    selection: ExportSelection
    believes: Callable[[Path, RolloutRecord], bool] = lambda _path, _record: True
    left_out: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[RolloutRecord]:
        """The rollouts, one at a time.

        Raises:
            StoreError: a file is no trajectory.
        """
        wanted: Iterable[tuple[Path, RolloutRecord]] = self._wanted(self.paths)
        if self.selection.top_quantile is not None:
            # Only rewards are kept of a first reading: all rollouts of a run may not fit into memory.
            best = self._best(wanted, self.selection.top_quantile)
            wanted = ((path, read_rollout(path)) for path in best)
        for _, rollout in wanted:
            self.splits[rollout.split] += 1
            yield rollout

    def _wanted(self, paths: Iterable[Path]) -> Iterator[tuple[Path, RolloutRecord]]:
        """Rollouts that are wanted whatever others there are, each once."""
        seen, conversations = set(), set()
        for path in paths:
            rollout = read_rollout(path)
            reason = self.selection.reason_against(rollout)
            if reason is None and not self.believes(path, rollout):
                reason = "damaged"
            # The same rollout may be found in several folders, as where runs were copied together.
            if reason is None and rollout.id in seen:
                reason = "repeated"
            if reason is None and self.selection.distinct:
                digest = _digest(rollout)
                reason = "same conversation" if digest in conversations else None
                conversations.add(digest)
            if reason is None:
                seen.add(rollout.id)
                yield path, rollout
            else:
                self.left_out[reason] += 1

    def _best(self, rollouts: Iterable[tuple[Path, RolloutRecord]], share: float) -> list[Path]:
        """Files of the best rollouts of each task, in the order in which they came."""
        by_task: defaultdict[str, list[tuple[float, str, int, Path]]] = defaultdict(list)
        for index, (path, rollout) in enumerate(rollouts):
            reward = rollout.score.reward
            assert reward is not None, "what is scored has a reward"
            # Of equal rewards the order is by identifier, so that it does not depend on the order of files.
            by_task[rollout.task].append((-reward, rollout.id, index, path))
        best = []
        for ranked in by_task.values():
            wanted = math.ceil(share * len(ranked))
            best += sorted(ranked)[:wanted]
            self.left_out["below the quantile"] += len(ranked) - wanted
        return [path for *_, path in sorted(best, key=lambda entry: entry[2])]


def held_out_tasks(names: Iterable[str]) -> frozenset[str]:
    """Names of tasks on which nothing is trained: those that are named, and those that share data with them.

    Args:
        names: names of tasks, or of a set in :data:`HELD_OUT_SETS`.
    """
    return kept_apart(task for name in names for task in HELD_OUT_SETS.get(name, (name,)))


def _digest(rollout: RolloutRecord) -> str:
    """Digest of what can be learnt from a conversation; where that is nothing, the identifier, which no other has."""
    try:
        return str(to_messages(rollout)["digest"])
    except DataError:
        return rollout.id
