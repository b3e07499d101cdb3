"""Going on with a rollout whose launcher died, so that answers of its model are not paid for twice.

A rollout of a task that asks questions one by one is noted in a file as soon as it exists. Its verifier has every
answer in the ledger, so that whoever runs the same rollout later goes on at the next question. The question that was
open when the launcher died counts as it stands, since the agent has seen it.
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
"""Problems that a verifier answers with where it has no such rollout, or lets nobody go on with it."""


class RolloutNote:
    """The note of one rollout, while it is open.

    Attributes:
        spent: what the rollout's model has cost so far, under all launchers together.
        resumed: how often a launcher has gone on with the rollout from one that had died.
    """

    def __init__(self, path: Path) -> None:
        """Read the note, if there is one.

        Args:
            path: file of the note, which need not exist.
        """
        self._path = path
        self.spent = Spent()
        self.resumed = 0
        self._rollout_id = ""
        # A note that is damaged, or a stranger's, counts as no note: the rollout begins anew.
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            document = read_json(path.parent, path.name, MEGABYTE)
            if isinstance(document, dict) and IDENTIFIER.fullmatch(str(document["rollout_id"])):
                # All of it or nothing: a rollout that begins anew has spent nothing yet.
                self.spent, self.resumed, self._rollout_id = (
                    _spent(document["spent"]),
                    int(document["resumed"]),
                    str(document["rollout_id"]),
                )

    def ticket(
        self, client: VerifierClient, ttl_s: float, package: BuiltPackage, agent: str, seed: int, questions: str | None
    ) -> RolloutTicket | None:
        """Ask the verifier for another ticket of the rollout that was begun before.

        Args:
            client: a client of the verifier of the task.
            ttl_s: seconds until the rollout's new token expires.
            package: the built package of the task.
            agent: name of the agent.
            seed: seed that the agent's programs are given.
            questions: which of the task's questions are asked, such as ``1-10``; None for all.

        Returns:
            The ticket; None where there is no rollout to go on with, or the note is of a rollout with another order.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        if not self._rollout_id:
            return None
        try:
            status = client.rollout_status(self._rollout_id)
            # A note is a file, which may name any rollout: one of another order must not take this one's place.
            stated = status.task_digest, status.agent, status.seed, status.questions
            if stated != (package.manifest.digest, agent, seed, questions):
                raise VerifierError("the note is of another rollout", problem="not-found")
            ticket = client.reopen(self._rollout_id, ttl_s)
        except VerifierError as error:
            if error.problem not in GONE:
                raise
            self.spent, self.resumed, self._rollout_id = Spent(), 0, ""
            return None
        self.resumed += 1
        return ticket

    def begin(self, rollout_id: str) -> None:
        """Write down that a rollout exists, or is gone on with.

        Raises:
            StoreError: the note cannot be written.
        """
        self._rollout_id = rollout_id
        with store_errors(self._path):
            self._path.parent.mkdir(exist_ok=True)
            # To the disk: without its id the rollout's answers could not be found again after a power cut.
            self._write(self.spent, sync=True)

    def charge(self, spent: Spent) -> None:
        """Write down what was spent so far; the rollout goes on where that fails."""
        # Not flushed to the disk after every completion: a power cut may lose an amount, and no answer.
        with contextlib.suppress(OSError):
            self._write(spent, sync=False)

    def _write(self, spent: Spent, *, sync: bool) -> None:
        write_json(
            self._path, {"rollout_id": self._rollout_id, "resumed": self.resumed, "spent": asdict(spent)}, sync=sync
        )


def _spent(document: object) -> Spent:
    """The amounts in a note, as :func:`dataclasses.asdict` wrote them.

    Raises:
        ValueError: the fields are other ones.
        TypeError: the tokens in it have other fields.
    """
    if not isinstance(document, dict) or document.keys() != {field.name for field in fields(Spent)}:
        raise ValueError("this is not what was spent")
    return Spent(**{**document, "usage": Usage(**document["usage"])})
