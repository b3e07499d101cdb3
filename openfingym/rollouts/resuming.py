"""Going on with a rollout whose launcher died: what its model was asked and answered is not paid for again.

A rollout of a task that asks questions one by one is noted in a file as soon as it exists. Its verifier has every
answer in the ledger, so that whoever runs the same rollout later goes on at the next question. The one that was open
counts as it stands, since it was shown.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import VerifierError
from openfingym.files.strange import MEGABYTE, read_json
from openfingym.files.whole import store_errors, write_json
from openfingym.models.messages import Usage
from openfingym.models.meter import Spent
from openfingym.results.faults import IDENTIFIER

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.verifiers.client import RolloutTicket, VerifierClient

GONE = frozenset({"not-found", "task-unavailable", "malformed-request", "forbidden"})
"""Problems of a verifier that has no such rollout, or that does not let anybody go on with it."""


class RolloutNote:
    """The note of one rollout, while it is open.

    Attributes:
        spent: what its model has cost so far, over all launchers.
        resumed: how often a launcher took it up from one that had died.
    """

    def __init__(self, path: Path) -> None:
        """Read the note, if there is one."""
        self._path = path
        self.spent = Spent()
        self.resumed = 0
        self._rollout_id = ""
        # One that is damaged, or a stranger's, is none.
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            found = read_json(path.parent, path.name, MEGABYTE)
            if isinstance(found, dict) and IDENTIFIER.fullmatch(str(found["rollout_id"])):
                self.spent = _spent(found["spent"])
                self.resumed = int(found["resumed"])
                self._rollout_id = str(found["rollout_id"])

    def ticket(
        self, client: VerifierClient, ttl_s: float, package: BuiltPackage, agent: str, seed: int, questions: str | None
    ) -> RolloutTicket | None:
        """A ticket for the rollout that was begun before; None where there is none to go on with.

        A note is a file, which may say anything: a rollout that is not of this order is none.

        Args:
            client: a client of the verifier of the task.
            ttl_s: seconds until the rollout's new token expires.
            package: the built package of the task.
            agent: name of the agent.
            seed: its seed.
            questions: which questions are asked; None for all.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        if not self._rollout_id:
            return None
        try:
            status = client.rollout_status(self._rollout_id)
            stated = status.task_digest, status.agent, status.seed, status.questions
            if stated != (package.manifest.digest, agent, seed, questions):
                raise VerifierError("the note is of another rollout", problem="not-found")
            found = client.reopen(self._rollout_id, ttl_s)
        except VerifierError as error:
            if error.problem not in GONE:
                raise
            self.spent, self.resumed, self._rollout_id = Spent(), 0, ""
            return None
        self.resumed += 1
        return found

    def begin(self, rollout_id: str) -> None:
        """Note that a rollout exists, or is gone on with.

        Raises:
            StoreError: the note cannot be written.
        """
        self._rollout_id = rollout_id
        with store_errors(self._path):
            self._path.parent.mkdir(exist_ok=True)
            self._write(self.spent, sync=True)

    def charge(self, spent: Spent) -> None:
        """Note what was spent until now; a note that cannot be written costs nothing but the note."""
        with contextlib.suppress(OSError):
            self._write(spent, sync=False)

    def _write(self, spent: Spent, *, sync: bool) -> None:
        write_json(
            self._path, {"rollout_id": self._rollout_id, "resumed": self.resumed, "spent": asdict(spent)}, sync=sync
        )


def _spent(found: object) -> Spent:
    """What :func:`dataclasses.asdict` gave of it."""
    if not isinstance(found, dict) or found.keys() != {one.name for one in fields(Spent)}:
        raise ValueError("this is not what was spent")
    return Spent(**{**found, "usage": Usage(**found["usage"])})
