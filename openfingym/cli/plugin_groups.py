"""Groups of commands to which installed distributions add some of theirs.

The entry points of ``openfingym.commands.rounds`` are commands of ``openfingym rounds``, and so on; each has the name
of its command, and a click command as its object.
"""

from __future__ import annotations

import click

from openfingym.cli.plugin_commands import GROUP, command_of, names


class OpenGroup(click.Group):
    """A group with the commands that distributions add to it, after its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands: its own, and those that are added."""
        return sorted({*super().list_commands(ctx), *names(f"{GROUP}.{self.name}")})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; one that cannot be loaded says why."""
        return super().get_command(ctx, cmd_name) or command_of(cmd_name, f"{GROUP}.{self.name}")
