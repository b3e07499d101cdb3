"""The interface of a venue's adapter: its protocol, without any input or output of its own.

An adapter says where to connect and what to send, and reads what comes; it opens no socket and reads no clock. So the
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
    """Where to connect; of a REST interface the beginning of all URLs."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Header fields to send, by name."""


@dataclass(frozen=True)
class Request:
    """A request to a venue's REST interface."""

    method: str
    """Method of HTTP, such as ``GET``."""
    path: str
    """Path and query, to be added to the interface's address."""
    weight: int = 1
    """What the request costs of the venue's rate limit."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Header fields of this request, beside those of the address."""
    body: str | None = None
    """What is sent with the request; None for nothing."""


class FeedSession(ABC):
    """The protocol of one connection, from its opening to its end."""

    def __init__(self) -> None:
        self.replies: list[Frame] = []
        """Frames to be sent now; the caller sends them and clears the list after every call."""
        self.ready = False
        """Whether everything wanted is subscribed, as far as the venue confirms it."""
        self.unreadable: list[str] = []
        """Faults of messages in frames of which the rest could be read; the caller reports them and clears the list."""

    @abstractmethod
    def opened(self) -> None:
        """The connection is open."""

    @abstractmethod
    def received(self, frame: Frame) -> Sequence[Message]:
        """The messages of a frame, in its order; a frame with one unreadable message still gives the others.

        Raises:
            FeedError: the frame is not of the venue's protocol.
        """

    @abstractmethod
    def renew(self, symbols: Sequence[str]) -> None:
        """Subscribe these symbols again, as is done when their channel is silent."""


class Feed(ABC):
    """Market data of one venue for some symbols.

    Args:
        symbols: the symbols to follow, as the venue writes them.
    """

    venue: str
    """Name of the venue, such as ``binance``."""
    life_s: float | None = None
    """Seconds after which the venue closes any connection, so that a replacement is opened before; None for never."""
    simulated = False
    """Whether the venue is one of :mod:`openfingym.market.sim`."""
    frames_per_s = 4.0
    """How many frames a connection may send in a second; further ones wait."""
    weight_per_minute = 200
    """What the requests of any minute may cost, in the unit of :attr:`Request.weight`."""
    page = 1000
    """How many trades an answer holds at most; one with fewer says that there are no more."""
    kinds: frozenset[type[Tick]] = frozenset((Trade, Quote))
    """Which of trades, quotes and changes of books the stream brings; each is watched for silence."""
    delay_s = 0.0
    """Seconds by which the venue holds everything back, as a delayed feed does."""

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = tuple(symbols)

    def arguments(self) -> dict[str, object]:
        """The arguments, without symbols and keys, by which a replay makes a feed that reads the same frames alike; a
        JSON value.
        """
        return {}

    @abstractmethod
    def stream(self) -> Address:
        """The address of the stream."""

    @abstractmethod
    def rest(self) -> Address:
        """The address of the REST interface: the beginning of its URLs."""

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
        """Length of the longest of the venue's own bars that make up one of an interval, in nanoseconds.

        Args:
            interval: length of the bars that are wanted, in nanoseconds.

        Returns:
            The length of the venue's bars; None where it has none so short.
        """
        return None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that must not get onto a tape."""
        return ()

    @abstractmethod
    def ask_bars(self, symbol: str, interval: int, begin: int, end: int) -> Request:
        """A request for the venue's bars, of which an answer holds at most a thousand.

        Args:
            symbol: the symbol of the bars.
            interval: length of the bars in nanoseconds.
            begin: first left edge, in nanoseconds since the epoch.
            end: end of the left edges, in nanoseconds since the epoch, itself left out.
        """

    @abstractmethod
    def read_bars(self, symbol: str, interval: int, body: bytes) -> list[ServerBar]:
        """The bars in the answer, oldest first."""
