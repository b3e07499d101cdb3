"""``openfingym rounds run``: playing a season with agents."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.ledger_place import folder_of, folder_option
from openfingym.cli.model_options import ModelOptions, model_options, patience_option
from openfingym.cli.options import isolated_option, json_option, quiet_option
from openfingym.cli.printable import say
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
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.models.spec import ModelSpec
    from openfingym.rounds.book import Book
    from openfingym.rounds.running import SeriesOutcome

DEFAULT = "naive"
"""Name of the agent that forecasts where none is named, and no program is given."""


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
@model_options(many=True)
@click.option(
    "--cutoff",
    "cutoffs",
    metavar="[MODEL=]MONTH",
    multiple=True,
    help="The last month, such as 2024-06, or day that a model was trained on: reports hold a season's dates against "
    "it. Of several models, which one is meant: gpt-4o-mini=2023-10.",
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
@isolated_option
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
    cutoffs: tuple[str, ...],
    patience: float | None,
    question_limit: float,
    week_limit: float | None,
    parallel: int,
    verifier: str | None,
    folder: Path | None,
    isolated_only: bool,
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
    # Reports are made from the ledger's file, which a verifier elsewhere does not give.
    publish = None if verifier and folder is None else publisher(book, folder_of(folder), isolated_only=isolated_only)
    listener = _ignore if quiet or as_json else _print_event
    if listener is _print_event:
        say(f"{title(book)}; {clock_line(book)}")
    with (
        # Only one process plays a series at a time.
        book.running(),
        find_forecasters(
            chosen,
            argv,
            specs=_specs(model, cutoffs),
            allowance=model.allowance(),
            prices=model.price_table(),
            sampled=model.sampled,
            patience_s=patience or PATIENCE_S,
            question_s=question_limit,
            parallel=parallel,
        ) as forecasters,
        opened_ledger(verifier, folder) as ledger,
    ):
        played = play(book, ledger, publish, forecasters, weeks=weeks, week_limit_s=week_limit, listener=listener)
    if as_json:
        print_json(_document(book, played))
    else:
        _print_end(book, played)
    # Otherwise they were printed as they came.
    if quiet or as_json:
        for fault in played.faults:
            say(f"error: {fault.week} {fault.reason}".replace("  ", " "), err=True)
    if played.faults:
        ctx.exit(FAILED)


def _specs(model: ModelOptions, cutoffs: tuple[str, ...]) -> list[ModelSpec]:
    """The models with their cut-offs.

    Raises:
        UsageError: a model cannot be asked, or it is not clear of which model a cut-off is.
    """
    from openfingym.models.cutoffs import require_cutoff

    specs, stated = model.specs(), dict[str, str]()
    for text in cutoffs:
        # The last equals sign: names of models may have some too.
        name, _, cutoff = text.rpartition("=")
        asked = [spec for spec in specs if name in {"", spec.name}]
        if len(asked) != 1:
            models = ", ".join(spec.name for spec in specs) or "none is named"
            raise UsageError(f"--cutoff {text[:60]}: expected MODEL=MONTH of one of the models asked: {models}")
        if asked[0].name in stated:
            raise UsageError(f"--cutoff of {asked[0].name} is given twice; give it once")
        stated[asked[0].name] = require_cutoff(cutoff)
    return [replace(spec, cutoff=stated.get(spec.name)) if spec.name in stated else spec for spec in specs]


def _ignore(_: object) -> None:
    """Print nothing."""


def _print_event(event: Any) -> None:
    """Print a failure, the forecasts of an agent, or an action of a tick, as it happens."""
    from openfingym.questions import utc_text
    from openfingym.reports.forecasts.isolation import with_mark
    from openfingym.rounds.passes import Newcomer
    from openfingym.rounds.running import Forecasted
    from openfingym.rounds.tick import TickFailure

    if isinstance(event, Newcomer):
        how = f"plays the season from its first round, in pass {event.number}" if event.number > 1 else "joins now"
        passed = "a deadline has" if event.passed == 1 else f"{event.passed} deadlines have"
        say(f"{passed} passed: {with_mark(event.agent, event.isolation)} {how}")
    elif isinstance(event, TickFailure):
        # A failure of the series as a whole has no week.
        say(f"error: {event.week} {event.reason}".replace("  ", " "), err=True)
    elif isinstance(event, Forecasted):
        counts = ", ".join(f"{count} {state}" for state, count in sorted(event.counts.items()))
        say(f"{event.week:9} forecast   {with_mark(event.agent, event.isolation)}: {counts or 'nothing'}")
    else:
        week = event.week or utc_text(event.at_ns)[:10]
        say(f"{week:9} {event.what:10} {event.detail}")


def _document(book: Book, played: SeriesOutcome) -> dict[str, Any]:
    """What was done, as JSON has it."""
    from openfingym.questions import utc_text

    return about(book) | {
        "now": utc_text(played.now_ns),
        "complete": played.complete,
        "unsettled": played.unsettled,
        "done": [action.to_dict() for action in played.actions],
        "forecasts": [forecast.to_dict() for forecast in played.forecasts],
        "newcomers": [newcomer.to_dict() for newcomer in played.newcomers],
        "faults": [fault.to_dict() for fault in played.faults],
        "receipt": None if played.receipt is None else str(played.receipt),
        "again": None if played.again_ns is None else utc_text(played.again_ns),
    }


def _print_end(book: Book, played: SeriesOutcome) -> None:
    """Print how far the series came, and how it goes on."""
    from openfingym.questions import utc_text

    name = book.series.name
    say(f"now {utc_text(played.now_ns)}, by the clock of {name}")
    if played.complete:
        say(f"Every question is settled: `openfingym rounds report {name}`.")
    elif played.faults:
        say("It stopped; the same command goes on from here.")
    elif played.again_ns is not None:
        say(f"Come again after {utc_text(played.again_ns)}.")
    elif played.unsettled:
        say(f"{played.unsettled} questions wait for their truth; more --weeks go on.")
    if played.receipt is not None:
        say(f"A receipt: `openfingym receipt verify {shlex.quote(str(played.receipt))}`")
