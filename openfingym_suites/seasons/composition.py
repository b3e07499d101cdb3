"""What a season is made of, and what has become of its questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym_suites.seasons.columns import HORIZONS, SeasonQuestion

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.truth.verdicts import Agreement
    from openfingym_suites.seasons.columns import SeasonColumns

WAITING = ("pending", "resolvable", "resolved")
"""States of questions that are still to be scored."""


@dataclass(frozen=True)
class CompositionColumn:
    """The questions of one track and level: a column of the paper's Table 16."""

    quadrant: str
    """The track and the level."""
    subjects: int
    """How many companies, or for macro questions how many economies, are asked about."""
    subtypes: int
    """How many metrics, indicators or types of events are asked about."""
    horizons: tuple[str, ...]
    """The horizons of the questions, the shortest first."""
    per_week: float
    """Questions a round on average, over all rounds of the season."""
    questions: int
    """Number of questions."""
    happened: float | None
    """Share of the scored events that happened; None if there are none."""


@dataclass(frozen=True)
class WeekStates:
    """How many questions of a round are in each state."""

    week: str
    """ISO week of the round."""
    asked: int
    """Number of questions."""
    scored: int
    """Questions with a truth, by which forecasts are right or wrong."""
    pending: int
    """Questions that are not resolved yet, or resolved and not scored yet."""
    void: int
    """Questions that were made void."""
    recurrent: int
    """Scored questions about figures, which are harder to get right than events."""
    error: int
    """Questions whose provider gave something that is no truth, or whose truth decides nothing."""


def strata_of(season: SeasonColumns) -> list[CompositionColumn]:
    """The composition of a season by track and level, in the order of the paper's tables."""
    return [_stratum(season, quadrant) for quadrant in season.values("quadrant")]


def _stratum(season: SeasonColumns, quadrant: str) -> CompositionColumn:
    """The composition of the questions of one track and level."""
    questions = [question for question in season.questions if question.quadrant == quadrant]
    # The subject of a macro question is a series: the paper counts economies.
    macro = questions[0].level == "macro"
    events = [question.truth for question in questions if question.is_event and question.is_scored]
    return CompositionColumn(
        quadrant,
        len({question.market if macro else question.subject for question in questions}),
        len({question.subtype for question in questions}),
        tuple(horizon for horizon in HORIZONS if any(question.horizon == horizon for question in questions)),
        len(questions) / len(season.weeks),
        len(questions),
        sum(events) / len(events) if events else None,
    )


def markets_of(season: SeasonColumns) -> Mapping[tuple[str, str], int]:
    """Number of questions by quadrant and market."""
    return Counter((question.quadrant, question.market) for question in season.questions)


def states_of(season: SeasonColumns) -> list[WeekStates]:
    """How many questions of each round are in each state."""
    return [
        _states(week, [question for question in season.questions if question.week == week]) for week in season.weeks
    ]


def _states(week: str, asked: list[SeasonQuestion]) -> WeekStates:
    """How many questions of one round are in each state."""
    scored = sum(question.is_scored for question in asked)
    pending = sum(question.state in WAITING for question in asked)
    void = sum(question.state == "void" for question in asked)
    recurrent = sum(question.is_scored and question.track == "recurrent" for question in asked)
    # The rest: in state ``error``, or in state ``scored`` with a truth that decides nothing.
    return WeekStates(week, len(asked), scored, pending, void, recurrent, len(asked) - scored - pending - void)


def void_reasons(season: SeasonColumns) -> dict[str, int]:
    """Number of void questions by the reason why they are void, the most frequent reason first."""
    counts = Counter(question.reason or "no reason given" for question in season.questions if question.state == "void")
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def agreement_of(season: SeasonColumns) -> Agreement | None:
    """How far verdicts that were proposed from evidence agree with those decided; None if there are no proposals."""
    from openfingym_suites.findeepforecast.truth.verdicts import VerdictCase, agreement

    judged = [
        question for question in season.questions if question.is_event and question.is_scored and question.proposal
    ]
    if not judged:
        return None
    return agreement(
        VerdictCase(
            question.name,
            question.text,
            {"outcome": question.proposal},
            {},
            state="decided",
            outcome="YES" if question.truth else "NO",
        )
        for question in judged
    )
