"""Conflict groups: of two tasks of which one shows what the other hides, a participant enters one a season.

Which tasks a participant has entered is in the ledger, as its rollouts are; which conflict follows from the tasks that
the verifier holds (:mod:`openfingym.task.exposure`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openfingym.task.exposure import Conflict, conflicts, group_of
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from openfingym.results.result import TapePolicy
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.policy import Policy
    from openfingym_verifier.scoring.truth import HiddenTask


class ConflictGroups:
    """The conflict groups of a verifier's tasks, and who has entered which of them.

    Args:
        tasks: the verifier's tasks by name.
        ledger: the ledger with the rollouts of all participants.
        policy: the verifier's policy, which says whether a participant enters one task of a group.
        tapes: its policy of tapes; with given ones, what could be drawn anew is the same for all.
    """

    def __init__(self, tasks: Mapping[str, HiddenTask], ledger: Ledger, policy: Policy, tapes: TapePolicy) -> None:
        self._tasks = tasks
        self._ledger = ledger
        self._policy = policy
        self._tapes = tapes

    def bind(self, row: RolloutRow) -> bool:
        """Whether a rollout is one that conflict groups are for: a participant's, on a task as it is."""
        return self._policy.one_of_conflict and row.split == "test" and row.principal not in {LOCAL_USER, OPERATOR}

    def require(self, row: RolloutRow) -> None:
        """Return if the principal has entered no task in the rollout's season that conflicts with the rollout's.

        Blocks for the ledger and, the first time, for the data of the tasks.

        Raises:
            Problem: ``conflicting-task``: it has; the text names both, and what one shows and the other hides.
        """
        entered = self._ledger.entered(row.principal, row.season)
        for conflict in self._conflicts:
            others = set(conflict.tasks) - {row.task}
            if len(others) == 1 and (other := others.pop()) in entered:
                raise Problem(
                    "conflicting-task",
                    f"{row.task} and {other} are in one conflict group: one of the two shows what the other hides "
                    f"({conflict}). {row.principal} has entered {other} in the season {row.season}; enter {row.task} "
                    f"in another one. The group: {', '.join(group_of(row.task, self._conflicts))}.",
                )

    @functools.cached_property
    def _conflicts(self) -> list[Conflict]:
        given = self._tapes == "given"
        return conflicts({name: task.given_exposure if given else task.exposure for name, task in self._tasks.items()})
