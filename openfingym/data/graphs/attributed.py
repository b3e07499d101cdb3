"""Attributed graphs with injected anomalies, for published graphs that cannot be bundled.

1. Nodes fall into communities of unequal size and get a Pareto weight.
2. Edges join nodes drawn by weight: within a community, or with probability ``mixing`` anywhere
   (a degree-corrected block model, Karrer and Newman 2011), until the exact number is reached.
3. Features are those of the community plus the node's own: Gaussian around a centre, or words, most
   from the community's topic.
4. Structural anomalies, half of all: groups of nodes that become cliques (Ding et al. 2019). Each gives
   up as many of its old edges as it gains: with the usual injection, degree alone finds them.
5. Contextual anomalies, the other half: a node takes the features of a node of another community, partly
   replaced by noise. The usual injection takes the most distant of 50 candidates, so that the norm alone
   finds them (Liu et al. 2022 call both shortcuts a leak).

Memory is linear in nodes, edges and stored features; no matrix of nodes by nodes is ever made.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.graphs.features import SparseRows
from openfingym.data.graphs.graph import Graph
from openfingym.data.graphs.wiring import Communities, draw_communities, sample_edges, without_excess
from openfingym.data.graphs.words import WordCounts, noisy_words, topic_words
from openfingym.data.processes.draws import normals, permutation, stream, uniforms
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class AttributedGraph:
    """Parameters of a simulated graph."""

    name: str
    title: str
    nodes: int
    edges: int
    """Number of undirected edges."""
    features: int
    anomalies: int
    edges_from: str
    """Where the number of edges comes from."""
    clique: int
    """Nodes of a structural anomaly's clique; near the mean degree where that is small."""
    words: WordCounts | None = None
    """Sparse 0/1 features like words of a text; dense Gaussian ones if None."""
    communities: int = 12
    mixing: float = 0.15
    tail: float = 2.5
    """Exponent of the Pareto density of node weights."""
    separation: float = 0.5
    """Standard deviation of community centres in each dense feature, whose noise has 1."""
    outlier: float = 0.3
    """Variance of the noise in a contextual anomaly's dense features, or share of its words drawn anew."""

    def __post_init__(self) -> None:
        if not (self.clique >= 3 and self.anomalies >= 2 * self.clique and 4 * self.anomalies <= self.nodes):
            raise DataError(
                f"{self.name}: need cliques of three nodes, two cliques' worth of anomalies, and at most a quarter "
                "anomalous"
            )
        most = self.nodes * (self.nodes - 1) // 2
        if not self.anomalies * self.clique <= self.edges <= most // 4:
            raise DataError(
                f"{self.name}: edges must be between anomalies x clique and an eighth of nodes^2, found {self.edges}"
            )
        if not (self.communities >= 2 and 0.0 < self.mixing < 1.0 and self.tail > 2.0 and 0.0 <= self.outlier <= 1.0):
            raise DataError(f"{self.name}: need two communities, mixing in (0, 1), tail above 2 and outlier in [0, 1]")


@dataclass(frozen=True, eq=False)
class InjectedGraph:
    """A simulated graph, and which of its anomalies are of which kind."""

    graph: Graph
    structural: NDArray[np.int64]
    """Nodes, clique after clique."""
    contextual: NDArray[np.int64]


def simulate_graph(spec: AttributedGraph, seed: int) -> InjectedGraph:
    """Generate the graph. The same seed gives the same bytes on every machine.

    Raises:
        DataError: the edges asked for cannot be placed.
    """
    place = zlib.crc32(spec.name.encode())
    streams = [stream(seed, place, i) for i in range(5)]
    communities = draw_communities(streams[0], spec.nodes, spec.communities, spec.tail)
    chosen = permutation(streams[1], spec.nodes)[: spec.anomalies]
    structural, contextual = np.split(chosen, [spec.anomalies // 2])
    edges = _edges(spec, streams[2], communities, structural)
    features = _features(spec, streams[3], streams[4], communities.of, chosen, contextual)
    labels = np.zeros(spec.nodes, dtype=np.int8)
    labels[chosen] = 1
    return InjectedGraph(Graph(edges, features, labels), structural, contextual)


def _edges(
    spec: AttributedGraph, bits: np.random.PCG64, communities: Communities, structural: NDArray[np.int64]
) -> NDArray[np.int64]:
    """int64[2, spec.edges], in the form of Graph."""
    nodes = spec.nodes
    cliques = _cliques(structural, spec.clique, nodes)
    base = sample_edges(bits, communities, spec.mixing, spec.edges - len(cliques), np.empty(0, np.int64))
    kept = without_excess(bits, base, structural, spec.clique - 1, nodes)
    keys = np.unique(np.concatenate([kept, cliques]))
    # The edges given up are replaced among all others, or every graph with anomalies would be thinner.
    others = communities.without(structural)
    keys = np.sort(sample_edges(bits, others, spec.mixing, spec.edges, keys))
    return np.stack([keys // nodes, keys % nodes])


def _cliques(members: NDArray[np.int64], size: int, nodes: int) -> NDArray[np.int64]:
    """Keys (smaller x nodes + larger) of all edges of the cliques; the last takes the remainder too."""
    groups = np.split(members, size * np.arange(1, len(members) // size))
    keys = []
    for group in groups:
        i, j = np.triu_indices(len(group), 1)
        a, b = group[i], group[j]
        keys.append(np.minimum(a, b) * nodes + np.maximum(a, b))
    return np.concatenate(keys)


def _features(
    spec: AttributedGraph,
    bits: np.random.PCG64,
    noise: np.random.PCG64,
    community: NDArray[np.int64],
    anomalies: NDArray[np.int64],
    contextual: NDArray[np.int64],
) -> SparseRows | NDArray[np.float64]:
    donors = _donors(noise, community, anomalies, contextual)
    if spec.words is not None:
        keys = topic_words(bits, spec.words, community, spec.communities, spec.features)
        return noisy_words(noise, keys, spec.features, spec.nodes, contextual, donors, spec.outlier)
    centres = spec.separation * normals(bits, spec.communities, spec.features)
    dense = centres[community] + normals(bits, spec.nodes, spec.features)
    dense[contextual] = dense[donors] + np.sqrt(spec.outlier) * normals(noise, len(contextual), spec.features)
    return np.round(dense, 6) + 0.0


def _donors(
    bits: np.random.PCG64, community: NDArray[np.int64], anomalies: NDArray[np.int64], contextual: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each contextual anomaly a normal node of another community, drawn uniformly."""
    normal = np.setdiff1d(np.arange(len(community)), anomalies)
    donors = np.full(len(contextual), -1)
    for _ in range(200):
        open_ = np.flatnonzero(donors < 0)
        if not open_.size:
            return donors
        drawn = normal[np.minimum((uniforms(bits, len(open_)) * len(normal)).astype(np.int64), len(normal) - 1)]
        good = community[drawn] != community[contextual[open_]]
        donors[open_[good]] = drawn[good]
    raise DataError("no node of another community found for a contextual anomaly; use more communities")
