"""Technical indicators of one price series, by their standard definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.panel import Panel

WARM_UP = 100
"""Rows after which averages hardly remember where they began: the slowest still has 0.05 percent of its start."""


def ema(values: NDArray[np.float64], span: int) -> NDArray[np.float64]:
    """Exponential moving average with weight 2 / (span + 1) on the newest value, started at the first.

    Args:
        values: the series, float64[n], oldest value first.
        span: span of the average in rows, 1 at least.

    Returns:
        float64[n], in the unit of ``values``.
    """
    weight = 2.0 / (span + 1.0)
    smooth = float(values[0])
    out = np.empty_like(values)
    for t, value in enumerate(values.tolist()):
        smooth += weight * (value - smooth)
        out[t] = smooth
    return out


def macd(values: NDArray[np.float64], fast: int = 12, slow: int = 26) -> NDArray[np.float64]:
    """Moving average convergence/divergence: the fast minus the slow EMA (Appel 1979), float64[n], in the unit of
    ``values``.
    """
    return ema(values, fast) - ema(values, slow)


def rsi(values: NDArray[np.float64], window: int = 14) -> NDArray[np.float64]:
    """Relative strength index, 0 to 100 (Wilder 1978).

    The mean gain and the mean loss start as plain means of the first ``window`` changes and then
    move by 1 / window of the difference to each new one; the index is 100 gain / (gain + loss), and
    50 where nothing moved.

    Args:
        values: the series, float64[n], oldest value first; more than ``window`` values.
        window: number of changes that the first means are taken over.

    Returns:
        float64[n]; NaN in the first ``window`` places, where it is not defined.

    Raises:
        DataError: there are not more values than ``window``.
    """
    if len(values) <= window:
        raise DataError(f"an index over {window} changes needs more than {window} values, found {len(values)}")
    changes = np.diff(values)
    gain, loss = wilder(np.maximum(changes, 0.0), window), wilder(np.maximum(-changes, 0.0), window)
    moved = gain + loss > 0.0
    out = np.full_like(values, np.nan)
    # Where nothing moved, gain / (gain + loss) would be 0 / 0.
    out[1:] = np.where(moved, 100.0 * gain / np.where(moved, gain + loss, 1.0), 50.0)
    out[:window] = np.nan
    return out


def wilder(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Wilder's mean: the plain mean of the first ``window`` values, then moved by 1 / window of the difference to each
    new one (Wilder 1978).

    Args:
        values: the series, float64[n], oldest value first; at least ``window`` values.
        window: number of values that the first mean is taken over.

    Returns:
        float64[n], in the unit of ``values``; NaN in the first ``window - 1`` places.
    """
    items = values.tolist()
    mean = sum(items[:window]) / window
    out = np.full_like(values, np.nan)
    out[window - 1] = mean
    for t in range(window, len(items)):
        mean += (items[t] - mean) / window
        out[t] = mean
    return out


def with_indicators(panel: Panel) -> Panel:
    """The panel with MACD and RSI of its first channel as two more channels, ``macd`` and ``rsi``.

    Both are rounded to four decimals. The first :data:`WARM_UP` rows, in which they depend on where they began, are
    left out.

    Raises:
        DataError: the panel has no more than :data:`WARM_UP` rows.
    """
    if len(panel.times) <= WARM_UP:
        raise DataError(
            f"{panel.info.name}: MACD and RSI need more than {WARM_UP} rows before the first, found {len(panel.times)}"
        )
    first = panel.values[:, 0]
    values = np.column_stack([panel.values, macd(first).round(4), rsi(first).round(4)])[WARM_UP:]
    times = panel.times[WARM_UP:]
    values.flags.writeable = False
    note = f"macd and rsi computed here from {panel.channels[0]}; the first {WARM_UP} rows, which begin them, left out"
    info = replace(panel.info, notes=(*panel.info.notes, note))
    return replace(panel, times=times, values=values, channels=(*panel.channels, "macd", "rsi"), info=info)
