"""What is known of a world as of a time: the one thing that questions, truths, tools and forecasts are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

from openfingym.suites.findeepforecast.problem import Figure, ForecastEvent


@dataclass(frozen=True)
class Company:
    """A listed company."""

    symbol: str
    name: str
    economy: str
    indices: tuple[str, ...]
    """Indices that it is a member of, such as ``S&P 500``."""
    sector: str
    currency: str
    financial: bool
    """Whether it is a bank or the like, which has loans and deposits and no inventory."""


@dataclass(frozen=True)
class MacroSeries:
    """A series of the macro taxonomy, as this world has it."""

    id: str
    """Such as ``US:CPI``."""
    indicator: str
    economy: str
    """One of the eight, or ``GLOBAL``."""
    title: str
    """As a question names it, such as ``China's CHINA TREASURY BILL``."""
    unit: str
    frequency: str
    """``day``, ``month`` or ``quarter``."""


@dataclass(frozen=True)
class Scheduled:
    """A disclosure in a calendar, as it stood as of the time of the view."""

    subject: str
    """Id of a series, or symbol of a company."""
    period: date
    """The last day of the period that is reported."""
    at: datetime
    """When it is scheduled, in UTC."""
    label: str
    """The period as people name it: ``2025 Q3``, ``October 2025``, ``October 31, 2025``."""


@dataclass(frozen=True)
class Published:
    """A published value."""

    period: date
    value: float
    at: datetime
    """When it became known, in UTC."""
    source: str
    """Who published it, and in what."""


@dataclass(frozen=True)
class Document:
    """A piece of news, a release or a filing."""

    id: str
    at: datetime
    """When it became known, in UTC."""
    source: str
    official: bool
    """Whether its source is the authority that decides, and not a report of it."""
    title: str
    body: str
    subject: str = ""
    """Economy or symbol that it is about, where the source says so."""
    story: str = ""
    """The desk's name of the story that it is a piece of, where it has one."""


@dataclass(frozen=True)
class Ruling:
    """What became of an event, as the world records it."""

    happened: bool
    at: datetime
    """When that was known, in UTC."""
    source: str


class KnownWorld(Protocol):
    """A world as of a time. Nothing that it returns depends on what became known later."""

    simulated: bool
    """Whether the world is made up."""
    as_of: datetime

    def companies(self) -> Sequence[Company]:
        """Companies of the universe, in the order of their symbols."""

    def series(self) -> Sequence[MacroSeries]:
        """Series of the macro taxonomy that this world has."""

    def metrics(self, symbol: str) -> Sequence[str]:
        """Metrics of the taxonomy for which the company's past reports have values."""

    def releases(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """Scheduled releases of macro series in [begin, end), by time."""

    def reports(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """Scheduled reports of companies in [begin, end), by time."""

    def scheduled(self, figure: Figure) -> Scheduled | None:
        """When the calendar has a figure's release or report, as it stands; None where it has none."""

    def history(self, subject: str, measure: str, limit: int | None = None) -> Sequence[Published]:
        """First prints of a figure's earlier periods, oldest first; the newest ``limit`` of them."""

    def first_print(self, figure: Figure) -> Published | None:
        """The value as it was published first; None where it is not known yet."""

    def latest_print(self, figure: Figure) -> Published | None:
        """The value as it stands, with restatements; None where it is not known yet."""

    def news(self, begin: datetime, end: datetime) -> Sequence[Document]:
        """Documents that became known in [begin, end), oldest first."""

    def search(self, text: str, limit: int = 10, subject: str | None = None) -> Sequence[Document]:
        """Documents by relevance to a text, of one subject if that is given."""

    def document(self, name: str) -> Document | None:
        """A document by its id."""

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event, where the world records that and it is known; else None."""
