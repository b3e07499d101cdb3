"""The sizes that publishers state of their graphs, so that another graph is not taken for one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from openfingym.data.graphs import SparseRows
from openfingym.errors import DataError


class Sized(Protocol):
    """A graph of which nodes, features, anomalies and edges can be counted."""

    @property
    def relations(self) -> Mapping[str, NDArray[np.int64]]:
        """Edges by kind, int64[2, m] each, every undirected edge once."""

    @property
    def features(self) -> NDArray[np.float64] | SparseRows:
        """Features of the nodes, one row for each."""

    @property
    def labels(self) -> NDArray[np.int8] | None:
        """int8[n], 1 is an anomaly; None where none are labelled."""


@dataclass(frozen=True)
class GraphSize:
    """How large a published graph is."""

    nodes: int
    """Number of nodes."""
    features: int
    """Number of features of a node."""
    anomalies: int | None = None
    """Number of nodes labelled as anomalies; None where the publisher labels none, or states no number."""
    edges: Mapping[str, int] = field(default_factory=dict)
    """Number of undirected edges by relation, for the relations whose number is stated."""

    def __str__(self) -> str:
        parts = [f"{self.nodes:,} nodes", f"{self.features:,} features"]
        parts += [] if self.anomalies is None else [f"{self.anomalies:,} anomalies"]
        parts += [f"{count:,} edges in {name}" for name, count in self.edges.items()]
        return ", ".join(parts)

    def admits(self, found: GraphSize) -> bool:
        """Whether a graph of size ``found`` may be this one: all that is stated here is equal there.

        Anomalies are compared where both label them.
        """
        return (
            (found.nodes, found.features) == (self.nodes, self.features)
            and (None in (self.anomalies, found.anomalies) or found.anomalies == self.anomalies)
            and all(found.edges.get(name) == count for name, count in self.edges.items())
        )


def require_size(graph: Sized, sizes: Sequence[GraphSize], source: str) -> None:
    """Refuse a graph whose size is none of ``sizes``, unless that is empty.

    Raises:
        DataError: the graph is of another size; the message names that, and those of the published graph.
    """
    nodes, features = graph.features.shape
    anomalies = None if graph.labels is None else int(graph.labels.sum())
    found = GraphSize(
        int(nodes), int(features), anomalies, {name: int(edges.shape[1]) for name, edges in graph.relations.items()}
    )
    if sizes and not any(size.admits(found) for size in sizes):
        raise DataError(
            f"{source}: the file has {found}; the published graph has {', or '.join(map(str, sizes))}. So it is "
            "another graph, or not the whole: pull from the publisher, or from a mirror of the same file"
        )


def may_be_of(nodes: int, features: int, sizes: Sequence[GraphSize]) -> bool:
    """Whether a graph of this many nodes and features may have been made from a file of one of ``sizes``.

    Nodes without an edge may have been left out on the way.
    """
    return not sizes or any(nodes <= size.nodes and features == size.features for size in sizes)
