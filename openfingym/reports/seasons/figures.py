"""What a season says of each forecaster: accuracy overall and by part, errors, skill, calibration, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.models.cutoffs import Standing, last_day, standing
from openfingym.reports.forecasts.calibration import Calibration, calibration
from openfingym.reports.seasons.clusters import NOTHING, ClusteredEstimate, estimate
from openfingym.reports.seasons.records import OPERATORS, MethodOf, SeasonRecords

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import ForecasterId
    from openfingym.reports.seasons.columns import SeasonColumns

    Flags = NDArray[np.bool_]

REFERENCES = ("naive", "seasonal", "consensus")
"""Agents of the operator's, by their names, that the others are compared with."""
NOT_ANSWERED = "not answered"
DIMENSIONS = ("quadrant", "track", "market", "week", "horizon", "subtype")
SHARE = (0.0, 1.0)


@dataclass(frozen=True)
class SeasonSkill:
    """A forecaster beside a reference forecaster, on the questions that the reference answered and both were asked."""

    reference: ForecasterId
    accuracy: ClusteredEstimate
    """Accuracy less that of the reference."""
    events: ClusteredEstimate
    """1 less the Brier score over that of the reference."""
    numbers: ClusteredEstimate
    """1 less the bounded error over that of the reference."""


@dataclass(frozen=True)
class SeasonCost:
    """What a forecaster's runs cost, as they were recorded."""

    questions: int
    """Questions that there are records of."""
    tokens: float | None
    """A question, as the next two; None where one try does not say."""
    usd: float | None
    seconds: float | None


@dataclass(frozen=True)
class Contamination:
    """Whether a model may have read what came of the questions."""

    cutoff: str
    """The last month or day that the model was trained on."""
    standing: Standing
    """Where it is against the season: before it, within it, or after it, when all of it may be remembered."""
    before: int
    """Questions whose deadline, until which nobody knew their truth, is before the end of that."""
    questions: int


@dataclass(frozen=True)
class SeasonRow:
    """A forecaster in a season. What it left out of a round that it took part in is wrong, and lost all."""

    forecaster: ForecasterId
    how: MethodOf
    weeks: int
    """Rounds with scored questions that it took part in."""
    asked: int
    """Scored questions of those."""
    answered: int
    missing: dict[str, int]
    """Questions of those that it did not answer, by what is on record of them, such as ``unparsed``, ``declined`` and
    ``error``; of what there is no record, ``not answered``."""
    accuracy: ClusteredEstimate
    accuracy_answered: float | None
    """Of what it answered alone."""
    brier: ClusteredEstimate
    """Mean (p - y)^2 of events."""
    bounded_error: ClusteredEstimate
    """Mean |f - y| / (|f| + |y|) of numbers."""
    median_error: float | None
    """Median of |f - y| / |y| of numbers, what is missing being beyond all; None where the median itself is."""
    skills: tuple[SeasonSkill, ...]
    calibration: Calibration | None
    cost: SeasonCost | None
    contamination: Contamination | None


@dataclass(frozen=True)
class SeasonSlice:
    """The accuracy of a forecaster on part of the questions."""

    dimension: str
    """One of :data:`DIMENSIONS`."""
    value: str
    forecaster: ForecasterId
    accuracy: ClusteredEstimate


def accuracy_of(season: SeasonColumns, line: int, where: Flags | None = None) -> ClusteredEstimate:
    """Accuracy of a forecaster, by its place, on some questions of those that it is judged by."""
    return _mean(season, season.right, line, season.judged[line] if where is None else season.judged[line] & where)


def _mean(season: SeasonColumns, values: NDArray[np.float64], line: int, where: Flags) -> ClusteredEstimate:
    part = values[line, where]
    return estimate(part, np.ones_like(part), season.week_codes[where], season.subject_codes[where], bounds=SHARE)


def rows_of(season: SeasonColumns, records: SeasonRecords) -> list[SeasonRow]:
    """Of each forecaster that took part in a round with scored questions, what the season says of it."""
    references = [
        (name, line)
        for name in REFERENCES
        for line, who in enumerate(season.forecasters)
        if who.agent == name and who.principal in OPERATORS and season.judged[line].any()
    ]
    return [_row(season, records, line, references) for line in np.flatnonzero(season.judged.any(axis=1)).tolist()]


def _row(season: SeasonColumns, records: SeasonRecords, line: int, references: list[tuple[str, int]]) -> SeasonRow:
    who, judged = season.forecasters[line], season.judged[line]
    answered = judged & np.isfinite(season.correct[line])
    found = records.of(who)
    states = {} if found is None else found.states
    lacking = [
        states.get(season.questions[place].name, NOT_ANSWERED) for place in np.flatnonzero(judged & ~answered).tolist()
    ]
    events, numbers = judged & season.events, judged & ~season.events
    how = records.method(who)
    return SeasonRow(
        forecaster=who,
        how=how,
        weeks=len(np.unique(season.week_codes[judged])),
        asked=int(judged.sum()),
        answered=int(answered.sum()),
        missing=dict(sorted(Counter(lacking).items(), key=lambda item: (-item[1], item[0]))),
        accuracy=accuracy_of(season, line),
        accuracy_answered=float(season.right[line, answered].mean()) if answered.any() else None,
        brier=_mean(season, season.lost, line, events),
        bounded_error=_mean(season, season.lost, line, numbers),
        median_error=_median_error(season, line, numbers),
        skills=tuple(_skill(season, line, other) for _, other in references if other != line),
        calibration=_calibration(season, line, answered & season.events),
        cost=None
        if found is None
        else SeasonCost(
            len(found.states), *(_over(one, len(found.states)) for one in (found.tokens, found.cost_usd, found.seconds))
        ),
        contamination=_contamination(season, how, judged),
    )


def _over(total: float | None, count: int) -> float | None:
    return None if total is None or not count else total / count


def _median_error(season: SeasonColumns, line: int, where: Flags) -> float | None:
    truth = np.abs(season.truth[where])
    apart = np.abs(season.said[line, where] - season.truth[where])
    # Of a truth of 0 only 0 is not infinitely far.
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(np.isnan(apart), np.inf, np.where(apart == 0.0, 0.0, apart / truth))
    if not len(errors):
        return None
    # The upper one of two: between a number and what is beyond all there is no middle.
    median = float(np.sort(errors)[len(errors) // 2])
    return median if np.isfinite(median) else None


def _skill(season: SeasonColumns, line: int, other: int) -> SeasonSkill:
    both = season.judged[line] & season.judged[other] & np.isfinite(season.correct[other])

    def less(where: Flags) -> ClusteredEstimate:
        weeks, subjects = season.week_codes[where], season.subject_codes[where]
        return estimate(season.lost[line, where], season.lost[other, where], weeks, subjects, lost=True)

    difference = season.right[line, both] - season.right[other, both]
    return SeasonSkill(
        season.forecasters[other],
        estimate(difference, np.ones_like(difference), season.week_codes[both], season.subject_codes[both])
        if both.any()
        else NOTHING,
        less(both & season.events),
        less(both & ~season.events),
    )


def _calibration(season: SeasonColumns, line: int, where: Flags) -> Calibration | None:
    if not where.any():
        return None
    return calibration(season.said[line, where], season.truth[where])


def _contamination(season: SeasonColumns, how: MethodOf, judged: Flags) -> Contamination | None:
    """None where truths are made up, which no model has read, or nothing is known of a model's cut-off."""
    places = np.flatnonzero(judged).tolist()
    if season.data_kind == "simulated" or how.cutoff is None or not places:
        return None
    asked = [season.questions[place] for place in places]
    days = [datetime.fromtimestamp(one.deadline_ns // 10**9, UTC).date() for one in asked]
    last = datetime.fromtimestamp(max(one.evaluation_ns for one in asked) // 10**9, UTC).date()
    end = last_day(how.cutoff)
    return Contamination(
        how.cutoff,
        standing(how.cutoff, min(days) + timedelta(days=1), last),
        sum(day <= end for day in days),
        len(asked),
    )


def slices_of(season: SeasonColumns) -> Iterator[SeasonSlice]:
    """The accuracy of every forecaster on each part of the questions."""
    lines = np.flatnonzero(season.judged.any(axis=1)).tolist()
    for dimension in DIMENSIONS:
        for value in season.values(dimension):
            where = season.where(**{dimension: value})
            for line in lines:
                if (season.judged[line] & where).any():
                    found = accuracy_of(season, line, where)
                    yield SeasonSlice(dimension, value, season.forecasters[line], found)
