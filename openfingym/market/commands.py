"""What goes into a live market's machine and what it asks for: it does no input or output itself.

:class:`~openfingym.market.ingest.Ingest` is told what happened, each time with the :class:`Instant` at which it did,
and answers with commands. A runner carries them out and writes every input to the session's tape first; a replay tells
a new machine the same inputs, and a simulated week tells it a simulated one's.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from openfingym.market.feed import Address, Frame, Request


class Instant(NamedTuple):
    """When something happened here."""

    monotonic: int
    """Nanoseconds of a clock that never goes back; ages and deadlines are measured by it alone."""
    wall: int
    """Nanoseconds since the epoch, UTC, by a clock that may be set."""


class Connect(NamedTuple):
    """Open a connection under this number."""

    connection: int


class Send(NamedTuple):
    """Send a frame on a connection."""

    connection: int
    frame: Frame


class Close(NamedTuple):
    """Close a connection."""

    connection: int


class Ask(NamedTuple):
    """Ask the venue's REST interface; the answer comes back under the question's number."""

    question: int
    request: Request


class RestAnswer(NamedTuple):
    """What the venue's REST interface answered."""

    status: int
    """Of HTTP; 0 where no answer came."""
    body: bytes
    """Where no answer came, why."""
    retry_after_s: float | None = None
    """Seconds that the venue asks to wait; None where it says nothing."""
    used: int | None = None
    """What requests have cost of the venue's limit in this minute, by its own count; None where it says nothing."""


_RETRY_AFTER = "\nRetry-After: "


def ending(reason: str, retry_after_s: float | None) -> str:
    """How a connection's end is told to a machine: the reason, and on a line of its own how long the venue asks to
    wait, so that text is all that a tape holds of it.
    """
    return reason if retry_after_s is None else f"{reason}{_RETRY_AFTER}{retry_after_s:.3f}"


def read_ending(text: str) -> tuple[str, float | None]:
    """The reason, and how many seconds to wait; None where nothing is said."""
    reason, found, wait = text.rpartition(_RETRY_AFTER)
    try:
        return (reason, float(wait)) if found else (text, None)
    except ValueError:
        return text, None


class Tell(NamedTuple):
    """Something a person or a report should know: a gap, a silent connection, a refusal."""

    kind: str
    """One of the words of :data:`KINDS`."""
    symbol: str
    """Empty where it concerns all symbols."""
    text: str


KINDS = (
    "connected",
    "lost",
    "silent",
    "gap",
    "filled-gap",
    "resync",
    "refused",
    "handover",
    "lagging",
    "clock",
    "unreadable",
    "failed",
    "drift",
    "cancelled",
    "left-open",
)
"""What :class:`Tell` may be about."""

Command = Connect | Send | Close | Ask | Tell
"""What a machine asks its runner to do."""


class VenueAddresses(Protocol):
    """Where a machine's connections and questions go."""

    venue: str

    def stream(self) -> Address:
        """Where its WebSocket is."""

    def rest(self) -> Address:
        """Where its REST interface is."""


class RunMachine(Protocol):
    """What a runner tells, and whose commands it carries out."""

    @property
    def failed(self) -> str:
        """Why it has stopped for good; empty while it has not."""

    def start(self, at: Instant) -> list[Command]:
        """The session begins."""

    def stop(self, at: Instant) -> list[Command]:
        """It ends."""

    def opened(self, connection: int, at: Instant) -> list[Command]:
        """A connection is open."""

    def frame(self, connection: int, frame: Frame, at: Instant) -> list[Command]:
        """A frame was received."""

    def closed(self, connection: int, reason: str, at: Instant) -> list[Command]:
        """A connection has ended, or could not be opened."""

    def answered(self, question: int, answer: RestAnswer, at: Instant) -> list[Command]:
        """A question was answered."""

    def passed(self, at: Instant) -> list[Command]:
        """Time has passed."""
