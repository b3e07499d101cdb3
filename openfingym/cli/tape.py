"""``openfingym tape ...``: session tapes, which record what went into a live session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.render import print_json, print_table
from openfingym.cli.task import json_option
from openfingym.errors import TapeError

if TYPE_CHECKING:
    from openfingym.market.tape_summary import TapeSummary

LONGEST = 300
"""Characters that are shown of a text from a tape."""

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
    from openfingym.cli.printable import printable
    from openfingym.market.tape_summary import summarize

    summary = summarize(path)
    if as_json:
        print_json({name: getattr(summary, name) for name in ("state", "fault", "digest", "records")})
    elif summary.fault is None:
        click.echo(f"complete: {summary.records:,} records, digest {summary.digest}")
    if summary.fault is not None:
        click.echo(printable(f"error: {summary.fault}"), err=True)
        ctx.exit(TapeError.exit_code)


def _print(path: Path, summary: TapeSummary) -> None:
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
    """A time since the epoch as people write it; the number where it is beyond any calendar."""
    try:
        return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{nanoseconds} ns since the epoch"
