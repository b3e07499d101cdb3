"""``python -m openfingym.models.testing [PORT]``: a stand-in of its own, until interrupted."""

from __future__ import annotations

import contextlib
import threading

import click

from openfingym.models.testing.server import StandIn


@click.command()
@click.argument("port", type=click.IntRange(0, 65535), default=0)
def main(port: int) -> None:
    """Serve the stand-in on PORT of this machine, one that is free by default, and print its base URL."""
    with contextlib.ExitStack() as stack:
        try:
            stand_in = stack.enter_context(StandIn(port=port))
        except OSError as error:
            why = error.strerror or error
            raise click.ClickException(f"port {port} cannot be taken ({why}); give another, or none") from error
        click.echo(stand_in.base_url)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main(prog_name="python -m openfingym.models.testing")
