"""What commands that serve players have in common: options of the server, and the token that players have to send."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from openfingym.cli.printable import say

C = TypeVar("C", bound=Callable[..., object])


def idle_option(default_s: float, text: str) -> Callable[[C], C]:
    """The option ``--idle``, seconds after which a player who is gone is given up; its argument is ``idle_s``.

    Args:
        default_s: seconds where nothing is stated.
        text: the help text of the option.
    """
    return click.option(
        "--idle",
        "idle_s",
        type=click.FloatRange(min=1.0),
        default=default_s,
        show_default=True,
        metavar="S",
        help=text,
    )


def token_file_option(text: str) -> Callable[[C], C]:
    """The option ``--token-file``, a file for :func:`token_of`.

    Args:
        text: the help text of the option.
    """
    return click.option("--token-file", type=click.Path(dir_okay=False, path_type=Path), help=text)


def token_of(file: Path | None, host: str, port: int) -> str | None:
    """The token that players have to send; None where no file for it is named.

    Without a token, the user is warned if programs of other machines can reach the server.

    Args:
        file: the file with the token, which is made with a new one if missing; None for no token.
        host: name or address that the server listens on.
        port: port that the server listens on, as the user stated it.
    """
    from openfingym.training.guard import is_loopback
    from openfingym.verifiers.registry import make_token, read_token

    if file is not None:
        make_token(file)
        return read_token(file)
    if not is_loopback(host):
        say(f"anybody who reaches {host}:{port} may play; --token-file asks them for a token", err=True)
    return None
