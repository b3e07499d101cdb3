"""``openfingym env ...``: environments for trainers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from openfingym.cli.choices import BACKENDS
from openfingym.cli.completion import complete_task
from openfingym.cli.players_token import token_of
from openfingym.cli.verifier import verifier_option
from openfingym.errors import UsageError

SPLITS = ("train", "validation", "test", "practice")


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
@click.option(
    "--idle",
    "idle_s",
    type=click.FloatRange(min=1.0),
    default=900.0,
    show_default=True,
    metavar="S",
    help="Seconds after which a session that nobody is connected to is closed.",
)
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
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the token that clients have to send, made with a new one if missing. Default: no token.",
)
@click.option("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True, help="How programs run.")
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
    address, whoever reaches it may play, unless a --token-file is given; nothing is encrypted.
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
    token = token_of(token_file, host, port)

    def ready(url: str) -> None:
        click.echo(f"serving {', '.join(served.names)} ({', '.join(served.splits)}) on {url}", err=True)

    run(served, host=host, port=port, sessions=sessions, idle_s=idle_s, token=token, ready=ready)


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--option {text!r}: expected NAME=JSON, such as lookback=32")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
