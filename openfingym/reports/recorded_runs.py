"""Whether what the record of a run states may be believed: by the rule of reports, for whatever is exported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openfingym.reports.runs import DamagedRun, read_below
from openfingym.results import RolloutResult
from openfingym.results.run_folder import RESULT, TRAJECTORY
from openfingym.trajectory.record import RecordedScore

if TYPE_CHECKING:
    from openfingym.trajectory.record import RolloutRecord

SAME = ("task", "task_digest", "data_kind", "split", "instance", "seed", "agent", "model")
"""Fields that a record has from the result of its run."""


@dataclass
class BelievedRuns:
    """The runs of which some records are, with what is wrong with them.

    A record is part of a run's folder, and no receipt is about it. So it is as good as its run's result, which it must
    agree with; one without a result beside it, or in another folder, is taken as it is.

    Attributes:
        damaged: the records that were refused, in the order in which they were.
    """

    _results: dict[str, RolloutResult]
    _reasons: dict[Path, str]
    damaged: list[DamagedRun] = field(default_factory=list)

    @classmethod
    def below(cls, places: Iterable[Path]) -> Self:
        """The runs at or below some places: folders, or the files of records in them."""
        # Of a single file the folder is read alone, and what is below it is another run.
        files = {place.parent for place in places if place.is_file() and (place.parent / RESULT).is_file()}
        found = read_below([*(place for place in places if place.is_dir()), *sorted(files)])
        results = {result.rollout_id: result for result in found.results if result.rollout_id}
        return cls(results, {damaged.path.resolve(): damaged.reason for damaged in found.damaged})

    def believes(self, path: Path, record: RolloutRecord) -> bool:
        """Whether a record may be taken for true; if not, it is among :attr:`damaged` from now on.

        Args:
            path: path of the record, which has been read.
            record: what it states.
        """
        reason = self._reasons.get(path.parent.resolve()) or self._contradiction(path, record)
        if reason is not None:
            self.damaged.append(DamagedRun(path.parent, reason))
        return reason is None

    def _contradiction(self, path: Path, record: RolloutRecord) -> str | None:
        """What a record states otherwise than the result of its rollout; None if nothing, or if there is no result."""
        result = self._results.get(record.id)
        if result is None:
            beside = (path.parent / RESULT).is_file()
            return f"{path.parent}: {TRAJECTORY} is of {record.id}, and {RESULT} is not" if beside else None
        for name in SAME:
            stated, true = getattr(record, name), getattr(result, name)
            if stated != true:
                return f"{path.parent}: {TRAJECTORY} says {name} {stated}, and {RESULT} {true}: one was changed"
        # A record stays as it was written when a deferred result is settled, and then states less.
        if record.score.state != "deferred" and record.score != RecordedScore.from_result(result):
            return f"{path.parent}: {TRAJECTORY} states another score than {RESULT}: one was changed"
        return None
