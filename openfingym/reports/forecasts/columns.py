"""Scored forecasts and their questions as columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.integer[Any]]


DATA_KINDS = ("real", "replayed", "simulated")
"""Kinds of data, in the order of reports: truths that came after the forecasts, truths of a past that a clock was moved
through, and truths that are made up."""


class ForecasterId(NamedTuple):
    """A forecaster: an agent of one version, of one principal."""

    agent: str
    """Name of the agent."""
    version: str
    """Version of the agent; empty if it states none."""
    principal: str
    """Name of the principal: agents of two principals are two forecasters, whatever their names are."""


def short_names(forecasters: Sequence[ForecasterId]) -> dict[ForecasterId, str]:
    """Names of forecasters, with version and principal only where they are needed to tell forecasters apart."""
    versions: dict[str, set[str]] = {}
    principals: dict[tuple[str, str], set[str]] = {}
    for who in forecasters:
        versions.setdefault(who.agent, set()).add(who.version)
        principals.setdefault((who.agent, who.version), set()).add(who.principal)
    names = {}
    for who in forecasters:
        name = f"{who.agent} {who.version}".rstrip() if len(versions[who.agent]) > 1 else who.agent
        names[who] = f"{name} of {who.principal}" if len(principals[who.agent, who.version]) > 1 else name
    return names


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of texts, each as the index of its text among the different ones."""

    names: tuple[str, ...]
    """The different texts."""
    codes: Places
    """Index of the text of each question, int32[questions]."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> Coded:
        """Encode texts; the different ones are in the order in which they come first."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(places.__getitem__, texts), dtype=np.int32, count=len(texts))
        return cls(tuple(places), codes)


@dataclass(frozen=True, eq=False)
class ScoredQuestions:
    """Questions that are scored; each array has a value for each question."""

    form: Coded
    """Form of the answer, such as ``probability``."""
    category: Coded
    """What the question is about."""
    market: Coded
    """Economy or venue that the question is about."""
    round: Coded
    """Name of the round; empty for a question of no round."""
    horizon: Coded
    """Class of the time from deadline to evaluation."""
    week: Coded
    """ISO week of the deadline, such as ``2026-W48``."""
    data_kind: NDArray[np.int8]
    """Index of the kind of data in :data:`DATA_KINDS`."""
    deadline_ns: NDArray[np.int64]
    """Deadline of the answers, in nanoseconds since the epoch."""
    evaluation_ns: NDArray[np.int64]
    """Evaluation time, in nanoseconds since the epoch."""
    truth: Floats
    """The truth; NaN if it is not a number."""
    level: Floats
    """Probability with which an interval should cover the truth; NaN for other forms."""


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecasts that count and are scored; each array has a value for each forecast, NaN for what is not known."""

    forecasters: tuple[ForecasterId, ...]
    """The forecasters."""
    questions: ScoredQuestions
    """The questions."""
    forecaster: Places
    """Index of the forecaster."""
    question: Places
    """Index of the question."""
    weight: Floats
    """One over the number of forecasts that the forecaster has of the question: attempts at one question count together
    as one forecast."""
    p: Floats
    """The forecast probability; NaN for other forms than ``probability``."""
    loss: Floats
    """Loss of the forecast."""
    naive_loss: Floats
    """Loss of the naive forecast."""
    market_loss: Floats
    """Loss of what the market showed when the forecast was received."""
    correct: Floats
    """1 if the forecast counts as correct, 0 if it does not."""
    intervals: Floats
    """Forecaster, question, loss, lower and upper end of each forecast that is an interval, float64[intervals, 5]."""

    @property
    def count(self) -> int:
        """How many forecasts there are."""
        return len(self.loss)

    def of_forecasters(self, kept: NDArray[np.bool_]) -> Forecasts:
        """The forecasts of some forecasters; the places of all forecasters, and all questions, stay as they are.

        Args:
            kept: which forecasters to keep, bool[forecasters].
        """
        chosen = kept[self.forecaster]
        columns = {name: getattr(self, name)[chosen] for name in COLUMNS}
        return replace(self, **columns, intervals=self.intervals[kept[self.intervals[:, 0].astype(np.int64)]])

    def of(self, asked: NDArray[np.bool_]) -> Forecasts:
        """The forecasts of some questions, and these questions alone.

        Args:
            asked: which questions to keep, bool[questions].
        """
        if asked.all():
            return self
        chosen = asked[self.question]
        questions = self.questions
        kept: dict[str, Any] = {name: getattr(questions, name)[asked] for name in NUMBERS}
        for name in TEXTS:
            coded = getattr(questions, name)
            kept[name] = Coded(coded.names, coded.codes[asked])
        columns = {name: getattr(self, name)[chosen] for name in COLUMNS}
        # The index of each question among those that are kept.
        place = np.cumsum(asked, dtype=np.int32) - 1
        columns["question"] = place[columns["question"]]
        intervals = self.intervals[asked[self.intervals[:, 1].astype(np.int64)]]
        intervals[:, 1] = place[intervals[:, 1].astype(np.int64)]
        return Forecasts(self.forecasters, ScoredQuestions(**kept), **columns, intervals=intervals)


TEXTS = ("form", "category", "market", "round", "horizon", "week")
"""Columns of questions that are texts."""
NUMBERS = ("data_kind", "deadline_ns", "evaluation_ns", "truth", "level")
"""Columns of questions that are numbers."""
COLUMNS = ("forecaster", "question", "weight", "p", "loss", "naive_loss", "market_loss", "correct")
"""Columns of forecasts."""
