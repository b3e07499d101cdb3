"""The token that clients have to send to a server on which they play."""

from __future__ import annotations

from pathlib import Path

import click


def token_of(file: Path | None, host: str, port: int) -> str | None:
    """The token in a file, which is made with a new one if missing; None without a file.

    Without a token, the user is warned if programs of other machines can reach the server.

    Args:
        file: the file that the user named, or None.
        host: name or address that the server listens on.
        port: its port, as the user gave it.
    """
    from openfingym.training.guard import is_loopback
    from openfingym.verifiers.registry import make_token, read_token

    if file is not None:
        make_token(file)
        return read_token(file)
    if not is_loopback(host):
        click.echo(f"anybody who reaches {host}:{port} may play; --token-file asks them for a token", err=True)
    return None
