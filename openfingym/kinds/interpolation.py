"""Forecasts that look ahead: the line from the last input of a hidden window to the first input of the next one.

Hidden windows tile their block, so that the inputs show both ends of a hidden stretch. Where levels are predicted, a
line between these ends is close to the hidden values, but nobody could draw it in time: its second end is later than
the values. :func:`looks_ahead` tells such forecasts from others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.forecast import ForecastContract
    from openfingym.kinds.material import Reader

FEWEST = 12
"""Fewest windows that are followed directly by another one from which anything is concluded."""
CLOSE = 0.9
"""Partial correlation from which on a forecast is said to look ahead. The hidden values themselves have less, so that a
forecast cannot be suspected for being too good."""


@dataclass(frozen=True, eq=False)
class Ends:
    """Both ends of hidden stretches, and what a window's own inputs tell of where its series goes."""

    windows: NDArray[np.int64]
    """int64[k]: numbers of the windows that are followed directly by another one."""
    last: NDArray[np.float64]
    """float64[k, targets]: the last input of each of these windows."""
    following: NDArray[np.float64]
    """float64[k, targets]: the first input of the window after each."""
    shown: NDArray[np.float64]
    """float64[k, targets, 3]: the last input less the mean of the inputs, less the first input, less the one before."""
    lines: NDArray[np.float64]
    """float64[k, steps, targets]: the line from one end to the other, at the steps that are predicted."""


def ends_of(contract: ForecastContract, read: Reader) -> Ends | None:
    """Both ends of the hidden stretches of a task; None where they tell nothing of the values between.

    Args:
        contract: the contract of the task.
        read: reads a public array, given its name.
    """
    # Returns do not lead from one level to the other, and windows of volatilities lie apart.
    if contract.value_semantics in {"log_return", "realised_vol"}:
        return None
    times = np.asarray(read("test_times"))
    times = times.astype(np.int64 if times.dtype.kind == "M" else np.float64)
    inputs = np.asarray(read("test_inputs"), dtype=np.float64)
    inputs = inputs[:, :, read("target_columns")] if contract.targets else inputs
    # How many windows later the next one of the same series is: of a pooled panel, each time has a window per series.
    width = int(np.asarray(read("test_series")).max()) + 1 if contract.pooled else 1
    if len(times) <= width or times.shape[1] < 2:
        return None
    gap = times[width:, 0] - times[:-width, -1]
    # Directly after: no later than the longest step within a window, such as over a weekend.
    windows = np.flatnonzero((gap > 0) & (gap <= np.diff(times, axis=1).max()))
    if len(windows) < FEWEST * width:
        return None
    own, last, following = inputs[windows], inputs[windows, -1], inputs[windows + width, 0]
    before = own[:, -2] if own.shape[1] > 1 else last
    shown = np.stack([last - own.mean(axis=1), last - own[:, 0], last - before], axis=2)
    share = np.array(contract.steps)[:, None] / (contract.horizon + 1)
    return Ends(windows, last, following, shown, last[:, None] + share * (following - last)[:, None])


def looks_ahead(ends: Ends, forecast: NDArray[np.float64]) -> float | None:
    """How closely forecasts go to where the next window begins, beyond what their own inputs tell of it.

    Args:
        ends: both ends of the hidden stretches.
        forecast: a submission, float64[windows, steps, targets].

    Returns:
        The partial correlation of a forecast's mean departure from its last input with the move to the first input of
        the next window, averaged over the channels in which forecasts depart, if it is at least :data:`CLOSE`; else
        None.
    """
    departure, move = forecast[ends.windows].mean(axis=1) - ends.last, ends.following - ends.last
    # Of both, what a regression on the window's own inputs leaves unexplained, as vectors of length 1: an honest
    # forecast may follow momentum or revert to the mean, which its inputs tell.
    residuals = []
    for values in (departure, move):
        parts = []
        for channel in range(values.shape[1]):
            known = np.column_stack([np.ones(len(values)), ends.shown[:, channel]])
            rest = values[:, channel] - known @ np.linalg.lstsq(known, values[:, channel], rcond=None)[0]
            size = np.sqrt((rest**2).sum())
            # Rounding errors of a forecast that repeats its last input have no direction.
            parts.append(rest / size if size > 1e-9 * np.abs(ends.last[:, channel]).max() else np.zeros_like(rest))
        residuals.append(np.stack(parts, axis=1))
    moving = residuals[0].any(axis=0) & residuals[1].any(axis=0)
    if not moving.any():
        return None
    correlation = float((residuals[0] * residuals[1]).sum(axis=0)[moving].mean())
    return correlation if correlation >= CLOSE else None
