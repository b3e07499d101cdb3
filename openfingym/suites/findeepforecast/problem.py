"""A forecasting problem, and what its truth is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

Track = Literal["recurrent", "non-recurrent"]
"""Recurrent: a figure that is published at a known time. Non-recurrent: an event that may happen or not."""
Level = Literal["corporate", "macro"]
Horizon = Literal["week", "month", "quarter"]
ECONOMIES = ("US", "CN", "HK", "JP", "UK", "DE", "FR", "SG")
"""The eight economies, in the order of the paper's tables."""


@dataclass(frozen=True)
class Figure:
    """A figure that is published: of a series, or of a company's report.

    Example:
        >>> Figure("AAPL", "Revenue", date(2016, 9, 24))
        Figure(subject='AAPL', measure='Revenue', period=datetime.date(2016, 9, 24))
    """

    subject: str
    """Id of a series of the macro taxonomy, or symbol of a company."""
    measure: str
    """``level`` of a series; of a company a metric of the taxonomy, by its name."""
    period: date
    """The last day of the period that it is about; of a daily series the day."""


@dataclass(frozen=True)
class Event:
    """An event that may happen by a day, with a margin that decides.

    Example:
        >>> Event("US", "A1", "ST-0001", "at_least_bps", 25.0, date(2025, 12, 19))  # doctest: +ELLIPSIS
        Event(subject='US', kind='A1', ...)
    """

    subject: str
    """An economy, or symbol of a company."""
    kind: str
    """Code of the macro taxonomy, or number of the corporate event type."""
    story: str
    """What is reported of it goes by this name; empty where nothing does."""
    condition: str
    """What is asked of it beyond that it happens: ``happens``, ``at_least``, ``at_most``, or a name of the world's."""
    threshold: float
    """Of the condition; 0 where it has none."""
    by: date
    """The last day on which it counts."""


@dataclass(frozen=True)
class ForecastProblem:
    """A question q with its times: generated at t_g, answered before t_d, evaluated from t_e on.

    Its truth y is not here: it follows from :attr:`about` and the world, once it is known.
    """

    key: str
    """Names it within its round and source: letters, digits and ``._:+-``."""
    text: str
    """The question, as it is asked."""
    track: Track
    level: Level
    market: str
    """One of :data:`ECONOMIES`, or ``GLOBAL``."""
    horizon: Horizon
    subtype: str
    """The indicator, the metric, or the type of the event, by which errors are analysed."""
    about: Figure | Event
    generated_ns: int
    deadline_ns: int
    settled_ns: int
    """When its truth is expected to be known, as of the generation."""
    unit: str = ""
    """Of a figure."""
    measure: Literal["amount", "ratio", "rate", "macro"] | None = None
    """Of a figure: what its tolerance follows from (:data:`openfingym.questions.question.TOLERANCES`)."""
    details: Mapping[str, str] | None = None
    """What is told beside the question, such as ``Company``, ``Ticker``, ``Index``, ``Event Type``."""
    base_rate: float | None = None
    """Of an event: how often the like happened, as known at the generation; None where nothing is known of that."""

    @property
    def quadrant(self) -> str:
        """``recurrent macro``, ``recurrent corporate``, ``non-recurrent macro`` or ``non-recurrent corporate``."""
        return f"{self.track} {self.level}"
