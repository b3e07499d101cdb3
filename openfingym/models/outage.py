"""Since when an endpoint does not answer, how long it is waited for, and telling people so.

It is told as warnings of this module's logger: a failure at once, and again every :data:`TELL_EVERY_S` seconds; a
silence every as many seconds, until the endpoint answers for the first time. A model that is known to work may think.
"""

from __future__ import annotations

import asyncio
import logging
import time

TELL_EVERY_S = 15.0
UNREACHED_S = 10.0
"""Patience with an endpoint to which no connection was ever made: more likely than an outage is a wrong address, or a
server that nobody started."""

_log = logging.getLogger(__name__)


class Outage:
    """What is known of an endpoint's failures since it last answered; used on one event loop.

    Args:
        place: the endpoint's URL, for people.
        patience_s: seconds for which an endpoint that was reached before is waited for.
    """

    def __init__(self, place: str, patience_s: float) -> None:
        self._place = place
        self._patience_s = patience_s
        self._reason = ""
        self._since: float | None = None
        """Monotonic time of the first of the failures since anything was answered."""
        self._reached = False
        self._unreached_since: float | None = None
        """Monotonic time of the first attempt, while no connection was made at all."""
        self._told_at: float | None = None
        self._teller: asyncio.Task[None] | None = None
        """What tells of failures, or before there are any, of a silence."""
        self._works = False
        """Whether it ever answered."""

    @property
    def unreached(self) -> bool:
        """Whether connections were tried, and none was ever made."""
        return self._unreached_since is not None

    def lasted_s(self, started: float) -> float:
        """Seconds of the failures, of which those since ``started`` are certain."""
        return time.monotonic() - min(started, self._since or started)

    def patient_until(self, end: float) -> float:
        """When to give up a request: when an endpoint is down, many that wait must not each wait the whole patience."""
        if self._unreached_since is not None:
            end = min(end, self._unreached_since + UNREACHED_S)
        return end if self._since is None else min(end, self._since + self._patience_s)

    def asked(self, timeout_s: float) -> None:
        """A request is sent, whose answer may take ``timeout_s``."""
        if not self._works and self._teller is None:
            self._teller = asyncio.get_running_loop().create_task(self._tell_silence(timeout_s))

    def failed(self, started: float, reason: str, *, connected: bool) -> None:
        """An attempt that began at ``started`` failed."""
        self._reason = reason
        if connected:
            self._reached, self._unreached_since = True, None
        elif not self._reached:
            self._unreached_since = self._unreached_since or started
        # Shared by all requests: what has been waited for by one is not waited for once more by each of hundreds.
        if self._since is None:
            self._since = started
            self._hush()
            # An endpoint that limits the rate refuses one request and answers the next: not each time is worth a line.
            if self._told_at is None or time.monotonic() - self._told_at >= TELL_EVERY_S:
                self._say()
            self._teller = asyncio.get_running_loop().create_task(self._tell())

    def answered(self) -> None:
        """The endpoint works, whether or not it did what it was asked for."""
        self._reached, self._works, self._unreached_since = True, True, None
        if self._since is not None and time.monotonic() - self._since > TELL_EVERY_S:
            _log.warning("%s answers again, after %.0f s", self._place, time.monotonic() - self._since)
        self.forget()

    def forget(self) -> None:
        """Nobody waits any more: what was is no reason to be less patient with what comes."""
        self._since = None
        self._hush()

    def _hush(self) -> None:
        if self._teller is not None:
            self._teller.cancel()
            self._teller = None

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(TELL_EVERY_S)
            self._say()

    async def _tell_silence(self, timeout_s: float) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(TELL_EVERY_S)
            _log.warning(
                "%s has not answered for %.0f s; this first answer is waited for up to %.0f s",
                self._place,
                time.monotonic() - began,
                timeout_s,
            )

    def _say(self) -> None:
        assert self._since is not None, "the teller ends with the outage"
        now = self._told_at = time.monotonic()
        lasted, left = now - self._since, self.patient_until(now + self._patience_s) - now
        _log.warning(
            "%s does not answer%s (%s); %s",
            self._place,
            f" for {lasted:.0f} s now" if lasted >= 1 else "",
            self._reason,
            f"it is tried for up to {left:.0f} s more" if left >= 1 else "given up after this attempt",
        )
