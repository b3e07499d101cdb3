"""``openfingym image ...``."""

from __future__ import annotations

import click

from openfingym.cli.printable import say


@click.group()
def image() -> None:
    """Build the agent image for the docker backend."""


@image.command()
@click.option(
    "--base", help="Base image with Python 3.11 or later. Default: $OPENFINGYM_BASE_IMAGE, else python:3.11-slim."
)
def build(base: str | None) -> None:
    """Build the agent image, unless the engine has it already."""
    from openfingym_runtime.docker.images import ensure_agent_image

    say(ensure_agent_image(base, log=lambda line: say(line, err=True)))
