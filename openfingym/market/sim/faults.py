"""Faults of a local venue, as data: what goes wrong, from when to when, and for whom.

Times are those of the exchange's clock, so that a fault and what follows from it fall at the same instant in every run,
whether time passes by the clock or is advanced by hand.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from openfingym.errors import VenueError
from openfingym.market.ticks import SECOND

FOREVER = 2**63 - 1

FaultKind = Literal[
    "mute",  # a connection carries no data or answers; pings are answered
    "frozen",  # the same, and neither are pings answered nor sent, as where packets are lost
    "gap",  # events are dropped
    "duplicate",  # events are sent twice
    "reorder",  # an event is sent after the one that follows it on its connection
    "latency",  # events are sent ``seconds`` late
    "close",  # connections are closed at ``begin``, and new ones until ``end``
    "abort",  # the same without a closing handshake
    "shutdown",  # the venue announces at ``begin`` that it will close connections
    "ignored",  # a subscription is confirmed, and nothing comes of it
    "slow",  # a request is read ``seconds`` late
    "limited",  # requests are answered by ``status`` and ``Retry-After: seconds``, and not read
    "refused",  # requests are refused by ``status``, from 400 to 499, and ``text``
    "lost-answer",  # a request is carried out, and answered by ``status``
    "hang",  # a request is carried out, and not answered for ``seconds``
    "lagging-account",  # balances are shown as they stood ``seconds`` ago
    "early-execution",  # an order's answer comes ``seconds`` after its executions
    "skew",  # the venue's clock is ``seconds`` ahead
]


@dataclass(frozen=True)
class VenueFault:
    """Something that goes wrong from ``begin`` until before ``end``.

    Executions are lost, doubled or late by ``gap``, ``duplicate`` or ``latency`` of the channel ``execution``.
    """

    kind: FaultKind
    begin: int = 0
    """When it begins, in nanoseconds of the exchange's clock."""
    end: int = FOREVER
    """When it is over, in the same way."""
    connection: int | None = None
    """The number of the WebSocket connection that is hit, the first being 0; None for all."""
    symbol: str | None = None
    """The symbol whose events are hit; None for all."""
    channel: str | None = None
    """The kind of events that are hit, such as ``trade``, ``depth`` or ``execution``; None for all."""
    path: str = ""
    """Beginning of the paths, or of the methods of a WebSocket interface, whose requests are hit."""
    probability: float = 1.0
    """Probability that each event or request is hit."""
    seconds: float = 0.0
    """Seconds of the exchange's clock; their meaning depends on the kind."""
    status: int = 503
    """Status of the HTTP answer."""
    text: str = ""
    """The venue's words in a refusal; empty for its usual ones."""

    def __post_init__(self) -> None:
        if not self.begin < self.end:
            raise VenueError(
                f"a fault {self.kind!r} ends at {self.end}, not after its begin at {self.begin}: give a later end"
            )
        if not 0 <= self.probability <= 1:
            raise VenueError(f"a fault {self.kind!r} has probability {self.probability}: expected one from 0 to 1")
        if self.kind == "refused" and not 400 <= self.status < 500:
            raise VenueError(f"a refusal has a status from 400 to 499, and not {self.status}: others mean no refusal")
        if self.seconds < 0 and self.kind != "skew":
            raise VenueError(f"a fault {self.kind!r} takes {self.seconds} s: expected 0 or more")


class Faults:
    """All faults of a venue.

    Args:
        faults: the faults of the venue.
        seed: the seed by which faults with a probability hit or not.
    """

    def __init__(self, faults: Iterable[VenueFault] = (), *, seed: int = 0) -> None:
        self.faults = list(faults)
        """The faults; they may be changed while the venue runs."""
        self._random = random.Random(seed)

    def hit(
        self,
        kind: FaultKind,
        now: int,
        *,
        connection: int | None = None,
        symbol: str | None = None,
        channel: str | None = None,
        path: str = "",
    ) -> VenueFault | None:
        """The first fault of a kind that hits something now; None where all goes well.

        Args:
            kind: the kind of fault.
            now: time of the exchange, in nanoseconds.
            connection: number of the connection that it concerns; None for none.
            symbol: symbol that it concerns; None for none.
            channel: channel that it concerns; None for none.
            path: path of the request that it concerns; empty for none.
        """
        for fault in self.faults:
            if (
                fault.kind == kind
                and fault.begin <= now < fault.end
                and fault.connection in {None, connection}
                and fault.symbol in {None, symbol}
                and fault.channel in {None, channel}
                and path.startswith(fault.path)
                and (fault.probability == 1 or self._random.random() < fault.probability)
            ):
                return fault
        return None

    def begun(self, kind: FaultKind, before: int, now: int) -> list[VenueFault]:
        """The faults of a kind that began after ``before`` and not after ``now``."""
        return [fault for fault in self.faults if fault.kind == kind and before < fault.begin <= now]

    def next(self, now: int) -> int:
        """When the next fault begins or ends, in nanoseconds of the exchange's clock."""
        times = (time for fault in self.faults for time in (fault.begin, fault.end) if time > now)
        return min(times, default=FOREVER)

    def skew(self, now: int) -> int:
        """Nanoseconds by which the venue's clock is ahead of the exchange's."""
        fault = self.hit("skew", now)
        return int(fault.seconds * SECOND) if fault else 0


class DelayedFrame(NamedTuple):
    """A frame that is sent at a time; of several at the same time, those with lower numbers come first."""

    time: int
    number: int
    frame: str | bytes


class Outbox:
    """The frames of one connection on their way to it, and the faults that they meet.

    Args:
        faults: the faults of the venue.
        connection: number of the connection.
    """

    def __init__(self, faults: Faults, connection: int) -> None:
        self._faults = faults
        self._connection = connection
        self._waiting: list[DelayedFrame] = []  # a heap
        self._held: str | bytes | None = None  # a frame that is to be sent after the next one
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, frame: str | bytes, now: int, *, symbol: str | None = None, channel: str | None = None) -> None:
        """Take a frame that the venue sends now.

        Args:
            frame: the frame to be sent.
            now: time of the exchange, in nanoseconds.
            symbol: the symbol that it is of; None for none.
            channel: the channel that it is of; None for an answer, which only ``mute`` and ``frozen`` stop.
        """
        if self._hit("mute", now, symbol, channel) or self._hit("frozen", now, symbol, channel):
            return
        if channel is None:
            self._add(frame, now)
            return
        if self._hit("gap", now, symbol, channel):
            return
        late = self._hit("latency", now, symbol, channel)
        at = now + int(late.seconds * SECOND) if late else now
        if self._held is None and self._hit("reorder", now, symbol, channel):
            self._held = frame
            return
        for _ in range(2 if self._hit("duplicate", now, symbol, channel) else 1):
            self._add(frame, at)
        if self._held is not None:
            self._add(self._held, at)
            self._held = None

    def next(self, now: int) -> int:
        """When the next frame is due after now; :data:`FOREVER` where none is."""
        return min((frame.time for frame in self._waiting if frame.time > now), default=FOREVER)

    def due(self, now: int) -> list[str | bytes]:
        """The frames to send by now, in their order; each is given once."""
        frames = []
        while self._waiting and self._waiting[0].time <= now:
            frames.append(heapq.heappop(self._waiting).frame)
        return frames

    def _add(self, frame: str | bytes, time: int) -> None:
        self._number += 1
        heapq.heappush(self._waiting, DelayedFrame(time, self._number, frame))

    def _hit(self, kind: FaultKind, now: int, symbol: str | None, channel: str | None) -> VenueFault | None:
        return self._faults.hit(kind, now, connection=self._connection, symbol=symbol, channel=channel)


class Alarms:
    """Callbacks at times of the exchange's clock."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, time: int, ring: Callable[[], None]) -> None:
        """Call a function once.

        Args:
            time: when, in nanoseconds of the exchange's clock.
            ring: the function to call, without arguments.
        """
        self._number += 1
        heapq.heappush(self._waiting, (time, self._number, ring))

    @property
    def next(self) -> int:
        """When the next callback is due; :data:`FOREVER` where none is."""
        return self._waiting[0][0] if self._waiting else FOREVER

    def advance(self, now: int) -> None:
        """Make the calls that are due."""
        while self._waiting and self._waiting[0][0] <= now:
            heapq.heappop(self._waiting)[2]()
