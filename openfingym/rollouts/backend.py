"""The backend of a run: chosen for its first rollout, and the same whenever the run goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from openfingym.agents import Agent
from openfingym.errors import BackendUnavailableError, UsageError
from openfingym.machine import ISOLATING, BackendName, Libraries
from openfingym.results import RolloutResult

MODULES: Final = {"scikit-learn": "sklearn"}
"""Modules of libraries whose name is another one than the library's in lower case."""
_OWN: Final = tuple(name for name in get_args(BackendName) if name != "auto")


def known_backend(recorded: str | None, results: Iterable[RolloutResult]) -> str | None:
    """The backend with which a run began; None where it has not begun.

    Args:
        recorded: what the run's folder says; None for a folder that says nothing, as of an earlier version.
        results: results of the run's finished rollouts.

    Raises:
        UsageError: the folder says nothing, and the rollouts had different ones.
    """
    if recorded is not None:
        return recorded
    # Whoever runs no program, such as the oracle, has none.
    found = sorted({result.backend for result in results} & set(_OWN))
    if len(found) > 1:
        raise UsageError(
            f"the finished rollouts of this run had different backends ({', '.join(found)}); say with --backend which "
            "one the others get"
        )
    return found[0] if found else None


@dataclass(frozen=True)
class BackendChoice:
    """A backend that works on a machine."""

    name: str
    libraries: Libraries | None
    """The libraries that programs can import; None where they are not known."""


def choose(wanted: str, asked: str, agents: Sequence[Agent]) -> BackendChoice | None:
    """The backend for the rollouts that a run is to begin now.

    Args:
        wanted: the backend with which the run began, or else what the plan says: the name of one, or ``auto``.
        asked: what the plan says. A run that began with a backend goes on with it if this is ``auto``.
        agents: agents of the rollouts.

    Returns:
        A backend that works here; None where no agent runs a program.

    Raises:
        BackendUnavailableError: it does not work on this machine; another one is not taken in its place.
        UsageError: programs of others would run without isolation.
    """
    from openfingym_runtime.backends import select

    acting = [agent for agent in agents if agent.kind != "oracle"]
    if not acting:
        return None
    try:
        backend = select(wanted, trusted=all(agent.trusted for agent in acting))
    except (BackendUnavailableError, UsageError) as error:
        if wanted == asked:
            raise
        others = " or ".join(f"--backend {name}" for name in ISOLATING if name != wanted)
        raise type(error)(
            f"this run began with backend {wanted!r}, which cannot be used here: {error}\n"
            f"Go on where it can be used; or name another one ({others}), which the results will state."
        ) from error
    return BackendChoice(backend.name, backend.libraries())


def lacking(libraries: Libraries | None, agents: Sequence[Agent]) -> str | None:
    """What to tell people of libraries that agents may want and programs cannot import; None where nothing is missed.

    Args:
        libraries: the libraries of the backend; None where they are not known.
        agents: agents of the rollouts. A model may want any library; a program wants those that it names.
    """
    if libraries is None:
        return None
    missed = [name for name in libraries.missing if any(_may_want(agent, name) for agent in agents)]
    if not missed:
        return None
    return (
        f"programs cannot import {', '.join(missed)}, which this machine lacks, and agents are told so; in the agent "
        "image they are there. To have them here too: pip install 'openfingym[llm]'"
    )


def _may_want(agent: Agent, library: str) -> bool:
    return agent.acts is not None or MODULES.get(library, library.lower()) in agent.program
