"""A limit order book with price-time priority.

Each side is a dictionary of price levels and a heap of their prices. An empty level stays until the heap's top reaches
it, so that every price is in the heap once; an order is found, cancelled and matched in constant time, and a new price
costs a heap's logarithm.
"""

from __future__ import annotations

import heapq
from typing import Final, NamedTuple

from openfingym.market.sim.events import BookChange, Event, ExchangeOrder, ExchangeTrade

PRUNED = 256
"""How many price levels a side may have before its empty ones are dropped."""


class Resting:
    """An order in the book.

    Args:
        number: number of the order.
        side: 1 for a buy, -1 for a sell.
        price: its limit in ticks.
        left: lots that are not filled.
        owner: the account's order that it is; None for one of the crowd.
    """

    __slots__ = ("left", "number", "owner", "price", "seat", "side")

    def __init__(self, number: int, side: int, price: int, left: int, owner: ExchangeOrder | None = None) -> None:
        self.number = number
        self.side = side
        self.price = price
        self.left = left
        self.owner = owner
        self.seat = -1
        """Its place in :attr:`OrderBook.crowd`; -1 where it is not there."""


class Fill(NamedTuple):
    """What an incoming order got from a resting one."""

    maker: Resting
    """The resting order."""
    price: int
    """Price in ticks."""
    quantity: int
    """Quantity in lots."""
    trade: int
    """Number of the trade."""


class PriceLevel:
    """A price level: its orders by number, oldest first, and the sum of what is left of them."""

    __slots__ = ("orders", "total")

    def __init__(self) -> None:
        self.orders: dict[int, Resting] = {}
        self.total = 0


class OrderBook:
    """The book of one symbol.

    Args:
        symbol: the symbol that trades in this book.
        events: the exchange's events, to which trades and changes are added.
        history: the symbol's trades, to which trades are added.
    """

    def __init__(self, symbol: str, events: list[Event], history: list[ExchangeTrade]) -> None:
        self.symbol: Final = symbol
        self.events = events
        self.history = history
        self.time = 0
        """Time of the events to come, in nanoseconds; the exchange sets it before each call."""
        self.number = 0
        """Number of the last order."""
        self.update = 0
        """Number of the last change."""
        self.trade = 0
        """Number of the last trade."""
        self.last: int | None = None
        """Price of the last trade in ticks; None before any."""
        self.crowd: list[Resting] = []
        """The orders without an owner that may be cancelled at random, in no order, so that one is found in constant
        time."""
        self._levels: dict[int, dict[int, PriceLevel]] = {1: {}, -1: {}}
        self._heaps: dict[int, list[int]] = {1: [], -1: []}  # of price times -side: the best is the smallest
        self._most = {1: PRUNED, -1: PRUNED}  # levels of a side at which it is pruned next

    def best(self, side: int) -> int | None:
        """The best price of a side; None where it is empty."""
        heap, levels = self._heaps[side], self._levels[side]
        while heap:
            price = -side * heap[0]
            if levels[price].total:
                return price
            heapq.heappop(heap)
            del levels[price]
        return None

    def size(self, side: int, price: int) -> int:
        """All lots at a price."""
        level = self._levels[side].get(price)
        return level.total if level else 0

    def levels(self, side: int, most: int | None = None) -> list[tuple[int, int]]:
        """(price, lots) of a side's levels, the best first."""
        levels = sorted(
            ((price, level.total) for price, level in self._levels[side].items() if level.total), reverse=side > 0
        )
        return levels if most is None else levels[:most]

    def queue(self, side: int, price: int) -> list[Resting]:
        """The orders at a price, the first to trade first."""
        level = self._levels[side].get(price)
        return list(level.orders.values()) if level else []

    def available(self, side: int, quantity: int, limit: int | None) -> tuple[int, int]:
        """What an incoming order would get now.

        Args:
            side: 1 for a buy, -1 for a sell.
            quantity: its quantity in lots.
            limit: its limit in ticks; None for any price.

        Returns:
            Lots, and lots times ticks.
        """
        lots = cost = 0
        for price, total in self.levels(-side):
            if lots == quantity or (limit is not None and (price - limit) * side > 0):
                break
            taken = min(total, quantity - lots)
            lots, cost = lots + taken, cost + taken * price
        return lots, cost

    def affordable(self, side: int, budget: int, value: int) -> int:
        """The lots that a budget buys now, or that bring it.

        Args:
            side: 1 for a buy, -1 for a sell.
            budget: atoms of the quote asset.
            value: atoms of the quote asset that one lot costs for each tick of its price.
        """
        lots = 0
        for price, total in self.levels(-side):
            taken = min(total, budget // (price * value))
            lots, budget = lots + taken, budget - taken * price * value
            if taken < total:
                break
        return lots

    def next_number(self) -> int:
        """The number of a new order."""
        self.number += 1
        return self.number

    def take(self, number: int, side: int, quantity: int, limit: int | None) -> list[Fill]:
        """Match an incoming order; the caller rests or drops what is left of it.

        Args:
            number: number of the order.
            side: 1 for a buy, -1 for a sell.
            quantity: its quantity in lots.
            limit: its limit in ticks; None for any price.
        """
        fills: list[Fill] = []
        other = -side
        heap, levels = self._heaps[other], self._levels[other]
        while quantity and heap:
            price = side * heap[0]
            level = levels[price]
            # A level that was emptied stays in the heap until it is met: taking it out at once would cost a search.
            if not level.total:
                heapq.heappop(heap)
                del levels[price]
                continue
            if limit is not None and (price - limit) * side > 0:
                break
            orders = level.orders
            while quantity and orders:
                # A dictionary keeps the order of insertion, which is the order of time within a price.
                maker = next(iter(orders.values()))
                traded = min(maker.left, quantity)
                quantity -= traded
                maker.left -= traded
                level.total -= traded
                if not maker.left:
                    del orders[maker.number]
                    if maker.seat >= 0:
                        self._leave(maker)
                self.trade += 1
                done = ExchangeTrade(self.symbol, self.time, self.trade, price, traded, side, number, maker.number)
                self.events.append(done)
                self.history.append(done)
                fills.append(Fill(maker, price, traded, self.trade))
            self.last = price
            self.update += 1
            self.events.append(BookChange(self.symbol, self.time, self.update, other, price, level.total))
        return fills

    def rest(self, order: Resting, *, stands: bool = False) -> None:
        """Put an order at the end of its level; the caller has matched it before.

        Args:
            order: the order, which is the crowd's if it has no owner.
            stands: whether it is none of those that a crowd cancels at random.
        """
        side, price = order.side, order.price
        levels = self._levels[side]
        level = levels.get(price)
        if level is None:
            if len(levels) >= self._most[side]:
                self._prune(side)
            level = levels[price] = PriceLevel()
            heapq.heappush(self._heaps[side], -side * price)
        level.orders[order.number] = order
        level.total += order.left
        if order.owner is None and not stands:
            order.seat = len(self.crowd)
            self.crowd.append(order)
        self.update += 1
        self.events.append(BookChange(self.symbol, self.time, self.update, side, price, level.total))

    def reduce(self, order: Resting, quantity: int) -> None:
        """Take lots away from a resting order, which keeps its place; with none left it is gone."""
        level = self._levels[order.side][order.price]
        order.left -= quantity
        level.total -= quantity
        if not order.left:
            del level.orders[order.number]
            if order.seat >= 0:
                self._leave(order)
        self.update += 1
        self.events.append(BookChange(self.symbol, self.time, self.update, order.side, order.price, level.total))

    def _prune(self, side: int) -> None:
        """Drop the empty levels that no trade has reached, so that a book is as large as what rests in it."""
        levels, heap = self._levels[side], self._heaps[side]
        for price in [price for price, level in levels.items() if not level.total]:
            del levels[price]
        heap[:] = [-side * price for price in levels]
        heapq.heapify(heap)
        self._most[side] = 2 * len(levels) + PRUNED

    def _leave(self, order: Resting) -> None:
        """Take an order out of the crowd's: the last one takes its place, so that nothing has to move up."""
        last = self.crowd.pop()
        if last is not order:
            self.crowd[order.seat] = last
            last.seat = order.seat
        order.seat = -1
