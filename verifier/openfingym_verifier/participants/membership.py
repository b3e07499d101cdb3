"""Participants. Belongs to the event loop; the ledger holds them, memory mirrors them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from openfingym_verifier.clock import now_ns
from openfingym_verifier.participants.events import ParticipantAdded, ParticipantRevoked
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.principals import Caller, ParticipantRecord, key_digest, make_key, require_name
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.policy import Policy


class Membership:
    """Participants of one verifier, and their keys."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        """Read the participants from the ledger."""
        self._ledger = ledger
        self._local = policy.name == "local"
        self._operator = Caller(LOCAL_USER if policy.name == "local" else OPERATOR, operator=True)
        self._participants = {record.name: record for record in ledger.participants()}
        # By digest: the keys themselves are kept nowhere.
        self._names = {
            record.key_digest: record.name for record in self._participants.values() if record.revoked_ns is None
        }

    @property
    def operator(self) -> Caller:
        """The caller that holds the admin token."""
        return self._operator

    def caller_with(self, key: bytes) -> Caller | None:
        """The participant with this key; None where nobody has it, or no longer.

        Raises:
            Problem: ``forbidden``: the verifier has the local policy, which is not for participants.
        """
        name = self._names.get(key_digest(key))
        if name is not None and self._local:
            raise Problem(
                "forbidden",
                "This verifier has the local policy, which tells everything; participants need the strict one.",
            )
        return None if name is None else Caller(self._participants[name].principal, operator=False)

    def has_key(self, key: bytes) -> bool:
        """Whether a participant has this key."""
        return key_digest(key) in self._names

    def participants(self) -> list[ParticipantRecord]:
        """Everybody who was ever given a key, by name."""
        return sorted(self._participants.values(), key=lambda record: record.name)

    async def add(self, name: str, organisation: str | None = None) -> str:
        """Give a new participant a key; returns it.

        Args:
            name: name of the participant.
            organisation: name of the organisation that it belongs to; None for a party of its own.

        Raises:
            Problem: ``malformed-request``: a name cannot be used; ``name-taken``.
        """
        require_name(name)
        if organisation is not None:
            require_name(organisation)
        self._require_no_party_twice(name, organisation)
        key = make_key()
        record = ParticipantRecord(name, key_digest(key.encode()), now_ns(), None, organisation)
        if not await self._ledger.writer.submit(ParticipantAdded(record).apply):
            # A second key for a revoked name would begin a count anew that must go on.
            raise Problem("name-taken", f"There is, or was, a participant named {name!r}; choose another name.")
        # Only once it is on the disk: a key that was given out must survive a restart.
        self._participants[name] = record
        self._names[record.key_digest] = name
        return key

    async def revoke(self, name: str) -> None:
        """Withdraw a participant's key.

        Raises:
            Problem: ``not-found``: no participant of this name has a key.
        """
        at_ns = now_ns()
        if not await self._ledger.writer.submit(ParticipantRevoked(name, at_ns).apply):
            raise Problem("not-found", f"No participant named {name[:80]!r} has a key.")
        record = self._participants[name] = replace(self._participants[name], revoked_ns=at_ns)
        self._names.pop(record.key_digest, None)

    def _require_no_party_twice(self, name: str, organisation: str | None) -> None:
        """Check that a participant's name is no organisation's: under it, two parties would be added up as one.

        Raises:
            Problem: ``name-taken``.
        """
        known = self._participants.values()
        for party in known:
            if party.organisation == name:
                raise Problem("name-taken", f"{name!r} is an organisation; choose another name for the participant.")
            if organisation is not None and party.name == organisation:
                raise Problem(
                    "name-taken", f"{organisation!r} is a participant; choose another name for the organisation."
                )
        if organisation == name:
            raise Problem("name-taken", f"{name!r} cannot be a participant of itself; choose another name.")
