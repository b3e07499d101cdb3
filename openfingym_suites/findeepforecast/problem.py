"""A forecasting problem: the question with its times, and the figure or the event that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

Track = Literal["recurrent", "non-recurrent"]
"""A recurrent problem is about a figure that is published at a scheduled time, a non-recurrent one about an event that
may happen or not.
"""
Level = Literal["corporate", "macro"]
"""Whether a problem is about a company or about an economy."""
Horizon = Literal["week", "month", "quarter"]
"""How far the expected truth is from the generation."""
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
    """``level`` for a series; for a company, the name of a metric of the taxonomy."""
    period: date
    """The last day of the period that it is about; for a daily series, the day."""


@dataclass(frozen=True)
class ForecastEvent:
    """An event that may happen by a day, with a margin that decides.

    Example:
        >>> ForecastEvent("US", "A1", "ST-0001", "at_least_bps", 25.0, date(2025, 12, 19))  # doctest: +ELLIPSIS
        ForecastEvent(subject='US', kind='A1', ...)
    """

    subject: str
    """An economy, or the symbol of a company."""
    kind: str
    """Code of the macro taxonomy, or number of the corporate event type."""
    story: str
    """Name under which news reports it; in the recorded world, from when it counts; empty if there is neither."""
    condition: str
    """What is asked of it beyond that it happens: ``happens``, ``at_least``, ``at_most``, ``detail``, or a rule of the
    recorded world.
    """
    threshold: float
    """The number of the condition; 0 if it has none."""
    by: date
    """The last day on which it counts."""


@dataclass(frozen=True)
class ForecastProblem:
    """A question q with its times: generated at t_g, answered before t_d, evaluated from t_e on.

    Its truth y is not here: it follows from :attr:`about` and the world, once it is known.
    """

    key: str
    """The problem's name within its round and source: letters, digits and ``._:+-``."""
    text: str
    """The question, as it is asked."""
    track: Track
    level: Level
    market: str
    """One of :data:`ECONOMIES`, or ``GLOBAL``."""
    horizon: Horizon
    subtype: str
    """The indicator, the metric, or the type of the event, by which errors are analysed."""
    about: Figure | ForecastEvent
    generated_ns: int
    """When it was generated (t_g), in nanoseconds since the epoch."""
    deadline_ns: int
    """Until when it may be answered (t_d), in nanoseconds since the epoch."""
    settled_ns: int
    """When its truth is expected to be known, as of the generation, in nanoseconds since the epoch."""
    unit: str = ""
    """The unit of a figure, such as ``million USD``; empty for an event."""
    measure: Literal["amount", "ratio", "rate", "macro"] | None = None
    """What the tolerance of a figure follows from (:data:`openfingym.questions.question.TOLERANCES`); None for an
    event.
    """
    details: Mapping[str, str] | None = None
    """What is stated beside the question, by name, such as ``Company``, ``Ticker``, ``Index``, ``Event Type``."""
    base_rate: float | None = None
    """How often similar events happened, from 0 to 1, as known at the generation; None for a figure, or if that is not
    known.
    """

    @property
    def quadrant(self) -> str:
        """``recurrent macro``, ``recurrent corporate``, ``non-recurrent macro`` or ``non-recurrent corporate``."""
        return f"{self.track} {self.level}"
