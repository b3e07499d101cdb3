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
"""The log return of a step is not below that of losing all but this share of equity."""
BOUND = 1e6
"""Shares of equity are clipped to this, as equity may be next to nothing."""
FEATURE_BOUND = 1500.0
"""No logarithm of a ratio of two float64 numbers is larger."""
_REJECTED = int(EventKind.REJECTED)


class Layout(NamedTuple):
    """The place of a part in a flat observation."""

    place: slice
    shape: tuple[int, ...]


def layout(lookback: int, symbols: int) -> dict[str, Layout]:
    """The parts of a flat observation, by name, in order."""
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
    """Write what account ``i`` sees at ``row`` into row ``i`` of ``out``, and return how many of its requests were
    refused; ``features`` are all rows' in one dimension.
    """
    cells, book, orders, events = a.cells, a.book, a.orders, a.events
    symbols = book.shape[1]
    k = lookback * symbols * len(FEATURES)
    last = (row + 1) * symbols * len(FEATURES)
    window = features[last - k : last]
    for f in range(k):
        out[i, f] = window[f]
    equity = cells[i, EQUITY]
    scale = 1.0 / equity if equity > 0.0 else 0.0
    for s in range(symbols):
        out[i, k + s] = bounded(book[i, s, POSITION] * book[i, s, MARK] * scale)
    k += symbols
    out[i, k] = bounded(cells[i, CASH] * scale)
    k += 1
    for s in range(3 * symbols + 1):
        out[i, k + s] = 0.0
    for n in range(int(cells[i, ORDERS])):
        s, kind, d = int(orders[i, n, SYMBOL]), int(orders[i, n, KIND]), orders[i, n, SIDE]
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
    """Reward of the bar that account ``i`` has just been through; ends its step."""
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
