"""What is known of a world as of a time: the interface on which questions, truths, tools and forecasts rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent


@dataclass(frozen=True)
class Company:
    """A listed company."""

    symbol: str
    """Symbol of the company, such as ``AAPL``; in the simulated world with its market, such as ``HLMR.US``."""
    name: str
    """Name of the company."""
    economy: str
    """Code of the economy in which it is listed."""
    indices: tuple[str, ...]
    """Indices that it is a member of, such as ``S&P 500``."""
    sector: str
    """Name of its sector."""
    currency: str
    """Code of the currency in which it reports."""
    financial: bool
    """Whether it is a bank or the like, which has loans and deposits and no inventory."""


@dataclass(frozen=True)
class MacroSeries:
    """A series of the macro taxonomy, as this world has it."""

    id: str
    """Id of the series, such as ``US:CPI``."""
    indicator: str
    """Name of its indicator in the taxonomy."""
    economy: str
    """Code of one of the eight economies, or ``GLOBAL``."""
    title: str
    """Name of the series in questions, such as ``China's CHINA TREASURY BILL``."""
    unit: str
    """Unit of its values, such as ``percent``."""
    frequency: str
    """How often it has a value: ``day``, ``month`` or ``quarter``."""


@dataclass(frozen=True)
class Scheduled:
    """A disclosure in a calendar, as the calendar stood at a time."""

    subject: str
    """Id of a series, or symbol of a company."""
    period: date
    """The last day of the period that is reported."""
    at: datetime
    """The time for which it is scheduled, in UTC."""
    label: str
    """Name of the period: ``2025 Q3``, ``October 2025``, ``October 31, 2025``."""


@dataclass(frozen=True)
class Published:
    """A published value."""

    period: date
    """The last day of the period that it is about."""
    value: float
    """The value, in the unit of its series or metric."""
    at: datetime
    """The time at which it became known, in UTC."""
    source: str
    """Who published it, and in what."""


@dataclass(frozen=True)
class Document:
    """A piece of news, a release or a filing."""

    id: str
    """Id of the document, by which it is opened."""
    at: datetime
    """The time at which it became known, in UTC."""
    source: str
    """Name of the outlet, the authority or the company that published it."""
    official: bool
    """Whether it comes from the authority that decides, and is not somebody's report of it."""
    title: str
    """Its title."""
    body: str
    """Its text."""
    subject: str = ""
    """Code of the economy or symbol of the company that it is about; empty if it is about neither."""
    story: str = ""
    """Name of the story that it belongs to, as the desk that wrote it calls it; empty if it belongs to none."""

    def __hash__(self) -> int:
        # What was read of documents is kept by them, and asked for again each week: a text is not hashed each time.
        return hash((self.id, self.at))


@dataclass(frozen=True)
class Ruling:
    """What became of an event, as the world records it."""

    happened: bool
    """Whether it happened as asked, by the day that was asked about."""
    at: datetime
    """The time at which that was known, in UTC."""
    source: str
    """Whose record it is, and which."""


class KnownWorld(Protocol):
    """A world as of a time. Nothing that it returns depends on what became known later."""

    simulated: bool
    """Whether the world is simulated."""
    as_of: datetime
    """The time as of which everything is answered, in UTC."""

    def companies(self) -> Sequence[Company]:
        """The companies that questions may be about, in the order of their symbols."""

    def series(self) -> Sequence[MacroSeries]:
        """Series of the macro taxonomy that this world has."""

    def metrics(self, symbol: str) -> Sequence[str]:
        """Metrics of the taxonomy for which the company's past reports have values."""

    def releases(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """Scheduled releases of macro series in [begin, end), by time."""

    def reports(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """Scheduled reports of companies in [begin, end), by time."""

    def scheduled(self, figure: Figure) -> Scheduled | None:
        """The release or report of a figure, as the calendar stands; None if the calendar has none."""

    def history(self, subject: str, measure: str, limit: int | None = None) -> Sequence[Published]:
        """First prints of all known periods of a series or metric, oldest first.

        Args:
            subject: id of a series, or symbol of a company.
            measure: ``level`` for a series; for a company, the name of a metric.
            limit: how many of the newest periods at most; None for all.
        """

    def first_print(self, figure: Figure) -> Published | None:
        """The value of a figure as it was first published; None if it is not known yet."""

    def latest_print(self, figure: Figure) -> Published | None:
        """The value of a figure as it stands, revised or restated; None if it is not known yet."""

    def news(self, begin: datetime, end: datetime) -> Sequence[Document]:
        """Documents that became known in [begin, end), oldest first."""

    def search(self, text: str, limit: int = 10, subject: str | None = None) -> Sequence[Document]:
        """Documents by relevance to a text.

        Args:
            text: the words to look for.
            limit: how many documents at most.
            subject: code of an economy or symbol of a company, to find documents about it alone; None for all.
        """

    def document(self, name: str) -> Document | None:
        """A document by its id; None if none of this id is known."""

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event; None if the world does not record it, or it is not known yet."""
