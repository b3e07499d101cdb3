"""Rations: how much has been disclosed to each principal over its rollouts, and how much still may be.

Counts mirror the ledger's table of disclosures; they are made from it at start. Labels do not change with a season's
name, nor when a task is built again, so what was told before still counts. Of a tape that no other rollout has,
everything may be told, and nothing is counted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from openfingym_verifier.policy import LOCAL_USER, OPERATOR, POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openfingym.results import Disclosure
    from openfingym.task.episodes import FoldName
    from openfingym_verifier.ledger_rows import Disclosures, RolloutRow
    from openfingym_verifier.membership_events import Released


class Rations:
    """Counts what principals are told, and stops at the policy's bounds. Belongs to the event loop."""

    def __init__(self, disclosed: Iterable[Disclosures] = ()) -> None:
        """Go on from what was disclosed before, by the ledger."""
        self._disclosed: Counter[tuple[str, str, FoldName]] = Counter(
            {(entry.principal, entry.task, entry.fold): entry.count for entry in disclosed}
        )

    def take_public(self, row: RolloutRow) -> bool:
        """Whether one more submission of this rollout gets feedback; if so it is counted."""
        # By the policy under which the rollout began, whatever the verifier's is by now.
        return _free(row) or self._take(row, "public", POLICIES[row.policy].public_disclosures)

    def take_private(self, row: RolloutRow, *, scored: bool) -> Disclosure:
        """How much of this rollout's private result is told; a score that is told is counted."""
        limit = POLICIES[row.policy].private_disclosures
        if _free(row) or limit is None:
            return "full"
        # A rejection says nothing of the labels, and uses nothing up.
        return "rounded" if not scored or self._take(row, "private", limit) else "held"

    def release(self, released: Iterable[Released]) -> None:
        """Count the results that the close of a season discloses."""
        # Added to what is known here, not read from the ledger: results decided meanwhile are not yet in it.
        self._disclosed.update((result.principal, result.task, "private") for result in released)

    def _take(self, row: RolloutRow, fold: FoldName, limit: int | None) -> bool:
        """Count one disclosure, if the limit leaves one."""
        key = (row.principal, row.task, fold)
        if limit is not None and self._disclosed[key] >= limit:
            return False
        self._disclosed[key] += 1
        return True


def _free(row: RolloutRow) -> bool:
    """Whether nothing is rationed: the principal could read the labels, no other rollout has the same ones, or they are
    training data of the task.
    """
    return row.principal in {LOCAL_USER, OPERATOR} or row.tape != "given" or row.split != "test"
