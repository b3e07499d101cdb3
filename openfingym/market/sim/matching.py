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
"""Price levels that a side may have before its empty ones are forgotten."""


class Resting:
    """An order in the book."""

    __slots__ = ("left", "number", "owner", "price", "seat", "side")

    def __init__(self, number: int, side: int, price: int, left: int, owner: ExchangeOrder | None = None) -> None:
        self.number = number
        self.side = side
        self.price = price
        self.left = left
        self.owner = owner
        """None for one of the crowd."""
        self.seat = -1
        """Its place in :attr:`OrderBook.crowd`."""


class Fill(NamedTuple):
    """What an incoming order got from a resting one."""

    maker: Resting
    price: int
    quantity: int
    trade: int


class Level:
    """A price level: its orders by number, oldest first, and the sum of what is left of them."""

    __slots__ = ("orders", "total")

    def __init__(self) -> None:
        self.orders: dict[int, Resting] = {}
        self.total = 0


class OrderBook:
    """The book of one symbol; it appends its trades and changes to ``events``."""

    def __init__(self, symbol: str, events: list[Event], history: list[ExchangeTrade]) -> None:
        self.symbol: Final = symbol
        self.events = events
        self.history = history
        self.time = 0
        """When what is asked for now happens."""
        self.number = 0
        """Of the last order."""
        self.update = 0
        """Of the last change."""
        self.trade = 0
        """Of the last trade."""
        self.last: int | None = None
        """Price of the last trade."""
        self.crowd: list[Resting] = []
        """The orders without an owner, in no order, for a random one to be found in constant time."""
        self._levels: dict[int, dict[int, Level]] = {1: {}, -1: {}}
        self._heaps: dict[int, list[int]] = {1: [], -1: []}  # of price times -side: the best is the smallest
        self._most = {1: PRUNED, -1: PRUNED}

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
        found = sorted(
            ((price, level.total) for price, level in self._levels[side].items() if level.total), reverse=side > 0
        )
        return found if most is None else found[:most]

    def queue(self, side: int, price: int) -> list[Resting]:
        """The orders at a price, the first to trade first."""
        level = self._levels[side].get(price)
        return list(level.orders.values()) if level else []

    def available(self, side: int, quantity: int, limit: int | None) -> tuple[int, int]:
        """(lots, lots times ticks) that an incoming order would get, of at most ``quantity``."""
        lots = cost = 0
        for price, total in self.levels(-side):
            if lots == quantity or (limit is not None and (price - limit) * side > 0):
                break
            taken = min(total, quantity - lots)
            lots, cost = lots + taken, cost + taken * price
        return lots, cost

    def next_number(self) -> int:
        """The number of a new order."""
        self.number += 1
        return self.number

    def take(self, number: int, side: int, quantity: int, limit: int | None) -> list[Fill]:
        """Match an incoming order; what is left of it is the caller's to rest or drop."""
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

    def rest(self, order: Resting) -> None:
        """Put an order at the end of its level; the caller has matched it before."""
        side, price = order.side, order.price
        levels = self._levels[side]
        level = levels.get(price)
        if level is None:
            if len(levels) >= self._most[side]:
                self._prune(side)
            level = levels[price] = Level()
            heapq.heappush(self._heaps[side], -side * price)
        level.orders[order.number] = order
        level.total += order.left
        if order.owner is None:
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
        """Forget the empty levels that no trade has reached, so that a book is as large as what rests in it."""
        levels, heap = self._levels[side], self._heaps[side]
        for price in [price for price, level in levels.items() if not level.total]:
            del levels[price]
        heap[:] = [-side * price for price in levels]
        heapq.heapify(heap)
        self._most[side] = 2 * len(levels) + PRUNED

    def _leave(self, order: Resting) -> None:
        last = self.crowd.pop()
        if last is not order:
            self.crowd[order.seat] = last
            last.seat = order.seat
        order.seat = -1
