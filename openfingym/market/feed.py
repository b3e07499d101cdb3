"""What an adapter of a venue provides: its protocol, without any input or output of its own.

An adapter says where to connect and what to send, and reads what comes; it opens no socket and knows no clock. So the
same code reads a live connection, a local venue and a recorded session.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openfingym.errors import FeedError
from openfingym.market.ticks import Depth, Message, Quote, ServerBar, Tick, Trade

Frame = str | bytes


@dataclass(frozen=True)
class Address:
    """Where to connect, and with which header fields. Its ``repr`` shows no header, since keys travel there."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Request:
    """A request to a venue's REST interface."""

    method: str
    path: str
    """With its query."""
    weight: int = 1
    """What it costs of the venue's rate limit."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: str | None = None


class FeedSession(ABC):
    """The protocol of one connection, from its opening to its end."""

    def __init__(self) -> None:
        self.replies: list[Frame] = []
        """What is to be sent now; the caller sends and clears it after every call."""
        self.ready = False
        """Whether everything wanted is subscribed, as far as the venue's word goes."""
        self.unreadable: list[str] = []
        """What could not be read of frames that were read otherwise; the caller reports and clears it."""

    @abstractmethod
    def opened(self) -> None:
        """The connection is open."""

    @abstractmethod
    def received(self, frame: Frame) -> Sequence[Message]:
        """What a frame says, in its order; a frame with one unreadable message still gives the others.

        Raises:
            FeedError: the frame is not of the venue's protocol.
        """

    @abstractmethod
    def renew(self, symbols: Sequence[str]) -> None:
        """Subscribe these symbols again, as for a channel that is silent."""


class Feed(ABC):
    """Market data of one venue for some symbols."""

    venue: str
    """Its name, such as ``binance``."""
    life_s: float | None = None
    """Seconds after which the venue closes any connection; a replacement is opened before."""
    simulated = False
    """Whether the venue is one of :mod:`openfingym.market.sim`."""
    frames_per_s = 4.0
    """Frames a second that a connection may send; more of them wait."""
    weight_per_minute = 200
    """What requests may cost in any minute."""
    page = 1000
    """How many trades an answer holds at most; fewer mean that there are no more."""
    kinds: frozenset[type[Tick]] = frozenset((Trade, Quote))
    """Which of trades, quotes and changes of books the stream brings; each is watched for silence."""
    delay_s = 0.0
    """Seconds by which the venue holds everything back, as a delayed feed does."""

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = tuple(symbols)

    def arguments(self) -> dict[str, object]:
        """The arguments, but for symbols and keys, with which another of these reads the same frames alike; as JSON."""
        return {}

    @abstractmethod
    def stream(self) -> Address:
        """Where the stream is."""

    @abstractmethod
    def rest(self) -> Address:
        """Where the REST interface is: the beginning of its URLs."""

    @abstractmethod
    def session(self) -> FeedSession:
        """The protocol of a new connection."""

    def ask_time(self) -> Request | None:
        """A request for the venue's time; None where it has none without an account."""
        return None

    def read_time(self, body: bytes) -> int:
        """The venue's time in the answer, in nanoseconds since the epoch.

        Raises:
            FeedError: the answer holds none, as with each ``read_`` below.
        """
        raise FeedError(f"{self.venue} tells no time, and was asked for none; it answered {body[:100]!r}.")

    @abstractmethod
    def ask_trades(self, symbol: str, after: Trade | None, since: int) -> Request:
        """A request for the trades that followed ``after``, or from time ``since`` on where there is none."""

    @abstractmethod
    def read_trades(self, symbol: str, body: bytes) -> list[Trade]:
        """The trades in the answer, oldest first."""

    @abstractmethod
    def ask_latest(self, symbols: Sequence[str]) -> list[Request]:
        """As few requests as the venue allows for the last trade and quote of each symbol."""

    @abstractmethod
    def read_latest(self, body: bytes) -> list[Trade | Quote]:
        """The trades and quotes in one such answer."""

    @abstractmethod
    def ask_book(self, symbol: str) -> Request | None:
        """A request for the whole book; None where only a new subscription gives one."""

    @abstractmethod
    def read_book(self, symbol: str, body: bytes) -> Depth:
        """The book in the answer."""

    def bar_length(self, interval: int) -> int | None:  # noqa: ARG002
        """Length of the venue's own bars that bars of an interval are best put together of, in nanoseconds; None where
        it has none so short.
        """
        return None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no tape may hold."""
        return ()

    @abstractmethod
    def ask_bars(self, symbol: str, interval: int, begin: int, end: int) -> Request:
        """A request for the venue's bars whose left edge is in [begin, end), nanoseconds; for a thousand at most."""

    @abstractmethod
    def read_bars(self, symbol: str, interval: int, body: bytes) -> list[ServerBar]:
        """The bars in the answer, oldest first."""
