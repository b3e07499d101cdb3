"""``openfingym ledger ...``: questions about what has not happened yet, and their forecasts."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.forecast_report import report_command
from openfingym.cli.ledger_passes import advance, import_history, resolve
from openfingym.cli.ledger_place import connected, folder_of, folder_option, mark_of, place_options
from openfingym.cli.options import json_option
from openfingym.cli.printable import one_line, say
from openfingym.cli.render import print_json, print_table
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.verifiers.client import VerifierClient

STATES = ("pending", "resolvable", "resolved", "scored", "void", "error")
"""States of a question, in the order in which they are printed."""
FORECASTS = 1000
"""The most forecasts of a question that are shown."""
TEXT = 50
"""The most characters of a question's text in a table."""


@click.group()
def ledger() -> None:
    """List, resolve, verify, report on and import questions and their forecasts.

    Commands use the ledger in the store, or in --state-folder; with --verifier they ask a running verifier, which needs
    its admin token.
    """


for command in (resolve, advance, import_history, report_command):
    ledger.add_command(command)


@ledger.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only questions in this state.")
@click.option("--round", "round_name", metavar="NAME", help="Only questions of this round.")
@click.option("--open", "only_open", is_flag=True, help="Only questions that take forecasts now.")
@click.option("--limit", type=click.IntRange(min=1), default=200, show_default=True, help="At most so many.")
@place_options
@json_option("a list, an object a question")
def list_questions(
    state: str | None,
    round_name: str | None,
    only_open: bool,
    limit: int,
    address: str | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """List questions in the order in which they were asked."""
    # Without a verifier's address the ledger's file is read, while a verifier may be using it.
    if address:
        with connected(address, folder) as client:
            questions = client.questions.list(state=state, round_name=round_name, only_open=only_open)
            rows = list(islice(questions, limit))
    else:
        from openfingym_verifier.questions import reading
        from openfingym_verifier.questions.offline import reading as opened

        with opened(folder_of(folder)) as connection:
            clocks = {"real": time.time_ns(), **reading.clocks_of(connection)} if only_open else None
            rows = reading.questions(connection, state=state, round_name=round_name, open_at=clocks, limit=limit)
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("no such questions" if state or round_name or only_open else "no questions yet")
        return
    print_table(
        "",
        ["question", "state", "form", "deadline (UTC)", "resolved from", "forecasts", "data", "asked"],
        [_line(row) for row in rows],
        right=["forecasts"],
        optional=["asked", "form", "resolved from"],
    )
    if len(rows) == limit:
        say(f"the first {limit}; see more with --limit", err=True)


@ledger.command()
@click.argument("question")
@click.option(
    "--receipts",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write a file for each scored forecast there, which `openfingym receipt verify` checks.",
)
@place_options
@json_option("an object")
def show(question: str, receipts: Path | None, address: str | None, folder: Path | None, as_json: bool) -> None:
    """Show QUESTION: how it is resolved, what came, and what was forecast."""
    # Only a verifier makes receipts, which have signatures of its log.
    if address or receipts:
        with connected(address, folder) as client:
            known = client.questions.show(question)
            made = list(islice(client.questions.forecasts(question=question), FORECASTS))
            if receipts:
                _write_receipts(client, known, made, receipts)
    else:
        from openfingym_verifier.questions import reading
        from openfingym_verifier.questions.offline import reading as opened

        with opened(folder_of(folder)) as connection:
            row = reading.question(connection, question)
            if row is None:
                raise UsageError(f"there is no question {question[:100]!r}; see `openfingym ledger list`")
            known, made = row, reading.forecasts(connection, principal=None, question_name=question)
    from openfingym.reports.forecasts.isolation import isolations_of_series

    asked = known["question"]
    isolations = isolations_of_series(asked["id"], made)
    made = [{**one, "isolation": isolation} for one, isolation in zip(made, isolations, strict=True)]
    if as_json:
        print_json({**known, "forecasts": made})
        return
    say(f"{asked['id']}  {known['state']}{mark_of(asked['clock'], simulated=known['simulated'])}")
    for line in (asked["text"], asked["rules"], known["reason"]):
        if line:
            say(line)
    for resolution in known["resolutions"]:
        truth = resolution["truth"]
        told = "no truth" if truth is None else f"truth {json.dumps(truth, ensure_ascii=False)}"
        origin = f"{resolution['source']} {resolution['vintage']}"
        say(f"{resolution['kind']} {resolution['fetched_at']}: {told}, {origin}".rstrip())
    _print_forecasts(made)


def _print_forecasts(made: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of the forecasts of a question, in which agents that ran outside isolation have a mark."""
    from openfingym.reports.forecasts.isolation import with_mark

    rows = [
        (
            with_mark(forecast["agent"], forecast["isolation"]),
            forecast["version"],
            forecast["received_at"],
            json.dumps(forecast["answer"], ensure_ascii=False),
            "yes" if forecast["counts"] else "no",
            forecast["loss"],
        )
        for forecast in made
    ]
    print_table(
        "",
        ["agent", "version", "received", "answer", "counts", "loss"],
        [(*row[:5], "-" if row[5] is None else f"{row[5]:.4g}") for row in rows],
        right=["loss"],
        optional=["version"],
    )


@ledger.command()
@place_options
@json_option("an object")
def status(address: str | None, folder: Path | None, as_json: bool) -> None:
    """Say how many questions and forecasts there are in each state, and what is due."""
    if address:
        with connected(address, folder) as client:
            counts = client.questions.status()
    else:
        from openfingym_verifier.questions import reading
        from openfingym_verifier.questions.offline import reading as opened

        with opened(folder_of(folder)) as connection:
            counts = reading.status(connection, time.time_ns())
    if as_json:
        print_json(counts)
        return
    print_table(
        "",
        ["state", "questions", "forecasts that count"],
        [(state, counts["questions"][state], counts["counting"][state]) for state in STATES],
        right=["questions", "forecasts that count"],
    )
    say(f"{counts['forecasts']} forecasts, {counts['due']} questions due, {counts['log_entries']} entries in the log")
    if counts["next_due"]:
        say(f"next due {counts['next_due']}")
    for name, now in counts["clocks"].items():
        say(f"clock {name}: {now}{mark_of(name)}")


@ledger.command()
@click.option(
    "--since",
    "earlier",
    type=click.Path(exists=True, path_type=Path),
    metavar="CHECKPOINT",
    help="A checkpoint that the log gave before, as a file, a receipt or a run's folder: the log must begin with it.",
)
@folder_option
@json_option("an object")
def verify(earlier: Path | None, folder: Path | None, as_json: bool) -> None:
    """Check the ledger against its log: that nothing in it was changed, dropped or moved.

    Whoever could write the file could also write all of it anew, which only an earlier checkpoint shows.
    """
    from openfingym_verifier.audit.ledger import verify_ledger

    checked = verify_ledger(folder_of(folder), earlier)
    if as_json:
        print_json({"entries": checked.entries, "head": checked.head, "root": checked.root})
    else:
        say(f"intact: {checked.entries} entries, head {checked.head}, root {checked.root}")


@ledger.command()
@click.argument("runs", nargs=-1, type=click.Path(file_okay=False, path_type=Path), metavar="[RUNS]...")
@place_options
@json_option("a list, an object a deferred result")
def sync(runs: tuple[Path, ...], address: str | None, folder: Path | None, as_json: bool) -> None:
    """Bring the scores of deferred results into the folders below RUNS, by default runs/.

    A result on disk that is deferred becomes scored, or void where too few of its questions were resolved; reports
    count it from then on. What is not settled yet stays as it is.
    """
    from openfingym.rollouts.syncing import sync as sync_results

    with connected(address, folder) as client:
        synced = [row for root in runs or (Path("runs"),) for row in sync_results(root, client)]
    if as_json:
        print_json([{"path": str(row.folder), "changed": row.changed, "state": row.result.state} for row in synced])
        return
    for row in synced:
        what = f"{row.result.task} {row.result.agent}: {row.result.state}"
        total = "" if row.result.total is None else f", total {row.result.total:.4g}"
        say(f"{row.folder}: {what}{total}{'' if row.changed else ', not resolved yet'}")
    say(f"{sum(row.changed for row in synced)} of {len(synced)} deferred results are settled now")


def _line(row: Mapping[str, Any]) -> tuple[object, ...]:
    """A question as cells of the list."""
    asked = row["question"]
    return (
        asked["id"],
        row["state"],
        asked["form"],
        _minute(asked["deadline_ns"]),
        _minute(asked["evaluation_ns"]),
        row["forecasts"],
        mark_of(asked["clock"], simulated=row["simulated"]).strip() or "real",
        one_line(asked["text"], TEXT),
    )


def _minute(time_ns: int) -> str:
    """A time in nanoseconds since the epoch as text, to the minute and in UTC."""
    from openfingym.questions import utc_text

    return utc_text(time_ns)[:16].replace("T", " ")


def _write_receipts(
    client: VerifierClient, question: Mapping[str, Any], made: Sequence[Mapping[str, Any]], folder: Path
) -> None:
    """Write a file for each forecast that is scored.

    Args:
        client: speaks to the verifier that has the question.
        question: the question with its resolutions.
        made: forecasts of the question.
        folder: folder of the files; made if missing.

    Raises:
        StoreError: a file cannot be written.
    """
    from openfingym.files.whole import store_errors, write_json
    from openfingym.verifiers.forecast_check import scored_forecast

    with store_errors(folder, "choose another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        for forecast in made:
            if forecast["score_row"] is not None:
                path = folder / f"forecast-{forecast['forecast']}.json"
                write_json(path, scored_forecast(client, question, forecast))
