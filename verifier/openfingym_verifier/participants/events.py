"""The events of participants, each one operation on the ledger together with its log entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.principals import ParticipantRecord


@dataclass(frozen=True)
class ParticipantAdded:
    """Somebody was given a key."""

    participant: ParticipantRecord

    def apply(self, transaction: Transaction) -> bool:
        """Write it; False where the name is taken."""
        row = self.participant
        written = transaction.connection.execute(
            "INSERT INTO participants (name, key_digest, created_ns, organisation) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (row.name, row.key_digest, row.created_ns, row.organisation),
        )
        if written.rowcount == 1:
            entry = {"event": "participant-added", "at_ns": row.created_ns, "participant": row.name}
            # Left out of a party of its own, as in entries from before there were organisations.
            entry |= {} if row.organisation is None else {"organisation": row.organisation}
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
