"""The interface of a broker's module: its messages as reports and orders as requests, without input or output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from openfingym.market.brokers.reports import AccountReport, Instrument, OrderReport, Report, Submitted
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.commands import Instant, RestAnswer
from openfingym.market.feed import Address, Frame, Request
from openfingym.market.keys import Keys
from openfingym.trading.orders import Reason, Side


class BrokerAnswer(NamedTuple):
    """An answer to a request."""

    status: int
    """Status of HTTP; 0 where no answer came, whatever the cause."""
    body: bytes = b""
    """What was answered."""
    headers: Mapping[str, str] = {}
    """Header fields, by names in lower case."""

    @classmethod
    def of(cls, answer: RestAnswer) -> Self:
        """The answer in the form that :class:`~openfingym.market.rest.RestClient` gives, and that tapes hold."""
        wait_s = answer.retry_after_s
        return cls(answer.status, answer.body, {} if wait_s is None else {"retry-after": f"{wait_s:.3f}"})

    @property
    def good(self) -> bool:
        """Whether what was asked for was done."""
        return 200 <= self.status < 300


class BrokerRefusal(NamedTuple):
    """The meaning of an answer that refuses a request."""

    text: str
    """Why, in the venue's words."""
    reason: Reason = Reason.VENUE_REFUSED
    """Why, as an agent is told."""
    certain: bool = True
    """Whether the request has certainly had no effect; otherwise it may have had one."""
    fatal: bool = False
    """Whether the account's keys are of no use any more."""
    missing: bool = False
    """Whether the venue does not know the order."""
    wait_s: float | None = None
    """Seconds in which nothing may be asked, where too much was asked."""
    clock: bool = False
    """Whether our clock is too far from the venue's."""


class Standing(NamedTuple):
    """What an account may do."""

    trades: bool
    """Whether its orders are taken."""
    text: str
    """Why they are not, in words; empty where they are."""


class FillQuery(NamedTuple):
    """A question for fills: of one order, or all since a time."""

    symbol: str = ""
    """The symbol whose fills are asked for; empty for all, where the venue allows it."""
    order_id: str = ""
    """The broker's id of the order; empty for all orders."""
    since: int = 0
    """Time of the first fill to answer, in nanoseconds since the epoch."""
    page: str = ""
    """Where to go on, as the venue states it; empty for the first page."""


class OrderSession(ABC):
    """The protocol of one connection that reports what happens to orders."""

    def __init__(self) -> None:
        self.replies: list[Frame] = []
        """Frames to be sent now; the caller sends them and clears the list after every call."""
        self.ready = False
        """Whether everything that happens from now on is reported."""
        self.refusal: BrokerRefusal | None = None
        """Why the venue refuses the connection; None while it does not."""
        self.moved = False
        """Whether the account has changed by something else than an order; the caller clears it."""
        self.over = False
        """Whether the venue reports no more on this connection."""

    @abstractmethod
    def opened(self, at: Instant) -> None:
        """The connection is open."""

    @abstractmethod
    def received(self, frame: Frame) -> Sequence[Report]:
        """The reports in a frame, in its order.

        Raises:
            FeedError: the frame is not of the venue's protocol.
        """


class Broker(ABC):
    """One account at one venue."""

    venue: str
    """Name of the venue, such as ``alpaca``."""
    cash: str
    """The asset in which the account is kept."""
    weight_per_minute: int
    """What the requests of a minute may cost, by the venue's rules."""
    fee_assets: Sequence[str] = ()
    """Assets in which any order may pay its fee."""
    account_questions = 1
    """How many questions it takes to get the whole account."""
    shorts = False
    """Whether units may be sold that are not held."""

    def __init__(self, instruments: Iterable[Instrument], keys: Keys, *, rest: str, stream: str) -> None:
        self.instruments = {item.symbol: item for item in instruments}
        """The symbols to trade, by their names."""
        self._keys, self._rest, self._stream = keys, rest, stream

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no tape, message or error may show: the account's keys."""
        return self._keys.key, self._keys.secret

    def stream(self) -> Address:
        """The address of the stream of order events."""
        return Address(self._stream)

    @abstractmethod
    def rest(self) -> Address:
        """The address of the REST interface: the beginning of its URLs, and the header fields of every request."""

    @property
    @abstractmethod
    def real(self) -> bool:
        """Whether orders may cost real money: anywhere but at the venue's paper accounts and at a local venue."""

    @abstractmethod
    def session(self) -> OrderSession:
        """The protocol of a new connection."""

    @abstractmethod
    def place(self, order: Submitted, at: Instant) -> Request:
        """The request for a new order."""

    @abstractmethod
    def replace(self, old: TrackedOrder, new: Submitted, at: Instant) -> Request:
        """The request for an order in the place of another."""

    @abstractmethod
    def cancel(self, order: TrackedOrder, at: Instant) -> Request:
        """The request to cancel what is left of an order."""

    @abstractmethod
    def read_order(self, body: bytes) -> list[Report]:
        """The reports in the answer to one of these requests, or to :meth:`ask_order`; that to a cancellation may be
        empty.
        """

    def read_refused_replacement(self, body: bytes) -> list[Report]:  # noqa: ARG002
        """The reports of what a refused replacement has done nevertheless, such as ending the old order."""
        return []

    @abstractmethod
    def ask_order(self, symbol: str, order_id: str, client_id: str, at: Instant) -> Request:
        """A question for one order, by the broker's id or, where that is empty, by ours."""

    @abstractmethod
    def ask_open(self, at: Instant) -> Request:
        """A question for all open orders."""

    @abstractmethod
    def read_open(self, body: bytes) -> list[OrderReport]:
        """The open orders in the answer."""

    @abstractmethod
    def ask_account(self, number: int, at: Instant) -> Request:
        """One of the questions that give the account.

        Args:
            number: which of the :attr:`account_questions`, from 0.
            at: when it is asked.
        """

    @abstractmethod
    def read_account(self, number: int, body: bytes, started: int) -> AccountReport:
        """The holdings in the answer to such a question.

        Args:
            number: which of the questions it was.
            body: the body of the answer.
            started: when the question was sent, in nanoseconds of the monotonic clock.
        """

    @abstractmethod
    def ask_standing(self, at: Instant) -> Request:
        """A question for what the account may do."""

    @abstractmethod
    def read_standing(self, body: bytes) -> Standing:
        """What the account may do, from the answer to such a question."""

    @abstractmethod
    def fills_since(self, since: int) -> list[FillQuery]:
        """Questions that give all fills since a time, in nanoseconds since the epoch."""

    @abstractmethod
    def ask_fills(self, query: FillQuery, at: Instant) -> Request:
        """A question for fills."""

    @abstractmethod
    def read_fills(self, query: FillQuery, body: bytes, at: Instant) -> tuple[list[Report], FillQuery | None]:
        """The fills in the answer, and the question for the next page."""

    @abstractmethod
    def ask_clock(self) -> Request:
        """A question for the venue's time, whether or not requests carry one."""

    @abstractmethod
    def read_clock(self, body: bytes) -> int:
        """The venue's time in the answer, in nanoseconds since the epoch."""

    def ask_time(self) -> Request | None:
        """A question for the venue's time; None where requests carry none."""
        return None

    def read_time(self, body: bytes, sent: Instant, at: Instant) -> None:  # noqa: B027
        """Take over the venue's time.

        Args:
            body: the answer to :meth:`ask_time`.
            sent: when the question was sent.
            at: when the answer came.
        """

    @abstractmethod
    def refusal(self, answer: BrokerAnswer, at: Instant) -> BrokerRefusal | None:
        """The meaning of an answer that refuses a request; None for one that does not."""


def costs_money(address: str, unreal: Iterable[str]) -> bool:
    """Whether orders may cost real money.

    Args:
        address: beginning of the URLs to which they go.
        unreal: addresses where orders are known to cost nothing; those of this machine are so too.
    """
    return address.rstrip("/") not in unreal and urlsplit(address).hostname not in {"127.0.0.1", "::1", "localhost"}


def rounded_quantity(quantity: Decimal, item: Instrument) -> Decimal:
    """A quantity in the venue's increments, never more than was asked for."""
    return _stepped(quantity, item.quantity_increment, ROUND_FLOOR)


def rounded_price(price: Decimal, side: Side, item: Instrument) -> Decimal:
    """A price in the venue's increments, never worse than was asked for: down for a buy and up for a sell."""
    return _stepped(price, item.price_increment, ROUND_FLOOR if side is Side.BUY else ROUND_CEILING)


def _stepped(value: Decimal, step: Decimal, rounding: str) -> Decimal:
    """The multiple of a step at a value or next to it. A millionth of a step counts as none: it comes of floats that
    were multiples before they were rounded.
    """
    if not step:
        return value
    steps = value / step
    nearest = steps.to_integral_value()
    whole = nearest if abs(steps - nearest) <= Decimal("1e-6") else steps.to_integral_value(rounding)
    return whole * step


def plain(value: Decimal) -> str:
    """A decimal as venues take it: without an exponent, and without zeros at its end."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
