"""Completion of names of tasks and agents in a shell; paths are completed by the shell itself."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from openfingym.cli.choices import AGENTS
from openfingym.errors import OpenFinGymError


# Click calls it with all of these arguments.
def complete_task(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Names of the known tasks that begin with a text; or a folder, where the text is the beginning of a path."""
    if incomplete.startswith((".", "/", "~")) or "/" in incomplete:
        return [CompletionItem(incomplete, type="dir")]
    from openfingym import catalog

    try:
        return [CompletionItem(name) for name in catalog.task_folders() if name.startswith(incomplete)]
    except OpenFinGymError:
        return []  # a message would end up in the line that is being typed; the command itself says what is wrong


# Click calls it with all of these arguments.
def complete_agent(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Names of the built-in agents that begin with a text."""
    return [CompletionItem(name) for name in AGENTS if name.startswith(incomplete)]
