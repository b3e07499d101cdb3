"""How often runs of smooth curves coincide: an upper bound on their information.

Neighbouring points of a yield curve hardly surprise: twenty maturities quoted to three decimals
follow from a few factors, and two unrelated curves do coincide over all of them. Counting the
bits of each point by itself misses that. The share of pairs of runs that lie in the same cell of
a grid shows it: it falls as the grid's step to the power of the correlation dimension
(Grassberger and Procaccia, 1983), which is read off grids coarse enough to have coincidences and
extended to the grid in use, or to the quotation's own step if that is wider.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAIRS = 10
"""Coincidences on which a frequency is based, at least."""
OCTAVES = 2
"""Doublings of the step over which the dimension is read."""
CAUTION = 0.8
"""Share of the dimension that is relied on beyond what was counted."""
ROW_LIMIT = 2_000
START_LIMIT = 16
LARGEST_DOUBLING = 60
REPEATED = 0.02


def quotation_step(values: NDArray[np.float64]) -> float:
    """The step between the values of a column of float64[n, d], if they repeat as quoted values do; else 0."""
    steps = []
    for column in values.T:
        distinct = np.unique(column)
        if 1 < len(distinct) < (1.0 - REPEATED) * len(column):
            gaps = np.diff(distinct)
            # Where rounding errors split a quotation, the gap within it is no step.
            steps.append(float(gaps[gaps > 1e-9 * np.abs(distinct).max()].min(initial=np.inf)))
    return float(np.median(steps)) if len(steps) * 2 > values.shape[1] and np.isfinite(steps).all() else 0.0


def run_bits(rows: NDArray[np.float64], length: int, step: float) -> NDArray[np.float64]:
    """Bits that a run of each start tells at most.

    Args:
        rows: float64[n, d], one curve a row.
        length: number of consecutive points in a run.
        step: the width of a grid cell, in the unit of the values.

    Returns:
        float64[d - length + 1], bits, one for each point at which a run can start.
    """
    rows = rows[:: -(-len(rows) // ROW_LIMIT)]
    starts = np.unique(np.linspace(0, rows.shape[1] - length, START_LIMIT).round().astype(int))
    told = np.array([_bits(rows[:, start : start + length], step) for start in starts])
    # Between two starts that were looked at, the lower bound of both counts.
    after = np.searchsorted(starts, np.arange(rows.shape[1] - length + 1))
    least: NDArray[np.float64] = np.minimum(told[after], told[np.maximum(after - 1, 0)])
    return least


def _bits(runs: NDArray[np.float64], step: float) -> float:
    pairs = len(runs) * (len(runs) - 1) / 2
    weights: NDArray[np.float64] = np.random.default_rng(0).standard_normal(size=runs.shape[1:])
    if pairs < PAIRS:
        return 0.0
    doubling = bisect_left(range(LARGEST_DOUBLING), PAIRS, key=lambda i: _coincidences(runs, step * 2.0**i, weights))
    met, wider = (_coincidences(runs, step * 2.0**i, weights) for i in (doubling, doubling + OCTAVES))
    dimension = min(np.log2(max(wider, 1) / max(met, 1)) / OCTAVES, runs.shape[1])
    return float(np.log2(pairs / max(met, 1)) + CAUTION * max(dimension, 0.0) * doubling)


def _coincidences(runs: NDArray[np.float64], step: float, weights: NDArray[np.float64]) -> int:
    """Pairs of runs in the same cell; a random projection of the integer cells stands for them."""
    _, counts = np.unique(np.rint(runs / step) @ weights, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())
