"""Who is better: ranks with ties, and every pair with its interval, test and minimum detectable effect."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.significance import diebold_mariano
from openfingym.reports.forecasts.difficulty import Normal, adjusted, drawn
from openfingym.reports.forecasts.estimates import BlockEstimate, design, standard_error
from openfingym.reports.statistics import FEWEST_UNITS, holm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import ForecasterId

    Floats = NDArray[np.float64]

SIGNIFICANT = 0.05
REFUSED_SHARE = 0.05
"""Where a forecaster is in no block of more than this share of the replicates, or nothing connects the others, the rest
are no fair sample."""
Verdict = Literal["better", "worse", "no difference", "too few"]


@dataclass(frozen=True)
class ForecasterPair:
    """Forecaster ``a`` against ``b``, on the questions that both were asked."""

    a: ForecasterId
    b: ForecasterId
    questions: int
    blocks: int
    difference: float
    """Mean loss of a less that of b; negative where a is better."""
    low: float | None
    """95 % interval of a block bootstrap; None, as the next five, of too few blocks."""
    high: float | None
    detectable: float | None
    """Difference that such a comparison finds with a chance of 80 % at 5 %, before any adjustment."""
    statistic: float | None
    """Diebold and Mariano's, with the correction of Harvey, Leybourne and Newbold."""
    p_value: float | None
    p_holm: float | None
    """Adjusted by Holm's method for all pairs of the group."""
    verdict: Verdict


@dataclass(frozen=True)
class ForecasterStanding:
    """A forecaster's place among those that it is connected with by common questions."""

    forecaster: ForecasterId
    rank: int | None
    """Place of the first of those it is tied with; None of too few blocks."""
    tied: bool
    """Whether others have the same rank."""
    adjusted: BlockEstimate
    """What it would lose on all of their questions."""
    asked: int
    """Questions that it answered, and those that it left out in rounds it took part in."""


def pairs_of(
    names: Sequence[ForecasterId], equations: Normal, overlap: int, seed: int, level: float = SIGNIFICANT
) -> list[ForecasterPair]:
    """Compare every two forecasters that were asked a common question.

    The series of a pair is, for each block, its part in the mean difference of losses: T times the sum over the block's
    common questions over the number of all, so that every question counts the same and the mean is the difference.

    Args:
        names: the forecasters of the equations.
        equations: the normal equations of one component.
        overlap: blocks within which questions overlap, the horizon of the test.
        seed: seed of the bootstrap.
        level: adjusted p-values below it decide.
    """
    couples = [(a, b) for a, b in itertools.combinations(range(len(names)), 2) if equations.common[:, a, b].any()]
    series = []
    for a, b in couples:
        there = equations.common[:, a, b] > 0.0
        series.append((equations.difference[there, a, b], equations.common[there, a, b]))
    tests = [_test(part, whole, overlap) for part, whole in series]
    tested = [place for place, test in enumerate(tests) if test is not None]
    holms = dict(zip(tested, holm([tests[place][1] for place in tested]), strict=True))  # type: ignore[index]
    pairs = []
    for place, ((a, b), (part, whole), test) in enumerate(zip(couples, series, tests, strict=True)):
        difference = float(part.sum() / whole.sum())
        error = None if test is None else standard_error(part, whole, overlap, seed)
        half = None if error is None else error.reach * error.size
        adjusted_p = holms.get(place)
        verdict: Verdict = "too few"
        if adjusted_p is not None:
            verdict = "no difference" if adjusted_p >= level else "better" if difference < 0.0 else "worse"
        pairs.append(
            ForecasterPair(
                names[a],
                names[b],
                round(float(whole.sum())),
                len(whole),
                difference,
                None if half is None else difference - half,
                None if half is None else difference + half,
                None if error is None else error.detectable,
                None if test is None or not math.isfinite(test[0]) else test[0],
                None if test is None else test[1],
                adjusted_p,
                verdict,
            )
        )
    return pairs


def _test(part: Floats, whole: Floats, overlap: int) -> tuple[float, float] | None:
    """Statistic and p-value that a difference is 0; None of too few blocks."""
    blocks = len(whole)
    if design(blocks, overlap, 0) is None:
        return None
    shares = blocks * part / whole.sum()
    # What is the same but for rounding is the same.
    shares[np.abs(shares) < 1e-13] = 0.0
    try:
        found = diebold_mariano(shares, np.zeros(blocks), overlap, small_sample=True)
    except UsageError:
        # The same difference in every block, for which there is no t: each of those that do not overlap had an even
        # chance of either sign.
        return math.copysign(math.inf, float(shares.sum())), 2.0 ** (1 - blocks // overlap)
    return found.statistic, found.p_value


def standings_of(
    names: Sequence[ForecasterId], equations: Normal, pairs: Sequence[ForecasterPair], overlap: int, seed: int
) -> list[ForecasterStanding]:
    """The order of forecasters of one component, by their adjusted losses.

    Whoever cannot be told from the first of a rank has that rank too; the first who can begins the next, which counts
    those before. Forecasters of too few blocks have none, and come last.
    """
    losses = adjusted(drawn(equations, np.ones((1, len(equations.loss)))))[0]
    there = equations.common.diagonal(axis1=1, axis2=2)
    blocks, asked = (there > 0.0).sum(axis=0), there.sum(axis=0)
    intervals = _intervals(equations, losses, blocks, overlap, seed)
    able = design(len(equations.loss), overlap, seed) is not None
    decided = {(one.a, one.b) for one in pairs if one.verdict in {"better", "worse"}}
    ranks: dict[int, int] = {}
    leader = -1
    order = np.argsort(losses, kind="stable").tolist()
    for place in order:
        if able and blocks[place] >= FEWEST_UNITS:
            pair = (names[min(leader, place)], names[max(leader, place)]) if ranks else None
            if pair is None or pair in decided:
                leader = place
                ranks[place] = len(ranks) + 1
            else:
                ranks[place] = ranks[leader]
    shared = list(ranks.values())
    found = [
        ForecasterStanding(
            names[place],
            ranks.get(place),
            shared.count(ranks[place]) > 1 if place in ranks else False,
            intervals[place],
            round(float(asked[place])),
        )
        for place in order
    ]
    return sorted(found, key=lambda one: one.rank is None)


def _intervals(
    equations: Normal, losses: Floats, blocks: NDArray[np.intp], overlap: int, seed: int
) -> list[BlockEstimate]:
    """Adjusted losses with the intervals of fits to replicates."""
    resampling = design(len(equations.loss), overlap, seed)
    if resampling is None:
        return [BlockEstimate(float(loss), None, None, int(n)) for loss, n in zip(losses, blocks, strict=True)]
    found, counts = resampling
    replicates = adjusted(drawn(equations, counts))
    estimates = []
    for loss, values, n in zip(losses, replicates.T, blocks, strict=True):
        known = values[np.isfinite(values)]
        if n < FEWEST_UNITS or len(known) < (1.0 - REFUSED_SHARE) * len(values):
            estimates.append(BlockEstimate(float(loss), None, None, int(n)))
        else:
            half = found.reach * found.scale * float(known.std(ddof=1))
            estimates.append(BlockEstimate(float(loss), float(loss) - half, float(loss) + half, int(n)))
    return estimates
