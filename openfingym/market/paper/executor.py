"""The paper engine: one account whose orders fill against a live market, without being sent anywhere.

It does no input or output, reads no clock and draws nothing at random: what it holds follows from the rules, from what
the market's state told it, and from the decisions with their instants, so that a replay of a tape gives the same fills
bit for bit. :mod:`~openfingym.market.paper.fills` states which orders fill.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from openfingym.digests import sha256_of_json
from openfingym.market.commands import Instant
from openfingym.market.paper.fills import PaperFills
from openfingym.market.paper.liquidity import walk
from openfingym.market.paper.order import PaperOrder
from openfingym.trading.actions import Decision, carry_out
from openfingym.trading.executor import Account
from openfingym.trading.orders import EventKind, Order, Reason, Side, TimeInForce
from openfingym.trading.portfolio import WorkingOrder
from openfingym.trading.rebalancing import buyable, sellable, wanted_changes
from openfingym.trading.rules import settled, whole_lots

_OF_AN_ORDER = [name for cls in (WorkingOrder, PaperOrder) for name in cls.__slots__ if name != "other"]
"""What an open order holds, but for the other of its pair."""


class IntervalRecord(NamedTuple):
    """An interval between two marks, as a row of :data:`openfingym.metrics.performance.RECORD`."""

    equity: float
    """Value of the account at the end of the interval, in units of currency; 0 once the account is bankrupt."""
    traded: float
    """Value of what was traded in the interval."""
    cost: float
    """Fees, slippage and borrowing in the interval."""
    long: float
    """Market value of long positions at the end of the interval."""
    short: float
    """Market value of short positions at the end of the interval, a positive number."""
    closed: int
    """How many fills of the interval reduced a position."""
    won: int
    """How many of these fills made money."""


class PaperExecutor(PaperFills):
    """One account that trades on paper; an :class:`~openfingym.trading.executor.Executor`. Only the thread that changes
    the market's state may use it.

    Reading it takes time in proportion to symbols and open orders, however long it has traded. Its marks are of the
    last decision, fill or :meth:`mark_to_market`: the mid where the market is fit to trade on, otherwise the last
    trade.
    """

    def decide(self, decision: Decision, at: Instant) -> list[int]:
        """Carry a decision out: cancels and replacements, then target weights, then orders; returns the orders' ids.

        Weights become market orders without an id, sales first, of what the account can carry at the levels' prices;
        what the market does not take of them is reported as events of order 0.
        """
        self._advance(at)

        weights = None if decision.weights is None else self._admitted(decision.weights)
        carry_out(Decision(cancels=decision.cancels, replaces=decision.replaces), self)
        if weights is not None:
            self._rebalance(weights)
        return self.submit(decision.orders) if decision.orders else []

    def account(self) -> Account:
        """The account at the last marks."""
        equity = 0.0 if self.bankrupt else self.cash + self.value()
        return super().account()._replace(equity=equity)

    def mark_to_market(self, at: Instant) -> IntervalRecord:
        """End an interval: value the account now, at an equity of zero or below for the last time."""
        self._advance(at)
        if not self.bankrupt:
            self._value()
        account = self.account()
        record = IntervalRecord(
            self.equity, self.traded, self.cost, account.long, account.short, closed=self.closed, won=self.won
        )
        self.row += 1
        self.traded = self.cost = 0.0
        self.closed = self.won = 0
        return record

    def digest(self) -> str:
        """SHA-256 of everything on which later fills depend: equal after the same inputs. Events that wait to be read
        are not part of it.
        """
        return sha256_of_json(
            [
                *(self.cash, self.position, self.average, self.mark, self.equity, self.bankrupt, self.row),
                *(self.traded, self.cost, self.closed, self.won, self._next_id, self._now, self._borrowed, [*self._at]),
                [
                    [
                        *(_plain(getattr(order, name)) for name in _OF_AN_ORDER),
                        *(() if order.other is None else (order.other.id,)),
                    ]
                    for order in self.orders
                ],
                [[number, *map(_plain, _without_none(order))] for number, order in self._by_client.values()],
                [liquidity.canonical() for liquidity in self._liquidity],
            ]
        )

    def _rebalance(self, weights: Sequence[float]) -> None:
        """Trade to shares of equity at the marks."""
        changes = wanted_changes(self, weights)
        for symbol, weight in enumerate(weights):
            if weight != 0.0 and self.mark[symbol] <= 0.0:
                shown = self._shown(symbol)
                reason = shown if isinstance(shown, Reason) else Reason.NO_PRICE
                self.record(EventKind.REJECTED, 0, symbol, 0, math.nan, reason)
        for side in (Side.SELL, Side.BUY):  # sales bring the cash that purchases need
            for symbol, change in enumerate(changes):
                if change * side > 0.0:
                    self._change(symbol, side, abs(change))

    def _change(self, symbol: int, side: Side, wanted: float) -> None:
        """Trade towards a target, as far as the levels and the account allow."""
        order = PaperOrder(0, Order(symbol, side, wanted, time_in_force=TimeInForce.IOC))
        shown = self._shown(symbol)
        reason = self._closed_to(order)
        if isinstance(shown, Reason) or reason:
            self.record(EventKind.REJECTED, 0, symbol, side, wanted, reason)
            return
        levels = self._liquidity[symbol].free(shown, order.d)
        available, price = walk(levels, wanted)
        available = wanted if available >= wanted else whole_lots(available, self.market.lot)
        within = buyable if side is Side.BUY else sellable
        order.remaining = within(self, symbol, available, price)
        self._fill(order, order.remaining, shown, levels)
        # Reported is only what the market lacks, and not what the account could not carry.
        if available < wanted:
            order.remaining = settled(wanted, -available, self.market.lot)
            self.tell(EventKind.CANCELLED, order, Reason.UNFILLED)


def _without_none(order: Order) -> tuple[object, ...]:
    """An order without its last field, where it names no pair: digests are those of the time before there were any."""
    return order[:-1] if order.oco is None else order


def _plain(value: object) -> object:
    """A value that JSON has: NaN and infinity by their names."""
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
