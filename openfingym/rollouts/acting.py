"""Letting an agent act in a rollout that its verifier knows: the oracle, a program, or a conversation."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from openfingym.agents import Agent
from openfingym.agents.oracle import submit_truth
from openfingym.errors import UsageError
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts.verdict import Acted, Contact

if TYPE_CHECKING:
    from openfingym.agents.llm.resources import RolloutResources
    from openfingym.agents.llm.setup import ModelSetup
    from openfingym.verifiers.client import RolloutTicket


def act(
    package: BuiltPackage,
    agent: Agent,
    setup: ModelSetup | None,
    ticket: RolloutTicket,
    resources: RolloutResources,
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
        resources: the launcher's backend, client, gates and workspaces, with which the agent acts.
        seed: seed that programs are given.
        cancel: ends the agent early when set.
        contact: record of the agent's contact with the verifier, which is filled in also where acting fails.

    Raises:
        UsageError: the oracle is to know another tape than the package's own, or the agent cannot be run as it was
            asked for.
        RuntimeFailureError: our machinery failed.
        VerifierError: the verifier does not answer, or fails.
    """
    if resources.backend is None:
        if ticket.tape != "given":
            raise UsageError(
                f"the oracle knows the package's own hidden data, and this rollout has a {ticket.tape} tape; "
                "run it without --fresh, or on a verifier that gives rollouts the package's own"
            )
        submit_truth(resources.client, ticket, package)
        # All that the oracle does is ask the verifier.
        contact.verifier_s = contact.acting.elapsed_s
        return Acted(contact=contact)
    if setup is not None:
        from openfingym.agents.llm.launching import play_rollout

        played = play_rollout(resources, package, setup, ticket, seed=seed, cancel=cancel)
        contact.failures, contact.told, contact.verifier_s = played.verifier_failures, played.told, played.verifier_s
        return Acted(played.outcome, contact, played)
    from openfingym_runtime.job import Job

    with resources.gates().open(
        rollout_id=ticket.rollout_id,
        token=ticket.token,
        max_body_bytes=resources.max_body_bytes,
        max_calls=resources.max_calls,
    ) as gate:
        job = Job(
            rollout_id=ticket.rollout_id,
            program=agent.program,
            task_files=package.agent_view(resources.backend.libraries()),
            gate_directory=gate.directory,
            limits=resources.limits,
            seed=seed,
            cancel=cancel,
        )
        try:
            return Acted(resources.backend.run(job), contact)
        finally:
            # Also where the backend failed: an agent that was told something of hidden data is not run again.
            contact.failures, contact.told = gate.verifier_failures, gate.told
            contact.verifier_s = gate.waiting.elapsed_s
