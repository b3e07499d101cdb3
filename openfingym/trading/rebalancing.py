"""Trading to target weights at the open of a bar."""

from __future__ import annotations

from collections.abc import Sequence

from openfingym.trading.portfolio import Portfolio
from openfingym.trading.rules import DUST, affordable, fee, settled, shortable, slip, whole_lots


def rebalance(portfolio: Portfolio, weights: Sequence[float], tradable: Sequence[bool] | None) -> None:
    """Trade at the open to these shares of equity at the open, sells first, as far as volume, cash and the short cap
    allow.

    Where cash does not suffice, earlier symbols come first.
    """
    equity = portfolio.value() + portfolio.cash
    if equity <= 0.0:
        return
    lot = portfolio.market.lot
    changes = [0.0] * len(weights)
    for symbol, weight in enumerate(weights):
        mark = portfolio.mark[symbol]
        if (tradable is None or tradable[symbol]) and mark > 0.0:
            wanted = whole_lots(abs(weight) * equity / mark, lot)
            change = settled(wanted if weight > 0.0 else -wanted, -portfolio.position[symbol], lot)
            # A weight that was kept comes back a last bit off; trading that would cost a fixed fee for nothing.
            if abs(change) * mark > DUST * equity:
                changes[symbol] = change
    for symbol, change in enumerate(changes):
        # Sales first, since they bring the cash that purchases need.
        if change < 0.0:
            _sell(portfolio, symbol, -change)
    for symbol, change in enumerate(changes):
        if change > 0.0:
            _buy(portfolio, symbol, change)


def _sell(portfolio: Portfolio, symbol: int, wanted: float) -> None:
    """Sell at the open towards a target."""
    market, base, position = portfolio.market, portfolio.mark[symbol], portfolio.position[symbol]
    quantity = (
        min(wanted, whole_lots(portfolio.room[symbol], market.lot)) if portfolio.room[symbol] < wanted else wanted
    )
    held = max(0.0, position)
    # What is sold beyond the units held opens a short position, which the cap bounds.
    if quantity > held:
        price = slip(base, -1.0, quantity, portfolio.volume[symbol], portfolio.slip_rate, market.impact)
        shorts, others = portfolio.besides(symbol)
        equity = portfolio.cash + position * base + others
        already = shorts + max(0.0, -position) * base
        extra = shortable(
            equity, already, held, base, price, market.max_short, portfolio.fee_rate, market.fee_per_trade, market.lot
        )
        quantity = min(quantity, settled(held, extra, market.lot))
    _trade(portfolio, symbol, -1.0, quantity)


def _buy(portfolio: Portfolio, symbol: int, wanted: float) -> None:
    """Buy at the open towards a target."""
    market, base = portfolio.market, portfolio.mark[symbol]
    quantity = (
        min(wanted, whole_lots(portfolio.room[symbol], market.lot)) if portfolio.room[symbol] < wanted else wanted
    )
    price = slip(base, 1.0, quantity, portfolio.volume[symbol], portfolio.slip_rate, market.impact)
    short = max(0.0, -portfolio.position[symbol])
    cover = affordable(portfolio.cash, price, portfolio.fee_rate, market.fee_per_trade, market.lot)
    if quantity > short and not market.short_proceeds_fund_longs:
        collateral, _ = portfolio.besides(symbol)
        free = affordable(portfolio.cash - collateral, price, portfolio.fee_rate, market.fee_per_trade, market.lot)
        # What closes a short needs no collateral of others.
        quantity = min(quantity, max(free, min(short, cover)))
    else:
        quantity = min(quantity, cover)
    _trade(portfolio, symbol, 1.0, quantity)


def _trade(portfolio: Portfolio, symbol: int, d: float, quantity: float) -> None:
    if quantity > 0.0:
        base = portfolio.mark[symbol]
        market = portfolio.market
        price = slip(base, d, quantity, portfolio.volume[symbol], portfolio.slip_rate, market.impact)
        paid = fee(quantity * price, portfolio.fee_rate, market.fee_per_trade)
        portfolio.book(symbol, d, quantity, base, price, paid, 0, None)
