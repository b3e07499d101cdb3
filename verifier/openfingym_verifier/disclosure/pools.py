"""Pools of a principal's rollouts of one task, watched for probing and foresight across rollouts.

A bound inside one rollout is no bound: labels can be read a few at a time, over hundreds of rollouts. So there is one
:class:`Pool` for each principal and task, to which every rollout is added when it is finalized. It holds a bounded
number of earlier submissions and nothing else, and is rebuilt after a restart by adding the stored payloads again, in
order.

Of the public fold every submission counts, since each had feedback; of the private fold only the last of a rollout,
which alone is scored on it. A pool that has raised a flag keeps it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from openfingym.kinds import SequentialKind, kind_named
from openfingym_verifier.disclosure.designs import FoldHistory
from openfingym_verifier.disclosure.foresight import BarGains, beyond_belief

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from openfingym.kinds import Fold
    from openfingym_verifier.scoring.truth import Grader

    Values = NDArray[np.float64]

_digests: WeakKeyDictionary[Grader, bytes] = WeakKeyDictionary()
"""Digest of the hidden data of each grader that was seen."""


@dataclass
class Pool:
    """The rollouts of one task by one principal, as far as they are remembered."""

    public: FoldHistory | None = None
    """What was submitted for the public fold; None before the first rollout, and for a kind with nothing to probe."""
    private: FoldHistory | None = None
    """What was scored on the private fold; None before the first rollout, and for a kind with nothing to probe."""
    timing: BarGains = field(default_factory=BarGains)
    """What accounts gained on the baseline's, of a task that is traded."""
    _tape: bytes = b""
    """Digest of the hidden data that the two histories are about."""
    _flags: set[str] = field(default_factory=set)

    def add(self, grader: Grader, submissions: Sequence[Values], relative: float | None, best: float | None) -> None:
        """Add a finished rollout.

        Args:
            grader: grader of the task, with the hidden data that this rollout was scored on.
            submissions: the accepted submissions in order, float64 of the task's submission shape; of a sequential
                task, the outcomes of its episodes alone.
            relative: the private relative total of the last submission; None where it has none.
            best: the best recorded relative total; see :func:`~openfingym_verifier.disclosure.foresight.best_recorded`.
        """
        if not submissions:
            return
        contract, rows = grader.spec.contract, grader.private.rows
        kind = kind_named(contract)
        tape = _digest(grader)
        # An account is judged by its timing alone.
        if kind.is_record:
            self.timing.add(tape, submissions[-1][rows], grader.baseline[rows])
            self._note("foresight", self.timing.suspicious)
            return
        if tape != self._tape:
            # Submissions about other hidden data are not answers to the same questions.
            self._tape, self.public, self.private = (
                tape,
                _history(grader, grader.public),
                _history(grader, grader.private),
            )
        watched = [(self.private, grader.private, submissions[-1:])]
        # What sequential tasks answer in public is practice, and each answer is for a bar of its own. The last
        # submission of a walk repeats the practice before it.
        if not isinstance(kind, SequentialKind):
            watched.append((self.public, grader.public, submissions[:-1] if kind.walks(contract) else submissions))
        for history, fold, answers in watched:
            if history is None:
                continue
            for values in answers:
                compared = kind.compared(values[fold.rows])
                if compared is not None:
                    history.add(compared)
            self._note("probing", history.flagged)
        self._note("foresight", relative is not None and beyond_belief(contract, relative, best))

    @property
    def flags(self) -> list[str]:
        """``foresight`` and ``probing``, as far as they were ever raised."""
        return sorted(self._flags)

    def remember(self, flags: Iterable[str]) -> None:
        """Set flags that were raised before, for a pool that is rebuilt."""
        self._flags.update(flags)

    def _note(self, flag: str, raised: bool) -> None:
        if raised:
            self._flags.add(flag)


def flags_of_rollout(
    pool: Pool, grader: Grader, submissions: Sequence[Values], relative: float | None = None, best: float | None = None
) -> list[str]:
    """Add a finished rollout to its principal's pool, and say what all of them look like by now; see
    :meth:`Pool.add`.
    """
    pool.add(grader, submissions, relative, best)
    return pool.flags


def _history(grader: Grader, fold: Fold) -> FoldHistory | None:
    """An empty history of a fold, which knows the baseline; None where answers are about no particular label."""
    kind = kind_named(grader.spec.contract)
    baseline = kind.compared(grader.baseline[fold.rows])
    if baseline is None:
        return None
    truth = fold.truth.arrays.get("y_true")
    # Without a truth of the same shape the baseline's own spread is the measure.
    error = (
        baseline - truth
        if isinstance(truth, np.ndarray) and truth.shape == baseline.shape
        else baseline - baseline.mean()
    )
    scale = float(np.sqrt(np.mean(error**2)))
    history = FoldHistory(scale, ranks=kind.ranks, structured=kind.structured)
    history.start(baseline)
    return history


def _digest(grader: Grader) -> bytes:
    """A digest of a rollout's hidden data, by which tapes are told apart; computed once for each grader."""
    known = _digests.get(grader)
    if known is not None:
        return known
    digest = hashlib.sha256(grader.baseline.tobytes())
    for fold in (grader.public, grader.private):
        for name in sorted(fold.truth.arrays):
            digest.update(np.ascontiguousarray(fold.truth.arrays[name]).tobytes())
    return _digests.setdefault(grader, digest.digest())
