"""The ladder of a disclosing season: what all parties together are told of a fold before the season is closed.

There is one ladder for each fold, whoever climbs it and in whichever season. It begins at the baseline; a result that
is surely better than the ladder's top by a whole step raises it, and is told the rung. *Surely* is beyond the sampling
error, for as many answers as a ladder has: where hidden items are few, such as five episodes of trading, a blind answer
is often better by a step. A result that is replayed or has a flag raises nothing. Of any result that raises nothing is
told just that, and not where it stands: a grid of its own would be a question of one bit that each of a thousand
parties could ask at its edge. After so many answers the ladder tells nothing more.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from openfingym_verifier.policy import LADDER_ANSWERS, LADDER_LUCK, LADDER_STEP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from openfingym.metrics.sampling_error import SamplingError
    from openfingym_verifier.ledger.rows import Climbed

BASELINE = 1.0
"""Where a ladder begins: the relative total of the baseline."""
RUNGS = round(BASELINE / LADDER_STEP)
"""How many rungs a ladder has."""


@dataclass(frozen=True)
class LadderAnswer:
    """What a ladder says of one result."""

    rung: float | None
    """The rung that the result has raised the ladder to, as a relative total; None where it does not raise it."""
    top: float
    """The top of the ladder after the result."""
    answers: int
    """How many results the ladder has answered, this one included."""
    most: int = LADDER_ANSWERS
    """How many it answers in all."""

    def to_dict(self) -> dict[str, object]:
        """Plain values, as results state them."""
        return asdict(self)


def worst_case_bits() -> float:
    """How many bits a ladder tells of its fold at most, in all its answers to all parties together.

    Of the answers some raise the ladder, to some of its rungs in order, and the others do not.
    """
    return math.log2(math.comb(LADDER_ANSWERS + RUNGS, RUNGS))


class Ladders:
    """The ladders of one verifier's folds, as the ledger has them. Belongs to the event loop.

    A fold is known by several names (:meth:`~openfingym_verifier.ledger.rows.RolloutRow.told_of`), and what was told
    under any of them counts.
    """

    def __init__(self, climbed: Iterable[Climbed] = ()) -> None:
        """Go on from how far each ladder was climbed before, by the ledger."""
        self._tops: dict[str, float] = {}
        self._answers: dict[str, int] = {}
        for ladder in climbed:
            self._answers[ladder.of] = ladder.told
            if ladder.top is not None:
                self._tops[ladder.of] = ladder.top

    def top(self, fold: Iterable[str]) -> float:
        """The top of a fold's ladder."""
        return min(self._tops.get(name, BASELINE) for name in fold)

    def answers(self, fold: Iterable[str]) -> int:
        """How many results have been told of a fold."""
        return max(self._answers.get(name, 0) for name in fold)

    def answer(self, fold: Collection[str], surely: float | None) -> LadderAnswer | None:
        """What is told of a result, which then is counted; None where the ladder tells nothing more.

        Args:
            fold: the names by which the fold is known.
            surely: the relative total that the result has surely reached; None of one without, which raises no ladder.
        """
        if self.answers(fold) >= LADDER_ANSWERS:
            return None
        self.count(fold)
        rung = rung_of(surely)
        before = self.top(fold)
        top = min(before, rung)
        self._tops |= dict.fromkeys(fold, top)
        return LadderAnswer(rung if rung < before else None, top, self.answers(fold))

    def count(self, fold: Iterable[str]) -> None:
        """Count a result of a fold that was told in any way."""
        for name in fold:
            self._answers[name] = self._answers.get(name, 0) + 1


def surely_reached(relative: float, error: SamplingError) -> float | None:
    """The relative total that a result has reached beyond chance: the upper end of its interval, at the level by which
    in all answers of a ladder together chance raises it once in a hundred ladders; None where nothing is known of the
    error.
    """
    from openfingym.reports.statistics import quantile

    sample = error.relative_sample
    if sample is None or error.relative_standard_error is None:
        return None
    reach = quantile(sample.freedom, 1.0 - LADDER_LUCK / LADDER_ANSWERS)
    return relative * math.exp(min(reach * error.relative_standard_error, 700.0))


def rung_of(relative: float | None) -> float:
    """The rung that a relative total has reached, never worse than the baseline."""
    if relative is None or not relative < BASELINE:
        return BASELINE
    # With a tolerance, so that a total that is a rung stands on it, whatever its last bit.
    steps = math.floor((BASELINE - relative) / LADDER_STEP + 1e-9)
    return round(BASELINE - steps * LADDER_STEP, 9)
