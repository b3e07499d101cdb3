"""How anomalies get into a graph: injected by the field's protocol, swapped in as at a pull, or organic.

A stand-in is of use where what works on it works on the published graph. What simple detectors find
depends on how the anomalies came about, more than on anything else, so each stand-in follows its original:

- :class:`StandardInjection`: cliques, and the features of the farthest of some random nodes (Ding et al. 2019).
- :class:`OtherClass`: features of another class, as :mod:`openfingym.data.graphs.injection` injects at a pull.
- :class:`Organic`: people who behave otherwise, but hide among the others (Dou et al. 2020).
- :class:`OrganicGroups`: the same where the edges join all that is one user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from openfingym.data.graphs.attributed import AttributedGraph, InjectedGraph
from openfingym.data.graphs.features import take_rows
from openfingym.data.graphs.graph import Graph
from openfingym.data.graphs.injection import inject_contextual
from openfingym.data.graphs.wiring import clique_keys, draw_communities, group_sizes, sample_edges
from openfingym.data.graphs.words import NodeWords, topic_words
from openfingym.data.processes.draws import normals, permutation, uniforms
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.graphs.features import SparseRows

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class StandardInjection:
    """Half of the anomalies become cliques, half take the features of the farthest of some random nodes.

    Both leave the traces that the field knows: a clique adds edges, and the farthest node is most often one with many
    words (Liu et al. 2022). The traces are kept, since published results rest on them.
    """

    title: ClassVar[str] = "block model with cliques, and the features of the farthest of random nodes"
    clique: int = 15
    """Number of nodes in a clique; the last clique has the remainder too."""
    candidates: int = 50
    """Number of nodes drawn for each contextual anomaly, which copies the features of the farthest of them."""

    def check(self, spec: AttributedGraph) -> None:
        """Refuse parameters of which no such graph can be made; see :class:`Anomalies`."""
        _words(spec)
        if not (self.clique >= 3 and spec.anomalies >= 2 * self.clique and self.candidates >= 1):
            raise DataError(
                f"{spec.name}: need cliques of three nodes, two cliques' worth of anomalies, and a candidate"
            )
        if spec.anomalies * self.clique > spec.edges:
            raise DataError(f"{spec.name}: edges must be at least anomalies x clique, found {spec.edges}")

    def build(self, spec: AttributedGraph, streams: list[np.random.PCG64]) -> InjectedGraph:
        """Make the graph from five independent streams; see :class:`Anomalies`."""
        nodes = spec.nodes
        communities = draw_communities(streams[0], nodes, spec.communities, spec.tail)
        chosen = permutation(streams[1], nodes)[: spec.anomalies]
        # Cliques come first, and chance fills up the edges to the exact number.
        structural, contextual = np.split(chosen, [spec.anomalies // 2])
        groups = np.split(structural, self.clique * np.arange(1, len(structural) // self.clique))
        cliques = np.concatenate([clique_keys(group[None, :], nodes) for group in groups])
        keys = sample_edges(streams[2], communities, spec.mixing, spec.edges, cliques)
        words = topic_words(streams[3], _words(spec), communities.of, spec.communities, spec.features)
        drawn = (uniforms(streams[4], len(contextual), self.candidates) * nodes).astype(np.int64).clip(max=nodes - 1)
        owner = np.arange(nodes)
        owner[contextual] = [_farthest(words, int(node), row) for node, row in zip(contextual, drawn, strict=True)]
        return InjectedGraph(_graph(keys, take_rows(words, owner), chosen, nodes), structural, contextual)


def _farthest(words: SparseRows, node: int, candidates: NDArray[np.int64]) -> int:
    """The candidate whose 0/1 features have the largest Euclidean distance from the node's; of equal ones the first."""
    own = np.zeros(words.columns, dtype=np.int64)
    own[words.indices[words.indptr[node] : words.indptr[node + 1]]] = 1
    rows = words.take(candidates)
    # |a - b|^2 = |a| + |b| - 2 shared for 0/1 features, and |a| is the same for all candidates. reduceat needs a word
    # in every row, and every node has one.
    shared = np.add.reduceat(own[rows.indices], rows.indptr[:-1])
    return int(candidates[np.argmax(np.diff(rows.indptr) - 2 * shared)])


@dataclass(frozen=True)
class OtherClass:
    """Each anomaly takes features of two nodes of another community, mixed; its edges stay as they are."""

    title: ClassVar[str] = "block model with features of another community"

    def check(self, spec: AttributedGraph) -> None:
        """Refuse parameters of which no such graph can be made; see :class:`Anomalies`."""
        _words(spec)

    def build(self, spec: AttributedGraph, streams: list[np.random.PCG64]) -> InjectedGraph:
        """Make the graph from five independent streams; see :class:`Anomalies`."""
        communities = draw_communities(streams[0], spec.nodes, spec.communities, spec.tail)
        keys = sample_edges(streams[2], communities, spec.mixing, spec.edges, _NONE)
        words = topic_words(streams[3], _words(spec), communities.of, spec.communities, spec.features)
        # The injection of a pull draws from a seed of its own, which this stream provides.
        seed = int(streams[4].random_raw())
        features, labels = inject_contextual(words, communities.of, spec.anomalies, seed)
        chosen = np.flatnonzero(labels)
        return InjectedGraph(_graph(keys, features, chosen, spec.nodes), _NONE, chosen)


@dataclass(frozen=True)
class Organic:
    """Anomalies have other features, and are joined to each other more often than chance would have it.

    They hide: their features lie inside the bulk of all, most of their neighbours are normal, and their degrees are
    those of the others.
    """

    title: ClassVar[str] = "block model with organic anomalies"
    likeness: float
    """Share of an anomaly's neighbours that are anomalies, from the share of anomalies to below 1."""
    shift: float
    """Distance between the mean features of anomalies and of others, whose noise has a standard deviation of 1."""
    spread: float
    """Standard deviation of the noise in an anomaly's features; below 1 they are more alike than the others."""

    def check(self, spec: AttributedGraph) -> None:
        """Refuse parameters of which no such graph can be made; see :class:`Anomalies`."""
        _check_hiding(spec, self.likeness, self.shift, self.spread)
        if spec.anomalies > self.likeness * spec.nodes:
            raise DataError(f"{spec.name}: likeness must be at least the share of anomalies, found {self.likeness}")

    def build(self, spec: AttributedGraph, streams: list[np.random.PCG64]) -> InjectedGraph:
        """Make the graph from five independent streams; see :class:`Anomalies`."""
        communities = draw_communities(streams[0], spec.nodes, spec.communities, spec.tail)
        chosen = permutation(streams[1], spec.nodes)[: spec.anomalies]
        share = spec.anomalies / spec.nodes
        # A share 1 - kept of the anomalies' edges is placed among them first. Weights times kept leave the rest to
        # chance, of which about kept x share leads to anomalies too: likeness = 1 - kept + kept^2 share.
        kept = (1.0 - sqrt(1.0 - 4.0 * share * (1.0 - self.likeness))) / (2.0 * share)
        planted = max(0, int((1.0 - kept) * share * spec.edges))
        keys = sample_edges(streams[2], communities.among(chosen), spec.mixing, planted, _NONE)
        keys = sample_edges(streams[2], communities.weighing(chosen, kept), spec.mixing, spec.edges, keys)
        values = _hidden_values(spec, streams[3], communities.of, chosen, self.shift, self.spread)
        return InjectedGraph(_graph(keys, values, chosen, spec.nodes), _NONE, _NONE)


@dataclass(frozen=True)
class OrganicGroups:
    """Nodes are what users made, all that is one user's is joined, and some users make anomalies.

    The graph is a set of cliques of unequal size, the users. ``separation`` is the standard deviation between users.
    """

    title: ClassVar[str] = "cliques of what one user made, with organic anomalies"
    likeness: float
    """Share of anomalies among the nodes of a user who makes them."""
    shift: float
    """Distance between the mean features of anomalies and of others, whose noise has a standard deviation of 1."""
    spread: float
    """Standard deviation of the noise in an anomaly's features; below 1 they are more alike than the others."""

    def check(self, spec: AttributedGraph) -> None:
        """Refuse parameters of which no such graph can be made; see :class:`Anomalies`."""
        _check_hiding(spec, self.likeness, self.shift, self.spread)

    def build(self, spec: AttributedGraph, streams: list[np.random.PCG64]) -> InjectedGraph:
        """Make the graph from five independent streams; see :class:`Anomalies`."""
        sizes = group_sizes(streams[0], spec.nodes, spec.edges, spec.tail)
        order = permutation(streams[1], spec.nodes)
        starts = np.cumsum(sizes) - sizes
        user = np.empty(spec.nodes, dtype=np.int64)
        user[order] = np.repeat(np.arange(len(sizes)), sizes)
        keys = np.concatenate(
            [
                clique_keys(order[starts[sizes == size][:, None] + np.arange(size)], spec.nodes)
                for size in np.unique(sizes)
            ]
        )
        # `order` goes user after user, so the first nodes that pass belong to a few users, and make up about the share
        # ``likeness`` of what each of these made.
        chosen = order[np.flatnonzero(uniforms(streams[2], spec.nodes) <= self.likeness)[: spec.anomalies]]
        values = _hidden_values(spec, streams[3], user, chosen, self.shift, self.spread)
        return InjectedGraph(_graph(keys, values, chosen, spec.nodes), _NONE, _NONE)


def _words(spec: AttributedGraph) -> NodeWords:
    if spec.words is None:
        raise DataError(f"{spec.name}: its anomalies are made of words; give it some, or another pattern")
    return spec.words


def _check_hiding(spec: AttributedGraph, likeness: float, shift: float, spread: float) -> None:
    if not (0.0 < likeness < 1.0 and shift >= 0.0 and spread > 0.0):
        raise DataError(
            f"{spec.name}: need likeness in (0, 1), shift of 0 or more and a positive spread, found {likeness}, "
            f"{shift} and {spread}"
        )


def _hidden_values(
    spec: AttributedGraph,
    bits: np.random.PCG64,
    community: NDArray[np.int64],
    anomalies: NDArray[np.int64],
    shift: float,
    spread: float,
) -> NDArray[np.float64]:
    """Dense features where anomalies lie around one point of their own, whatever their community."""
    centres = spec.separation * normals(bits, int(community.max()) + 1, spec.features)
    noise = normals(bits, spec.nodes, spec.features)
    direction = normals(bits, spec.features)
    values = centres[community] + noise
    values[anomalies] = shift * direction / np.sqrt((direction**2).sum()) + spread * noise[anomalies]
    return np.round(values, 6) + 0.0


def _graph(
    keys: NDArray[np.int64],
    features: SparseRows | NDArray[np.float64],
    anomalies: NDArray[np.int64],
    nodes: int,
) -> Graph:
    labels = np.zeros(nodes, dtype=np.int8)
    labels[anomalies] = 1
    keys = np.sort(keys)
    return Graph(np.stack([keys // nodes, keys % nodes]), features, labels)
