"""Sets of graphs with a label each, and BA-2motifs.

BA-2motifs (Luo et al. 2020): a Barabasi-Albert tree of 20 nodes, one edge a new node; a motif of five
nodes, a house (class 1, six edges) or a five-cycle (class 0, five edges); one bridge between a uniformly
drawn node of each. 25 nodes, ten features of 0.1 each.

As specified, the number of edges alone (26 or 25) separates the classes, and so does any fixed entry of
the adjacency matrix inside the motif, which is always nodes 20 to 24. By default, therefore, a five-cycle
graph gets one more edge, between two unconnected nodes of its tree drawn uniformly, and the nodes of every
graph are shuffled: what is left is the motif. ``balance_edges=False, shuffle_nodes=False`` gives the set
as specified.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.graphs.features import SparseRows, plain
from openfingym.data.graphs.graph import (
    arrays_digest,
    checked_edges,
    checked_features,
    checked_labels,
    feature_arrays,
    undirected,
)
from openfingym.data.processes.draws import permutation, stream, uniforms
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TREE, MOTIF, FEATURES = 20, 5, 10
CYCLE = ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4))
HOUSE = ((0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4))
"""A square 0 1 2 3 with the roof 4 over the wall 0 1."""


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Graphs as one disjoint union. Graph i has nodes offsets[i] .. offsets[i + 1] - 1. Read-only.

    Raises:
        DataError: the arrays are refused as by :class:`openfingym.data.graphs.Graph`, an edge joins two graphs, or a
            graph has no nodes.
    """

    edges: NDArray[np.int64]
    """int64[2, m], numbered through the union, in the form of :class:`openfingym.data.graphs.Graph`."""
    offsets: NDArray[np.int64]
    """int64[g + 1], the first node of each graph, and at the end the number of nodes."""
    features: SparseRows | NDArray[np.float64]
    """Features of all nodes, one row for each."""
    labels: NDArray[np.int8]
    """int8[g], the label of each graph, 0 or 1."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", checked_features(self.features))
        object.__setattr__(self, "labels", checked_labels(self.labels, "graph"))
        offsets = plain(self.offsets, np.dtype(np.int64), 1, "offsets").astype(np.int64, copy=False)
        object.__setattr__(self, "offsets", offsets)
        nodes = self.features.shape[0]
        if len(offsets) != len(self.labels) + 1 or offsets[0] != 0 or offsets[-1] != nodes:
            raise DataError(f"offsets: expected {len(self.labels) + 1} entries from 0 to {nodes}, found {len(offsets)}")
        empty = np.diff(offsets) <= 0
        if empty.any():
            raise DataError(f"graph {int(empty.argmax())} has no nodes")
        object.__setattr__(self, "edges", checked_edges(self.edges, nodes))
        owner = self.owners[self.edges]
        across = owner[0] != owner[1]
        if across.any():
            k = int(across.argmax())
            raise DataError(
                f"edges, column {k}: ({self.edges[0, k]}, {self.edges[1, k]}) joins graphs {owner[0, k]} and "
                f"{owner[1, k]}"
            )

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The graph of each node, int64[n]."""
        return np.repeat(np.arange(len(self.labels)), np.diff(self.offsets))

    @cached_property
    def edge_counts(self) -> NDArray[np.int64]:
        """Undirected edges of each graph, int64[g]."""
        return np.bincount(self.owners[self.edges[0]], minlength=len(self.labels)).astype(np.int64)

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of all arrays."""
        return arrays_digest(graph_set_arrays(self))

    def edges_of(self, index: int) -> NDArray[np.int64]:
        """Edges of one graph, int64[2, k], numbered from 0."""
        # Edges are sorted by their smaller node, and no edge leaves its graph: those of one are a stretch.
        first = self.offsets[index]
        start, stop = np.searchsorted(self.edges[0], [first, self.offsets[index + 1]])
        own: NDArray[np.int64] = self.edges[:, start:stop] - first
        return own


def graph_set_arrays(graphs: GraphSet) -> dict[str, NDArray[np.generic]]:
    """The set as named plain arrays; :func:`openfingym.data.graphs.graph_from_arrays` reads them back."""
    return {
        "edges": graphs.edges,
        "offsets": graphs.offsets,
        "labels": graphs.labels,
        **feature_arrays(graphs.features),
    }


def ba_2motifs(seed: int, count: int = 1000, *, balance_edges: bool = True, shuffle_nodes: bool = True) -> GraphSet:
    """Generate BA-2motifs; half of the graphs are houses, in random order.

    Args:
        seed: seed of the draws, not negative.
        count: number of graphs, even and at least two.
        balance_edges: whether every graph has 26 edges, so that their number does not tell the class.
        shuffle_nodes: whether the nodes of each graph are numbered at random; else the motif is nodes 20 to 24.

    Raises:
        DataError: ``count`` is odd or below 2.
    """
    if count < 2 or count % 2:
        raise DataError(f"count must be even and 2 at least, so that the classes balance, found {count}")
    labels = (permutation(stream(seed, 0), count) % 2).astype(np.int8)
    size = TREE + MOTIF
    edges = [
        _motif_graph(stream(seed, 1, i), house=bool(label), balance_edges=balance_edges)
        for i, label in enumerate(labels)
    ]
    if shuffle_nodes:
        edges = [permutation(stream(seed, 2, i), size)[graph] for i, graph in enumerate(edges)]
    union = np.concatenate([graph + size * i for i, graph in enumerate(edges)], axis=1)
    features = np.full((count * size, FEATURES), 0.1)
    return GraphSet(undirected(union, count * size), size * np.arange(count + 1), features, labels)


def redraw(graphs: GraphSet, places: NDArray[np.int64], labels: NDArray[np.int8], seed: int) -> GraphSet:
    """BA-2motifs with some of its graphs drawn anew, balanced and shuffled as by default; all others stay as they are.

    Args:
        graphs: the graphs that :func:`ba_2motifs` made.
        places: int64[k], the places of the graphs to draw anew.
        labels: int8[k], the labels of the new graphs: 1 for a house, 0 for a five-cycle.
        seed: seed of the new graphs; not negative, of any size.
    """
    size, count = TREE + MOTIF, len(graphs.labels)
    changed = graphs.labels.copy()
    changed[places] = labels
    new = {}
    for place, label in zip(places.tolist(), labels.tolist(), strict=True):
        edges = _motif_graph(stream(seed, 2, place), house=bool(label), balance_edges=True)
        new[place] = permutation(stream(seed, 3, place), size)[edges]
    union = [(new[i] if i in new else graphs.edges_of(i)) + size * i for i in range(count)]
    return GraphSet(undirected(np.concatenate(union, axis=1), count * size), graphs.offsets, graphs.features, changed)


def _motif_graph(bits: np.random.PCG64, *, house: bool, balance_edges: bool) -> NDArray[np.int64]:
    """Edges of one graph: a tree, a motif and the bridge between them, int64[2, 25 or 26]."""
    draws = uniforms(bits, TREE + 2)
    # Both ends of every edge, in order: a uniform draw from it is a node drawn by its degree.
    ends = [0, 1]
    for node in range(2, TREE):
        ends += [ends[_index(draws[node], len(ends))], node]
    edges = [(ends[i], ends[i + 1]) for i in range(0, len(ends), 2)]
    edges += [(TREE + a, TREE + b) for a, b in (HOUSE if house else CYCLE)]
    edges.append((_index(draws[0], TREE), TREE + _index(draws[1], MOTIF)))
    if balance_edges and not house:
        taken = set(edges)
        free = [(a, b) for a in range(TREE) for b in range(a + 1, TREE) if (a, b) not in taken]
        edges.append(free[_index(draws[TREE], len(free))])
    return np.array(edges, dtype=np.int64).T


def _index(uniform: float, count: int) -> int:
    """A uniform position below ``count`` from a uniform on (0, 1]."""
    return min(int(uniform * count), count - 1)
