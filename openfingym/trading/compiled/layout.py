"""The layout of the compiled core's state: what each column of its float64 arrays holds.

Counts, ids and codes are kept as float64 too, exact up to 2^53: one row of one array is all there is of a thing.
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
"""Of ``State.cells``. ORDERS and EVENTS count; TARGETED tells whether target weights wait for the next open. FIRST and
LAST are the rows in which an episode begins and ends, BEFORE the equity a bar ago, MEAN and SQUARE moving moments of
its returns, HAPPENED how many events the last step had."""
CELLS = 18

POSITION, AVERAGE, MARK, VOLUME, ROOM, TARGET, CHANGE = range(7)
"""Of ``State.book``. ROOM is what volume is left of the bar, CHANGE scratch space of a rebalance."""
BOOK = 8  # A cache line.

ID, SYMBOL, SIDE, KIND, IOC, REMAINING, LIMIT, STOP, TRIGGERED, OPENING, HOLD_CASH, HOLD_SHORT, STATE, PRICE, TIME = (
    range(15)
)
"""Of ``State.orders``; the last three are scratch space of matching."""
ORDER = 15

EVENT = len(Event._fields) - 1
"""Columns of ``State.events``: the fields of an :class:`~openfingym.trading.orders.Event` but for the client's id."""

OPEN, HIGH, LOW, CLOSE, UNITS, SPLIT, DIVIDEND, TRADABLE = range(8)
"""Of a bar; UNITS is its volume."""

RECORD = 7
"""Columns of an account's record, see :data:`openfingym.metrics.performance.RECORD`."""

REQUEST = 8
"""Columns of a request, see :mod:`openfingym.trading.requests`."""


class State(NamedTuple):
    """Accounts, one a row of each array."""

    cells: Floats
    """float64[N, CELLS]."""
    book: Floats
    """float64[N, S, BOOK]: a position and its marks."""
    orders: Floats
    """float64[N, M + 1, ORDER]: open orders in the order in which they trade; the last place is scratch space."""
    events: Floats
    """float64[N, E, EVENT]: what has happened in the last step."""

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
    """float64[15]: the fields of :class:`Market`, from which a kernel builds one."""
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
    """The most events a step can cause.

    A request makes one, unless it cancels all orders. An order may be adjusted or cancelled by a split and by a
    dividend, then triggered, filled in part and ended; target weights make a fill a symbol, or one refusal.
    """
    return requests + 6 * open_orders + symbols + 2


_tapes: WeakKeyDictionary[Bars, Floats] = WeakKeyDictionary()


def tape(bars: Bars) -> Floats:
    """float64[T, S, 8]: all of a bar in one cache line; made once for the same bars, and read-only."""
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
