"""The inputs of a live market's machine and the commands that it answers with; it does no input or output itself.

:class:`~openfingym.market.ingest.Ingest` is told what happened, each time with the :class:`Instant` at which it did,
and answers with commands. A runner carries these out, and writes every input to the session's tape before the machine
is told; a replay tells a new machine the inputs on a tape.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from openfingym.market.feed import Address, Frame, Request


class Instant(NamedTuple):
    """When something happened on this machine, by both of its clocks."""

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
    """Status of HTTP; 0 where no answer came."""
    body: bytes
    """What was answered; where no answer came, the reason."""
    retry_after_s: float | None = None
    """Seconds that the venue asks to wait; None where it says nothing."""
    used: int | None = None
    """What requests have cost of the venue's limit in this minute, by its own count; None where it says nothing."""


_RETRY_AFTER = "\nRetry-After: "


def ending(reason: str, retry_after_s: float | None) -> str:
    """A connection's end as the machine is told it and a tape records it: a text of the reason and, on a line of its
    own, how long the venue asks to wait.

    Args:
        reason: why the connection ended, or could not be opened.
        retry_after_s: seconds that the venue asks to wait before the next one; None where it says nothing.
    """
    return reason if retry_after_s is None else f"{reason}{_RETRY_AFTER}{retry_after_s:.3f}"


def read_ending(text: str) -> tuple[str, float | None]:
    """Read what :func:`ending` wrote: the reason, and how many seconds to wait, None where the venue says nothing."""
    reason, separator, wait = text.rpartition(_RETRY_AFTER)
    try:
        return (reason, float(wait)) if separator else (text, None)
    except ValueError:
        return text, None


class Tell(NamedTuple):
    """Tell people and reports something that they should know: of a gap, a silent connection, a refusal."""

    kind: str
    """One of the words of :data:`KINDS`."""
    symbol: str
    """The symbol that it concerns; empty where it concerns all."""
    text: str
    """The message in words."""


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
    """Name of the venue, such as ``binance``."""

    def stream(self) -> Address:
        """The address of the venue's WebSocket."""

    def rest(self) -> Address:
        """The address of the venue's REST interface: the beginning of its URLs."""


class RunMachine(Protocol):
    """A machine as its runner sees it: each input is a call, and what it returns is to be carried out in this order."""

    @property
    def failed(self) -> str:
        """Why the machine has stopped for good; empty while it has not."""

    def start(self, at: Instant) -> list[Command]:
        """The session begins."""

    def stop(self, at: Instant) -> list[Command]:
        """The session ends."""

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
