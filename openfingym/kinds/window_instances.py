"""Cutting instances of tasks about windows in time from the rows that the task's training windows show.

A package holds training windows, which may overlap or leave rows out, and not the series behind them. Here the series
is put together again, as far as windows show it, and windows of other lengths are cut from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from openfingym.kinds.instances import too_little

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array
    from openfingym.kinds.stretches import Lengths, TimeStretch
    from openfingym.task import Task

MOST_WINDOWS = 400
"""Most training windows of one series that an instance has."""
MOST_NUMBERS = 1 << 18
"""Most numbers that the inputs of all training windows of an instance have together."""


@dataclass(frozen=True, eq=False)
class ShownWindows:
    """The rows that training windows show, as one sequence: each row once, in the order of time.

    Rows are counted from 0 among those that are shown. ``len()`` is their number.
    """

    inputs: Array
    """Inputs of the training windows, [windows, series, look-back, channels]."""
    targets: Array | None
    """Targets of the training windows, [windows, series, horizon, channels]; None if steps or channels are missing."""
    times: Array
    """Times of the rows of each window, [windows, look-back + horizon]."""
    stride: int
    """Rows from the start of one window to the start of the next."""

    @property
    def run(self) -> int:
        """Number of rows that one window shows."""
        return int(self.inputs.shape[2]) + (0 if self.targets is None else int(self.targets.shape[2]))

    @property
    def gapless(self) -> bool:
        """Whether each window begins where the one before it ends, or earlier, so that no row is missing between."""
        return self.stride <= self.run

    def __len__(self) -> int:
        windows = len(self.inputs)
        return (windows - 1) * self.stride + self.run if self.gapless else windows * self.run

    def numbers(self, rows: range) -> NDArray[np.int64]:
        """Where shown rows are in the task's data, int64[rows]: these numbers jump where rows are not shown."""
        window, offset = self._places(rows)
        return window * self.stride + offset

    def values(self, rows: range, channels: list[int] | None = None) -> NDArray[np.float64]:
        """Values of shown rows, float64[rows, series, channels].

        Args:
            rows: the rows, counted among those that are shown.
            channels: positions of the channels; None for all.
        """
        window, offset = self._places(rows)
        known = int(self.inputs.shape[2])
        within = offset < known
        out = np.empty((len(rows), self.inputs.shape[1], self.inputs.shape[3]))
        out[within] = self.inputs[window[within], :, offset[within]]
        if self.targets is not None:
            out[~within] = self.targets[window[~within], :, offset[~within] - known]
        return out if channels is None else out[:, :, channels]

    def times_of(self, rows: range) -> Array:
        """Times of shown rows."""
        return np.asarray(self.times[self._places(rows)])

    def _places(self, rows: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each row, a window that shows it, and the position of the row in this window."""
        row = np.arange(rows.start, rows.stop, dtype=np.int64)
        if not self.gapless:
            return row // self.run, row % self.run
        # Of overlapping windows only every `step`-th, which show all rows together: little of the file is read.
        step = max(self.run // self.stride, 1)
        window = np.minimum(row // (step * self.stride) * step, len(self.inputs) - 1)
        return window, row - window * self.stride


@dataclass(frozen=True, eq=False)
class Cutting:
    """Where the windows of an instance begin, counted from the first row of its training part."""

    rows: range
    """Rows of the instance among those that are shown."""
    train: NDArray[np.int64]
    """First input row of each training window, int64[windows]."""
    test: NDArray[np.int64]
    """First input row of each hidden window, int64[windows]; the public fold first."""
    n_public: int
    """Hidden windows of the public fold."""
    n_private: int
    """Hidden windows of the private fold."""
    stride: int
    """Rows between the starts of two training windows, at least."""
    n_rows: int
    """Rows of the training part."""


def cutting(
    task: Task, shown: ShownWindows, stretch: TimeStretch, sizes: Lengths, width: int, windows: int = MOST_WINDOWS
) -> Cutting:
    """Cut training windows, and hidden windows that each begin a horizon after the one before.

    Args:
        task: the task that the instance is cut from, for messages.
        shown: the rows that the task's training windows show.
        stretch: rows of the three parts of the instance.
        sizes: rows of a window.
        width: numbers in a row of a window, of all series together.
        windows: most training windows of one series.

    Raises:
        UsageError: so many rows are not shown that a part has no window.
    """
    first, whole = stretch.train.start, sizes.whole
    rows = range(first, stretch.private.stop)
    numbers = shown.numbers(rows)
    # At which rows a window can begin: its rows must follow one another in the task's data, without a gap.
    fits = numbers[whole - 1 :] - numbers[: len(numbers) - whole + 1] == whole - 1
    most = max(min(windows, MOST_NUMBERS // (sizes.lookback * width)), 1)
    stride = max(-(-(len(stretch.train) - whole + 1) // most), 1)
    train = np.arange(0, len(stretch.train) - whole + 1, stride)
    folds = [
        _advancing(fits[: part.stop - first - whole + 1], part.start - first, sizes.horizon, count)
        for part, count in ((stretch.public, sizes.n_public), (stretch.private, sizes.n_private))
    ]
    train = train[fits[train]]
    if not (len(train) and all(folds)):
        raise too_little(task, f"{len(shown)} rows with gaps between", "windows in rows that follow one another")
    starts = np.array(folds[0] + folds[1], dtype=np.int64)
    return Cutting(
        rows, train + sizes.lead, starts + sizes.lead, len(folds[0]), len(folds[1]), stride, len(stretch.train)
    )


def _advancing(fits: NDArray[np.bool_], start: int, step: int, most: int) -> list[int]:
    """Where windows begin that are ``step`` rows apart, or more where rows are missing.

    Args:
        fits: for each row up to the last at which one can begin, whether a window can begin there.
        start: first row of the part.
        step: rows from one window to the next, at least.
        most: most windows.
    """
    out: list[int] = []
    while start < len(fits) and len(out) < most:
        if fits[start]:
            out.append(start)
            start += step
        else:
            start += 1
    return out


def windows_at(values: Array, starts: NDArray[np.int64], length: int) -> Array:
    """Windows of rows, [windows, length] of times or [windows, series, length, channels] of values.

    Args:
        values: [rows] of times, or [rows, series, channels] of values.
        starts: first row of each window, int64[windows].
        length: rows of a window.
    """
    # sliding_window_view puts the rows of a window on the last axis.
    windows = sliding_window_view(values, length, axis=0)[starts]
    return np.ascontiguousarray(windows.transpose(0, 1, 3, 2) if values.ndim == 3 else windows)


def rescaled(
    values: NDArray[np.float64], train: int, method: str, chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What is subtracted from each channel, and what it is divided by after that; float64[channels] each.

    Computed from the instance's training rows alone: rows that it hides must not show in its scaling.

    Args:
        values: the rows of the instance, float64[rows, series, channels].
        train: number of training rows, which are the first ones.
        method: scaling of the task, as in ``split.scaling``.
        chosen: whether each channel is scaled, bool[channels].
    """
    width = values.shape[2]
    zeros, ones = np.zeros(width), np.ones(width)
    if method not in {"standard", "mean"}:
        return zeros, ones
    # fsum is exact, so the result does not depend on the order in which a machine adds.
    rows = values[:train].transpose(2, 0, 1).reshape(width, -1)
    mean = np.array([math.fsum(channel) / len(channel) for channel in rows.tolist()])
    if method == "mean":
        return zeros, np.where(chosen & (mean > 0.0), mean, ones)
    squares = ((rows - mean[:, None]) ** 2).tolist()
    scale = np.array([math.sqrt(math.fsum(channel) / len(channel)) for channel in squares])
    # A constant channel has a deviation of rounding errors at most, and stays as it is.
    moves = chosen & (scale > 1e-12 * np.maximum(np.abs(mean), 1.0))
    return np.where(moves, mean, zeros), np.where(moves, scale, ones)
