"""Bringing the final results of deferred rollouts into the folders of their runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import StoreError
from openfingym.results import RolloutResult, read_run
from openfingym.results.run_folder import RESULT, rewrite_result
from openfingym.rollouts.run_files import proof_of
from openfingym.rollouts.verdict import with_verified

if TYPE_CHECKING:
    from openfingym.verifiers.client import VerifierClient


@dataclass(frozen=True)
class Synced:
    """A deferred result on disk, and what became of it."""

    folder: Path
    """Folder of the run that has the result."""
    result: RolloutResult
    """The result as it is on the disk afterwards; still ``deferred`` where the verifier has no final one."""

    @property
    def changed(self) -> bool:
        """Whether the result is settled now."""
        return self.result.state != "deferred"


def sync(root: Path, client: VerifierClient) -> Iterator[Synced]:
    """Replace deferred results by final ones, one after the other.

    Whatever interrupts it, each folder has either the deferred result or the final one, and the next call goes on.

    Args:
        root: folder below which runs are kept.
        client: a client of the verifier whose ledger has the rollouts; results that it does not know stay as they are.

    Raises:
        StoreError: there is no such folder, or a result cannot be written.
        VerifierError: the verifier does not answer.
    """
    if not root.is_dir():
        raise StoreError(f"{root}: there is no such folder; expected one with runs")
    for path in sorted(root.rglob(RESULT)):
        try:
            result = read_run(path.parent)
        except StoreError:
            continue  # a file of something else, or a damaged result, which reports name
        # A result that is held until its season is closed is deferred too, but asked no questions: `verifier collect`
        # fetches it.
        if result.state != "deferred" or result.questions is None:
            continue
        verified = client.settled(result.rollout_id)
        if verified is not None and verified.state != "deferred":
            result = with_verified(result, verified)
            rewrite_result(result, proof_of(client, result.rollout_id))
        yield Synced(path.parent, result)
