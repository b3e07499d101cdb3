"""Degrees and what surrounds them. No label and no feature is used.

A node is unusual where its degree, its neighbours' mean degree, or the share of its neighbours that know each other
are far from what nodes of about that degree have. The score is the mean of the three, as ranks.
"""

import interface
import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import rankdata

BLOCK = 500
NEARBY = 200
"""Nodes of the most similar degree that a node is compared with."""


def triangles(adjacency):
    """Edges among the neighbours of each node, float64[n]; in blocks, since a product is far denser than a graph."""
    counts = [
        (rows @ adjacency).multiply(rows).sum(axis=1)
        for rows in (adjacency[i : i + BLOCK] for i in range(0, adjacency.shape[0], BLOCK))
    ]
    return np.concatenate([np.asarray(count).ravel() for count in counts]) / 2.0


def unusual(values, degree):
    """How far each value is from the median of the nodes of about the same degree, in units of their spread."""
    order = np.argsort(degree, kind="stable")
    out = np.empty(len(values))
    half = min(NEARBY, len(values) - 1) // 2
    for place, node in enumerate(order):
        start = min(max(place - half, 0), max(len(order) - 2 * half, 0))
        alike = values[order[start : start + 2 * half]]
        low, middle, high = np.quantile(alike, (0.25, 0.5, 0.75))
        out[node] = abs(values[node] - middle) / (high - low + 1e-9)
    return out


graph = interface.load_graph()
test = interface.load_test_inputs()
n = graph.nodes
first, second = graph.edges
adjacency = csr_matrix(
    (np.ones(2 * len(first)), (np.concatenate([first, second]), np.concatenate([second, first]))), (n, n)
)
degree = np.diff(adjacency.indptr).astype(float)
around = (adjacency @ degree) / np.maximum(degree, 1.0)
closed = triangles(adjacency) / np.maximum(degree * (degree - 1.0) / 2.0, 1.0)

logs = np.log1p(degree)
parts = [np.abs(logs - np.median(logs)), unusual(np.log1p(around), degree), unusual(closed, degree)]
score = np.mean([rankdata(part) / n for part in parts], axis=0)
print(
    f"{n} nodes, {len(first)} edges, degrees {degree.min():g} to {degree.max():g}, "
    f"clustering {closed.mean():.3f} on average"
)
print(interface.submit(score[test]))
