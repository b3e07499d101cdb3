"""``openfingym mcp``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from openfingym.cli.choices import SPLITS
from openfingym.cli.completion import complete_task
from openfingym.cli.options import backend_option, out_option, verifier_option
from openfingym.cli.player_server import idle_option, listener_of, token_file_option
from openfingym.cli.printable import say


@click.command()
@click.argument("name", metavar="TASK", shell_complete=complete_task)
@click.option(
    "--split",
    type=click.Choice(SPLITS),
    default="test",
    show_default=True,
    help="test is the task as it is; the others consist of instances cut from its training data.",
)
@click.option("--index", type=click.IntRange(min=0), default=0, show_default=True, help="Which instance.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed that programs are given.")
@out_option("Folder for results.")
@click.option("--http", is_flag=True, help="Serve over HTTP, each client with a rollout of its own, not by stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: name or address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8001,
    show_default=True,
    help="With --http: 0 lets the system choose.",
)
@click.option(
    "--sessions", type=click.IntRange(min=1), default=8, show_default=True, help="With --http: clients at once."
)
@idle_option(3600.0, "With --http: seconds after which a client that says nothing is taken to have gone.")
@token_file_option("With --http: file with the token that clients have to send, made with a new one if missing.")
@backend_option("How programs run.")
@verifier_option
def mcp(
    name: str,
    split: Literal["test", "train", "validation"],
    index: int,
    seed: int,
    out: Path,
    http: bool,
    host: str,
    port: int,
    sessions: int,
    idle_s: float,
    token_file: Path | None,
    backend: str,
    address: str | None,
) -> None:
    """Let a coding agent play TASK over the Model Context Protocol, and get a verified score.

    The agent starts this command itself, as its configuration says (docs/mcp.md), and is given the task's instruction
    and tools: programs run in a sandbox, where they can see neither a label nor a network. `finish` tells the verified
    score; closing the standard input ends the rollout as well.

    Served to others (--http on another address than loopback, or with a token), the split test needs a --verifier with
    the strict policy, and the key of a participant.
    """
    from openfingym import catalog
    from openfingym.training.mcp.played import PlayTerms

    # A folder is played by the name of the task in it.
    if name not in catalog.task_folders():
        name = catalog.load_task(name).name
    # No shell has expanded a path in a client's configuration.
    terms = PlayTerms(name, split, index, seed, backend, address, out.expanduser().absolute())
    if http:
        from openfingym.training.mcp.streamable import serve

        serve(
            terms,
            listener=listener_of(host, port, token_file),
            sessions=sessions,
            idle_s=idle_s,
            ready=lambda url: say(f"serving {name} ({split}) on {url}", err=True),
        )
        return
    from openfingym.training.mcp.stdio import serve as serve_one

    # On stderr: the standard output carries the protocol.
    message = serve_one(terms)
    if message is not None:
        say(message, err=True)
