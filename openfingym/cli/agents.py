"""``openfingym agents``."""

from __future__ import annotations

import click

from openfingym.cli.completion import complete_task
from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json, print_table


@click.command()
@click.option(
    "--task", "name", shell_complete=complete_task, help="Only agents that fit this task (a name or a folder)."
)
@json_option("a list, an object an agent")
def agents(name: str | None, as_json: bool) -> None:
    """List the agents, built-in ones and those of installed packages.

    A baseline is a short program that a careful practitioner would call fair; it runs in isolation like any other.
    """
    from openfingym import catalog
    from openfingym.agents import BUILTIN, installed_agents
    from openfingym.agents.installed import load_installed
    from openfingym.errors import UsageError

    spec = catalog.load_task(name).spec if name else None
    records = [record for record in BUILTIN.values() if spec is None or record.fits(spec)]
    rows: list[tuple[str, str, str, str]] = [(record.name, record.role, record.fit, record.does) for record in records]
    broken = []
    # A package whose agent cannot be loaded must not hide the others.
    for entries in installed_agents().values():
        try:
            installed = load_installed(entries)
        except UsageError as error:
            broken.append(str(error))
        else:
            rows.append((installed.name, f"installed {installed.agent.kind}", "any", installed.does))
    if as_json:
        print_json([dict(zip(("name", "role", "fits", "does"), row, strict=True)) for row in rows])
    else:
        print_table("", ["agent", "role", "fits", "what it does"], rows)
    for reason in broken:
        say(f"left out: {reason}", err=True)
