"""``openfingym env ...``: environments for trainers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from openfingym.cli.completion import complete_task
from openfingym.cli.options import backend_option, verifier_option
from openfingym.cli.player_server import idle_option, listener_of, token_file_option
from openfingym.cli.printable import say
from openfingym.errors import UsageError

SPLITS = ("train", "validation", "test", "practice")
"""Splits that clients may play: the values of :data:`openfingym.training.openenv.served.SplitName`."""


@click.group()
def env() -> None:
    """Serve environments to trainers."""


@env.command()
@click.argument("names", metavar="TASK...", nargs=-1, required=True, shell_complete=complete_task)
@click.option("--openenv", is_flag=True, required=True, help="Speak OpenEnv's protocol.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Name or address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 lets the system choose."
)
@click.option(
    "--split",
    "splits",
    multiple=True,
    type=click.Choice(SPLITS),
    help="A split that clients may play; may be repeated, and the first is the default. Default: train.",
)
@click.option(
    "--sessions", type=click.IntRange(min=1), default=64, show_default=True, help="Sessions at once, at most."
)
@click.option(
    "--places",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Rollouts with tools, and so sandboxes, at once; others wait.",
)
@idle_option(900.0, "Seconds after which a session that nobody is connected to is closed.")
@click.option("--tools", is_flag=True, help="Play tasks that are stepped through as verified rollouts with tools too.")
@click.option(
    "--agent",
    type=click.Choice(("react", "codeblock", "oneshot")),
    default="react",
    show_default=True,
    help="Whose prompts, tools and limits such rollouts have.",
)
@click.option("--reward", default="bounded", show_default=True, help="Their reward, such as bounded, graded or grpo.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=JSON",
    help="An option of the environments that are stepped, as for openfingym.make; may be repeated.",
)
@token_file_option("File with the token that clients have to send, made with a new one if missing. Default: no token.")
@backend_option("How programs run.")
@verifier_option
def serve(
    names: tuple[str, ...],
    openenv: bool,
    host: str,
    port: int,
    splits: tuple[str, ...],
    sessions: int,
    places: int,
    idle_s: float,
    tools: bool,
    agent: str,
    reward: str,
    options: tuple[str, ...],
    token_file: Path | None,
    backend: str,
    address: str | None,
) -> None:
    """Serve tasks as OpenEnv environments until interrupted.

    Trading and rolling forecasts are stepped in this process; other tasks are verified rollouts that are played by
    calling tools. On 127.0.0.1, the default, programs of this machine alone are let in, and no web pages. On another
    address, whoever reaches it may play, unless a --token-file is given; nothing is encrypted. There, or with a token,
    hidden test data (practice, test) need a --verifier with the strict policy, and the key of a participant.
    """
    from openfingym.training.openenv.served import Served
    from openfingym.training.openenv.serving import serve as run

    assert openenv, "the option is required"
    served = Served(
        names,
        splits or ("train",),  # type: ignore[arg-type]  # click has checked them
        tools=tools,
        places=places,
        agent=agent,
        reward=reward,
        backend=backend,
        verifier=address,
        options=dict(map(_option, options)),
    )
    listener = listener_of(host, port, token_file)

    def ready(url: str) -> None:
        say(f"serving {', '.join(served.names)} ({', '.join(served.splits)}) on {url}", err=True)

    run(served, listener=listener, sessions=sessions, idle_s=idle_s, ready=ready)


def _option(text: str) -> tuple[str, object]:
    """An option of an environment, by name.

    Raises:
        UsageError: the text is not of the form NAME=JSON.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--option {text!r}: expected NAME=JSON, such as lookback=32")
    # What is no JSON is a text: quotation marks around it would have to be protected from the shell.
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
