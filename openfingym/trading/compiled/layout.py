"""The layout of the compiled core's state: what each column of its float64 arrays holds.

Counts, ids and codes are float64 too, exact up to 2^53, so that everything about an account, a position, an order or an
event is in one row of one array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from openfingym.trading.compiled.compiling import part
from openfingym.trading.orders import Event, EventKind, Reason

if TYPE_CHECKING:
    from openfingym.data.bars import Bars
    from openfingym.trading.market import MarketRules

Floats = NDArray[np.float64]

CASH, EQUITY, TRADED, COST, CLOSED, WON, ROW, BANKRUPT, ORDERS, NEXT_ID, EVENTS, TARGETED = range(12)
FIRST, LAST, BEFORE, MEAN, SQUARE, HAPPENED = range(12, 18)
"""Columns of ``State.cells``. ORDERS and EVENTS count; TARGETED tells whether target weights wait for the next open.
FIRST and LAST are the rows in which an episode begins and ends, BEFORE the equity a bar ago, MEAN and SQUARE moving
moments of its returns, HAPPENED how many events the last step had."""
CELLS = 18

POSITION, AVERAGE, MARK, VOLUME, ROOM, TARGET, CHANGE = range(7)
"""Columns of ``State.book``. ROOM is the volume that may still be traded in the bar, CHANGE scratch space of a
rebalance."""
BOOK = 8  # one column more than there are, so that a row is a cache line of 64 bytes

ID, SYMBOL, SIDE, KIND, IOC, REMAINING, LIMIT, STOP, TRIGGERED, OPENING, HOLD_CASH, HOLD_SHORT = range(12)
OTHER, STATE, PRICE, TIME = range(12, 16)
"""Columns of ``State.orders``. OTHER is the id of the other order of a pair, 0 for none; the last three are scratch
space of matching."""
ORDER = 16

EVENT = len(Event._fields) - 2
"""Number of columns of ``State.events``: the fields of an :class:`~openfingym.trading.orders.Event` without
``client_id`` and ``text``."""

OPEN, HIGH, LOW, CLOSE, UNITS, SPLIT, DIVIDEND, TRADABLE = range(8)
"""Columns of a bar; UNITS is its volume."""

RECORD = 7
"""Number of columns of an account's record, see :data:`openfingym.metrics.performance.RECORD`."""

REQUEST = 8
"""Number of columns of a request, see :mod:`openfingym.trading.compiled.requests`."""


class State(NamedTuple):
    """Accounts, one a row of each array."""

    cells: Floats
    """Cash, equity and counts of each account, float64[N, CELLS]."""
    book: Floats
    """Position and marks of each symbol, float64[N, S, BOOK]."""
    orders: Floats
    """Open orders in the order in which they trade, float64[N, M + 1, ORDER]; the place behind the last open one is
    scratch space, in which a new order is judged."""
    events: Floats
    """Events of the last step in order, float64[N, E, EVENT]."""

    @classmethod
    def empty(cls, accounts: int, symbols: int, open_orders: int, requests: int) -> State:
        """Arrays with room for so many accounts, none of which has been opened.

        Args:
            accounts: number of accounts N.
            symbols: number of symbols S.
            open_orders: largest number of open orders M of an account.
            requests: largest number of requests that an account makes in a step.
        """
        events = np.zeros((accounts, events_of_a_step(symbols, open_orders, requests), EVENT))
        return cls(
            np.zeros((accounts, CELLS)),
            np.zeros((accounts, symbols, BOOK)),
            np.zeros((accounts, open_orders + 1, ORDER)),
            events,
        )


class Market(NamedTuple):
    """The numbers of :class:`~openfingym.trading.market.MarketRules` that the core reads."""

    fee_rate: float
    fee_per_trade: float
    slip_rate: float
    impact: float
    max_participation: float
    lot: float
    tick: float
    max_short: float
    borrow_rate: float
    path: int
    proceeds_fund_longs: bool
    check_on_submit: bool
    max_open_orders: int
    max_orders_per_batch: int
    forgiving: bool
    """Whether a price that the type of an order does not use is ignored, not refused."""


def market_numbers(market: MarketRules, *, forgiving: bool) -> Floats:
    """The fields of :class:`Market` in order, float64[15], from which a kernel builds one.

    Args:
        market: costs and limits of trading.
        forgiving: whether a price that the type of an order does not use is ignored, not refused.
    """
    from openfingym.trading.rules import BPS

    return np.array(
        [
            market.fee_bps * BPS,
            market.fee_per_trade,
            market.slippage_bps * BPS + market.half_spread_bps * BPS,
            market.impact,
            market.max_participation,
            market.lot,
            market.tick,
            market.max_short,
            market.borrow_rate,
            market.path,
            market.short_proceeds_fund_longs,
            market.check_on_submit,
            market.max_open_orders,
            market.max_orders_per_batch,
            forgiving,
        ],
        dtype=np.float64,
    )


@part
def events_of_a_step(symbols: int, open_orders: int, requests: int) -> int:
    """The most events that a step can cause, for which the core must have room: it does not check.

    A request makes one, unless it cancels all orders. An order may be adjusted or cancelled by a split and by a
    dividend, then triggered, filled in part, adjusted by a fill of the other of its pair, and ended; target weights
    make a fill a symbol, or one refusal.
    """
    return requests + 7 * open_orders + symbols + 2


# Weak keys: many environments share the tape of the same bars, and it goes when they do.
_tapes: WeakKeyDictionary[Bars, Floats] = WeakKeyDictionary()


def tape(bars: Bars) -> Floats:
    """Bars as the core reads them, float64[T, S, 8], read-only: each bar is one cache line.

    Made once for the same bars.
    """
    if bars not in _tapes:
        columns = (bars.open, bars.high, bars.low, bars.close, bars.volume, bars.split, bars.dividend, bars.tradable)
        table = np.stack([column.astype(np.float64) for column in columns], axis=2)
        table.flags.writeable = False
        _tapes[bars] = table
    return _tapes[bars]


def event(row: list[float], client_id: str | None = None) -> Event:
    """The event in a row of ``State.events``."""
    kind, bar, order_id, symbol, side, quantity, price, fee, slippage, reason = row
    ids = int(bar), int(order_id), int(symbol), int(side)
    return Event(EventKind(int(kind)), *ids, quantity, price, fee, slippage, Reason(int(reason)), client_id)
