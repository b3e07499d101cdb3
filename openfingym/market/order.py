"""Which of two ticks a venue means to be the newer one, and which cannot be meant at all."""

from __future__ import annotations

from math import inf

from openfingym.market.ticks import Quote, Trade

Key = tuple[str, int]
"""(group, id) of a trade, unique for its symbol."""
Order = tuple[int, str, int]
"""(time, group, id): trades in the order in which they happened."""


def key_of(trade: Trade) -> Key:
    """What a trade is known by."""
    return trade.group, trade.id


def order_of(trade: Trade) -> Order:
    """What trades are sorted by."""
    return trade.time, trade.group, trade.id


def older(quote: Quote, other: Quote) -> bool:
    """Whether a quote is known to be older than another one: by the book's number, or else by time."""
    if quote.sequence and other.sequence:
        return quote.sequence < other.sequence
    return bool(quote.time and other.time) and quote.time < other.time


MOST_SIZE = 1e200
"""Sizes below it have a sum that is a number, however many they are."""


def possible(trade: Trade) -> bool:
    """Whether price and size are finite numbers, and the size neither below 0 nor beyond :data:`MOST_SIZE`."""
    return -inf < trade.price < inf and 0.0 <= trade.size < MOST_SIZE
