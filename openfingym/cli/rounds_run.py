"""``openfingym rounds run``: playing a season with agents."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.ledger_place import folder_of, folder_option
from openfingym.cli.model_options import ModelOptions, model_options, patience_option
from openfingym.cli.printable import printable
from openfingym.cli.render import print_json
from openfingym.cli.rounds_place import (
    FAILED,
    about,
    clock_line,
    opened_ledger,
    publisher,
    series_argument,
    title,
    verifier_option,
)
from openfingym.cli.task import json_option, quiet_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.models.spec import ModelSpec
    from openfingym.rounds.book import Book
    from openfingym.rounds.running import SeriesOutcome

DEFAULT = "naive"


@click.command()
@series_argument
@click.option(
    "--weeks",
    type=click.IntRange(min=1),
    help="Rounds to play, counted from the first.  [default: all of the definition]",
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    help="Who forecasts; repeatable. A program such as naive, seasonal or consensus, or an agent that asks --model, "
    "such as direct, react or deep-research, with settings behind its name: react:tools=none.  [default: naive]",
)
@click.option(
    "--command",
    help="A program of your own, which forecasts too: it reads a question as JSON on stdin, and prints an answer as "
    "JSON.",
)
@model_options()
@click.option(
    "--cutoff",
    metavar="MONTH",
    help="The last month, such as 2024-06, or day that --model was trained on: reports hold a season's dates against "
    "it.",
)
@patience_option
@click.option(
    "--question-limit",
    type=click.FloatRange(min=0.0, min_open=True),
    default=900.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest that a question may take an agent.",
)
@click.option(
    "--week-limit",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="SECONDS",
    help="Longest that an agent may take for a week's questions; what it has not answered by then is missing.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Questions that an agent is asked at once.",
)
@verifier_option
@folder_option
@quiet_option
@json_option("an object")
@click.pass_context
def run(
    ctx: click.Context,
    series: str | None,
    weeks: int | None,
    agents: tuple[str, ...],
    command: str | None,
    model: ModelOptions,
    cutoff: str | None,
    patience: float | None,
    question_limit: float,
    week_limit: float | None,
    parallel: int,
    verifier: str | None,
    folder: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Play a SERIES with agents: generate each round, have it forecast before the deadline, resolve, publish.

    Time passes by itself where the clock is simulated or replayed, until every question is settled. By the real clock
    the questions that are open now are forecast, and you are told when to come again. Limits of the model hold for each
    question. Killed or stopped, it is gone on with by the same command: nothing is asked or entered twice. What could
    not be done is on stderr, and the exit status is 4 then.
    """
    from openfingym.agents.forecasting import find_forecasters
    from openfingym.models.endpoint import PATIENCE_S
    from openfingym.rounds.book import Book
    from openfingym.rounds.running import run as play

    book = Book.find(series)
    chosen = agents or (() if command else (DEFAULT,))
    argv = None if command is None else tuple(shlex.split(command))
    publish = None if verifier and folder is None else publisher(book, folder_of(folder))
    tell = _silent if quiet or as_json else _tell
    if tell is _tell:
        click.echo(f"{title(book)}; {clock_line(book)}")
    with (
        book.running(),
        find_forecasters(
            chosen,
            argv,
            spec=_spec(model, cutoff),
            allowance=model.allowance(),
            prices=model.price_table(),
            sampled=model.sampled,
            patience_s=patience or PATIENCE_S,
            question_s=question_limit,
            parallel=parallel,
        ) as forecasters,
        opened_ledger(verifier, folder) as ledger,
    ):
        played = play(book, ledger, publish, forecasters, weeks=weeks, week_limit_s=week_limit, listener=tell)
    if as_json:
        print_json(_document(book, played))
    else:
        _print_end(book, played)
    if quiet or as_json:
        for fault in played.faults:
            click.echo(printable(f"error: {fault.week} {fault.reason}".replace("  ", " ")), err=True)
    if played.faults:
        ctx.exit(FAILED)


def _spec(model: ModelOptions, cutoff: str | None) -> ModelSpec | None:
    """The model, with its cut-off."""
    from openfingym.models.cutoffs import require_cutoff

    spec = model.spec()
    if cutoff is None:
        return spec
    if spec is None:
        raise UsageError("--cutoff is a model's; give --model, too")
    return replace(spec, cutoff=require_cutoff(cutoff))


def _silent(_: object) -> None:
    """Say nothing."""


def _tell(what: Any) -> None:
    """Say what was done, as it is."""
    from openfingym.questions import utc_text
    from openfingym.rounds.running import Forecasted
    from openfingym.rounds.tick import TickFailure

    if isinstance(what, TickFailure):
        click.echo(printable(f"error: {what.week} {what.reason}".replace("  ", " ")), err=True)
    elif isinstance(what, Forecasted):
        counts = ", ".join(f"{count} {state}" for state, count in sorted(what.counts.items()))
        click.echo(printable(f"{what.week:9} forecast   {what.agent}: {counts or 'nothing'}"))
    else:
        week = what.week or utc_text(what.at_ns)[:10]
        click.echo(printable(f"{week:9} {what.what:10} {what.detail}"))


def _document(book: Book, played: SeriesOutcome) -> dict[str, Any]:
    from openfingym.questions import utc_text

    return about(book) | {
        "now": utc_text(played.now_ns),
        "complete": played.complete,
        "unsettled": played.unsettled,
        "done": [one.to_dict() for one in played.actions],
        "forecasts": [one.to_dict() for one in played.forecasts],
        "faults": [one.to_dict() for one in played.faults],
        "receipt": None if played.receipt is None else str(played.receipt),
        "again": None if played.again_ns is None else utc_text(played.again_ns),
    }


def _print_end(book: Book, played: SeriesOutcome) -> None:
    from openfingym.questions import utc_text

    name = book.series.name
    click.echo(f"now {utc_text(played.now_ns)}, by the clock of {name}")
    if played.complete:
        click.echo(f"Every question is settled: `openfingym rounds report {name}`.")
    elif played.faults:
        click.echo("It stopped; the same command goes on from here.")
    elif played.again_ns is not None:
        click.echo(f"Come again after {utc_text(played.again_ns)}.")
    elif played.unsettled:
        click.echo(f"{played.unsettled} questions wait for their truth; more --weeks go on.")
    if played.receipt is not None:
        click.echo(f"A receipt: `openfingym receipt verify {shlex.quote(str(played.receipt))}`")
