"""``openfingym ledger ...``: questions about what has not happened yet, and their forecasts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from openfingym.cli.printable import one_line, printable
from openfingym.cli.render import print_json, print_table
from openfingym.cli.task import json_option
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.verifiers.client import VerifierClient

C = TypeVar("C", bound=Callable[..., object])
STATES = ("pending", "resolvable", "resolved", "scored", "void", "error")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
TEXT = 60
"""Characters of a question's text that a table has room for."""
SIMULATED = "SIMULATED"
NUMBERS = ("resolved", "void", "waiting", "error", "revised", "scored", "forecasts")


def place_options(command: C) -> C:
    """The options that say which ledger is meant."""
    command = click.option(
        "--state-folder",
        "folder",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder of the ledger. Default: ledger/ in the store.",
    )(command)
    return click.option(
        "--verifier",
        "address",
        metavar="LOCATION",
        help="URL or unix socket of a running verifier, in place of a folder.",
    )(command)


@click.group()
def ledger() -> None:
    """List, resolve, verify and import questions and their forecasts.

    Commands use the ledger in the store, or in --state-folder; with --verifier they ask a running verifier, which needs
    its admin token.
    """


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
    if address:
        with connected(address, folder) as client:
            found = client.questions.list(state=state, round_name=round_name, only_open=only_open)
            rows = list(islice(found, limit))
    else:
        from openfingym_verifier.questions import reading
        from openfingym_verifier.questions.offline import reading as opened

        with opened(folder_of(folder)) as connection:
            clocks = {"real": time.time_ns(), **reading.clocks_of(connection)} if only_open else None
            rows = reading.questions(connection, state=state, round_name=round_name, open_at=clocks, limit=limit)
    if as_json:
        print_json(rows)
        return
    print_table(
        "",
        ["question", "state", "form", "deadline", "resolved from", "forecasts", "data", "asked"],
        [_line(row) for row in rows],
        right=["forecasts"],
        optional=["asked", "form"],
    )
    if len(rows) == limit:
        click.echo(f"the first {limit}; see more with --limit", err=True)


@ledger.command()
@click.argument("question")
@place_options
@json_option("an object")
def show(question: str, address: str | None, folder: Path | None, as_json: bool) -> None:
    """Show QUESTION: how it is resolved, what came, and what was forecast."""
    if address:
        with connected(address, folder) as client:
            found = client.questions.show(question)
            made = list(islice(client.questions.forecasts(question=question), 1000))
    else:
        from openfingym_verifier.questions import reading
        from openfingym_verifier.questions.offline import reading as opened

        with opened(folder_of(folder)) as connection:
            known = reading.question(connection, question)
            if known is None:
                raise UsageError(f"there is no question {question[:100]!r}; see `openfingym ledger list`")
            found, made = known, reading.forecasts(connection, principal=None, question_name=question)
    if as_json:
        print_json({**found, "forecasts": made})
        return
    asked = found["question"]
    click.echo(printable(f"{asked['id']}  {found['state']}{f'  {SIMULATED}' if found['simulated'] else ''}"))
    for line in (asked["text"], asked["rules"], found["reason"]):
        if line:
            click.echo(printable(line))
    for one in found["resolutions"]:
        said = "no truth" if one["truth"] is None else f"truth {one['truth']}"
        click.echo(printable(f"{one['kind']} {one['fetched_at']}: {said}, {one['source']} {one['vintage']}".rstrip()))
    rows = [
        (
            one["agent"],
            one["version"],
            one["received_at"],
            one["answer"],
            "yes" if one["counts"] else "no",
            one["loss"],
        )
        for one in made
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
            found = client.questions.status()
    else:
        from openfingym_verifier.questions import reading
        from openfingym_verifier.questions.offline import reading as opened

        with opened(folder_of(folder)) as connection:
            found = reading.status(connection, time.time_ns())
    if as_json:
        print_json(found)
        return
    print_table(
        "",
        ["state", "questions", "forecasts that count"],
        [(state, found["questions"][state], found["counting"][state]) for state in STATES],
        right=["questions", "forecasts that count"],
    )
    click.echo(
        f"{found['forecasts']} forecasts, {found['due']} questions due, {found['log_entries']} entries in the log"
    )
    if found["next_due"]:
        click.echo(f"next due {found['next_due']}")
    for name, now in found["clocks"].items():
        click.echo(printable(f"clock {name}: {now}  {SIMULATED}"))


@ledger.command()
@click.option(
    "--since",
    "earlier",
    type=click.Path(exists=True, path_type=Path),
    metavar="CHECKPOINT",
    help="A checkpoint that the log gave before, as a file, a receipt or a run's folder: the log must begin with it.",
)
@place_options
@json_option("an object")
def verify(earlier: Path | None, address: str | None, folder: Path | None, as_json: bool) -> None:
    """Check the ledger against its log: that nothing in it was changed, dropped or moved.

    Whoever could write the file could also write all of it anew, which only an earlier checkpoint shows.
    """
    from openfingym_verifier.ledger_check import verify_ledger

    if address:
        raise UsageError("a ledger is verified where its file is; leave out --verifier")
    found = verify_ledger(folder_of(folder), earlier)
    if as_json:
        print_json({"entries": found.entries, "head": found.head, "root": found.root})
    else:
        click.echo(f"intact: {found.entries} entries, head {found.head}, root {found.root}")


@ledger.command()
@click.argument("question", required=False)
@click.option("--outcome", metavar="TRUTH", help="What came: a number, yes or no, or the name of the outcome.")
@click.option("--void", metavar="REASON", help="There will be no truth, for this reason.")
@click.option("--evidence", metavar="TEXT", help="What the verdict rests on, such as an address.")
@click.option("--watch", is_flag=True, help="Go on until interrupted.")
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Seconds between two looks."
)
@click.option(
    "--void-after", "void_after", type=click.FloatRange(min=0.0), metavar="DAYS",
    help="Days after its evaluation time that a question is void without a truth. Default: 14.",
)  # fmt: skip
@place_options
@json_option("an object, one a line with --watch")
def resolve(
    question: str | None,
    outcome: str | None,
    void: str | None,
    evidence: str | None,
    watch: bool,
    every: float,
    void_after: float | None,
    address: str | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Resolve and score what is due; or decide one QUESTION, with --outcome or --void, and --evidence.

    A question that a provider decides can be voided, and what it decided corrected: the first decision counts, and the
    correction is kept beside it. The exit status is 4 where a provider could not be asked.
    """
    if question is not None:
        if (outcome is None) == (void is None) or not evidence or watch:
            raise UsageError("to decide a question, give --outcome or --void, and --evidence that it rests on")
        with connected(address, folder) as client:
            done = client.questions.decide(
                question, _truth(outcome), evidence={"evidence": evidence}, reason=void or ""
            )
            _print_pass(done, as_json=as_json)
        return
    if outcome is not None or void is not None or evidence is not None:
        raise UsageError("name the question that is decided: openfingym ledger resolve QUESTION --outcome ...")
    void_after_s = None if void_after is None else void_after * 86_400.0
    with connected(address, folder) as client:
        done = client.questions.resolve(everything=True, void_after_s=void_after_s)
        _print_pass(done, as_json=as_json, line=watch)
        while watch:
            time.sleep(every)
            done = client.questions.resolve(everything=False, void_after_s=void_after_s)
            if any(done[name] for name in NUMBERS):
                _print_pass(done, as_json=as_json, line=True)
    if done["error"]:
        click.get_current_context().exit(4)


@ledger.command()
@click.argument("clock")
@click.argument("moment", metavar="TIME")
@place_options
def advance(clock: str, moment: str, address: str | None, folder: Path | None) -> None:
    """Move the simulated CLOCK forward to TIME, such as 2025-11-26T00:00:00Z; one that is new is made."""
    from openfingym.questions import moment_ns

    with connected(address, folder) as client:
        click.echo(f"{printable(clock)}: {client.questions.advance(clock, moment_ns(moment))}  {SIMULATED}")


@ledger.command("import")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--clock", metavar="NAME", help="Simulated clock of the replay. Default: history/ and the first file's name."
)
@click.option("--agent", default="", metavar="NAME", help="Agent of forecasts that name none.")
@place_options
@json_option("an object")
def import_history(
    files: tuple[Path, ...], clock: str | None, agent: str, address: str | None, folder: Path | None, as_json: bool
) -> None:
    """Import a past season: questions with their outcomes, and forecasts, from JSON Lines.

    Field names are this library's own or ForecastBench's. Every line is checked before anything is recorded. Questions
    are asked on a simulated clock; forecasts that are given are made again, each at its time, while the clock passes
    and questions are resolved. Without forecasts, the questions wait for those of an agent, and for `openfingym ledger
    advance` and `openfingym ledger resolve`.
    """
    from openfingym.cli.ledger_history import replay
    from openfingym.questions.history import read_history

    name = clock or f"history/{''.join(c if c.isalnum() or c in '._-' else '-' for c in files[0].stem)}"
    history = read_history(files, clock=name, agent=agent)
    with connected(address, folder) as client:
        found = replay(client.questions, history, name)
    if as_json:
        print_json(found)
    else:
        click.echo(
            f"{found['questions']} questions, {found['forecasts']} forecasts, {found['scored']} questions scored, "
            f"{found['void']} void; clock {printable(name)}: {found['now']}  {SIMULATED}"
        )


@ledger.command()
@click.argument("runs", nargs=-1, type=click.Path(file_okay=False, path_type=Path), metavar="[RUNS]...")
@place_options
@json_option("a list, an object a deferred result")
def sync(runs: tuple[Path, ...], address: str | None, folder: Path | None, as_json: bool) -> None:
    """Bring the scores of deferred results into the folders below RUNS, by default runs/.

    A result on disk that is deferred becomes scored, or void where too few of its questions were resolved; reports
    count it from then on. What is not settled yet stays as it is.
    """
    from openfingym.rollouts.syncing import sync as brought

    with connected(address, folder) as client:
        found = [one for root in runs or (Path("runs"),) for one in brought(root, client)]
    if as_json:
        print_json([{"path": str(one.folder), "changed": one.changed, "state": one.result.state} for one in found])
        return
    for one in found:
        said = f"{one.result.task} {one.result.agent}: {one.result.state}"
        total = "" if one.result.total is None else f", total {one.result.total:.4g}"
        click.echo(printable(f"{one.folder}: {said}{total}{'' if one.changed else ', not resolved yet'}"))
    click.echo(f"{sum(one.changed for one in found)} of {len(found)} deferred results are settled now")


def folder_of(folder: Path | None) -> Path:
    """The folder of the ledger that is meant."""
    from openfingym import store

    return folder or store.ledger_folder()


@contextlib.contextmanager
def connected(address: str | None, folder: Path | None) -> Iterator[VerifierClient]:
    """A client of the verifier at an address, or of one that is started on the folder, once nobody else uses that."""
    from openfingym.verifiers import VerifierAddress
    from openfingym.verifiers.address import token_of_environment
    from openfingym.verifiers.client import VerifierClient

    if address:
        if folder is not None:
            raise UsageError("give one of --verifier and --state-folder")
        with VerifierAddress(address, token_of_environment(address)).connect() as client:
            yield client
        return
    from openfingym.verifiers.local import start_on, unsettled_packages

    state = folder_of(folder)
    with (
        start_on(state, unsettled_packages(state), lambda line: click.echo(line, err=True)) as embedded,
        VerifierClient(uds=embedded.uds, admin_token=embedded.admin_token) as client,
    ):
        yield client


def _line(row: Mapping[str, Any]) -> tuple[object, ...]:
    from openfingym.questions import utc_text

    asked = row["question"]
    return (
        asked["id"],
        row["state"],
        asked["form"],
        utc_text(asked["deadline_ns"]),
        utc_text(asked["evaluation_ns"]),
        row["forecasts"],
        SIMULATED if row["simulated"] else "real",
        one_line(asked["text"], TEXT),
    )


def _truth(outcome: str | None) -> object:
    if outcome is None:
        return None
    try:
        return float(outcome)
    except ValueError:
        return outcome


def _print_pass(done: Mapping[str, Any], *, as_json: bool, line: bool = False) -> None:
    import json

    if as_json:
        click.echo(json.dumps(done) if line else json.dumps(done, indent=2))
        return
    click.echo(", ".join(f"{done[name]} {name}" for name in NUMBERS if done[name]) or "nothing is due")
    for question, reason in done["problems"].items():
        click.echo(printable(f"  {question}: {reason}"), err=True)
