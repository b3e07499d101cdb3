"""``openfingym rounds ...``: live benchmarks, which ask questions every week and resolve them by a schedule."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.ledger_place import connected, folder_of, folder_option
from openfingym.cli.render import print_json, print_table
from openfingym.cli.task import json_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import LedgerClient
    from openfingym.rounds.schedule import RoundTimes
    from openfingym.rounds.tick import Publisher

PAGE = "report.html"
FAILED = 4
"""Exit status of a tick that could not do everything, which the next one tries again."""
SERIES = "weekly"
"""Definition that is begun where none is named."""

series_argument = click.argument("series", required=False)
verifier_option = click.option(
    "--verifier",
    metavar="LOCATION",
    help="URL or unix socket of a running verifier that has the ledger; reports need --state-folder beside it.",
)


@click.group()
def rounds() -> None:
    """Run a live benchmark: rounds of questions, by a schedule."""


@rounds.command()
@click.argument("definition", default=SERIES)
@json_option("an object")
def init(definition: str, as_json: bool) -> None:
    """Begin a series of rounds, or change its DEFINITION.

    DEFINITION is a TOML file, or the name of one that the library brings: weekly (simulated, the default) or
    weekly-real.
    """
    from openfingym.questions import utc_text
    from openfingym.rounds.book import Book
    from openfingym.rounds.series import find_definition

    book = Book.begin(find_definition(definition), time.time_ns())
    series = book.series
    first = next(series.schedule.rounds(series.zone, book.since_ns, 2**62))
    document = {
        "series": series.name,
        "title": series.title,
        "clock": series.clock,
        "simulated": series.simulated,
        "since": utc_text(book.since_ns),
        "first_round": {"round": first.week, "generation": utc_text(first.generated_ns)}
        | {"deadline": utc_text(first.deadline_ns)},
        "folder": str(book.folder),
    }
    if as_json:
        print_json(document)
        return
    click.echo(f"{series.name}: {series.title}")
    click.echo(f"  clock    {_clock(book)}")
    click.echo(f"  first    {first.week}, generated {utc_text(first.generated_ns)}")
    click.echo(f"  folder   {book.folder}")
    now = " --now TIME" if series.simulated else ""
    click.echo(f"Go on with `openfingym rounds tick {series.name}{now}`.")


@rounds.command()
@series_argument
@click.option("--now", metavar="TIME", help="Move the simulated clock there first, such as 2026-11-26T00:00:00Z.")
@verifier_option
@folder_option
@json_option("an object")
@click.pass_context
def tick(
    ctx: click.Context, series: str | None, now: str | None, verifier: str | None, folder: Path | None, as_json: bool
) -> None:
    """Do whatever is due in a SERIES: generate, close, resolve, void, publish.

    It may come at any time, from cron, and as often as one likes. What could not be done is on stderr, the exit status
    is 4 then, and the next tick tries again.
    """
    from openfingym.cli.printable import printable
    from openfingym.questions import moment_ns, utc_text
    from openfingym.rounds.book import Book
    from openfingym.rounds.tick import tick as do

    book = Book.find(series)
    moment = None if now is None else moment_ns(now)
    # Of a verifier elsewhere only HTTP is at hand; reports are made from the ledger's file.
    publish = None if verifier and folder is None else _publisher(book, folder_of(folder))
    with _ledger(verifier, folder) as ledger:
        done = do(book, ledger, publish, moment)
    document = {
        "series": book.series.name,
        "simulated": book.series.simulated,
        "now": utc_text(done.now_ns),
        "done": [one.to_dict() for one in done.deeds],
        "faults": [one.to_dict() for one in done.faults],
    }
    if as_json:
        print_json(document)
    else:
        _print_deeds(book, document)
    for fault in done.faults:
        click.echo(printable(f"error: {fault.week} {fault.reason}".replace("  ", " ")), err=True)
    if done.faults:
        ctx.exit(FAILED)


@rounds.command()
@series_argument
@verifier_option
@folder_option
@json_option("an object")
def status(series: str | None, verifier: str | None, folder: Path | None, as_json: bool) -> None:
    """Show where a SERIES stands: its rounds, deadlines and forecasts, and what is due."""
    from openfingym.questions import utc_text
    from openfingym.rounds.book import Book
    from openfingym.rounds.status import status as look

    book = Book.find(series)
    with _ledger(verifier, folder) as ledger:
        found = look(book, ledger)
    if as_json:
        document = {
            "series": book.series.name,
            "title": book.series.title,
            "clock": book.series.clock,
            "simulated": book.series.simulated,
            "now": utc_text(found.now_ns),
            "rounds": [one.to_dict() for one in found.rounds],
            "earlier_rounds": found.earlier,
            "next": {"at": utc_text(found.next_ns), "what": found.next_what},
        }
        print_json(document)
        return
    click.echo(f"{book.series.name}: {book.series.title}; {_clock(book)}, now {utc_text(found.now_ns)}")
    rows = [
        (
            one.week,
            one.state,
            utc_text(one.deadline_ns),
            sum(one.questions.values()),
            sum(one.questions.get(state, 0) for state in ("scored", "void")),
            one.forecasts,
            ", ".join(one.due) or "-",
        )
        for one in found.rounds
    ]
    columns = ["round", "state", "deadline", "questions", "settled", "forecasts", "due"]
    if rows:
        print_table("", columns, rows, right=("questions", "settled", "forecasts"), optional=("settled",))
    else:
        click.echo("no round yet")
    if found.earlier:
        click.echo(f"and {found.earlier} earlier rounds")
    click.echo(f"next: {found.next_what} at {utc_text(found.next_ns)}")


@rounds.command()
@series_argument
@folder_option
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with plots there, too.")
@json_option("an object")
def report(series: str | None, folder: Path | None, html: Path | None, as_json: bool) -> None:
    """Report on the scored forecasts of a SERIES: who is better, and by how much.

    The ledger is only read; a verifier may be using it.
    """
    from openfingym.cli.forecast_report import print_forecast_report
    from openfingym.files.whole import write_text
    from openfingym.reports.forecasts import forecast_report
    from openfingym.rounds.book import Book

    book = Book.find(series)
    if folder is None and not folder_of(folder).exists():
        raise UsageError(f"{book.series.name} has asked nothing yet; begin with `openfingym rounds tick`")
    found = forecast_report(folder_of(folder), where=_where(book))
    if html is not None:
        write_text(html, found.html(), errors="backslashreplace")
    if as_json:
        print_json({"series": book.series.name, "simulated": book.series.simulated, **found.to_dict()})
        return
    click.echo(f"{book.series.name}: {book.series.title}")
    print_forecast_report(found)
    if not found.forecasts:
        click.echo(f"Nothing is scored yet; `openfingym rounds status {book.series.name}` says when something will be.")
    if html is not None:
        click.echo(html.absolute())


def _publisher(book: Book, folder: Path) -> Publisher:
    """Writes the report of a series into the folder of a round."""

    def publish(times: RoundTimes, now_ns: int) -> None:
        from openfingym.questions import utc_text
        from openfingym.reports.forecasts import forecast_report
        from openfingym.rounds.tick import REPORT

        found = forecast_report(folder, where=_where(book))
        book.write(times.week, PAGE, found.html())
        published = {"series": book.series.name, "simulated": book.series.simulated, "published_at": utc_text(now_ns)}
        # The last, since a report is published once this file is there.
        book.write(times.week, REPORT, published | found.to_dict())

    return publish


def _where(book: Book) -> dict[str, list[str]]:
    from openfingym.rounds.generator import round_name

    return {"round": [round_name(book.series.name, "*")]}


@contextmanager
def _ledger(verifier: str | None, folder: Path | None) -> Iterator[LedgerClient]:
    """The verifier at an address, or one of one's own on a folder."""
    from openfingym.rounds.ledger import LedgerClient

    with connected(verifier, None if verifier else folder) as client:
        yield LedgerClient(client)


def _clock(book: Book) -> str:
    """Whose time counts, for people."""
    return "SIMULATED clock, which `rounds tick --now` moves" if book.series.simulated else "real clock"


def _print_deeds(book: Book, document: dict[str, Any]) -> None:
    series = book.series
    click.echo(f"{series.name}: {series.title}; {_clock(book)}, now {document['now']}")
    rows = [(one["at"], one["round"] or "-", one["what"], one["detail"]) for one in document["done"]]
    if rows:
        print_table("", ["at", "round", "done", "detail"], rows)
    else:
        click.echo("nothing was due")
