"""The liquidity that paper orders meet in one symbol: the levels that the venue shows, less what is gone by now."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from openfingym.market.buffer import Budgets
from openfingym.market.state import NEVER, Snapshot
from openfingym.market.ticks import SECOND, Level, Quote, Trade
from openfingym.trading.orders import Reason


class ShownMarket(NamedTuple):
    """The levels of both sides as the venue shows them; never crossed."""

    bids: tuple[Level, ...]
    """(price, size), the highest price first; empty where none is known."""
    asks: tuple[Level, ...]
    """The same of the asks, the lowest price first."""
    time: int
    """Time until which trades are taken off the levels, by the venue's clock; 0 where it does not say."""
    at: int
    """When the levels were received, in nanoseconds of the monotonic clock."""

    def side(self, d: float) -> tuple[Level, ...]:
        """The levels that an order trades with: asks for a buy (d = 1), bids for a sell (d = -1)."""
        return self.asks if d > 0.0 else self.bids

    @property
    def mid(self) -> float:
        """Half way between the best prices; 0 where a side is empty."""
        return 0.5 * (self.bids[0][0] + self.asks[0][0]) if self.bids and self.asks else 0.0


class Liquidity:
    """What own orders may take of one symbol.

    - A book or quote is not used if it is too old, misses updates, was received before a connection was lost, or is
      crossed. A quote that is newer than the book replaces the book's best levels.
    - A trade that the levels do not show yet has taken its part: asks below its price and bids above it are gone, and
      its size is missing at its price.
    - What own orders took stays missing as long as the venue shows it: of a level of 5 of which 3 were taken, 2 are
      left until the venue's own size falls below 3, which frees the difference, or the level ends. What the venue adds
      is new.

    Args:
        budgets: seconds after which books and quotes are too old to trade on.
        quoted: whether a quote has come since the connection was last lost.
    """

    def __init__(self, budgets: Budgets, *, quoted: bool) -> None:
        self.quoted = quoted
        """Whether a quote has come since the connection was last lost."""
        self.marked_at = NEVER
        """When the account's mark was last set, in nanoseconds of the monotonic clock."""
        self._book_budget = round(budgets.book_s * SECOND)
        self._quote_budget = round(budgets.quote_s * SECOND)
        self._longest = max(self._book_budget, self._quote_budget)
        self._taken: tuple[dict[float, float], dict[float, float]] = ({}, {})  # of bids and of asks, by price
        self._trades: deque[tuple[Trade, int]] = deque()  # trades that levels may not show yet, and when they came

    def shown(self, snapshot: Snapshot, now: int) -> ShownMarket | Reason:
        """What the venue shows, or why nothing can be traded on it."""
        self._forget(now)
        if snapshot.halted:
            return Reason.HALTED
        book, quote = snapshot.book, snapshot.quote
        if quote is not None and not (self.quoted and now - snapshot.quote_at <= self._quote_budget):
            quote = None
        if book.stale or now - snapshot.book_at > self._book_budget or not (book.bids or book.asks):
            if quote is None:
                never = snapshot.quote is None and snapshot.book_at == NEVER
                return Reason.NO_PRICE if never else Reason.STALE_PRICE
            bids, asks = _best(quote)
            market = ShownMarket(bids, asks, quote.time, snapshot.quote_at)
        else:
            market = ShownMarket(book.bids, book.asks, book.time, snapshot.book_at)
            if quote is not None and _newer(quote, snapshot):
                bids, asks = _best(quote)
                # The quote's prices are the best ones: book levels at or beyond them are from before it.
                market = ShownMarket(
                    bids + tuple(level for level in book.bids if level[0] < quote.bid),
                    asks + tuple(level for level in book.asks if level[0] > quote.ask) if quote.ask > 0.0 else (),
                    max(book.time, quote.time),
                    min(snapshot.book_at, snapshot.quote_at),
                )
        if market.bids and market.asks and market.bids[0][0] >= market.asks[0][0]:
            return Reason.STALE_PRICE
        return market if market.bids or market.asks else Reason.NO_PRICE

    def free(self, market: ShownMarket, d: float, bound: float = inf) -> list[Level]:
        """The levels that are left for an order.

        Args:
            market: what the venue shows.
            d: side of the order: 1 for a buy, -1 for a sell.
            bound: ``d`` times the order's limit; infinite for an order that takes at any price.

        Returns:
            (price, size left) of the levels, the best first.
        """
        taken, hit, edge = self._taken[d > 0.0], dict[float, float](), -inf
        for trade, at in self._trades:
            # Shown already: by the venue's times where both have one, otherwise by when they came.
            if trade.time <= market.time if trade.time and market.time else at < market.at:
                continue
            edge = max(edge, d * trade.price)
            if trade.taker != -d:  # a taker of the other side took of the other side's levels
                hit[trade.price] = hit.get(trade.price, 0.0) + trade.size
        free_levels = []
        for price, size in market.side(d):
            if d * price > bound:
                break
            left = size - taken.get(price, 0.0) - hit.get(price, 0.0)
            if d * price >= edge and left > 0.0 and price > 0.0:
                free_levels.append((price, left))
        return free_levels

    def take(self, d: float, levels: Sequence[Level], quantity: float) -> None:
        """Own orders have taken a quantity of these levels, the best first."""
        taken = self._taken[d > 0.0]
        for price, size in levels:
            part = min(size, quantity)
            taken[price] = taken.get(price, 0.0) + part
            quantity -= part
            if quantity <= 0.0:
                return

    def renew(self, market: ShownMarket) -> None:
        """The venue shows something else: where it shows less than what was taken, the rest was taken by others."""
        for d in (1.0, -1.0):
            taken, levels = self._taken[d > 0.0], market.side(d)
            if not (taken and levels):
                continue
            sizes, last = dict(levels), d * levels[-1][0]
            for price in list(taken):
                if price in sizes:
                    taken[price] = min(taken[price], sizes[price])
                elif d * price < last:  # of a level beyond those shown nothing is known
                    del taken[price]

    def traded(self, trade: Trade, at: int) -> None:
        """The market has traded."""
        self._forget(at)
        self._trades.append((trade, at))

    @property
    def touched(self) -> bool:
        """Whether own orders have taken something that the venue may still show."""
        return bool(self._taken[0] or self._taken[1])

    def _forget(self, now: int) -> None:
        """Forget old trades: levels that do not show them by now are too old to be used, or were filled up since."""
        trades = self._trades
        while trades and now - trades[0][1] > self._longest:
            trades.popleft()

    def canonical(self) -> list[object]:
        """All that is known, as a JSON value."""
        return [
            self.quoted,
            self.marked_at,
            *(sorted(map(list, taken.items())) for taken in self._taken),
            [[*trade, at] for trade, at in self._trades],
        ]


def queue_ahead(market: ShownMarket, d: float, limit: float) -> float:
    """The size that trades before an order which comes to rest: all that is shown at its price.

    Args:
        market: what the venue shows.
        d: side of the order: 1 for a buy, -1 for a sell.
        limit: price at which it rests.

    Returns:
        The size; infinite at a price beyond the levels shown, where nothing is known.
    """
    own = market.side(-d)
    for price, size in own:
        if price == limit:
            return size
        if d * price < d * limit:
            return 0.0
    return inf


def walk(levels: Sequence[Level], quantity: float) -> tuple[float, float]:
    """(quantity, average price) of taking at most a quantity of levels, the best first; (0, 0) where there are none."""
    taken = cost = 0.0
    for price, size in levels:
        part = min(size, quantity - taken)
        if part == quantity:
            return quantity, price  # all from one level: its price exactly, and not after a rounding
        taken, cost = taken + part, cost + part * price
        if part < size:
            return quantity, cost / taken
    return (min(taken, quantity), cost / taken) if taken > 0.0 else (0.0, 0.0)


def _best(quote: Quote) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
    """The levels of a quote; a side without price or size has none."""
    return (
        ((quote.bid, quote.bid_size),) if quote.bid > 0.0 and quote.bid_size > 0.0 else (),
        ((quote.ask, quote.ask_size),) if quote.ask > 0.0 and quote.ask_size > 0.0 else (),
    )


def _newer(quote: Quote, snapshot: Snapshot) -> bool:
    """Whether a quote is newer than the book: by the book's number, or else by when they were received."""
    if quote.sequence and snapshot.book.sequence:
        return quote.sequence > snapshot.book.sequence
    return snapshot.quote_at > snapshot.book_at
