"""A season as it stands in a ledger: its questions, and what each forecaster said of each."""

from __future__ import annotations

from dataclasses import dataclass
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
"""Tracks and levels, in the order of the paper's tables 16 and 17."""
HORIZONS = ("week", "month", "quarter")


@dataclass(frozen=True)
class SeasonQuestion:
    """A question of a season; its truth is kept where it is known."""

    name: str
    """Its id."""
    text: str
    track: str
    """``recurrent`` or ``non-recurrent``."""
    level: str
    """``corporate`` or ``macro``."""
    market: str
    """Which economy it is about."""
    horizon: str
    """``week``, ``month`` or ``quarter``."""
    subtype: str
    """The indicator, the metric or the type of the event."""
    subject: str
    """The company, series or economy that it is about; questions of one move together."""
    week: str
    """ISO week of the round, such as ``2025-W44``."""
    is_event: bool
    """Whether a probability is asked for, and not a number."""
    unit: str
    vault: str
    """Digest of the vault that it was made from; empty where it says none."""
    generated_ns: int
    deadline_ns: int
    evaluation_ns: int
    state: str
    """As the ledger has it: ``pending``, ``resolvable``, ``resolved``, ``scored``, ``void`` or ``error``."""
    reason: str
    truth: float
    """NaN where it is not known, or is no decision."""
    proposal: str
    """What the evidence spoke for before there was a verdict: ``YES``, ``NO``, or that it was not enough; empty where
    nothing was proposed."""

    @property
    def quadrant(self) -> str:
        """One of :data:`QUADRANTS`."""
        return f"{self.track} {self.level}"

    @property
    def is_scored(self) -> bool:
        """Whether forecasts of it are right or wrong."""
        return self.state == "scored" and not np.isnan(self.truth)


@dataclass(frozen=True, eq=False)
class SeasonColumns:
    """The questions of one kind of data, in the order in which they were asked, and the forecasts of them.

    Matrices are float64[forecasters, questions], NaN where there is nothing. Attempts of a forecaster at one question
    are averaged.
    """

    data_kind: str
    """``real``, ``replayed`` or ``simulated``."""
    questions: tuple[SeasonQuestion, ...]
    forecasters: tuple[ForecasterId, ...]
    said: Floats
    """The probability or the number."""
    correct: Floats
    """From 0 to 1, of questions that are scored."""
    loss: Floats
    """From 0 to 1: of events Brier's (p - y)^2, of numbers the bounded error |f - y| / (|f| + |y|)."""
    took_part: Flags
    """bool[forecasters, questions]: whether it answered anything in the question's round, or tried to."""

    @cached_property
    def scored(self) -> Flags:
        """bool[questions]: whether forecasts of it are right or wrong."""
        return np.array([one.is_scored for one in self.questions], dtype=np.bool_)

    @cached_property
    def events(self) -> Flags:
        """bool[questions]: whether a probability is asked for."""
        return np.array([one.is_event for one in self.questions], dtype=np.bool_)

    @cached_property
    def truth(self) -> Floats:
        """float64[questions]: NaN where it is not known."""
        return np.array([one.truth for one in self.questions], dtype=np.float64)

    @cached_property
    def judged(self) -> Flags:
        """bool[forecasters, questions]: what counts for accuracy, answered or not."""
        return np.asarray(self.took_part & self.scored)

    @cached_property
    def right(self) -> Floats:
        """float64[forecasters, questions]: what is missing is wrong."""
        return np.nan_to_num(self.correct, nan=0.0)

    @cached_property
    def lost(self) -> Floats:
        """float64[forecasters, questions]: what is missing lost all that can be lost, 1."""
        return np.nan_to_num(self.loss, nan=1.0)

    @cached_property
    def weeks(self) -> tuple[str, ...]:
        """Rounds in which something was asked, in order."""
        return tuple(sorted({one.week for one in self.questions}))

    @cached_property
    def week_codes(self) -> Places:
        """Of each question, the place of its week."""
        places = {week: place for place, week in enumerate(self.weeks)}
        return np.array([places[one.week] for one in self.questions], dtype=np.intp)

    @cached_property
    def subject_codes(self) -> Places:
        """Of each question, a number of its subject."""
        places = {name: place for place, name in enumerate(dict.fromkeys(one.subject for one in self.questions))}
        return np.array([places[one.subject] for one in self.questions], dtype=np.intp)

    def where(self, **wanted: str) -> Flags:
        """bool[questions]: those whose fields are as wanted."""
        return np.array(
            [all(getattr(one, name) == value for name, value in wanted.items()) for one in self.questions],
            dtype=np.bool_,
        )

    def values(self, dimension: str) -> list[str]:
        """What a field of the questions is, in the order of the paper's tables, other values after it."""
        from openfingym.suites.findeepforecast.problem import ECONOMIES

        found = {getattr(one, dimension) for one in self.questions}
        known = {"quadrant": QUADRANTS, "horizon": HORIZONS, "market": ECONOMIES}.get(dimension, ())
        return [*(one for one in known if one in found), *sorted(found - set(known))]
