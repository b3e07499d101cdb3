"""Gradient-boosted trees, compiled with Numba; :mod:`openfingym.metrics.boosted_trees` calls it.

Every sum is taken in the order of scikit-learn, which this must give the same numbers as.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from numba.extending import register_jitable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.metrics.boosted_trees import Scratch

LEAST_HESSIAN = 1e-3
"""Smallest sum of second derivatives that either side of a split may have."""
NEARLY = 1.0 - 1e-9
"""Factor that leaves room for the rounding of a few operations."""
BESIDE_HESSIAN = 1e-15
"""Added to a sum of second derivatives before something is divided by it."""


def boost(
    columns: NDArray[np.float64],
    asked: NDArray[np.float64],
    ends: NDArray[np.float64],
    bins: NDArray[np.int64],
    labels: NDArray[np.float64],
    rounds: int,
    leaves: int,
    rate: float,
    leaf: int,
    scratch: Scratch,
    raw: NDArray[np.float64],
) -> None:
    """Grow trees on the rows of ``columns``, float64[features, n], and add what each predicts of the rows of ``asked``,
    float64[features, m], to ``raw``, float64[m].

    ``ends`` are the upper ends of the bins of each feature, float64[features, 255], with infinity beyond the last.
    Nodes of a tree are numbered as they are made, the root 0; ``place`` is where the histogram of a node is that may
    still be split, and ``heap`` orders these nodes by their gain.
    """
    count, nodes, learn, guess = columns.shape[1], scratch.nodes, scratch.learn, scratch.guess
    known, order, spare, first, second = scratch.known, scratch.order, scratch.spare, scratch.first, scratch.second
    gradients, hessians, counts = scratch.gradients, scratch.hessians, scratch.counts
    start, stop, place, feature, cut, left, heap = nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5], nodes[6]
    value, gain, sums, found = scratch.value, scratch.gain, scratch.sums, scratch.found
    _bin(columns, ends, learn)
    _bin(asked, ends, guess)
    for _ in range(rounds):
        # The root holds all rows.
        _derivatives(known, labels, first, second)
        for row in range(count):
            order[row] = row
        start[0], stop[0], place[0], left[0], value[0], made, waiting = 0, count, 0, -1, 0.0, 1, 0
        _fill(learn, bins, order, first, second, gradients[0], hessians[0], counts[0])
        sums[0, 0] = _sum_of_bins(gradients[0, 0], bins[0], scratch.lanes)
        sums[0, 1] = _sum_of_bins(hessians[0, 0], bins[0], scratch.lanes)
        if count >= 2 * leaf and sums[0, 1] >= LEAST_HESSIAN:
            _best(bins, count, leaf, sums[0], value[0], gradients[0], hessians[0], counts[0], found)
            waiting = _keep(0, found, gain, feature, cut, heap, waiting)
        # Split the node with the largest gain, until there are enough leaves or no node is worth it.
        while waiting > 0:
            node, waiting = heap[0], waiting - 1
            heap[0] = heap[waiting]
            _sift_up(heap, waiting, gain)
            # Sums of the children are computed again from the node's histogram, and not stored with its split.
            _totals(gradients[place[node]], hessians[place[node]], feature[node], cut[node], sums[node], found)
            middle = _divide(learn[feature[node]], cut[node], order, start[node], stop[node], spare)
            left[node] = made
            for side in range(2):
                child = made + side
                left[child], sums[child, 0], sums[child, 1] = -1, found[2 * side], found[2 * side + 1]
                value[child] = _value(sums[child, 0], sums[child, 1])
                start[child], stop[child] = (start[node], middle) if side == 0 else (middle, stop[node])
            made += 2
            if (made + 1) // 2 == leaves:
                break
            # The histogram of the smaller child is counted; the larger one's is what it leaves of their parent's.
            small = made - 2 if middle - start[node] < stop[node] - middle else made - 1
            if max(stop[made - 2] - start[made - 2], stop[made - 1] - start[made - 1]) < 2 * leaf:
                continue
            large = 2 * made - 3 - small
            place[large], place[small] = place[node], (made - 1) // 2
            into, of = place[small], place[large]
            rows = order[start[small] : stop[small]]
            _fill(learn, bins, rows, first, second, gradients[into], hessians[into], counts[into])
            _subtract(bins, gradients[of], hessians[of], counts[of], gradients[into], hessians[into], counts[into])
            for child in range(made - 2, made):
                size, at = stop[child] - start[child], place[child]
                if size >= 2 * leaf:
                    _best(bins, size, leaf, sums[child], value[child], gradients[at], hessians[at], counts[at], found)
                    waiting = _keep(child, found, gain, feature, cut, heap, waiting)
        _learn(order, start[:made], stop, left, value, rate, known)
        _ask(guess, left, feature, cut, value, rate, raw)


@register_jitable
def _bin(columns: Any, ends: Any, into: Any) -> None:
    """Write the number of the bin of each value: how many ends are below it, as ``numpy.searchsorted`` counts them."""
    for f in range(len(columns)):
        own = ends[f]
        for i in range(columns.shape[1]):
            value, at, step = columns[f, i], 0, 128
            # Eight halvings of 255 places.
            while step > 0:
                if own[at + step - 1] < value:
                    at += step
                step >>= 1
            into[f, i] = at


@register_jitable
def _learn(order: Any, start: Any, stop: Any, left: Any, value: Any, rate: float, known: Any) -> None:
    """Add what a tree predicts of the rows that it was grown on to ``known``."""
    for node in range(len(start)):
        if left[node] < 0:
            for i in range(start[node], stop[node]):
                known[order[i]] += value[node] * rate


@register_jitable
def _ask(guess: Any, left: Any, feature: Any, cut: Any, value: Any, rate: float, raw: Any) -> None:
    """Add what a tree predicts of each row to ``raw``."""
    for i in range(len(raw)):
        node = 0
        while left[node] >= 0:
            node = left[node] + (1 if guess[feature[node], i] > cut[node] else 0)
        raw[i] += value[node] * rate


@register_jitable
def _derivatives(known: Any, labels: Any, first: Any, second: Any) -> None:
    """First and second derivatives of the logistic loss, float32 as scikit-learn has them."""
    for i in range(len(known)):
        # Below -37, 1 + exp(x) is 1 in float64, and far below exp(-x) would overflow.
        if known[i] > -37.0:
            power = math.exp(-known[i])
            first[i] = ((1.0 - labels[i]) - labels[i] * power) / (1.0 + power)
            second[i] = power / ((1.0 + power) * (1.0 + power))
        else:
            power = math.exp(known[i])
            first[i] = power - labels[i]
            second[i] = power


@register_jitable
def _fill(
    learn: Any, bins: Any, rows: Any, first: Any, second: Any, gradients: Any, hessians: Any, counts: Any
) -> None:
    """Write the histogram of some rows: sums of derivatives, and number of rows, in each bin of each feature."""
    for f in range(len(bins)):
        column, g, h, n = learn[f], gradients[f], hessians[f], counts[f]
        for b in range(bins[f]):
            g[b], h[b], n[b] = 0.0, 0.0, 0
        for row in rows:
            b = column[row]
            g[b] += first[row]
            h[b] += second[row]
            n[b] += 1


@register_jitable
def _subtract(bins: Any, g: Any, h: Any, n: Any, less_g: Any, less_h: Any, less_n: Any) -> None:
    """Take the histogram of one child from that of its parent, which leaves the other child's."""
    for f in range(len(bins)):
        for b in range(bins[f]):
            g[f, b] -= less_g[f, b]
            h[f, b] -= less_h[f, b]
            n[f, b] -= less_n[f, b]


@register_jitable
def _sum_of_bins(values: Any, bins: int, lanes: Any) -> float:
    """Sum of 256 bins, of which the last are empty, in the order in which NumPy adds them."""
    total = 0.0
    for half in range(0, 256, 128):
        for lane in range(8):
            lanes[lane] = 0.0
        for b in range(half, min(half + 128, bins)):
            lanes[b % 8] += values[b]
        total += ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
    return total


@register_jitable
def _value(gradient: float, hessian: float) -> float:
    """The prediction of a leaf: a Newton step on the loss of its rows."""
    return -gradient / (hessian + BESIDE_HESSIAN)


@register_jitable
def _best(
    bins: Any, size: int, leaf: int, sums: Any, value: float, gradients: Any, hessians: Any, counts: Any, found: Any
) -> None:
    """Write the best split of a node into ``found``: its gain, feature and last bin of the left side; without a split,
    a gain of -1.
    """
    found[0], found[1], found[2] = -1.0, 0.0, 0.0
    whole_g, whole_h = sums[0], sums[1]
    loss = whole_g * value
    # The gain of a split is `loss` and g^2 / h of both sides; only those above `best` are of interest.
    best, least = 0.0, -loss * NEARLY
    for f in range(len(bins)):
        g, h, rows = 0.0, 0.0, 0
        of_g, of_h, of_n = gradients[f], hessians[f], counts[f]
        # The rules and their order are scikit-learn's; rows and Hessian grow with b, so what fails on the right goes on
        # failing.
        for b in range(bins[f] - 1):
            more_g, more_h, more = of_g[b], of_h[b], of_n[b]
            rows += more
            g += more_g
            h += more_h
            if rows < leaf:
                continue
            if size - rows < leaf:
                break
            if h < LEAST_HESSIAN:
                continue
            if whole_h - h < LEAST_HESSIAN:
                break
            # Most splits are worse than the best so far by far more than rounding, which products say sooner than
            # quotients do.
            left, right, rest = h + BESIDE_HESSIAN, whole_h - h + BESIDE_HESSIAN, whole_g - g
            if g * g * right + rest * rest * left < least * (left * right):
                continue
            gain = loss - g * _value(g, h)
            gain -= (whole_g - g) * _value(whole_g - g, whole_h - h)
            if gain > best:
                best, least = gain, (gain - loss) * NEARLY
                found[0], found[1], found[2] = gain, f, b


@register_jitable
def _totals(gradients: Any, hessians: Any, feature: int, cut: int, sums: Any, found: Any) -> None:
    """Write the sums of derivatives left of a split and right of it into ``found``."""
    g, h = 0.0, 0.0
    for b in range(cut + 1):
        g += gradients[feature, b]
        h += hessians[feature, b]
    found[0], found[1], found[2], found[3] = g, h, sums[0] - g, sums[1] - h


@register_jitable
def _keep(node: int, found: Any, gain: Any, feature: Any, cut: Any, heap: Any, waiting: int) -> int:
    """Put a node onto the heap if it has a split, and return the number of nodes there.

    Of two nodes with the same gain, the first is that of Python's ``heapq``, which scikit-learn uses.
    """
    if found[0] <= 0.0:
        return waiting
    gain[node], feature[node], cut[node] = found[0], int(found[1]), int(found[2])
    at = waiting
    while at > 0 and gain[node] > gain[heap[(at - 1) // 2]]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = node
    return waiting + 1


@register_jitable
def _sift_up(heap: Any, waiting: int, gain: Any) -> None:
    """Put the node at the head in its place, as Python's ``heapq`` does: down to a leaf, and from there up."""
    if waiting == 0:
        return
    node, at, child = heap[0], 0, 1
    while child < waiting:
        if child + 1 < waiting and not gain[heap[child]] > gain[heap[child + 1]]:
            child += 1
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    while at > 0 and gain[node] > gain[heap[(at - 1) // 2]]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = node


@register_jitable
def _divide(column: Any, cut: int, order: Any, start: int, stop: int, spare: Any) -> int:
    """Move rows of the left side before those of the right, keep the order within either, and return where the right
    side begins.
    """
    middle, kept = start, 0
    for i in range(start, stop):
        row = order[i]
        if column[row] <= cut:
            order[middle] = row
            middle += 1
        else:
            spare[kept] = row
            kept += 1
    for i in range(kept):
        order[middle + i] = spare[i]
    return middle
