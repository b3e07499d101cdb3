"""One bar's fills of the open orders of an account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from openfingym.trading.orders import EventKind, Reason, TimeInForce
from openfingym.trading.portfolio import Portfolio, WorkingOrder
from openfingym.trading.rules import CERTAIN, ROUNDING, STOP, fee, inside_price, open_price, settled, slip, whole_lots

GTC = TimeInForce.GTC
_NONE = Reason.NONE


def match(
    portfolio: Portfolio,
    opens: Sequence[float],
    highs: Sequence[float],
    lows: Sequence[float],
    closes: Sequence[float],
    tradable: Sequence[bool] | None,
) -> None:
    """Fill what the bar fills: first at the open in order of submission, then inside the bar as the path reaches it."""
    waiting: list[WorkingOrder] = []
    kept: list[WorkingOrder] = []
    # At the open. An order that fills there in part stays open, but does not trade again inside the bar.
    for order in portfolio.orders:
        symbol = order.symbol
        if tradable is None or tradable[symbol]:
            price, triggered = open_price(order.kind, order.d, order.limit, order.stop, order.triggered, opens[symbol])
            # Market and limit orders have no trigger that an event could report.
            if triggered and not order.triggered and order.kind >= STOP:
                _trigger(portfolio, order)
            if price >= 0.0:
                if _fill(portfolio, order, price):
                    continue
            elif order.time_in_force is GTC:
                waiting.append(order)
        if order.time_in_force is GTC:
            kept.append(order)
        else:
            # What is left of an immediate-or-cancel order ends, also where its symbol is halted.
            portfolio.tell(EventKind.CANCELLED, order, Reason.UNFILLED)
    portfolio.orders = kept
    # Inside the bar. All triggers come first: which orders are reached depends on the bar's prices alone; how far they
    # fill, on what earlier fills leave of volume and cash.
    path = portfolio.path
    reached: list[tuple[float, float, WorkingOrder]] = []
    for order in waiting:
        s = order.symbol
        price, time, triggered = inside_price(
            order.kind, order.d, order.limit, order.stop, order.triggered, opens[s], highs[s], lows[s], closes[s], path
        )
        if triggered and not order.triggered:
            _trigger(portfolio, order)
        if price >= 0.0:
            reached.append((time, price, order))
    if reached:
        if path != CERTAIN:
            reached.sort(key=itemgetter(0))  # stable: at one time, in order of submission
        done = {order.id for _, price, order in reached if _fill(portfolio, order, price)}
        portfolio.orders = [order for order in kept if order.id not in done]


def _trigger(portfolio: Portfolio, order: WorkingOrder) -> None:
    order.triggered = True
    portfolio.tell(EventKind.TRIGGERED, order)


def _fill(portfolio: Portfolio, order: WorkingOrder, base: float) -> bool:
    """Fill an order at ``base``, the price before slippage, as far as volume and account allow.

    Returns:
        Whether the order has ended.
    """
    symbol, quantity = order.symbol, order.remaining
    # What the participation cap leaves of the bar's volume; the rest of the order waits for later bars.
    if portfolio.room[symbol] < quantity:
        quantity = whole_lots(portfolio.room[symbol], portfolio.market.lot)
        if quantity <= 0.0:
            return False
    return carry(portfolio, order, quantity, base, _price)[1]


def _price(portfolio: Portfolio, order: WorkingOrder, base: float, quantity: float) -> float:
    """Price of a fill; orders with a limit have no slippage."""
    if order.limited:
        return base
    volume = portfolio.volume[order.symbol]
    return slip(base, order.d, quantity, volume, portfolio.slip_rate, portfolio.market.impact)


PriceOf = Callable[[Portfolio, WorkingOrder, float, float], float]
"""The price of a fill, as a function of the account, the order, the price before slippage and the quantity."""


def carry(
    portfolio: Portfolio, order: WorkingOrder, quantity: float, base: float, price_of: PriceOf
) -> tuple[float, bool]:
    """Fill a quantity of an order that the market allows, as far as the account can carry it.

    The part that closes a position fills; of the part that opens one, all or nothing.

    Args:
        portfolio: account that the order belongs to.
        order: an open order, of which less is left afterwards.
        quantity: units to fill, at most what is left of the order.
        base: price before slippage.
        price_of: the price of a fill, slippage included.

    Returns:
        The quantity that was filled, and whether the order has ended.
    """
    symbol, d, lot = order.symbol, order.d, portfolio.market.lot
    against = -d * portfolio.position[symbol]
    price = price_of(portfolio, order, base, quantity)
    paid = fee(quantity * price, portfolio.fee_rate, portfolio.market.fee_per_trade)
    reason = _NONE
    # Cash, collateral and the short cap bound what opens a position; a fill that only reduces one is not refused for
    # them.
    if quantity - against > ROUNDING * quantity:
        reason = portfolio.refusal(symbol, d, quantity, base, price, paid)
        if reason:
            # The part that closes a position is filled all the same.
            quantity = max(0.0, against)
            price = price_of(portfolio, order, base, quantity)
            paid = fee(quantity * price, portfolio.fee_rate, portfolio.market.fee_per_trade)
    filled = 0.0
    if quantity > 0.0:
        if portfolio.book(symbol, d, quantity, base, price, paid, order.id, order.client_id):
            if quantity == order.remaining:
                return quantity, True
            filled = quantity
            order.remaining = settled(order.remaining, -quantity, lot)
            if order.remaining < order.opening:
                # A partial fill sets free its share of what the order reserved.
                share = order.remaining / order.opening
                order.opening = order.remaining
                order.hold_cash *= share
                order.hold_short *= share
        else:
            reason = Reason.INSUFFICIENT_CASH
    # What could not be carried ends the order, also where its closing part was filled.
    if reason:
        portfolio.tell(EventKind.REJECTED, order, reason)
        return filled, True
    return filled, order.remaining <= 0.0
