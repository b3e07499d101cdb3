"""Graphs with features of their nodes, as a program sees them in a fraud task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class SparseRows:
    """Features of which most are zero, as compressed rows (CSR).

    Row i has ``values[indptr[i]:indptr[i + 1]]`` at the columns ``indices[indptr[i]:indptr[i + 1]]``.
    ``scipy.sparse.csr_matrix((rows.values, rows.indices, rows.indptr), rows.shape)`` takes it as it is.
    """

    indptr: NDArray[np.int64]
    """int64[nodes + 1], where each row begins in the other two arrays."""
    indices: NDArray[np.int64]
    """int64[k], the columns of the values that are not zero."""
    values: NDArray[np.float64]
    """float64[k], the values that are not zero."""
    shape: tuple[int, int]
    """Number of nodes, and number of features."""

    def dense(self) -> NDArray[np.float64]:
        """The features as one array, float64[nodes, features]."""
        import numpy as np

        out = np.zeros(self.shape)
        out[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.values
        return out


@dataclass(frozen=True)
class Graph:
    """An undirected graph whose nodes have features."""

    edges: NDArray[np.int64]
    """int64[2, m], the two nodes of each edge, the smaller number first; each edge once."""
    features: NDArray[np.float64] | SparseRows
    """float64[nodes, features], or the same as sparse rows."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.features.shape[0])


def read_graph(load: Callable[[str], NDArray[Any]], names: Container[str]) -> Graph:
    """The graph of a task, from its arrays.

    Args:
        load: function that gives an array of the task by its name.
        names: names of all arrays of the task.
    """
    if "graph_features" in names:
        return Graph(load("graph_edges"), load("graph_features"))
    indptr, indices, values, shape = (
        load(f"graph_features_{part}") for part in ("indptr", "indices", "values", "shape")
    )
    return Graph(load("graph_edges"), SparseRows(indptr, indices, values, (int(shape[0]), int(shape[1]))))


def split_graphs(union: Graph, offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> list[Graph]:
    """Some graphs of a disjoint union, each with its nodes numbered from 0.

    Args:
        union: all graphs as one.
        offsets: int64[graphs + 1], the number of each graph's first node in the union.
        numbers: int64[n], which graphs are wanted, from 0.
    """
    import numpy as np

    features = union.features
    assert not isinstance(features, SparseRows), "a set of graphs has dense features"
    # Edges are sorted by their smaller node, so those of one graph are next to each other.
    starts = np.searchsorted(union.edges[0], offsets)
    return [
        Graph(union.edges[:, starts[i] : starts[i + 1]] - offsets[i], features[offsets[i] : offsets[i + 1]])
        for i in numbers.tolist()
    ]
