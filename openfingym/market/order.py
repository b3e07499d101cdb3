"""The order of trades and quotes by the venue's own times and numbers, and which of them are impossible."""

from __future__ import annotations

from math import inf

from openfingym.market.ticks import Quote, Trade

TradeKey = tuple[str, int]
"""(group, id) of a trade, unique for its symbol."""
TradePlace = tuple[int, str, int]
"""(time, group, id) of a trade: sorted by it, trades are in the order in which they happened."""


def key_of(trade: Trade) -> TradeKey:
    """The key by which a trade is known among those of its symbol."""
    return trade.group, trade.id


def order_of(trade: Trade) -> TradePlace:
    """A trade's place among the trades of its symbol: the key to sort them by."""
    return trade.time, trade.group, trade.id


def older(quote: Quote, other: Quote) -> bool:
    """Whether a quote is known to be older than another one: by the book's number, or else by time."""
    # 0 says that the venue states none: what cannot be compared counts as not older.
    if quote.sequence and other.sequence:
        return quote.sequence < other.sequence
    return bool(quote.time and other.time) and quote.time < other.time


MOST_SIZE = 1e200
"""Sizes below it have a finite sum, however many there are: it would take 1e108 of them to exceed a float."""


def possible(trade: Trade) -> bool:
    """Whether price and size are finite numbers, and the size neither below 0 nor beyond :data:`MOST_SIZE`."""
    return -inf < trade.price < inf and 0.0 <= trade.size < MOST_SIZE
