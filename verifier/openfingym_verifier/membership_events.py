"""The events of participants and seasons, each one operation on the ledger together with its log entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym_verifier.events import disclose

if TYPE_CHECKING:
    from openfingym_verifier.principals import ParticipantRecord
    from openfingym_verifier.writer import Transaction


@dataclass(frozen=True)
class ParticipantAdded:
    """Somebody was given a key."""

    participant: ParticipantRecord

    def apply(self, transaction: Transaction) -> bool:
        """Write it; False where the name is taken."""
        row = self.participant
        written = transaction.connection.execute(
            "INSERT INTO participants (name, key_digest, created_ns) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (row.name, row.key_digest, row.created_ns),
        )
        if written.rowcount == 1:
            entry = {"event": "participant-added", "at_ns": row.created_ns, "participant": row.name}
            transaction.log("", {**entry, "key": row.key_digest})
        return written.rowcount == 1


@dataclass(frozen=True)
class ParticipantRevoked:
    """A key was withdrawn; what its participant was told stays added up."""

    name: str
    at_ns: int

    def apply(self, transaction: Transaction) -> bool:
        """Write it; False where there is no such key."""
        written = transaction.connection.execute(
            "UPDATE participants SET revoked_ns = ? WHERE name = ? AND revoked_ns IS NULL", (self.at_ns, self.name)
        )
        if written.rowcount == 1:
            transaction.log("", {"event": "participant-revoked", "at_ns": self.at_ns, "participant": self.name})
        return written.rowcount == 1


@dataclass(frozen=True)
class SeasonOpened:
    """A season began."""

    name: str
    at_ns: int

    def apply(self, transaction: Transaction) -> bool:
        """Write it; False where there was one of that name."""
        written = transaction.connection.execute(
            "INSERT INTO seasons (name, opened_ns) VALUES (?, ?) ON CONFLICT DO NOTHING", (self.name, self.at_ns)
        )
        if written.rowcount == 1:
            transaction.log("", {"event": "season-opened", "at_ns": self.at_ns, "season": self.name})
        return written.rowcount == 1


@dataclass(frozen=True)
class Released:
    """A result that was held and now is released."""

    rollout_id: str
    principal: str
    task: str


@dataclass(frozen=True)
class SeasonClosed:
    """A season ended: of what is held, whenever it was begun, the latest results are released and entered as
    disclosed.
    """

    name: str
    at_ns: int
    most: int
    """How many results of one participant and task are released; the older ones stay held."""

    def apply(self, transaction: Transaction) -> list[Released] | None:
        """Write it; returns what is released, or None where there is no open season of that name."""
        connection = transaction.connection
        written = connection.execute(
            "UPDATE seasons SET closed_ns = ? WHERE name = ? AND closed_ns IS NULL", (self.at_ns, self.name)
        )
        if written.rowcount != 1:
            return None
        # Of each participant and task the latest, in whichever season they were begun.
        latest = connection.execute(
            "SELECT id, principal, task FROM (SELECT *, row_number() OVER (PARTITION BY principal, task"
            " ORDER BY json_extract(result, '$.finalized_at') DESC, id) AS place FROM rollouts WHERE disclosure = "
            "'held') WHERE place <= ?",
            (self.most,),
        )
        released = [Released(*row) for row in latest.fetchall()]
        for result in released:
            connection.execute("UPDATE rollouts SET disclosure = 'rounded' WHERE id = ?", (result.rollout_id,))
            disclose(transaction, result.rollout_id, "private", 1, self.at_ns)
        transaction.log("", {"event": "season-closed", "at_ns": self.at_ns, "season": self.name})
        return released
