"""Flows of orders that belong to no account: of a simulated crowd, or of a tape of trades."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from openfingym.errors import VenueError
from openfingym.market.sim.matching import Fill, OrderBook, Resting

BLOCK = 4096
"""How many steps are drawn at once, which is quicker than one by one; another number gives other draws."""
FAR_STEP = 0.05
"""Basis points of the value at the beginning between two of the further levels; two ticks at least."""
FAR_MOVE = 4.0
"""The same basis points by which the value moves until the further levels follow it."""


@dataclass(frozen=True)
class Crowd:
    """Zero-intelligence traders around a fundamental value that drifts: no model of behaviour, but a lively book.

    Each step is a market order, the cancellation of a random order, or a limit order below or above the value, which
    trades at once where the value has moved past the other side.

    Raises:
        VenueError: a number is out of range.
    """

    value: float
    """The fundamental value at the beginning, in ticks; its logarithm is a Brownian motion."""
    rate: float = 10.0
    """Steps a second, on average."""
    tail: float = 2.5
    """Exponent of the Lomax distribution of times between steps; heavier as it nears 1, its mean's limit."""
    volatility: float = 1e-4
    """Volatility of the value, for the square root of a second."""
    market: float = 0.15
    """Share of steps that are market orders."""
    orders: int = 200
    """A step that is no market order is a cancellation with probability n / (n + orders), where n orders rest."""
    half_spread: float = 0.5
    """Distance between the value and the nearest limit orders, in basis points of the value at the beginning."""
    depth: float = 5.0
    """Mean of the exponential distance beyond that, in the same basis points."""
    size: float = 20.0
    """Scale of the Lomax distribution of an order's lots."""
    size_tail: float = 2.2
    """Exponent of that distribution; heavier as it nears 1."""
    far: int = 0
    """How many further levels each side has, of standing orders that follow the value: from twice ``depth`` beyond the
    nearest limit orders outwards, so that they trade only where the crowd's own orders are used up."""

    def __post_init__(self) -> None:
        wrong = [
            name for name in ("value", "rate", "half_spread", "depth", "size") if not 0 < getattr(self, name) < math.inf
        ]
        wrong += [name for name in ("tail", "size_tail") if not getattr(self, name) > 1]
        wrong += ["market"] * (not 0 <= self.market < 1) + ["orders"] * (self.orders < 1) + ["far"] * (self.far < 0)
        wrong += ["volatility"] * (not 0 <= self.volatility < math.inf)
        if wrong:
            named = ", ".join(f"{name} = {getattr(self, name)}" for name in wrong)
            raise VenueError(
                f"a simulated crowd cannot have {named}: expected positive numbers, tails above 1 and a share of "
                "market orders below 1"
            )


class TapeTrade(NamedTuple):
    """A recorded trade."""

    time: int
    """When it happened, in nanoseconds of the exchange's clock."""
    price: int
    """Price in ticks."""
    quantity: int
    """Quantity in lots."""
    taker: int
    """1 where the incoming order bought, -1 where it sold."""


class Flow(ABC):
    """A source of orders for one book."""

    next: int | None
    """When it acts next, in nanoseconds of the exchange's clock; None where it is at its end."""

    @abstractmethod
    def step(self, book: OrderBook) -> list[Fill]:
        """Act once, and set :attr:`next`; returns the fills, those of accounts' orders among them."""


class CrowdFlow(Flow):
    """The orders of a :class:`Crowd`.

    Args:
        crowd: the crowd whose orders these are.
        start: when it begins, in nanoseconds of the exchange's clock.
        seed: the seed of all its draws.
    """

    def __init__(self, crowd: Crowd, start: int, seed: int) -> None:
        self.crowd = crowd
        self._random = np.random.default_rng(seed)
        self._value = crowd.value
        self._draws = self._draw()
        self._step = next(self._draws)
        self._left = crowd.orders // 2  # the book fills before anything else happens
        self._far = FarLevels(crowd) if crowd.far else None
        self.next: int | None = start

    def _draw(self) -> Iterator[tuple[int, float, int, int, float, float, float]]:
        crowd, random = self.crowd, self._random
        while True:
            # A Lomax variable of scale 1 has the mean 1 / (tail - 1): so gaps are 1 / rate seconds on average.
            gaps = random.pareto(crowd.tail, BLOCK) * (crowd.tail - 1) / crowd.rate
            steps = crowd.volatility * np.sqrt(gaps) * random.standard_normal(BLOCK)
            # Two ticks at least, so that there is room for a bid below it.
            values = np.maximum(self._value * np.exp(np.cumsum(steps)), 2.0)
            self._value = float(values[-1])
            sizes = np.minimum(1 + random.pareto(crowd.size_tail, BLOCK) * crowd.size, 1e9).astype(np.int64)
            point = crowd.value / 10_000
            offsets = point * (crowd.half_spread + random.exponential(crowd.depth, BLOCK))
            yield from zip(
                (gaps * 1e9).astype(np.int64).tolist(),
                random.random(BLOCK).tolist(),
                (random.integers(0, 2, BLOCK) * 2 - 1).tolist(),
                sizes.tolist(),
                offsets.tolist(),
                random.random(BLOCK).tolist(),
                values.tolist(),
                strict=True,
            )

    def step(self, book: OrderBook) -> list[Fill]:
        """See :class:`Flow`."""
        _, kind, side, size, offset, pick, value = self._step
        crowd, resting = self.crowd, book.crowd
        fills: list[Fill] = []
        if self._far is not None:
            self._far.follow(book, value)
        if self._left:
            self._left -= 1
            kind = 1.0
        if kind < crowd.market:
            fills = book.take(book.next_number(), side, size, None)
        elif kind < crowd.market + (1 - crowd.market) * len(resting) / (len(resting) + crowd.orders):
            order = resting[int(pick * len(resting))]
            book.reduce(order, order.left)
        else:
            price = max(1, math.floor(value - offset) if side > 0 else math.ceil(value + offset))
            number = book.next_number()
            fills = book.take(number, side, size, price)
            left = size - sum(fill.quantity for fill in fills) if fills else size
            if left:
                book.rest(Resting(number, side, price, left))
        self._step = following = next(self._draws)
        if not self._left:
            self.next = book.time + following[0]
        return fills


class FarLevels:
    """The standing orders of a :class:`Crowd` at its further levels, one at each.

    Args:
        crowd: the crowd whose orders these are.
    """

    def __init__(self, crowd: Crowd) -> None:
        point = crowd.value / 10_000
        self._count, self._lots = crowd.far, max(1, round(crowd.size))
        self._step = max(2, round(FAR_STEP * point))  # in ticks, as are the next two
        self._begin, self._move = point * (crowd.half_spread + 2.0 * crowd.depth), point * FAR_MOVE
        self._value = math.inf  # around which they lie
        # By side and number. A level's price is its number times -side times the step, so that numbers grow outwards.
        self._standing: dict[int, dict[int, Resting]] = {1: {}, -1: {}}

    def follow(self, book: OrderBook, value: float) -> None:
        """Let the orders lie around a value, if it has moved far enough; none of them trades by that."""
        if abs(value - self._value) <= self._move:
            return
        self._value = value
        for side, standing in self._standing.items():
            nearest = math.ceil((self._begin - side * value) / self._step)
            numbers = range(nearest, nearest + self._count)
            for number in [number for number, order in standing.items() if number not in numbers or not order.left]:
                order = standing.pop(number)
                if order.left:
                    book.reduce(order, order.left)
            best = book.best(-side)
            for number in numbers:
                price = -side * number * self._step
                if number not in standing and price > 0 and (best is None or (best - price) * side > 0):
                    standing[number] = Resting(book.next_number(), side, price, self._lots)
                    book.rest(standing[number], stands=True)


class TapeFlow(Flow):
    """A book around recorded trades: each is a resting order of the crowd and an incoming one that takes it.

    Accounts' orders that come before the crowd's by price or time are matched first, so that a recorded trade happens
    only as far as the accounts leave room for it. After a trade the crowd's quotes are at its price and a tick from it.

    Args:
        trades: the recorded trades, in their order.
    """

    def __init__(self, trades: Iterable[TapeTrade]) -> None:
        self._trades = iter(trades)
        self._trade = next(self._trades, None)
        self.next: int | None = self._trade.time if self._trade else None

    def step(self, book: OrderBook) -> list[Fill]:
        """See :class:`Flow`."""
        trade = self._trade
        assert trade is not None
        for order in tuple(book.crowd):  # the quotes around the trade before
            book.reduce(order, order.left)
        number, side = book.next_number(), -trade.taker
        # The crowd's maker meets accounts' orders on the other side first: they would be crossed otherwise.
        fills = book.take(number, side, trade.quantity, trade.price)
        left = trade.quantity - sum(fill.quantity for fill in fills)
        if left:
            book.rest(Resting(number, side, trade.price, left))
            fills += book.take(book.next_number(), trade.taker, left, trade.price)
        for quote, price in ((side, trade.price), (trade.taker, trade.price - trade.taker)):
            best = book.best(-quote)
            if price > 0 and (best is None or (best - price) * quote > 0):
                book.rest(Resting(book.next_number(), quote, price, trade.quantity))
        before = trade.time
        self._trade = trade = next(self._trades, None)
        self.next = max(trade.time, before) if trade else None  # a recording may not be in the order of time
        return fills


def flow_of(source: Crowd | Iterable[TapeTrade], start: int, seed: int) -> Flow:
    """The flow of a crowd or of a tape."""
    return CrowdFlow(source, start, seed) if isinstance(source, Crowd) else TapeFlow(source)
