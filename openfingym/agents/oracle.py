"""The oracle, which runs on the host with the hidden data: it submits the best answer, or plays the best actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.kinds import is_sequential, kind_of, sequential_kind, walks

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.verifiers.client import RolloutTicket, VerifierClient


def submit_truth(client: VerifierClient, ticket: RolloutTicket, package: BuiltPackage) -> None:
    """Submit the hidden targets, or play each private episode with actions that are made from them.

    Raises:
        VerifierError: the verifier does not answer, or fails.
    """
    spec, manifest, truth = package.task.spec, package.manifest, package.read_truth()
    if not is_sequential(spec.contract):
        best = kind_of(package.task).oracle(spec.contract, truth, manifest.submission_shape)
        if walks(spec.contract):
            client.walk(ticket.token, best[manifest.n_public :])
        else:
            client.submit(ticket.token, best)
        return
    kind = sequential_kind(spec.contract)
    for _ in range(ticket.budget):
        at = client.start_episode(ticket.token)
        # Public windows come first in the hidden arrays, so a private episode's window lies behind all of them.
        for action in kind.oracle_actions(spec, package.array, truth, manifest.n_public + at.number):
            if at.done:
                break
            at = client.step(ticket.token, at.episode, at.step + 1, action)
