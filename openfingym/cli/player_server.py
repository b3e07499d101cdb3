"""What commands that serve players have in common: options of the server, and the token that players have to send."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from openfingym.cli.printable import say

if TYPE_CHECKING:
    from openfingym.listener import Listener

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
    """The option ``--token-file``, a file for :func:`listener_of`.

    Args:
        text: the help text of the option.
    """
    return click.option("--token-file", type=click.Path(dir_okay=False, path_type=Path), help=text)


def listener_of(host: str, port: int, token_file: Path | None) -> Listener:
    """The listener of a server of players.

    Without a token, the user is warned if programs of other machines can reach the server.

    Args:
        host: name or address to listen on.
        port: port to listen on; 0 lets the system choose.
        token_file: the file with the token that players have to send, made with a new one if missing; None for no
            token.
    """
    from openfingym.listener import Listener
    from openfingym.verifiers.registry import make_token, read_token

    if token_file is None:
        listener = Listener(host, port)
        if not listener.loopback:
            say(f"anybody who reaches {host}:{port} may play; --token-file asks them for a token", err=True)
        return listener
    make_token(token_file)
    return Listener(host, port, token=read_token(token_file))
