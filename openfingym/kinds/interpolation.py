"""The line that nobody could draw in time: between what one hidden window shows last and what the next one shows first.

Hidden windows tile their block, so that both ends of a hidden stretch are shown. Where levels are predicted, a line
between them is near to the hidden values without any skill, and so is whatever looks ahead in this way.
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
"""Windows that are followed by another one at once, below which nothing is said."""
CLOSE = 0.9
"""Partial correlation from which on forecasts go where the next window begins: more than the hidden values themselves
have, so that no forecast is too good."""


@dataclass(frozen=True, eq=False)
class Ends:
    """Both ends of hidden stretches, and what a window shows of where it might go."""

    windows: NDArray[np.int64]
    """int64[k]: windows that are followed by another one at once."""
    last: NDArray[np.float64]
    """float64[k, targets]: the last input of each."""
    following: NDArray[np.float64]
    """float64[k, targets]: the first input of the window after it."""
    shown: NDArray[np.float64]
    """float64[k, targets, 3]: by how much the last input is above the mean, the first and the one before."""
    lines: NDArray[np.float64]
    """float64[k, steps, targets]: the line from one end to the other, at the steps that are predicted."""


def ends_of(contract: ForecastContract, read: Reader) -> Ends | None:
    """Both ends of the hidden stretches of a task; None where they say nothing, or windows lie apart.

    Args:
        contract: the contract of the task.
        read: reads a public array, given its name.
    """
    if contract.value_semantics in {"log_return", "realised_vol"}:
        return None
    times = np.asarray(read("test_times"))
    times = times.astype(np.int64 if times.dtype.kind == "M" else np.float64)
    inputs = np.asarray(read("test_inputs"), dtype=np.float64)
    inputs = inputs[:, :, read("target_columns")] if contract.targets else inputs
    # Of a pooled panel, the next window of the same series.
    width = int(np.asarray(read("test_series")).max()) + 1 if contract.pooled else 1
    if len(times) <= width or times.shape[1] < 2:
        return None
    gap = times[width:, 0] - times[:-width, -1]
    windows = np.flatnonzero((gap > 0) & (gap <= np.diff(times, axis=1).max()))
    if len(windows) < FEWEST * width:
        return None
    own, last, following = inputs[windows], inputs[windows, -1], inputs[windows + width, 0]
    before = own[:, -2] if own.shape[1] > 1 else last
    shown = np.stack([last - own.mean(axis=1), last - own[:, 0], last - before], axis=2)
    share = np.array(contract.steps)[:, None] / (contract.horizon + 1)
    return Ends(windows, last, following, shown, last[:, None] + share * (following - last)[:, None])


def looks_ahead(ends: Ends, forecast: NDArray[np.float64]) -> float | None:
    """How closely forecasts go where the next window begins, beyond what their own windows show of it.

    Args:
        ends: both ends of the hidden stretches.
        forecast: float64[windows, steps, targets], a submission.

    Returns:
        The partial correlation of the mean departure from the last input with the move to the next window's first, over
        all channels that depart, if it is at least :data:`CLOSE`; else None.
    """
    departure, move = forecast[ends.windows].mean(axis=1) - ends.last, ends.following - ends.last
    left = []
    for values in (departure, move):
        parts = []
        for channel in range(values.shape[1]):
            known = np.column_stack([np.ones(len(values)), ends.shown[:, channel]])
            rest = values[:, channel] - known @ np.linalg.lstsq(known, values[:, channel], rcond=None)[0]
            size = np.sqrt((rest**2).sum())
            parts.append(rest / size if size > 1e-9 * np.abs(ends.last[:, channel]).max() else np.zeros_like(rest))
        left.append(np.stack(parts, axis=1))
    moving = left[0].any(axis=0) & left[1].any(axis=0)
    if not moving.any():
        return None
    found = float((left[0] * left[1]).sum(axis=0)[moving].mean())
    return found if found >= CLOSE else None
