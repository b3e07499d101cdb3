"""Who is better: every pair on the questions that both were asked, and ranks with ties."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.reports.seasons.clusters import RatioTest, estimate, ratio
from openfingym.reports.statistics import holm

if TYPE_CHECKING:
    from openfingym.reports.forecasts.columns import ForecasterId
    from openfingym.reports.seasons.columns import SeasonColumns
    from openfingym.reports.seasons.figures import SeasonRow

SIGNIFICANT = 0.05
Verdict = Literal["better", "worse", "cannot be told apart", "too few weeks"]


@dataclass(frozen=True)
class SeasonPair:
    """The accuracy of forecaster ``a`` less that of ``b``, on the questions that both were asked."""

    a: ForecasterId
    b: ForecasterId
    questions: int
    weeks: int
    difference: float
    low: float | None
    """95 % interval; None, as the next three, of too few weeks."""
    high: float | None
    p_value: float | None
    """Of Student's test with the standard error of the interval."""
    p_holm: float | None
    """Adjusted by Holm's method for all pairs."""
    verdict: Verdict
    """Of ``a``."""


@dataclass(frozen=True)
class SeasonRank:
    """A forecaster's place among those who took part in every round."""

    forecaster: ForecasterId
    rank: int | None
    """Place of the first of those that it cannot be told from; None of who left out whole rounds, and of too few."""
    tied: bool
    """Whether others have the same rank."""


def pairs_of(season: SeasonColumns) -> list[SeasonPair]:
    """Compare every two forecasters that were asked a common question."""
    found: list[tuple[int, int, np.ndarray, RatioTest]] = []
    for a, b in itertools.combinations(np.flatnonzero(season.judged.any(axis=1)).tolist(), 2):
        both = season.judged[a] & season.judged[b]
        if both.any():
            difference = season.right[a, both] - season.right[b, both]
            weeks, subjects = season.week_codes[both], season.subject_codes[both]
            test = ratio(difference, np.ones_like(difference), weeks, subjects)
            assert test is not None
            found.append((a, b, both, test))
    p_values = [test.p_value for *_, test in found]
    tested = [place for place, p in enumerate(p_values) if p is not None]
    holms = dict(zip(tested, holm([p_values[place] or 0.0 for place in tested]), strict=True))
    pairs = []
    for place, (a, b, both, test) in enumerate(found):
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
    """The order of forecasters by accuracy; who was not in every round comes last, and has no rank.

    Whoever cannot be told from the first of a rank has that rank too; the first who can begins the next.
    """
    every = len(np.unique(season.week_codes[season.scored]))
    whole = [row for row in rows if row.weeks == every]
    ordered = sorted(whole, key=lambda row: -(row.accuracy.value or 0.0))
    verdicts = {frozenset((pair.a, pair.b)): pair.verdict for pair in pairs}
    ranks: dict[ForecasterId, int] = {}
    leader: ForecasterId | None = None
    for row in ordered:
        who = row.forecaster
        verdict = "" if leader is None else verdicts.get(frozenset((leader, who)), "")
        if verdict == "too few weeks":
            return [SeasonRank(one.forecaster, None, False) for one in _by_accuracy(rows, whole)]
        if leader is None or verdict in {"better", "worse"}:
            leader = who
            ranks[who] = len(ranks) + 1
        else:
            ranks[who] = ranks[leader]
    shared = list(ranks.values())
    return [
        SeasonRank(one.forecaster, ranks.get(one.forecaster), shared.count(ranks.get(one.forecaster, 0)) > 1)
        for one in _by_accuracy(rows, whole)
    ]


def _by_accuracy(rows: Sequence[SeasonRow], whole: Sequence[SeasonRow]) -> list[SeasonRow]:
    there = {row.forecaster for row in whole}
    return sorted(rows, key=lambda row: (row.forecaster not in there, -(row.accuracy.value or 0.0)))
