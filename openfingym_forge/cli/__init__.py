"""``openfingym forge ...``: from papers to task packages that are proved before anyone runs them.

The list of all commands of ``openfingym`` imports this module alone; each command here is imported when it is used.
"""

from __future__ import annotations

import importlib

import click

from openfingym.cli.repeats import refusing_repeats

HOMES = {
    "bench": "papers",
    "graph": "review",
    "mark": "review",
    "review": "review",
    "run": "papers",
    "search": "review",
    "show": "papers",
    "status": "papers",
}
"""The module of each command, by the command's name."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(HOMES)

    # Click calls it with all of these arguments.
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in HOMES:
            return None
        command = getattr(importlib.import_module(f"{__name__}.{HOMES[cmd_name]}"), cmd_name)
        assert isinstance(command, click.Command)
        return refusing_repeats(command)


@click.group(cls=_LazyGroup)
def forge() -> None:
    """Make task packages of papers, and prove them before anyone runs them."""
