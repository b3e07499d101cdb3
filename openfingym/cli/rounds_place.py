"""What commands about rounds have in common: options for the series and its ledger, reports, and names for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.ledger_place import connected

if TYPE_CHECKING:
    from openfingym.reports.forecasts import ForecastReport
    from openfingym.reports.series import SeriesReport, SeriesReporter
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import LedgerClient
    from openfingym.rounds.schedule import RoundTimes
    from openfingym.rounds.tick import Publisher

PAGE = "report.html"
"""Name of a report's page in the folder of a round."""
FAILED = 4
"""Exit status where something could not be done; the same command goes on with it."""

series_argument = click.argument("series", required=False)
verifier_option = click.option(
    "--verifier",
    metavar="LOCATION",
    help="URL or unix socket of a running verifier that has the ledger; reports need --state-folder beside it.",
)


def publisher(book: Book, folder: Path, *, isolated_only: bool = False) -> Publisher:
    """What publishes the report of a series, by writing it into the folder of a round.

    Args:
        book: the folder of the series.
        folder: folder of the ledger, which is only read.
        isolated_only: whether the report leaves out forecasters that did not run in isolation.
    """
    return partial(_publish, book, folder, isolated_only=isolated_only)


def _publish(book: Book, folder: Path, times: RoundTimes, now_ns: int, *, isolated_only: bool) -> None:
    """Write the report of a series into the folder of a round; ``now_ns`` is in nanoseconds since the epoch."""
    from openfingym.questions import utc_text
    from openfingym.rounds.tick import REPORT

    made = report_of(reporter_of(book, folder), book, folder, isolated_only=isolated_only)
    book.write(times.week, PAGE, made.html())
    published = about(book) | {"published_at": utc_text(now_ns)}
    # Written last: a round counts as published as soon as this file is there.
    book.write(times.week, REPORT, published | made.to_dict())


class _Forecasts:
    """The report on the forecasts of a series, which fits any."""

    def knows(self, ledger: Path, series: str) -> bool:  # noqa: ARG002
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        return True

    def report(
        self,
        ledger: Path,
        series: str,
        *,
        title: str,  # noqa: ARG002
        folder: Path,
        isolated_only: bool,
    ) -> ForecastReport:
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        from openfingym.reports.forecasts import forecast_report
        from openfingym.rounds.generator import round_name

        rounds = {"round": [round_name(series, "*")]}
        return forecast_report(ledger, where=rounds, folders=[folder], isolated_only=isolated_only)

    def show(self, report: Any) -> None:
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        from openfingym.cli.forecast_report import print_forecast_report

        print_forecast_report(report)


def reporter_of(book: Book, folder: Path) -> SeriesReporter:
    """What reports on a series: what an installed package has for its questions, else the report on its forecasts.

    Args:
        book: the folder of the series.
        folder: folder of the ledger, which is only read.
    """
    from openfingym.reports.series import find_reporter

    return find_reporter(folder, book.series.name) or _Forecasts()


def report_of(reporter: SeriesReporter, book: Book, folder: Path, *, isolated_only: bool = False) -> SeriesReport:
    """The report of a series.

    Args:
        reporter: what reports on it.
        book: the folder of the series.
        folder: folder of the ledger, which is only read.
        isolated_only: whether to leave out forecasters that did not run in isolation, but for the references.
    """
    name = book.series.name
    return reporter.report(folder, name, title=title(book), folder=book.folder, isolated_only=isolated_only)


@contextmanager
def opened_ledger(verifier: str | None, folder: Path | None) -> Iterator[LedgerClient]:
    """The ledger of a running verifier, or of one that is started on a folder for the time of the block.

    Args:
        verifier: location of a running verifier; None to start one.
        folder: folder of the ledger on which one is started; None for that in the store.
    """
    from openfingym.rounds.ledger import LedgerClient

    with connected(verifier, None if verifier else folder) as client:
        yield LedgerClient(client)


def clock_line(book: Book) -> str:
    """A phrase about the clock of a series."""
    if book.series.replayed:
        return "REPLAYED clock: a recorded past passes once more, as `rounds run` and `rounds tick --now` say"
    return "SIMULATED clock, which `rounds run` and `rounds tick --now` move" if book.series.simulated else "real clock"


def title(book: Book) -> str:
    """Name and title of a series, with SIMULATED or REPLAYED where neither of them says so."""
    series = book.series
    mark = "" if series.mark in f"{series.name} {series.title}" else f" ({series.mark})"
    return f"{series.name}: {series.title}{mark}"


def about(book: Book) -> dict[str, Any]:
    """The values with which every JSON document about a series begins."""
    series = book.series
    return {"series": series.name, "simulated": series.simulated, "replayed": series.replayed}
