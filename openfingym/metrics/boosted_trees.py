"""Gradient-boosted trees that tell two sets of rows apart, as scikit-learn's ``HistGradientBoostingClassifier`` does.

The same arithmetic in the same order, so that every guess is the same; a test compares them. What is left out is what
the classifier of :mod:`openfingym.metrics.posthoc` does not use: missing values, categories, weights, constraints. A
fit on 1,600 rows takes half the time and one on 200 rows a quarter, and scikit-learn need not be loaded.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from openfingym.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BINS = 255
"""Most bins of a feature."""
LARGEST_THRESHOLD = 1e300
"""Largest upper end of a bin."""


def log_odds(
    train: NDArray[np.float64],
    labels: NDArray[np.float64],
    test: NDArray[np.float64],
    *,
    rounds: int,
    leaves: int,
    rate: float,
    leaf: int,
) -> NDArray[np.float64]:
    """The odds that rows belong to the second of two sets, which are of the same size.

    Args:
        train: rows to learn from, float64[n, features], finite; half of them of either set.
        labels: the set of each of these rows, 0.0 or 1.0.
        test: rows whose set is guessed, float64[m, features], finite.
        rounds: number of trees that are grown one after the other.
        leaves: largest number of leaves of a tree, at least 2.
        rate: share of each tree's prediction that is added to those of the trees before.
        leaf: fewest rows of a leaf.

    Returns:
        Logarithm of the odds of each row, float64[m]: above 0 it is guessed to belong to the second set.
    """
    # Each feature is replaced by the number of its bin, so that a split is tried at a few hundred values at most.
    columns, asked = np.ascontiguousarray(train.T), np.ascontiguousarray(test.T)
    thresholds = [_thresholds(column) for column in np.sort(columns, axis=1)]
    bins = np.array([len(ends) + 1 for ends in thresholds])
    ends = np.full((len(columns), MOST_BINS), np.inf)
    for feature, own in enumerate(thresholds):
        ends[feature, : len(own)] = own
    raw = np.zeros(len(test))
    _compiled()(
        columns, asked, ends, bins, labels, rounds, leaves, rate, leaf, _scratch(columns, asked, bins, leaves), raw
    )
    return raw


class Scratch(NamedTuple):
    """Arrays that trees of some size are made in, each of them written before it is read.

    They come from outside: what Numba compiles for one allocation takes a second of the first call.
    """

    learn: NDArray[np.uint8]
    guess: NDArray[np.uint8]
    """Number of the bin of each value of the training rows, and of the rows that are guessed, uint8[features, rows]."""
    known: NDArray[np.float64]
    """What the trees so far say of each training row, float64[n]; 0 at first."""
    order: NDArray[np.int64]
    """Numbers of the training rows, node by node, int64[n]."""
    spare: NDArray[np.int64]
    """Room for the rows of one side of a split, int64[n]."""
    first: NDArray[np.float32]
    second: NDArray[np.float32]
    """First and second derivatives of the loss of each training row, float32[n]."""
    gradients: NDArray[np.float64]
    hessians: NDArray[np.float64]
    """Their sums in each bin, float64[leaves, features, most bins]; one histogram for each node that may be split."""
    counts: NDArray[np.int64]
    """Rows in each bin, int64[leaves, features, most bins]."""
    nodes: NDArray[np.int64]
    """By node: first row and end in ``order``, place of its histogram, feature, last bin of the left side, left child;
    and the heap of nodes that wait, int64[7, nodes]."""
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    """What a node says of its rows, and what its best split gains, float64[nodes]."""
    sums: NDArray[np.float64]
    """Sums of both derivatives over the rows of a node, float64[nodes, 2]."""
    found: NDArray[np.float64]
    """What the functions below found, float64[4]."""
    lanes: NDArray[np.float64]
    """Partial sums, float64[8]."""


def _scratch(columns: NDArray[np.float64], asked: NDArray[np.float64], bins: NDArray[np.int64], leaves: int) -> Scratch:
    """Arrays for trees of so many leaves.

    Args:
        columns: the training rows, float64[features, n].
        asked: the rows that are guessed, float64[features, m].
        bins: number of bins of each feature, int64[features].
        leaves: largest number of leaves of a tree.
    """
    count, histogram, nodes = columns.shape[1], (leaves, len(bins), int(bins.max())), 2 * leaves - 1
    return Scratch(
        learn=np.empty(columns.shape, dtype=np.uint8),
        guess=np.empty(asked.shape, dtype=np.uint8),
        known=np.zeros(count),
        order=np.empty(count, dtype=np.int64),
        spare=np.empty(count, dtype=np.int64),
        first=np.empty(count, dtype=np.float32),
        second=np.empty(count, dtype=np.float32),
        gradients=np.empty(histogram),
        hessians=np.empty(histogram),
        counts=np.empty(histogram, dtype=np.int64),
        nodes=np.empty((7, nodes), dtype=np.int64),
        value=np.empty(nodes),
        gain=np.empty(nodes),
        sums=np.empty((nodes, 2)),
        found=np.empty(4),
        lanes=np.empty(8),
    )


def _thresholds(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Upper ends of all bins but the last of a column in order: midpoints, or quantiles where there are many values."""
    distinct = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=distinct[1:])
    values = ordered[distinct]
    if len(values) <= MOST_BINS:
        between: NDArray[np.float64] = (values[:-1] + values[1:]) / 2
    else:
        between = _quantiles(ordered)
    # Two neighbours may round to one midpoint, and quantiles of repeated values are the same.
    kept = np.ones(len(between), dtype=bool)
    np.not_equal(between[1:], between[:-1], out=kept[1:])
    return np.minimum(between[kept], LARGEST_THRESHOLD)


def _quantiles(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """NumPy's ``averaged_inverted_cdf`` of a column in order."""
    below, halved = _places(len(ordered))
    low, high = ordered[below], ordered[below + 1]
    return np.where(halved, high - (high - low) * 0.5, high)


@cache
def _places(count: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where the quantiles of so many values lie: the value before each, and whether it is halfway to the next."""
    # The very expression of NumPy: place == below compares floats, and must come out as there.
    place = count * (np.linspace(0, 100, num=MOST_BINS + 1)[1:-1] / 100) - 1
    below = np.floor(place)
    return below.astype(np.intp), place == below


@cache
def _compiled() -> Any:
    # Here: importing Numba takes half a second, which a verifier of light tasks never spends.
    from openfingym.metrics.boosted_trees_numba import boost

    return compiled(boost, "boosted trees (some seconds)", error_model="numpy")
