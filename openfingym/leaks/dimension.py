"""How often runs of smooth curves coincide: an upper bound on their information.

Neighbouring points of a yield curve hardly surprise: twenty maturities quoted to three decimals follow from a few
factors, and two unrelated curves do coincide in all of them. Counting the bits of each point by itself misses that. The
share of pairs of runs that lie in the same cell of a grid shows it. This share falls as the grid's step to the power of
the correlation dimension (Grassberger and Procaccia, 1983), which is measured on grids coarse enough to have
coincidences, and extrapolated to the grid in use, or to the step of the quotation if that is wider.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAIRS = 10
"""Fewest coincidences that a frequency is based on."""
OCTAVES = 2
"""Doublings of the step over which the dimension is measured."""
CAUTION = 0.8
"""Share of the dimension that is used for the extrapolation."""
ROW_LIMIT = 2_000
"""Most curves that are compared."""
START_LIMIT = 16
"""Most starts of a run that are examined."""
LARGEST_DOUBLING = 60
"""Most doublings of the step until runs coincide."""
REPEATED = 0.02
"""Share of the values of a column from which on repetitions mean that it is quoted."""


def quotation_step(values: NDArray[np.float64]) -> float:
    """The step between quoted values of float64[n, d], as the median over columns; 0 if most columns are not quoted."""
    steps = []
    for column in values.T:
        distinct = np.unique(column)
        if 1 < len(distinct) < (1.0 - REPEATED) * len(column):
            gaps = np.diff(distinct)
            # Rounding errors split a quotation into close values; the gaps between these are no steps.
            steps.append(float(gaps[gaps > 1e-9 * np.abs(distinct).max()].min(initial=np.inf)))
    return float(np.median(steps)) if len(steps) * 2 > values.shape[1] and np.isfinite(steps).all() else 0.0


def run_bits(rows: NDArray[np.float64], length: int, step: float) -> NDArray[np.float64]:
    """The most bits that a run from each start can tell.

    Args:
        rows: the curves, float64[n, d], one a row.
        length: number of consecutive points in a run.
        step: width of a cell of the grid, in the unit of the values.

    Returns:
        Bits, float64[d - length + 1], for each point at which a run can start.
    """
    rows = rows[:: -(-len(rows) // ROW_LIMIT)]
    starts = np.unique(np.linspace(0, rows.shape[1] - length, START_LIMIT).round().astype(int))
    told = np.array([_bits(rows[:, start : start + length], step) for start in starts])
    # A start that was not examined gets the lower bound of the examined ones on both sides.
    after = np.searchsorted(starts, np.arange(rows.shape[1] - length + 1))
    least: NDArray[np.float64] = np.minimum(told[after], told[np.maximum(after - 1, 0)])
    return least


def _bits(runs: NDArray[np.float64], step: float) -> float:
    """The most bits that runs float64[n, length] tell on a grid of this step."""
    pairs = len(runs) * (len(runs) - 1) / 2
    weights: NDArray[np.float64] = np.random.default_rng(0).standard_normal(size=runs.shape[1:])
    if pairs < PAIRS:
        return 0.0
    # The finest grid with enough coincidences, which grow with its step.
    doubling = bisect_left(range(LARGEST_DOUBLING), PAIRS, key=lambda i: _coincidences(runs, step * 2.0**i, weights))
    met, wider = (_coincidences(runs, step * 2.0**i, weights) for i in (doubling, doubling + OCTAVES))
    dimension = min(np.log2(max(wider, 1) / max(met, 1)) / OCTAVES, runs.shape[1])
    return float(np.log2(pairs / max(met, 1)) + CAUTION * max(dimension, 0.0) * doubling)


def _coincidences(runs: NDArray[np.float64], step: float, weights: NDArray[np.float64]) -> int:
    """Number of pairs of runs in the same cell. Cells are told apart by a random projection of their coordinates."""
    _, counts = np.unique(np.rint(runs / step) @ weights, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())
