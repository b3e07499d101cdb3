"""``openfingym rounds ...``: live benchmarks, which ask questions every week and resolve them by a schedule."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.ledger_place import folder_of, folder_option
from openfingym.cli.options import isolated_option, json_option
from openfingym.cli.plugin_groups import OpenGroup
from openfingym.cli.printable import say
from openfingym.cli.render import print_json, print_table
from openfingym.cli.rounds_place import (
    FAILED,
    about,
    clock_line,
    opened_ledger,
    publisher,
    report_of,
    reporter_of,
    series_argument,
    title,
    verifier_option,
)
from openfingym.cli.rounds_prove import prove
from openfingym.cli.rounds_run import run
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.rounds.book import Book
    from openfingym.rounds.status import SeriesStatus

SERIES = "weekly"
"""Name of the definition that is begun where none is named."""


@click.group(cls=OpenGroup)
def rounds() -> None:
    """Run a live benchmark: rounds of questions, by a schedule."""


for command in (run, prove):
    rounds.add_command(command)


@rounds.command()
@click.argument("definition", default=SERIES)
@click.option(
    "--clock",
    type=click.Choice(["simulated", "real", "replayed"]),
    help="Whose time counts, in the place of what the definition says: one that moves as it is told; the verifier's "
    "own; or one that moves as it is told through a recorded past, whose truths are real.",
)
@json_option("an object")
def init(definition: str, clock: str | None, as_json: bool) -> None:
    """Begin a series of rounds, or change its DEFINITION.

    DEFINITION is a TOML file, or the name of one that the library brings: weekly (simulated, the default),
    weekly-real, and others in rounds/. Commands that name no series mean the one that was begun last.
    """
    from openfingym.questions import utc_text
    from openfingym.rounds.book import Book
    from openfingym.rounds.series import find_definition

    book = Book.begin(find_definition(definition), time.time_ns(), clock=clock)
    series = book.series
    # The end is beyond every schedule, in nanoseconds since the epoch.
    first = next(series.schedule.rounds(series.zone, book.since_ns, 2**62))
    document = {
        "series": series.name,
        "title": series.title,
        "clock": series.clock,
        "simulated": series.simulated,
        "replayed": series.replayed,
        "weeks": series.weeks,
        "since": utc_text(book.since_ns),
        "first_round": {"round": first.week, "generation": utc_text(first.generated_ns)}
        | {"deadline": utc_text(first.deadline_ns)},
        "folder": str(book.folder),
    }
    if as_json:
        print_json(document)
        return
    say(title(book))
    say(f"  clock    {clock_line(book)}")
    say(f"  first    {first.week}, generated {utc_text(first.generated_ns)}")
    say(f"  folder   {book.folder}")
    if not series.moved:
        say(f"Go on with `openfingym rounds tick {series.name}`.")
        return
    weeks = " --weeks N" if series.weeks is None else ""
    say(
        f"Go on with `openfingym rounds run {series.name}{weeks} --agent NAME`, or step by step with "
        f"`openfingym rounds tick {series.name} --now TIME`."
    )


@rounds.command()
@series_argument
@click.option(
    "--now", metavar="TIME", help="Move a clock that is not the real one there first, such as 2026-11-26T00:00:00Z."
)
@verifier_option
@folder_option
@isolated_option
@json_option("an object")
@click.pass_context
def tick(
    ctx: click.Context,
    series: str | None,
    now: str | None,
    verifier: str | None,
    folder: Path | None,
    isolated_only: bool,
    as_json: bool,
) -> None:
    """Do whatever is due in a SERIES: generate, close, resolve, void, publish.

    It may come at any time, from cron, and as often as one likes. What could not be done is on stderr, the exit status
    is 4 then, and the next tick tries again.
    """
    from openfingym.questions import moment_ns, utc_text
    from openfingym.rounds.book import Book
    from openfingym.rounds.tick import tick as do

    book = Book.find(series)
    moment = None if now is None else moment_ns(now)
    # Reports are made from the ledger's file, which a verifier elsewhere does not give.
    publish = None if verifier and folder is None else publisher(book, folder_of(folder), isolated_only=isolated_only)
    with opened_ledger(verifier, folder) as ledger:
        done = do(book, ledger, publish, moment)
    document = {
        "series": book.series.name,
        "simulated": book.series.simulated,
        "replayed": book.series.replayed,
        "now": utc_text(done.now_ns),
        "done": [action.to_dict() for action in done.actions],
        "faults": [fault.to_dict() for fault in done.faults],
    }
    if as_json:
        print_json(document)
    else:
        _print_actions(book, document)
    for fault in done.faults:
        # A fault of the series as a whole has no week.
        say(f"error: {fault.week} {fault.reason}".replace("  ", " "), err=True)
    if done.faults:
        ctx.exit(FAILED)


@rounds.command()
@series_argument
@verifier_option
@folder_option
@json_option("an object")
def status(series: str | None, verifier: str | None, folder: Path | None, as_json: bool) -> None:
    """Show where a SERIES stands: its rounds, deadlines and forecasts, and what is due, in each of its passes."""
    from openfingym.rounds.book import Book
    from openfingym.rounds.passes import passes_of
    from openfingym.rounds.status import status as look

    book = Book.find(series)
    with opened_ledger(verifier, folder) as ledger:
        states = [(one, look(one, ledger)) for one in passes_of(book)]
    if as_json:
        named = {"title": book.series.title, "clock": book.series.clock}
        later = [{"pass": one.number} | state.to_dict() for one, state in states[1:]]
        print_json(about(book) | named | states[0][1].to_dict() | {"later_passes": later})
        return
    for one, state in states:
        _print_status(f"{title(book)}; {clock_line(book)}" if one.number == 1 else f"\npass {one.number}", state)


def _print_status(heading: str, state: SeriesStatus) -> None:
    """Print where a pass of a series stands."""
    from openfingym.questions import utc_text

    say(f"{heading}, now {utc_text(state.now_ns)}")
    rows = [
        (
            row.week,
            row.state,
            utc_text(row.deadline_ns),
            sum(row.questions.values()),
            sum(row.questions.get(settled, 0) for settled in ("scored", "void")),
            row.forecasts,
            ", ".join(row.due) or "-",
        )
        for row in state.rounds
    ]
    columns = ["round", "state", "deadline", "questions", "settled", "forecasts", "due"]
    if rows:
        print_table("", columns, rows, right=("questions", "settled", "forecasts"), optional=("settled",))
    else:
        say("no round yet")
    if state.earlier:
        say(f"and {state.earlier} earlier rounds")
    say(f"next: {state.next_what} at {utc_text(state.next_ns)}")


@rounds.command()
@series_argument
@folder_option
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with plots there, too.")
@isolated_option
@json_option("an object")
def report(series: str | None, folder: Path | None, html: Path | None, isolated_only: bool, as_json: bool) -> None:
    """Report on the scored forecasts of a SERIES: who is better, and by how much.

    Whoever brings the questions may bring their report: of a series whose questions say which track and level they are
    of, the tables are accuracy by method, track, market and week, skill, errors, and cost.

    The ledger is only read; a verifier may be using it.
    """
    from openfingym.files.whole import write_text
    from openfingym.rounds.book import Book

    book = Book.find(series)
    if folder is None and not folder_of(folder).exists():
        raise UsageError(f"{book.series.name} has asked nothing yet; begin with `openfingym rounds tick`")
    reporter = reporter_of(book, folder_of(folder))
    made = report_of(reporter, book, folder_of(folder), isolated_only=isolated_only)
    if html is not None:
        write_text(html, made.html(), errors="backslashreplace")
    if as_json:
        print_json(about(book) | made.to_dict())
        return
    say(title(book))
    reporter.show(made)
    if not made.forecasts:
        say(f"Nothing is scored yet; `openfingym rounds status {book.series.name}` says when something will be.")
    if html is not None:
        say(html.absolute())


def _print_actions(book: Book, document: dict[str, Any]) -> None:
    """Print what a tick has done."""
    say(f"{title(book)}; {clock_line(book)}, now {document['now']}")
    rows = [(action["at"], action["round"] or "-", action["what"], action["detail"]) for action in document["done"]]
    if rows:
        print_table("", ["at", "round", "done", "detail"], rows)
    else:
        say("nothing was due")
