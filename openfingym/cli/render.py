"""Printing: JSON for programs, tables for people."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.cli.printable import printable, say

if TYPE_CHECKING:
    from rich.console import Console

BETWEEN, MARGIN = 3, 2
"""Characters between two columns of a table, and at both sides of all columns together."""
ROOMY, NARROWEST = 24, 12
"""Characters that a column of texts keeps as long as optional columns can be left out, and that it keeps at least."""
LONGEST_NAME = 40
"""Characters of the first column, which names the rows, that are not folded."""
LINE_S = 5.0
"""Seconds between two lines about the progress of work where there is no terminal."""


def print_json(value: object) -> None:
    """Print ``value`` as JSON on stdout."""
    # NaN and infinity are no JSON, and would break the programs that read it.
    say(json.dumps(value, indent=2, sort_keys=False, allow_nan=False))


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    right: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> None:
    """Print a table on stdout.

    Where the terminal is too narrow for it, long texts are folded, optional columns go, and all texts are folded; where
    that does not help either, each row is a block of lines. What is no text is never folded or cut.

    Args:
        title: heading of the table; empty for none.
        columns: headings of the columns, in order.
        rows: cells of each row, which are shown as ``str`` gives them.
        right: headings of the columns to align right, which are not folded.
        optional: headings of the columns that a narrow terminal does without, in the order in which they are left out.
    """
    # A file or a pipe has no width: it gets a wide table that is the same on every machine.
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else 200
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    shown = list(range(len(columns)))
    # Optional columns go one after the other, until the texts that are left have room enough to be read.
    for heading in ("", *optional):
        shown = [index for index in shown if columns[index] != heading]
        widths = _widths([columns[i] for i in shown], [[row[i] for i in shown] for row in cells], right, room)
        if widths is not None and all(width >= min(full, ROOMY) for width, full in widths):
            break
    if widths is None:
        say("\n".join([title] * bool(title) + [_block(columns, row, shown) for row in cells]))
        return
    chosen = dict(zip(shown, (width for width, _ in widths), strict=True))
    say("\n".join(_table(printable(title), columns, cells, right, chosen)))


def _widths(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str], room: int
) -> list[tuple[int, int]] | None:
    """The width of each column, and the width that it needs without folding; None where there is no room for a table.

    Args:
        headings: headings of the columns that are shown.
        rows: cells of these columns.
        right: headings of the columns that are not folded.
        room: characters in a line.
    """
    from rich.cells import cell_len

    room -= BETWEEN * (len(headings) - 1) + MARGIN
    # A text may be folded down to the least width; a figure keeps its whole width, and a heading its longest word.
    natural, least = [], []
    for index, heading in enumerate(headings):
        cells = [line for row in rows for line in row[index].splitlines()]
        longest = max(map(cell_len, cells), default=0)
        is_text = heading not in right and any(sign.isalpha() for cell in cells for sign in cell)
        natural.append(max(longest, cell_len(heading)))
        least.append(
            min(natural[-1], NARROWEST if index else LONGEST_NAME)
            if is_text
            else max([longest, *(cell_len(word) for word in heading.split())])
        )
    widths = natural.copy()
    # One character at a time from the widest column that can still be folded.
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda index: (widths[index] > least[index], widths[index]), default=None)
        if widest is None or widths[widest] <= least[widest]:
            return None
        widths[widest] -= 1
    return list(zip(widths, natural, strict=True))


def _table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str],
    widths: Mapping[int, int],
) -> Iterator[str]:
    """The lines of a table of the columns that have a width.

    A library that draws tables takes longer for those of a large report than all figures in them.
    """
    rule = "─" if (sys.stdout.encoding or "utf-8").lower().startswith("utf") else "-"
    width = sum(widths.values()) + BETWEEN * (len(widths) - 1)
    for line in _folded(title, width + MARGIN) if title else ():
        yield _filled(line, width + MARGIN)
    blank = " " * (width + MARGIN)
    yield blank
    for number, row in enumerate(([printable(heading) for heading in columns], *rows)):
        folded = [_folded(row[index], widths[index]) for index in widths]
        for lines in zip_longest(*folded, fillvalue=""):
            cells = (
                _filled(text, widths[index], right=columns[index] in right)
                for index, text in zip(widths, lines, strict=True)
            )
            yield f" {(' ' * BETWEEN).join(cells)} "
        if not number:
            yield f" {rule * width} "
    yield blank


def _folded(text: str, width: int) -> list[str]:
    """The lines of a text in so many characters, folded between words where that is possible."""
    from rich.cells import cell_len

    # Nearly every cell is one line that has room.
    if cell_len(text) <= width and text.isprintable():
        return [text]
    from rich.console import Console
    from rich.text import Text

    return [line.plain for line in Text(text).wrap(Console(width=width), width, overflow="fold")]


def _filled(text: str, width: int, *, right: bool = False) -> str:
    """A line that is as wide as its column."""
    from rich.cells import cell_len

    blanks = " " * (width - cell_len(text))
    return f"{blanks}{text}" if right else f"{text}{blanks}"


def _block(columns: Sequence[str], row: Sequence[str], shown: Sequence[int]) -> str:
    """A row as lines, one for each column, where a table has no room."""
    return "\n".join([*(f"{columns[index]}: {row[index]}" for index in shown), ""])


def typed(path: Path | None) -> str:
    """A path as one would type it here: relative to the working directory where it lies below that."""
    return "" if path is None else str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def number(value: float | None, digits: int = 4) -> str:
    """A number with ``digits`` significant digits; a dash for None."""
    return "-" if value is None else f"{value:.{digits}g}"


def with_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    """A number with its 95 % interval, such as ``0.842 [0.71, 0.99]``; four digits without an interval, and three with
    one.
    """
    return number(value, 3 if interval else 4) + (
        f" [{number(interval[0], 3)}, {number(interval[1], 3)}]" if interval else ""
    )


class TerminalProgress:
    """A spinner on a terminal's stderr; elsewhere nothing, or a line now and then.

    Args:
        enabled: whether anything is shown at all.
        lines: whether lines are printed where there is no terminal.
    """

    def __init__(self, *, enabled: bool = True, lines: bool = False) -> None:
        self._shown, self._enabled = enabled, enabled and sys.stderr.isatty()
        self._lines = enabled and lines and not self._enabled
        self._said = time.monotonic()

    @cached_property
    def console(self) -> Console | None:
        """Console for further messages during the work; None where nothing is to be shown."""
        if not self._shown:
            return None
        # Made when it is first used, since to import what makes it takes as long as to read hundreds of runs.
        from rich.console import Console

        return Console(stderr=True, highlight=False)

    def __enter__(self) -> TerminalProgress:
        if self._enabled:
            from rich.status import Status

            self._status = Status("starting", console=self.console)
            self._status.start()
        return self

    def __call__(self, text: str) -> None:
        """Show what is being done."""
        if self._enabled:
            self._status.update(text)
        elif self._lines and time.monotonic() - self._said > LINE_S:
            self._said = time.monotonic()
            say(text, err=True)

    def __exit__(self, *_: object) -> None:
        if self._enabled:
            self._status.stop()


class Counter:
    """Counts finished items: a bar on a terminal's stderr, a line for each elsewhere."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        """Count to ``total``.

        Args:
            total: number of items; nothing is shown where there is only one.
            quiet: whether to leave the lines out, because the results themselves are printed as they come.
        """
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
        """Count one more item.

        Args:
            name: name of the item.
        """
        self._done += 1
        if self._drawn:
            self._bar.update(self._row, advance=1, description=name)
        elif self._total > 1 and not self._quiet:
            say(f"{self._done}/{self._total} {name}", err=True)

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._bar.stop()
