"""Trading to target weights at the open of a bar.

At this time the marks of all symbols that trade are their opening prices.
"""

from __future__ import annotations

from collections.abc import Sequence

from openfingym.trading.portfolio import Portfolio
from openfingym.trading.rules import DUST, affordable, fee, settled, shortable, slip, whole_lots


def rebalance(portfolio: Portfolio, weights: Sequence[float], tradable: Sequence[bool] | None) -> None:
    """Trade at the open to target weights, sells first, as far as volume, cash and the short cap allow.

    Where cash does not suffice, earlier symbols come first.

    Args:
        portfolio: account that trades.
        weights: wanted share of each symbol in equity at the open, negative for short.
        tradable: whether each symbol trades in this bar; all do if None.
    """
    changes = wanted_changes(portfolio, weights, tradable)
    for symbol, change in enumerate(changes):
        # Sales first, since they bring the cash that purchases need.
        if change < 0.0:
            quantity, price = _at_open(portfolio, symbol, -1.0, -change)
            _trade(portfolio, symbol, -1.0, sellable(portfolio, symbol, quantity, price))
    for symbol, change in enumerate(changes):
        if change > 0.0:
            quantity, price = _at_open(portfolio, symbol, 1.0, change)
            _trade(portfolio, symbol, 1.0, buyable(portfolio, symbol, quantity, price))


def wanted_changes(
    portfolio: Portfolio, weights: Sequence[float], tradable: Sequence[bool] | None = None
) -> list[float]:
    """The change of each position, in units, that gives symbols these weights in equity at the marks.

    It is 0 where it would be dust, and for symbols that are halted or have no mark.
    """
    equity = portfolio.value() + portfolio.cash
    changes = [0.0] * len(weights)
    if equity <= 0.0:
        return changes
    lot = portfolio.market.lot
    for symbol, weight in enumerate(weights):
        mark = portfolio.mark[symbol]
        if (tradable is None or tradable[symbol]) and mark > 0.0:
            wanted = whole_lots(abs(weight) * equity / mark, lot)
            change = settled(wanted if weight > 0.0 else -wanted, -portfolio.position[symbol], lot)
            # A position that already has its weight may miss it by a last bit: trading that would cost a fixed fee for
            # nothing.
            if abs(change) * mark > DUST * equity:
                changes[symbol] = change
    return changes


def sellable(portfolio: Portfolio, symbol: int, quantity: float, price: float) -> float:
    """How much of a quantity the account can sell at a price: the units that it holds, and those that the short cap
    lets it sell beyond them.
    """
    market, base, position = portfolio.market, portfolio.mark[symbol], portfolio.position[symbol]
    held = max(0.0, position)
    if quantity <= held:
        return quantity
    # What is sold beyond the units held opens a short position, which the cap bounds.
    shorts, others = portfolio.besides(symbol)
    equity = portfolio.cash + position * base + others
    already = shorts + max(0.0, -position) * base
    extra = shortable(
        equity, already, held, base, price, market.max_short, portfolio.fee_rate, market.fee_per_trade, market.lot
    )
    return min(quantity, settled(held, extra, market.lot))


def buyable(portfolio: Portfolio, symbol: int, quantity: float, price: float) -> float:
    """How much of a quantity the account can buy at a price with its cash, fees included."""
    market = portfolio.market
    short = max(0.0, -portfolio.position[symbol])
    cover = affordable(portfolio.cash, price, portfolio.fee_rate, market.fee_per_trade, market.lot)
    if quantity > short and not market.short_proceeds_fund_longs:
        collateral, _ = portfolio.besides(symbol)
        free = affordable(portfolio.cash - collateral, price, portfolio.fee_rate, market.fee_per_trade, market.lot)
        # What closes a short needs no collateral of others.
        return min(quantity, max(free, min(short, cover)))
    return min(quantity, cover)


def _at_open(portfolio: Portfolio, symbol: int, d: float, wanted: float) -> tuple[float, float]:
    """How much of a quantity the bar's volume allows, and the price of that much at the open, slippage included."""
    market, room = portfolio.market, portfolio.room[symbol]
    quantity = min(wanted, whole_lots(room, market.lot)) if room < wanted else wanted
    mark, volume = portfolio.mark[symbol], portfolio.volume[symbol]
    return quantity, slip(mark, d, quantity, volume, portfolio.slip_rate, market.impact)


def _trade(portfolio: Portfolio, symbol: int, d: float, quantity: float) -> None:
    if quantity > 0.0:
        base = portfolio.mark[symbol]
        market = portfolio.market
        # Priced again: with impact, a quantity that was cut moves the price less.
        price = slip(base, d, quantity, portfolio.volume[symbol], portfolio.slip_rate, market.impact)
        paid = fee(quantity * price, portfolio.fee_rate, market.fee_per_trade)
        portfolio.book(symbol, d, quantity, base, price, paid, 0, None)
