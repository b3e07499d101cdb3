"""Options that take one value are given once: of two values, click would keep the last and say nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import click

from openfingym.errors import UsageError

INSTEAD = {"openfingym run": "`openfingym rollout` runs several agents, models and seeds"}
"""What takes several values in the place of a command that takes one, by the command."""


def refusing_repeats(command: click.Command) -> click.Command:
    """The same command; given an option again that takes one value, it and its subcommands raise a UsageError.

    It may be called again for a command that does so already, as it is whenever a command is looked up.
    """
    if "make_parser" in vars(command):
        return command
    for child in getattr(command, "commands", {}).values():
        refusing_repeats(child)
    make_parser = command.make_parser

    def made(ctx: click.Context) -> Any:
        parser = make_parser(ctx)
        parse_args = parser.parse_args

        def parsed(args: list[str]) -> Any:
            # As the parser changes the list, what is not looked at now is gone.
            options, rest, order = parse_args(args)
            if not ctx.resilient_parsing:
                _require_once(order, ctx)
            return options, rest, order

        # The parser alone knows how often an option was given, and click asks it here, whatever the command's class.
        parser.parse_args = parsed  # type: ignore[method-assign]
        return parser

    command.make_parser = made  # type: ignore[method-assign]
    return command


def _require_once(given: Sequence[click.Parameter], ctx: click.Context) -> None:
    """Return if every option that takes one value was given at most once.

    Args:
        given: the parameters in the order of the command line, as often as each was given.
        ctx: the context of the command.

    Raises:
        UsageError: an option was given again, or two options that set the same value.
    """
    by_name: dict[str, list[click.Option]] = defaultdict(list)
    for parameter in given:
        if isinstance(parameter, click.Option) and not _may_repeat(parameter) and parameter.name is not None:
            by_name[parameter.name].append(parameter)
    for options in by_name.values():
        if len(options) == 1:
            continue
        names = list(dict.fromkeys(_named(option) for option in options))
        if len(names) > 1:
            raise UsageError(f"{' and '.join(names)} exclude each other; give one of them")
        instead = INSTEAD.get(ctx.command_path)
        more = f"; {instead}" if instead else ""
        raise UsageError(f"{names[0]} takes one value, and was given {len(options)} times; give it once{more}")


def _may_repeat(option: click.Option) -> bool:
    """Whether to give the option again changes nothing, or adds a value."""
    # A flag with a second name, such as --text-tools/--native-tools, has two values.
    switch = option.is_flag and not option.secondary_opts and option.is_bool_flag
    return option.multiple or option.count or switch


def _named(option: click.Option) -> str:
    return "/".join([max(option.opts, key=len), *option.secondary_opts])
