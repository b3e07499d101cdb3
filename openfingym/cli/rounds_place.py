"""What commands about rounds share: which series and ledger are meant, and how they are named to people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.ledger_place import connected

if TYPE_CHECKING:
    from openfingym.reports.forecasts import ForecastReport
    from openfingym.reports.seasons import SeasonReport
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import LedgerClient
    from openfingym.rounds.schedule import RoundTimes
    from openfingym.rounds.tick import Publisher

PAGE = "report.html"
FAILED = 4
"""Exit status of what could not be done whole, and is gone on with by the same command."""

series_argument = click.argument("series", required=False)
verifier_option = click.option(
    "--verifier",
    metavar="LOCATION",
    help="URL or unix socket of a running verifier that has the ledger; reports need --state-folder beside it.",
)


def publisher(book: Book, folder: Path) -> Publisher:
    """Writes the report of a series into the folder of a round."""

    def publish(times: RoundTimes, now_ns: int) -> None:
        from openfingym.questions import utc_text
        from openfingym.rounds.tick import REPORT

        found = report_of(book, folder)
        book.write(times.week, PAGE, found.html())
        published = about(book) | {"published_at": utc_text(now_ns)}
        # The last, since a report is published once this file is there.
        book.write(times.week, REPORT, published | found.to_dict())

    return publish


def report_of(book: Book, folder: Path) -> SeasonReport | ForecastReport:
    """The report of a series: of its season where its questions say which track and level they are of.

    Args:
        book: the folder of the series.
        folder: folder of the ledger, which is only read.
    """
    from openfingym.reports.forecasts import forecast_report
    from openfingym.reports.seasons import is_season, season_report
    from openfingym.rounds.generator import round_name

    name = book.series.name
    if is_season(folder, name):
        return season_report(folder, name, title=title(book), folder=book.folder)
    return forecast_report(folder, where={"round": [round_name(name, "*")]})


@contextmanager
def opened_ledger(verifier: str | None, folder: Path | None) -> Iterator[LedgerClient]:
    """The verifier at an address, or one of one's own on a folder."""
    from openfingym.rounds.ledger import LedgerClient

    with connected(verifier, None if verifier else folder) as client:
        yield LedgerClient(client)


def clock_line(book: Book) -> str:
    """Whose time counts, for people."""
    if book.series.replayed:
        return "REPLAYED clock: a recorded past passes once more, as `rounds run` and `rounds tick --now` say"
    return "SIMULATED clock, which `rounds run` and `rounds tick --now` move" if book.series.simulated else "real clock"


def title(book: Book) -> str:
    """Its name and title, with SIMULATED or REPLAYED where neither says it."""
    series = book.series
    said = "" if series.mark in f"{series.name} {series.title}" else f" ({series.mark})"
    return f"{series.name}: {series.title}{said}"


def about(book: Book) -> dict[str, Any]:
    """What every document of a series begins with."""
    series = book.series
    return {"series": series.name, "simulated": series.simulated, "replayed": series.replayed}
