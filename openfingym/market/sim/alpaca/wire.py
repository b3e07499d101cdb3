"""The JSON shapes of Alpaca's market data, its times and numbers, and its errors."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

import msgspec

from openfingym.market.sim.events import ATOMS, BookChange, ExchangeTrade, ListedPair
from openfingym.market.sim.matching import OrderBook
from openfingym.market.sim.server import RefusalError
from openfingym.market.ticks import SECOND

MINUTE = 60 * SECOND
ROUND_LOT = 100 * ATOMS
"""Atoms of a round lot of a stock: a trade of fewer is an odd lot, and sets no price."""
CANCELED, INCORRECT, CORRECTED = "canceled", "incorrect", "corrected"
"""The venue's words for what became of a trade: taken back, the original of a correction, the correction."""
Stamp = Callable[[int], object]
"""Writes a time in nanoseconds as a connection wants it."""


class AlpacaRefusalError(RefusalError):
    """See :class:`RefusalError`."""

    def __init__(self, status: int, code: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.headers = headers or {}

    def json(self) -> dict[str, Any]:
        """See :class:`RefusalError`."""
        return {"code": self.code, "message": str(self)}


def unprocessable(text: str) -> AlpacaRefusalError:
    """The refusal of a parameter that is wrong."""
    return AlpacaRefusalError(422, 42210000, text)


def missing(what: str) -> AlpacaRefusalError:
    """The refusal of a name that is not known."""
    return AlpacaRefusalError(404, 40410000, f"{what} not found")


def stamp(time: int) -> str:
    """A time by RFC 3339, with as many decimals as it has."""
    seconds, rest = divmod(time, SECOND)
    decimals = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}{decimals}Z"


def packed_stamp(time: int) -> object:
    """A time as a timestamp of MessagePack, of 96 bits."""
    seconds, rest = divmod(time, SECOND)
    return msgspec.msgpack.Ext(-1, struct.pack(">Iq", rest, seconds))


def unique_id(*parts: object) -> str:
    """A UUID for something, which is the same in every run."""
    return str(uuid.UUID(bytes=sha256("/".join(map(str, parts)).encode()).digest()[:16], version=4))


def is_crypto(symbol: str) -> bool:
    """Whether a symbol is a pair of coins and not a stock."""
    return "/" in symbol


def number(atoms: int) -> int | float:
    """Atoms as a number of JSON, in whole units."""
    whole, part = divmod(atoms, ATOMS)
    return atoms / ATOMS if part else whole


def text(atoms: int) -> str:
    """Atoms as a string in whole units, without zeros at its end."""
    whole, part = divmod(abs(atoms), ATOMS)
    decimals = f".{part:08d}".rstrip("0") if part else ""
    return f"{'-' if atoms < 0 else ''}{whole}{decimals}"


def ratio(value: int, by: int) -> str:
    """A quotient as a string of at most nine decimals."""
    digits = f"{Decimal(value) / Decimal(by):.9f}" if by else "0"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def price_atoms(listing: ListedPair, ticks: int) -> int:
    """A price in ticks as the price of a whole unit, in atoms of the quote asset."""
    return ticks * listing.value * ATOMS // listing.unit


def price(listing: ListedPair, ticks: int) -> int | float:
    """A price in ticks as a number of JSON."""
    return number(price_atoms(listing, ticks))


def quantity(listing: ListedPair, lots: int) -> int | float:
    """A quantity in lots as a number of JSON."""
    return number(lots * listing.unit)


def sets_price(listing: ListedPair, trade: ExchangeTrade) -> bool:
    """Whether bars take their prices from a trade: those of odd lots of stocks only add to their volume."""
    return is_crypto(listing.symbol) or trade.quantity * listing.unit >= ROUND_LOT


def trade_row(listing: ListedPair, trade: ExchangeTrade, stamp: Stamp, update: str = "") -> dict[str, Any]:
    """A trade as the REST interface states it.

    Args:
        listing: the terms of the symbol.
        trade: the trade to state.
        stamp: writes a time as the connection wants it.
        update: the word for what became of it; empty where it stands.
    """
    row = {
        "t": stamp(trade.time),
        "p": price(listing, trade.price),
        "s": quantity(listing, trade.quantity),
        "i": trade.id,
    }
    if is_crypto(listing.symbol):
        return row | {"tks": "B" if trade.taker > 0 else "S"}
    row |= {"x": "V", "c": ["@"] if sets_price(listing, trade) else ["@", "I"], "z": "C"}
    return row | ({"u": update} if update else {})


def quote_row(listing: ListedPair, book: OrderBook, time: int, stamp: Stamp) -> dict[str, Any]:
    """The best prices and their sizes, with zeros for an empty side."""
    row: dict[str, Any] = {"t": stamp(time)}
    for name, side in (("b", 1), ("a", -1)):
        at = book.best(side)
        row[f"{name}p"] = 0 if at is None else price(listing, at)
        row[f"{name}s"] = 0 if at is None else quantity(listing, book.size(side, at))
    return row if is_crypto(listing.symbol) else row | {"bx": "V", "ax": "V", "c": ["R"], "z": "C"}


def book_row(listing: ListedPair, book: OrderBook, time: int, stamp: Stamp) -> dict[str, Any]:
    """The whole book."""
    sides = {
        name: [{"p": price(listing, at), "s": quantity(listing, lots)} for at, lots in book.levels(side)]
        for name, side in (("b", 1), ("a", -1))
    }
    return {"t": stamp(time), **sides}


def change_row(listing: ListedPair, changes: Sequence[BookChange], time: int, stamp: Stamp) -> dict[str, Any]:
    """The last size of every level that has changed; 0 removes one."""
    last = {(change.side, change.price): change.quantity for change in changes}
    sides = {
        name: [{"p": price(listing, at), "s": quantity(listing, lots)} for (on, at), lots in last.items() if on == side]
        for name, side in (("b", 1), ("a", -1))
    }
    return {"t": stamp(time), **sides}
