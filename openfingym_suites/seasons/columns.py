"""A season as its ledger has it: the questions, and each forecaster's forecast of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.forecasts.columns import ForecasterId

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Places = NDArray[np.intp]

QUADRANTS = ("recurrent macro", "recurrent corporate", "non-recurrent macro", "non-recurrent corporate")
"""Pairs of a track and a level, in the order of the paper's tables 16 and 17."""
HORIZONS = ("week", "month", "quarter")
"""Horizons of questions, the shortest first."""


@dataclass(frozen=True)
class SeasonQuestion:
    """A question of a season, with its truth if that is known."""

    name: str
    """The question's id."""
    text: str
    """The question in words."""
    track: str
    """``recurrent`` or ``non-recurrent``."""
    level: str
    """``corporate`` or ``macro``."""
    market: str
    """The economy that it is about."""
    horizon: str
    """``week``, ``month`` or ``quarter``."""
    subtype: str
    """The indicator, the metric or the type of the event that is asked about."""
    subject: str
    """The company, series or economy that it is about; the outcomes of questions on one subject are correlated."""
    week: str
    """ISO week of the round, such as ``2025-W44``."""
    is_event: bool
    """Whether a probability is asked for, and not a number."""
    unit: str
    """Unit of a number; empty for an event."""
    vault: str
    """Name of the vault from which it was made, with the digest; empty if it states none."""
    generated_ns: int
    """When it was generated, in nanoseconds since the epoch."""
    deadline_ns: int
    """Deadline of the answers, in nanoseconds since the epoch."""
    evaluation_ns: int
    """Evaluation time, in nanoseconds since the epoch."""
    state: str
    """State in the ledger: ``pending``, ``resolvable``, ``resolved``, ``scored``, ``void`` or ``error``."""
    reason: str
    """Why it is in this state; empty if there is nothing to say."""
    truth: float
    """The truth, 1 or 0 for an event; NaN if it is not known, or if it decides nothing."""
    proposal: str
    """The verdict that was proposed from evidence before there was one: ``YES``, ``NO``, or that the evidence was not
    enough; empty if nothing was proposed."""

    @property
    def quadrant(self) -> str:
        """Track and level, such as one of :data:`QUADRANTS`."""
        return f"{self.track} {self.level}"

    @property
    def is_scored(self) -> bool:
        """Whether forecasts of it can be right or wrong."""
        return self.state == "scored" and not np.isnan(self.truth)


@dataclass(frozen=True, eq=False)
class SeasonColumns:
    """The questions of one kind of data, in the order in which they were asked, and the forecasts of them.

    Matrices are float64[forecasters, questions], with NaN where there is nothing. Attempts of a forecaster at one
    question are averaged.
    """

    data_kind: str
    """``real``, ``replayed`` or ``simulated``."""
    questions: tuple[SeasonQuestion, ...]
    """The questions."""
    forecasters: tuple[ForecasterId, ...]
    """The forecasters, sorted."""
    forecast: Floats
    """The probability or the number that was forecast."""
    correct: Floats
    """Share of attempts that are correct, for scored questions."""
    loss: Floats
    """Loss from 0 to 1: for events Brier's (p - y)^2, for numbers the bounded error |f - y| / (|f| + |y|)."""
    took_part: Flags
    """Whether the forecaster answered anything in the question's round, or tried to, bool[forecasters, questions]."""

    @cached_property
    def scored(self) -> Flags:
        """Whether forecasts of each question can be right or wrong, bool[questions]."""
        return np.array([question.is_scored for question in self.questions], dtype=np.bool_)

    @cached_property
    def events(self) -> Flags:
        """Whether each question asks for a probability, bool[questions]."""
        return np.array([question.is_event for question in self.questions], dtype=np.bool_)

    @cached_property
    def truth(self) -> Floats:
        """The truth of each question, NaN if it is not known, float64[questions]."""
        return np.array([question.truth for question in self.questions], dtype=np.float64)

    @cached_property
    def judged(self) -> Flags:
        """Whether each question counts for a forecaster's accuracy, answered or not, bool[forecasters, questions]."""
        return np.asarray(self.took_part & self.scored)

    @cached_property
    def right(self) -> Floats:
        """How far each forecast is correct, a missing one counted as wrong, float64[forecasters, questions]."""
        return np.nan_to_num(self.correct, nan=0.0)

    @cached_property
    def lost(self) -> Floats:
        """Loss of each forecast, a missing one counted as the largest loss, 1, float64[forecasters, questions]."""
        return np.nan_to_num(self.loss, nan=1.0)

    @cached_property
    def weeks(self) -> tuple[str, ...]:
        """ISO weeks of the rounds in which something was asked, in order."""
        return tuple(sorted({question.week for question in self.questions}))

    @cached_property
    def week_codes(self) -> Places:
        """Index of the week of each question, intp[questions]."""
        places = {week: place for place, week in enumerate(self.weeks)}
        return np.array([places[question.week] for question in self.questions], dtype=np.intp)

    @cached_property
    def subject_codes(self) -> Places:
        """Number of the subject of each question, intp[questions]."""
        subjects = dict.fromkeys(question.subject for question in self.questions)
        places = {subject: place for place, subject in enumerate(subjects)}
        return np.array([places[question.subject] for question in self.questions], dtype=np.intp)

    def of(self, kept: Flags) -> SeasonColumns:
        """The same questions with some of the forecasters alone.

        Args:
            kept: which forecasters to keep, bool[forecasters].
        """
        people = tuple(who for who, stays in zip(self.forecasters, kept.tolist(), strict=True) if stays)
        matrices = {name: getattr(self, name)[kept] for name in ("forecast", "correct", "loss", "took_part")}
        return replace(self, forecasters=people, **matrices)

    def where(self, **wanted: str) -> Flags:
        """Whether the named fields of each question have these values, bool[questions]."""
        return np.array(
            [all(getattr(question, name) == value for name, value in wanted.items()) for question in self.questions],
            dtype=np.bool_,
        )

    def values(self, dimension: str) -> list[str]:
        """The values of a field of the questions, in the order of the paper's tables, with other values after them."""
        from openfingym_suites.findeepforecast.problem import ECONOMIES

        present = {getattr(question, dimension) for question in self.questions}
        known = {"quadrant": QUADRANTS, "horizon": HORIZONS, "market": ECONOMIES}.get(dimension, ())
        return [*(value for value in known if value in present), *sorted(present - set(known))]
