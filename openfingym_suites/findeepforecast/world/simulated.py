"""The simulated world as of a time, read from its vault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property

from openfingym.errors import UsageError
from openfingym.vault import Vault, View
from openfingym.vault.conditions import EPOCH, Between
from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.known import (
    Company,
    Document,
    MacroSeries,
    Published,
    Ruling,
    Scheduled,
)
from openfingym_suites.findeepforecast.world.outcomes import RECORDED_AT, decided
from openfingym_suites.findeepforecast.world.prints import VaultPrints
from openfingym_suites.findeepforecast.world.schedules import KnownSchedule, ReleaseCalendar

LEVEL = "level"
"""The one measure of a macro series."""
RECORD = "the record of the simulated world"
"""Source of the ruling that something did not happen, for which the vault has no row."""


class SimulatedWorld:
    """What is known of the simulated world as of a time; a
    :class:`~openfingym_suites.findeepforecast.world.known.KnownWorld`.

    It is cheap to make. All worlds of one vault in a process share what was read of it, and each looks only at the rows
    that it knows.

    Args:
        vault: the vault ``findeepforecast``, or one with the same tables.
        as_of: the time, with its time zone; what became known at this very time is known.
    """

    simulated = True

    def __init__(self, vault: Vault, as_of: datetime) -> None:
        self._start(vault.as_of(as_of), vault.kept(_SharedTables))

    @classmethod
    def from_view(cls, view: View) -> SimulatedWorld:
        """The world that a view shows; with everything that its vault has, if the view has hindsight."""
        world = cls.__new__(cls)
        world._start(view, view._vault.kept(_SharedTables))
        return world

    def _start(self, view: View, shared: _SharedTables) -> None:
        self.as_of = view.time
        self._view = view
        self._shared = shared
        self._prints = shared.prints.as_of(self._until)

    @property
    def _until(self) -> datetime | None:
        """The time until which rows are known; None with hindsight, for all rows."""
        return None if self._view.hindsight else self.as_of

    def companies(self) -> Sequence[Company]:
        """The companies that questions may be about: members of an index, in the order of their symbols."""
        return list(self._companies.values())

    def series(self) -> Sequence[MacroSeries]:
        """Series of the macro taxonomy that this world has."""
        return list(self._series.values())

    def metrics(self, symbol: str) -> Sequence[str]:
        """Metrics that the company's newest report states, or from which they can be computed; in the order of the
        taxonomy.
        """
        periods = self._prints.periods(symbol)
        if not periods:
            return []
        return [
            name for name in read_taxonomy().metrics if self._prints.computed(symbol, name, periods[-1]) is not None
        ]

    def releases(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """Scheduled releases of macro series in [begin, end), by time."""
        return self._releases.within(begin, end)

    def reports(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """Scheduled reports of companies in [begin, end), by time."""
        return self._reports.within(begin, end)

    def scheduled(self, figure: Figure) -> Scheduled | None:
        """The release or report of a figure, as the calendar stands; None if the calendar has none."""
        table, column = ("release_calendar", "id") if figure.measure == LEVEL else ("report_calendar", "symbol")
        key: dict[str, str | date] = {column: figure.subject, "period_end": figure.period}
        row = self._view.latest(table, **key)
        return None if row is None else _scheduled(row, column)

    def history(self, subject: str, measure: str, limit: int | None = None) -> Sequence[Published]:
        """First prints of all known periods of a series or metric, oldest first.

        Args:
            subject: id of a series, or symbol of a company.
            measure: ``level`` for a series; for a company, the name of a metric.
            limit: how many of the newest periods at most; None for all.

        Raises:
            UsageError: there is no such metric, or the limit is below 0.
        """
        if limit is not None and limit < 0:
            raise UsageError(f"limit is {limit}; give 0 or more")
        # From the newest on, so that no more periods are computed than are wanted.
        newest_first: list[Published] = []
        for period in reversed(self._prints.periods(subject)):
            if limit is not None and len(newest_first) >= limit:
                break
            published = self.first_print(Figure(subject, measure, period))
            if published is not None:
                newest_first.append(published)
        return newest_first[::-1]

    def first_print(self, figure: Figure) -> Published | None:
        """The value of a figure as it was first published; None if it is not known yet.

        A metric that follows from several figures is computed from the report as it came out, and from the figures of
        earlier periods as they stood then.

        Raises:
            UsageError: there is no such metric.
        """
        return self._published(figure, latest=False)

    def latest_print(self, figure: Figure) -> Published | None:
        """The value of a figure as it stands, revised or restated; None if it is not known yet.

        Raises:
            UsageError: there is no such metric.
        """
        return self._published(figure, latest=True)

    def news(self, begin: datetime, end: datetime) -> Sequence[Document]:
        """Documents that became known in [begin, end), oldest first."""
        # Between has both bounds, so pieces of the very end are left out here.
        rows = self._view.rows(
            "news", {"published_at": Between(begin, end)}, columns=["id", "published_at"], order=["published_at"]
        )
        return self._shared.documents(self._view, [row for row in rows if row["published_at"] != end.astimezone(UTC)])

    def search(self, text: str, limit: int = 10, subject: str | None = None) -> Sequence[Document]:
        """Documents by relevance to a text.

        Args:
            text: the words to look for.
            limit: how many documents at most.
            subject: code of an economy or symbol of a company, to find documents about it alone; None for all.
        """
        where = None if subject is None else {"subject": subject}
        return [_document(hit.row) for hit in self._view.search("news", text, where=where, limit=limit)]

    def document(self, name: str) -> Document | None:
        """A document by its id; None if none of this id is known."""
        rows = self._view.rows("news", {"id": name}, limit=1)
        return _document(rows[0]) if rows else None

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event; None if it is about no story, or the outcome is not known yet."""
        if not event.story:
            return None
        row = self._view.latest("rulings", story=event.story)
        if row is None:
            # What happens on a day is recorded on the morning after. What is not recorded by the morning after the
            # last day that counts did not happen in time.
            end = datetime.combine(event.by + timedelta(days=1), RECORDED_AT, UTC)
            return Ruling(False, end, RECORD) if end <= self.as_of else None
        at, happened_on, amount = row["known_at"], row["happened_on"], row["amount"]
        assert isinstance(at, datetime)
        assert happened_on is None or isinstance(happened_on, date)
        assert amount is None or isinstance(amount, float)
        return Ruling(decided(event, happened_on, amount), at, str(row["source"]))

    def _published(self, figure: Figure, *, latest: bool) -> Published | None:
        """The first or the latest value of a figure, with its source."""
        if figure.measure == LEVEL:
            known = self._prints.level(figure.subject, figure.period, latest=latest)
            series = self._series.get(figure.subject)
            source = "" if series is None else self._authorities[figure.subject]
        else:
            # Raises if there is no such metric.
            read_taxonomy().metric(figure.measure)
            known = self._prints.computed(figure.subject, figure.measure, figure.period, latest=latest)
            company = self._companies.get(figure.subject)
            source = f"report of {company.name if company else figure.subject}"
        if known is None:
            return None
        value, microseconds = known
        return Published(figure.period, value, EPOCH + timedelta(microseconds=microseconds), source)

    @cached_property
    def _companies(self) -> dict[str, Company]:
        return self._shared.companies(self._view)

    @cached_property
    def _series(self) -> dict[str, MacroSeries]:
        return self._shared.series(self._view)[0]

    @cached_property
    def _authorities(self) -> dict[str, str]:
        return self._shared.series(self._view)[1]

    @cached_property
    def _releases(self) -> KnownSchedule:
        return self._shared.releases.as_of(self._until)

    @cached_property
    def _reports(self) -> KnownSchedule:
        return self._shared.reports.as_of(self._until)


class _SharedTables:
    """What was read of a vault, shared by all of its worlds."""

    def __init__(self, vault: Vault) -> None:
        self.prints = VaultPrints(vault)
        self.releases = ReleaseCalendar(vault, "release_calendar", "id")
        self.reports = ReleaseCalendar(vault, "report_calendar", "symbol")
        # By the number of rows that are known, which decides which rows these are: a table is in the order in which its
        # rows became known.
        self._companies: dict[int, dict[str, Company]] = {}
        self._series: dict[int, tuple[dict[str, MacroSeries], dict[str, str]]] = {}
        # By id: a season reads most of its news once for each of its weeks.
        self._documents: dict[object, Document] = {}

    def documents(self, view: View, wanted: Sequence[dict[str, object]]) -> list[Document]:
        """Pieces of news.

        Args:
            view: a view that knows them.
            wanted: rows of them with ``id`` and ``published_at``, in the order of time.
        """
        new = [row["published_at"] for row in wanted if row["id"] not in self._documents]
        if new:
            for row in view.rows("news", {"published_at": Between(new[0], new[-1])}):  # type: ignore[arg-type]  # times
                self._documents.setdefault(row["id"], _document(row))
        return [self._documents[row["id"]] for row in wanted]

    def companies(self, view: View) -> dict[str, Company]:
        """Companies that are members of an index, by symbol."""
        known = view.count("companies")
        if known not in self._companies:
            rows = view.current("companies", order=["symbol"])
            names = ("symbol", "name", "economy", "indices", "sector", "currency", "financial")
            companies = [Company(**{name: row[name] for name in names}) for row in rows]  # type: ignore[arg-type]
            # A row has a list of indices, which cannot be hashed.
            self._companies[known] = {
                company.symbol: replace(company, indices=tuple(company.indices))
                for company in companies
                if company.indices
            }
        return self._companies[known]

    def series(self, view: View) -> tuple[dict[str, MacroSeries], dict[str, str]]:
        """The series by id, and by id the authorities that publish them."""
        known = view.count("macro_series")
        if known not in self._series:
            rows = view.current("macro_series", order=["id"])
            names = ("id", "indicator", "economy", "title", "unit", "frequency")
            series = {str(row["id"]): MacroSeries(**{name: str(row[name]) for name in names}) for row in rows}
            self._series[known] = series, {str(row["id"]): str(row["authority"]) for row in rows}
        return self._series[known]


def _scheduled(row: dict[str, object], column: str) -> Scheduled:
    """A row of a calendar whose subjects are in a column."""
    subject, label = str(row[column]), str(row["label"])
    return Scheduled(subject, row["period_end"], row["scheduled_at"], label)  # type: ignore[arg-type]


def _document(row: dict[str, object]) -> Document:
    return Document(
        str(row["id"]),
        row["published_at"],  # type: ignore[arg-type]
        str(row["source"]),
        bool(row["official"]),
        str(row["title"]),
        str(row["body"]),
        str(row["subject"] or ""),
        str(row["story"] or ""),
    )
