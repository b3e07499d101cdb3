"""What participants may have stored: whatever the ledger keeps of what they send, added up over all that they do.

Nothing of it is ever removed, since receipts rest on it; so a bound on each rollout alone would bound nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.problems import Problem

MB = 1_000_000
ROLLOUT_BYTES, SUBMISSION_BYTES, EVENT_BYTES = 8192, 2048, 512
"""What the ledger keeps beside the values themselves: of a rollout with its result, of a submission with its feedback,
and of anything else, such as an action, a forecast or a refusal."""


class Storage:
    """Bytes that participants have in the ledger, and the bound on them. Belongs to the event loop.

    The operator and the user of a local verifier own the disk, and are not counted.
    """

    def __init__(self, most: int | None, stored: Mapping[str, int]) -> None:
        """Go on from what is stored.

        Args:
            most: bytes that a participant may have stored; None for any number.
            stored: bytes that are stored, by the name of the participant.
        """
        self._most = most
        self._stored = Counter(stored)

    def require(self, principal: str, size: int) -> None:
        """Check that there is room for ``size`` bytes more.

        Raises:
            Problem: ``storage-exhausted``: there is not.
        """
        if self._most is None or principal in {LOCAL_USER, OPERATOR}:
            return
        if self._stored[principal] + size > self._most:
            raise Problem(
                "storage-exhausted",
                f"{principal} has {self._stored[principal]:,} of {self._most:,} bytes stored here, and this takes "
                f"{size:,} more. Nothing is removed, since receipts rest on it: ask the operator for "
                "more, which `openfingym verifier serve` gives by its option --stored-mb.",
                close=True,
            )

    def take(self, principal: str, size: int) -> None:
        """Count ``size`` bytes more, which are about to be written.

        Raises:
            Problem: ``storage-exhausted``: there is no room for them.
        """
        self.require(principal, size)
        self._stored[principal] += size

    @contextmanager
    def taking(self, principal: str, size: int) -> Iterator[None]:
        """Count ``size`` bytes more, which the block writes; if it fails, they are counted no longer.

        If it is cancelled they stay counted, since its write may be under way.

        Raises:
            Problem: ``storage-exhausted``: there is no room for them.
        """
        self.take(principal, size)
        try:
            yield
        except Exception:
            self.give_back(principal, size)
            raise

    def give_back(self, principal: str, size: int) -> None:
        """Count ``size`` bytes no longer, which were not written after all."""
        self._stored[principal] -= size
