"""Messages of Alpaca's market data, and the protocol of one connection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec

from openfingym.errors import FeedError
from openfingym.market.feed import FeedSession, Frame
from openfingym.market.feeds.reading import SECOND, decoded, rfc3339
from openfingym.market.ticks import (
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
"""Wrong syntax, wrong keys, too many symbols, no such feed, no such subscription, no such channel: as wrong again."""
HARMLESS = 403
"""Authenticated already."""
MINUTE = 60 * SECOND
_NEW_YORK = ZoneInfo("America/New_York")
_HALTED = frozenset("2HPQ")  # Q: quotes resume, and trades do not yet
_RESUMED = frozenset("3T")
_INFINITY = float("inf")
_days: dict[str, str] = {}


class SecretText(str):
    """Text to send that no ``repr``, and so no log, shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'<secret>'"


class Traded(msgspec.Struct, gc=False, tag_field="T", tag="t"):
    """A trade."""

    t: str
    p: float
    s: float
    i: int
    S: str = ""
    x: str = ""
    z: str = ""
    c: list[str] = []  # msgspec copies it
    tks: str = ""
    u: str = ""


class Quoted(msgspec.Struct, gc=False, tag_field="T", tag="q"):
    """A quote."""

    t: str
    bp: float
    ap: float
    bs: float = 0.0
    as_: float = msgspec.field(default=0.0, name="as")
    S: str = ""


class BarMessage(msgspec.Struct, gc=False, tag_field="T", tag="b"):
    """A bar of a minute."""

    t: str
    o: float
    h: float
    l: float  # noqa: E741
    c: float
    v: float
    n: int = 0
    S: str = ""


class UpdatedBar(BarMessage, gc=False, tag_field="T", tag="u"):
    """The bar of a minute once more, as late trades have changed it."""


class Corrected(msgspec.Struct, gc=False, tag_field="T", tag="c"):
    """A trade was otherwise than told."""

    S: str
    t: str
    x: str
    oi: int
    ci: int
    cp: float
    cs: float
    cc: list[str] = []
    z: str = ""


class Cancelled(msgspec.Struct, gc=False, tag_field="T", tag="x"):
    """A trade did not happen."""

    S: str
    t: str
    i: int
    x: str
    z: str = ""


class Status(msgspec.Struct, gc=False, tag_field="T", tag="s"):
    """Trading stops or resumes."""

    S: str
    t: str
    sc: str
    sm: str = ""
    rc: str = ""
    rm: str = ""


class BookLevel(msgspec.Struct, gc=False):
    """One level of a book."""

    p: float
    s: float


class BookMessage(msgspec.Struct, gc=False, tag_field="T", tag="o"):
    """A whole book, or changes of one."""

    t: str
    b: list[BookLevel]
    a: list[BookLevel]
    S: str = ""
    r: bool = False


class Success(msgspec.Struct, gc=False, tag_field="T", tag="success"):
    """Welcome, or the keys are right."""

    msg: str


class Error(msgspec.Struct, gc=False, tag_field="T", tag="error"):
    """A refusal."""

    code: int
    msg: str = ""


class Subscription(msgspec.Struct, gc=False, tag_field="T", tag="subscription"):
    """All that is subscribed."""

    trades: list[str] | None = None
    quotes: list[str] | None = None
    bars: list[str] | None = None
    updatedBars: list[str] | None = None  # noqa: N815
    dailyBars: list[str] | None = None  # noqa: N815
    statuses: list[str] | None = None
    orderbooks: list[str] | None = None


class _Kind(msgspec.Struct, gc=False):
    T: str


_Any = (
    Traded
    | Quoted
    | BarMessage
    | UpdatedBar
    | Corrected
    | Cancelled
    | Status
    | BookMessage
    | Success
    | Error
    | Subscription
)  # an error of one item would cost its frame, so it is read again item by item
_FRAME = msgspec.json.Decoder(list[_Any])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_ITEM = msgspec.json.Decoder(_Any)
_KIND = msgspec.json.Decoder(_Kind)
KNOWN = frozenset("tqbucxso") | {"success", "error", "subscription"}


class AlpacaSession(FeedSession):
    """One connection: welcome, keys, subscription, and then data in arrays.

    Args:
        symbols: what is wanted.
        channels: what is subscribed of each symbol.
        login: the message with the keys.
        lot: shares in a unit of a quoted size.
    """

    def __init__(self, symbols: Sequence[str], channels: Sequence[str], login: str, *, lot: float) -> None:
        super().__init__()
        self._symbols = tuple(symbols)
        self._of_ours = frozenset((*symbols, None))  # control messages are of no symbol
        self._channels = tuple(channels)
        self._login = SecretText(login)
        self._lot = lot
        self._wanted = frozenset(f"{channel}:{symbol}" for channel in channels for symbol in symbols)
        self._renewing = 0

    def opened(self) -> None:
        """See :class:`FeedSession`. The venue speaks first."""

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
            found: list[object] = _FRAME.decode(frame)  # type: ignore[assignment]  # of narrower ones
            return found
        except (msgspec.MsgspecError, UnicodeError):
            items: list[object] = []
            for raw in decoded(_ITEMS, "Alpaca", frame):
                try:
                    if _KIND.decode(raw).T in KNOWN:  # kinds that are new to us are not ours to judge
                        items.append(_ITEM.decode(raw))
                except msgspec.MsgspecError as error:
                    self.unreadable.append(
                        f"Alpaca sent a message that cannot be read ({error}): {bytes(raw)[:160]!r}."
                    )
            return items

    def _message(self, item: object) -> Message | None:
        if getattr(item, "S", None) not in self._of_ours:
            return None  # what was unsubscribed, or never wanted
        match item:
            case Traded():
                return trade_of(item, item.S)
            case Quoted():
                return quote_of(item, item.S, self._lot)
            case BarMessage():
                return bar_of(item, item.S, MINUTE, final=True)
            case BookMessage():
                return Depth(item.S, levels_of(item.b), levels_of(item.a), 0, 0, rfc3339(item.t), item.r)
            case Corrected():
                new = Traded(item.t, item.cp, item.cs, item.ci, item.S, item.x, item.z, item.cc)
                return Correction(item.S, item.oi, group_of(item.x, item.z, item.t), trade_of(new, item.S))
            case Cancelled():
                return Correction(item.S, item.i, group_of(item.x, item.z, item.t), None)
            case Status():
                return _halt(item)
            case Success():
                self._welcome(item.msg)
                return None
            case Error():
                return None if item.code == HARMLESS else Refused(item.code, item.msg, item.code in FATAL)
            case Subscription():
                return self._subscribed(item)
        return None

    def _welcome(self, text: str) -> None:
        if text == "connected":
            self.replies.append(self._login)
        elif text == "authenticated":
            self._say("subscribe", self._symbols)

    def _subscribed(self, item: Subscription) -> Message | None:
        """What the venue confirms, which is the whole set each time; while symbols are renewed it is a part."""
        found = frozenset(
            f"{channel}:{symbol}" for channel in self._channels for symbol in getattr(item, channel, None) or ()
        )
        missing = {name for name in self._wanted - found if f"{name.split(':')[0]}:*" not in found}
        if missing and self._renewing:
            self._renewing -= 1  # the answer to having unsubscribed
            return None
        if missing:
            text = f"the venue confirms all but {', '.join(sorted(missing)[:10])} of what was wanted"
            return Refused(0, text, fatal=False)
        self.ready = True
        return Subscribed(found)

    def _say(self, action: str, symbols: Sequence[str]) -> None:
        self.replies.append(json.dumps({"action": action, **{name: list(symbols) for name in self._channels}}))


def group_of(exchange: str, tape: str, time: str) -> str:
    """What a stock's trade is numbered within: exchange, tape and day of New York; of crypto the venue."""
    if not exchange:
        return "crypto"
    hour = time[:13]
    day = _days.get(hour)
    if day is None:
        if len(_days) > 4096:
            _days.clear()
        moment = datetime.fromtimestamp(rfc3339(time) // SECOND, UTC)
        day = _days[hour] = f"{moment.astimezone(_NEW_YORK):%Y-%m-%d}"
    return f"{exchange}:{tape}:{day}"


def trade_of(item: Traded, symbol: str) -> Trade:
    """A trade of the stream or the REST interface.

    Raises:
        FeedError: its price or size is no number in its range.
    """
    if not (0.0 < item.p < _INFINITY and 0.0 < item.s < _INFINITY):
        raise FeedError(f"Alpaca sent a trade of {item.s} {symbol} at {item.p}, which cannot be.")
    prices = NO_PRICE.isdisjoint(item.c) and (item.z == "C" or AVERAGE_PRICE not in item.c)
    taker = (item.tks == "B") - (item.tks == "S")
    return Trade(symbol, item.i, item.p, item.s, rfc3339(item.t), taker, group_of(item.x, item.z, item.t), prices)


def quote_of(item: Quoted, symbol: str, lot: float) -> Quote:
    """A quote of the stream or the REST interface; a side without orders is 0."""
    if not (0.0 <= item.bp < _INFINITY and 0.0 <= item.ap < _INFINITY):
        raise FeedError(f"Alpaca sent a quote of {symbol} at {item.bp} and {item.ap}, which cannot be.")
    return Quote(symbol, item.bp, item.bs * lot, item.ap, item.as_ * lot, rfc3339(item.t))


def bar_of(item: BarMessage, symbol: str, interval: int, *, final: bool) -> ServerBar:
    """A bar; of 0 trades where the venue made it of quotes."""
    if not 0.0 < item.l <= item.h < _INFINITY:
        raise FeedError(f"Alpaca sent a bar of {symbol} between {item.l} and {item.h}, which cannot be.")
    return ServerBar(symbol, rfc3339(item.t), interval, item.o, item.h, item.l, item.c, item.v, item.n, final)


def levels_of(side: Sequence[BookLevel]) -> tuple[Level, ...]:
    """One side of a book, or changes of it."""
    return tuple((level.p, level.s) for level in side)


def _halt(item: Status) -> Halt | None:
    if item.sc not in _HALTED and item.sc not in _RESUMED:
        return None  # quotation resumes, a price indication and the like: trading is as it was
    reason = " ".join(text for text in (item.sm, item.rc, item.rm) if text)
    return Halt(item.S, item.sc in _HALTED, reason, rfc3339(item.t))
