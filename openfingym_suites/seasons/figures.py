"""The figures of each forecaster of a season: accuracy overall and by part, errors, skill, calibration and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.models.cutoffs import Standing, last_day, standing
from openfingym.reports.forecasts.calibration import Calibration, calibration
from openfingym.reports.forecasts.recorded import OPERATORS
from openfingym_suites.seasons.clusters import NOTHING, ClusteredEstimate, estimate
from openfingym_suites.seasons.records import AgentRecords, MethodOf, SeasonRecords

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import ForecasterId
    from openfingym.results import Isolation
    from openfingym_suites.seasons.columns import SeasonColumns

    Flags = NDArray[np.bool_]

REFERENCES = ("naive", "seasonal", "consensus")
"""Names of the operator's agents with which the others are compared."""
NOT_ANSWERED = "not answered"
"""State of a question that was not answered and of which there is no record."""
DIMENSIONS = ("quadrant", "track", "market", "week", "horizon", "subtype")
"""Fields of questions by which accuracy is broken down."""
SHARE = (0.0, 1.0)
"""The least and the greatest value of a share."""


@dataclass(frozen=True)
class SeasonSkill:
    """A forecaster beside a reference forecaster, on the questions that the reference answered and both were asked."""

    reference: ForecasterId
    """The reference forecaster."""
    accuracy: ClusteredEstimate
    """Accuracy less that of the reference."""
    events: ClusteredEstimate
    """1 less the Brier score over that of the reference."""
    numbers: ClusteredEstimate
    """1 less the bounded error over that of the reference."""


@dataclass(frozen=True)
class SeasonCost:
    """What a forecaster's runs cost on average, as they were recorded."""

    questions: int
    """How many questions have records."""
    tokens: float | None
    """Tokens a question; None if one try does not state them."""
    usd: float | None
    """US dollars a question; None if one try does not state them."""
    seconds: float | None
    """Seconds a question; None if one try does not state them."""


@dataclass(frozen=True)
class Contamination:
    """Whether a model may have read the truths of the questions in its training data."""

    cutoff: str
    """The last month or day of the model's training data."""
    standing: Standing
    """Whether the cut-off is before the season, within it, or after it, in which case all truths may be remembered."""
    before: int
    """Number of questions whose deadline, until which nobody knew their truth, is not after the cut-off."""
    questions: int
    """Number of scored questions that the forecaster was asked."""


@dataclass(frozen=True)
class SeasonRow:
    """A forecaster in a season.

    A question that it left out, in a round in which it took part, counts as wrong and has the largest loss, 1.
    """

    forecaster: ForecasterId
    """The forecaster."""
    how: MethodOf
    """Its method and its models."""
    isolation: Isolation | None
    """What of it ran in isolation, as whoever played the series states it; None where that is not known."""
    weeks: int
    """Number of rounds with scored questions in which it took part."""
    asked: int
    """Number of scored questions of these rounds."""
    answered: int
    """How many of them it answered."""
    missing: dict[str, int]
    """Number of those that it did not answer, by what is on record about them, such as ``unparsed``, ``declined`` and
    ``error``; ``not answered`` if there is no record."""
    accuracy: ClusteredEstimate
    """Share of the questions that it answered correctly."""
    accuracy_answered: float | None
    """Share of correct answers among the questions that it answered; None if it answered none."""
    brier: ClusteredEstimate
    """Mean (p - y)^2 of events."""
    bounded_error: ClusteredEstimate
    """Mean |f - y| / (|f| + |y|) of numbers."""
    median_error: float | None
    """Median of |f - y| / |y| of numbers, where a missing forecast has an infinite error; None if the median is
    infinite, or if no number was asked for."""
    skills: tuple[SeasonSkill, ...]
    """The forecaster beside each reference forecaster but itself."""
    calibration: Calibration | None
    """Calibration of its probabilities of events; None if it gave none."""
    cost: SeasonCost | None
    """What its runs cost; None if there are no records."""
    contamination: Contamination | None
    """What its model may have read; None if truths are made up, or if no cut-off is known."""


@dataclass(frozen=True)
class SeasonSlice:
    """The accuracy of a forecaster on part of the questions."""

    dimension: str
    """The field by which the part is taken, one of :data:`DIMENSIONS`."""
    value: str
    """The value of that field."""
    forecaster: ForecasterId
    """The forecaster."""
    accuracy: ClusteredEstimate
    """Its accuracy on the part."""


def accuracy_of(season: SeasonColumns, line: int, where: Flags | None = None) -> ClusteredEstimate:
    """The accuracy of a forecaster.

    Args:
        season: the questions and the forecasts.
        line: the forecaster's row in the matrices of the season.
        where: which questions to count of those by which it is judged, bool[questions]; None for all.
    """
    return _mean(season, season.right, line, season.judged[line] if where is None else season.judged[line] & where)


def _mean(season: SeasonColumns, values: NDArray[np.float64], line: int, where: Flags) -> ClusteredEstimate:
    """The mean of one row of a matrix over some questions, bool[questions]."""
    part = values[line, where]
    return estimate(part, np.ones_like(part), season.week_codes[where], season.subject_codes[where], bounds=SHARE)


def rows_of(season: SeasonColumns, records: SeasonRecords) -> list[SeasonRow]:
    """The figures of each forecaster that took part in a round with scored questions."""
    # Anybody may call an agent "naive": only the operator's are references.
    references = [
        (name, line)
        for name in REFERENCES
        for line, who in enumerate(season.forecasters)
        if who.agent == name and who.principal in OPERATORS and season.judged[line].any()
    ]
    return [_row(season, records, line, references) for line in np.flatnonzero(season.judged.any(axis=1)).tolist()]


def _row(season: SeasonColumns, records: SeasonRecords, line: int, references: list[tuple[str, int]]) -> SeasonRow:
    """The figures of the forecaster in one row of the matrices; references are names with such rows."""
    who, judged = season.forecasters[line], season.judged[line]
    answered = judged & np.isfinite(season.correct[line])
    known = records.of(who)
    states = {} if known is None else known.states
    lacking = [
        states.get(season.questions[place].name, NOT_ANSWERED) for place in np.flatnonzero(judged & ~answered).tolist()
    ]
    events, numbers = judged & season.events, judged & ~season.events
    how = records.method(who)
    return SeasonRow(
        forecaster=who,
        how=how,
        isolation=isolation_in(season, records, line),
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
        cost=None if known is None else _cost(known),
        contamination=_contamination(season, how, judged),
    )


def isolation_in(season: SeasonColumns, records: SeasonRecords, line: int) -> Isolation | None:
    """What of the forecaster in a row of the matrices ran in isolation; None where that is not known of a round."""
    asked = np.flatnonzero(season.took_part[line]).tolist()
    rounds = {season.questions[place].name.rsplit("/", 2)[0] for place in asked}
    return records.isolation.of(season.forecasters[line], rounds)


def _cost(records: AgentRecords) -> SeasonCost:
    """The mean cost of a question on record."""
    count = len(records.states)

    def mean(total: float | None) -> float | None:
        return None if total is None or not count else total / count

    return SeasonCost(count, mean(records.tokens), mean(records.cost_usd), mean(records.seconds))


def _median_error(season: SeasonColumns, line: int, where: Flags) -> float | None:
    """Median of |f - y| / |y| over some questions on numbers, bool[questions]; None if it is infinite, or of none."""
    truth = np.abs(season.truth[where])
    distance = np.abs(season.forecast[line, where] - season.truth[where])
    # If the truth is 0, every forecast but 0 has an infinite error, as a missing one has.
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(np.isnan(distance), np.inf, np.where(distance == 0.0, 0.0, distance / truth))
    if not len(errors):
        return None
    # The upper one of the two in the middle: their mean is infinite if one of them is.
    median = float(np.sort(errors)[len(errors) // 2])
    return median if np.isfinite(median) else None


def _skill(season: SeasonColumns, line: int, other: int) -> SeasonSkill:
    """A forecaster beside a reference forecaster, by their rows in the matrices."""
    # Only where the reference answered: with the loss of 1 of a missing forecast, it would make anybody look skilled.
    both = season.judged[line] & season.judged[other] & np.isfinite(season.correct[other])

    def skill(where: Flags) -> ClusteredEstimate:
        """1 less the ratio of the losses."""
        weeks, subjects = season.week_codes[where], season.subject_codes[where]
        return estimate(season.lost[line, where], season.lost[other, where], weeks, subjects, lost=True)

    difference = season.right[line, both] - season.right[other, both]
    return SeasonSkill(
        season.forecasters[other],
        estimate(difference, np.ones_like(difference), season.week_codes[both], season.subject_codes[both])
        if both.any()
        else NOTHING,
        skill(both & season.events),
        skill(both & ~season.events),
    )


def _calibration(season: SeasonColumns, line: int, where: Flags) -> Calibration | None:
    """Calibration of the probabilities of some events, bool[questions]; None if there are none."""
    if not where.any():
        return None
    return calibration(season.forecast[line, where], season.truth[where])


def _contamination(season: SeasonColumns, how: MethodOf, judged: Flags) -> Contamination | None:
    """What the forecaster's models may have read; None if truths are made up, or if no cut-off is known."""
    places = np.flatnonzero(judged).tolist()
    if season.data_kind == "simulated" or how.cutoff is None or not places:
        return None
    asked = [season.questions[place] for place in places]
    days = [datetime.fromtimestamp(question.deadline_ns // 10**9, UTC).date() for question in asked]
    last = datetime.fromtimestamp(max(question.evaluation_ns for question in asked) // 10**9, UTC).date()
    # A cut-off of a month means that the month is in the training data to its last day.
    end = last_day(how.cutoff)
    return Contamination(
        how.cutoff,
        # The first day whose events are asked about is that after the first deadline.
        standing(how.cutoff, min(days) + timedelta(days=1), last),
        sum(day <= end for day in days),
        len(asked),
    )


def slices_of(season: SeasonColumns) -> Iterator[SeasonSlice]:
    """The accuracy of every forecaster on each part of the questions by which it is judged."""
    lines = np.flatnonzero(season.judged.any(axis=1)).tolist()
    for dimension in DIMENSIONS:
        for value in season.values(dimension):
            where = season.where(**{dimension: value})
            for line in lines:
                if (season.judged[line] & where).any():
                    accuracy = accuracy_of(season, line, where)
                    yield SeasonSlice(dimension, value, season.forecasters[line], accuracy)
