"""Forms in which a trading environment takes orders and shows an account: spaces, tables, names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from openfingym.envs.arguments import real_numbers
from openfingym.envs.indicators import Indicator
from openfingym.errors import UsageError
from openfingym.trading.actions import Decision
from openfingym.trading.compiled.layout import (
    CASH,
    EQUITY,
    FIRST,
    HAPPENED,
    HOLD_CASH,
    ID,
    IOC,
    KIND,
    LAST,
    LIMIT,
    MARK,
    ORDERS,
    POSITION,
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
)
from openfingym.trading.compiled.requests import CANCEL
from openfingym.trading.orders import Event, EventKind, Order, Reason

OrdersAction = NDArray[np.floating] | Sequence[Order] | Decision | Mapping[str, object]

_SHOWN = (ID, SYMBOL, SIDE, KIND, IOC, REMAINING, LIMIT, STOP, TRIGGERED)
"""Columns of an open order that an agent sees."""
_LARGE = 1e300  # Gymnasium's checker takes an infinite bound for a mistake
_NAN = math.nan


def order_space(symbols: int) -> spaces.Dict:
    """The space of new orders, and of ids of orders to cancel."""
    amount = spaces.Box(0.0, np.inf, (), np.float64)
    order = {
        "symbol": spaces.Discrete(symbols),
        "side": spaces.Discrete(2),
        "quantity": amount,
        "type": spaces.Discrete(4),
        "limit_price": amount,
        "stop_price": amount,
        "time_in_force": spaces.Discrete(2),
    }
    return spaces.Dict(
        {"orders": spaces.Sequence(spaces.Dict(order)), "cancels": spaces.Sequence(spaces.Discrete(2**31 - 1, start=1))}
    )


def read(action: OrdersAction) -> Floats | Decision:
    """Read an action of orders in any of its forms.

    Returns:
        A decision where the action holds orders of ours, which may have client ids; any other form as a table of
        requests, float64[K, 8].

    Raises:
        UsageError: it has none of the forms that :class:`openfingym.envs.trading.TradingEnv` takes.
    """
    if isinstance(action, np.ndarray):
        if action.ndim != 2 or action.shape[1] != REQUEST:
            raise UsageError(f"a table of requests has the shape (rows, {REQUEST}); found {action.shape}")
        try:
            return real_numbers(action)
        except ValueError as error:
            raise UsageError(f"a table of requests is of real numbers; found {str(action)[:80]}: {error}") from error
    if isinstance(action, Mapping):
        return _table_of_names(action)
    if isinstance(action, Decision):
        if action.weights is not None:
            raise UsageError("this environment takes orders; make it with action='weights' for target weights")
        return action
    if isinstance(action, Sequence) and all(isinstance(order, Order) for order in action):
        return Decision(orders=tuple(action))
    raise UsageError(f"expected orders: a dict, a table, a Decision or a sequence of Order; found {str(action)[:80]}")


def _table_of_names(action: Mapping[str, object]) -> Floats:
    """An element of :func:`order_space` as a table."""
    orders, cancels = action.get("orders", ()), action.get("cancels", ())
    try:
        if any("oco" in order for order in orders):  # type: ignore[attr-defined]
            raise UsageError(
                "this form has no pairs (oco); give a sequence of Order with the field oco, or a table with the codes "
                "11 to 13 in the column type"
            )
        if not set(action) <= {"orders", "cancels"}:
            raise KeyError(*(set(action) - {"orders", "cancels"}))
        rows: list[tuple[float, ...]] = [
            # At least 1: with an id of 0 the table would cancel all orders.
            (_NAN, _NAN, _NAN, CANCEL, _NAN, _NAN, _NAN, max(float(order_id), 1.0))
            for order_id in cancels  # type: ignore[attr-defined]
        ]
        rows += [
            (
                float(order["symbol"]),
                1.0 - 2.0 * float(order["side"]),  # 0 is a buy, 1 a sell
                float(order["quantity"]),
                float(order["type"]),
                float(order.get("limit_price", _NAN)),
                float(order.get("stop_price", _NAN)),
                float(order.get("time_in_force", 0.0)),
                _NAN,
            )
            for order in orders  # type: ignore[attr-defined]
        ]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(
            f"expected a dict of 'orders' and 'cancels' as the action space has it; found {str(action)[:80]} "
            f"({error!r})"
        ) from error
    return np.array(rows, np.float64).reshape(len(rows), REQUEST)


def account_space(lookback: int, symbols: int, open_orders: int, indicators: Sequence[Indicator] = ()) -> spaces.Dict:
    """The space of the observations that :func:`describe` makes.

    Args:
        lookback: number of rows that an observation shows.
        symbols: number of symbols S.
        open_orders: largest number of open orders of the account.
        indicators: indicators that observations show too.
    """

    def numbers(low: float, *shape: int) -> spaces.Box:
        return spaces.Box(low, _LARGE, shape, np.float64)

    parts: dict[str, spaces.Space[NDArray[np.generic]]] = {
        "bars": numbers(0.0, lookback, symbols, 5),
        "account": numbers(-_LARGE, 5),
        "positions": numbers(-_LARGE, symbols),
        "orders": numbers(-1.0, open_orders, len(_SHOWN)),
        "rejections": spaces.Box(0, 2**31, (symbols + 1, len(Reason)), np.int64),
        "steps_left": spaces.Box(0.0, 1.0, (1,), np.float64),
    }
    if indicators:
        low, high = (np.tile(ends, (symbols, 1)) for ends in zip(*(item.bounds for item in indicators), strict=True))
        parts["indicators"] = spaces.Box(low, high, low.shape, np.float64)
        parts["warm"] = spaces.Box(0.0, 1.0, (len(indicators),), np.float64)
    return spaces.Dict(parts)


def describe(state: State, bars: Floats, lookback: int, *, proceeds_fund_longs: bool) -> dict[str, NDArray[np.generic]]:
    """The first account as an observation of the form ``dict``; see :class:`openfingym.envs.trading.TradingEnv`.

    Args:
        state: the account, in the arrays of the compiled core.
        bars: bars as the compiled core reads them, float64[T, S, 8].
        lookback: number of rows that the observation shows.
        proceeds_fund_longs: whether the proceeds of short sales may buy.
    """
    cells, book = state.cells[0], state.book[0]
    row, working = int(cells[ROW]), state.orders[0, : int(cells[ORDERS])]
    orders = np.zeros((state.orders.shape[1] - 1, len(_SHOWN)))
    orders[: len(working)] = np.nan_to_num(working[:, _SHOWN])
    # Long and short positions count apart, and what shorts brought in is not free unless the market says so.
    value = book[:, POSITION] * book[:, MARK]
    long, short = value[value > 0.0].sum(), -value[value < 0.0].sum()
    free = cells[CASH] - (0.0 if proceeds_fund_longs else short) - working[:, HOLD_CASH].sum()
    return {
        "bars": bars[row - lookback + 1 : row + 1, :, :5].copy(),
        "account": np.array([cells[CASH], cells[EQUITY], free, long, short]),
        "positions": book[:, POSITION].copy(),
        "orders": orders,
        "rejections": _rejections(state.events[0, : int(cells[HAPPENED])], len(book)),
        "steps_left": np.array([(cells[LAST] - row) / max(1.0, cells[LAST] - cells[FIRST])]),
    }


def _rejections(happened: Floats, symbols: int) -> NDArray[np.int64]:
    """Number of rejections by symbol and reason, int64[S + 1, reasons]; the last row is for those of no symbol."""
    counts = np.zeros((symbols + 1, len(Reason)), np.int64)
    for _, _, _, symbol, *_, reason in happened[happened[:, 0] == EventKind.REJECTED].tolist():
        counts[int(symbol) if 0 <= symbol < symbols else symbols, int(reason)] += 1
    return counts


class EventList(Sequence[Event]):
    """The events of a step in order, each of which is made when it is looked at.

    The attribute ``array`` has them as numbers, float64[n, 10], in the order of an event's fields.
    """

    __slots__ = ("_client_ids", "array")

    def __init__(self, array: Floats, client_ids: Sequence[str | None] = ()) -> None:
        self.array = array
        self._client_ids = client_ids

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return event(self.array[index].tolist(), self._client_ids[index] if self._client_ids else None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EventList):
            return NotImplemented
        ids, others = (list(events._client_ids) or [None] * len(events) for events in (self, other))
        return np.array_equal(self.array, other.array, equal_nan=True) and ids == others

    __hash__ = None  # type: ignore[assignment]  # the array may change

    def __repr__(self) -> str:
        return repr(list(self))
