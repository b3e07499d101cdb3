"""Messages of Alpaca's market data, and the protocol of one connection.

The one-letter names of fields are the venue's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec

from openfingym.errors import FeedError
from openfingym.market.feed import FeedSession, Frame
from openfingym.market.feeds.reading import decoded, rfc3339
from openfingym.market.ticks import (
    SECOND,
    Correction,
    Depth,
    Halt,
    Level,
    Message,
    Quote,
    Refused,
    ServerBar,
    Subscribed,
    Trade,
)

NO_PRICE = frozenset("CHILMNPQRUVWZ47")
"""Conditions whose trades, by the tables of the consolidated tapes, do not set the last price whatever came before:
cash, odd lot, next day, seller, contingent, official open and close, prior reference, out of sequence and the like.
Extended hours (T) are not among them: there they are the only trades."""
AVERAGE_PRICE = "B"
"""An average price on the tapes A and B, and a bunched trade, which counts, on tape C."""
FATAL = frozenset((400, 402, 405, 408, 409, 410))
"""Codes of errors that would come again: wrong syntax, wrong keys, too many symbols, no such feed, no such
subscription, no such channel."""
HARMLESS = 403
"""Code of an error that may be ignored: the connection is authenticated already."""
MINUTE = 60 * SECOND
_NEW_YORK = ZoneInfo("America/New_York")
_HALTED = frozenset("2HPQ")  # Q: quotes resume, and trades do not yet
_RESUMED = frozenset("3T")
_INFINITY = float("inf")
_days: dict[str, str] = {}  # day of New York by hour of UTC


class SecretText(str):
    """Text to send that no ``repr``, and so no log, shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'<secret>'"


# No message can be part of a cycle: gc=False keeps Python's collector of cycles from looking at each of them.
class TradeMessage(msgspec.Struct, gc=False, tag_field="T", tag="t"):
    """A trade."""

    t: str
    """Time in RFC 3339, as in all messages."""
    p: float
    """Price."""
    s: float
    """Size."""
    i: int
    """Id, unique for exchange, tape and day."""
    S: str = ""
    """Symbol; empty in answers of the REST interface, which state it beside."""
    x: str = ""
    """Exchange; empty for crypto."""
    z: str = ""
    """Consolidated tape: A, B or C."""
    c: list[str] = []  # msgspec copies it
    """Conditions of the sale."""
    tks: str = ""
    """Side of the taker, B or S; for crypto alone."""
    u: str = ""
    """In answers: what became of the trade, such as ``canceled``; empty where it stands."""


class QuoteMessage(msgspec.Struct, gc=False, tag_field="T", tag="q"):
    """A quote: price and size of the best bid and of the best ask."""

    t: str
    bp: float
    ap: float
    bs: float = 0.0
    as_: float = msgspec.field(default=0.0, name="as")
    S: str = ""


class BarMessage(msgspec.Struct, gc=False, tag_field="T", tag="b"):
    """A bar of a minute: open, high, low, close, volume, and number of trades."""

    t: str
    o: float
    h: float
    l: float  # noqa: E741
    c: float
    v: float
    n: int = 0
    S: str = ""


class UpdatedBarMessage(BarMessage, gc=False, tag_field="T", tag="u"):
    """The bar of a minute once more, as late trades have changed it."""


class CorrectionMessage(msgspec.Struct, gc=False, tag_field="T", tag="c"):
    """A trade is corrected."""

    S: str
    t: str
    x: str
    oi: int
    """Id of the original trade."""
    ci: int
    """Id, price, size and conditions of the corrected one."""
    cp: float
    cs: float
    cc: list[str] = []
    z: str = ""


class CancelMessage(msgspec.Struct, gc=False, tag_field="T", tag="x"):
    """A trade is cancelled."""

    S: str
    t: str
    i: int
    x: str
    z: str = ""


class StatusMessage(msgspec.Struct, gc=False, tag_field="T", tag="s"):
    """Trading stops or resumes."""

    S: str
    t: str
    sc: str
    """Code of the status, such as ``H`` for a halt."""
    sm: str = ""
    """The status in words."""
    rc: str = ""
    """Code of the reason."""
    rm: str = ""
    """The reason in words."""


class BookLevel(msgspec.Struct, gc=False):
    """One level of a book: price and size."""

    p: float
    s: float


class BookMessage(msgspec.Struct, gc=False, tag_field="T", tag="o"):
    """A whole book, or changes of one."""

    t: str
    b: list[BookLevel]
    a: list[BookLevel]
    S: str = ""
    r: bool = False
    """Whether it is a whole book, which replaces what is known."""


class SuccessMessage(msgspec.Struct, gc=False, tag_field="T", tag="success"):
    """The connection is open, or the keys are accepted."""

    msg: str


class ErrorMessage(msgspec.Struct, gc=False, tag_field="T", tag="error"):
    """A refusal."""

    code: int
    msg: str = ""


class SubscriptionMessage(msgspec.Struct, gc=False, tag_field="T", tag="subscription"):
    """All symbols that are subscribed, by channel."""

    trades: list[str] | None = None
    quotes: list[str] | None = None
    bars: list[str] | None = None
    updatedBars: list[str] | None = None  # noqa: N815
    dailyBars: list[str] | None = None  # noqa: N815
    statuses: list[str] | None = None
    orderbooks: list[str] | None = None


class _Kind(msgspec.Struct, gc=False):
    T: str


_AnyMessage = (
    TradeMessage
    | QuoteMessage
    | BarMessage
    | UpdatedBarMessage
    | CorrectionMessage
    | CancelMessage
    | StatusMessage
    | BookMessage
    | SuccessMessage
    | ErrorMessage
    | SubscriptionMessage
)
_FRAME = msgspec.json.Decoder(list[_AnyMessage])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_ITEM = msgspec.json.Decoder(_AnyMessage)
_KIND = msgspec.json.Decoder(_Kind)
KNOWN = frozenset("tqbucxso") | {"success", "error", "subscription"}


class AlpacaSession(FeedSession):
    """One connection: the venue's welcome, our keys, the subscription, and then data in arrays.

    Args:
        symbols: the symbols to subscribe.
        channels: the channels to subscribe of each symbol.
        login: the message with the keys.
        lot: how many shares a unit of a quoted size is.
    """

    def __init__(self, symbols: Sequence[str], channels: Sequence[str], login: str, *, lot: float) -> None:
        super().__init__()
        self._symbols = tuple(symbols)
        self._expected = frozenset((*symbols, None))  # None for control messages, which have no symbol
        self._channels = tuple(channels)
        self._login = SecretText(login)
        self._lot = lot
        self._wanted = frozenset(f"{channel}:{symbol}" for channel in channels for symbol in symbols)
        self._renewing = 0

    def opened(self) -> None:
        """See :class:`FeedSession`. Nothing is sent: the venue speaks first."""

    def renew(self, symbols: Sequence[str]) -> None:
        """See :class:`FeedSession`."""
        self._say("unsubscribe", symbols)
        self._say("subscribe", symbols)
        self._renewing += 1

    def received(self, frame: Frame) -> Sequence[Message]:
        """See :class:`FeedSession`."""
        messages: list[Message] = []
        for item in self._items(frame):
            try:
                message = self._message(item)
            except (FeedError, ValueError) as error:
                self.unreadable.append(str(error))
            else:
                if message is not None:
                    messages.append(message)
        return messages

    def _items(self, frame: Frame) -> Sequence[object]:
        try:
            decoded_items: list[object] = _FRAME.decode(frame)  # type: ignore[assignment]  # of narrower ones
            return decoded_items
        except (msgspec.MsgspecError, UnicodeError):
            # One bad item must not cost the others of its frame: they are read one by one.
            items: list[object] = []
            for raw in decoded(_ITEMS, "Alpaca", frame):
                try:
                    if _KIND.decode(raw).T in KNOWN:  # a kind that the venue has added since is no error
                        items.append(_ITEM.decode(raw))
                except msgspec.MsgspecError as error:
                    self.unreadable.append(
                        f"Alpaca sent a message that cannot be read ({error}): {bytes(raw)[:160]!r}."
                    )
            return items

    def _message(self, item: object) -> Message | None:
        if getattr(item, "S", None) not in self._expected:
            return None  # of a symbol that was never asked for
        match item:
            case TradeMessage():
                return trade_of(item, item.S)
            case QuoteMessage():
                return quote_of(item, item.S, self._lot)
            case BarMessage():
                return bar_of(item, item.S, MINUTE, final=True)
            case BookMessage():
                return Depth(item.S, levels_of(item.b), levels_of(item.a), 0, 0, rfc3339(item.t), item.r)
            case CorrectionMessage():
                new = TradeMessage(item.t, item.cp, item.cs, item.ci, item.S, item.x, item.z, item.cc)
                return Correction(item.S, item.oi, group_of(item.x, item.z, item.t), trade_of(new, item.S))
            case CancelMessage():
                return Correction(item.S, item.i, group_of(item.x, item.z, item.t), None)
            case StatusMessage():
                return _halt(item)
            case SuccessMessage():
                self._welcome(item.msg)
                return None
            case ErrorMessage():
                return None if item.code == HARMLESS else Refused(item.code, item.msg, item.code in FATAL)
            case SubscriptionMessage():
                return self._subscribed(item)
        return None

    def _welcome(self, text: str) -> None:
        if text == "connected":
            self.replies.append(self._login)
        elif text == "authenticated":
            self._say("subscribe", self._symbols)

    def _subscribed(self, item: SubscriptionMessage) -> Message | None:
        """The venue confirms what is subscribed, all of it each time; between the two messages of a renewal, that is
        only a part.
        """
        confirmed = frozenset(
            f"{channel}:{symbol}" for channel in self._channels for symbol in getattr(item, channel, None) or ()
        )
        missing = {name for name in self._wanted - confirmed if f"{name.split(':')[0]}:*" not in confirmed}
        if missing and self._renewing:
            self._renewing -= 1  # the answer to having unsubscribed
            return None
        if missing:
            text = f"the venue confirms all but {', '.join(sorted(missing)[:10])} of what was wanted"
            return Refused(0, text, fatal=False)
        self.ready = True
        return Subscribed(confirmed)

    def _say(self, action: str, symbols: Sequence[str]) -> None:
        self.replies.append(json.dumps({"action": action, **{name: list(symbols) for name in self._channels}}))


def group_of(exchange: str, tape: str, time: str) -> str:
    """The group within which a trade is numbered: exchange, tape and day of New York; of crypto the whole venue."""
    if not exchange:
        return "crypto"
    hour = time[:13]  # "2021-02-22T15": New York is whole hours away from UTC, so that an hour is of one day
    day = _days.get(hour)
    if day is None:
        if len(_days) > 4096:
            _days.clear()
        moment = datetime.fromtimestamp(rfc3339(time) // SECOND, UTC)
        day = _days[hour] = f"{moment.astimezone(_NEW_YORK):%Y-%m-%d}"
    return f"{exchange}:{tape}:{day}"


def trade_of(item: TradeMessage, symbol: str) -> Trade:
    """A trade of the stream or the REST interface.

    Raises:
        FeedError: its price or size is not a finite number above 0.
    """
    if not (0.0 < item.p < _INFINITY and 0.0 < item.s < _INFINITY):
        raise FeedError(f"Alpaca sent a trade of {item.s} {symbol} at {item.p}, which cannot be.")
    prices = NO_PRICE.isdisjoint(item.c) and (item.z == "C" or AVERAGE_PRICE not in item.c)
    taker = (item.tks == "B") - (item.tks == "S")
    return Trade(symbol, item.i, item.p, item.s, rfc3339(item.t), taker, group_of(item.x, item.z, item.t), prices)


def quote_of(item: QuoteMessage, symbol: str, lot: float) -> Quote:
    """A quote of the stream or the REST interface; the price of a side without orders is 0.

    Raises:
        FeedError: a price is negative or not a finite number.
    """
    if not (0.0 <= item.bp < _INFINITY and 0.0 <= item.ap < _INFINITY):
        raise FeedError(f"Alpaca sent a quote of {symbol} at {item.bp} and {item.ap}, which cannot be.")
    return Quote(symbol, item.bp, item.bs * lot, item.ap, item.as_ * lot, rfc3339(item.t))


def bar_of(item: BarMessage, symbol: str, interval: int, *, final: bool) -> ServerBar:
    """A bar of the stream or the REST interface; one with 0 trades was made of quotes.

    Raises:
        FeedError: its high and low are impossible.
    """
    if not 0.0 < item.l <= item.h < _INFINITY:
        raise FeedError(f"Alpaca sent a bar of {symbol} between {item.l} and {item.h}, which cannot be.")
    return ServerBar(symbol, rfc3339(item.t), interval, item.o, item.h, item.l, item.c, item.v, item.n, final)


def levels_of(side: Sequence[BookLevel]) -> tuple[Level, ...]:
    """One side of a book, or changes of it."""
    return tuple((level.p, level.s) for level in side)


def _halt(item: StatusMessage) -> Halt | None:
    if item.sc not in _HALTED and item.sc not in _RESUMED:
        return None  # quotation resumes, a price indication and the like: trading is as it was
    reason = " ".join(text for text in (item.sm, item.rc, item.rm) if text)
    return Halt(item.S, item.sc in _HALTED, reason, rfc3339(item.t))
