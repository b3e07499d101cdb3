"""Effects of splits and cash dividends on an account before the open, as on an exchange.

Open orders follow FINRA rule 5330: a reverse split cancels them; a dividend lowers buy limits and sell stops, which
wait below the market, and no others. A forward split changes all of them, as brokers do; the rule leaves orders above
the market to their owner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from openfingym.trading.orders import EventKind, Reason
from openfingym.trading.portfolio import Portfolio, WorkingOrder
from openfingym.trading.rules import LIMIT, MARKET, on_tick, whole_lots


def act(portfolio: Portfolio, splits: Sequence[float] | None, dividends: Sequence[float] | None) -> None:
    """Apply the corporate actions of a row: for each symbol the split, then the dividend.

    Args:
        portfolio: account that is changed.
        splits: new units for an old one, of each symbol; 1 for no split, and None for none at all.
        dividends: cash a unit of each symbol, counted after the split; 0 for no dividend, and None for none at all.
    """
    for symbol in range(len(portfolio.position)):
        ratio = 1.0 if splits is None else splits[symbol]
        if ratio != 1.0:
            _split(portfolio, symbol, ratio)
        dividend = 0.0 if dividends is None else dividends[symbol]
        if dividend > 0.0:
            _pay(portfolio, symbol, dividend)


def _split(portfolio: Portfolio, symbol: int, ratio: float) -> None:
    """Split a symbol: ``ratio`` new units for an old one; fractions of a lot are paid out at the last close."""
    market = portfolio.market
    portfolio.mark[symbol] /= ratio
    portfolio.average[symbol] /= ratio
    portfolio.volume[symbol] *= ratio
    units = portfolio.position[symbol] * ratio
    whole = math.copysign(whole_lots(abs(units), market.lot), units) if units != 0.0 else 0.0
    # Fractions of a lot are paid out, as exchanges do (cash in lieu).
    portfolio.cash += (units - whole) * portfolio.mark[symbol]
    portfolio.position[symbol] = whole
    if whole == 0.0:
        portfolio.average[symbol] = 0.0
    # Over a copy, since cancelling takes orders out of the list.
    for order in list(portfolio.orders):
        if order.symbol != symbol or order not in portfolio.orders:  # one of a pair that has ended with the other
            continue
        # A reverse split would leave fractions of lots, and an enormous one quantities beyond float64.
        if ratio < 1.0 or order.remaining * ratio == math.inf:
            _cancel(portfolio, order)
            continue
        # Rounded away from the market, so that no order comes to fill sooner than before.
        up = not _waits_below(order)
        order.remaining = whole_lots(order.remaining * ratio, market.lot)
        order.opening = min(order.opening * ratio, order.remaining)
        _reprice(
            portfolio,
            order,
            on_tick(order.limit / ratio, market.tick, up),
            on_tick(order.stop / ratio, market.tick, up),
        )


def _pay(portfolio: Portfolio, symbol: int, dividend: float) -> None:
    """Longs receive a dividend and shorts pay it."""
    # A short position is negative, so that it pays.
    portfolio.cash += portfolio.position[symbol] * dividend
    portfolio.mark[symbol] = max(0.0, portfolio.mark[symbol] - dividend)
    tick = portfolio.market.tick
    for order in list(portfolio.orders):
        if order.symbol == symbol and order.kind != MARKET and _waits_below(order) and order in portfolio.orders:
            stop = order.stop if order.triggered else on_tick(order.stop - dividend, tick, False)
            _reprice(portfolio, order, on_tick(order.limit - dividend, tick, False), stop)


def _waits_below(order: WorkingOrder) -> bool:
    """Whether an order waits for a price below the market: a limit order to buy or a stop order to sell."""
    # A stop-limit order waits at its stop, and once triggered at its limit.
    is_limit = order.kind == LIMIT or order.triggered
    return is_limit == (order.d > 0.0)


def _reprice(portfolio: Portfolio, order: WorkingOrder, limit: float, stop: float) -> None:
    # A price that the type does not have is NaN, which is not at or below zero either.
    if limit <= 0.0 or stop <= 0.0:
        _cancel(portfolio, order)
    else:
        order.limit, order.stop = limit, stop
        portfolio.tell(EventKind.ADJUSTED, order)


def _cancel(portfolio: Portfolio, order: WorkingOrder) -> None:
    portfolio.orders.remove(order)
    portfolio.tell(EventKind.CANCELLED, order, Reason.CORPORATE_ACTION)
    portfolio.end_other(order)
