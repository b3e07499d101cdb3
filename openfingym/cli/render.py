"""Printing: JSON for programs, tables for people."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click


def print_json(value: object) -> None:
    """Print ``value`` as JSON on stdout."""
    click.echo(json.dumps(value, indent=2, sort_keys=False, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print a table on stdout.

    Args:
        title: its heading.
        columns: column headings.
        rows: the cells; anything is shown by ``str``.
        right: headings of the columns to align right.
    """
    import sys

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=column == columns[0])
    for row in rows:
        table.add_row(*map(str, row))
    console = Console()
    if not sys.stdout.isatty():
        console = Console(width=200)
    console.print(table)


def number(value: float | None, digits: int = 4) -> str:
    """A float with ``digits`` significant digits, or a dash."""
    return "-" if value is None else f"{value:.{digits}g}"
