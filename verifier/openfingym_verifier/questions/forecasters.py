"""Who forecasts: the rows of forecasters in the ledger, and how often a participant may forecast. Belongs to the event
loop.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from openfingym_verifier.bucket import Bucket, Rate, take
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.principals import Caller

RATE = Rate(per_second=2.0, burst=5000)
"""Rate limit on the forecasts of a participant, each of which takes room on the disk for ever: a few hundred megabytes
a day at most."""
MOST_NAMES = 10_000
"""Largest number of agents and versions of a principal: a report tells a million of them apart, of all principals
together."""
MOST_KNOWN = 16_384
"""Largest number of forecasters that are kept in memory."""


class Forecasters:
    """The forecasters of one verifier: principals' agents, each of one version."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._rows: dict[tuple[str, str, str], int] = {}
        """Rows of forecasters by principal, agent and version."""
        self._buckets: dict[str, Bucket] = {}
        """Rate limits by participant."""

    async def row_of(self, forecaster: tuple[str, str, str]) -> int:
        """Row of a forecaster (principal, agent, version) in the ledger, which is written if it is new.

        Raises:
            Problem: ``malformed-request``: the principal has too many agents and versions.
        """
        row = self._rows.get(forecaster)
        if row is None:
            written = await self._ledger.writer.submit(partial(_written, forecaster), overtakes=True)
            if isinstance(written, Problem):
                raise written
            assert isinstance(written, int)
            if len(self._rows) >= MOST_KNOWN:
                self._rows.clear()
            # Known only once it is on the disk: a group that fails is rolled back.
            row = self._rows[forecaster] = written
        return row

    def take_token(self, caller: Caller, now_ns: int) -> None:
        """Take one token of a participant's rate limit; the operator has none.

        Args:
            caller: the operator or the participant who sends a forecast.
            now_ns: present Unix time in nanoseconds.

        Raises:
            Problem: ``rate-limited``: there is none yet; ``retry_after_s`` says when there will be.
        """
        if caller.operator:
            return
        bucket = self._buckets.get(caller.name) or Bucket(float(RATE.burst), now_ns)
        self._buckets[caller.name], wait_s = take(bucket, RATE, now_ns)
        if wait_s:
            raise Problem(
                "rate-limited",
                f"At most {RATE.per_second:g} forecasts a second; try again in {wait_s:.2f} s.",
                retry_after_s=wait_s,
            )


def _written(forecaster: tuple[str, str, str], transaction: Transaction) -> int | Problem:
    """The operation that finds the row of a forecaster, and writes it if it is new."""
    connection = transaction.connection
    query = "SELECT id FROM forecasters WHERE principal = ? AND agent = ? AND version = ?"
    row = connection.execute(query, forecaster).fetchone()
    if row is not None:
        return int(row[0])
    # Counted where it is written, so that names that come together do not all find room.
    (names,) = connection.execute("SELECT count(*) FROM forecasters WHERE principal = ?", forecaster[:1]).fetchone()
    if names >= MOST_NAMES:
        return Problem("malformed-request", f"{forecaster[0]} forecasts under {names} names already; use one of them.")
    written = connection.execute("INSERT INTO forecasters (principal, agent, version) VALUES (?, ?, ?)", forecaster)
    assert written.lastrowid is not None
    return written.lastrowid
