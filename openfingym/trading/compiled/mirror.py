"""The readable simulator's account, written into the compiled core's arrays, so that both are observed by the same
code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.trading.compiled.layout import (
    AVERAGE,
    BANKRUPT,
    CASH,
    CLOSED,
    COST,
    EQUITY,
    EVENT,
    EVENTS,
    MARK,
    ORDERS,
    POSITION,
    ROW,
    TRADED,
    VOLUME,
    WON,
    State,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.trading.orders import Event
    from openfingym.trading.simulator import Simulator


def mirror(simulator: Simulator, events: Sequence[Event], state: State) -> None:
    """Write an account and what has happened to it into the first place of ``state``."""
    cells, book = state.cells[0], state.book[0]
    cells[[CASH, EQUITY, TRADED, COST]] = simulator.cash, simulator.equity, simulator.traded, simulator.cost
    cells[[CLOSED, WON, ROW, BANKRUPT]] = simulator.closed, simulator.won, simulator.row, simulator.bankrupt
    cells[[ORDERS, EVENTS]] = len(simulator.orders), len(events)
    for column, values in (
        (POSITION, simulator.position),
        (AVERAGE, simulator.average),
        (MARK, simulator.mark),
        (VOLUME, simulator.volume),
    ):
        book[:, column] = values
    for place, o in enumerate(simulator.orders):
        # In the order of the columns of ``State.orders``, its scratch space left out.
        columns = (
            o.id,
            o.symbol,
            o.d,
            o.kind,
            o.time_in_force,
            o.remaining,
            o.limit,
            o.stop,
            o.triggered,
            o.opening,
            o.hold_cash,
            o.hold_short,
            0 if o.other is None else o.other.id,
        )
        state.orders[0, place, : len(columns)] = columns
    for place, event in enumerate(events):
        # Without the client's id and the text, which are no numbers.
        state.events[0, place] = event[:EVENT]
