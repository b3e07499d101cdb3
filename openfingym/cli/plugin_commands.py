"""Commands of installed distributions, which bring them through the entry-point group ``openfingym.commands``.

An entry point has the name of its command, and a click command or group as its object, such as each module of this
folder has. Entry points are read here and not by ``importlib.metadata``, to import which takes a third of the time in
which all commands are listed.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator

import click

from openfingym.cli.repeats import refusing_repeats
from openfingym.errors import UsageError

GROUP = "openfingym.commands"
SHORT = 200
"""Characters that the list of commands shows of the first sentence of a command's help."""
Claim = tuple[str, str]
"""The distribution and the place of an entry point, such as ``module:object``."""


def names(group: str = GROUP) -> list[str]:
    """Names of all commands that distributions bring, whether or not they can be loaded, in order of the alphabet."""
    return sorted(claims(group))


def short_helps() -> dict[str, str]:
    """The first sentence of each command's help, or why it cannot be used, by name."""
    return {name: _command(name, claimed).get_short_help_str(SHORT) for name, claimed in sorted(claims(GROUP).items())}


def command_of(name: str, group: str = GROUP) -> click.Command | None:
    """The command of a name, which takes no option of one value twice; None if no distribution brings one.

    One that cannot be loaded is a command that says why, and does nothing else.
    """
    claimed = claims(group).get(name)
    return None if claimed is None else _command(name, claimed)


def claims(group: str) -> dict[str, list[Claim]]:
    """The entry points of a group, by name.

    Of a distribution that is on the path twice, the first counts, as for ``importlib.metadata``.
    """
    found: dict[str, list[Claim]] = {}
    met = set()
    for folder in dict.fromkeys(sys.path):
        for source, path in _distributions(folder or os.curdir):
            if source not in met:
                met.add(source)
                for name, place in _entries(path, group):
                    found.setdefault(name, []).append((source, place))
    return found


def _distributions(folder: str) -> Iterator[tuple[str, str]]:
    """The distributions that are installed in a folder: each one's name, and the path of its metadata."""
    try:
        with os.scandir(folder) as entries:
            named = sorted(entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info")))
    except OSError:
        return
    for name in named:
        yield name.rpartition(".")[0].partition("-")[0].lower(), f"{folder}/{name}"


def _entries(path: str, group: str) -> Iterator[tuple[str, str]]:
    """The entry points of a group that a distribution has: each one's name and place."""
    try:
        # Not by pathlib, which nothing else that lists commands needs.
        with open(f"{path}/entry_points.txt", encoding="utf-8") as file:  # noqa: PTH123
            lines = [line.strip() for line in file]
    except (OSError, ValueError):
        return
    section = ""
    for line in lines:
        if line.startswith("["):
            section = line.strip("[]").strip()
        elif section == group and "=" in line and not line.startswith(("#", ";")):
            name, _, place = line.partition("=")
            yield name.strip(), place.partition("[")[0].replace(" ", "")


def _command(name: str, claimed: list[Claim]) -> click.Command:
    """The command of a name, or one that says why there is none."""
    source, place = claimed[0]
    if others := {each for _, each in claimed} - {place}:
        return _refusal(name, f"{source} ({place}) and {', '.join(sorted(others))} have one name; uninstall one")
    module, _, attribute = place.partition(":")
    try:
        command = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # the module of another distribution may raise anything
        return _refusal(name, f"{source} ({place}) cannot be loaded: {error}")
    if not isinstance(command, click.Command):
        return _refusal(name, f"{source} ({place}): expected a click command, found {type(command).__name__}")
    return refusing_repeats(command)


def _refusal(name: str, why: str) -> click.Command:
    """A command that refuses to run, whatever it is given, its option ``--help`` included."""
    message = f"the command {name!r} of {why}"

    def refuse() -> None:
        raise UsageError(message)

    return click.Command(
        name,
        callback=refuse,
        short_help=message,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
