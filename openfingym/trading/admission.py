"""Whether an order is accepted, and what it reserves until it is filled."""

from __future__ import annotations

import math

from openfingym.trading.orders import Reason
from openfingym.trading.portfolio import STOPPED, Portfolio, WorkingOrder
from openfingym.trading.rules import fee, nearest_multiple, settled, slip, worst_price

_NONE = Reason.NONE


def refusal(portfolio: Portfolio, order: WorkingOrder) -> Reason:
    """Why an order cannot be accepted, or NONE.

    Besides, makes the quantity of the order an exact multiple of the lot, and sets what it reserves.
    """
    market = portfolio.market
    if portfolio.bankrupt:
        return Reason.BANKRUPT
    # Written so that a NaN, of which every comparison is false, is refused too; likewise the prices below.
    if not 0.0 < order.remaining < math.inf:
        return Reason.BAD_QUANTITY
    if market.lot > 0.0:
        # A quantity that misses a multiple in its last bits is meant as one; any other is refused below.
        order.remaining = nearest_multiple(order.remaining, market.lot)
        if order.remaining <= 0.0:
            return Reason.ODD_LOT
    reason = _misprice(order, market.tick)
    if reason:
        return reason
    if len(portfolio.orders) >= market.max_open_orders:
        return Reason.TOO_MANY_ORDERS
    return _reserve(portfolio, order) if market.check_on_submit else _NONE


def _misprice(order: WorkingOrder, tick: float) -> Reason:
    """The fault of an order's prices, or NONE; NaN is no price, and one that the type does not use is a fault."""
    limit, stop = order.limit, order.stop
    if order.limited:
        if not 0.0 < limit < math.inf:
            return Reason.BAD_PRICE
        if tick > 0.0 and nearest_multiple(limit, tick) <= 0.0:
            return Reason.OFF_TICK
    elif not math.isnan(limit):
        return Reason.BAD_PRICE
    if order.kind in STOPPED:
        if not 0.0 < stop < math.inf:
            return Reason.BAD_PRICE
        if tick > 0.0 and nearest_multiple(stop, tick) <= 0.0:
            return Reason.OFF_TICK
    elif not math.isnan(stop):
        return Reason.BAD_PRICE
    return _NONE


def _reserve(portfolio: Portfolio, order: WorkingOrder) -> Reason:
    """Reserve the worst case of the part of an order that opens a position, or say why it does not fit.

    An order that also closes a position is always accepted: what opens is judged when it is to be filled.
    """
    symbol, d, market, pair = order.symbol, order.d, portfolio.market, order.other
    cash_before = short_before = 0.0
    if pair is not None:
        # What it reserves now, where it is one of a pair that is replaced.
        cash_before, short_before = order.hold_cash, order.hold_short
        order.hold_cash = order.hold_short = 0.0
    # Split the order into what closes a position, which needs no cover, and what opens one.
    opening, closing = order.remaining, -d * portfolio.position[symbol]
    if closing > 0.0:
        for other in portfolio.orders:
            # Earlier orders close that much of the position already; the two of a pair are counted at the first.
            counts = other.other is None or (other.id < other.other.id and other is not pair)
            if counts and other.symbol == symbol and other.d == d:
                closing -= other.remaining
        if closing >= opening:
            return _NONE
        if closing > 0.0:
            opening = settled(opening, -closing, market.lot)
            if opening <= 0.0:
                return _NONE
    # The worst case of the opening part: price, slippage and fee.
    base = worst_price(order.kind, d, order.limit, order.stop, portfolio.mark[symbol])
    price = base
    if not order.limited:
        # At the volume of the last bar, and what of the order it lets fill at once.
        volume, quantity = portfolio.volume[symbol], order.remaining
        if market.max_participation > 0.0 and volume > 0.0:
            quantity = min(quantity, market.max_participation * volume)
        price = slip(base, d, quantity, volume, portfolio.slip_rate, market.impact)
    paid = fee(opening * price, portfolio.fee_rate, market.fee_per_trade)
    if d > 0.0:
        # A buy reserves cash. Proceeds of short sales are owed with the units, unless the market lets them buy others.
        hold = opening * price + paid
        free = portfolio.cash if market.short_proceeds_fund_longs else portfolio.cash - portfolio.short_value()
        for other in portfolio.orders:
            if other is not pair:
                free -= other.hold_cash
        if free >= hold:
            order.opening = opening
            # A pair reserves once: the second order what it needs more than the first, and no less than before.
            order.hold_cash = hold if pair is None else max(cash_before, hold - pair.hold_cash)
            return _NONE
        # An order that closes a position in part is accepted: at its fill at least that part is carried out.
        return _NONE if closing > 0.0 else Reason.INSUFFICIENT_CASH
    # A sale reserves a part of the short cap. Its costs lower equity, and so the cap by ``max_short`` times as much.
    hold = opening * base + market.max_short * (opening * (base - price) + paid)
    shorts = portfolio.short_value() + hold
    for other in portfolio.orders:
        if other is not pair:
            shorts += other.hold_short
    if shorts <= market.max_short * (portfolio.cash + portfolio.value()):
        order.opening = opening
        order.hold_short = hold if pair is None else max(short_before, hold - pair.hold_short)
        return _NONE
    return _NONE if closing > 0.0 else Reason.SHORT_CAP
