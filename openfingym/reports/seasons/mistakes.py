"""The error analysis: for each track and level, how much is wrong, of which subtype most, and an example (Table 19)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.reports.seasons.reading import loss_of

if TYPE_CHECKING:
    from openfingym.reports.forecasts.columns import ForecasterId
    from openfingym.reports.seasons.columns import SeasonColumns

ORDER = ("non-recurrent corporate", "non-recurrent macro", "recurrent corporate", "recurrent macro")
"""As in the paper's Table 19."""
WRONG_BELOW = 0.5
"""Of several attempts, less than half of which are right, the forecaster is wrong."""


@dataclass(frozen=True)
class MistakeExample:
    """A question that was answered wrongly."""

    question: str
    """Its id."""
    text: str
    unit: str
    is_event: bool
    gold: float
    forecast: float


@dataclass(frozen=True)
class MistakeGroup:
    """The errors of a forecaster in one track and level."""

    forecaster: ForecasterId
    quadrant: str
    tasks: int
    errors: int
    """With what is missing."""
    missing: int
    subtype: str
    """The most frequent among the errors; of several, the first by name. Empty where there is no error."""
    share: float
    """Of the errors that are of this subtype."""
    example: MistakeExample | None
    """The answered error of this subtype that lost the median of what such errors lost; None where none is answered."""


def mistakes_of(season: SeasonColumns) -> list[MistakeGroup]:
    """The errors of every forecaster, by track and level."""
    found = []
    present = set(season.values("quadrant"))
    quadrants = [*(one for one in ORDER if one in present), *sorted(present - set(ORDER))]
    inside = {quadrant: season.where(quadrant=quadrant) for quadrant in quadrants}
    for line in np.flatnonzero(season.judged.any(axis=1)).tolist():
        for quadrant in quadrants:
            mine = season.judged[line] & inside[quadrant]
            if mine.any():
                found.append(_group(season, line, quadrant, np.flatnonzero(mine).tolist()))
    return found


def _group(season: SeasonColumns, line: int, quadrant: str, tasks: list[int]) -> MistakeGroup:
    wrong = [place for place in tasks if season.right[line, place] < WRONG_BELOW]
    missing = sum(bool(np.isnan(season.correct[line, place])) for place in wrong)
    by_subtype: dict[str, list[int]] = defaultdict(list)
    for place in wrong:
        by_subtype[season.questions[place].subtype].append(place)
    subtype = min(by_subtype, key=lambda one: (-len(by_subtype[one]), one), default="")
    share = len(by_subtype[subtype]) / len(wrong) if wrong else 0.0
    example = _example(season, line, by_subtype[subtype])
    return MistakeGroup(season.forecasters[line], quadrant, len(tasks), len(wrong), missing, subtype, share, example)


def _example(season: SeasonColumns, line: int, places: list[int]) -> MistakeExample | None:
    answered = [place for place in places if np.isfinite(season.correct[line, place])]
    if not answered:
        return None
    said = {place: float(season.said[line, place]) for place in answered}
    answered.sort(key=lambda place: (loss_of(season.questions[place], said[place]), season.questions[place].name))
    place = answered[(len(answered) - 1) // 2]
    asked = season.questions[place]
    return MistakeExample(asked.name, asked.text, asked.unit, asked.is_event, asked.truth, said[place])
