"""The paper-trading simulator, in plain Python: one account, one bar after the other.

This is the statement of what a simulated market does, and docs/trading.md is its table of rules.
:mod:`openfingym.trading.compiled` does the same for many accounts at once and agrees with it bit for bit.
A bar goes like this:

1. Splits and dividends change positions, cash and open orders (:mod:`~openfingym.trading.corporate_actions`).
2. Short positions pay for borrowing, at the last close. Positions are then valued at the open.
3. Target weights are traded at the open: sells first, then buys as far as cash goes
(:mod:`~openfingym.trading.rebalancing`).
4. Orders that fill at the open do, in order of submission. What is left of an immediate-or-cancel order ends.
5. Other orders fill inside the bar, in the order in which the assumed path reaches them
(:mod:`~openfingym.trading.matching`).
6. Positions are valued at the close. At an equity of zero or below the account is bankrupt.

A symbol without a trade in a bar is halted: nothing fills, and its last close stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from openfingym.trading.admission import refusal
from openfingym.trading.corporate_actions import act
from openfingym.trading.market import MarketRules
from openfingym.trading.matching import match
from openfingym.trading.orders import MOST, EventKind, Order, Reason, number, order_number, replaced, well_formed
from openfingym.trading.portfolio import Portfolio, WorkingOrder
from openfingym.trading.rebalancing import rebalance
from openfingym.trading.rules import WEIGHT_TOLERANCE

_NAN = math.nan
_CANCELLED, _REJECTED, _NONE = EventKind.CANCELLED, EventKind.REJECTED, Reason.NONE


class Simulator(Portfolio):
    """One account in a simulated market; an :class:`~openfingym.trading.executor.Executor`."""

    def __init__(
        self,
        market: MarketRules,
        *,
        cash: float,
        closes: Sequence[float],
        volumes: Sequence[float] | None = None,
        row: int = 0,
    ) -> None:
        """Open an account; see :class:`~openfingym.trading.portfolio.Portfolio`."""
        super().__init__(market, cash=cash, closes=closes, volumes=volumes, row=row)
        self._targets: list[float] | None = None
        self._next_id = 1
        self._by_client: dict[str, tuple[int, Order]] = {}

    def submit(self, orders: Sequence[Order]) -> list[int]:
        """Submit a batch; see :class:`~openfingym.trading.executor.Executor`."""
        if len(orders) > self.market.max_orders_per_batch:
            self.record(_REJECTED, 0, -1, 0, float(len(orders)), Reason.TOO_MANY_ORDERS)
            return [0] * len(orders)
        return [self._submit(order) for order in orders]

    def _submit(self, order: Order) -> int:
        plain = well_formed(order)
        if plain is None:
            self.record(_REJECTED, 0, -1, 0, _NAN, Reason.MALFORMED)
            return 0
        working = WorkingOrder(self._next_id, plain)
        client, reason = working.client_id, _NONE
        if client is not None and client in self._by_client:
            known_id, known = self._by_client[client]
            if plain.same_as(known):
                return known_id
            reason = Reason.DUPLICATE_ID
        elif not 0 <= working.symbol < len(self.position):
            reason = Reason.UNKNOWN_SYMBOL
        else:
            reason = refusal(self, working)
        if reason:
            symbol = plain.symbol if abs(plain.symbol) < MOST else -1
            self.record(_REJECTED, 0, symbol, plain.side, plain.quantity, reason, client)
            return 0
        self._next_id += 1
        self.orders.append(working)
        if client is not None:
            self._by_client[client] = (working.id, plain)
        return working.id

    def target(self, weights: Sequence[float]) -> bool:
        """Trade at the next open to these shares of equity, one a symbol, negative for short.

        Returns:
            Whether the weights are admissible: finite, the long ones adding up to at most 1 and the short ones to at
            most the short cap. If not, nothing changes and an event says so.
        """
        longs = shorts = 0.0
        wanted = [number(weight) for weight in weights]
        for weight in wanted:
            if weight > 0.0:
                longs += weight
            else:
                shorts -= weight
        # A NaN fails every comparison.
        good = (
            len(wanted) == len(self.position)
            and longs <= 1.0 + WEIGHT_TOLERANCE
            and shorts <= self.market.max_short + WEIGHT_TOLERANCE
        )
        if not good or self.bankrupt:
            self.record(_REJECTED, 0, -1, 0, _NAN, Reason.BANKRUPT if self.bankrupt else Reason.BAD_WEIGHTS)
            return False
        self._targets = wanted
        return True

    def cancel(self, order_id: int) -> None:
        """Cancel what is left of an order."""
        place = self._find(order_id)
        if place >= 0:
            self.tell(_CANCELLED, self.orders.pop(place))

    def replace(
        self,
        order_id: int,
        *,
        quantity: float | None = None,
        limit_price: float | None = None,
        stop_price: float | None = None,
    ) -> None:
        """Change an open order, all or nothing; see :class:`~openfingym.trading.executor.Executor`."""
        place = self._find(order_id)
        if place < 0:
            return
        order = self.orders[place]
        wanted = Order(
            order.symbol,
            order.side,
            replaced(order.remaining, quantity),
            order.kind,
            replaced(order.limit, limit_price),
            replaced(order.stop, stop_price),
            order.time_in_force,
            order.client_id,
        )
        changed = WorkingOrder(order.id, wanted)
        changed.triggered = order.triggered
        del self.orders[place]
        # A triggered order has no stop any more.
        reason = Reason.BAD_PRICE if order.triggered and stop_price is not None else refusal(self, changed)
        if reason:
            self.orders.insert(place, order)
            self.record(_REJECTED, order.id, order.symbol, order.side, wanted.quantity, reason, order.client_id)
            return
        kept = changed.remaining <= order.remaining and (limit_price is None or changed.limit == order.limit)
        kept = kept and (stop_price is None or changed.stop == order.stop)
        self.orders.insert(place if kept else len(self.orders), changed)
        self.tell(EventKind.REPLACED, changed)

    def on_bar(
        self,
        opens: Sequence[float],
        highs: Sequence[float],
        lows: Sequence[float],
        closes: Sequence[float],
        volumes: Sequence[float],
        *,
        tradable: Sequence[bool] | None = None,
        splits: Sequence[float] | None = None,
        dividends: Sequence[float] | None = None,
    ) -> None:
        """Let one bar pass; see the module's text for what happens in which order.

        Args:
            opens: price of each symbol at the open, float64[S]; prices of a halted symbol are not looked at.
            highs: highest price of each symbol.
            lows: lowest price of each symbol.
            closes: last price of each symbol.
            volumes: units of each symbol that were traded.
            tradable: whether each symbol traded; all did if None.
            splits: new units for an old one, of each symbol, before the open; none if None.
            dividends: cash a unit of each symbol, going ex before the open; none if None.
        """
        self.row += 1
        self.traded = self.cost = 0.0
        self.closed = self.won = 0
        if self.bankrupt:
            return
        if splits is not None or dividends is not None:
            act(self, splits, dividends)
        if self.borrow_rate > 0.0:
            self._borrow()
        self._open(opens, volumes, tradable)
        if self._targets is not None:
            rebalance(self, self._targets, tradable)
            self._targets = None
        if self.orders:
            match(self, opens, highs, lows, closes, tradable)
        self._close(closes, tradable)

    def _borrow(self) -> None:
        for symbol, position in enumerate(self.position):
            if position < 0.0:
                paid = -position * self.mark[symbol] * self.borrow_rate
                self.cash -= paid
                self.cost += paid

    def _open(self, opens: Sequence[float], volumes: Sequence[float], tradable: Sequence[bool] | None) -> None:
        cap = self.market.max_participation
        if tradable is None or all(tradable):
            self.mark, self.volume = list(opens), list(volumes)
            self.room = [cap * volume for volume in volumes] if cap > 0.0 else [math.inf] * len(self.room)
            return
        for symbol, traded in enumerate(tradable):
            if traded:
                self.mark[symbol] = opens[symbol]
                self.volume[symbol] = volumes[symbol]
                self.room[symbol] = cap * volumes[symbol] if cap > 0.0 else math.inf
            else:
                self.room[symbol] = 0.0

    def _close(self, closes: Sequence[float], tradable: Sequence[bool] | None) -> None:
        if tradable is None or all(tradable):
            self.mark = list(closes)
        else:
            self.mark = [
                close if traded else mark for close, traded, mark in zip(closes, tradable, self.mark, strict=True)
            ]
        self.equity = self.cash + self.value()
        if self.equity <= 0.0:
            self.equity = 0.0
            self.bankrupt = True
            for order in self.orders:
                self.tell(_CANCELLED, order, Reason.BANKRUPT)
            self.orders = []

    def _find(self, order_id: int) -> int:
        """Place of an open order, or -1, which is recorded as a refusal."""
        reference = order_number(order_id)
        for place, order in enumerate(self.orders):
            if order.id == reference:
                return place
        known = 0 < reference < self._next_id
        self.record(
            _REJECTED, reference if known else 0, -1, 0, _NAN, Reason.NOT_OPEN if known else Reason.UNKNOWN_ORDER
        )
        return -1
