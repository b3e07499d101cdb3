"""``openfingym data ...``."""

from __future__ import annotations

import click

from openfingym.cli.render import print_json, print_table
from openfingym.cli.task import json_option


@click.group()
def data() -> None:
    """List and verify datasets."""


@data.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the bundled and simulated datasets, and say which is which."""
    from dataclasses import asdict

    from openfingym.data import datasets

    rows = datasets()
    if as_json:
        print_json([{**asdict(row), "first": row.first.isoformat(), "last": row.last.isoformat()} for row in rows])
        return
    print_table(
        "",
        ["dataset", "kind", "frequency", "first", "last", "rows", "channels", "missing", "title", "licence"],
        [(r.name, r.kind, r.frequency, r.first, r.last, r.rows, len(r.channels), r.missing, r.title, r.licence) for r in rows],
        right=["rows", "channels", "missing"],
    )


@data.command()
@click.argument("names", metavar="[DATASET]...", nargs=-1)
@json_option
def verify(names: tuple[str, ...], as_json: bool) -> None:
    """Load datasets and compare them with their recorded digests."""
    from openfingym.data import datasets, load_panel

    rows = []
    for name in names or tuple(info.name for info in datasets()):
        panel = load_panel(name)
        rows.append({"dataset": name, "rows": len(panel.times), "channels": len(panel.channels), "digest": panel.digest, "ok": True})
        if not as_json:
            click.echo(f"ok  {name}  {len(panel.times)} rows x {len(panel.channels)} channels  {panel.digest[:16]}")
    if as_json:
        print_json(rows)
