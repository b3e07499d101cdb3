"""Rations: how much has been disclosed to each principal over its rollouts, and how much still may be.

Counts mirror the ledger's table of disclosures; they are made from it at start. Labels do not change with a season's
name or the task's, nor when a task is built again, so what was told before still counts. Of a tape that no other
rollout has, nothing is counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym_verifier.disclosure.ladder import Ladders
from openfingym_verifier.policy import LOCAL_USER, OPERATOR, POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openfingym.results.result import Disclosure
    from openfingym.task.episodes import FoldName
    from openfingym_verifier.disclosure.ladder import LadderAnswer
    from openfingym_verifier.ledger.rows import Disclosures, RolloutRow, SeasonRecord


@dataclass(frozen=True)
class Told:
    """What a principal is told of a private result when its rollout ends."""

    disclosure: Disclosure
    """How much of the result."""
    ladder: LadderAnswer | None = None
    """What the ladder of a disclosing season says of it; None where it says nothing."""


@dataclass(frozen=True)
class Released:
    """A result that was held and now is told."""

    rollout_id: str
    principal: str
    told_of: tuple[str, ...]
    """By what is counted that something was told of its hidden data."""
    counts: bool
    """Whether it tells of hidden data that other rollouts have as well."""


class Rations:
    """Counts what principals are told, and stops at the policy's bounds. Belongs to the event loop."""

    def __init__(
        self, seasons: Mapping[str, SeasonRecord], disclosed: Iterable[Disclosures] = (), ladders: Ladders | None = None
    ) -> None:
        """Go on from what was disclosed before, by the ledger.

        Args:
            seasons: the seasons as they are by now, by name.
            disclosed: how often each principal was told something.
            ladders: how far the ladders of folds were climbed; None where none was.
        """
        self._seasons = seasons
        self._disclosed: Counter[tuple[str, str, FoldName]] = Counter(
            {(entry.principal, entry.of, entry.fold): entry.count for entry in disclosed}
        )
        self.ladders = ladders or Ladders()

    def take_public(self, row: RolloutRow) -> bool:
        """Whether one more submission of this rollout gets feedback; if so it is counted."""
        # By the policy under which the rollout began, whatever the verifier's is by now. Of a public fold that no other
        # rollout has, everything may be told.
        free = _could_read_labels(row) or row.tape != "given"
        return free or self._take(row, "public", POLICIES[row.policy].public_disclosures)

    def take_private(self, row: RolloutRow, surely: float | None, *, read: bool) -> Told:
        """How much of this rollout's private result is told when it ends; what is told is counted.

        Args:
            row: the rollout.
            surely: the relative total that it has surely reached; None of a result without a score.
            read: whether the result follows from hidden data, and not from the absence of an answer alone.
        """
        limit = POLICIES[row.policy].private_disclosures
        if _could_read_labels(row) or limit is None:
            return Told("full")
        if not read:
            return Told("rounded")
        season = self._seasons[row.season]
        # Of hidden data of its own as well: who knew the scores of its rollouts would enter the luckiest.
        if season.kind == "sealed" or season.closed_ns is not None:
            return Told("held")
        if not row.shared:
            return Told("full")
        if self._told(row, "private") >= limit:
            return Told("held")
        answer = self.ladders.answer(row.told_of("private"), surely)
        if answer is not None:
            self._count(row.principal, row.told_of("private"), "private")
        return Told("held", answer)

    def release(self, released: Iterable[Released]) -> None:
        """Count the results that the close of a season discloses."""
        # Added to what is known here, not read from the ledger: results decided meanwhile are not yet in it.
        for result in released:
            if result.counts:
                self._count(result.principal, result.told_of, "private")
                self.ladders.count(result.told_of)

    def _take(self, row: RolloutRow, fold: FoldName, limit: int | None) -> bool:
        """Count one disclosure, if the limit leaves one."""
        if limit is not None and self._told(row, fold) >= limit:
            return False
        self._count(row.principal, row.told_of(fold), fold)
        return True

    def _told(self, row: RolloutRow, fold: FoldName) -> int:
        """How often the principal of a rollout was told something of a fold."""
        return max(self._disclosed[row.principal, name, fold] for name in row.told_of(fold))

    def _count(self, principal: str, told_of: Iterable[str], fold: FoldName) -> None:
        """Count that a principal was told something of a fold."""
        self._disclosed.update((principal, name, fold) for name in told_of)


def _could_read_labels(row: RolloutRow) -> bool:
    """Whether nothing is rationed: the principal could read the labels, or they are training data of the task."""
    return row.principal in {LOCAL_USER, OPERATOR} or row.split != "test"
