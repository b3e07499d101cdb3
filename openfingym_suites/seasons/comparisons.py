"""Comparisons of forecasters: each pair on the questions that both were asked, and ranks with ties."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.reports.statistics import holm
from openfingym_suites.seasons.clusters import RatioTest, estimate, ratio

if TYPE_CHECKING:
    from openfingym.reports.forecasts.columns import ForecasterId
    from openfingym_suites.seasons.columns import SeasonColumns
    from openfingym_suites.seasons.figures import SeasonRow

SIGNIFICANT = 0.05
"""Adjusted p value below which two forecasters differ."""
Verdict = Literal["better", "worse", "cannot be told apart", "too few weeks"]


@dataclass(frozen=True)
class SeasonPair:
    """Two forecasters compared on the questions that both were asked."""

    a: ForecasterId
    """The first forecaster."""
    b: ForecasterId
    """The second forecaster."""
    questions: int
    """How many questions both were asked."""
    weeks: int
    """Number of weeks that these questions are from."""
    difference: float
    """The accuracy of ``a`` less that of ``b``."""
    low: float | None
    """Lower end of the 95 % interval of the difference; None if there are too few weeks, or all questions agree."""
    high: float | None
    """Upper end of that interval; None if ``low`` is."""
    p_value: float | None
    """The p value of Student's test with the standard error of the interval; None if there are too few weeks."""
    p_holm: float | None
    """The p value adjusted by Holm's method for all pairs; None if ``p_value`` is."""
    verdict: Verdict
    """Whether ``a`` is better or worse than ``b``."""


@dataclass(frozen=True)
class SeasonRank:
    """The rank of a forecaster among those that took part in every round."""

    forecaster: ForecasterId
    """The forecaster."""
    rank: int | None
    """Rank, which a forecaster shares with the first of those that it cannot be told apart from; None if it left out
    whole rounds, and for all if there are too few rounds."""
    tied: bool
    """Whether others have the same rank."""


def pairs_of(season: SeasonColumns) -> list[SeasonPair]:
    """Compare every two forecasters that were asked a common question."""
    tests: list[tuple[int, int, np.ndarray, RatioTest]] = []
    for a, b in itertools.combinations(np.flatnonzero(season.judged.any(axis=1)).tolist(), 2):
        both = season.judged[a] & season.judged[b]
        if both.any():
            difference = season.right[a, both] - season.right[b, both]
            weeks, subjects = season.week_codes[both], season.subject_codes[both]
            test = ratio(difference, np.ones_like(difference), weeks, subjects)
            assert test is not None
            tests.append((a, b, both, test))
    p_values = [test.p_value for *_, test in tests]
    # Holm's method adjusts for the number of tests: a pair of too few weeks is no test.
    tested = [place for place, p in enumerate(p_values) if p is not None]
    holms = dict(zip(tested, holm([p_values[place] or 0.0 for place in tested]), strict=True))
    pairs = []
    for place, (a, b, both, test) in enumerate(tests):
        difference = season.right[a, both] - season.right[b, both]
        ends = estimate(
            difference,
            np.ones_like(difference),
            season.week_codes[both],
            season.subject_codes[both],
            bounds=(-1.0, 1.0),
        )
        adjusted = holms.get(place)
        verdict: Verdict = "too few weeks"
        if adjusted is not None:
            verdict = "cannot be told apart"
            if adjusted < SIGNIFICANT:
                verdict = "better" if test.value > 0.0 else "worse"
        pairs.append(
            SeasonPair(
                season.forecasters[a],
                season.forecasters[b],
                int(both.sum()),
                test.weeks,
                test.value,
                ends.low,
                ends.high,
                p_values[place],
                adjusted,
                verdict,
            )
        )
    return pairs


def ranks_of(season: SeasonColumns, rows: Sequence[SeasonRow], pairs: Sequence[SeasonPair]) -> list[SeasonRank]:
    """The order of forecasters by accuracy, with ranks.

    A forecaster that cannot be told apart from the first of a rank has that rank, too; the next one that can begins
    another rank. Forecasters that were not in every round come last, without a rank.
    """
    every = len(np.unique(season.week_codes[season.scored]))
    # Rounds differ in difficulty: who leaves out a hard one has a higher accuracy for it.
    whole = [row for row in rows if row.weeks == every]
    ordered = sorted(whole, key=lambda row: -(row.accuracy.value or 0.0))
    verdicts = {frozenset((pair.a, pair.b)): pair.verdict for pair in pairs}
    ranks: dict[ForecasterId, int] = {}
    leader: ForecasterId | None = None
    for row in ordered:
        who = row.forecaster
        verdict = "" if leader is None else verdicts.get(frozenset((leader, who)), "")
        # All pairs of ``whole`` are from the same weeks, so that none of them can be tested if one cannot.
        if verdict == "too few weeks":
            return [SeasonRank(row.forecaster, None, False) for row in _by_accuracy(rows, whole)]
        # Rows are in the order of accuracy: whichever of the two is ``a``, a difference means that this one is worse.
        if leader is None or verdict in {"better", "worse"}:
            leader = who
            ranks[who] = len(ranks) + 1
        else:
            ranks[who] = ranks[leader]
    given = list(ranks.values())
    return [
        SeasonRank(row.forecaster, ranks.get(row.forecaster), given.count(ranks.get(row.forecaster, 0)) > 1)
        for row in _by_accuracy(rows, whole)
    ]


def _by_accuracy(rows: Sequence[SeasonRow], whole: Sequence[SeasonRow]) -> list[SeasonRow]:
    """The rows by accuracy, highest first, but those that were in every round before the others."""
    in_every_round = {row.forecaster for row in whole}
    return sorted(rows, key=lambda row: (row.forecaster not in in_every_round, -(row.accuracy.value or 0.0)))
