"""Plots of windows to generate: some paths, distributions, and how widely windows spread, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.plots.plot import (
    MOST_SERIES,
    PARTS,
    Distribution,
    LinePlot,
    Plot,
    PlotCurve,
    Span,
    more_of,
    parts_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array, Reader

PATHS = 6
"""Number of paths that are plotted of the training data and of each fold."""
MOST_WINDOWS = 5000
"""Most training windows that are read, evenly spaced."""


def path_plots(read: Reader, hidden: Mapping[str, Array], n_public: int, channels: Sequence[str]) -> Iterator[Plot]:
    """For each channel: some paths, the spread of each row, and distributions of values and of steps."""
    real, context = np.asarray(hidden["real"]), read("test_inputs")
    lookback = context.shape[1]
    test = np.concatenate([context, real], axis=1) if lookback else real
    # Only these are read: training windows are mapped from a file that can be large.
    chosen = _some(len(read("train_targets")), MOST_WINDOWS)
    train = np.concatenate([read("train_inputs")[chosen], read("train_targets")[chosen]], axis=1)
    parts = (train, test[:n_public], test[n_public:])
    rows = np.arange(1.0, train.shape[1] + 1.0)
    spans = (Span("context, public", 1.0, float(lookback), 0),) if lookback else ()
    note = more_of(len(channels), "channels")
    for number, name in enumerate(channels[:MOST_SERIES]):
        paths = [
            PlotCurve(part, windows[row, :, number], tone)
            for tone, (part, windows) in enumerate(zip(PARTS, parts, strict=True))
            for row in _some(len(windows), PATHS)
        ]
        spreads = [
            PlotCurve(part, _spread(windows[:, :, number]), tone)
            for tone, (part, windows) in enumerate(zip(PARTS, parts, strict=True))
        ]
        yield LinePlot(f"{name}: {PATHS} windows of each part", rows, tuple(paths), spans, note)
        yield LinePlot(f"{name}: standard deviation of each row", rows, tuple(spreads), spans)
        yield Distribution(
            f"{name}: values to generate", parts_of(train[:, lookback:, number], real[:, :, number], n_public)
        )
        yield Distribution(
            f"{name}: steps from row to row",
            parts_of(np.diff(train[:, lookback:, number]), np.diff(real[:, :, number]), n_public),
        )
        note = ""


def _spread(windows: Array) -> NDArray[np.float64]:
    """Standard deviation of each row of windows [n, rows], float64[rows]."""
    spread: NDArray[np.float64] = windows.std(axis=0)
    return spread


def _some(count: int, most: int) -> NDArray[np.int64]:
    """Evenly spaced numbers below ``count``, at most ``most`` of them."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)
