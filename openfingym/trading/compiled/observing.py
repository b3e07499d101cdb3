"""Observations and rewards of compiled accounts: one float32 vector and one reward a step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openfingym.data.bars import FEATURES
from openfingym.trading import rules
from openfingym.trading.compiled.compiling import part
from openfingym.trading.compiled.layout import (
    BEFORE,
    CASH,
    EQUITY,
    EVENTS,
    FIRST,
    HAPPENED,
    KIND,
    LAST,
    LIMIT,
    MARK,
    MEAN,
    ORDERS,
    POSITION,
    REMAINING,
    SIDE,
    SQUARE,
    STOP,
    SYMBOL,
    Floats,
    State,
)
from openfingym.trading.orders import EventKind

LOG_RETURN, DIFFERENTIAL_SHARPE, PNL = range(3)
RUIN = 1e-6
"""The smallest ratio of equity to that of the bar before of which a reward takes the logarithm."""
BOUND = 1e6
"""Largest size of a share of equity in an observation, to which it is clipped: equity may be next to nothing."""
FEATURE_BOUND = 1500.0
"""No logarithm of a ratio of two float64 numbers is larger: it is at most about 1454."""
_REJECTED = int(EventKind.REJECTED)


class Layout(NamedTuple):
    """Where a part of an observation is in the flat array."""

    place: slice
    """The entries of the flat array that hold the part."""
    shape: tuple[int, ...]
    """Shape of the part, in C order."""


def layout(lookback: int, symbols: int) -> dict[str, Layout]:
    """The parts of a flat observation by name, in order.

    :class:`openfingym.envs.trading.TradingEnv` says what they are.

    Args:
        lookback: number of rows that the observation shows.
        symbols: number of symbols S.
    """
    shapes = {
        "features": (lookback, symbols, len(FEATURES)),
        "weights": (symbols,),
        "cash": (1,),
        "open_buys": (symbols,),
        "open_sells": (symbols,),
        "rejections": (symbols + 1,),
        "steps_left": (1,),
    }
    parts, start = {}, 0
    for name, shape in shapes.items():
        stop = start + math.prod(shape)
        parts[name] = Layout(slice(start, stop), shape)
        start = stop
    return parts


def bounds(parts: dict[str, Layout], requests: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The lowest and highest value of each entry of a flat observation.

    Args:
        parts: parts of the observation, as :func:`layout` gives them.
        requests: the most rejections that a step can have.
    """
    size = parts["steps_left"].place.stop
    low, high = np.full(size, -BOUND, np.float32), np.full(size, BOUND, np.float32)
    low[parts["features"].place], high[parts["features"].place] = -FEATURE_BOUND, FEATURE_BOUND
    for name, most in (
        ("open_buys", BOUND),
        ("open_sells", BOUND),
        ("rejections", float(requests)),
        ("steps_left", 1.0),
    ):
        low[parts[name].place], high[parts[name].place] = 0.0, most
    return low, high


@part
def observe(a: State, i: int, row: int, features: NDArray[np.float32], lookback: int, out: NDArray[np.float32]) -> int:
    """Write what account ``i`` sees into row ``i`` of ``out``, in the order of :func:`layout`.

    Args:
        a: state of all accounts.
        i: number of the account.
        row: number of the row whose close has been seen.
        features: features of all rows, in one dimension.
        lookback: number of rows that the observation shows.
        out: observations, float32[N, size].

    Returns:
        How many requests of the last step were refused.
    """
    cells, book, orders, events = a.cells, a.book, a.orders, a.events
    symbols = book.shape[1]
    k = lookback * symbols * len(FEATURES)
    last = (row + 1) * symbols * len(FEATURES)
    window = features[last - k : last]
    for f in range(k):
        out[i, f] = window[f]
    # Positions and cash as shares of equity; a bankrupt account shows zeros.
    equity = cells[i, EQUITY]
    scale = 1.0 / equity if equity > 0.0 else 0.0
    for s in range(symbols):
        out[i, k + s] = bounded(book[i, s, POSITION] * book[i, s, MARK] * scale)
    k += symbols
    out[i, k] = bounded(cells[i, CASH] * scale)
    k += 1
    # Buys, sells and rejections are added up below.
    for s in range(3 * symbols + 1):
        out[i, k + s] = 0.0
    for n in range(int(cells[i, ORDERS])):
        s, kind, d = int(orders[i, n, SYMBOL]), int(orders[i, n, KIND]), orders[i, n, SIDE]
        # An order is worth its limit or else its stop; a market order, which has neither, its mark.
        price = orders[i, n, LIMIT]
        if kind == rules.MARKET:
            price = book[i, s, MARK]
        elif kind == rules.STOP:
            price = orders[i, n, STOP]
        at = k + s if d > 0.0 else k + symbols + s
        out[i, at] = bounded(out[i, at] + orders[i, n, REMAINING] * price * scale)
    k += 2 * symbols
    refused = 0
    for n in range(int(cells[i, HAPPENED])):
        if events[i, n, 0] == _REJECTED:
            s = int(events[i, n, 3])
            out[i, k + (s if 0 <= s < symbols else symbols)] += 1.0
            refused += 1
    k += symbols + 1
    out[i, k] = (cells[i, LAST] - row) / max(1.0, cells[i, LAST] - cells[i, FIRST])
    return refused


@part
def bounded(share: float) -> float:
    """A share of equity within the observation's bounds."""
    return min(max(share, -BOUND), BOUND)


@part
def earn(cells: Floats, i: int, kind: int, decay: float) -> float:
    """Reward of the bar that account ``i`` has just been through; also ends its step: the events become those of the
    last step, and equity that of the bar before.
    """
    before, after = cells[i, BEFORE], cells[i, EQUITY]
    cells[i, BEFORE] = after
    cells[i, HAPPENED] = cells[i, EVENTS]
    cells[i, EVENTS] = 0.0
    if kind == PNL:
        return float(after - before)
    if before <= 0.0:
        return 0.0
    if kind == LOG_RETURN:
        return math.log(max(after / before, RUIN))
    # The differential Sharpe ratio, by the moments before this return (Moody and Saffell 2001, equation 8).
    change = after / before - 1.0
    mean, square = cells[i, MEAN], cells[i, SQUARE]
    cells[i, MEAN] = mean + decay * (change - mean)
    cells[i, SQUARE] = square + decay * (change * change - square)
    variance = square - mean * mean
    # Before the first returns, and while they are all the same, there is no ratio to change.
    if variance <= 1e-16:
        return 0.0
    return float(
        (square * (change - mean) - 0.5 * mean * (change * change - square)) / (variance * math.sqrt(variance))
    )
