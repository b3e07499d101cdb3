"""Compiled twin of :mod:`openfingym.trading.rebalancing`."""

from __future__ import annotations

from openfingym.trading import rules
from openfingym.trading.compiled.compiling import part
from openfingym.trading.compiled.layout import (
    CASH,
    CHANGE,
    MARK,
    POSITION,
    ROOM,
    TARGET,
    TRADABLE,
    VOLUME,
    Floats,
    Market,
    State,
)
from openfingym.trading.compiled.portfolio import besides, record, slip


@part
def rebalance(a: State, i: int, m: Market, bars: Floats, t: int) -> None:
    """Trade to the target weights at the open of bar ``t``."""
    book, equity = a.book, 0.0
    symbols = book.shape[1]
    for s in range(symbols):
        if book[i, s, POSITION] != 0.0:
            equity += book[i, s, POSITION] * book[i, s, MARK]
    equity += a.cells[i, CASH]
    if equity <= 0.0:
        return
    for s in range(symbols):
        weight, mark = book[i, s, TARGET], book[i, s, MARK]
        book[i, s, CHANGE] = 0.0
        if bars[t, s, TRADABLE] != 0.0 and mark > 0.0:
            wanted = rules.whole_lots(abs(weight) * equity / mark, m.lot)
            change = rules.settled(wanted if weight > 0.0 else -wanted, -book[i, s, POSITION], m.lot)
            if abs(change) * mark > rules.DUST * equity:
                book[i, s, CHANGE] = change
    # Sells first; one loop over both, so that trading is compiled once. Between them it is asked whether anything is
    # short: without shorts, a buy need not look at other positions.
    shorts = False
    for turn in range(2 * symbols):
        if turn == symbols:
            for s in range(symbols):
                shorts |= book[i, s, POSITION] < 0.0
        s, d = (turn, -1.0) if turn < symbols else (turn - symbols, 1.0)
        change = d * book[i, s, CHANGE]
        if change > 0.0:
            _move(a, i, m, s, d, change, shorts)


@part
def _move(a: State, i: int, m: Market, s: int, d: float, wanted: float, shorts: bool) -> None:
    """Trade at the open towards a target, as far as volume, cash and the short cap allow.

    Args:
        a: state of all accounts.
        i: number of the account.
        m: costs and limits of trading, as numbers.
        s: position of the symbol.
        d: 1 for a buy, -1 for a sell.
        wanted: units that lead to the target, positive.
        shorts: whether any position is short when buys begin.
    """
    cells, book = a.cells, a.book
    base, position, volume = book[i, s, MARK], book[i, s, POSITION], book[i, s, VOLUME]
    quantity = min(wanted, rules.whole_lots(book[i, s, ROOM], m.lot)) if book[i, s, ROOM] < wanted else wanted
    # Units that the trade closes: a long position for a sell, a short one for a buy.
    held = max(0.0, -d * position)
    if d < 0.0:
        if quantity > held:
            price = slip(m, base, d, quantity, volume)
            short, others = besides(a, i, s)
            equity = cells[i, CASH] + position * base + others
            already = short + max(0.0, -position) * base
            extra = rules.shortable(equity, already, held, base, price, m.max_short, m.fee_rate, m.fee_per_trade, m.lot)
            quantity = min(quantity, rules.settled(held, extra, m.lot))
    else:
        price = slip(m, base, d, quantity, volume)
        cover = rules.affordable(cells[i, CASH], price, m.fee_rate, m.fee_per_trade, m.lot)
        if quantity > held and not m.proceeds_fund_longs:
            free = cover
            if shorts:
                collateral, _ = besides(a, i, s)
                free = rules.affordable(cells[i, CASH] - collateral, price, m.fee_rate, m.fee_per_trade, m.lot)
            quantity = min(quantity, max(free, min(held, cover)))
        else:
            quantity = min(quantity, cover)
    if quantity > 0.0:
        record(a, i, m, s, d, quantity, slip(m, base, d, quantity, volume), base, 0.0)
