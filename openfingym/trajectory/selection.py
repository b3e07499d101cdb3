"""Which rollouts are exported: filters, repeats, the best of each task, tasks that are held out."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openfingym.errors import DataError, UsageError
from openfingym.held_out import HELD_OUT, kept_apart
from openfingym.trajectory.files import read_rollout
from openfingym.trajectory.record import RolloutRecord
from openfingym.trajectory.sft import to_messages

HELD_OUT_SETS = {"paper": HELD_OUT}
"""Names that stand for several tasks."""


@dataclass(frozen=True)
class ExportSelection:
    """Which rollouts are wanted; an empty filter lets all through."""

    states: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    min_reward: float | None = None
    """Least reward of the record; what has none is left out."""
    top_quantile: float | None = None
    """Share of each task's scored rollouts that is kept, the best; at least one."""
    distinct: bool = False
    """Whether of equal conversations only the first is kept."""

    def __post_init__(self) -> None:
        if self.top_quantile is not None and not 0.0 < self.top_quantile <= 1.0:
            raise UsageError(f"the top quantile is a share above 0 and up to 1, found {self.top_quantile}")

    def reason_against(self, rollout: RolloutRecord) -> str | None:
        """Why a rollout by itself is not wanted; None where it is."""
        reward = rollout.score.reward
        for reason, wanted, found in (
            ("other state", self.states, rollout.score.state),
            ("other task", self.tasks, rollout.task),
            ("other agent", self.agents, rollout.agent),
            ("other split", self.splits, rollout.split),
        ):
            if wanted and found not in wanted:
                return reason
        if self.min_reward is not None and (reward is None or reward < self.min_reward):
            return "lower reward"
        if self.top_quantile is not None and rollout.score.state != "scored":
            return "not scored"
        return None


@dataclass
class Selected:
    """The rollouts that a selection wants of some files, one at a time, and counts of those left out.

    Attributes:
        left_out: how many rollouts were left out, by reason; complete once all have been taken.
        splits: how many were given, by split.
    """

    paths: Iterable[Path]
    selection: ExportSelection
    left_out: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[RolloutRecord]:
        """The rollouts; with a quantile, every file is read twice, as nothing but rewards is kept of the first time.

        Raises:
            StoreError: a file is no trajectory.
        """
        found: Iterable[tuple[Path, RolloutRecord]] = self._wanted(self.paths)
        if self.selection.top_quantile is not None:
            best = self._best(found, self.selection.top_quantile)
            found = ((path, read_rollout(path)) for path in best)
        for _, rollout in found:
            self.splits[rollout.split] += 1
            yield rollout

    def _wanted(self, paths: Iterable[Path]) -> Iterator[tuple[Path, RolloutRecord]]:
        """Rollouts that are wanted by themselves, each once."""
        seen, said = set(), set()
        for path in paths:
            rollout = read_rollout(path)
            reason = "repeated" if rollout.id in seen else self.selection.reason_against(rollout)
            if reason is None and self.selection.distinct:
                digest = _digest(rollout)
                reason = "same conversation" if digest in said else None
                said.add(digest)
            if reason is None:
                seen.add(rollout.id)
                yield path, rollout
            else:
                self.left_out[reason] += 1

    def _best(self, found: Iterable[tuple[Path, RolloutRecord]], share: float) -> list[Path]:
        """Files of the best rollouts of each task, in the order in which they were found."""
        ranked: defaultdict[str, list[tuple[float, str, int, Path]]] = defaultdict(list)
        for index, (path, rollout) in enumerate(found):
            reward = rollout.score.reward
            assert reward is not None, "what is scored has a reward"
            ranked[rollout.task].append((-reward, rollout.id, index, path))
        kept = []
        for rollouts in ranked.values():
            wanted = math.ceil(share * len(rollouts))
            kept += sorted(rollouts)[:wanted]
            self.left_out["below the quantile"] += len(rollouts) - wanted
        return [path for *_, path in sorted(kept, key=lambda rollout: rollout[2])]


def held_out_tasks(names: Iterable[str]) -> frozenset[str]:
    """Tasks that are named, one by one or as a set of :data:`HELD_OUT_SETS`, and those that share data with them."""
    return kept_apart(task for name in names for task in HELD_OUT_SETS.get(name, (name,)))


def _digest(rollout: RolloutRecord) -> str:
    """Digest of what can be learnt from a conversation; of one that teaches nothing, what no other has."""
    try:
        return str(to_messages(rollout)["digest"])
    except DataError:
        return rollout.id
