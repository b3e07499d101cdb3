"""The real past as a world: the bundled vault's vintages, reports as filed and lists of filings, as of a time.

No calendar of expected dates is recorded, so what is expected is derived from what was known: a report from the delay
of the same one a year before, a release from the delays of the last ones, a price from the days on which its market is
open.

A figure may be public before the record has it. :meth:`RecordedWorld.releases` and :meth:`RecordedWorld.reports` select
by the earliest time at which a figure may be public, while :attr:`Scheduled.at` is the time at which the record is
expected to have it. In the same way :attr:`Published.at` is the earliest time at which a first print may have been
public: a question whose deadline comes after it was asked about something that may have been known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

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
from openfingym_suites.findeepforecast.world.periods import label
from openfingym_suites.findeepforecast.world.recorded_documents import RecordedDocuments
from openfingym_suites.findeepforecast.world.recorded_reports import (
    NEAR_DAYS,
    CompanyReports,
    ExpectedReport,
    FirstReport,
)
from openfingym_suites.findeepforecast.world.recorded_rows import rows_of
from openfingym_suites.findeepforecast.world.recorded_rules import RecordedRules
from openfingym_suites.findeepforecast.world.recorded_series import ExpectedFigure, SeriesPrints
from openfingym_suites.findeepforecast.world.recorded_tables import (
    Issuer,
    SeriesLine,
    cik_of,
    issuer_on,
    issuers,
    series_lines,
)

if TYPE_CHECKING:
    from openfingym.vault import Vault

LEVEL = "level"
"""The one measure of a macro series."""
ECONOMY, CURRENCY = "US", "USD"
"""Economy and currency of all companies, which file with the SEC of the United States."""
SILENT_DAYS = 400
"""A company that has filed nothing for more than this many days is no longer listed."""


class RecordedWorld:
    """The real past as of a time; a :class:`~openfingym_suites.findeepforecast.world.known.KnownWorld`.

    Args:
        vault: the bundled vault, or a truncated copy of it.
        as_of: the time, with its time zone; what became known at this very time is known.
    """

    simulated = False

    def __init__(self, vault: Vault, as_of: datetime) -> None:
        self.as_of = as_of.astimezone(UTC)
        self._rows = rows_of(vault)
        self._view = vault.as_of(self.as_of)
        self._reports: dict[int, CompanyReports] = {}
        self._series: dict[str, SeriesPrints] = {}
        self._documents = RecordedDocuments(self._view)
        self.rules = RecordedRules(self._rows, self.as_of, self.prints)
        """The rules by which events are decided, and their base rates are counted."""

    def companies(self) -> Sequence[Company]:
        """See :class:`~openfingym_suites.findeepforecast.world.known.KnownWorld`; indices are not recorded."""
        companies = [
            Company(issuer.symbol, issuer.name, ECONOMY, (), issuer.sector, CURRENCY, financial=issuer.financial)
            for issuer in self._issuers()
        ]
        return sorted(companies, key=lambda company: company.symbol)

    def series(self) -> Sequence[MacroSeries]:
        """See :class:`~openfingym_suites.findeepforecast.world.known.KnownWorld`; series that have a figure by now."""
        return [
            MacroSeries(line.id, line.indicator, line.economy, line.title, line.unit, line.frequency)
            for line in series_lines().values()
            if self.prints(line.id).periods
        ]

    def metrics(self, symbol: str) -> Sequence[str]:
        """Metrics that follow from the company's last report, and from the report a year before the next one."""
        reports = self.reports_of(symbol)
        if reports is None or not reports.all:
            return ()
        models = [reports.all[-1]]
        year_before = reports.year_before(reports.expected[0].end) if reports.expected else None
        # The first report of the record is no measure: without one before it, a quarter does not follow from the year
        # to date.
        if year_before is not None and year_before is not reports.all[0]:
            models.append(year_before)
        return [
            name
            for name in read_taxonomy().metrics
            if all(reports.value(name, report) is not None for report in models)
        ]

    def releases(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """The expected figures of series that may be public from a time in [begin, end) on, by that time."""
        releases = [
            (expected.public_at, line.id, _release(line, expected))
            for line in series_lines().values()
            for expected in self.prints(line.id).expected()
            if begin <= expected.public_at < end
        ]
        return [scheduled for *_, scheduled in sorted(releases, key=lambda release: release[:2])]

    def reports(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """The expected reports whose figures may be public from a time in [begin, end) on, by that time."""
        reports = [
            (expected.public_at, issuer.symbol, _report(issuer.symbol, expected))
            for issuer in self._issuers()
            for expected in self._expected(issuer.symbol)
            if begin <= expected.public_at < end
        ]
        return [scheduled for *_, scheduled in sorted(reports, key=lambda report: report[:2])]

    def scheduled(self, figure: Figure) -> Scheduled | None:
        """See :class:`~openfingym_suites.findeepforecast.world.known.KnownWorld`; for a figure that is published, the
        time at which it was.
        """
        line = series_lines().get(figure.subject)
        if line is not None:
            for expected in self.prints(line.id).expected():
                if expected.period == figure.period:
                    return _release(line, expected)
            first = self.prints(line.id).first(figure.period)
            if first is None:
                return None
            return Scheduled(line.id, first.period, first.at, label(first.period, line.frequency))
        reports = self.reports_of(figure.subject)
        if reports is None:
            return None
        if (report := reports.about(figure.period)) is not None:
            return Scheduled(figure.subject, figure.period, report.known_at, _quarter(figure.period, exact=False))
        near = [report for report in reports.expected if abs((report.end - figure.period).days) <= NEAR_DAYS]
        return _report(figure.subject, near[0]) if near else None

    def history(self, subject: str, measure: str, limit: int | None = None) -> Sequence[Published]:
        """See :class:`~openfingym_suites.findeepforecast.world.known.KnownWorld`."""
        if subject in series_lines():
            return self.prints(subject).history(limit) if measure == LEVEL else ()
        reports = self.reports_of(subject)
        if reports is None:
            return []
        # From the newest on, so that no more reports are read than are wanted.
        newest_first: list[Published] = []
        for report in reversed(reports.all):
            if limit is not None and len(newest_first) >= limit:
                break
            published = self._published(reports, report, measure, newest=False)
            if published is not None:
                newest_first.append(published)
        return newest_first[::-1]

    def first_print(self, figure: Figure) -> Published | None:
        """See :class:`~openfingym_suites.findeepforecast.world.known.KnownWorld`."""
        if figure.subject in series_lines():
            return self.prints(figure.subject).first(figure.period) if figure.measure == LEVEL else None
        return self._print(figure, newest=False)

    def latest_print(self, figure: Figure) -> Published | None:
        """See :class:`~openfingym_suites.findeepforecast.world.known.KnownWorld`."""
        if figure.subject in series_lines():
            return self.prints(figure.subject).latest(figure.period) if figure.measure == LEVEL else None
        return self._print(figure, newest=True)

    def news(self, begin: datetime, end: datetime) -> Sequence[Document]:
        """Filings and statements that became known in [begin, end), oldest first."""
        return self._documents.between(begin, end)

    def search(self, text: str, limit: int = 10, subject: str | None = None) -> Sequence[Document]:
        """Filings and statements by relevance to a text.

        Args:
            text: the words to look for.
            limit: how many documents at most.
            subject: symbol of a company, or ``US`` for statements of the Federal Reserve; None for all.
        """
        return self._documents.search(text, limit, subject)

    def document(self, name: str) -> Document | None:
        """A filing by its accession number, or a statement by its id."""
        return self._documents.named(name)

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event by the rule that its condition names; None as long as that is open."""
        return self.rules.ruling(event)

    def reports_of(self, symbol: str) -> CompanyReports | None:
        """The reports of a company; None if no company has this symbol."""
        cik = cik_of(symbol)
        if cik is None:
            return None
        if cik not in self._reports:
            facts, filings = self._rows.facts(cik), self._rows.filings(cik)
            self._reports[cik] = CompanyReports(facts.until(self.as_of), filings.until(self.as_of))
        return self._reports[cik]

    def prints(self, series: str) -> SeriesPrints:
        """The prints of a series, by its id."""
        if series not in self._series:
            panels = [time for time in self._rows.vintages() if time <= self.as_of]
            vintages = self._rows.figures(series).until(self.as_of)
            self._series[series] = SeriesPrints(series_lines()[series], vintages, panels, self.as_of)
        return self._series[series]

    def _expected(self, symbol: str) -> Sequence[ExpectedReport]:
        reports = self.reports_of(symbol)
        return reports.expected if reports is not None else ()

    def _issuers(self) -> Iterator[Issuer]:
        """Companies that have filed something lately, under their names of the day."""
        day = self.as_of.date()
        # Each company once, although it is in the table under each of its names.
        for cik in dict.fromkeys(issuer.cik for issuer in issuers()):
            last = [row.known_at for row in self._rows.facts(cik).until(self.as_of)[-1:]]
            last += [row.known_at for row in self._rows.filings(cik).until(self.as_of)[-1:]]
            if any(time > self.as_of - timedelta(days=SILENT_DAYS) for time in last):
                yield issuer_on(cik, day)

    def _print(self, figure: Figure, *, newest: bool) -> Published | None:
        reports = self.reports_of(figure.subject)
        report = reports.about(figure.period) if reports else None
        if reports is None or report is None:
            return None
        return self._published(reports, report, figure.measure, newest=newest)

    def _published(
        self, reports: CompanyReports, report: FirstReport, metric: str, *, newest: bool
    ) -> Published | None:
        """The value of a metric in the quarter of a report, with its source; None if the report does not have it.

        Args:
            reports: all reports of the company.
            report: the report about the quarter.
            metric: name of the metric.
            newest: whether the value as it stands is wanted, and not the first print.
        """
        value = reports.value(metric, report, newest=newest)
        if value is None:
            return None
        how = ", year to date less that of the report before" if reports.is_difference(metric, report) else ""
        source = f"SEC: {report.form} {report.accession}, filed {report.filed.isoformat()}{how}"
        return Published(report.end, value, report.public_at, source)


def _release(line: SeriesLine, expected: ExpectedFigure) -> Scheduled:
    return Scheduled(line.id, expected.period, expected.at, label(expected.period, line.frequency))


def _report(symbol: str, expected: ExpectedReport) -> Scheduled:
    return Scheduled(symbol, expected.end, expected.at, _quarter(expected.end, exact=expected.exact))


def _quarter(end: date, *, exact: bool) -> str:
    """The name of a company's quarter, which need not be a calendar quarter.

    Args:
        end: its last day.
        exact: whether that day is certain.
    """
    return f"the quarter ending {'' if exact else 'about '}{label(end, 'day')}"
