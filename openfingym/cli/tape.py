"""``openfingym tape ...``: session tapes, which record what went into a live session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.completion import complete_agent
from openfingym.cli.options import backend_option, json_option, out_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json, print_table
from openfingym.digests import sha256_of
from openfingym.errors import DataError, TapeError

if TYPE_CHECKING:
    from openfingym.market.tape_summary import TapeSummary

LONGEST = 300
"""The most characters of a text from a tape that are shown."""

tape_argument = click.argument("path", metavar="TAPE", type=click.Path(path_type=Path))


@click.group()
def tape() -> None:
    """Look at session tapes: everything that went into a live session."""


@tape.command()
@tape_argument
@json_option("an object")
def show(path: Path, as_json: bool) -> None:
    """Show what a session tape holds, in numbers.

    Of one that is cut or damaged, as that of a session that was killed, what is before the place is counted.
    """
    from openfingym.market.tape_summary import summarize

    summary = summarize(path)
    if as_json:
        print_json(summary.to_dict())
    else:
        _print(path, summary)


@tape.command()
@tape_argument
@json_option("an object")
@click.pass_context
def verify(ctx: click.Context, path: Path, as_json: bool) -> None:
    """Check that a session tape is whole, and what it was when it was written.

    The exit status is 6 where it is cut or damaged; what is wrong and where is on stderr. Whoever can write a tape can
    write another one: compare the digest with one that you were given.
    """
    from openfingym.market.tape_summary import summarize

    summary = summarize(path)
    if as_json:
        print_json({name: getattr(summary, name) for name in ("state", "fault", "digest", "records")})
    elif summary.fault is None:
        say(f"complete: {summary.records:,} records, digest {summary.digest}")
    if summary.fault is not None:
        say(f"error: {summary.fault}", err=True)
        ctx.exit(TapeError.exit_code)


@tape.command()
@tape_argument
@click.option("--agent", shell_complete=complete_agent, help="Run this agent on the tape's market instead.")
@backend_option("How the agent is isolated.")
@out_option("Folder for the agent's result.")
@json_option("an object")
@click.pass_context
def replay(ctx: click.Context, path: Path, agent: str | None, backend: str, out: Path, as_json: bool) -> None:
    """Play a session tape once more, and compare every state with what the session's was.

    With --agent, another agent trades on the same market: its decisions take the place of the recorded ones, at the
    instants of these. The exit status is 6 where the states differ or the tape is damaged.
    """
    from openfingym.market.session.taped import replayed

    if agent is not None:
        _run_on(ctx, path, agent, backend, out, as_json=as_json)
        return
    machine, comparison = replayed(path)
    document = {
        "equal": comparison.difference is None,
        "difference": None if comparison.difference is None else str(comparison.difference),
        "inputs": comparison.inputs,
        "checkpoints": comparison.checkpoints,
        "state_sha256": machine.digest(),
        "record_sha256": sha256_of(machine.record.tobytes()),
        "marks": 0 if machine.shown is None else machine.shown.number + 1,
        "over": machine.over,
        "equity": None if machine.shown is None else float(machine.record[machine.shown.number, 0]),
        "incomplete_bars": machine.incomplete,
    }
    if as_json:
        print_json(document)
    else:
        print_table(
            "", ["replay of", str(path)], [(name, "-" if value is None else value) for name, value in document.items()]
        )
    if comparison.difference is not None:
        say(f"error: {comparison.difference}", err=True)
        ctx.exit(TapeError.exit_code)


def _run_on(ctx: click.Context, path: Path, agent: str, backend: str, out: Path, *, as_json: bool) -> None:
    """Run an agent on the market of a tape, and print its result.

    Raises:
        DataError: the tape does not say which task its session was of.
    """
    from openfingym.cli.run_results import exit_status, print_results
    from openfingym.market.session.terms import SessionOrder
    from openfingym.market.tape_reader import TapeReader
    from openfingym.rollouts.single import run

    # An agent needs the instruction and the interface of a task: that of the session that was recorded.
    with TapeReader(path) as reader:
        name = reader.header.session.get("task")
    if not name:
        raise DataError(f"{path}: the tape says of no task that it is its session's; agents run on tasks")
    result = run(str(name), agent, backend=backend, out=out, session=SessionOrder(tape=str(path.absolute())))
    if as_json:
        print_json(result.to_dict())
    else:
        print_results([result])
    ctx.exit(exit_status([result]))


def _print(path: Path, summary: TapeSummary) -> None:
    """Print the numbers of a tape, which may be a stranger's."""
    from openfingym.cli.printable import one_line

    header = summary.header
    simulated = " (simulated)" if header.simulated else ""
    rows: list[tuple[str, object]] = [
        ("venue", f"{header.venue}{simulated}"),
        ("feed", ", ".join(f"{name} {value}" for name, value in header.feed.items()) or "-"),
        ("task", header.task or "-"),
        ("seeds", ", ".join(f"{name} {seed}" for name, seed in header.seeds.items()) or "-"),
        ("versions", ", ".join(f"{name} {version}" for name, version in header.versions.items())),
        ("began", _instant(summary.began_ns)),
        # A damaged tape may state any times, and a timedelta has room for three million years.
        ("duration", str(timedelta(seconds=round(min(summary.duration_s, 1e12), 3)))),
        ("records", ", ".join(f"{count:,} {kind}" for kind, count in summary.by_kind.items()) or "none"),
        ("frames", f"{summary.frames_text:,} text, {summary.frames_binary:,} binary, {summary.frame_bytes:,} bytes"),
        ("longest silence", f"{summary.longest_silence_s:.3f} s"),
        ("told", ", ".join(f"{count:,} {kind}" for kind, count in summary.told.items()) or "nothing"),
        ("checkpoints", f"{summary.checkpoints:,}, the last {summary.last_checkpoint or '-'}"),
        ("secrets masked", "-" if summary.masked is None else summary.masked),
        ("file", f"{summary.file_bytes:,} bytes"),
        ("digest", summary.digest),
        ("state", summary.fault or summary.state),
    ]
    print_table("", ["session tape", str(path)], [(name, one_line(str(value), LONGEST)) for name, value in rows])


def _instant(nanoseconds: int) -> str:
    """A time in nanoseconds since the epoch in ISO 8601 and UTC; the number itself where it is beyond any calendar."""
    try:
        return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{nanoseconds} ns since the epoch"
