"""Options that several commands have, and a way to pass options that belong together as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click

from openfingym.cli.choices import BACKENDS, SPLITS

C = TypeVar("C", bound=Callable[..., object])


def json_option(form: str) -> Callable[[C], C]:
    """The option ``--json``.

    Args:
        form: the form of the JSON that is printed, which is the same however many things the command is given.
    """
    return click.option("--json", "as_json", is_flag=True, help=f"Print JSON: {form}.")


def backend_option(text: str | None = None) -> Callable[[C], C]:
    """The option ``--backend``, which is ``auto`` where nothing is stated.

    Args:
        text: the help text of the option; None for none.
    """
    return click.option("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True, help=text)


def out_option(text: str) -> Callable[[C], C]:
    """The option ``--out``, a folder for results, which is ``runs`` where nothing is stated.

    Args:
        text: the help text of the option.
    """
    return click.option(
        "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("runs"), show_default=True, help=text
    )


quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print the results alone, not how it goes.")
program_option = click.option(
    "--program", type=click.Path(dir_okay=False, path_type=Path), help="Your Python program, with --agent script."
)
fresh_option = click.option(
    "--fresh",
    is_flag=True,
    help="Hidden data drawn for each rollout, instead of the package's own, where the task can have any.",
)
split_option = click.option(
    "--split",
    type=click.Choice(SPLITS),
    help="test: the task as it is, which scores. train, validation: an instance of it, cut from its training data, "
    "whose result is no score. Default: test.",
)
instance_option = click.option(
    "--instance", type=click.IntRange(min=0), metavar="N", help="Which instance of --split, from 0."
)
isolated_option = click.option(
    "--isolated-only",
    is_flag=True,
    help="Leave out forecasters of which something ran outside isolation, or may have, as whoever played the series "
    "states it; the references stay.",
)
real_option = click.option(
    "--real",
    is_flag=True,
    help="Run on real data: those that were pulled (`openfingym data pull`), where the task knows of any.",
)
verifier_option = click.option(
    "--verifier",
    "address",
    help="URL or unix socket of a running verifier, or a registry file of several; default: $OPENFINGYM_VERIFIER, or "
    "one is started.",
)


def gathered(name: str, into: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Pass some options of a command on as one value.

    Args:
        name: name of the command's argument that gets the value.
        into: a dataclass, whose fields have the names of the options' arguments.
    """
    names = [item.name for item in fields(into)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        # wraps() hands on the options that click has noted on the function so far.
        @functools.wraps(command)
        def wrapped(*args: Any, **options: Any) -> Any:
            value = into(**{field: options.pop(field) for field in names})
            return command(*args, **{name: value}, **options)

        return wrapped

    return decorate
