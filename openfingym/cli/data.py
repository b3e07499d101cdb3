"""``openfingym data ...``."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import say, say_oddities
from openfingym.cli.render import print_json, print_table

if TYPE_CHECKING:
    from openfingym.data.listing import Listing
    from openfingym.data.sources.record import PullRecord

NOTES = 10
"""The most notes that are shown after a pull."""


@click.group()
def data() -> None:
    """List, pull and verify datasets."""


@data.command("list")
@json_option("a list, an object a dataset")
def list_command(as_json: bool) -> None:
    """List all data: bundled, simulated, and what can be pulled."""
    from openfingym.data.listing import listings

    _print_listings(listings(), as_json=as_json)


@data.command("pull")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--list", "show", is_flag=True, help="List what can be pulled, and what has been.")
@click.option("--symbols", help="Tickers, pairs, series, tenors or countries, with commas between; of a source only.")
@click.option("--interval", help="Bar length, such as 1d or 1h; of a source only.")
@click.option("--start", metavar="YYYY-MM-DD", callback=lambda _ctx, _parameter, text: _day(text), help="First day.")
@click.option("--end", metavar="YYYY-MM-DD", callback=lambda _ctx, _parameter, text: _day(text), help="Last day.")
@click.option("--refresh", is_flag=True, help="Ask the service again even for what is held.")
@click.option("--mirror", metavar="URL", help="Ask this address instead of the publisher's.")
@json_option("an object; with --list a list")
def pull_command(
    name: str | None,
    show: bool,
    symbols: str | None,
    interval: str | None,
    start: date | None,
    end: date | None,
    refresh: bool,
    mirror: str | None,
    as_json: bool,
) -> None:
    """Download real data into the store: a dataset or a source by NAME.

    NAME is one of `openfingym data pull --list`. A pull that fails leaves what was pulled before as it
    was. Exit status: 2 the source does not have what is asked for, 6 it cannot be reached, or answered
    with something else than data.
    """
    if show or name is None:
        if not show:
            raise click.UsageError("name a dataset or a source, or give --list")
        _print_pullable(as_json=as_json)
        return
    from openfingym.data.plausibility import table_oddities
    from openfingym.data.sources import Table
    from openfingym.data.sources.catalog import pull
    from openfingym.data.sources.progress import terminal_progress

    wanted = tuple(symbol.strip() for symbol in symbols.split(",")) if symbols else ()
    with terminal_progress() as progress:
        pulled = pull(
            name,
            symbols=wanted,
            start=start,
            end=end,
            interval=interval,
            refresh=refresh,
            base_url=mirror,
            progress=progress,
        )
    odd = table_oddities(pulled.data) if isinstance(pulled.data, Table) else ()
    _print_record(pulled.record, odd, as_json=as_json)


@data.command()
@click.argument("names", metavar="[DATASET]...", nargs=-1)
@json_option("a list, an object a dataset, also of one")
def verify(names: tuple[str, ...], as_json: bool) -> None:
    """Load datasets and compare them with their recorded digests."""
    from openfingym.data import datasets, load_panel

    rows = []
    for name in names or tuple(info.name for info in datasets()):
        # This raises where the data is not what the recorded digest is of.
        panel = load_panel(name)
        rows.append(
            {
                "dataset": name,
                "rows": len(panel.times),
                "channels": len(panel.channels),
                "digest": panel.digest,
                "ok": True,
            }
        )
        if not as_json:
            say(f"ok  {name}  {len(panel.times)} rows x {len(panel.channels)} channels  {panel.digest[:16]}")
    if as_json:
        print_json(rows)


def _print_record(record: PullRecord, odd: tuple[str, ...], *, as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        print_json({**asdict(record), "odd": list(odd)})
        return
    period = f", {record.first[:10]} to {record.last[:10]}" if record.first and record.last else ""
    missing = f", {record.missing} cells missing" if record.missing else ""
    say(f"{record.dataset}: {record.rows:,} rows x {record.columns} columns{period}{missing}")
    say(f"  {record.size:,} bytes in {len(record.files)} files")
    for change in record.changes:
        say(f"  {change}")
    for note in record.notes[:NOTES]:
        say(f"  {note}")
    if len(record.notes) > NOTES:
        say(f"  and {len(record.notes) - NOTES} more notes, all of them with --json")
    say_oddities(odd)
    say(f"terms: {record.licence}")


def _print_pullable(*, as_json: bool) -> None:
    from openfingym.data.listing import pullable

    _print_listings(pullable(), as_json=as_json)


def _print_listings(rows: list[Listing], *, as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        print_json([asdict(row) for row in rows])
        return
    print_table(
        "",
        [
            "dataset",
            "form",
            "kind",
            "frequency",
            "first",
            "last",
            "rows",
            "cols",
            "missing",
            "source",
            "licence",
            "here",
        ],
        [
            (
                row.name,
                row.form,
                row.kind,
                _short(row.frequency, 12),
                *("-" if cell is None else cell for cell in (row.first, row.last, row.rows, row.columns, row.missing)),
                _short(row.source, 36),
                _short(row.licence, 22),
                _short(row.here, 17),
            )
            for row in rows
        ],
        right=["rows", "cols", "missing"],
        optional=["licence", "source", "form", "frequency", "missing", "cols", "first"],
    )
    say("titles, full sources and terms: --json; what is not pulled: openfingym data pull NAME")


def _short(text: str, width: int) -> str:
    """A text cut to a width in characters."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def _day(text: str | None) -> date | None:
    """A day of the form YYYY-MM-DD; None where none is given."""
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no time zone
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a day of the form YYYY-MM-DD") from None
