"""Instances of tasks about windows in time, cut from the rows that the task's training windows show."""

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
"""Training windows of one series that an instance has at most."""
MOST_NUMBERS = 1 << 18
"""Numbers that the inputs of its training windows have at most."""


@dataclass(frozen=True, eq=False)
class ShownWindows:
    """The rows that training windows show, each once and in the order of time."""

    inputs: Array
    """[windows, series, look-back, channels]"""
    targets: Array | None
    """[windows, series, horizon, channels], where they hold every channel of every row; None where they do not."""
    times: Array
    """[windows, look-back + horizon]"""
    stride: int
    """Rows from one window to the next."""

    @property
    def run(self) -> int:
        """Rows that one window shows."""
        return int(self.inputs.shape[2]) + (0 if self.targets is None else int(self.targets.shape[2]))

    @property
    def gapless(self) -> bool:
        """Whether each window begins before the one before it ends."""
        return self.stride <= self.run

    def __len__(self) -> int:
        windows = len(self.inputs)
        return (windows - 1) * self.stride + self.run if self.gapless else windows * self.run

    def numbers(self, rows: range) -> NDArray[np.int64]:
        """Numbers of rows in the task's data, which leave out those that no window shows."""
        window, offset = self._places(rows)
        return window * self.stride + offset

    def values(self, rows: range, channels: list[int] | None = None) -> NDArray[np.float64]:
        """float64[rows, series, channels], of all channels or of those at some places."""
        window, offset = self._places(rows)
        known = int(self.inputs.shape[2])
        within = offset < known
        out = np.empty((len(rows), self.inputs.shape[1], self.inputs.shape[3]))
        out[within] = self.inputs[window[within], :, offset[within]]
        if self.targets is not None:
            out[~within] = self.targets[window[~within], :, offset[~within] - known]
        return out if channels is None else out[:, :, channels]

    def times_of(self, rows: range) -> Array:
        """Times of rows."""
        return np.asarray(self.times[self._places(rows)])

    def _places(self, rows: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A window that shows each row, and where in it."""
        row = np.arange(rows.start, rows.stop, dtype=np.int64)
        if not self.gapless:
            return row // self.run, row % self.run
        # As few windows as show all rows, so that little of the file is read.
        step = max(self.run // self.stride, 1)
        window = np.minimum(row // (step * self.stride) * step, len(self.inputs) - 1)
        return window, row - window * self.stride


@dataclass(frozen=True, eq=False)
class Cutting:
    """Where the windows of an instance begin, in rows of its own, which begin with its training part."""

    rows: range
    """Rows of the instance among those that are shown."""
    train: NDArray[np.int64]
    """int64[windows], first input of each."""
    test: NDArray[np.int64]
    n_public: int
    n_private: int
    stride: int
    """Rows between the starts of two training windows, at least."""
    n_rows: int
    """Rows of the training part."""


def cutting(
    task: Task, shown: ShownWindows, stretch: TimeStretch, sizes: Lengths, width: int, windows: int = MOST_WINDOWS
) -> Cutting:
    """Training windows that may overlap, and hidden windows that tile their fold.

    Args:
        task: the task, for messages.
        shown: the rows of the task.
        stretch: rows of the three parts.
        sizes: rows of a window.
        width: numbers in a row of a window, of all series together.
        windows: training windows of one series at most.

    Raises:
        UsageError: rows that no window shows leave a part without any.
    """
    first, whole = stretch.train.start, sizes.whole
    rows = range(first, stretch.private.stop)
    numbers = shown.numbers(rows)
    # A window lies in rows that follow one another in the task's data.
    fits = numbers[whole - 1 :] - numbers[: len(numbers) - whole + 1] == whole - 1
    most = max(min(windows, MOST_NUMBERS // (sizes.lookback * width)), 1)
    stride = max(-(-(len(stretch.train) - whole + 1) // most), 1)
    train = np.arange(0, len(stretch.train) - whole + 1, stride)
    folds = [_tiled(fits, part.start - first, part.stop - first, whole) for part in (stretch.public, stretch.private)]
    train = train[fits[train]]
    if not (len(train) and all(folds)):
        raise too_little(task, f"{len(shown)} rows with gaps between", "windows in rows that follow one another")
    starts = np.array(folds[0] + folds[1], dtype=np.int64)
    return Cutting(
        rows, train + sizes.lead, starts + sizes.lead, len(folds[0]), len(folds[1]), stride, len(stretch.train)
    )


def _tiled(fits: NDArray[np.bool_], start: int, stop: int, whole: int) -> list[int]:
    """Where windows begin that follow one another without overlap."""
    out: list[int] = []
    while start + whole <= stop:
        if fits[start]:
            out.append(start)
            start += whole
        else:
            start += 1
    return out


def windows_at(values: Array, starts: NDArray[np.int64], length: int) -> Array:
    """Windows of rows, [windows, ...] with so many rows on axis 2 where rows have an axis of series, else on axis 1.

    Args:
        values: [rows], or [rows, series, channels].
        starts: int64[windows], first row of each.
        length: rows of a window.
    """
    windows = sliding_window_view(values, length, axis=0)[starts]
    return np.ascontiguousarray(windows.transpose(0, 1, 3, 2) if values.ndim == 3 else windows)


def rescaled(
    values: NDArray[np.float64], train: int, method: str, chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What is subtracted from each channel and what it is divided by, float64[channels] each, from the first rows.

    Training rows of the task that an instance hides must not show in its scaling.

    Args:
        values: float64[rows, series, channels].
        train: how many rows are training rows.
        method: ``split.scaling``.
        chosen: bool[channels], those that are scaled.
    """
    width = values.shape[2]
    none, one = np.zeros(width), np.ones(width)
    if method not in {"standard", "mean"}:
        return none, one
    # fsum is exact, so the result does not depend on the order in which a machine adds.
    rows = values[:train].transpose(2, 0, 1).reshape(width, -1)
    mean = np.array([math.fsum(channel) / len(channel) for channel in rows.tolist()])
    if method == "mean":
        return none, np.where(chosen & (mean > 0.0), mean, one)
    squares = ((rows - mean[:, None]) ** 2).tolist()
    scale = np.array([math.sqrt(math.fsum(channel) / len(channel)) for channel in squares])
    moves = chosen & (scale > 1e-12 * np.maximum(np.abs(mean), 1.0))
    return np.where(moves, mean, none), np.where(moves, scale, one)
