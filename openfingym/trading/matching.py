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
    done: set[int] = set()
    # At the open. An order that fills there in part stays open, but does not trade again inside the bar.
    for order in portfolio.orders:
        if order.id in done:
            continue
        symbol = order.symbol
        if tradable is None or tradable[symbol]:
            price, triggered = open_price(order.kind, order.d, order.limit, order.stop, order.triggered, opens[symbol])
            # Market and limit orders have no trigger that an event could report.
            if triggered and not order.triggered and order.kind >= STOP:
                _trigger(portfolio, order)
            if price >= 0.0:
                if _fill(portfolio, order, price, done):
                    continue
            elif order.time_in_force is GTC:
                waiting.append(order)
        if order.time_in_force is GTC:
            kept.append(order)
        else:
            # What is left of an immediate-or-cancel order ends, also where its symbol is halted.
            portfolio.tell(EventKind.CANCELLED, order, Reason.UNFILLED)
    # Inside the bar. All triggers come first: which orders are reached depends on the bar's prices alone; how far they
    # fill, on what earlier fills leave of volume and cash.
    path = portfolio.path
    reached: list[tuple[float, float, WorkingOrder]] = []
    uncertain: set[int] = set()
    pairs = False
    for order in waiting:
        if order.other is not None:
            pairs = True
        elif order.id in done:
            continue
        s = order.symbol
        price, time, triggered = inside_price(
            order.kind, order.d, order.limit, order.stop, order.triggered, opens[s], highs[s], lows[s], closes[s], path
        )
        if triggered and not order.triggered:
            _trigger(portfolio, order)
            if price < 0.0 and order.other is not None:
                uncertain.add(order.other.id)
        if price >= 0.0:
            reached.append((time, price, order))
    if path != CERTAIN:
        reached.sort(key=itemgetter(0))  # stable: at one time, in order of submission
    elif pairs:
        # The other order may have filled first on some path, and then this one does not.
        reached = _worse_first([item for item in reached if item[2].id not in uncertain])
    for _, price, order in reached:
        if order.id not in done:
            _fill(portfolio, order, price, done)
    portfolio.orders = [order for order in kept if order.id not in done] if done and kept else kept


def _worse_first(reached: list[tuple[float, float, WorkingOrder]]) -> list[tuple[float, float, WorkingOrder]]:
    """Where no path is assumed and a bar reaches both orders of a pair, the one with the worse price comes first."""
    for place, (_, price, order) in enumerate(reached):
        for later in range(place + 1, len(reached)) if order.other is not None else ():
            _, price_of_other, other = reached[later]
            if other is order.other and order.d * price_of_other > order.d * price:
                reached.insert(place, reached.pop(later))
    return reached


def _trigger(portfolio: Portfolio, order: WorkingOrder) -> None:
    order.triggered = True
    portfolio.tell(EventKind.TRIGGERED, order)


def _fill(portfolio: Portfolio, order: WorkingOrder, base: float, done: set[int]) -> bool:
    """Fill an order at ``base``, the price before slippage, as far as volume and account allow.

    Args:
        portfolio: account that the order belongs to.
        order: an open order.
        base: price before slippage.
        done: numbers of orders that have ended; if this one ends, it and the other of its pair are added.

    Returns:
        Whether the order has ended.
    """
    symbol, quantity = order.symbol, order.remaining
    # What the participation cap leaves of the bar's volume; the rest of the order waits for later bars.
    if portfolio.room[symbol] < quantity:
        quantity = whole_lots(portfolio.room[symbol], portfolio.market.lot)
        if quantity <= 0.0:
            return False
    other = order.other
    ended = carry(portfolio, order, quantity, base, _price)[1]
    if ended:
        done.add(order.id)
        if other is not None:
            done.add(other.id)
    return ended


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

    The part that closes a position fills; of the part that opens one, all or nothing. The other order of a pair has as
    much less to fill, and ends with this one.

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
                if order.other is not None:
                    portfolio.end_other(order)
                return quantity, True
            filled = quantity
            order.cut(settled(order.remaining, -quantity, lot))
            if order.other is not None and order.remaining > 0.0:
                order.other.cut(order.remaining)
                portfolio.tell(EventKind.ADJUSTED, order.other)
        else:
            reason = Reason.INSUFFICIENT_CASH
    # What could not be carried ends the order, also where its closing part was filled.
    if reason:
        portfolio.tell(EventKind.REJECTED, order, reason)
    ended = bool(reason) or order.remaining <= 0.0
    if ended:
        portfolio.end_other(order)
    return filled, ended
