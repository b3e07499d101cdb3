"""Since when an endpoint does not answer, how much longer it is waited for, and warnings that say so.

The warnings are those of this module's logger: one at the first failure and one every :data:`TELL_EVERY_S` seconds of
an outage; and one every so many seconds of silence until the endpoint answers for the first time. A model that is known
to work may think in silence.
"""

from __future__ import annotations

import asyncio
import logging
import time

TELL_EVERY_S = 15.0
"""Seconds between two warnings of one outage."""
UNREACHED_S = 10.0
"""Seconds of patience with an endpoint to which no connection was ever made: a wrong address, or a server that nobody
started, is more likely than an outage."""

_log = logging.getLogger(__name__)


class Outage:
    """What is known of an endpoint's failures since it last answered; used on one event loop.

    Args:
        place: the endpoint's URL, for people.
        patience_s: seconds for which an endpoint that was reached before is asked again.
    """

    def __init__(self, place: str, patience_s: float) -> None:
        self._place = place
        self._patience_s = patience_s
        self._reason = ""
        """What the latest failure was."""
        self._since: float | None = None
        """Monotonic time of the first failure since the endpoint last answered; None where it has not failed since."""
        self._reached = False
        """Whether a connection was ever made."""
        self._unreached_since: float | None = None
        """Monotonic time of the first attempt, while no connection was ever made; None once one was."""
        self._told_at: float | None = None
        """Monotonic time of the latest warning of a failure."""
        self._teller: asyncio.Task[None] | None = None
        """Warns of failures, or of a silence before there are any."""
        self._works = False
        """Whether the endpoint ever answered."""

    @property
    def unreached(self) -> bool:
        """Whether connections were tried, and none was ever made."""
        return self._unreached_since is not None

    def lasted_s(self, started: float) -> float:
        """Seconds for which the endpoint has failed.

        Args:
            started: monotonic time at which a request began that was never answered.
        """
        return time.monotonic() - min(started, self._since or started)

    def patient_until(self, end: float) -> float:
        """When to give up a request, as monotonic time.

        Args:
            end: when the request's own patience is over.
        """
        # When an endpoint is down, hundreds of requests that wait must not each wait the whole patience once more.
        if self._unreached_since is not None:
            end = min(end, self._unreached_since + UNREACHED_S)
        return end if self._since is None else min(end, self._since + self._patience_s)

    def asked(self, timeout_s: float) -> None:
        """Note that a request is sent, whose answer may take ``timeout_s`` seconds."""
        if not self._works and self._teller is None:
            self._teller = asyncio.get_running_loop().create_task(self._tell_silence(timeout_s))

    def failed(self, started: float, reason: str, *, connected: bool) -> None:
        """Note that an attempt failed.

        Args:
            started: monotonic time at which the attempt began.
            reason: what went wrong, for people.
            connected: whether the endpoint was reached.
        """
        self._reason = reason
        if connected:
            self._reached, self._unreached_since = True, None
        elif not self._reached:
            self._unreached_since = self._unreached_since or started
        # The first failure of all requests begins the outage, from which the patience of each of them is counted.
        if self._since is None:
            self._since = started
            self._silence_teller()
            # An endpoint that limits the rate refuses one request and answers the next: not each time is worth a line.
            if self._told_at is None or time.monotonic() - self._told_at >= TELL_EVERY_S:
                self._say()
            self._teller = asyncio.get_running_loop().create_task(self._tell())

    def answered(self) -> None:
        """Note that the endpoint works, whether or not it did what it was asked for."""
        self._reached, self._works, self._unreached_since = True, True, None
        if self._since is not None and time.monotonic() - self._since > TELL_EVERY_S:
            _log.warning("%s answers again, after %.0f s", self._place, time.monotonic() - self._since)
        self.forget()

    def forget(self) -> None:
        """Forget an outage once nobody waits any more: the next request has its whole patience again."""
        self._since = None
        self._silence_teller()

    def _silence_teller(self) -> None:
        if self._teller is not None:
            self._teller.cancel()
            self._teller = None

    async def _tell(self) -> None:
        """Warn of the outage until it is over."""
        while True:
            await asyncio.sleep(TELL_EVERY_S)
            self._say()

    async def _tell_silence(self, timeout_s: float) -> None:
        """Warn that the first answer takes long, until it is there or an attempt fails."""
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
        """Warn of the outage once: how long it lasts, why, and for how long the endpoint is tried."""
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
