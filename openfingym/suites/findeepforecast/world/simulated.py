"""The simulated world as of a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property

from openfingym.errors import UsageError
from openfingym.suites.findeepforecast.problem import Figure, ForecastEvent
from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.world.known import (
    Company,
    Document,
    MacroSeries,
    Published,
    Ruling,
    Scheduled,
)
from openfingym.suites.findeepforecast.world.outcomes import RECORDED_AT, decided
from openfingym.suites.findeepforecast.world.prints import VaultPrints
from openfingym.suites.findeepforecast.world.schedules import KnownSchedule, ReleaseCalendar
from openfingym.vault import Vault, View
from openfingym.vault.conditions import Between

LEVEL = "level"
"""The one measure of a macro series."""
RECORD = "the record of the simulated world"


class SimulatedWorld:
    """What is known of the simulated world as of a time; a
    :class:`~openfingym.suites.findeepforecast.world.known.KnownWorld`.

    Cheap to make: what is read of the vault is kept for all worlds of the same vault in this process, and of it each
    looks at the rows alone that it knows.

    Args:
        vault: the vault ``findeepforecast``, or one with the same tables.
        as_of: the time; what became known at this very time is known.
    """

    simulated = True

    def __init__(self, vault: Vault, as_of: datetime) -> None:
        self._start(vault.as_of(as_of), vault.kept(_Kept))

    @classmethod
    def of(cls, view: View) -> SimulatedWorld:
        """The world that a view shows."""
        world = cls.__new__(cls)
        world._start(view, view._vault.kept(_Kept))
        return world

    def _start(self, view: View, kept: _Kept) -> None:
        self.as_of = view.time
        self._view = view
        self._kept = kept
        self._prints = kept.prints.as_of(self._until)

    @property
    def _until(self) -> datetime | None:
        return None if self._view.hindsight else self.as_of

    def companies(self) -> Sequence[Company]:
        """Companies of the universe, in the order of their symbols."""
        return list(self._companies.values())

    def series(self) -> Sequence[MacroSeries]:
        """Series of the macro taxonomy that this world has."""
        return list(self._series.values())

    def metrics(self, symbol: str) -> Sequence[str]:
        """Metrics of the taxonomy that the company's newest report has, or lets compute; in the taxonomy's order."""
        periods = self._prints.periods(symbol)
        if not periods:
            return []
        return [name for name in taxonomy().metrics if self._prints.computed(symbol, name, periods[-1]) is not None]

    def releases(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """Scheduled releases of macro series in [begin, end), by time."""
        return self._releases.within(begin, end)

    def reports(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """Scheduled reports of companies in [begin, end), by time."""
        return self._reports.within(begin, end)

    def scheduled(self, figure: Figure) -> Scheduled | None:
        """When the calendar has a figure's release or report, as it stands; None where it has none."""
        table, column = ("release_calendar", "id") if figure.measure == LEVEL else ("report_calendar", "symbol")
        key: dict[str, str | date] = {column: figure.subject, "period_end": figure.period}
        row = self._view.latest(table, **key)
        return None if row is None else _scheduled(row, column)

    def history(self, subject: str, measure: str, limit: int | None = None) -> Sequence[Published]:
        """First prints of a figure's earlier periods, oldest first; the newest ``limit`` of them.

        Args:
            subject: id of a series, or symbol of a company.
            measure: ``level`` of a series; a metric of a company.
            limit: how many at most.

        Raises:
            UsageError: there is no such metric, or the limit is below 0.
        """
        if limit is not None and limit < 0:
            raise UsageError(f"limit is {limit}; give 0 or more")
        found: list[Published] = []
        for period in reversed(self._prints.periods(subject)):
            if limit is not None and len(found) >= limit:
                break
            published = self.first_print(Figure(subject, measure, period))
            if published is not None:
                found.append(published)
        return found[::-1]

    def first_print(self, figure: Figure) -> Published | None:
        """The value as it was published first; None where it is not known yet.

        What follows from several figures of a report is computed from the report as it came out, and from what stood
        then of earlier periods.
        """
        return self._published(figure, latest=False)

    def latest_print(self, figure: Figure) -> Published | None:
        """The value as it stands, with restatements; None where it is not known yet."""
        return self._published(figure, latest=True)

    def news(self, begin: datetime, end: datetime) -> Sequence[Document]:
        """Documents that became known in [begin, end), oldest first."""
        rows = self._view.rows("news", {"published_at": Between(begin, end)}, order=["published_at"])
        return [_document(row) for row in rows if row["published_at"] != end.astimezone(UTC)]

    def search(self, text: str, limit: int = 10, subject: str | None = None) -> Sequence[Document]:
        """Documents by relevance to a text, of one subject if that is given."""
        where = None if subject is None else {"subject": subject}
        return [_document(hit.row) for hit in self._view.search("news", text, where=where, limit=limit)]

    def document(self, name: str) -> Document | None:
        """A document by its id."""
        rows = self._view.rows("news", {"id": name}, limit=1)
        return _document(rows[0]) if rows else None

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event, where the world records that and it is known; else None."""
        if not event.story:
            return None
        row = self._view.latest("rulings", story=event.story)
        if row is None:
            # What happened by a day is in the record on the next one; what is not there then did not happen.
            end = datetime.combine(event.by + timedelta(days=1), RECORDED_AT, UTC)
            return Ruling(False, end, RECORD) if end <= self.as_of else None
        at, happened_on, amount = row["known_at"], row["happened_on"], row["amount"]
        assert isinstance(at, datetime)
        assert happened_on is None or isinstance(happened_on, date)
        assert amount is None or isinstance(amount, float)
        return Ruling(decided(event, happened_on, amount), at, str(row["source"]))

    def _published(self, figure: Figure, *, latest: bool) -> Published | None:
        if figure.measure == LEVEL:
            found = self._prints.level(figure.subject, figure.period, latest=latest)
            series = self._series.get(figure.subject)
            source = "" if series is None else self._authorities[figure.subject]
        else:
            taxonomy().metric(figure.measure)
            found = self._prints.computed(figure.subject, figure.measure, figure.period, latest=latest)
            company = self._companies.get(figure.subject)
            source = f"report of {company.name if company else figure.subject}"
        if found is None:
            return None
        value, microseconds = found
        return Published(figure.period, value, _EPOCH + timedelta(microseconds=microseconds), source)

    @cached_property
    def _companies(self) -> dict[str, Company]:
        return self._kept.companies(self._view)

    @cached_property
    def _series(self) -> dict[str, MacroSeries]:
        return self._kept.series(self._view)[0]

    @cached_property
    def _authorities(self) -> dict[str, str]:
        return self._kept.series(self._view)[1]

    @cached_property
    def _releases(self) -> KnownSchedule:
        return self._kept.releases.as_of(self._until)

    @cached_property
    def _reports(self) -> KnownSchedule:
        return self._kept.reports.as_of(self._until)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Kept:
    """What worlds of one vault share."""

    def __init__(self, vault: Vault) -> None:
        self.prints = VaultPrints(vault)
        self.releases = ReleaseCalendar(vault, "release_calendar", "id")
        self.reports = ReleaseCalendar(vault, "report_calendar", "symbol")
        # By how many rows were known, which decides what they say.
        self._companies: dict[int, dict[str, Company]] = {}
        self._series: dict[int, tuple[dict[str, MacroSeries], dict[str, str]]] = {}

    def companies(self, view: View) -> dict[str, Company]:
        """Companies that are members of an index, by symbol."""
        known = view.count("companies")
        if known not in self._companies:
            rows = view.current("companies", order=["symbol"])
            names = ("symbol", "name", "economy", "indices", "sector", "currency", "financial")
            made = [Company(**{name: row[name] for name in names}) for row in rows]  # type: ignore[arg-type]
            self._companies[known] = {
                one.symbol: replace(one, indices=tuple(one.indices)) for one in made if one.indices
            }
        return self._companies[known]

    def series(self, view: View) -> tuple[dict[str, MacroSeries], dict[str, str]]:
        """Series by id, and who publishes each."""
        known = view.count("macro_series")
        if known not in self._series:
            rows = view.current("macro_series", order=["id"])
            names = ("id", "indicator", "economy", "title", "unit", "frequency")
            made = {str(row["id"]): MacroSeries(**{name: str(row[name]) for name in names}) for row in rows}
            self._series[known] = made, {str(row["id"]): str(row["authority"]) for row in rows}
        return self._series[known]


def _scheduled(row: dict[str, object], column: str) -> Scheduled:
    series, label = str(row[column]), str(row["label"])
    return Scheduled(series, row["period_end"], row["scheduled_at"], label)  # type: ignore[arg-type]


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
