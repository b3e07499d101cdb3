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
    from openfingym.reports.seasons import SeasonReport
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

    made = report_of(book, folder, isolated_only=isolated_only)
    book.write(times.week, PAGE, made.html())
    published = about(book) | {"published_at": utc_text(now_ns)}
    # Written last: a round counts as published as soon as this file is there.
    book.write(times.week, REPORT, published | made.to_dict())


def report_of(book: Book, folder: Path, *, isolated_only: bool = False) -> SeasonReport | ForecastReport:
    """The report of a series: on its season, where its questions state their track and level, else on its forecasts.

    Args:
        book: the folder of the series.
        folder: folder of the ledger, which is only read.
        isolated_only: whether to leave out forecasters that did not run in isolation, but for the references.
    """
    from openfingym.reports.forecasts import forecast_report
    from openfingym.reports.seasons import is_season, season_report
    from openfingym.rounds.generator import round_name

    name = book.series.name
    if is_season(folder, name):
        return season_report(folder, name, title=title(book), folder=book.folder, isolated_only=isolated_only)
    return forecast_report(
        folder,
        where={"round": [round_name(name, "*")]},
        folders=[book.folder],
        isolated_only=isolated_only,
    )


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
