"""An attributed graph as its publisher gave it: sparse edges, features, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.sources.table import Provenance


@dataclass(frozen=True, eq=False)
class Csr:
    """A sparse matrix by rows: row i holds ``data[indptr[i]:indptr[i + 1]]`` at the columns in ``indices``."""

    indptr: NDArray[np.int64]
    """int64[n + 1]"""
    indices: NDArray[np.int64]
    """int64[nnz]"""
    data: NDArray[np.float64]
    """float64[nnz]"""
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        rows, columns = self.shape
        if len(self.indptr) != rows + 1 or self.indptr[0] != 0 or (np.diff(self.indptr) < 0).any():
            raise DataError(f"row pointers of length {len(self.indptr)} do not describe {rows} rows")
        if not self.indptr[-1] == len(self.indices) == len(self.data):
            raise DataError(f"row pointers end at {self.indptr[-1]}, but there are {len(self.indices)} columns and {len(self.data)} values")
        if len(self.indices) and not (self.indices.min() >= 0 and self.indices.max() < columns):
            raise DataError(f"a column index is outside 0 to {columns - 1}")
        if not np.isfinite(self.data).all():
            raise DataError(f"value {int(np.flatnonzero(~np.isfinite(self.data))[0])} of the sparse matrix is not finite")

    def rows(self, keep: NDArray[np.int64]) -> Csr:
        """The rows at the positions ``keep``, in that order."""
        lengths = np.diff(self.indptr)[keep]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        take = np.repeat(self.indptr[keep] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return Csr(indptr, self.indices[take], self.data[take], (len(keep), self.shape[1]))

    def toarray(self) -> NDArray[np.float64]:
        """Dense float64[shape]; duplicate entries are added up."""
        dense = np.zeros(self.shape)
        np.add.at(dense, (np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices), self.data)
        return dense


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with features. Node i is row i of the published file unless a note says otherwise."""

    nodes: int
    relations: Mapping[str, NDArray[np.int64]]
    """Edges by kind, int64[2, m] each: every undirected edge once, as (smaller, larger), sorted; no self-loops."""
    features: NDArray[np.float64] | Csr
    """float64[nodes, d], finite; sparse where the file is."""
    labels: NDArray[np.int8] | None
    """int8[nodes], 1 is an anomaly; None where the publisher labels none."""
    classes: NDArray[np.int64] | None
    """int64[nodes], what the file calls the class where that is not an anomaly label (a research area, a genre); None if it has none."""
    provenance: Provenance

    def __post_init__(self) -> None:
        where = self.provenance.source
        if not self.nodes or not any(edges.shape[1] for edges in self.relations.values()):
            raise DataError(f"{where}: the graph is empty")
        if self.features.shape[0] != self.nodes:
            raise DataError(f"{where}: features for {self.features.shape[0]} nodes, but there are {self.nodes}")
        if isinstance(self.features, np.ndarray) and not np.isfinite(self.features).all():
            node, column = (int(i) for i in np.argwhere(~np.isfinite(self.features))[0])
            raise DataError(f"{where}: feature {column} of node {node} is not finite")
        for name, values in (("labels", self.labels), ("classes", self.classes)):
            if values is not None and values.shape != (self.nodes,):
                raise DataError(f"{where}: {name} of shape {list(values.shape)}, but there are {self.nodes} nodes")
        if self.labels is not None and set(np.unique(self.labels).tolist()) != {0, 1}:
            raise DataError(f"{where}: labels are {np.unique(self.labels).tolist()}, expected both 0 and 1")

    @property
    def edges(self) -> NDArray[np.int64]:
        """All relations merged, int64[2, m], each edge once."""
        return unique_edges(np.concatenate(list(self.relations.values()), axis=1))

    @property
    def anomaly_rate(self) -> float | None:
        """Share of nodes labelled as anomalies, or None where the publisher labels none."""
        return None if self.labels is None else float(self.labels.mean())

    def without_isolated(self, relation: str) -> Graph:
        """Only one relation and the nodes that have an edge in it, renumbered in their old order."""
        edges = self.relations[relation]
        keep = np.unique(edges)
        renumbered = np.searchsorted(keep, edges)
        note = (
            f"only relation {relation}; {self.nodes - len(keep)} of {self.nodes} nodes without an edge in it left out, the rest renumbered"
        )
        return replace(
            self,
            nodes=len(keep),
            relations={relation: renumbered},
            features=self.features.rows(keep) if isinstance(self.features, Csr) else self.features[keep],
            labels=None if self.labels is None else self.labels[keep],
            classes=None if self.classes is None else self.classes[keep],
            provenance=replace(self.provenance, notes=(*self.provenance.notes, note)),
        )


def unique_edges(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Undirected edges from int64[2, m] in any direction and number: self-loops dropped, each once, sorted."""
    low, high = np.minimum(pairs[0], pairs[1]), np.maximum(pairs[0], pairs[1])
    proper = low != high
    low, high = low[proper], high[proper]
    span = int(high.max()) + 1 if len(high) else 1
    codes = np.unique(low * span + high)
    return np.stack([codes // span, codes % span])
