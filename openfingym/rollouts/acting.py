"""Letting an agent act in a rollout that its verifier knows: the oracle, a program, or a conversation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.agents import Agent
from openfingym.agents.oracle import submit_truth
from openfingym.errors import UsageError
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts.bounds import gate_bounds, limits_of
from openfingym.rollouts.verdict import Acted, Contact

if TYPE_CHECKING:
    from openfingym.agents.llm.conversation_runner import ConversationRunner
    from openfingym.agents.llm.launching import ModelSetup
    from openfingym.verifiers.client import RolloutTicket, VerifierClient
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate.gate import GateKeeper
    from openfingym_runtime.job import Backend


@dataclass(frozen=True)
class ActingParts:
    """The parts of a launcher with which an agent acts; gates and conversations are made when first needed."""

    backend: Backend | None
    """Isolates the agent's programs; None for the oracle, which runs none."""
    client: VerifierClient
    """Speaks to the verifier of the rollout."""
    gates: Callable[[], GateKeeper]
    """Gives what opens gates to that verifier."""
    conversations: Callable[[], ConversationRunner]
    """Gives the event loop on which agents with a model act."""
    pool: WorkspacePool | None = None
    """Workspaces that were started ahead of need; None where the rollout starts its own."""


def act(
    package: BuiltPackage,
    agent: Agent,
    setup: ModelSetup | None,
    ticket: RolloutTicket,
    parts: ActingParts,
    *,
    seed: int,
    cancel: threading.Event,
    contact: Contact,
) -> Acted:
    """Let the agent act to its end.

    Args:
        package: the package as this rollout's agent sees it.
        agent: the agent that acts.
        setup: the model, prompt and limits of an agent with a model or a command; None for any other.
        ticket: the rollout, as its verifier knows it.
        parts: the launcher's backend, client, gates and workspaces, with which the agent acts.
        seed: seed that programs are given.
        cancel: ends the agent early when set.
        contact: record of the agent's contact with the verifier, which is filled in also where acting fails.

    Raises:
        UsageError: the oracle is to know another tape than the package's own, or the agent cannot be run as it was
            asked for.
        RuntimeFailureError: our machinery failed.
        VerifierError: the verifier does not answer, or fails.
    """
    if parts.backend is None:
        if ticket.tape != "given":
            raise UsageError(
                f"the oracle knows the package's own hidden data, and this rollout has a {ticket.tape} tape; "
                "run it without --fresh, or on a verifier that gives rollouts the package's own"
            )
        submit_truth(parts.client, ticket, package)
        # All that the oracle does is ask the verifier.
        contact.verifier_s = contact.acting.elapsed_s
        return Acted(contact=contact)
    body, calls = gate_bounds(package)
    if setup is not None:
        return _converse(package, setup, ticket, parts, parts.backend, seed=seed, cancel=cancel, contact=contact)
    from openfingym_runtime.job import Job

    with parts.gates().open(
        rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=body, max_calls=calls
    ) as gate:
        job = Job(
            rollout_id=ticket.rollout_id,
            program=agent.program,
            task_files=package.agent_view(parts.backend.libraries()),
            gate_directory=gate.directory,
            limits=limits_of(package),
            seed=seed,
            cancel=cancel,
        )
        try:
            return Acted(parts.backend.run(job), contact)
        finally:
            # Also where the backend failed: an agent that was told something of hidden data is not run again.
            contact.failures, contact.told = gate.verifier_failures, gate.told
            contact.verifier_s = gate.waiting.elapsed_s


def _converse(
    package: BuiltPackage,
    setup: ModelSetup,
    ticket: RolloutTicket,
    parts: ActingParts,
    backend: Backend,
    *,
    seed: int,
    cancel: threading.Event,
    contact: Contact,
) -> Acted:
    from openfingym.agents.llm.launching import RolloutResources, play_rollout

    body, calls = gate_bounds(package)
    resources = RolloutResources(
        parts.conversations(), parts.client, parts.gates(), backend, limits_of(package), body, calls, parts.pool
    )
    played = play_rollout(resources, package, setup, ticket, seed=seed, cancel=cancel)
    contact.failures, contact.told, contact.verifier_s = played.verifier_failures, played.told, played.verifier_s
    return Acted(played.outcome, contact, played)
