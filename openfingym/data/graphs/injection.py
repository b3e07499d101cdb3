"""Contextual anomalies in a published graph whose nodes have classes, but no anomaly labels.

An anomalous node takes features of two normal nodes of one other class: each column from the first with
probability 0.7, else from the second. So every value occurs in the graph, a row is a mixture and
no copy, and norms stay what they were; what gives a node away is that it does not fit its neighbours. The usual
injection takes the most distant of 50 candidates whole, so that the norm alone finds it (Liu et al. 2022).

Structural anomalies (cliques) are left out: among the thousand neighbours that a node has where authors
are joined by a conference, a clique of a few is nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.graphs.features import SparseRows, take_rows
from openfingym.data.processes.draws import permutation, stream, uniforms
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FROM_FIRST = 0.7
"""Probability that a feature comes from the first of the two nodes."""


def inject_contextual(
    features: SparseRows | NDArray[np.float64], classes: NDArray[np.int64], count: int, seed: int
) -> tuple[SparseRows | NDArray[np.float64], NDArray[np.int8]]:
    """Give ``count`` nodes, drawn uniformly, the features of another class.

    Args:
        features: features of the n nodes, one row for each.
        classes: int64[n], the class of each node; at least two different ones.
        count: number of anomalies to make; at most a quarter of the nodes.
        seed: seed of the draws, not negative. The same seed gives the same bytes on every machine.

    Returns:
        (features with the anomalies' rows replaced, labels int8[n], 1 for an anomaly).

    Raises:
        DataError: one class only, too many anomalies, or a class without two normal nodes.
    """
    nodes = len(classes)
    kinds = np.unique(classes)
    if len(kinds) < 2 or not 1 <= count <= nodes // 4:
        raise DataError(
            f"need two classes and 1 to {nodes // 4} anomalies among {nodes} nodes, found {len(kinds)} classes and "
            f"{count}"
        )
    chosen = np.sort(permutation(stream(seed, 0), nodes)[:count])
    # Features are taken from nodes that keep their own, so that no anomaly is made of another.
    normal = np.setdiff1d(np.arange(nodes), chosen)
    draws = stream(seed, 1)
    donors = np.array([_donors(draws, kinds, classes, normal, int(classes[node])) for node in chosen])
    first, second = (_dense(take_rows(features, donors[:, i])) for i in (0, 1))
    mixed = np.where(uniforms(stream(seed, 2), first.size).reshape(first.shape) <= FROM_FIRST, first, second)
    labels = np.zeros(nodes, dtype=np.int8)
    labels[chosen] = 1
    if isinstance(features, SparseRows):
        return features.with_rows(chosen, mixed), labels
    changed = features.copy()
    changed[chosen] = mixed
    return changed, labels


def _donors(
    bits: np.random.PCG64, kinds: NDArray[np.int64], classes: NDArray[np.int64], normal: NDArray[np.int64], own: int
) -> tuple[int, int]:
    """Two different normal nodes of one class that is not ``own``."""
    draws = uniforms(bits, 3)
    others = kinds[kinds != own]
    donor_class = others[min(int(draws[0] * len(others)), len(others) - 1)]
    members = normal[classes[normal] == donor_class]
    if len(members) < 2:
        raise DataError(
            f"class {donor_class} has {len(members)} normal nodes; two are needed to make an anomaly of another class"
        )
    first = min(int(draws[1] * len(members)), len(members) - 1)
    # The second lies 1 to members - 1 places after the first, around the end: never the same node.
    step = 1 + min(int(draws[2] * (len(members) - 1)), len(members) - 2)
    return int(members[first]), int(members[(first + step) % len(members)])


def _dense(rows: SparseRows | NDArray[np.float64]) -> NDArray[np.float64]:
    return rows.dense() if isinstance(rows, SparseRows) else rows
