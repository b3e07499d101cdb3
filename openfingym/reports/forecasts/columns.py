"""Scored forecasts and their questions as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.integer[Any]]


class ForecasterId(NamedTuple):
    """Who forecasts: two principals that use the same names are two."""

    agent: str
    version: str
    principal: str


def short_names(people: Sequence[ForecasterId]) -> dict[ForecasterId, str]:
    """Names of forecasters, no longer than it takes to tell them apart."""
    versions: dict[str, set[str]] = {}
    principals: dict[tuple[str, str], set[str]] = {}
    for one in people:
        versions.setdefault(one.agent, set()).add(one.version)
        principals.setdefault((one.agent, one.version), set()).add(one.principal)
    found = {}
    for one in people:
        name = f"{one.agent} {one.version}".rstrip() if len(versions[one.agent]) > 1 else one.agent
        found[one] = f"{name} of {one.principal}" if len(principals[one.agent, one.version]) > 1 else name
    return found


@dataclass(frozen=True, eq=False)
class Coded:
    """A text of every question, as the place of a name."""

    names: tuple[str, ...]
    codes: Places
    """int32[questions]"""

    @classmethod
    def of(cls, texts: Sequence[str]) -> Coded:
        """Encode texts; names are in the order in which they come first."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(places.__getitem__, texts), dtype=np.int32, count=len(texts))
        return cls(tuple(places), codes)


@dataclass(frozen=True, eq=False)
class ScoredQuestions:
    """Questions that are scored; arrays have a value for each."""

    form: Coded
    category: Coded
    market: Coded
    round: Coded
    horizon: Coded
    week: Coded
    """ISO week of the deadline, such as ``2026-W48``."""
    simulated: NDArray[np.bool_]
    deadline_ns: NDArray[np.int64]
    evaluation_ns: NDArray[np.int64]
    truth: Floats
    """NaN where it is no number."""
    level: Floats
    """What an interval is to cover; NaN of other forms."""


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecasts that count and are scored; arrays have a value for each, and NaN where there is none."""

    forecasters: tuple[ForecasterId, ...]
    questions: ScoredQuestions
    forecaster: Places
    """Place of who made it."""
    question: Places
    """Place of its question."""
    weight: Floats
    """One over the number of forecasts that its forecaster has of its question, which are attempts at one."""
    p: Floats
    """The probability of ``probability``."""
    loss: Floats
    naive_loss: Floats
    market_loss: Floats
    correct: Floats
    """0 or 1."""
    intervals: Floats
    """float64[intervals, 5]: forecaster, question, loss, lower and upper end of each of those that are intervals."""

    @property
    def count(self) -> int:
        """Number of forecasts."""
        return len(self.loss)

    def of(self, asked: NDArray[np.bool_]) -> Forecasts:
        """Those of some questions, which alone are left; bool[questions]."""
        if asked.all():
            return self
        chosen = asked[self.question]
        questions = self.questions
        kept: dict[str, Any] = {name: getattr(questions, name)[asked] for name in NUMBERS}
        for name in TEXTS:
            coded = getattr(questions, name)
            kept[name] = Coded(coded.names, coded.codes[asked])
        columns = {name: getattr(self, name)[chosen] for name in COLUMNS}
        place = np.cumsum(asked, dtype=np.int32) - 1
        columns["question"] = place[columns["question"]]
        intervals = self.intervals[asked[self.intervals[:, 1].astype(np.int64)]]
        intervals[:, 1] = place[intervals[:, 1].astype(np.int64)]
        return Forecasts(self.forecasters, ScoredQuestions(**kept), **columns, intervals=intervals)


TEXTS = ("form", "category", "market", "round", "horizon", "week")
NUMBERS = ("simulated", "deadline_ns", "evaluation_ns", "truth", "level")
COLUMNS = ("forecaster", "question", "weight", "p", "loss", "naive_loss", "market_loss", "correct")
