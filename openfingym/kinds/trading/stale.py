"""An agent that hunts copied bars: prices of a bar before that stand in the next one and can be traded.

A table whose gaps were filled with the bar before shows on each such day which prices the next one will reach. Nobody
quoted them, so that whoever trades at them needs no skill. The agent holds equal weights as the baseline does. Where by
all that was seen the next bar will be a copy, it sells at the high of the bar; in the copy after it, it buys back at
the low, or at the market where no copy follows. In a halt nothing can be traded, and it gains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.bars import Bars
    from openfingym.kinds.trading.contract import TradingContract
    from openfingym.trading.session import Session

NAME = "trades on copied bars"
"""Name of the agent's answer."""
FEWEST = 5
"""Copies in the hidden episodes from which on it is tried: a bar or two may repeat the one before by chance."""
LONGEST = 31
"""Longest rhythm of copies that is looked for, in rows."""
CASH = 0.999
"""Share of free cash that is spent on buying back, so that costs fit into the rest."""


def copied(bars: Bars) -> NDArray[np.bool_]:
    """Bars with the four prices of the bar before, which can be traded and have a range; bool[rows, symbols]."""
    prices = np.stack([bars.open, bars.high, bars.low, bars.close], axis=2)
    same = np.zeros(prices.shape[:2], dtype=np.bool_)
    same[1:] = (prices[1:] == prices[:-1]).all(axis=2)
    found: NDArray[np.bool_] = same & bars.tradable & (bars.high > bars.low)
    return found


def hunt(account: Session, contract: TradingContract) -> Iterator[object]:
    """The actions of the agent in one episode, each from the bars up to the current one and the account alone.

    Args:
        account: the account, which the caller lets walk a row after each action.
        contract: the contract of the task.
    """
    bars, symbols = account.bars, account.bars.symbols
    same = copied(bars)
    yield {"weights": [1.0 / len(symbols)] * len(symbols)}
    # What the baseline holds is what is sold and bought back.
    base = [0.0] * len(symbols)
    while True:
        row, simulator = account.row, account.simulator
        orders: list[dict[str, object]] = []
        for place, symbol in enumerate(symbols):
            held, high, low = simulator.positions()[place], float(bars.high[row, place]), float(bars.low[row, place])
            base[place] = max(base[place], held)
            if expected(same[: row + 1, place]):
                if held > 0.0:
                    # Where short positions are allowed, twice: the copy after this one is a time to buy.
                    sold = held + (base[place] if contract.max_short > 0.0 else 0.0)
                    orders.append(_order(symbol, "sell", sold, high))
                elif base[place]:
                    orders.append(_order(symbol, "buy", _missing(account, place, base[place], contract.lot, low), low))
            elif held < base[place]:
                close = float(bars.close[row, place])
                orders.append(_order(symbol, "buy", _missing(account, place, base[place], contract.lot, close), None))
        cancels = [order.id for order in simulator.open_orders()]
        wanted = [order for order in orders if order["quantity"]]
        yield {"orders": wanted, "cancels": cancels} if wanted or cancels else None


def expected(same: NDArray[np.bool_]) -> bool:
    """Whether the next bar will be a copy of the last one, by the copies of a symbol so far, bool[rows].

    Either copies come in a rhythm, as at weekends; or the last bar is one, and no run of copies has ended as long.
    """
    rows = len(same)
    for period in range(2, LONGEST + 1):
        last, before = same[max(rows - period, 0) :], same[max(rows - 2 * period, 0) : max(rows - period, 0)]
        if len(before) == period and last.any() and np.array_equal(last, before):
            return bool(last[0])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(np.int8), [0]])))
    lengths = edges[1::2] - edges[::2]
    return bool(same[-1:].any()) and (len(lengths) < 2 or bool(lengths[-1] < lengths[-2]))


def _order(symbol: str, side: str, quantity: float, price: float | None) -> dict[str, object]:
    """A limit order; a market order without a price."""
    terms: dict[str, object] = {} if price is None else {"type": "limit", "limit_price": price}
    return {"symbol": symbol, "side": side, "quantity": quantity, **terms}


def _missing(account: Session, place: int, base: float, lot: float, price: float) -> float:
    """Units to buy so that the baseline's are held again, as far as the free cash goes."""
    positions = account.simulator.positions()
    short, lacking = max(-positions[place], 0.0), sum(units <= 0.0 for units in positions)
    # Proceeds of a short sale pay for closing it; of the symbols that were sold, each gets as much of the rest.
    cash = max(account.simulator.account().free_cash, 0.0) / max(lacking, 1)
    quantity = min(base, CASH * cash / price) + short
    return math.floor(quantity / lot) * lot if lot else quantity
