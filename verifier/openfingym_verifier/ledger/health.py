"""Whether a rollout could be created and written now."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time

from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.problems import Problem

logger = logging.getLogger(__name__)

LOOK_S = 2.0
"""Seconds for which the outcome of a probe of the disk is taken to hold."""
PROBE_S = 10.0
"""Seconds that a probe may take; a disk that takes longer is as good as none."""


class LedgerHealth:
    """Tries the ledger's disk, once for all who ask at the same time. Belongs to the event loop."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._probe: asyncio.Future[str | None] | None = None
        """The latest probe: the reason why no rollout could be written; None where one could."""
        self._probe_again = 0.0
        """Monotonic time in seconds after which the disk is probed again."""

    async def require_well(self) -> None:
        """Check that a rollout could be created and written now; the check is repeated every few seconds at most.

        Raises:
            Problem: ``unavailable``: no rollout could be written; the message says why.
        """
        # While a probe is under way no second one is begun: a slow disk would be given ever more to do.
        if self._probe is None or (self._probe.done() and time.monotonic() > self._probe_again):
            self._probe_again = time.monotonic() + LOOK_S
            self._probe = asyncio.ensure_future(self._unwell())
        # The probe is shared by all who ask, so one caller that goes away must not cancel it for the others.
        reason = await asyncio.shield(self._probe)
        if reason is not None:
            raise Problem("unavailable", reason, retry_after_s=LOOK_S)

    async def _unwell(self) -> str | None:
        """The reason why no rollout could be written now; None where one could."""
        if not self._ledger.writer.alive:
            return "The ledger's writer has stopped."
        try:
            async with asyncio.timeout(PROBE_S):
                await self._ledger.probe()
        except (sqlite3.Error, TimeoutError):
            logger.exception("the ledger cannot be written")
            return "The ledger cannot be written; is the disk full?"
        return None
