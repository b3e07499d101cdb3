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


class Progress:
    """A spinner on a terminal's stderr; nothing elsewhere."""

    def __init__(self, *, enabled: bool = True) -> None:
        import sys

        self._enabled = enabled and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        if self._enabled:
            from rich.console import Console
            from rich.status import Status

            self._status = Status("", console=Console(stderr=True))
            self._status.start()
        return self

    def __call__(self, text: str) -> None:
        """Show what is being done."""
        if self._enabled:
            self._status.update(text)

    def __exit__(self, *_: object) -> None:
        if self._enabled:
            self._status.stop()


class Counter:
    """How many of some things are done: a bar on a terminal's stderr, a line each elsewhere."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        """Count to ``total``.

        Args:
            total: how many there are; nothing is shown of a single one.
            quiet: leave the lines out, because the results themselves are printed as they come.
        """
        import sys

        self._total, self._done, self._quiet = total, 0, quiet
        self._drawn = total > 1 and sys.stderr.isatty()

    def __enter__(self) -> Counter:
        if self._drawn:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._row = self._bar.add_task("", total=self._total)
        return self

    def __call__(self, name: str) -> None:
        """One more is done."""
        self._done += 1
        if self._drawn:
            self._bar.update(self._row, advance=1, description=name)
        elif self._total > 1 and not self._quiet:
            click.echo(f"{self._done}/{self._total} {name}", err=True)

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._bar.stop()
