"""Attributed graphs with anomalies, for published graphs that cannot be bundled.

1. Nodes fall into communities of unequal size and get a Pareto weight.
2. Edges join nodes drawn by weight: within a community, or with probability ``mixing`` anywhere
   (a degree-corrected block model, Karrer and Newman 2011), until the exact number is reached.
3. Features are those of the community plus the node's own: Gaussian around a centre, or words, most
   from the community's topic.
4. Anomalies come as they came into the published graph, so that simple detectors rank on the stand-in
   as they do there: see :mod:`openfingym.data.graphs.anomalies`.

Memory is linear in nodes, edges and stored features; no matrix of nodes by nodes is ever made.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from openfingym.data.processes.draws import stream
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.graphs.graph import Graph
    from openfingym.data.graphs.words import NodeWords


class Anomalies(Protocol):
    """How the anomalies of a published graph came about, and so how a stand-in is made."""

    title: ClassVar[str]
    """How the anomalies come about, as a phrase for the graph's provenance."""

    def check(self, spec: AttributedGraph) -> None:
        """Refuse parameters of which no graph can be made.

        Raises:
            DataError: a parameter is out of range, or does not go with another.
        """
        ...

    def build(self, spec: AttributedGraph, streams: list[np.random.PCG64]) -> InjectedGraph:
        """Make the graph from five independent streams of random bits."""
        ...


@dataclass(frozen=True)
class AttributedGraph:
    """Parameters of a simulated graph."""

    name: str
    title: str
    nodes: int
    edges: int
    """Number of undirected edges."""
    features: int
    """Number of features of a node."""
    anomalies: int
    """Number of anomalous nodes."""
    edges_from: str
    """Where the number of edges comes from, for the provenance."""
    pattern: Anomalies
    """How the anomalies come about."""
    words: NodeWords | None = None
    """Sparse 0/1 features like words of a text; dense Gaussian ones if None."""
    communities: int = 12
    """Number of communities."""
    mixing: float = 0.15
    """Probability that an edge joins nodes without regard to their communities."""
    tail: float = 2.5
    """Exponent of the Pareto density of node weights."""
    separation: float = 0.5
    """Standard deviation of the communities' centres in each dense feature, around which nodes have one of 1."""

    def __post_init__(self) -> None:
        if not 2 <= 4 * self.anomalies <= self.nodes:
            raise DataError(f"{self.name}: need an anomaly or more, and at most a quarter of the nodes anomalous")
        most = self.nodes * (self.nodes - 1) // 2
        if not self.nodes <= 2 * self.edges <= most // 2:
            raise DataError(
                f"{self.name}: edges must be between half the nodes and an eighth of nodes^2, found {self.edges}"
            )
        if not (self.communities >= 2 and 0.0 < self.mixing < 1.0 and self.tail > 2.0):
            raise DataError(f"{self.name}: need two communities, mixing in (0, 1) and tail above 2")
        self.pattern.check(self)


@dataclass(frozen=True, eq=False)
class InjectedGraph:
    """A simulated graph, and which of its anomalies were injected; organic ones are in neither list."""

    graph: Graph
    structural: NDArray[np.int64]
    """Nodes that were joined into cliques, int64[k], clique after clique."""
    contextual: NDArray[np.int64]
    """Nodes that took the features of others, int64[k]."""


def simulate_graph(spec: AttributedGraph, seed: int) -> InjectedGraph:
    """Generate the graph. The same seed gives the same bytes on every machine.

    Raises:
        DataError: the edges asked for cannot be placed.
    """
    # The name and not the place in the table, so that another graph changes nothing about this one.
    place = zlib.crc32(spec.name.encode())
    return spec.pattern.build(spec, [stream(seed, place, i) for i in range(5)])
