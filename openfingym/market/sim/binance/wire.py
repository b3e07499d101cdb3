"""The JSON shapes of Binance's spot protocols: numbers that are prices or quantities are strings of eight decimals."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from openfingym.market.sim.events import ATOMS, BookChange, ExchangeTrade, ListedPair
from openfingym.market.sim.matching import OrderBook
from openfingym.market.sim.server import RefusalError
from openfingym.market.ticks import SECOND

MILLISECOND = 10**6
MICROSECOND = 10**3
"""Nanoseconds of each. Every ``unit`` below is one of the two, as a connection or request chooses it."""
_UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86400 * SECOND, "w": 7 * 86400 * SECOND}
_NAMES = ("1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w")
INTERVALS = {name: int(name[:-1]) * _UNITS[name[-1]] for name in _NAMES}
"""Length of a bar in nanoseconds by its name; months, whose length varies, are left out."""
MONDAY = 4 * 86400 * SECOND
"""The first Monday since the epoch, in nanoseconds: weeks are counted from it."""
_TIME = attrgetter("time")


class ApiError(RefusalError):
    """See :class:`RefusalError`."""

    def __init__(
        self, code: int, text: str, *, status: int = 400, retry_after_s: int | None = None, data: object = None
    ) -> None:
        super().__init__(text)
        self.code = code
        self.status = status
        self.retry_after_s = retry_after_s
        self.data = data
        """What the answer holds beside code and text; None for nothing."""
        self.headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}

    def json(self) -> dict[str, Any]:
        """See :class:`RefusalError`."""
        body = {"code": self.code, "msg": str(self)}
        return body if self.data is None else body | {"data": self.data}


def amount(atoms: int) -> str:
    """Atoms as a string of eight decimals."""
    whole, part = divmod(abs(atoms), ATOMS)
    return f"{'-' if atoms < 0 else ''}{whole}.{part:08d}"


def price(listing: ListedPair, ticks: int | None) -> str:
    """A price in ticks as a string; zero where there is none."""
    return amount((ticks or 0) * listing.value * ATOMS // listing.unit)


def quantity(listing: ListedPair, lots: int) -> str:
    """A quantity in lots as a string."""
    return amount(lots * listing.unit)


class Aggregate(NamedTuple):
    """The trades of one incoming order at one price."""

    id: int
    """Number of the aggregate trade, counting up by one within its symbol."""
    first: ExchangeTrade
    last: ExchangeTrade
    quantity: int
    """Lots of all of them."""

    @property
    def time(self) -> int:
        """When it was traded."""
        return self.first.time


def aggregated(trades: Iterable[ExchangeTrade], after: int) -> list[Aggregate]:
    """Trades by incoming order and price, numbered on from ``after``."""
    rows: list[Aggregate] = []
    for trade in trades:
        before = rows[-1] if rows else None
        if before and (before.first.taker_order, before.first.price) == (trade.taker_order, trade.price):
            rows[-1] = before._replace(last=trade, quantity=before.quantity + trade.quantity)
        else:
            rows.append(Aggregate(after + len(rows) + 1, trade, trade, trade.quantity))
    return rows


def trade_event(listing: ListedPair, trade: ExchangeTrade, now: int, unit: int) -> dict[str, Any]:
    """A message of the stream ``trade``."""
    return {
        "e": "trade",
        "E": now // unit,
        "s": trade.symbol,
        "t": trade.id,
        "p": price(listing, trade.price),
        "q": quantity(listing, trade.quantity),
        "T": trade.time // unit,
        "m": trade.taker < 0,
        "M": True,
    }


def trade_row(listing: ListedPair, trade: ExchangeTrade, unit: int) -> dict[str, Any]:
    """A trade as ``/trades`` and ``/historicalTrades`` answer it."""
    return {
        "id": trade.id,
        "price": price(listing, trade.price),
        "qty": quantity(listing, trade.quantity),
        "quoteQty": amount(trade.price * trade.quantity * listing.value),
        "time": trade.time // unit,
        "isBuyerMaker": trade.taker < 0,
        "isBestMatch": True,
    }


def aggregate_row(listing: ListedPair, aggregate: Aggregate, unit: int) -> dict[str, Any]:
    """An aggregate trade as ``/aggTrades`` answers it."""
    return {
        "a": aggregate.id,
        "p": price(listing, aggregate.first.price),
        "q": quantity(listing, aggregate.quantity),
        "f": aggregate.first.id,
        "l": aggregate.last.id,
        "T": aggregate.first.time // unit,
        "m": aggregate.first.taker < 0,
        "M": True,
    }


def aggregate_event(listing: ListedPair, aggregate: Aggregate, now: int, unit: int) -> dict[str, Any]:
    """A message of the stream ``aggTrade``."""
    return {"e": "aggTrade", "E": now // unit, "s": listing.symbol, **aggregate_row(listing, aggregate, unit)}


def levels(listing: ListedPair, book: OrderBook, most: int) -> dict[str, Any]:
    """The best levels of both sides."""
    return {
        "lastUpdateId": book.update,
        "bids": [[price(listing, at), quantity(listing, lots)] for at, lots in book.levels(1, most)],
        "asks": [[price(listing, at), quantity(listing, lots)] for at, lots in book.levels(-1, most)],
    }


def depth_event(listing: ListedPair, changes: Sequence[BookChange], now: int, unit: int) -> dict[str, Any]:
    """A message of the stream ``depth``: the last size of every level that has changed."""
    last = {(change.side, change.price): change.quantity for change in changes}
    sides = {
        side: [[price(listing, at), quantity(listing, lots)] for (on, at), lots in last.items() if on == side]
        for side in (1, -1)
    }
    return {
        "e": "depthUpdate",
        "E": now // unit,
        "s": listing.symbol,
        "U": changes[0].update,
        "u": changes[-1].update,
        "b": sides[1],
        "a": sides[-1],
    }


def best(listing: ListedPair, book: OrderBook) -> list[str]:
    """Bid, size of the bid, ask, and size of the ask; zeros for an empty side."""
    row = []
    for side in (1, -1):
        at = book.best(side)
        row += [price(listing, at), quantity(listing, book.size(side, at) if at is not None else 0)]
    return row


class KlineBar(NamedTuple):
    """A bar of trades, in ticks, lots, and ticks times lots."""

    begin: int
    """Left edge, in nanoseconds since the epoch."""
    first: int
    """Number of the first trade; -1 without trades."""
    last: int
    """Number of the last trade; -1 without trades."""
    open: int
    high: int
    low: int
    close: int
    volume: int
    cost: int
    trades: int
    bought: int
    """Volume of incoming buyers."""
    bought_cost: int
    """Cost of what they bought."""


def left_edge(time: int, interval: int) -> int:
    """The left edge of the bar that holds a time."""
    origin = MONDAY if interval == INTERVALS["1w"] else 0
    return (time - origin) // interval * interval + origin


def bars(trades: list[ExchangeTrade], interval: int, begin: int, end: int, most: int) -> list[KlineBar]:
    """Bars of trades, oldest first; one without trades repeats the close before it.

    Args:
        trades: all trades of the symbol, oldest first.
        interval: length of a bar in nanoseconds.
        begin: the smallest left edge, in nanoseconds since the epoch.
        end: the end of the left edges, itself left out.
        most: how many bars to give at most.
    """
    edge = max(begin, left_edge(trades[0].time, interval)) if trades else end
    edge = left_edge(edge + interval - 1, interval)
    rows: list[KlineBar] = []
    at = bisect_left(trades, edge, key=_TIME)
    while edge < end and len(rows) < most:
        to = bisect_left(trades, edge + interval, lo=at, key=_TIME)
        inside = trades[at:to]
        if inside:
            prices = [trade.price for trade in inside]
            buys = [trade for trade in inside if trade.taker > 0]
            rows.append(
                KlineBar(
                    edge, inside[0].id, inside[-1].id, prices[0], max(prices), min(prices), prices[-1],
                    sum(trade.quantity for trade in inside), sum(trade.price * trade.quantity for trade in inside),
                    len(inside), sum(trade.quantity for trade in buys),
                    sum(trade.price * trade.quantity for trade in buys),
                )
            )  # fmt: skip
        elif at:  # before the first trade there is no close to repeat
            close = trades[at - 1].price
            rows.append(KlineBar(edge, -1, -1, close, close, close, close, 0, 0, 0, 0, 0))
        at, edge = to, edge + interval
    return rows


def kline_row(listing: ListedPair, bar: KlineBar, interval: int, unit: int) -> list[Any]:
    """A bar as ``/klines`` answers it."""
    return [
        bar.begin // unit,
        *(price(listing, ticks) for ticks in (bar.open, bar.high, bar.low, bar.close)),
        quantity(listing, bar.volume),
        (bar.begin + interval) // unit - 1,
        amount(bar.cost * listing.value),
        bar.trades,
        quantity(listing, bar.bought),
        amount(bar.bought_cost * listing.value),
        "0",
    ]


def kline_event(listing: ListedPair, bar: KlineBar, name: str, final: bool, now: int, unit: int) -> dict[str, Any]:
    """A message of the stream ``kline``."""
    return {
        "e": "kline",
        "E": now // unit,
        "s": listing.symbol,
        "k": {
            "t": bar.begin // unit,
            "T": (bar.begin + INTERVALS[name]) // unit - 1,
            "s": listing.symbol,
            "i": name,
            "f": bar.first,
            "L": bar.last,
            "o": price(listing, bar.open),
            "c": price(listing, bar.close),
            "h": price(listing, bar.high),
            "l": price(listing, bar.low),
            "v": quantity(listing, bar.volume),
            "n": bar.trades,
            "x": final,
            "q": amount(bar.cost * listing.value),
            "V": quantity(listing, bar.bought),
            "Q": amount(bar.bought_cost * listing.value),
            "B": "0",
        },
    }
