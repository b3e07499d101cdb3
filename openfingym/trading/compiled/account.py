"""One account in the compiled core, for decisions that are known beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.trading.compiled.core import CORE, OPEN, RUN
from openfingym.trading.compiled.core_table import CoreTable
from openfingym.trading.compiled.layout import (
    BANKRUPT,
    CASH,
    EQUITY,
    EVENT,
    EVENTS,
    HOLD_CASH,
    ID,
    IOC,
    KIND,
    LIMIT,
    MARK,
    ORDERS,
    OTHER,
    POSITION,
    RECORD,
    REMAINING,
    REQUEST,
    ROW,
    SIDE,
    STOP,
    SYMBOL,
    TRIGGERED,
    Floats,
    State,
    event,
    events_of_a_step,
    market_numbers,
    tape,
)
from openfingym.trading.compiled.requests import table
from openfingym.trading.executor import Account, OpenOrder
from openfingym.trading.orders import OrderType, Side, TimeInForce, number

if TYPE_CHECKING:
    from openfingym.data.bars import Bars
    from openfingym.trading.actions import Decision
    from openfingym.trading.market import MarketRules
    from openfingym.trading.orders import Event

_EPISODE = (1.0, 0.0, 0.0)
"""Look-back, reward and decay, which the core reads for environments only."""


class CompiledAccount:
    """An account that walks over bars, many of them in a call.

    It does what :class:`~openfingym.trading.session.Session` does with a readable simulator, to the last bit, and is
    for decisions that are known beforehand: a recorded episode at other costs, or a strategy that was worked out in
    arrays. Orders have no client ids here.
    """

    def __init__(self, bars: Bars, market: MarketRules, *, cash: float, first: int = 0) -> None:
        """Open an account at the close of row ``first``.

        Args:
            bars: the bars that are traded.
            market: costs and limits of trading.
            cash: cash of the account when it is opened, in units of currency.
            first: number of the row at whose close the account is opened.
        """
        self.market = market
        numbers = np.append(market_numbers(market, forgiving=False), (cash, *_EPISODE))
        # The last row of an episode matters to observations and rewards alone, which a run does not have.
        row = np.array([first])
        self._tape = tape(bars)
        self._state = State.empty(1, len(bars.symbols), market.max_open_orders, market.max_orders_per_batch)
        self._core_table = CoreTable.of_one(
            self._state, bars=self._tape, numbers=numbers, rows=row, lasts=row, over=np.ones(1, np.bool_)
        )
        CORE(self._core_table.address, OPEN, 0, 1)

    @property
    def row(self) -> int:
        """Number of the row whose close has been seen."""
        return int(self._state.cells[0, ROW])

    @property
    def bankrupt(self) -> bool:
        """Whether equity has reached zero."""
        return bool(self._state.cells[0, BANKRUPT])

    def run(self, decisions: Sequence[Decision | None]) -> Floats:
        """Carry out a decision a row, and walk as many rows.

        Args:
            decisions: the decisions at the close of this row and of those after it; None decides nothing.

        Returns:
            The account's record at the close of each row walked, float64[rows, 7].
        """
        tables = [np.zeros((0, 8)) if decision is None else table(decision) for decision in decisions]
        starts = np.concatenate([[0], np.cumsum([len(rows) for rows in tables])]).astype(np.int64)
        weights = np.full((len(tables), self._state.book.shape[1]), np.nan)
        weighted = np.zeros(len(tables), np.bool_)
        for row, decision in enumerate(decisions):
            if decision is not None and decision.weights is not None:
                wanted = [number(weight) for weight in decision.weights]
                # Too few or too many weights become a row of NaN, which the core refuses.
                weights[row], weighted[row] = wanted if len(wanted) == weights.shape[1] else math.nan, True
        return self.run_arrays(np.concatenate([np.zeros((0, 8)), *tables]), starts, weights, weighted)

    def run_arrays(self, requests: Floats, starts: np.ndarray, weights: Floats, weighted: np.ndarray) -> Floats:
        """Run the account over its bars like :meth:`run`, with requests and weights given as arrays.

        Args:
            requests: requests of all rows, float64[K, 8]; see :mod:`openfingym.trading.compiled.requests`.
            starts: where the requests of each row begin, int64[rows + 1]: row n has those from ``starts[n]`` to
                ``starts[n + 1]``.
            weights: target weights of each row, float64[rows, S].
            weighted: whether each row has target weights, bool[rows].

        Returns:
            The account's record at the close of each row walked, float64[rows, 7].

        Raises:
            UsageError: there are not as many bars, or the arrays do not fit each other.
        """
        first, rows = self.row, len(starts) - 1
        if first + rows >= len(self._tape):
            raise UsageError(f"{rows} rows after row {first} are more than the {len(self._tape)} bars hold")
        requests, weights = np.asarray(requests, np.float64, "C"), np.asarray(weights, np.float64, "C")
        starts, weighted = np.asarray(starts, np.int64, "C"), np.asarray(weighted, np.bool_, "C")
        asked, symbols = np.diff(starts), self._state.book.shape[1]
        # The core reads these arrays by address and checks no bounds, so that a wrong shape would read foreign memory.
        if (
            requests.shape[1:] != (REQUEST,)
            or weights.shape != (rows, symbols)
            or weighted.shape != (rows,)
            or (asked < 0).any()
            or starts[0] < 0
            or starts[-1] > len(requests)
        ):
            raise UsageError(
                f"expected requests of shape (K, {REQUEST}), weights of ({rows}, {symbols}), weighted of ({rows},) "
                f"and starts that go up, from 0 to K; found {requests.shape}, {weights.shape}, {weighted.shape}, "
                f"{starts}"
            )
        record, done = np.zeros((rows, RECORD)), 0
        most = int(asked.max(initial=0))
        self._make_room(most + 2 * len(requests))
        self._core_table.lay(requests=requests, starts=starts, weights=weights, weighted=weighted, record=record)
        # The core stops before a row whose events might not fit, and goes on when there is room for them.
        while done < rows:
            self._make_room(most)
            done = CORE(self._core_table.address, RUN, done, rows)
        return record

    def account(self) -> Account:
        """The account at the last marks."""
        cells, book = self._state.cells[0], self._state.book[0]
        # Added up one after the other, as the readable account does, so that both agree to the last bit.
        long = short = held = 0.0
        for position, mark in book[:, [POSITION, MARK]].tolist():
            if position > 0.0:
                long += position * mark
            else:
                short -= position * mark
        for hold in self._open()[:, HOLD_CASH].tolist():
            held += hold
        cash = float(cells[CASH])
        collateral = 0.0 if self.market.short_proceeds_fund_longs else short
        return Account(cash, float(cells[EQUITY]), cash - collateral - held, long, short)

    def positions(self) -> tuple[float, ...]:
        """Units held of each symbol."""
        return tuple(self._state.book[0, :, POSITION].tolist())

    def open_orders(self) -> tuple[OpenOrder, ...]:
        """Open orders, in the order in which they trade."""
        return tuple(open_order(row) for row in self._open().tolist())

    def events(self) -> list[Event]:
        """The events since the last call, in order."""
        count = int(self._state.cells[0, EVENTS])
        self._state.cells[0, EVENTS] = 0.0
        return [event(row) for row in self._state.events[0, :count].tolist()]

    def _open(self) -> Floats:
        return self._state.orders[0, : int(self._state.cells[0, ORDERS])]

    def _make_room(self, requests: int) -> None:
        """Have room for the events of at least one more row, which makes so many requests."""
        state, used = self._state, int(self._state.cells[0, EVENTS])
        needed = used + events_of_a_step(state.book.shape[1], state.orders.shape[1] - 1, requests)
        if needed > state.events.shape[1]:
            events = np.zeros((1, 2 * needed, EVENT))
            events[:, :used] = state.events[:, :used]
            self._state = state._replace(events=events)
            self._core_table.lay(events=events)


def open_order(row: list[float]) -> OpenOrder:
    """The order in a row of ``State.orders``."""
    return OpenOrder(
        int(row[ID]),
        int(row[SYMBOL]),
        Side(int(row[SIDE])),
        OrderType(int(row[KIND])),
        TimeInForce(int(row[IOC])),
        row[REMAINING],
        row[LIMIT],
        row[STOP],
        bool(row[TRIGGERED]),
        None,
        int(row[OTHER]),
    )
