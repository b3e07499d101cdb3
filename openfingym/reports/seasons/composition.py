"""What a season is made of, and what has become of its questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.reports.seasons.columns import HORIZONS, SeasonQuestion

if TYPE_CHECKING:
    from openfingym.reports.seasons.columns import SeasonColumns
    from openfingym.suites.findeepforecast.truth.verdicts import Agreement

WAITING = ("pending", "resolvable", "resolved")


@dataclass(frozen=True)
class CompositionColumn:
    """The questions of one track and level, as the columns of the paper's Table 16."""

    quadrant: str
    subjects: int
    """Companies, or of macro questions economies, that were asked about."""
    subtypes: int
    """Metrics, indicators or types of events that were asked about."""
    horizons: tuple[str, ...]
    per_week: float
    """Questions a round on average, over all rounds of the season."""
    questions: int
    happened: float | None
    """Share of events that happened, of those that are resolved; None of numbers."""


@dataclass(frozen=True)
class WeekStates:
    """What has become of the questions of a round."""

    week: str
    asked: int
    scored: int
    pending: int
    """Not yet resolved, or resolved and not yet scored."""
    void: int
    recurrent: int
    """Scored questions on figures, which are harder to get right than events are."""
    error: int
    """Whose provider says what is no truth, or whose truth decides nothing."""


def strata_of(season: SeasonColumns) -> list[CompositionColumn]:
    """The strata of a season, those of the paper first."""
    return [_stratum(season, quadrant) for quadrant in season.values("quadrant")]


def _stratum(season: SeasonColumns, quadrant: str) -> CompositionColumn:
    mine = [one for one in season.questions if one.quadrant == quadrant]
    macro = mine[0].level == "macro"
    events = [one.truth for one in mine if one.is_event and one.is_scored]
    return CompositionColumn(
        quadrant,
        len({one.market if macro else one.subject for one in mine}),
        len({one.subtype for one in mine}),
        tuple(one for one in HORIZONS if any(each.horizon == one for each in mine)),
        len(mine) / len(season.weeks),
        len(mine),
        sum(events) / len(events) if events else None,
    )


def markets_of(season: SeasonColumns) -> Mapping[tuple[str, str], int]:
    """Number of questions by quadrant and market."""
    return Counter((one.quadrant, one.market) for one in season.questions)


def states_of(season: SeasonColumns) -> list[WeekStates]:
    """What has become of the questions of each round."""
    return [_states(week, [one for one in season.questions if one.week == week]) for week in season.weeks]


def _states(week: str, asked: list[SeasonQuestion]) -> WeekStates:
    scored = sum(one.is_scored for one in asked)
    pending = sum(one.state in WAITING for one in asked)
    void = sum(one.state == "void" for one in asked)
    recurrent = sum(one.is_scored and one.track == "recurrent" for one in asked)
    return WeekStates(week, len(asked), scored, pending, void, recurrent, len(asked) - scored - pending - void)


def void_reasons(season: SeasonColumns) -> dict[str, int]:
    """Why questions are void, the most frequent reason first."""
    counts = Counter(one.reason or "no reason given" for one in season.questions if one.state == "void")
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def agreement_of(season: SeasonColumns) -> Agreement | None:
    """How far proposals from evidence agree with what was decided; None where there are no proposals."""
    from openfingym.suites.findeepforecast.truth.verdicts import VerdictCase, agreement

    judged = [one for one in season.questions if one.is_event and one.is_scored and one.proposal]
    if not judged:
        return None
    return agreement(
        VerdictCase(
            one.name, one.text, {"outcome": one.proposal}, {}, state="decided", outcome="YES" if one.truth else "NO"
        )
        for one in judged
    )
