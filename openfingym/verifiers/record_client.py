"""Reading a verifier's records: submissions, actions, tapes, results, and the log with its receipts."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from openfingym.errors import ReceiptError, VerifierError
from openfingym.task.episodes import RecordedAction
from openfingym.verifiers.answers import LogRow
from openfingym.verifiers.connection import Connection, build

if TYPE_CHECKING:
    import httpx
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.receipts.receipt import Receipt


class RecordClient:
    """The part of a :class:`~openfingym.verifiers.client.VerifierClient` that reads what the verifier has on record.

    Its methods raise a ``VerifierError`` where the verifier does not answer, or has no such record.
    """

    _connection: Connection

    def log(self, rollout_id: str) -> tuple[LogRow, ...]:
        """The rows of the verifier's log that are about a rollout, in order."""
        return tuple(build(LogRow, row) for row in self._connection.json("GET", f"/v1/rollouts/{rollout_id}/log"))

    def submission(self, rollout_id: str, n: int) -> NDArray[np.float64]:
        """The values of an accepted submission, float64 of the task's submission shape.

        A finished rollout of a sequential task has one submission: the outcomes of all its episodes.

        Args:
            rollout_id: id of the rollout.
            n: number of the submission, from 1.
        """
        import numpy as np

        answer = self._connection.get(f"/v1/rollouts/{rollout_id}/submissions/{n}")
        values: NDArray[np.float64] = np.load(io.BytesIO(answer.content), allow_pickle=False)
        return values

    def data(self, rollout_id: str) -> dict[str, NDArray[Any]]:
        """Public arrays of a rollout's tape that take the place of the package's, by name; empty for a given tape."""
        import numpy as np

        answer = self._connection.get(f"/v1/rollouts/{rollout_id}/data")
        with np.load(io.BytesIO(answer.content), allow_pickle=False) as arrays:
            return dict(arrays)

    def tape(self, rollout_id: str) -> bytes | None:
        """The tape of a finished rollout's live session; None where the rollout had no session."""
        answer = self._connection.send("GET", f"/v1/rollouts/{rollout_id}/tape", self._connection.admin_token)
        if answer.status_code == 404:
            return None
        if answer.status_code != 200:
            self._connection.checked(answer)
        return answer.content

    def receipt(self, rollout_id: str) -> Receipt | None:
        """The receipt of a finished rollout; None where it has none, or the verifier is older than receipts."""
        answer = self._connection.send("GET", f"/v1/rollouts/{rollout_id}/receipt", self._connection.admin_token)
        # An older verifier has no such route, and answers 404 too.
        return None if answer.status_code == 404 else self._receipt(answer)

    def receipt_of_row(self, row: int) -> Receipt:
        """The receipt of a row of the log.

        Args:
            row: number of the row, from 1.

        Raises:
            VerifierError: there is no such row, or it is about somebody else's rollout.
        """
        return self._receipt(self._connection.send("GET", f"/v1/receipts/{row}", self._connection.admin_token))

    def checkpoint(self) -> str:
        """A signed checkpoint of the log, as text.

        Whoever keeps one can check later that the log was only added to since.
        """
        answer = self._connection.get("/v1/checkpoint")
        return answer.text

    def tile(self, path: str) -> bytes:
        """A tile of the log's hashes, or a bundle of its entries.

        Args:
            path: path of the tile, such as ``0/x001/067`` or ``entries/000.p/12``; see
                :mod:`openfingym.receipts.tiles`.

        Raises:
            VerifierError: the log is too short to have such a tile, or the caller asks for entries and is not the
                operator.
        """
        answer = self._connection.get(f"/v1/tile/{path}")
        return answer.content

    def result_document(self, rollout_id: str) -> bytes:
        """The result of a finished rollout in canonical JSON, as the verifier wrote it."""
        answer = self._connection.get(f"/v1/rollouts/{rollout_id}/result")
        return answer.content

    def actions(self, rollout_id: str) -> tuple[RecordedAction, ...]:
        """Every action taken in a rollout of a sequential task, in order."""
        answer = self._connection.get(f"/v1/rollouts/{rollout_id}/actions")
        return tuple(build(RecordedAction, json.loads(line)) for line in answer.content.splitlines())

    def _receipt(self, answer: httpx.Response) -> Receipt:
        from openfingym.receipts.receipt import Receipt

        if answer.status_code != 200:
            self._connection.checked(answer)
        try:
            return Receipt.from_json(answer.content)
        except ReceiptError as error:
            raise VerifierError(f"{self._connection.where} answered with no receipt: {error}") from None
