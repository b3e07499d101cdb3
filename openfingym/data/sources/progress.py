"""Progress of downloads, for a terminal or for nobody."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Progress = Callable[[str, int, int | None], None]
"""Called with (what is being downloaded, bytes so far, bytes in all or None)."""


def silent(label: str, done: int, total: int | None) -> None:
    """Report nothing."""
    del label, done, total


@contextlib.contextmanager
def terminal_progress() -> Iterator[Progress]:
    """A bar for each download while stderr is a terminal, otherwise silence."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        known: dict[str, TaskID] = {}

        def report(label: str, done: int, total: int | None) -> None:
            if label not in known:
                known[label] = bars.add_task(label, total=total)
            bars.update(known[label], completed=done, total=total)
            if total is not None and done >= total:
                bars.remove_task(known.pop(label))

        yield report
