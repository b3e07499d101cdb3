"""The connections of a feed: opened, reopened after growing waits, and replaced before the venue closes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from openfingym.market.commands import Close, Command, Connect, Send, Tell
from openfingym.market.feed import Feed, FeedSession, Frame
from openfingym.market.ticks import SECOND

OPEN_S = 20.0
"""Seconds for a connection to open; a transport gives up before, after 10."""
SUBSCRIBE_S = 15.0
"""Seconds from the opening until everything wanted is subscribed."""
FIRST_WAIT_S = 0.5
"""Seconds until a connection is opened again after the first failure, at most."""
LONGEST_WAIT_S = 60.0
"""Seconds until it is opened again after many failures, at most."""
STEADY_S = 30.0
"""Seconds after which a connection counts as having been good, so that the next wait is short again."""
OVERLAP_S = 5.0
"""Seconds for which a connection and its replacement are both read."""
CROWDED = 406
"""Alpaca's code for too many connections."""
CROWDED_S = 10.0
"""Seconds to wait at least where the venue has too many connections of ours: it may hold a dead one for a while."""


class Link:
    """One connection. All times are nanoseconds of the monotonic clock, and -1 where there is none yet."""

    __slots__ = ("_sent", "closing", "frames", "heard", "number", "opened", "ready", "retire", "session", "since")

    def __init__(self, number: int, session: FeedSession, now: int) -> None:
        self.number = number
        self.session = session
        self.since = now
        """When the command was given to open it."""
        self.opened = -1
        """When it was open."""
        self.ready = -1
        """When everything wanted was subscribed on it."""
        self.heard = -1
        """When it last brought data."""
        self.closing = False
        """Whether the venue said that it will close it."""
        self.retire = -1
        """When its replacement is to be opened; -1 for never."""
        self.frames: deque[Frame] = deque()
        """Frames that wait to be sent."""
        self._sent: deque[int] = deque()  # when frames of the last second were sent

    def send(self, rate: float, now: int) -> list[Command]:
        """Commands for the frames that may be sent now.

        Args:
            rate: how many frames may be sent in any second.
            now: the monotonic clock in nanoseconds.
        """
        commands: list[Command] = []
        while self._sent and self._sent[0] <= now - SECOND:
            self._sent.popleft()
        while self.frames and len(self._sent) < rate:
            commands.append(Send(self.number, self.frames.popleft()))
            self._sent.append(now)
        return commands


class BackOff:
    """How long to wait before a connection is opened again: twice as long each time, and up to half less at random, so
    that many clients do not come back at once.

    Args:
        rng: draws how much less.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._failures = 0

    def due(self, now: int, ready: int, wait_s: float | None) -> int:
        """When to connect again.

        Args:
            now: when the connection ended, by the monotonic clock in nanoseconds.
            ready: when everything was subscribed on it; -1 for never.
            wait_s: seconds that the venue asks to wait; None where it says nothing.
        """
        if ready >= 0 and now - ready > STEADY_S * SECOND:
            self._failures = 0
        longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures, 10))
        self._failures += 1
        return now + int(max(float(self._rng.uniform(0.5, 1.0)) * longest, wait_s or 0.0) * SECOND)


class Links:
    """The connection that is read, and at times its replacement.

    Args:
        feed: the venue's adapter, which makes the session of each connection.
        rng: draws the jitter of waits.
        out: the machine's commands, to which those of connections are added.
        lost: called with the reason when no connection is read any more.
        ready: called with the link and the time when everything is subscribed on the one that is read.
    """

    def __init__(
        self,
        feed: Feed,
        rng: np.random.Generator,
        out: list[Command],
        lost: Callable[[str], None],
        ready: Callable[[Link, int], None],
    ) -> None:
        self.by_number: dict[int, Link] = {}
        """The connections by their numbers, those that are not open yet included."""
        self.main: Link | None = None
        """The connection by which the feed stands; None while it waits to be opened again."""
        self.spare: Link | None = None
        """Its replacement, read beside it until it takes over; None while there is none."""
        self.stopped = False
        """Whether nothing is to be opened any more."""
        self._feed, self._rng, self._out = feed, rng, out
        self._lost, self._ready = lost, ready
        self._number = 0
        self._back_off = BackOff(rng)
        self._main_due: int | None = None
        self._spare_due = 0

    def start(self, now: int) -> None:
        """Connect."""
        self._main_due = None
        self.main = self._connect(now)

    def stop(self) -> None:
        """Close everything, and open nothing any more."""
        self.stopped = True
        self._out += [Close(number) for number in self.by_number]
        self.by_number.clear()
        self.main = self.spare = self._main_due = None

    def opened(self, number: int, now: int) -> None:
        """A connection is open."""
        link = self.by_number.get(number)
        if link is None:
            self._out.append(Close(number))  # it was given up meanwhile
            return
        link.opened = now
        if self._feed.life_s is not None:
            # At a random moment, so that many clients which began together do not all replace theirs together.
            early = self._rng.uniform(1.0, 2.0) * min(300.0, self._feed.life_s / 20)
            link.retire = now + int((self._feed.life_s - early) * SECOND)
        link.session.opened()
        self.flush(link, now)

    def flush(self, link: Link, now: int) -> None:
        """Send what a session wants sent, and notice that it is ready."""
        session = link.session
        if session.replies:
            link.frames.extend(session.replies)
            session.replies.clear()
        if link.frames:
            self._out += link.send(self._feed.frames_per_s, now)
        if session.ready and link.ready < 0:
            link.ready = now
            if link is self.main:
                self._ready(link, now)

    def closed(self, number: int, reason: str, wait_s: float | None, now: int) -> None:
        """A connection has ended or could not be opened."""
        link = self.by_number.pop(number, None)
        if link is not None:
            self._gone(link, reason, wait_s, now)

    def drop(self, link: Link, reason: str, now: int, *, wait_s: float | None = None) -> None:
        """Give a connection up.

        Args:
            link: the connection to give up.
            reason: why it is given up, in words for people.
            now: the monotonic clock in nanoseconds.
            wait_s: seconds to wait at least until the next one is opened; None for no such limit.
        """
        if self.by_number.pop(link.number, None) is not None:
            self._out.append(Close(link.number))
            self._gone(link, reason, wait_s, now)

    def passed(self, now: int) -> None:
        """Time has passed."""
        for link in list(self.by_number.values()):
            if link.opened < 0 and now - link.since > OPEN_S * SECOND:
                self.drop(link, f"it did not open within {OPEN_S:g} s", now)
            elif link.opened >= 0 and link.ready < 0 and now - link.opened > SUBSCRIBE_S * SECOND:
                self.drop(link, f"the subscription was not confirmed within {SUBSCRIBE_S:g} s", now)
            elif link.frames:
                self._out += link.send(self._feed.frames_per_s, now)
        if self._main_due is not None and now >= self._main_due:
            self.start(now)
        self._replace(now)

    def _replace(self, now: int) -> None:
        """Open a replacement where one is due, and let it take over once both have been read for a while."""
        main, spare = self.main, self.spare
        if main is None or main.ready < 0:
            return
        if spare is None:
            if (main.closing or 0 <= main.retire <= now) and now >= self._spare_due:
                self.spare = self._connect(now)
                self._tell("handover", "a replacement is opened before the venue closes the connection")
        elif spare.ready >= 0 and now - spare.ready > OVERLAP_S * SECOND:
            # The market is not at rest, as the old connection still brings data: the replacement is of no use.
            if spare.heard < 0 <= spare.ready <= main.heard:
                self.drop(spare, "the replacement is silent", now)
                return
            self.by_number.pop(main.number, None)
            self._out.append(Close(main.number))
            self.main, self.spare = spare, None
            self._tell("handover", "the replacement has taken over")

    def _gone(self, link: Link, reason: str, wait_s: float | None, now: int) -> None:
        if self.stopped:
            return
        due = self._back_off.due(now, link.ready, wait_s)
        if link is self.spare:
            self.spare, self._spare_due = None, due
            self._tell("handover", f"the replacement has failed: {reason}")
        elif link is self.main:
            # A replacement that is ready takes over without a gap; one that is not ready yet leaves a gap all the same.
            self.main, self.spare = self.spare, None
            if self.main is None:
                self._main_due = due
            if self.main is None or self.main.ready < 0:
                self._lost(reason)

    def _connect(self, now: int) -> Link:
        self._number += 1
        link = Link(self._number, self._feed.session(), now)
        self.by_number[link.number] = link
        self._out.append(Connect(link.number))
        return link

    def _tell(self, kind: str, text: str) -> None:
        self._out.append(Tell(kind, "", text))
