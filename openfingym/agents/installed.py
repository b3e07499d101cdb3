"""Agents of installed packages, found by entry points of the group ``openfingym.agents``.

An entry point is named as the agent, and its object is an :class:`openfingym.agents.Agent` or a function without
arguments that returns one. It is loaded when the agent is asked for by name or listed, and not before.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

from openfingym.agents.builtin import BUILTIN
from openfingym.errors import UsageError
from openfingym.plugins import entry_points
from openfingym.task.model import TASK_NAME

if TYPE_CHECKING:
    from openfingym.agents import Agent

ENTRY_POINT_GROUP = "openfingym.agents"
KINDS = ("program", "model", "command")
"""Kinds of agent that a package may bring: the oracle, which reads the hidden answer, is ours alone."""


@dataclass(frozen=True)
class Installed:
    """One agent of an installed package."""

    name: str
    does: str
    """First line of the docstring of the function that makes the agent, and its package in brackets."""
    agent: Agent


def installed_agents() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Entry points of agents by name, sorted; a name has several where two packages claim it."""
    by_name: dict[str, list[EntryPoint]] = defaultdict(list)
    for entry in entry_points(ENTRY_POINT_GROUP):
        # The same distribution may be found in two folders of the path.
        if all(entry.value != other.value for other in by_name[entry.name]):
            by_name[entry.name].append(entry)
    return {name: tuple(by_name[name]) for name in sorted(by_name)}


def load_installed(entries: tuple[EntryPoint, ...]) -> Installed:
    """Load the agent that the entry points of one name state.

    Raises:
        UsageError: the name is taken or no proper name, or what is loaded is no agent; the message names its package.
    """
    entry, *others = entries
    who = f"agent {entry.name!r} of {' and '.join(sorted(map(_package, entries)))}"
    if entry.name in BUILTIN:
        raise UsageError(f"{who}: a built-in agent has that name, and keeps it; have the package take another")
    if others:
        raise UsageError(f"{who}: two packages have an agent of that name; uninstall one of them")
    if not re.match(TASK_NAME, entry.name):
        raise UsageError(f"{who}: a name is lower-case kebab-case, such as my-agent")
    try:
        made = entry.load()
        does = (inspect.getdoc(made) or "").strip().partition("\n")[0] if inspect.isroutine(made) else ""
        agent = made() if callable(made) else made
    except (Exception, SystemExit) as error:  # whatever a stranger's module may raise
        raise UsageError(f"{who}: cannot be loaded from {entry.value!r} ({type(error).__name__}: {error})") from error
    return Installed(entry.name, f"{does} ({_package(entry)})".strip(), _checked(agent, entry.name, who))


def _checked(agent: object, name: str, who: str) -> Agent:
    """The agent under the name by which it is asked for, and never trusted to run without isolation."""
    from openfingym.agents import Agent

    if not isinstance(agent, Agent):
        raise UsageError(
            f"{who}: expected an openfingym.agents.Agent or a function that returns one, found {type(agent).__name__}"
        )
    if agent.kind not in KINDS:
        raise UsageError(f"{who}: its kind is one of {', '.join(KINDS)}; found {agent.kind!r}")
    if (agent.kind == "program") != (agent.acts is None) or (agent.kind == "program" and not agent.program):
        raise UsageError(
            f"{who}: a program has a source in `program`; a model agent or a command has its loop in `acts`"
        )
    # A package could have set `trusted` itself, and would run its program without isolation.
    return replace(agent, name=name, trusted=False)


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
