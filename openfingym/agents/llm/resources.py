"""The parts of a launcher with which the agent of one rollout acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.agents.llm.conversation_runner import ConversationRunner
    from openfingym.verifiers.client import VerifierClient
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate.gate import GateKeeper
    from openfingym_runtime.job import Backend, Limits


@dataclass(frozen=True)
class RolloutResources:
    """The parts of a launcher with which the agent of one rollout acts; gates and conversations are made when first
    needed.
    """

    backend: Backend | None
    """Isolates the agent's programs; None for the oracle, which runs none."""
    client: VerifierClient
    """Speaks to the verifier of the rollout."""
    gates: Callable[[], GateKeeper]
    """Gives what opens gates to that verifier."""
    conversations: Callable[[], ConversationRunner]
    """Gives the event loop on which agents with a model act."""
    limits: Limits
    """Limits of each program of the task."""
    max_body_bytes: int
    """Longest body that programs may send to the verifier."""
    max_calls: int
    """Most requests that the programs of one rollout may make of the verifier."""
    pool: WorkspacePool | None = None
    """Workspaces that were started ahead of need; None where the rollout starts its own."""
