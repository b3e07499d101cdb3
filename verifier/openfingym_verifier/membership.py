"""Participants and seasons. Belongs to the event loop; the ledger holds them, memory mirrors them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from openfingym_verifier.clock import now_ns
from openfingym_verifier.ledger_rows import FIRST_SEASON, SeasonRecord
from openfingym_verifier.membership_events import ParticipantAdded, ParticipantRevoked, SeasonClosed, SeasonOpened
from openfingym_verifier.policy import LOCAL_USER, OPERATOR, RELEASED
from openfingym_verifier.principals import Caller, ParticipantRecord, key_digest, make_key, require_name
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from openfingym_verifier.ledger import Ledger
    from openfingym_verifier.membership_events import Released
    from openfingym_verifier.policy import Policy


class Membership:
    """Participants, their keys, and the seasons of one verifier."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        """Read participants and seasons from the ledger; a new ledger begins its first season."""
        self._ledger = ledger
        self._local = policy.name == "local"
        self._operator = Caller(LOCAL_USER if policy.name == "local" else OPERATOR, operator=True)
        self._participants = {record.name: record for record in ledger.participants()}
        # By digest: the keys themselves are kept nowhere.
        self._names = {
            record.key_digest: record.name for record in self._participants.values() if record.revoked_ns is None
        }
        if not ledger.seasons():
            ledger.writer.run(SeasonOpened(FIRST_SEASON, now_ns()).apply)
        self.season: SeasonRecord = ledger.seasons()[-1]
        """The latest season, open or closed."""

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
        return None if name is None else Caller(name, operator=False)

    def has_key(self, key: bytes) -> bool:
        """Whether a participant has this key."""
        return key_digest(key) in self._names

    def require_open_season(self) -> SeasonRecord:
        """The season in which rollouts are created.

        Raises:
            Problem: ``season-closed``: no season is open.
        """
        if self.season.closed_ns is not None:
            raise Problem("season-closed", f"Season {self.season.name!r} is closed, and no other was opened yet.")
        return self.season

    def participants(self) -> list[ParticipantRecord]:
        """Everybody who was ever given a key, by name."""
        return sorted(self._participants.values(), key=lambda record: record.name)

    async def add(self, name: str) -> str:
        """Give a new participant a key; returns it.

        Raises:
            Problem: ``malformed-request``: the name cannot be used; ``name-taken``.
        """
        require_name(name)
        key = make_key()
        record = ParticipantRecord(name, key_digest(key.encode()), now_ns(), None)
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

    async def close_season(self) -> list[Released]:
        """End the season; returns what is released of the results that were held.

        Raises:
            Problem: ``season-closed``: the season is closed already.
        """
        season, at_ns = self.require_open_season(), now_ns()
        released = await self._ledger.writer.submit(SeasonClosed(season.name, at_ns, RELEASED).apply)
        if released is None:
            raise Problem("season-closed", f"Season {season.name!r} is closed already.")
        self.season = replace(season, closed_ns=at_ns)
        return cast("list[Released]", released)

    async def open_season(self, name: str) -> SeasonRecord:
        """Begin another season.

        Raises:
            Problem: ``malformed-request``: the name cannot be used; ``season-open``: the last season is not closed;
                ``name-taken``.
        """
        require_name(name)
        if self.season.closed_ns is None:
            raise Problem("season-open", f"Season {self.season.name!r} is open; close it first.")
        at_ns = now_ns()
        if not await self._ledger.writer.submit(SeasonOpened(name, at_ns).apply):
            raise Problem("name-taken", f"There was a season named {name!r}; choose another name.")
        self.season = SeasonRecord(name, at_ns, None)
        return self.season
