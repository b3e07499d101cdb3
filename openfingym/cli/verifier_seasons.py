"""``openfingym verifier season`` and ``enter``: opening and closing seasons, entering rollouts, and the board."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import printable, say
from openfingym.cli.render import print_json, print_table
from openfingym.cli.verifier_members import address_option, client_of

if TYPE_CHECKING:
    from openfingym.results.result import SeasonKind
    from openfingym.verifiers.answers import Board, Season


@click.group()
def season() -> None:
    """Open and close seasons, and show their boards.

    The close tells all that participants entered, together and once, and retires the hidden data that were told of.
    """


@season.command("show")
@address_option
@json_option("an object")
def show_season(address: str | None, as_json: bool) -> None:
    """Show the latest season; with the admin token or a participant's key."""
    with client_of(address) as client:
        _print_season(client.season(), as_json=as_json)


@season.command("close")
@address_option
@json_option("an object")
def close_season(address: str | None, as_json: bool) -> None:
    """Close the season and tell what was entered in it; needs the admin token. Rollouts are created again in the
    next.
    """
    with client_of(address) as client:
        _print_season(client.close_season(), as_json=as_json)


@season.command("open")
@click.argument("name")
@click.option(
    "--disclosing",
    "kind",
    flag_value="disclosing",
    default="sealed",
    help="Tell all parties together a few rungs of a ladder before the close. Default: sealed, nothing before that.",
)
@click.option(
    "--reuse",
    multiple=True,
    metavar="TASK",
    help="Use the hidden data of TASK again, although an earlier season has told of them; the board says so. May be "
    "repeated.",
)
@address_option
@json_option("an object")
def open_season(name: str, kind: SeasonKind, reuse: tuple[str, ...], address: str | None, as_json: bool) -> None:
    """Open the season NAME; needs the admin token. Tasks whose hidden data were told are not in it."""
    with client_of(address) as client:
        _print_season(client.open_season(name, kind=kind, reuse=reuse), as_json=as_json)


@season.command("board")
@click.argument("name", required=False)
@address_option
@json_option("an object")
def show_board(name: str | None, address: str | None, as_json: bool) -> None:
    """Show the board of the season NAME, or of the latest one, once it is closed."""
    with client_of(address) as client:
        board = client.board(name or client.season().name)
    if as_json:
        print_json(asdict(board))
    else:
        _print_board(board)


@click.command()
@click.argument("rollout")
@click.option("--primary", is_flag=True, help="Make it the primary entry, which is ranked. Default: the first one is.")
@address_option
@json_option("an object")
def enter(rollout: str, primary: bool, address: str | None, as_json: bool) -> None:
    """Enter ROLLOUT in its season, to be told its result at the close; needs a participant's key.

    ROLLOUT is a run's folder or the id of a rollout. Up to three of a task that is answered in one array can be
    entered, before anything of their private fold is told; the primary one is ranked, and compared with the baseline
    among all primary entries. Of a task that is walked through or played, the first rollout is the entry of itself.
    """
    rollout_id = _id_of(rollout)
    with client_of(address) as client:
        entry = client.enter(rollout_id, primary=primary)
    if as_json:
        print_json(asdict(entry))
    else:
        say(f"entered {printable(entry.rollout_id)}{' as the primary entry' if entry.primary else ''}")


def _id_of(rollout: str) -> str:
    """The id of a rollout that is named by its run's folder, or by its id."""
    from openfingym.results import read_run

    return read_run(Path(rollout)).rollout_id if Path(rollout).is_dir() else rollout


def _print_season(latest: Season, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(latest))
        return
    until = "open" if latest.closed_at is None else f"closed {latest.closed_at}"
    say(f"season {latest.name}: {latest.kind}, opened {latest.opened_at}, {until}")
    say(f"{latest.primary_entries} primary entries, for which verdicts are adjusted")
    for name in latest.retired:
        say(f"not in it: {name}, whose hidden data were told at the close of a season")
    for name in latest.reused:
        say(f"used again: the hidden data of {name}, of which an earlier season has told")
    if latest.ladders:
        one = latest.ladders[0]
        say(
            f"a fold tells all parties together at most {one.most} results, as rungs of a ladder: at most "
            f"{latest.ladder_bits:.0f} bits of its labels"
        )
        print_table(
            "",
            ["task", "top of the ladder", "told"],
            [(ladder.task, f"{ladder.top:.2f}", f"{ladder.answers} of {ladder.most}") for ladder in latest.ladders],
        )


def _print_board(board: Board) -> None:
    rows = [
        (
            row.task,
            row.principal,
            row.agent or "-",
            row.state if row.relative_total is None else f"{row.relative_total:.3g}",
            "-" if row.p_holm is None else f"{row.p_holm:.1g}",
            "-" if row.q is None else f"{row.q:.1g}",
            row.verdict or ("replayed" if row.replayed else "not ranked"),
        )
        for row in board.rows
    ]
    title = f"Season {board.season}, {board.kind}, closed {board.closed_at}"
    print_table(title, ["task", "participant", "agent", "relative total", "p (Holm)", "q", "verdict"], rows)
    say(
        f"relative total: to two standard errors, towards the baseline, which is 1. p and q: adjusted for all "
        f"{board.primary_entries} primary entries, shown below 5 %; better: p below 5 %. q: false discovery rate."
    )
    for name in board.reused:
        say(f"{name}: its hidden data were told before, at the close of an earlier season")
