"""What of an agent ran in isolation, as its launcher knows it.

The launcher states this of the rollouts that it runs. The verifier cannot know it, and no receipt proves it.
"""

from __future__ import annotations

from openfingym.agents import Agent
from openfingym.plugins import is_own
from openfingym.results import Isolation

ISOLATING = frozenset({"docker", "sandbox"})
"""Backends that isolate the programs that they run."""


def isolation_of(agent: Agent, backend: str, *, model_is_object: bool) -> Isolation:
    """What of an agent runs in isolation.

    Args:
        agent: the agent, with its loop where it has one.
        backend: name of what isolates its programs; ``host`` where none are run.
        model_is_object: whether its model is an object of the caller's, and so code that runs with the user's rights.
    """
    if model_is_object:
        return "outside"
    if backend not in ISOLATING:
        return "none" if agent.kind == "program" and agent.trusted else "outside"
    if agent.acts is None:
        return "inside"
    if not is_own(agent.acts):
        return "outside"
    # A loop of ours states where it is run; most run here, and their programs inside.
    stated: Isolation = getattr(agent.acts, "isolation", "programs inside")
    return stated
