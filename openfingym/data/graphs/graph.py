"""Undirected attributed graphs, sparse all the way."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.graphs.features import SparseRows, plain
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with features and a 0/1 label a node. The arrays are read-only.

    Each edge is stored once, smaller node first, and edges are sorted; :func:`undirected` brings any
    edge list into this form. Self-loops are refused: no published graph here needs them, and a model
    that wants them adds them.

    Raises:
        DataError: the arrays are not of this form; the message names the position of the first fault.
    """

    edges: NDArray[np.int64]
    """int64[2, m], edges[0] < edges[1], columns in lexicographic order."""
    features: SparseRows | NDArray[np.float64]
    """One row a node: dense float64[n, f], or sparse."""
    labels: NDArray[np.int8]
    """int8[n], 1 for an anomaly; both classes occur."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", checked_features(self.features))
        object.__setattr__(self, "labels", checked_labels(self.labels, "node"))
        rows = self.features.shape[0]
        if rows != self.nodes:
            raise DataError(f"{rows} rows of features, but {self.nodes} labels; a node has one of each")
        object.__setattr__(self, "edges", checked_edges(self.edges, self.nodes))

    @property
    def nodes(self) -> int:
        """Number of nodes, n."""
        return len(self.labels)

    @property
    def edge_count(self) -> int:
        """Number of undirected edges, m."""
        return int(self.edges.shape[1])

    @property
    def anomaly_rate(self) -> float:
        """Fraction of nodes labelled 1."""
        return float(np.count_nonzero(self.labels)) / self.nodes

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Neighbours of each node, int64[n]."""
        return np.bincount(self.edges.ravel(), minlength=self.nodes).astype(np.int64)

    @cached_property
    def adjacency(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(indptr int64[n + 1], neighbours int64[2m]): neighbours of i are neighbours[indptr[i] : indptr[i + 1]],
        increasing.
        """
        # Every edge in both directions. Edges are sorted, so a stable sort leaves each node's neighbours in order:
        # first the smaller ones, from the reversed edges, then the larger ones.
        tails, heads = np.concatenate([self.edges[::-1], self.edges], axis=1)
        order = np.argsort(tails, kind="stable")
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.degrees)])
        return indptr, heads[order]

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of edges, features and labels."""
        return arrays_digest(graph_arrays(self))


def checked_features(features: SparseRows | NDArray[np.float64]) -> SparseRows | NDArray[np.float64]:
    """The features as a read-only array, or sparse ones as they are.

    Raises:
        DataError: a value is not finite; the message names row and column.
    """
    if isinstance(features, SparseRows):
        return features
    dense = plain(features, np.dtype(np.float64), 2, "features").astype(np.float64, copy=False)
    wrong = ~np.isfinite(dense)
    if wrong.any():
        row, column = np.unravel_index(int(wrong.argmax()), dense.shape)
        raise DataError(f"features, row {row}, column {column}: {dense[row, column]}; expected a finite number")
    return dense


def checked_labels(labels: NDArray[np.int8], what: str) -> NDArray[np.int8]:
    """The labels as a read-only array.

    Args:
        labels: int8[n], 0 or 1, of which both must occur.
        what: what has a label, such as ``node``, for messages.

    Raises:
        DataError: there is no label, one is neither 0 nor 1, or all are alike.
    """
    own = plain(labels, np.dtype(np.int8), 1, "labels").astype(np.int8, copy=False)
    if own.size == 0:
        raise DataError(f"an empty graph: expected one {what} at least, found none")
    wrong = (own != 0) & (own != 1)
    if wrong.any():
        position = int(wrong.argmax())
        raise DataError(f"labels, {what} {position}: {own[position]}; expected 0 (normal) or 1 (anomaly)")
    if own.min() == own.max():
        raise DataError(f"labels: all {own.size} are {own[0]}; AUROC and recall need both classes")
    return own


def checked_edges(edges: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """The edges as a read-only array.

    Raises:
        DataError: the edges are not in the form of :class:`Graph`; the message names the first that is at fault.
    """
    own = plain(edges, np.dtype(np.int64), 2, "edges").astype(np.int64, copy=False)
    if own.shape[0] != 2:
        raise DataError(f"edges: expected shape (2, m), found {own.shape}; transpose an (m, 2) list")
    if own.shape[1] == 0:
        raise DataError("an empty graph: expected one edge at least, found none")
    _refuse(np.any((own < 0) | (own >= nodes), axis=0), own, f"has a node outside 0 .. {nodes - 1}")
    _refuse(own[0] == own[1], own, "is a self-loop, which is not allowed; drop it")
    _refuse(
        own[0] > own[1],
        own,
        "has its larger node first; bring the list into form with openfingym.data.graphs.undirected",
    )
    # In order of their keys, smaller node x nodes + larger node; the first is compared with a key below all others.
    steps = np.diff(own[0] * nodes + own[1], prepend=-1)
    _refuse(steps == 0, own, "is there twice")
    _refuse(steps < 0, own, "is out of order; bring the list into form with openfingym.data.graphs.undirected")
    return own


def _refuse(wrong: NDArray[np.bool_] | np.bool_, edges: NDArray[np.int64], complaint: str) -> None:
    if wrong.any():
        position = int(wrong.argmax())
        raise DataError(f"edges, column {position}: ({edges[0, position]}, {edges[1, position]}) {complaint}")


def undirected(edges: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Bring an edge list into the form of :class:`Graph`.

    Orders the nodes of each edge, sorts, and merges an edge with its reverse and its repetitions.
    Self-loops and nodes out of range are left in for :class:`Graph` to refuse.

    Args:
        edges: int64[2, m], in any order and direction.
        nodes: number of nodes of the graph.

    Returns:
        int64[2, k], k <= m.
    """
    low, high = np.minimum(edges[0], edges[1]), np.maximum(edges[0], edges[1])
    # Nodes out of range would make keys that stand for other edges.
    if low.size and (low.min() < 0 or high.max() >= nodes):
        return np.stack([low, high])
    keys = np.unique(low.astype(np.int64) * nodes + high)
    return np.stack([keys // nodes, keys % nodes])


def graph_arrays(graph: Graph) -> dict[str, NDArray[np.generic]]:
    """The graph as named plain arrays; :func:`openfingym.data.graphs.graph_from_arrays` reads them back."""
    return {"edges": graph.edges, "labels": graph.labels, **feature_arrays(graph.features)}


def feature_arrays(features: SparseRows | NDArray[np.float64]) -> dict[str, NDArray[np.generic]]:
    """Features as named plain arrays."""
    if not isinstance(features, SparseRows):
        return {"features": features}
    return {
        "features_indptr": features.indptr,
        "features_indices": features.indices,
        "features_values": features.values,
        "features_shape": np.array(features.shape, dtype=np.int64),
    }


def arrays_digest(arrays: dict[str, NDArray[np.generic]]) -> str:
    """Hex SHA-256 over the names, types, shapes and little-endian bytes of the arrays, by name."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"{name} {little.dtype.str} {little.shape}\n".encode())
        digest.update(little.tobytes())
    return digest.hexdigest()
