"""Error analysis: for each track and level, the number of errors, their most frequent subtype and an example.

That is the paper's Table 19.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.seasons.reading import loss_of

if TYPE_CHECKING:
    from openfingym.reports.forecasts.columns import ForecasterId
    from openfingym_suites.seasons.columns import SeasonColumns

ORDER = ("non-recurrent corporate", "non-recurrent macro", "recurrent corporate", "recurrent macro")
"""Pairs of a track and a level, in the order of the paper's Table 19."""
WRONG_BELOW = 0.5
"""Share of correct attempts at a question below which a forecaster is wrong."""


@dataclass(frozen=True)
class MistakeExample:
    """A question that was answered wrongly."""

    question: str
    """The question's id."""
    text: str
    """The question in words."""
    unit: str
    """Unit of a number; empty for an event."""
    is_event: bool
    """Whether a probability is asked for, and not a number."""
    gold: float
    """The truth, 1 or 0 for an event."""
    forecast: float
    """The probability or the number that was forecast."""


@dataclass(frozen=True)
class MistakeGroup:
    """The errors of a forecaster in one track and level."""

    forecaster: ForecasterId
    """The forecaster."""
    quadrant: str
    """The track and the level."""
    tasks: int
    """How many scored questions it was asked."""
    errors: int
    """How many of them it got wrong, counting those that it did not answer."""
    missing: int
    """How many of them it did not answer."""
    subtype: str
    """The most frequent subtype of the errors, of equally frequent ones the first by name; empty without errors."""
    share: float
    """Share of the errors that are of this subtype, from 0 to 1."""
    example: MistakeExample | None
    """A typical error: of the answered ones of this subtype, that with the median loss; None if none is answered."""


def mistakes_of(season: SeasonColumns) -> list[MistakeGroup]:
    """The errors of every forecaster, by track and level."""
    groups = []
    present = set(season.values("quadrant"))
    quadrants = [*(quadrant for quadrant in ORDER if quadrant in present), *sorted(present - set(ORDER))]
    inside = {quadrant: season.where(quadrant=quadrant) for quadrant in quadrants}
    for line in np.flatnonzero(season.judged.any(axis=1)).tolist():
        for quadrant in quadrants:
            mine = season.judged[line] & inside[quadrant]
            if mine.any():
                groups.append(_group(season, line, quadrant, np.flatnonzero(mine).tolist()))
    return groups


def _group(season: SeasonColumns, line: int, quadrant: str, tasks: list[int]) -> MistakeGroup:
    """The errors of the forecaster in one row of the matrices, among the questions in these columns."""
    wrong = [place for place in tasks if season.right[line, place] < WRONG_BELOW]
    missing = sum(bool(np.isnan(season.correct[line, place])) for place in wrong)
    by_subtype: dict[str, list[int]] = defaultdict(list)
    for place in wrong:
        by_subtype[season.questions[place].subtype].append(place)
    subtype = min(by_subtype, key=lambda name: (-len(by_subtype[name]), name), default="")
    share = len(by_subtype[subtype]) / len(wrong) if wrong else 0.0
    example = _example(season, line, by_subtype[subtype])
    return MistakeGroup(season.forecasters[line], quadrant, len(tasks), len(wrong), missing, subtype, share, example)


def _example(season: SeasonColumns, line: int, places: list[int]) -> MistakeExample | None:
    """The answered question of median loss, of equal losses by the question's id; None if none is answered."""
    answered = [place for place in places if np.isfinite(season.correct[line, place])]
    if not answered:
        return None
    forecasts = {place: float(season.forecast[line, place]) for place in answered}
    # By the loss of the mean forecast, not the mean loss of the attempts: it is the mean forecast that is shown.
    answered.sort(key=lambda place: (loss_of(season.questions[place], forecasts[place]), season.questions[place].name))
    place = answered[(len(answered) - 1) // 2]
    asked = season.questions[place]
    return MistakeExample(asked.name, asked.text, asked.unit, asked.is_event, asked.truth, forecasts[place])
