"""``openfingym agents``."""

from __future__ import annotations

import click

from openfingym.cli.completion import complete_task
from openfingym.cli.render import print_json, print_table
from openfingym.cli.task import json_option


@click.command()
@click.option(
    "--task", "name", shell_complete=complete_task, help="Only agents that fit this task (a name or a folder)."
)
@json_option("a list, an object an agent")
def agents(name: str | None, as_json: bool) -> None:
    """List the built-in agents.

    A baseline is a short program that a careful practitioner would call fair; it runs in isolation like any other.
    """
    from openfingym import catalog
    from openfingym.agents import BUILTIN

    spec = catalog.load_task(name).spec if name else None
    records = [record for record in BUILTIN.values() if spec is None or record.fits(spec)]
    if as_json:
        print_json([{"name": r.name, "role": r.role, "fits": r.fit, "does": r.does} for r in records])
        return
    print_table("", ["agent", "role", "fits", "what it does"], [(r.name, r.role, r.fit, r.does) for r in records])
