"""The real past as a world: the bundled vault's vintages, reports as filed and lists of filings, as of a time.

No calendar of expected dates is recorded, so that what is expected is derived from what was known: a report from the
delay of the same one a year before, a release from the delays of the last ones, a price from the days on which its
market is open. :meth:`RecordedWorld.releases` and :meth:`RecordedWorld.reports` select by the earliest time at which a
figure may be public, and :attr:`Scheduled.at` is when its value is expected to be in the record. In the same way
:attr:`Published.at` is the earliest time at which a first print may have been public: a question whose deadline it
precedes has no truth that was unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

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
from openfingym.suites.findeepforecast.world.recorded_documents import RecordedDocuments
from openfingym.suites.findeepforecast.world.recorded_reports import ExpectedReport, FirstReport, Reports
from openfingym.suites.findeepforecast.world.recorded_rows import rows_of
from openfingym.suites.findeepforecast.world.recorded_rules import RecordedRules
from openfingym.suites.findeepforecast.world.recorded_series import Due, SeriesPrints, label
from openfingym.suites.findeepforecast.world.recorded_tables import Issuer, cik_of, issuer_on, issuers, series_lines

if TYPE_CHECKING:
    from openfingym.vault import Vault

LEVEL = "level"
ECONOMY, CURRENCY = "US", "USD"
"""Of all companies: they file with the SEC of the United States."""
SILENT_DAYS = 400
"""A company that has filed nothing for so many days is not listed any more."""


class RecordedWorld:
    """The real past as of a time; a :class:`~openfingym.suites.findeepforecast.world.known.KnownWorld`.

    Args:
        vault: the bundled vault, or a truncated copy of it.
        as_of: the time, with its zone.
    """

    simulated = False

    def __init__(self, vault: Vault, as_of: datetime) -> None:
        self.as_of = as_of.astimezone(UTC)
        self._rows = rows_of(vault)
        self._view = vault.as_of(self.as_of)
        self._reports: dict[int, Reports] = {}
        self._series: dict[str, SeriesPrints] = {}
        self._documents = RecordedDocuments(self._view)
        self.rules = RecordedRules(self._rows, self.as_of, self.prints)
        """What decides events, and how often the like happened."""

    def companies(self) -> Sequence[Company]:
        """See :class:`~openfingym.suites.findeepforecast.world.known.KnownWorld`; indices are not recorded."""
        found = [
            Company(one.symbol, one.name, ECONOMY, (), one.sector, CURRENCY, financial=one.financial)
            for one in self._issuers()
        ]
        return sorted(found, key=lambda one: one.symbol)

    def series(self) -> Sequence[MacroSeries]:
        """See :class:`~openfingym.suites.findeepforecast.world.known.KnownWorld`; those with a figure by now."""
        return [
            MacroSeries(one.id, one.indicator, one.economy, one.title, one.unit, one.frequency)
            for one in series_lines().values()
            if self.prints(one.id).periods
        ]

    def metrics(self, symbol: str) -> Sequence[str]:
        """The metrics that the company's last report has, and that of the next one's quarter a year ago; that is not
        looked at where it is the first report of the record, in which no quarter can be told from the year to date.
        """
        reports = self.reports_of(symbol)
        if reports is None or not reports.all:
            return ()
        models = [reports.all[-1]]
        model = reports.model(reports.expected[0].end) if reports.expected else None
        if model is not None and model is not reports.all[0]:
            models.append(model)
        return [name for name in taxonomy().metrics if all(reports.value(name, one) is not None for one in models)]

    def releases(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """The figures of series that may be public from a time in [begin, end) on, by that time."""
        found = [
            (due.public_at, one.id, self._release(one.id, one.frequency, due))
            for one in series_lines().values()
            for due in self.prints(one.id).due()
            if begin <= due.public_at < end
        ]
        return [scheduled for *_, scheduled in sorted(found, key=lambda one: one[:2])]

    def reports(self, begin: datetime, end: datetime) -> Sequence[Scheduled]:
        """The reports of companies whose figures may be public from a time in [begin, end) on, by that time."""
        found = [
            (expected.public_at, issuer.symbol, _report(issuer.symbol, expected))
            for issuer in self._issuers()
            for expected in self._expected(issuer.symbol)
            if begin <= expected.public_at < end
        ]
        return [scheduled for *_, scheduled in sorted(found, key=lambda one: one[:2])]

    def scheduled(self, figure: Figure) -> Scheduled | None:
        """See :class:`~openfingym.suites.findeepforecast.world.known.KnownWorld`; of what is published, when it was."""
        line = series_lines().get(figure.subject)
        if line is not None:
            for due in self.prints(line.id).due():
                if due.period == figure.period:
                    return self._release(line.id, line.frequency, due)
            first = self.prints(line.id).first(figure.period)
            if first is None:
                return None
            return Scheduled(line.id, first.period, first.at, label(line.frequency, first.period))
        reports = self.reports_of(figure.subject)
        if reports is None:
            return None
        if (report := reports.of(figure.period)) is not None:
            return Scheduled(figure.subject, figure.period, report.known_at, _quarter(figure.period, exact=False))
        near = [one for one in reports.expected if abs((one.end - figure.period).days) <= 10]
        return _report(figure.subject, near[0]) if near else None

    def history(self, subject: str, measure: str, limit: int | None = None) -> Sequence[Published]:
        """See :class:`~openfingym.suites.findeepforecast.world.known.KnownWorld`."""
        if subject in series_lines():
            return self.prints(subject).history(limit) if measure == LEVEL else ()
        reports = self.reports_of(subject)
        found: list[Published] = []
        for report in reversed(reports.all) if reports is not None else ():
            if reports is None or (limit is not None and len(found) >= limit):
                break
            one = self._published(reports, report, measure, newest=False)
            found += [] if one is None else [one]
        return found[::-1]

    def first_print(self, figure: Figure) -> Published | None:
        """See :class:`~openfingym.suites.findeepforecast.world.known.KnownWorld`."""
        if figure.subject in series_lines():
            return self.prints(figure.subject).first(figure.period) if figure.measure == LEVEL else None
        return self._print(figure, newest=False)

    def latest_print(self, figure: Figure) -> Published | None:
        """See :class:`~openfingym.suites.findeepforecast.world.known.KnownWorld`."""
        if figure.subject in series_lines():
            return self.prints(figure.subject).latest(figure.period) if figure.measure == LEVEL else None
        return self._print(figure, newest=True)

    def news(self, begin: datetime, end: datetime) -> Sequence[Document]:
        """Filings and statements that became known in [begin, end), oldest first."""
        return self._documents.between(begin, end)

    def search(self, text: str, limit: int = 10, subject: str | None = None) -> Sequence[Document]:
        """Filings and statements by relevance to a text."""
        return self._documents.search(text, limit, subject)

    def document(self, name: str) -> Document | None:
        """A filing by its accession number, or a statement by its id."""
        return self._documents.named(name)

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event by the rule that its condition names; None as long as that is open."""
        return self.rules.ruling(event)

    def reports_of(self, symbol: str) -> Reports | None:
        """The reports of a company; None where there is no such one."""
        cik = cik_of(symbol)
        if cik is None:
            return None
        if cik not in self._reports:
            facts, filings = self._rows.facts(cik), self._rows.filings(cik)
            self._reports[cik] = Reports(facts.until(self.as_of), filings.until(self.as_of))
        return self._reports[cik]

    def prints(self, series: str) -> SeriesPrints:
        """A series by its id."""
        if series not in self._series:
            panels = [one for one in self._rows.vintages() if one <= self.as_of]
            vintages = self._rows.figures(series).until(self.as_of)
            self._series[series] = SeriesPrints(series_lines()[series], vintages, panels, self.as_of)
        return self._series[series]

    def _expected(self, symbol: str) -> Sequence[ExpectedReport]:
        reports = self.reports_of(symbol)
        return reports.expected if reports is not None else ()

    def _issuers(self) -> Iterator[Issuer]:
        """Issuers that filed something lately, under their names of the day."""
        day = self.as_of.date()
        for cik in dict.fromkeys(one.cik for one in issuers()):
            last = [row.known_at for row in self._rows.facts(cik).until(self.as_of)[-1:]]
            last += [row.known_at for row in self._rows.filings(cik).until(self.as_of)[-1:]]
            if any(time > self.as_of - timedelta(days=SILENT_DAYS) for time in last):
                yield issuer_on(cik, day)

    def _print(self, figure: Figure, *, newest: bool) -> Published | None:
        reports = self.reports_of(figure.subject)
        report = reports.of(figure.period) if reports else None
        if reports is None or report is None:
            return None
        return self._published(reports, report, figure.measure, newest=newest)

    def _published(self, reports: Reports, report: FirstReport, metric: str, *, newest: bool) -> Published | None:
        value = reports.value(metric, report, newest=newest)
        if value is None:
            return None
        how = ", year to date less that of the report before" if reports.differs(metric, report) else ""
        source = f"SEC: {report.form} {report.accession}, filed {report.filed.isoformat()}{how}"
        return Published(report.end, value, report.public_at, source)

    def _release(self, series: str, frequency: str, due: Due) -> Scheduled:
        return Scheduled(series, due.period, due.at, label(frequency, due.period))


def _report(symbol: str, expected: ExpectedReport) -> Scheduled:
    return Scheduled(symbol, expected.end, expected.at, _quarter(expected.end, exact=expected.exact))


def _quarter(end: date, *, exact: bool) -> str:
    return f"the quarter ending {'' if exact else 'about '}{label('day', end)}"
