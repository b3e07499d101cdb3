"""What a shell may complete: names of tasks and agents; folders of runs are completed as folders are."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from openfingym.cli.choices import AGENTS
from openfingym.errors import OpenFinGymError


# Click calls it with all of these arguments.
def complete_task(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Names of the known tasks, or a folder where a path is begun."""
    if incomplete.startswith((".", "/", "~")) or "/" in incomplete:
        return [CompletionItem(incomplete, type="dir")]
    from openfingym import catalog

    try:
        return [CompletionItem(name) for name in catalog.task_folders() if name.startswith(incomplete)]
    except OpenFinGymError:
        return []  # what is wrong is said when the command runs


# Click calls it with all of these arguments.
def complete_agent(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Names of the built-in agents."""
    return [CompletionItem(name) for name in AGENTS if name.startswith(incomplete)]
