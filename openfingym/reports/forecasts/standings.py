"""The order of forecasters: ranks with ties, and every pair with its interval, test and minimum detectable effect."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.significance import HORIZONS_NEEDED, diebold_mariano
from openfingym.reports.forecasts.difficulty import NormalEquations, adjusted, drawn
from openfingym.reports.forecasts.estimates import BlockEstimate, design, standard_error
from openfingym.reports.statistics import FEWEST_UNITS, holm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import ForecasterId

    Floats = NDArray[np.float64]

SIGNIFICANT = 0.05
"""Adjusted p-value below which a difference is significant."""
REFUSED_SHARE = 0.05
"""Largest share of replicates that may lack a forecaster's loss, since none of its blocks is in them or the others are
not connected: the rest would be no fair sample of replicates."""
Verdict = Literal["better", "worse", "no difference", "too few"]


@dataclass(frozen=True)
class ForecasterPair:
    """The comparison of forecaster ``a`` with ``b``, on the questions that both were asked."""

    a: ForecasterId
    """The first forecaster."""
    b: ForecasterId
    """The second forecaster."""
    questions: int
    """How many questions both were asked."""
    blocks: int
    """How many blocks have such questions."""
    difference: float
    """Mean loss of a minus that of b; negative if a is better."""
    low: float | None
    """Lower end of the 95 % interval of a block bootstrap; None with too few blocks."""
    high: float | None
    """Upper end of the interval; None with too few blocks."""
    detectable: float | None
    """Difference that such a comparison finds with a chance of 80 % at a level of 5 %, before any adjustment; None with
    too few blocks."""
    statistic: float | None
    """Statistic of the test of Diebold and Mariano, with a long-run variance from cosine transforms; None with too
    few blocks, or if it is infinite."""
    p_value: float | None
    """p-value of the test; None with too few blocks."""
    p_holm: float | None
    """p-value adjusted by Holm's method for all pairs of the group; None with too few blocks."""
    verdict: Verdict
    """Whether a is better than b."""


@dataclass(frozen=True)
class ForecasterStanding:
    """The standing of a forecaster among those that common questions connect it with."""

    forecaster: ForecasterId
    """The forecaster."""
    rank: int | None
    """Rank of the first of those that it is tied with; None with too few blocks."""
    tied: bool
    """Whether others have the same rank."""
    adjusted: BlockEstimate
    """The mean loss that it would have on all questions of the group."""
    asked: int
    """How many questions it answered, or left out in rounds in which it took part."""


def pairs_of(
    names: Sequence[ForecasterId], equations: NormalEquations, overlap: int, seed: int, level: float = SIGNIFICANT
) -> list[ForecasterPair]:
    """Compare every two forecasters that were asked a common question.

    The series of a pair is, for each block, its part in the mean difference of losses: T times the sum over the block's
    common questions over the number of all, so that every question counts the same and the mean is the difference.

    Args:
        names: the forecasters of the equations, in order.
        equations: the normal equations of one group of connected forecasters.
        overlap: number of neighbouring blocks whose questions overlap, the horizon of the test.
        seed: seed of the bootstrap.
        level: adjusted p-value below which a difference is significant.
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
    """Test that the difference of two forecasters is 0.

    Args:
        part: sum of the differences of loss in each block, float64[blocks].
        whole: number of common questions in each block, float64[blocks].
        overlap: number of neighbouring blocks whose questions overlap.

    Returns:
        Statistic and p-value; None with too few blocks.
    """
    blocks = len(whole)
    if design(blocks, overlap, 0) is None or (overlap > 1 and blocks < HORIZONS_NEEDED * overlap):
        return None
    shares = blocks * part / whole.sum()
    # Losses that are equal but for rounding are equal: rounding must not decide a test.
    shares[np.abs(shares) < 1e-13] = 0.0
    try:
        test = diebold_mariano(shares, np.zeros(blocks), overlap)
    except UsageError:
        # The difference is the same in every block, so that there is no t. A sign test remains: under the hypothesis,
        # each of the blocks that do not overlap has either sign with an even chance.
        return math.copysign(math.inf, float(shares.sum())), 2.0 ** (1 - blocks // overlap)
    return test.statistic, test.p_value


def standings_of(
    names: Sequence[ForecasterId], equations: NormalEquations, pairs: Sequence[ForecasterPair], overlap: int, seed: int
) -> list[ForecasterStanding]:
    """Rank the forecasters of one group by their adjusted losses.

    A forecaster that is not significantly different from the first of a rank shares that rank; the first that is begins
    the next rank, whose number counts all before. Forecasters with too few blocks have no rank, and come last.

    Args:
        names: the forecasters of the equations, in order.
        equations: the normal equations of one group of connected forecasters.
        pairs: the comparisons of every two of them.
        overlap: number of neighbouring blocks whose questions overlap.
        seed: seed of the bootstrap.
    """
    # All blocks once, which is no resampling.
    losses = adjusted(drawn(equations, np.ones((1, len(equations.loss)))))[0]
    there = equations.common.diagonal(axis1=1, axis2=2)
    blocks, asked = (there > 0.0).sum(axis=0), there.sum(axis=0)
    intervals = _intervals(equations, losses, blocks, overlap, seed)
    enough = design(len(equations.loss), overlap, seed) is not None
    decided = {(pair.a, pair.b) for pair in pairs if pair.verdict in {"better", "worse"}}
    ranks: dict[int, int] = {}
    leader = -1
    order = np.argsort(losses, kind="stable").tolist()
    for place in order:
        if enough and blocks[place] >= FEWEST_UNITS:
            pair = (names[min(leader, place)], names[max(leader, place)]) if ranks else None
            if pair is None or pair in decided:
                leader = place
                ranks[place] = len(ranks) + 1
            else:
                ranks[place] = ranks[leader]
    shared = list(ranks.values())
    standings = [
        ForecasterStanding(
            names[place],
            ranks.get(place),
            shared.count(ranks[place]) > 1 if place in ranks else False,
            intervals[place],
            round(float(asked[place])),
        )
        for place in order
    ]
    return sorted(standings, key=lambda standing: standing.rank is None)


def _intervals(
    equations: NormalEquations, losses: Floats, blocks: NDArray[np.intp], overlap: int, seed: int
) -> list[BlockEstimate]:
    """Adjusted losses with the intervals of fits to bootstrap replicates."""
    designed = design(len(equations.loss), overlap, seed)
    if designed is None:
        return [BlockEstimate(float(loss), None, None, int(n)) for loss, n in zip(losses, blocks, strict=True)]
    resampling, counts = designed
    replicates = adjusted(drawn(equations, counts))
    estimates = []
    for loss, values, n in zip(losses, replicates.T, blocks, strict=True):
        known = values[np.isfinite(values)]
        if n < FEWEST_UNITS or len(known) < (1.0 - REFUSED_SHARE) * len(values):
            estimates.append(BlockEstimate(float(loss), None, None, int(n)))
        else:
            half = resampling.reach * resampling.scale * float(known.std(ddof=1))
            estimates.append(BlockEstimate(float(loss), float(loss) - half, float(loss) + half, int(n)))
    return estimates
