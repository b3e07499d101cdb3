"""The account in a simulated market: cash, positions, open orders and what they reserve."""

from __future__ import annotations

import math
from collections.abc import Sequence

from openfingym.trading.executor import Account, OpenOrder
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Event, EventKind, Order, OrderType, Reason, Side
from openfingym.trading.rules import BPS, settled

LIMITED = frozenset((OrderType.LIMIT, OrderType.STOP_LIMIT))
"""Types of orders with a limit price."""
STOPPED = frozenset((OrderType.STOP, OrderType.STOP_LIMIT))
"""Types of orders with a stop price."""
_NAN = math.nan
_BUY, _FILLED, _NONE = Side.BUY, EventKind.FILLED, Reason.NONE
_event = tuple.__new__  # half the time of Event(...)


class WorkingOrder:
    """An open order, and what it reserves."""

    # fmt: off
    __slots__ = (
        "client_id", "d", "hold_cash", "hold_short", "id", "kind", "limit",
        "limited", "opening", "other", "remaining", "side", "stop", "symbol", "time_in_force", "triggered",
    )
    # fmt: on

    def __init__(self, id: int, order: Order) -> None:  # noqa: A002  # the field's own name
        self.id = id
        (
            self.symbol,
            self.side,
            self.remaining,
            self.kind,
            self.limit,
            self.stop,
            self.time_in_force,
            self.client_id,
            _,
        ) = order
        self.other: WorkingOrder | None = None
        """The other order of its pair, of which one cancels the other; what is left of both is the same."""
        self.d = 1.0 if self.side is _BUY else -1.0
        """The direction as :mod:`~openfingym.trading.rules` takes it: 1 for a buy, -1 for a sell."""
        self.limited = self.kind in LIMITED
        """Whether it has a limit price, and so no slippage."""
        self.triggered = False
        """Whether its stop was reached."""
        self.opening = 0.0
        """Units that open a position, for which it reserves."""
        self.hold_cash = 0.0
        """Cash that a buy reserves for its worst case, costs included."""
        self.hold_short = 0.0
        """Value that a sale reserves of what the short cap allows, in cash."""

    def cut(self, remaining: float) -> None:
        """Leave less of the order; what it reserved for the rest is free."""
        self.remaining = remaining
        if remaining < self.opening:
            share = remaining / self.opening
            self.opening = remaining
            self.hold_cash *= share
            self.hold_short *= share


class Portfolio:
    """One account. All money and quantities are float64; attributes are for reading.

    Sums are plain loops in the order of symbols and orders, as in the compiled core: ``sum`` compensates for rounding
    from Python 3.12 on, and would differ from it in the last bit.
    """

    def __init__(
        self,
        market: MarketRules,
        *,
        cash: float,
        closes: Sequence[float],
        volumes: Sequence[float] | None = None,
        row: int = 0,
    ) -> None:
        """Open an account.

        Args:
            market: costs and limits of trading.
            cash: cash of the account when it is opened, in units of currency.
            closes: last close of each symbol before the first bar.
            volumes: volume of the same bar, for the worst case of market impact; unknown if None.
            row: number of that bar, as events will state it.
        """
        self.market = market
        self.cash = float(cash)
        self.position = [0.0] * len(closes)
        """Units held of each symbol, negative where short."""
        self.average = [0.0] * len(closes)
        """Average price at which each position was opened, slippage included; 0 where there is none."""
        self.mark = [float(close) for close in closes]
        """Price at which each symbol is valued: the last one that is known."""
        self.volume = [0.0] * len(closes) if volumes is None else [float(volume) for volume in volumes]
        """Units of each symbol traded in the last bar."""
        self.equity = self.cash
        """Cash and the value of positions at the last close."""
        self.bankrupt = False
        self.row = row
        """Number of the last bar that has passed."""
        self.traded = self.cost = 0.0
        """Notional traded in the last bar, and fees, slippage and borrowing paid."""
        self.closed = self.won = 0
        """Number of fills of the last bar that reduced a position, and of those of them that made money."""
        self.orders: list[WorkingOrder] = []
        self.room = [0.0] * len(closes)
        """Units of each symbol that may still be traded in this bar."""
        self.slip_rate = market.slippage_bps * BPS + market.half_spread_bps * BPS
        self.fee_rate = market.fee_bps * BPS
        self.borrow_rate = market.borrow_rate
        self.path = int(market.path)
        self._events: list[Event] = []

    def account(self) -> Account:
        """The account at the last marks."""
        long = short = 0.0
        for position, mark in zip(self.position, self.mark, strict=True):
            if position > 0.0:
                long += position * mark
            else:
                short -= position * mark
        held = 0.0
        for order in self.orders:
            held += order.hold_cash
        collateral = 0.0 if self.market.short_proceeds_fund_longs else short
        return Account(self.cash, self.equity, self.cash - collateral - held, long, short)

    def positions(self) -> tuple[float, ...]:
        """Units held of each symbol."""
        return tuple(self.position)

    def open_orders(self) -> tuple[OpenOrder, ...]:
        """Open orders, in the order in which they trade."""
        return tuple(
            OpenOrder(
                o.id,
                o.symbol,
                o.side,
                o.kind,
                o.time_in_force,
                o.remaining,
                o.limit,
                o.stop,
                o.triggered,
                o.client_id,
                0 if o.other is None else o.other.id,
            )
            for o in self.orders
        )

    def events(self) -> list[Event]:
        """The events since the last call, in order."""
        events, self._events = self._events, []
        return events

    def tell(self, kind: EventKind, order: WorkingOrder, reason: Reason = _NONE) -> None:
        """Record an event of an order, with the quantity that is left of it; for all kinds but fills."""
        self._events.append(
            _event(
                Event,
                (
                    kind,
                    self.row,
                    order.id,
                    order.symbol,
                    order.side,
                    order.remaining,
                    _NAN,
                    0.0,
                    0.0,
                    reason,
                    order.client_id,
                    "",
                ),
            )
        )

    def end_other(self, order: WorkingOrder) -> None:
        """End the other order of a pair, one order of which has ended."""
        other = order.other
        if other is not None:
            order.other = other.other = None
            self.orders = [open_order for open_order in self.orders if open_order is not other]
            self.tell(EventKind.CANCELLED, other, Reason.PAIR_ENDED)

    def record(
        self,
        kind: EventKind,
        order_id: int,
        symbol: int,
        side: int,
        quantity: float,
        reason: Reason,
        client_id: str | None = None,
    ) -> None:
        """Record an event that is not a fill, with the values given."""
        self._events.append(
            _event(Event, (kind, self.row, order_id, symbol, side, quantity, _NAN, 0.0, 0.0, reason, client_id, ""))
        )

    def short_value(self) -> float:
        """Market value of short positions at the last marks, positive."""
        # The usual case, and every order asks for it.
        if min(self.position) >= 0.0:
            return 0.0
        total = 0.0
        for symbol, position in enumerate(self.position):
            if position < 0.0:
                total -= position * self.mark[symbol]
        return total

    def value(self) -> float:
        """Market value of all positions at the last marks, shorts counting against it."""
        total = 0.0
        for symbol, position in enumerate(self.position):
            if position != 0.0:
                total += position * self.mark[symbol]
        return total

    def besides(self, symbol: int) -> tuple[float, float]:
        """Market value of short positions and of all positions in other symbols, at the last marks."""
        shorts = others = 0.0
        for other, position in enumerate(self.position):
            if position != 0.0 and other != symbol:
                value = position * self.mark[other]
                others += value
                if position < 0.0:
                    shorts -= value
        return shorts, others

    def refusal(self, symbol: int, d: float, quantity: float, base: float, price: float, paid: float) -> Reason:
        """Why the account cannot carry a fill that opens a position, or NONE.

        Args:
            symbol: position of the traded symbol among the symbols.
            d: 1 for a buy, -1 for a sell.
            quantity: units that the fill would trade, positive.
            base: price before slippage, at which the short cap values positions.
            price: price of the fill, after slippage.
            paid: fee of the fill, in units of currency.
        """
        market = self.market
        cash = self.cash - d * quantity * price - paid
        shorts, others = self.besides(symbol) if len(self.position) > 1 else (0.0, 0.0)
        if d > 0.0:
            # The buy opens a long position, so that this symbol is not short any more: other shorts alone bind cash.
            collateral = 0.0 if market.short_proceeds_fund_longs else shorts
            return _NONE if cash - collateral >= 0.0 else Reason.INSUFFICIENT_CASH
        # Below zero, since the sale opens a short: -after * base is what it adds to the value of shorts.
        after = self.position[symbol] - quantity
        equity = cash + after * base + others
        return _NONE if shorts - after * base <= market.max_short * equity else Reason.SHORT_CAP

    def book(
        self,
        symbol: int,
        d: float,
        quantity: float,
        base: float,
        price: float,
        paid: float,
        order_id: int,
        client_id: str | None,
    ) -> bool:
        """Change cash and position by a fill, unless it would leave a debt larger than before.

        Args:
            symbol: position of the traded symbol among the symbols.
            d: 1 for a buy, -1 for a sell.
            quantity: units that are traded, positive.
            base: price before slippage.
            price: price of the fill, after slippage.
            paid: fee of the fill, in units of currency.
            order_id: id of the filled order; 0 for a trade to target weights.
            client_id: the caller's own id of the order, if it has one.

        Returns:
            Whether the fill was booked.
        """
        cash = self.cash - d * quantity * price - paid
        # Cash that is negative already, as after a dividend on a short position, may still be raised by a sale.
        if cash < 0.0 and cash < self.cash:
            return False
        position = self.position[symbol]
        after = settled(position, d * quantity, self.market.lot)
        # Units held on the other side of the fill, which it closes; below zero, units held on its own side.
        against = -d * position
        if against > 0.0:
            closing = quantity if quantity < against else against
            # Of a fill that turns a position around, the fee is divided by quantity between what closes and what opens.
            profit = closing * (self.average[symbol] - price) * d - paid * (closing / quantity)
            self.closed += 1
            if profit > 0.0:
                self.won += 1
            if after == 0.0:
                self.average[symbol] = 0.0
            elif d * after > 0.0:
                # Turned around: all that is open now was traded at this price.
                self.average[symbol] = price
        else:
            self.average[symbol] = (self.average[symbol] * -against + price * quantity) / (quantity - against)
        self.position[symbol] = after
        self.cash = cash
        slippage = quantity * abs(price - base)
        self.traded += quantity * price
        self.cost += paid + slippage
        self.room[symbol] -= quantity
        self._events.append(
            _event(
                Event,
                (
                    _FILLED,
                    self.row,
                    order_id,
                    symbol,
                    1 if d > 0.0 else -1,
                    quantity,
                    price,
                    paid,
                    slippage,
                    _NONE,
                    client_id,
                    "",
                ),
            )
        )
        return True
