"""``openfingym task new``: scaffolding a task package, with data of one's own or without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.choices import FILLS, KINDS, MEASURES
from openfingym.cli.completion import complete_task
from openfingym.cli.printable import printable, say, say_oddities

if TYPE_CHECKING:
    from openfingym.data.dataset import Measure
    from openfingym.kinds.start import OwnData, Start
    from openfingym.task.dataset import Fill


@click.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--kind",
    default="forecast",
    show_default=True,
    help=f"What the task asks for: {', '.join(KINDS)}, or a kind that is installed.",
)
@click.option(
    "--like",
    metavar="TASK",
    shell_complete=complete_task,
    help="With --from, instead of --kind: a known task whose contract, metrics and split are copied.",
)
@click.option(
    "--from",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file of your own that the task is to hold. A table, curves or rows of features, .csv or .parquet; several "
    "tables or curves are joined on their dates. A graph: a list of edges, .graphml, .mat or .npz. A set of graphs: a "
    "folder of these, or a table of graph and edge.",
)
@click.option(
    "--fill",
    type=click.Choice(FILLS),
    help="With --from: what to do about cells without a value. forward: the last value before; interpolate: a line to "
    "the value behind, among training rows alone; drop: leave out the row; none: an error, the default.",
)
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    help="With --from: what the columns hold. Default: price if all values are positive, else mixed.",
)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --from, for graphs: a table of nodes and labels, 1 for an anomaly and 0 for none.",
)
@click.option(
    "--features",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --from, for graphs: a table of nodes and their features.",
)
@click.option(
    "--target",
    metavar="COLUMN",
    help="With --from, for rows: the column to predict; the others are features. Default: the last one.",
)
@click.option("--dry-run", is_flag=True, help="With --from: say what was read and what is odd about it; write nothing.")
@click.option(
    "--to", "parent", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Folder to create it in."
)
def new(
    name: str,
    kind: str,
    like: str | None,
    files: tuple[Path, ...],
    fill: Fill | None,
    measure: Measure | None,
    labels: Path | None,
    features: Path | None,
    target: str | None,
    dry_run: bool,
    parent: Path,
) -> None:
    """Scaffold a task package that passes `task check` as it is.

    With --from it holds your own data. Without, a forecast and a generation task start from a CSV to be replaced, the
    other kinds from bundled data.
    """
    from openfingym.checks.calendars import cautions
    from openfingym.kinds.start import Given
    from openfingym.packages.scaffold import new_task, start_of
    from openfingym.task import Task

    if not files and any((labels, features, fill, measure, target, dry_run)):
        raise click.UsageError("--labels, --features, --fill, --measure, --target and --dry-run go with --from FILE")
    given = Given(files, labels, features, fill, measure, target) if files else None
    if like is not None:
        from openfingym.catalog import load_task
        from openfingym.packages.like import new_task_like, require_files, start_like

        known, own = load_task(like), require_files(given)
        start = start_like(known, own)
    else:
        start = start_of(kind, given)
    if dry_run:
        _tell_read(start)
        return
    folder = (
        new_task(name, parent, kind, given, start=start)
        if like is None
        else new_task_like(name, parent, known, own, start=start)
    )
    if given is None:
        say(f"wrote {folder}, which starts from {start.data}")
    else:
        assert start.own_data is not None, "a scaffold from files holds them"
        _tell(folder)
        _tell_more(start.own_data)
    say_oddities(cautions(Task.read(folder)))
    say(f"next: openfingym task check {folder}")


def _tell(folder: Path) -> None:
    """Print how the author's data was read, and what of it is assumed."""
    from openfingym.task import Task

    task = Task.read(folder)
    prepared = task.spec.dataset.prepared
    assert prepared is not None, "of a task with own data"
    say(f"wrote {folder}, which holds {printable(', '.join(prepared.files))}: {task.spec.panel}")
    for step in prepared.steps:
        say(f"  {step}")
    kind, asset_class = task.spec.dataset.kind, task.spec.asset_class
    say(
        f"  it says that the data is {kind} and of asset class {asset_class}, and nothing of source and licence; "
        "correct that in task.toml"
    )


def _tell_read(start: Start) -> None:
    """Print what was read of the author's files, for whom nothing is written."""
    own = start.own_data
    assert own is not None, "a scaffold from files holds them"
    say(f"read {printable(', '.join(own.names))}: {start.panel}, {start.frequency}, measure {own.measure}")
    for step in own.steps:
        say(f"  {printable(step)}")
    _tell_more(own)
    say("nothing was written; leave out --dry-run to write the task")


def _tell_more(own: OwnData) -> None:
    """Print what is odd about the author's data, and which other kind takes such data."""
    say_oddities(own.oddities)
    if own.hint:
        say(f"  hint: {own.hint}")
